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
            "depht is not a key of an experiment of kind = \"closed\"; did you mean `depth`; there are source, \
             measured, ",
        ),
        ("kind = \"closed\"\n", "", 5, "kind is missing; write it, such as kind = \"closed\""),
        ("depth = 4\n", "", 5, "depth is missing; write it, such as depth = 4"),
        ("depth = 4", "depth = \"4\"", 8, "depth is \"4\"; write a whole number from 0, such as depth = 4"),
        ("depth = 4", "depth = 0", 8, "depth is 0; it is 1 or more"),
        ("text = \"t\"", "txt = \"t\"", 4, "txt is not a key of a source; did you mean `text`"),
        ("capacity = \"100GB\"", "capasity = \"100GB\"", 2, "capasity is not a key of a measured drive; did you mean"),
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
        ("rate = \"163.84MB/s\", mean = \"200us\"", "40000 requests a second of 200.0 us each are 8.00 at a time"),
        ("p50 = \"90us\", p99 = \"80us\"", "p50 is above p99: 90.0 us and 80.0 us"),
        ("iops = 40_000, rate = \"1GB/s\"", "is not rate: 40000 a second make 163.8 MB/s, and rate is 1000.0 MB/s"),
        ("waf = 0.9", "waf is 0.9, below 1"),
        ("mean = \"30us\", p50 = \"90us\"", "p50 alone makes it 45.0 us or more"),
        ("iops = 40_000, read.mean = \"200us\"", "(100 % of read.mean 200.0 us) are 8.00 at a time, and depth is 4"),
        (
            "mean = \"100us\", read.mean = \"200us\"",
            "mean is 100.0 us, and 100 % of read.mean 200.0 us make it 200.0 us",
        ),
    ] {
        let text = SOUND.replace("iops = 40_000, mean = \"100us\"", measured);
        let message = MeasuredDrive::from_text(&text, "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted), "{measured}: {message}");
        assert!(message.starts_with("d.toml, line 5: experiment 1: "), "{measured}: {message}");
        assert!(message.ends_with("Correct one of them, or leave it out") || measured == "waf = 0.9", "{message}");
    }
}

/// The law was applied to reads alone and writes alone.
#[test]
fn the_latencies_of_a_mix_are_held_to_its_depth() {
    let mix = |measured: &str| {
        let text = SOUND.replace("op = \"read\"", "op = \"mixed\"\nreads = 0.75");
        let text = text.replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&text, "d.toml").map_err(|error| error.to_string())
    };
    mix("iops = 40_000, read.mean = \"80us\", write.mean = \"160us\"").unwrap();
    mix("rate = \"163.84MB/s\", read.mean = \"80us\", write.mean = \"160us\"").unwrap();
    mix("iops = 60_000, read.mean = \"80us\"").unwrap();
    let problem = mix("iops = 40_000, read.mean = \"160us\", write.mean = \"80us\"").unwrap_err();
    let wanted = "40000 requests a second of 140.0 us each (75 % of read.mean 160.0 us and 25 % of write.mean 80.0 \
                  us) are 5.60 at a time, and depth is 4";
    assert!(problem.contains(wanted), "{problem}");
    let problem = mix("mean = \"100us\", read.mean = \"160us\", write.mean = \"80us\"").unwrap_err();
    assert!(problem.contains("mean is 100.0 us, and 75 % of read.mean"), "{problem}");
}

/// Either statement was fitted to, whichever stood first.
#[test]
fn an_experiment_that_is_stated_twice_has_about_the_same_figures() {
    let twice = |measured: &str, more: &str| {
        let second = &SOUND[SOUND.find("[[experiment]]").unwrap()..];
        let second = second.replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&format!("{SOUND}{second}{more}"), "d.toml").map_err(|error| error.to_string())
    };
    twice("iops = 38_000, mean = \"105us\", p999 = \"300us\"", "").unwrap();
    let problem = twice("iops = 80_000, mean = \"50us\"", "").unwrap_err();
    let title = "\"4 KiB random reads, depth 4\"";
    let wanted = format!(
        "d.toml, line 11: the figures contradict each other: iops is 40.0k/s in experiment 1 (line 5), {title}, and \
         80.0k/s in experiment 2 (line 11), {title}: both state the same experiment. Correct one of them, or leave it \
         out"
    );
    assert_eq!(problem, wanted);
    // What a slow host adds is no difference of the drive.
    let host = "[source.slow]\ntext = \"t\"\nhost_time = \"80us\"\n";
    let slow = |measured: &str| {
        let second = SOUND[SOUND.find("[[experiment]]").unwrap()..].replace("source = \"s\"", "source = \"slow\"");
        let second = second.replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&format!("{}{second}{host}", SOUND.replace("iops = 40_000, ", "")), "d.toml")
    };
    slow("mean = \"180us\"").unwrap();
    assert!(slow("mean = \"300us\"").is_err());
    // Tails that rare events make are less exact.
    let tails = |second: &str| {
        let text = SOUND.replace("mean = \"100us\"", "mean = \"100us\", p999 = \"1ms\", p99 = \"300us\"");
        let other = text[text.find("[[experiment]]").unwrap()..].replace("1ms", second);
        MeasuredDrive::from_text(&format!("{text}{other}"), "d.toml")
    };
    tails("3ms").unwrap();
    assert!(tails("5ms").unwrap_err().to_string().contains("p999 is 1ms in experiment 1"));
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
    // What contradicts itself was written, and no fit took it.
    let Work::Closed { area, .. } = drive.experiments[1].work else { panic!("{:?}", drive.experiments[1].work) };
    drive.experiments[1].work = Work::Offered { writes_per_second: 66_832.0, area };
    drive.experiments[1].measured = [("iops", 90_000.0)].into();
    let problem = drive.contradiction().unwrap();
    assert!(problem.starts_with("experiment 2") && problem.contains("only writes_per_second = 66832"), "{problem}");
    drive.experiments[1].measured = [("iops", 73_548.0)].into();
    assert_eq!(drive.contradiction(), None);
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
        (
            offered.to_owned(),
            "experiment 2: the figures contradict each other: iops is 2000, and only writes_per_second = 1000 are \
             offered",
        ),
        (
            offered.replace("iops = 2000", "rate = \"8.2MB/s\""),
            "rate is 8.2 MB/s, which are 2002 writes of 4 KiB a second, and only",
        ),
        (
            offered.replace("iops = 2000", "iops = 900, rate = \"2MB/s\""),
            "which are 488 writes of 4 KiB a second, and iops is 900",
        ),
        (format!("{}measured = {{ iops = 90_000 }}", &depth_1[16..]), "more requests at a time"),
    ] {
        let text = format!("{SOUND}[[experiment]]\n{experiment}\n");
        let message = MeasuredDrive::from_text(&text, "d.toml").unwrap_err().to_string();
        assert!(message.contains(wanted) && message.contains("line "), "{experiment}: {message}");
    }
}

/// Contradictions of one law were told in one form of the figures, and not in the others.
#[test]
fn two_forms_of_a_figure_are_held_to_one_law() {
    let twice = |first: &str, second: &str, source: &str| {
        let text = SOUND.replace("iops = 40_000, mean = \"100us\"", first);
        let other = SOUND[SOUND.find("[[experiment]]").unwrap()..].replace("iops = 40_000, mean = \"100us\"", second);
        let other = other.replace("source = \"s\"", &format!("source = \"{source}\""));
        let slow = "[source.slow]\ntext = \"t\"\nhost_time = \"80us\"\n";
        MeasuredDrive::from_text(&format!("{text}{other}{slow}"), "d.toml").map_err(|error| error.to_string())
    };
    for (first, second, wanted) in [
        (
            "mean = \"100us\"",
            "iops = 90_000",
            ["mean is 100us in", "mean is 44.4us (90000 requests a second, depth 4)"],
        ),
        (
            "iops = 90_000",
            "mean = \"100us\"",
            ["mean is 44.4us (90000 requests a second, depth 4)", "mean is 100us in"],
        ),
        ("iops = 40_000", "rate = \"400MB/s\"", ["mean is 100us (40000 requests a second", "mean is 41us (97656 req"]),
        ("read.mean = \"100us\"", "iops = 90_000", ["(100 % of read.mean 100.0 us)", "mean is 44.4us"]),
        ("p50 = \"90us\"", "p99 = \"30us\"", ["p50 is 90us in experiment 1", "p99 is 30us in experiment 2"]),
        ("p99 = \"30us\"", "p50 = \"90us\"", ["p99 is 30us in experiment 1", "p50 is 90us in experiment 2"]),
    ] {
        let problem = twice(first, second, "s").unwrap_err();
        assert!(wanted.iter().all(|part| problem.contains(part)), "{problem}");
        assert!(problem.contains(": both state the same experiment"), "{problem}");
    }
    twice("mean = \"100us\"", "iops = 42_000", "s").unwrap();
    twice("p50 = \"90us\"", "p99 = \"80us\"", "s").unwrap();
    // A slower host has fewer requests a second of the same drive.
    twice("mean = \"100us\"", "iops = 22_200", "slow").unwrap();
    assert!(twice("mean = \"100us\"", "iops = 22_200", "s").is_err());
    let problem = twice("iops = 40_000", "mean = \"60us\"", "slow").unwrap_err();
    assert!(problem.contains("host_time of source `slow` is 80us, and mean, which includes it, is 60us"), "{problem}");
    let deeper = |measured: &str| {
        let other = SOUND[SOUND.find("[[experiment]]").unwrap()..].replace("depth = 4", "depth = 1");
        let other = other.replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&format!("{SOUND}{other}"), "d.toml").map_err(|error| error.to_string())
    };
    let problem = deeper("rate = \"400MB/s\"").unwrap_err();
    assert!(
        problem.contains("97.7k/s (rate is 400.0 MB/s)") && problem.contains("more requests at a time"),
        "{problem}"
    );
}

/// A drive that speeds up when collection begins was fitted to.
#[test]
fn a_steady_rate_above_the_plateau_is_refused() {
    let transient = |measured: &str| {
        let at = SOUND.find("kind").unwrap();
        let text = format!(
            "{}kind = \"transient\"\nused = \"80GB\"\ndepth = 4\nsource = \"s\"\nmeasured = {{ {measured} }}\n",
            &SOUND[..at]
        );
        MeasuredDrive::from_text(&text, "d.toml").map_err(|error| error.to_string())
    };
    transient("plateau = 300_000, steady = 120_000").unwrap();
    let problem = transient("plateau = 120_000, steady = 300_000").unwrap_err();
    assert!(
        problem.contains("steady is 300000, above plateau, 120000; the rate before collection begins"),
        "{problem}"
    );
}

/// A mix with the mean of its reads alone, or with a median, was held to nothing.
#[test]
fn what_is_stated_of_some_requests_is_no_more_than_the_depth_has_room_for() {
    let refused = |op: &str, measured: &str| {
        let text = SOUND.replace("op = \"read\"", op).replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&text, "d.toml").map_or_else(|error| error.to_string(), |_| String::new())
    };
    let mixed = "op = \"mixed\"\nreads = 0.75";
    for (op, measured, wanted) in [
        (mixed, "iops = 90_000, read.mean = \"80us\"", "75 % of them with read.mean 80.0 us, are 5.40 or more"),
        (
            mixed,
            "iops = 50_000, read.p50 = \"160us\", write.min = \"160us\"",
            "75 % of them with read.p50 160.0 us and 25 % of them with write.min 160.0 us, are 5.00 or more",
        ),
        ("op = \"read\"", "iops = 90_000, min = \"60us\"", "90000 requests a second, min 60.0 us, are 5.40 or more"),
        ("op = \"read\"", "rate = \"400MB/s\", p50 = \"100us\"", "p50 100.0 us, are 4.88 or more at a time"),
        ("op = \"commit\"", "iops = 90_000, min = \"60us\"", "are 5.40 or more at a time, and depth is 4"),
    ] {
        let problem = refused(op, measured);
        assert!(problem.contains(wanted), "{measured}: {problem}");
    }
    assert_eq!(refused(mixed, "iops = 60_000, read.mean = \"80us\", write.min = \"30us\""), "");
    assert_eq!(refused("op = \"read\"", "iops = 60_000, p50 = \"100us\", p99 = \"1ms\""), "");
}

/// Each statement was sound by itself, and no drive has both.
#[test]
fn a_mean_beside_percentiles_depths_or_commits_of_other_statements_is_held_to_them() {
    let both = |first: &str, second: &str, changed: [&str; 2]| {
        let text = SOUND.replace("iops = 40_000, mean = \"100us\"", first);
        let other = SOUND[SOUND.find("[[experiment]]").unwrap()..].replace("iops = 40_000, mean = \"100us\"", second);
        let other = other.replace(changed[0], changed[1]);
        // In either order, as files are written in any.
        let begin = SOUND.find("[[experiment]]").unwrap();
        let turned = format!("{}{other}{}", &text[..begin], &text[begin..]);
        let problem = |text: &str| {
            MeasuredDrive::from_text(text, "d.toml").map_or_else(|error| error.to_string(), |_| String::new())
        };
        let [one, other] = [problem(&format!("{text}{other}")), problem(&turned)];
        assert_eq!(one.is_empty(), other.is_empty(), "{one}, {other}");
        one
    };
    let same = ["depth", "depth"];
    let (alone, deep) = (["depth = 4", "depth = 1"], ["depth = 4", "depth = 32"]);
    let commit = ["op = \"read\"", "op = \"commit\""];
    for (first, second, changed, wanted) in [
        ("mean = \"100us\"", "min = \"130us\"", same, "mean is 100us in experiment 1"),
        ("iops = 40_000", "p50 = \"260us\"", same, "mean is 100us (40000 requests a second, depth 4)"),
        ("read.mean = \"100us\"", "read.p50 = \"260us\"", same, "read.p50 is 260us in experiment 2"),
        ("iops = 40_000", "mean = \"15us\"", alone, "66.7k/s (mean is 15us, depth 1)"),
        ("mean = \"100us\"", "iops = 20_000", deep, "more requests at a time are not answered"),
        ("mean = \"100us\"", "iops = 700_000", deep, "among fewer others does not take so much longer"),
        ("iops = 40_000", "mean = \"210us\"", alone, "mean is 100us (40000 requests a second, depth 4)"),
    ] {
        let problem = both(first, second, changed);
        assert!(problem.contains(wanted), "{first}, {second}: {problem}");
    }
    assert_eq!(both("mean = \"100us\"", "min = \"90us\"", same), "");
    assert_eq!(both("mean = \"100us\"", "iops = 300_000", deep), "");
    assert_eq!(both("mean = \"100us\"", "mean = \"60us\"", commit), "", "a read is no part of a commit");
    let written = |first: &str, second: &str| {
        let text = SOUND.replace("op = \"read\"", "op = \"write\"").replace("iops = 40_000, mean = \"100us\"", first);
        let other = SOUND[SOUND.find("[[experiment]]").unwrap()..].replace(commit[0], commit[1]);
        let other = other.replace("iops = 40_000, mean = \"100us\"", second);
        MeasuredDrive::from_text(&format!("{text}{other}"), "d.toml").map_err(|error| error.to_string())
    };
    written("mean = \"100us\"", "mean = \"90us\"").unwrap();
    for (write, commit) in [
        ("mean = \"100us\"", "mean = \"60us\""),
        ("iops = 40_000", "iops = 70_000"),
        ("min = \"100us\"", "mean = \"60us\""),
    ] {
        let problem = written(write, commit).unwrap_err();
        assert!(problem.contains("a commit takes as long as its write"), "{problem}");
    }
}

/// Half of the requests took no time at all.
#[test]
fn a_median_below_the_time_of_its_host_is_refused() {
    let text = SOUND.replace("text = \"t\"", "text = \"t\"\nhost_time = \"50us\"");
    let of = |measured: &str| {
        let text = text.replace("iops = 40_000, mean = \"100us\"", measured);
        MeasuredDrive::from_text(&text, "d.toml").map_err(|error| error.to_string())
    };
    of("p50 = \"60us\", min = \"45us\"").unwrap();
    let problem = of("p50 = \"45us\"").unwrap_err();
    assert!(problem.contains("is 50us, and p50, which includes it, is 45us"), "{problem}");
    assert!(of("read.p99 = \"45us\"").is_err());
}
