//! Files of measured drives: what they hold, and what is said of mistakes.

use fit::{KNOWN, MeasuredDrive};

#[test]
fn every_known_drive_reads_and_reads_again_as_it_is_written() {
    for known in KNOWN {
        let drive = MeasuredDrive::from_text(known.text, known.name).unwrap_or_else(|error| panic!("{error}"));
        let again = MeasuredDrive::from_text(&drive.to_text(), "again").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.experiments.len(), drive.experiments.len());
        for (one, other) in drive.experiments.iter().zip(&again.experiments) {
            assert_eq!((one.work, &one.fit, &one.source), (other.work, &other.fit, &other.source), "{}", known.name);
            for (name, value) in &one.measured {
                assert!((other.measured[name] / value - 1.0).abs() < 1e-3, "{}: {name}", known.name);
            }
        }
        let fitted: usize = drive.experiments.iter().map(|experiment| experiment.fit.len()).sum();
        let all: usize = drive.experiments.iter().map(|experiment| experiment.measured.len()).sum();
        assert!(fitted > 0 && fitted < all, "{}: {fitted} of {all} figures are fitted", known.name);
    }
}

const SOUND: &str = "name = \"d\"\ncapacity = \"100GB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\nkind = \"closed\"\n\
                     op = \"read\"\ndepth = 4\nsource = \"s\"\nmeasured = { iops = 40_000, mean = \"100us\" }\n";

#[test]
fn mistakes_are_named_with_their_line_and_what_would_do() {
    MeasuredDrive::from_text(SOUND, "d.toml").unwrap();
    for (from, to, wanted) in [
        ("iops = 40_000", "iosp = 40_000", "did you mean `iops`"),
        ("iops = 40_000", "iops = \"40k\"", "without quotation marks"),
        ("mean = \"100us\"", "mean = 100", "mean"),
        ("depth = 4", "depth = 0", "1 or more"),
        ("depth = 4", "depht = 4", "depht"),
        ("kind = \"closed\"", "kind = \"open\"", "closed"),
        ("source = \"s\"", "source = \"r\"", "[source.r]"),
        ("source = \"s\"", "fit = [\"p99\"]\nsource = \"s\"", "was not measured here"),
        ("capacity = \"100GB\"", "capacity = \"100\"", "unit"),
        ("op = \"read\"", "op = \"read\"\nused = \"200GB\"", "at most the capacity"),
    ] {
        let message = MeasuredDrive::from_text(&SOUND.replace(from, to), "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("d.toml"), "{to}: {message}");
    }
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    for (measured, wanted) in [
        ("iops = 40_000, mean = \"200us\"", "8.00 at a time"),
        ("p50 = \"90us\", p99 = \"80us\"", "p50 is above p99"),
        ("iops = 40_000, rate = \"1GB/s\"", "is not rate"),
        ("waf = 0.9", "below 1"),
    ] {
        let text = SOUND.replace("iops = 40_000, mean = \"100us\"", measured);
        let message = MeasuredDrive::from_text(&text, "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("line 5"), "{measured}: {message}");
    }
}
