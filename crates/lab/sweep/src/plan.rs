//! The plan: the runs of a sweep, as a file.
//!
//! ```toml
//! name = "spare space and queue depth"
//! stacks = ["page", "dftl+ftl.map_cache=256KiB"]
//! workloads = ["zipf", "traces/mail.csv.zst"]
//! repetitions = 3                   # seeds 1, 2, 3
//! tail = "write_p99_ns"             # what designs are judged by; without it the highest percentile there is
//! within = "10%"                    # how far beside the best a recommended one may be
//!
//! [set]                             # in every run
//! drive.capacity = "1GiB"
//!
//! [axes]                            # every combination of these
//! drive.over_provisioning = ["7%", "15%", "28%"]
//! workload.queue_depth = { from = 1, to = 32, steps = 6, scale = "log" }
//! ftl.map_cache = { from = "64KiB", to = "1MiB", random = 5, scale = "log" }
//! ```

use crate::axis::{self, Axis};
use crate::error::PlanError;
use crate::grid::SEEDS;
use crate::metric::{METRICS, Metric};
use simulator::config::all_keys;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A sweep as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Stacks: names, files, or either with `+key=value`.
    pub stacks: Vec<String>,
    /// Workloads: names or trace files.
    pub workloads: Vec<String>,
    /// Runs of each combination.
    pub repetitions: u32,
    /// Seed of the first repetition; the next ones count on. It decides random axes as well.
    pub seed: u64,
    /// The latency that designs are judged by; without it the highest percentile there is.
    pub tail: Option<&'static Metric>,
    /// How much longer than the best tail the tail of a recommended design may be, as a share.
    pub within: f64,
    /// Keys that all runs share.
    pub set: Vec<(String, String)>,
    /// Keys that differ between combinations.
    pub axes: Vec<Axis>,
    /// The folder where paths begin, and the name of the plan in messages.
    pub(crate) folder: PathBuf,
    pub(crate) file: String,
}

const KNOWN: [&str; 9] = ["name", "stacks", "workloads", "repetitions", "seed", "tail", "within", "set", "axes"];
/// How far beyond the best tail that of a recommended design may be, unless the plan says so.
const WITHIN: &str = "10%";
const MOST_REPETITIONS: i64 = 10_000;

impl Plan {
    /// Reads a plan from a file; `more` are settings for all runs that win over the plan's.
    /// Errors: it cannot be read, or something in it is wrong.
    pub fn load(path: &Path, more: &[(String, String)]) -> Result<Self, PlanError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| PlanError::File { file: file.clone(), problem: error.to_string() })?;
        Self::parse(&text, &file, path.parent().unwrap_or(Path::new("")), more)
    }

    /// The plan of one combination alone, repetitions included: numbers of its stack, its workload, and the value of
    /// each axis.
    /// Panics: there is no such number.
    #[must_use]
    pub fn only(&self, stack: usize, workload: usize, values: &[usize]) -> Self {
        let axis = |(axis, value): (&Axis, &usize)| Axis { values: vec![axis.values[*value].clone()], ..axis.clone() };
        assert_eq!(values.len(), self.axes.len(), "a value for each axis");
        Self {
            stacks: vec![self.stacks[stack].clone()],
            workloads: vec![self.workloads[workload].clone()],
            axes: self.axes.iter().zip(values).map(axis).collect(),
            ..self.clone()
        }
    }

    /// Something in a part of the plan is not as it has to be.
    pub(crate) fn wrong(&self, place: &str, problem: String) -> PlanError {
        PlanError::Plan { file: self.file.clone(), place: place.to_owned(), problem }
    }

    /// Reads a plan from text. `file` is its name in messages; relative paths in it begin at `folder`.
    pub fn parse(text: &str, file: &str, folder: &Path, more: &[(String, String)]) -> Result<Self, PlanError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| PlanError::File {
            file: file.to_owned(),
            problem: error.to_string().trim_end().to_owned(),
        })?;
        let reader = Reader { file, table: &table };
        if let Some(key) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            let hint = simulator::config::did_you_mean(key, KNOWN.into_iter());
            return Err(reader.wrong(key, format!("a plan has no such part{hint}; it has {}", KNOWN.join(", "))));
        }
        let seed = reader.whole("seed", 1, i64::MAX)? as u64;
        let name =
            Path::new(file).file_stem().map_or_else(|| "sweep".to_owned(), |stem| stem.to_string_lossy().into_owned());
        let mut set = reader.leaves("set")?;
        set.extend(more.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))));
        let repetitions = reader.whole("repetitions", 1, MOST_REPETITIONS)? as u32;
        let mut plan = Self {
            name: reader.text("name")?.unwrap_or(name),
            stacks: reader.names("stacks", "page")?,
            workloads: reader.names("workloads", "mixed")?,
            repetitions,
            seed,
            tail: reader
                .text("tail")?
                .map(|name| tail(&name).map_err(|problem| reader.wrong("tail", problem)))
                .transpose()?,
            within: within(&reader.text("within")?.unwrap_or_else(|| WITHIN.to_owned()))
                .map_err(|problem| reader.wrong("within", problem))?,
            set: Vec::new(),
            axes: Vec::new(),
            folder: folder.to_path_buf(),
            file: file.to_owned(),
        };
        let is_repeated = |key: &str| repetitions > 1 && SEEDS.contains(&key);
        let seeded = |part: &str, key: &str| {
            let problem = "repetitions change it; set `seed`, the seed of the first one, or repetitions = 1".to_owned();
            reader.wrong(&format!("{part}.{key}"), problem)
        };
        for (key, value) in set {
            if is_repeated(&key) {
                return Err(seeded("set", &key));
            }
            axis::parameter(&key, "[set]").map_err(|problem| reader.config(problem))?;
            let text = axis::text(&value).ok_or_else(|| {
                reader
                    .wrong(&format!("set.{key}"), format!("{value} is not a single value; several belong under [axes]"))
            })?;
            plan.set.push((key, text));
        }
        for (key, value) in reader.leaves("axes")? {
            if is_repeated(&key) {
                return Err(seeded("axes", &key));
            }
            let parameter = axis::parameter(&key, "[axes]").map_err(|problem| reader.config(problem))?;
            if plan.set.iter().any(|(other, _)| *other == key) {
                return Err(reader.wrong(
                    &format!("axes.{key}"),
                    "the key is set for all runs as well; leave it out of one of the two".to_owned(),
                ));
            }
            let axis = Axis::read(&parameter, &value, seed)
                .map_err(|problem| reader.wrong(&format!("axes.{key}"), problem))?;
            plan.axes.push(axis);
        }
        Ok(plan)
    }
}

/// The latency of a name.
/// Errors: in words: there is none, and which there are.
pub fn tail(name: &str) -> Result<&'static Metric, String> {
    let known = || METRICS.iter().filter(|metric| metric.is_latency());
    known().find(|metric| metric.name == name).ok_or_else(|| {
        let names: Vec<&str> = known().map(|metric| metric.name).collect();
        let hint = simulator::config::did_you_mean(name, names.iter().copied());
        format!("`{name}` is not a latency{hint}; there is {}", names.join(", "))
    })
}

/// A share by which a tail may lie beyond the best.
/// Errors: in words: it is no share.
pub fn within(text: &str) -> Result<f64, String> {
    units::quantity::parse_share(text).map_err(|error| error.to_string())
}

/// A table and what messages call it.
struct Reader<'a> {
    file: &'a str,
    table: &'a Table,
}

impl Reader<'_> {
    fn wrong(&self, place: &str, problem: String) -> PlanError {
        PlanError::Plan { file: self.file.to_owned(), place: place.to_owned(), problem }
    }

    fn config(&self, problem: simulator::config::ConfigError) -> PlanError {
        PlanError::Config { file: self.file.to_owned(), problem }
    }

    fn text(&self, key: &str) -> Result<Option<String>, PlanError> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(key, format!("{other} is not a text; write it in quotation marks"))),
        }
    }

    fn whole(&self, key: &str, default: i64, most: i64) -> Result<i64, PlanError> {
        match self.table.get(key) {
            None => Ok(default),
            Some(Value::Integer(number)) if (1..=most).contains(number) => Ok(*number),
            Some(other) => Err(self.wrong(key, format!("{other} is not a whole number from 1 to {most}"))),
        }
    }

    fn names(&self, key: &str, default: &str) -> Result<Vec<String>, PlanError> {
        let Some(value) = self.table.get(key) else { return Ok(vec![default.to_owned()]) };
        let list = value
            .as_array()
            .ok_or_else(|| self.wrong(key, format!("{value} is not a list; write {key} = [\"{default}\"]")))?;
        if list.is_empty() {
            return Err(self.wrong(key, format!("it is empty; name at least one, or leave it out for \"{default}\"")));
        }
        let mut names: Vec<String> = Vec::new();
        for name in list {
            let name = name
                .as_str()
                .ok_or_else(|| self.wrong(key, format!("{name} is no name; write it in quotation marks")))?;
            if names.iter().any(|known| known == name) {
                return Err(self.wrong(key, format!("\"{name}\" is in it twice")));
            }
            names.push(name.to_owned());
        }
        Ok(names)
    }

    /// Keys and values of a table whose keys have dots: `drive.capacity` is a table in a table.
    fn leaves(&self, key: &str) -> Result<Vec<(String, Value)>, PlanError> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let table =
            value.as_table().ok_or_else(|| self.wrong(key, format!("write [{key}] and below it key = value")))?;
        let keys: Vec<&str> = all_keys().iter().map(|parameter| parameter.key).collect();
        let mut leaves = Vec::new();
        collect(table, "", &keys, &mut leaves);
        // Written in quotation marks and without: TOML takes these for two keys.
        let mut seen = BTreeSet::new();
        match leaves.iter().find(|(key, _)| !seen.insert(key.as_str())) {
            Some((twice, _)) => Err(self.wrong(
                &format!("{key}.{twice}"),
                "the key is given twice, as `\"a.b\" = …` and as `a.b = …`; leave one out".to_owned(),
            )),
            None => Ok(leaves),
        }
    }
}

/// A table is a value where it stands for a key, and where it can be nothing else; the others hold keys.
fn collect(table: &Table, prefix: &str, keys: &[&str], leaves: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let is_group =
            || keys.iter().any(|known| known.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.')));
        match value {
            Value::Table(inner) if !keys.contains(&key.as_str()) => {
                // A key that is not known is named with its range, or with what is below it.
                let is_range = inner.is_empty() || inner.keys().any(|part| axis::KNOWN.contains(&part.as_str()));
                if is_group() || !is_range {
                    collect(inner, &key, keys, leaves);
                } else {
                    leaves.push((key, value.clone()));
                }
            }
            other => leaves.push((key, other.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Plan, PlanError> {
        Plan::parse(text, "plan.toml", Path::new(""), &[("drive.capacity".to_owned(), "1GiB".to_owned())])
    }

    #[test]
    fn a_plan_is_read_with_what_is_given_beside_it() {
        let plan = parse(
            "stacks = [\"page\", \"dftl\"]\nrepetitions = 2\n[set]\nflash.channels = 2\n[axes]\n\
             drive.over_provisioning = [\"7%\", \"15%\"]\nworkload.queue_depth = { from = 1, to = 4, steps = 3, scale \
             = \"log\" }",
        )
        .unwrap();
        assert_eq!((plan.name.as_str(), plan.stacks.len(), plan.repetitions, plan.seed), ("plan", 2, 2, 1));
        assert_eq!(plan.workloads, ["mixed"]);
        assert_eq!(
            plan.set,
            [("flash.channels".to_owned(), "2".to_owned()), ("drive.capacity".to_owned(), "1GiB".to_owned())]
        );
        let axes: Vec<_> = plan.axes.iter().map(|axis| (axis.key, axis.values.join(" "))).collect();
        assert_eq!(
            axes,
            [("drive.over_provisioning", "7% 15%".to_owned()), ("workload.queue_depth", "1 2 4".to_owned())]
        );
    }

    /// Results had two columns of one name, and no program read their Parquet.
    #[test]
    fn a_key_that_is_given_twice_is_refused() {
        for (part, value) in [("axes", "[\"7%\"]"), ("set", "\"7%\"")] {
            let message =
                parse(&format!("[{part}]\n\"drive.over_provisioning\" = {value}\ndrive.over_provisioning = {value}"))
                    .unwrap_err()
                    .to_string();
            assert!(message.contains(&format!("{part}.drive.over_provisioning: the key is given twice")), "{message}");
        }
    }

    /// An empty one was no axis without a word, and the others were said to be unknown keys.
    #[test]
    fn a_table_at_a_key_is_an_axis_whatever_is_in_it() {
        for (table, wanted) in [
            ("{}", "it is empty"),
            ("{ steps = 3 }", "`from` and `to` are missing"),
            ("{ form = 1, too = 3, steps = 3 }", "did you mean `from`"),
        ] {
            for key in ["workload.queue_depth", "\"workload.queue_depth\""] {
                let message = parse(&format!("[axes]\n{key} = {table}")).unwrap_err().to_string();
                assert!(
                    message.contains("axes.workload.queue_depth: ") && message.contains(wanted),
                    "{table}: {message}"
                );
            }
        }
        assert_eq!(parse("[axes.workload]\n# queue_depth = [1, 2]").unwrap().axes, []);
    }

    #[test]
    fn mistakes_name_file_place_and_remedy() {
        for (text, wanted) in [
            ("stack = [\"page\"]", "did you mean `stacks`"),
            ("stacks = []", "at least one"),
            ("stacks = [\"page\", \"page\"]", "twice"),
            ("stacks = \"page\"", "not a list"),
            ("repetitions = 0", "from 1 to"),
            ("[axes]\ndrive.capactiy = [\"1GiB\"]", "did you mean `drive.capacity`"),
            ("[axes]\nworkload.queue_depth = []", "axes.workload.queue_depth: it is empty"),
            ("[axes]\ndrive.capacity = [\"1GiB\"]", "for all runs as well"),
            ("[axes]\nworkload.queue_dept = { from = 1, to = 2, steps = 2 }", "did you mean `workload.queue_depth`"),
            ("[axes]\nworkload.queue_dept = {}", "did you mean `workload.queue_depth`"),
            ("[axes]\ndrvie.capacity = [\"1GiB\"]", "did you mean `drive.capacity`"),
            ("[set]\nworkload.queue_depth = [1, 2]", "belong under [axes]"),
            ("repetitions = 2\n[axes]\nworkload.seed = [1, 5]", "axes.workload.seed: repetitions change it"),
            ("repetitions = 2\n[set]\nengine.seed = 7", "set.engine.seed: repetitions change it"),
            ("tail = \"write_p99\"", "tail: `write_p99` is not a latency; did you mean `write_p99_ns`"),
            ("tail = \"waf\"", "there is read_mean_ns, read_p50_ns"),
            ("within = \"5\"", "within: "),
            ("within = 0.05", "write it in quotation marks"),
            ("name = ", "plan.toml"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.starts_with("plan.toml") && message.contains(wanted), "{text}: {message}");
        }
    }
}
