//! The life of a real drive, from two of its own logs.
//!
//! A log is the JSON of `smartctl --json -a` or of `nvme smart-log -o json`. The output of `nvme ocp smart-add-log -o
//! json` may stand behind it: there drives of the Open Compute Project tell their writes to flash.

use metrics::{Range, YEAR_DAYS};
use serde_json::{Value, json};
use units::Nanos;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.life-of-logs/1";
/// Bytes of a unit of the log of `NVMe` drives: 1,000 sectors.
const UNIT: f64 = 512_000.0;
/// Bytes of a sector of the ATA log.
const SECTOR: f64 = 512.0;
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
/// A drive tells its wear in whole per cent, so each figure may be off by nearly one.
const ROUNDED: f64 = 1.0;
/// Least wear, per cent, by which more is projected.
const LEAST_WEAR: f64 = 2.0;

/// Attributes of ATA drives that count bytes, as smartctl names them: bytes of a count, and whether the host wrote
/// them.
const ATA_WRITES: [(&str, f64, bool); 11] = [
    ("Total_LBAs_Written", SECTOR, true),
    ("Host_Writes_32MiB", 32.0 * MIB, true),
    ("Host_Writes_MiB", MIB, true),
    ("Host_Writes_GiB", GIB, true),
    ("Lifetime_Writes_GiB", GIB, true),
    ("Total_Writes_GiB", GIB, true),
    ("NAND_Writes_32MiB", 32.0 * MIB, false),
    ("NAND_Writes_1GiB", GIB, false),
    ("NAND_GiB_Written", GIB, false),
    ("NAND_GB_Written_TLC", GIB, false),
    ("Flash_Writes_GiB", GIB, false),
];

/// The counters of a drive at one time. `None`: the log does not tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Bytes that the host has written.
    pub host_bytes: Option<f64>,
    /// Bytes that were programmed.
    pub flash_bytes: Option<f64>,
    /// How much of the life is spent, per cent.
    pub used: Option<f64>,
    /// Hours that the drive was on.
    pub hours: Option<f64>,
    /// When the log was taken, seconds.
    pub taken: Option<f64>,
    /// Serial number of the drive.
    pub serial: Option<String>,
}

/// A number, also one that is written as a text or in two halves of 64 bits.
fn number(value: &Value) -> Option<f64> {
    let halves = || Some(value["hi"].as_f64()? * 2f64.powi(64) + value["lo"].as_f64()?);
    value.as_f64().or_else(|| value.as_str()?.replace(',', "").parse().ok()).or_else(halves)
}

impl Log {
    /// Reads the JSON of a log, or of several one after the other.
    ///
    /// # Errors
    /// It is not JSON, or tells no writes; in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut log = Self::default();
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            log.add(&document.map_err(|error| format!("it is not JSON: {error}"))?);
        }
        if log.host_bytes.is_none() {
            return Err("it does not tell how much the host has written; give the output of `smartctl --json -a` or \
                        `nvme smart-log -o json`"
                .to_owned());
        }
        Ok(log)
    }

    fn add(&mut self, document: &Value) {
        let smart = Some(&document["nvme_smart_health_information_log"]).filter(|log| log.is_object());
        let nvme = smart.unwrap_or(document);
        let first = |of: &Value, names: &[&str]| names.iter().find_map(|name| number(&of[*name]));
        let host = first(nvme, &["data_units_written", "Data Units Written"]).map(|units| units * UNIT);
        self.host_bytes = host.or(self.host_bytes);
        self.used = first(nvme, &["percentage_used", "percent_used"]).or(self.used);
        self.used = number(&document["endurance_used"]["current_percent"]).or(self.used);
        self.hours = first(nvme, &["power_on_hours"]).or(self.hours);
        self.hours = number(&document["power_on_time"]["hours"]).or(self.hours);
        self.flash_bytes = first(document, &["Physical media units written"]).or(self.flash_bytes);
        self.taken = number(&document["local_time"]["time_t"]).or(self.taken);
        self.serial = document["serial_number"].as_str().map(str::to_owned).or_else(|| self.serial.take());
        for attribute in document["ata_smart_attributes"]["table"].as_array().into_iter().flatten() {
            let known = ATA_WRITES.iter().find(|(name, ..)| attribute["name"] == *name);
            let Some(((_, bytes, is_host), raw)) = known.zip(number(&attribute["raw"]["value"])) else { continue };
            *(if *is_host { &mut self.host_bytes } else { &mut self.flash_bytes }) = Some(raw * bytes);
        }
    }
}

/// The findings of two logs of one drive.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeOfLogs {
    /// Days between the logs.
    pub days: f64,
    /// The source of the days: `given`, the `clock` of the logs, or the `power-on hours`.
    pub days_from: &'static str,
    /// Bytes that the host wrote between the logs.
    pub host_bytes: f64,
    /// Bytes that the host has written in all.
    pub host_bytes_ever: f64,
    /// Bytes that were programmed between the logs.
    pub flash_bytes: Option<f64>,
    /// How much of the life was spent at each log, per cent.
    pub used: Option<[f64; 2]>,
    /// Bytes that the host will have written when the drive is worn out, by its own figure of wear.
    pub bytes_until_worn: Option<Range>,
    /// Bytes that the data sheet lets the host write.
    pub data_sheet_bytes: Option<f64>,
}

impl LifeOfLogs {
    /// The findings of two logs. `between`: the time between them, if they do not tell it. `data_sheet_bytes`: bytes
    /// that the data sheet lets the host write.
    ///
    /// # Errors
    /// Logs of two drives or in the wrong order, and logs that do not tell their time; in words.
    pub fn of(
        before: &Log,
        after: &Log,
        between: Option<Nanos>,
        data_sheet_bytes: Option<f64>,
    ) -> Result<Self, String> {
        if let Some((one, other)) =
            before.serial.as_ref().zip(after.serial.as_ref()).filter(|(one, other)| one != other)
        {
            return Err(format!("the logs are of two drives, {one} and {other}; give two logs of one drive"));
        }
        let grown = |of: fn(&Log) -> Option<f64>| Some(of(after)? - of(before)?);
        let host_bytes = grown(|log| log.host_bytes).unwrap_or_default();
        if host_bytes <= 0.0 {
            return Err("the host has written nothing between the logs; give the older log first, and a newer one \
                        after the drive was written"
                .to_owned());
        }
        for (what, more) in [
            ("the wear falls", grown(|log| log.used)),
            ("the hours that the drive was on fall", grown(|log| log.hours)),
        ] {
            if more.is_some_and(|more| more < 0.0) {
                return Err(format!("{what} between the logs; give two logs of one drive, the older one first"));
            }
        }
        let seconds = [
            (between.map(|nanos| nanos as f64 / 1e9), "given"),
            (grown(|log| log.taken), "clock"),
            (grown(|log| log.hours).map(|hours| hours * 3600.0), "power-on hours"),
        ];
        let told = seconds.into_iter().find_map(|(seconds, from)| Some((seconds.filter(|time| *time > 0.0)?, from)));
        let (seconds, days_from) =
            told.ok_or("the logs do not tell the time between them; add it, for example --over 30d")?;
        let host_bytes_ever = after.host_bytes.unwrap_or_default();
        let used = before.used.zip(after.used).map(|(before, after)| [before, after]);
        Ok(Self {
            days: seconds / SECONDS_OF_DAY,
            days_from,
            host_bytes,
            host_bytes_ever,
            flash_bytes: grown(|log| log.flash_bytes).filter(|bytes| *bytes > 0.0),
            used,
            bytes_until_worn: used.and_then(|used| until_worn(used, host_bytes, host_bytes_ever)),
            data_sheet_bytes,
        })
    }

    /// Bytes that the host wrote a day.
    pub fn per_day(&self) -> f64 {
        self.host_bytes / self.days
    }

    /// Write amplification between the logs, where the drive tells its writes to flash.
    pub fn waf(&self) -> Option<f64> {
        self.flash_bytes.map(|bytes| bytes / self.host_bytes)
    }

    /// Years until the host has written as much in all, at the rate between the logs; 0 if it has already.
    pub fn years_until(&self, bytes: f64) -> f64 {
        (bytes - self.host_bytes_ever).max(0.0) / self.per_day() / YEAR_DAYS
    }

    /// The document of `--json`.
    pub fn to_json(&self) -> Value {
        let worn = self.bytes_until_worn;
        json!({
            "schema": SCHEMA,
            "days": self.days,
            "days_from": self.days_from,
            "host_bytes": self.host_bytes,
            "host_bytes_ever": self.host_bytes_ever,
            "bytes_per_day": self.per_day(),
            "flash_bytes": self.flash_bytes,
            "waf": self.waf(),
            "used_percent": self.used,
            "tbw": worn.map(|worn| range_json(worn, |bytes| bytes / 1e12)),
            "years": worn.map(|worn| range_json(worn, |bytes| self.years_until(bytes))),
            "data_sheet": self.data_sheet_bytes.map(|bytes| {
                json!({"tbw": bytes / 1e12, "years": self.years_until(bytes)})
            }),
        })
    }
}

/// An interval as JSON, each end in another unit.
fn range_json(Range { earliest, estimate, latest }: Range, of: impl Fn(f64) -> f64) -> Value {
    json!({"earliest": of(earliest), "estimate": of(estimate), "latest": of(latest)})
}

/// Bytes that the host will have written at 100 %: by the wear between the logs where it is two per cent or more, and
/// otherwise by the wear since the drive was new. `None`: that wear is below two per cent, so it may be nearly none.
fn until_worn([before, after]: [f64; 2], written: f64, written_ever: f64) -> Option<Range> {
    let left = (100.0 - after).max(0.0);
    let (percent, bytes) = if after - before >= 2.0 { (after - before, written) } else { (after, written_ever) };
    let at = |percent: f64| written_ever + left * bytes / percent;
    let worn = Range { earliest: at(percent + ROUNDED), estimate: at(percent), latest: at(percent - ROUNDED) };
    (percent >= LEAST_WEAR).then_some(worn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smartctl(serial: &str, time: u64, units: u64, used: u64) -> Log {
        let text = json!({
            "local_time": {"time_t": time}, "serial_number": serial,
            "nvme_smart_health_information_log": {
                "percentage_used": used, "data_units_written": units, "power_on_hours": time / 7200,
            },
        });
        Log::read(&text.to_string()).unwrap()
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found / wanted - 1.0).abs() < 1e-9
    }

    #[test]
    fn two_logs_of_smartctl_tell_a_rate_and_a_projection() {
        // 20 TB in 10 days for 4 %: 96 % at 5 TB each are left.
        let (before, after) = (smartctl("A", 0, 0, 0), smartctl("A", 864_000, 39_062_500, 4));
        let told = LifeOfLogs::of(&before, &after, None, Some(40e12)).unwrap();
        assert_eq!((told.days, told.days_from, told.waf()), (10.0, "clock", None));
        assert!(near(told.per_day(), 2e12), "{told:?}");
        let worn = told.bytes_until_worn.unwrap();
        for (found, wanted) in [(worn.estimate, 500e12), (worn.earliest, 404e12), (worn.latest, 660e12)] {
            assert!(near(found, wanted), "{found} {wanted}");
        }
        assert!(near(told.years_until(worn.estimate), 240.0 / 365.0));
        assert!(near(told.to_json()["data_sheet"]["years"].as_f64().unwrap(), 10.0 / 365.0));
        let two = LifeOfLogs::of(&before, &smartctl("B", 864_000, 1, 4), None, None).unwrap_err();
        assert!(two.contains("two drives, A and B"), "{two}");
        assert!(LifeOfLogs::of(&after, &before, None, None).unwrap_err().contains("the older log first"));
    }

    #[test]
    fn wear_and_hours_that_fall_are_of_two_drives() {
        let worn = LifeOfLogs::of(&smartctl("A", 0, 0, 4), &smartctl("A", 864_000, 9, 3), None, None).unwrap_err();
        assert!(worn.contains("the wear falls"), "{worn}");
        let (before, after) = (smartctl("A", 864_000, 0, 3), smartctl("A", 0, 9, 3));
        assert!(LifeOfLogs::of(&before, &after, None, None).unwrap_err().contains("hours"));
    }

    #[test]
    fn logs_of_nvme_cli_stand_one_after_the_other_and_tell_write_amplification() {
        let log = |units: u64, hours: u64, flash: u64| {
            let smart = json!({"data_units_written": units.to_string(), "percent_used": 0, "power_on_hours": hours});
            let ocp = json!({"Physical media units written": {"hi": 0, "lo": flash}});
            Log::read(&format!("{smart}\n{ocp}\n")).unwrap()
        };
        let (before, after) = (log(1_000, 24, 1_000_000_000), log(3_000, 48, 4_072_000_000));
        let told = LifeOfLogs::of(&before, &after, None, None).unwrap();
        assert_eq!((told.days, told.days_from, told.waf()), (1.0, "power-on hours", Some(3.0)));
        assert_eq!(told.bytes_until_worn, None, "0 % may be anything below 1 %");
        let same_hour = LifeOfLogs::of(&before, &log(3_000, 24, 0), None, None).unwrap_err();
        assert!(same_hour.contains("--over 30d"), "{same_hour}");
        let given = LifeOfLogs::of(&before, &log(3_000, 24, 0), Some(86_400_000_000_000), None).unwrap();
        assert_eq!((given.days, given.days_from), (1.0, "given"));
    }

    #[test]
    fn attributes_of_ata_drives_have_their_units_in_their_names() {
        let attribute = |name: &str, raw: u64| json!({"name": name, "raw": {"value": raw}});
        let table = [attribute("Host_Writes_32MiB", 64), attribute("NAND_Writes_1GiB", 5), attribute("Other", 1)];
        let log = json!({"ata_smart_attributes": {"table": table}, "endurance_used": {"current_percent": 7}});
        let log = Log::read(&log.to_string()).unwrap();
        assert_eq!((log.host_bytes, log.flash_bytes, log.used), (Some(2.0 * GIB), Some(5.0 * GIB), Some(7.0)));
        assert!(Log::read("{}").unwrap_err().contains("smartctl --json -a"));
        assert!(Log::read("data_units_written : 1").unwrap_err().contains("not JSON"));
    }
}
