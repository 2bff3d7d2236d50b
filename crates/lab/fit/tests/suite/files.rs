//! Files of measured drives: what they hold, and what is said of mistakes.

use fit::{KNOWN, MeasuredDrive, Work};

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
        ("op = \"read\"", "op = \"read\"\nband = 15", "band = 0.15 allows 15 %"),
        ("op = \"read\"", "op = \"mixed\"", "add reads = 0.7"),
        ("op = \"read\"", "op = \"mixed\"\nreads = 1.5", "reads is 1.5"),
        ("op = \"read\"", "op = \"commit\"\nreads = 0.5", "is for op = \"mixed\""),
        ("op = \"read\"", "op = \"read\"\nstatic_share = 1.0", "static_share is 1"),
        ("op = \"read\"", "op = \"read\"\nzipf = -1.0", "zipf is -1"),
    ] {
        let message = MeasuredDrive::from_text(&SOUND.replace(from, to), "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("d.toml"), "{to}: {message}");
    }
}

/// "unknown variant `raed`, expected one of `read`, `write`, `mixed`, `commit`" stood beside the line in which the
/// experiment begins.
#[test]
fn a_wrong_name_key_or_value_is_told_at_its_own_line_with_what_there_is() {
    for (from, to, line, wanted) in [
        (
            "op = \"read\"",
            "op = \"raed\"",
            7,
            "op is \"raed\"; did you mean `read`; write one of \"read\", \"write\", \"mixed\", \"commit\"",
        ),
        ("op = \"read\"", "op = 4", 7, "op is 4; write one of \"read\", "),
        (
            "depth = 4",
            "depth = 4\norder = \"sequentail\"",
            9,
            "order is \"sequentail\"; did you mean `sequential`; write one of \"random\", \"sequential\"",
        ),
        (
            "kind = \"closed\"",
            "kind = \"close\"",
            6,
            "kind is \"close\"; did you mean `closed`; write one of \"closed\", \"offered\", \"amplification\", \
             \"transient\", \"fill\"",
        ),
        (
            "depth = 4",
            "depht = 4",
            8,
            "depht is no key of an experiment of kind = \"closed\"; did you mean `depth`; there are source, measured, ",
        ),
        ("kind = \"closed\"\n", "", 5, "kind is missing; write it, such as kind = \"closed\""),
        ("depth = 4\n", "", 5, "depth is missing; write it, such as depth = 4"),
        ("depth = 4", "depth = \"4\"", 8, "depth is \"4\"; write a whole number from 0, such as depth = 4"),
        ("depth = 4", "depth = 0", 8, "depth is 0; it is 1 or more"),
        ("text = \"t\"", "txt = \"t\"", 4, "txt is no key of a source; did you mean `text`"),
        ("capacity = \"100GB\"", "capasity = \"100GB\"", 2, "capasity is no key of a measured drive; did you mean"),
        ("[[experiment]]", "[experiment]", 5, "begin each with [[experiment]]"),
        ("name = \"d\"", "name = d", 1, ""),
    ] {
        let message = MeasuredDrive::from_text(&SOUND.replace(from, to), "d.toml").unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("d.toml, line {line}: {wanted}")) || wanted.starts_with("begin"),
            "{message}"
        );
        assert!(message.contains(wanted) && !message.contains("expected one of"), "{to}: {message}");
    }
}

/// Files have figures in a table of their own, and by dotted keys.
#[test]
fn figures_may_stand_in_a_table_of_their_own() {
    for measured in [
        "[experiment.measured]\niops = 40_000\nmean = \"100us\"\n",
        "measured.iops = 40_000\nmeasured.mean = \"100us\"\n",
    ] {
        let text = SOUND.replace("measured = { iops = 40_000, mean = \"100us\" }\n", measured);
        let drive = MeasuredDrive::from_text(&text, "d.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(drive.experiments, MeasuredDrive::from_text(SOUND, "d.toml").unwrap().experiments);
    }
}

/// What a maker promises was judged as strictly as what somebody measured.
#[test]
fn an_experiment_may_have_a_band_of_its_own() {
    let text = SOUND.replace("depth = 4", "depth = 4\nband = 0.15");
    for text in [text.clone(), MeasuredDrive::from_text(&text, "d").unwrap().to_text()] {
        let experiment = &MeasuredDrive::from_text(&text, "d").unwrap().experiments[0];
        assert_eq!([experiment.band("iops"), experiment.band("p50")], [Some(0.15), None]);
    }
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    for (measured, wanted) in [
        ("iops = 40_000, mean = \"200us\"", "8.00 at a time"),
        ("p50 = \"90us\", p99 = \"80us\"", "p50 is above p99"),
        ("iops = 40_000, rate = \"1GB/s\"", "is not rate"),
        ("waf = 0.9", "below 1"),
        ("mean = \"30us\", p50 = \"90us\"", "p50 alone makes it 45.0 us or more"),
    ] {
        let text = SOUND.replace("iops = 40_000, mean = \"100us\"", measured);
        let message = MeasuredDrive::from_text(&text, "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("line 5"), "{measured}: {message}");
    }
}

/// A host that was busy for a second was measured into a file that no fit took.
#[test]
fn what_a_busy_host_measured_is_told_before_it_is_written() {
    let mut drive = MeasuredDrive::from_text(SOUND, "d.toml").unwrap();
    let mut lone = drive.experiments[0].clone();
    let Work::Closed { depth, .. } = &mut lone.work else { panic!("{:?}", lone.work) };
    *depth = 1;
    lone.measured = [("iops", 30_000.0)].into();
    drive.experiments.push(lone);
    assert_eq!(drive.contradiction(), None);
    drive.experiments[1].measured = [("iops", 90_000.0)].into();
    assert!(drive.contradiction().unwrap().contains("more requests at a time"));
}

/// Files of impossible drives were fitted for minutes.
#[test]
fn experiments_that_no_drive_can_have_together_are_refused() {
    let fill = "kind = \"fill\"\nsize = \"1MiB\"\ndepth = 8\nsource = \"s\"\nmeasured = ";
    let depth_1 = "\n[[experiment]]\nkind = \"closed\"\nop = \"read\"\ndepth = 1\nsource = \"s\"\n";
    let offered = "kind = \"offered\"\nwrites_per_second = 1000\nsource = \"s\"\nmeasured = { iops = 2000 }";
    for (experiment, wanted) in [
        (format!("{fill}{{ phase1.until = \"120GB\" }}"), "phase1.until is 120 GB, and the capacity is 100 GB"),
        (format!("{fill}{{ phase1.until = \"50GB\", phase2.until = \"40GB\" }}"), "phase1.until is above"),
        (
            format!(
                "{fill}{{ phase1.rate = \"2GB/s\", phase1.until = \"50GB\", phase2.rate = \"1GB/s\", whole.rate = \
                 \"2GB/s\" }}"
            ),
            "the phases make 1333 MB/s",
        ),
        (offered.to_owned(), "only writes_per_second = 1000 are offered"),
        (format!("{}measured = {{ iops = 90_000 }}", &depth_1[16..]), "more requests at a time"),
    ] {
        let text = format!("{SOUND}[[experiment]]\n{experiment}\n");
        let message = MeasuredDrive::from_text(&text, "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("line "), "{experiment}: {message}");
    }
}
