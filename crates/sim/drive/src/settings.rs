//! Configurations of drives whose bytes others read and write.

use crate::Drive;
use crate::error::DriveError;
use simulator::{Config, DrivePlan, Setting};

impl Drive {
    /// Settings that a drive needs with any stack.
    pub fn own_settings() -> Vec<Setting> {
        let own = [("engine.contents", "bytes"), ("engine.time", "virtual"), ("engine.service", "parallel")];
        let setting = |(key, value): (&str, &str)| Setting::new(key, value, "a drive with bytes");
        own.into_iter().map(setting).collect()
    }

    /// The configuration of a drive whose bytes others read and write, once it is known to fit this machine. The drive
    /// is erased unless `given`, whose keys differ, has `drive.precondition`.
    ///
    /// # Errors
    /// The configuration cannot be used; a key belongs to workloads, or has a value that such a drive cannot have;
    /// there is too little memory.
    pub fn config(stack: &str, given: &[Setting]) -> Result<Config, DriveError> {
        let refused = |set: &Setting, why: &str| {
            DriveError::Unsupported(format!("{} {}={}: {why}; leave it out", set.place, set.key, set.value))
        };
        let of_runs = |set: &&Setting| ["workload.", "measure."].iter().any(|group| set.key.starts_with(group));
        if let Some(set) = given.iter().find(of_runs) {
            let why = "a drive with bytes has its requests from clients, and no workload of its own";
            return Err(refused(set, why));
        }
        let mut settings = given.to_vec();
        if given.iter().all(|set| set.key != "drive.precondition") {
            let none = Setting::new("drive.precondition", "none", "a drive with bytes");
            settings.push(Setting { of_stack: true, ..none });
        }
        for own in Self::own_settings() {
            match given.iter().find(|set| set.key == own.key) {
                Some(set) if set.value != own.value => {
                    let why = format!("a drive that is served needs {} = {}", own.key, own.value);
                    return Err(refused(set, &why));
                }
                Some(_) => {}
                None => settings.push(Setting { of_stack: true, ..own }),
            }
        }
        let config = Config::load(stack, &settings)?;
        DrivePlan::new(config.clone())?.check_memory(true)?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_workloads_and_a_drive_without_bytes_are_refused_with_what_was_given() {
        for (given, wanted) in [
            ("workload.seed=3", "--set workload.seed=3: a drive with bytes has its requests from clients"),
            (
                "engine.contents=none",
                "--set engine.contents=none: a drive that is served needs engine.contents = bytes",
            ),
        ] {
            let problem = Drive::config("page", &[Setting::from_argument(given).unwrap()]).err().unwrap().to_string();
            assert!(problem.starts_with(wanted) && problem.ends_with("leave it out"), "{problem}");
        }
    }

    #[test]
    fn a_drive_with_bytes_is_erased_unless_its_state_is_given() {
        let state = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
            Drive::config("page", &given).unwrap().resolved["drive.precondition"].clone()
        };
        let small = ["drive.capacity=64MiB", "flash.channels=1", "flash.pages_per_block=64"];
        let filled = [&small[..], &["drive.precondition=fill"]].concat();
        assert_eq!((state(&small), state(&filled)), ("none".to_owned(), "fill".to_owned()));
    }
}
