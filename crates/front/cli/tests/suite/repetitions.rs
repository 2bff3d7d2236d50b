//! `compare --repetitions`: means, intervals, and what can be told.

use crate::support::nandarium;
use serde_json::Value;

const SMALL: [&str; 8] = [
    "--requests",
    "3000",
    "--set",
    "drive.capacity=128MiB",
    "--set",
    "flash.pages_per_block=32",
    "--set",
    "drive.over_provisioning=60%",
];

fn printed(arguments: &[&str]) -> String {
    let output = nandarium(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &SMALL, &["--quiet", "--json"]].concat())).unwrap()
}

fn figure<'a>(result: &'a Value, metric: &str) -> &'a Value {
    let figures = result["repeated"]["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["metric"] == metric).unwrap()
}

#[test]
fn means_are_those_of_runs_with_the_next_seeds() {
    let compared = json(&["compare", "page", "dftl", "--seed", "5", "--repetitions", "3"]);
    for (place, stack) in ["page", "dftl"].into_iter().enumerate() {
        let iops =
            ["5", "6", "7"].map(|seed| json(&["run", "--stack", stack, "--seed", seed])["iops"].as_f64().unwrap());
        let mean = iops.iter().sum::<f64>() / 3.0;
        let told = figure(&compared["results"][place], "iops")["mean"].as_f64().unwrap();
        assert!((told / mean - 1.0).abs() < 1e-12, "{stack}: {told}, and {mean} of single runs");
    }
}

#[test]
fn a_stack_cannot_be_told_from_itself_and_a_slower_one_can() {
    let compared = json(&["compare", "page", "page", "page+flash.read_time=200us", "--repetitions", "3"]);
    let [first, same, slower] = [0, 1, 2].map(|place| &compared["results"][place]);
    assert!(first["repeated"]["sentence"].is_null() && figure(first, "iops")["ratio"].is_null());
    for figure in same["repeated"]["figures"].as_array().unwrap() {
        assert_eq!(
            (&figure["ratio"]["middle"], &figure["differs"]),
            (&1.0.into(), &"cannot be told".into()),
            "{figure}"
        );
    }
    let iops = figure(slower, "iops");
    assert_eq!((&iops["differs"], &iops["better"]), (&"lower".into(), &false.into()), "{iops}");
    assert!(slower["repeated"]["sentence"].as_str().unwrap().contains("worse in"), "{slower}");
}

#[test]
fn the_table_has_intervals_and_a_verdict_in_words() {
    let text = printed(&[&["compare", "page", "dftl", "--repetitions", "2", "--quiet"], &SMALL[..]].concat());
    assert!(
        text.contains("are means of 2 runs") && text.contains(" ±") && text.contains("\nverdict   dftl against page"),
        "{text}"
    );
    // One table: no second line tells the ratio of single runs.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("IOPS ")).collect();
    assert!(lines.len() == 1 && lines[0].contains(" to "), "{text}");
    let alone = printed(&[&["compare", "page", "dftl", "--quiet"], &SMALL[..]].concat());
    assert!(!alone.contains("are means of") && !alone.contains("verdict"), "{alone}");
}

/// They were left out without a word, or took the first runs with them.
#[test]
fn where_a_run_ends_early_its_repetitions_are_missed_and_the_first_runs_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let worn = [
        "compare",
        "page",
        "page+flash.endurance=3",
        "--repetitions",
        "2",
        "--workload",
        "uniform-write",
        "--json",
        "--quiet",
    ];
    let sizes = [
        "--requests",
        "300000",
        "--set",
        "drive.capacity=64MiB",
        "--set",
        "flash.channels=2",
        "--set",
        "flash.pages_per_block=32",
    ];
    let output = nandarium(
        &[
            &worn[..],
            &sizes,
            &[
                "--set",
                "drive.over_provisioning=60%",
                "--set",
                "drive.precondition=none",
                "--out",
                out.to_str().unwrap(),
            ],
        ]
        .concat(),
    )
    .output()
    .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        !output.status.success() && document["results"][1]["status"] == "worn-out",
        "{}",
        document["results"][1]["status"]
    );
    assert!(document["notes"].to_string().contains("No repetitions: page+flash.endurance=3"), "{}", document["notes"]);
    assert!(document["results"][0].get("repeated").is_none() && out.join("report.html").is_file());
}

#[test]
fn an_interval_is_shown_on_the_side_of_one_where_it_ends() {
    let compared = json(&["compare", "page", "dftl", "page+ftl.gc.victim=fifo", "--repetitions", "3"]);
    for result in &compared["results"].as_array().unwrap()[1..] {
        for figure in result["repeated"]["figures"].as_array().unwrap().iter().filter(|one| !one["ratio"].is_null()) {
            let shown = figure["ratio"]["shown"].as_str().unwrap();
            let ends: Vec<f64> =
                shown.split(['(', ')']).nth(1).unwrap().split(" to ").map(|end| end.parse().unwrap()).collect();
            let told = match figure["differs"].as_str().unwrap() {
                "higher" => ends[0] > 1.0,
                "lower" => ends[1] < 1.0,
                _ => ends[0] <= 1.0 && ends[1] >= 1.0,
            };
            assert!(told, "{figure}");
        }
    }
}

#[test]
fn what_cannot_be_repeated_is_told() {
    for (more, wanted) in
        [(&["--repetitions", "0"][..], "1..=1000"), (&["--repetitions", "2", "--workload", "-"], "only once")]
    {
        let output = nandarium(&[&["compare", "page"], more].concat()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(wanted), "{more:?}: {stderr}");
    }
}
