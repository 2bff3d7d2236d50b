//! Timelines as files, completions and manual pages.

use crate::support::nandarium;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

const SMALL: [&str; 10] = [
    "--workload",
    "uniform-write",
    "--requests",
    "4000",
    "--set",
    "drive.capacity=128MiB",
    "--set",
    "flash.channels=2",
    "--set",
    "flash.pages_per_block=32",
];

fn said(arguments: &[&str]) -> (i32, String, String) {
    let output = nandarium(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn events(path: &Path) -> Vec<Value> {
    let file = File::open(path).unwrap();
    let document: Value = if path.extension().is_some_and(|ending| ending == "gz") {
        serde_json::from_reader(GzDecoder::new(file)).unwrap()
    } else {
        serde_json::from_reader(BufReader::new(file)).unwrap()
    };
    document["traceEvents"].as_array().unwrap().clone()
}

/// Slices of one track lie within each other or apart, arrows begin and end in slices, and lanes are apart.
#[test]
fn a_window_is_what_viewers_take() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json.gz");
    let draw = ["--timeline", path.to_str().unwrap(), "--window", "5ms..15ms"];
    let (code, with, stderr) = said(&[&["run", "--quiet", "--json"], &SMALL[..], &draw].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let (_, without, _) = said(&[&["run", "--quiet", "--json"], &SMALL[..]].concat());
    let hash = |text: &str| serde_json::from_str::<Value>(text).unwrap()["hash"].clone();
    assert_eq!(hash(&with), hash(&without), "looking changes nothing");
    let events = events(&path);
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap();
    let mut slices = of("X");
    assert!(slices.len() > 50 && !of("s").is_empty() && !of("C").is_empty(), "{} slices", slices.len());
    let (from, to) = (5000.0, 15000.0);
    assert!(of("C").iter().all(|curve| (from..=to).contains(&number(curve, "ts"))), "only there all are known");
    assert!(slices.iter().all(|one| number(one, "ts") < to && number(one, "ts") + number(one, "dur") >= from));
    let key = |event: &&Value| (event["pid"].as_u64(), event["tid"].as_u64(), (number(event, "ts") * 1e3) as i64);
    slices.sort_by_key(key);
    for pair in slices.windows(2) {
        let [one, next] = [pair[0], pair[1]];
        let is_same_track = one["pid"] == next["pid"] && one["tid"] == next["tid"];
        assert!(!is_same_track || number(one, "ts") + number(one, "dur") <= number(next, "ts") + 1e-3, "{one} {next}");
    }
    for end in of("s").into_iter().chain(of("f")) {
        let at = number(end, "ts");
        let holds = slices.iter().any(|one| {
            one["pid"] == end["pid"]
                && one["tid"] == end["tid"]
                && (number(one, "ts")..=number(one, "ts") + number(one, "dur")).contains(&at)
        });
        assert!(holds, "an arrow from or to nowhere: {end}");
    }
}

#[test]
fn the_slowest_are_the_default_and_each_stack_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--around", "slowest:3", "--quiet"];
    let (code, _, stderr) = said(&[&["compare", "page", "dftl"], &SMALL[..], &draw].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    for name in ["t-page.json", "t-dftl.json"] {
        let events = events(&folder.path().join(name));
        assert_eq!(events.iter().filter(|event| event["cat"] == "request").count(), 3, "{name}");
    }
}

/// A window shows what stands in blocks, buffers and caches, in time and within what there is.
#[test]
fn a_window_has_curves_of_blocks_buffers_and_caches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--window", "0ms..500ms", "--quiet"];
    let (code, _, stderr) = said(
        &[
            &["run", "--stack", "two-level"],
            &SMALL[..2],
            &["--requests", "20000", "--set", "drive.precondition=none"],
            &SMALL[4..],
            &draw,
        ]
        .concat(),
    );
    assert_eq!((code, stderr.as_str()), (0, ""));
    let events = events(&path);
    let curve = |name: &str, arg: &str| -> Vec<(f64, u64)> {
        let of_it = events.iter().filter(|event| event["ph"] == "C" && event["name"] == name);
        of_it.map(|event| (event["ts"].as_f64().unwrap(), event["args"][arg].as_u64().unwrap())).collect()
    };
    let free = curve("free", "blocks");
    assert!((10..=400).contains(&free.len()) && free.is_sorted_by(|one, next| one.0 < next.0), "{free:?}");
    let (first, last) = (free[0].1, free[free.len() - 1].1);
    assert!(first > last && first > 0, "an empty drive that is written has fewer free blocks: {first}, {last}");
    let dirty = curve("dirty", "pages");
    assert!(dirty.len() == free.len() && dirty.iter().any(|row| row.1 > 0), "{dirty:?}");
    let caches = events.iter().any(|event| event["name"].as_str().is_some_and(|name| name.starts_with("cache of ")));
    assert!(caches, "the buffer is a cache");
}

/// Viewers take thread 0 for an idle one: work of the first die and of the first channel lay on one track, and most of
/// it was dropped.
#[test]
fn each_track_has_a_number_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--window", "5ms..15ms", "--quiet"];
    assert_eq!(said(&[&["run", "--set", "flash.planes_per_die=2"], &SMALL[..], &draw].concat()).0, 0);
    let events = events(&path);
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
    let named = events.iter().filter(|event| event["name"] == "thread_name");
    let mut names: Vec<(u64, &str)> =
        named.map(|event| (number(event, "tid"), event["args"]["name"].as_str().unwrap())).collect();
    names.sort_unstable();
    assert!(names.iter().is_sorted_by(|one, next| one.0 < next.0) && names[0].0 > 0, "{names:?}");
    for wanted in ["channel 0", "die 0 (channel 0)", "plane 1 of die 0", "lane 1"] {
        assert!(names.iter().any(|(_, name)| *name == wanted), "{wanted}: {names:?}");
    }
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let tracks: BTreeSet<(u64, u64)> = slices.map(|event| (number(event, "tid"), number(event, "pid"))).collect();
    assert!(tracks.iter().is_sorted_by(|one, next| one.0 < next.0), "a number in two processes: {tracks:?}");
    assert!(tracks.iter().all(|(tid, _)| names.iter().any(|(named, _)| named == tid)), "{tracks:?}");
}

/// A slot's number goes to the next request: those that waited long for one were drawn with the commands of the request
/// that had it before.
#[test]
fn no_arrow_goes_to_a_command_from_before_its_request_was_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--around", "slowest:20", "--quiet"];
    let crowd = ["--set", "workload.loop=open", "--set", "host.queue_limit=4", "--set", "workload.time_scale=0.5"];
    assert_eq!(said(&[&["run"], &SMALL[..], &crowd, &draw].concat()).0, 0);
    let events = events(&path);
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap();
    let requests: Vec<&Value> = events.iter().filter(|event| event["cat"] == "request").collect();
    let ends = events.iter().filter(|event| event["ph"] == "f");
    let ends: BTreeMap<u64, &Value> = ends.map(|event| (event["id"].as_u64().unwrap(), event)).collect();
    let mut arrows = 0;
    for from in events.iter().filter(|event| event["ph"] == "s" && event["name"] == "its command") {
        let request = requests.iter().find(|one| one["tid"] == from["tid"] && one["ts"] == from["ts"]).unwrap();
        let to = ends[&from["id"].as_u64().unwrap()];
        let queued = request["args"]["waited_for"]["queue_us"].as_f64().unwrap_or(0.0);
        assert!(number(to, "ts") >= number(request, "ts") + queued - 1e-3, "{request}\n{to}");
        arrows += 1;
    }
    let is_queued = |request: &&Value| request["args"]["waited_for"]["queue_us"].as_f64() > Some(1e3);
    assert!(arrows > 0 && requests.iter().any(is_queued));
}

/// Where the oldest work of a request is no longer there, what was left of a gang lay on the plane of another die.
#[test]
fn planes_work_when_their_die_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--around", "slowest:60", "--quiet"];
    let planes =
        ["--set", "flash.planes_per_die=4", "--set", "flash.multi_plane=true", "--set", "flash.pages_per_block=32"];
    let run = ["run", "--requests", "10000", "--workload", "mixed", "--set", "drive.capacity=256MiB"];
    assert_eq!(said(&[&run[..], &planes, &draw].concat()).0, 0);
    let events = events(&path);
    let named = events.iter().filter(|event| event["name"] == "thread_name");
    let names: BTreeMap<u64, &str> =
        named.map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap())).collect();
    let of_die = |name: &str| name.rsplit_once("of ").map_or(name, |(_, die)| die).replace('(', "");
    let mut pages = BTreeMap::<(String, String), [u64; 2]>::new();
    for slice in events.iter().filter(|event| event["ph"] == "X" && event["args"]["pages"].is_u64()) {
        let name = names[&slice["tid"].as_u64().unwrap()];
        if !name.starts_with("channel") {
            let die: String = of_die(name).split(' ').take(2).collect::<Vec<_>>().join(" ");
            let sums = pages.entry((die, slice["ts"].to_string() + " " + &slice["dur"].to_string())).or_default();
            sums[usize::from(name.starts_with("plane"))] += slice["args"]["pages"].as_u64().unwrap();
        }
    }
    assert!(pages.len() > 1000 && pages.values().any(|[_, of_planes]| *of_planes > 1));
    for (piece, [of_die, of_planes]) in pages {
        assert_eq!(of_die, of_planes, "{piece:?}");
    }
}

/// The slowest request of the report is the longest latency of the result, and typical ones are about the median.
#[test]
fn a_report_has_the_slowest_requests_and_typical_ones() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let with = ["--json", "--quiet", "--set", "measure.warm_up=0", "--out", out.to_str().unwrap()];
    let (code, printed, stderr) = said(&[&["run"], &SMALL[..], &with].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let result: Value = serde_json::from_str(&printed).unwrap();
    let requests = result["closeups"]["requests"].as_array().unwrap();
    let of = |role: &str| requests.iter().filter(|one| one["role"] == role).collect::<Vec<_>>();
    let (slowest, typical) = (of("slowest"), of("typical"));
    assert_eq!((slowest.len(), typical.len()), (20, 20));
    assert_eq!(slowest[0]["latency_ns"], result["latency_ns"]["write"]["max"]);
    let median = result["latency_ns"]["write"]["p50"].as_f64().unwrap();
    assert!(typical.iter().all(|one| (one["latency_ns"].as_f64().unwrap() / median - 1.0).abs() < 0.25), "{typical:?}");
    // Rows of all requests follow each other, and columns name works and causes by their place.
    let slices = &result["closeups"]["slices"];
    let column = |name: &str| slices[name].as_array().unwrap().iter().map(|value| value.as_i64().unwrap());
    let own: Vec<i64> = column("own").collect();
    let mut begin = 0;
    for one in requests {
        let rows = one["slices"].as_u64().unwrap() as usize;
        assert!(own[begin..begin + rows].contains(&1), "each write of this stack is a program: {one}");
        begin += rows;
    }
    for (name, table) in [("work", "works"), ("cause", "causes")] {
        let words = result["closeups"][table].as_array().unwrap().len() as i64;
        assert!(column(name).len() == begin && column(name).all(|place| (0..words).contains(&place)), "{name}");
    }
    // By root cause nothing is waited for that was not waited for, and by both it is the same time.
    let sum = |waited: &Value| waited.as_object().unwrap().values().map(|ns| ns.as_u64().unwrap()).sum::<u64>();
    assert!(requests.iter().all(|one| sum(&one["waited_ns"]) == sum(&one["waited_root_ns"])), "{requests:?}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("\"closeups\""), "the page has them");
    let (_, plain, _) = said(&[&["run", "--json", "--quiet", "--set", "measure.warm_up=0"], &SMALL[..]].concat());
    let plain: Value = serde_json::from_str(&plain).unwrap();
    assert!(
        plain.get("closeups").is_none() && plain["hash"] == result["hash"],
        "nobody asked, and looking changes nothing"
    );
}

/// Both were written into one file, by two threads at once.
#[test]
fn stacks_of_one_name_have_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--around", "slowest:3", "--quiet"];
    let (code, _, stderr) = said(&[&["compare", "page", "page"], &SMALL[..], &draw].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let both = ["t-page.json", "t-page-2.json"].map(|name| events(&folder.path().join(name)));
    assert!(both[0] == both[1] && !both[0].is_empty());
}

/// What is drawn around single requests took the place of the report's own, and counted as all requests under way.
#[test]
fn a_timeline_and_a_report_do_not_know_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("t.json"), folder.path().join("out"));
    let result = |more: &[&str]| -> Value {
        let (code, printed, stderr) =
            said(&[&["run", "--json", "--quiet", "--out", out.to_str().unwrap()], &SMALL[..], more].concat());
        assert_eq!((code, stderr.as_str()), (0, ""));
        serde_json::from_str(&printed).unwrap()
    };
    let (alone, both) = (result(&[]), result(&["--timeline", path.to_str().unwrap()]));
    assert_eq!(alone["closeups"], both["closeups"]);
    assert!(events(&path).iter().all(|event| event["name"] != "requests"));
    let silent = result(&["--set", "engine.causes=false"]);
    let requests = silent["closeups"]["requests"].as_array().unwrap();
    assert!(
        !requests.is_empty()
            && requests.iter().all(|one| one["waited_ns"].is_null() && one["waited_root_ns"].is_null()),
        "not recorded is not nothing"
    );
}

#[test]
fn requests_next_to_a_percentile_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let draw = ["--timeline", path.to_str().unwrap(), "--around", "percentile:50"];
    let (code, result, stderr) = said(&[&["run", "--quiet", "--json"], &SMALL[..], &draw].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let result: Value = serde_json::from_str(&result).unwrap();
    let median = result["latency_ns"]["write"]["p50"].as_f64().unwrap() / 1e3;
    let requests: Vec<f64> = events(&path)
        .iter()
        .filter(|event| event["cat"] == "request")
        .map(|event| event["dur"].as_f64().unwrap())
        .collect();
    assert!(requests.len() == 5 && requests.iter().all(|took| (took / median - 1.0).abs() < 0.05), "{requests:?}");
}

#[test]
fn what_cannot_be_drawn_is_told() {
    for (arguments, wanted) in [
        (&["--window", "5ms..15ms"][..], "--timeline <FILE>"),
        (&["--timeline", "x.json", "--window", "15ms..5ms"], "write two times"),
        (&["--timeline", "x.json", "--window", "5..15"], "unit"),
        (&["--timeline", "x.json", "--around", "slow"], "slowest:20"),
        (&["--timeline", "x.json", "--around", "percentile:100"], "percentile:99.9"),
        (&["--timeline", "there/is/none/x.json"], "there is no folder there/is/none"),
        (&["--timeline", "x.json", "--set", "engine.time=none"], "engine.time = virtual"),
    ] {
        let (code, _, stderr) = said(&[&["run", "--quiet"], &SMALL[..], arguments].concat());
        assert!(code > 0 && stderr.contains(wanted), "{arguments:?}: {stderr}");
    }
    assert!(!Path::new("x.json").exists());
}

#[test]
fn shells_and_man_know_all_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, stdout, _) = said(&["completions", shell]);
        assert!(code == 0 && stdout.contains("torture") && stdout.contains("timeline"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, page, _) = said(&["man"]);
    assert!(code == 0 && page.contains(".TH nandarium 1"), "{page}");
    assert_eq!(said(&["man", "--out", folder.path().to_str().unwrap()]).0, 0);
    let page = fs::read_to_string(folder.path().join("nandarium-torture.1")).unwrap();
    assert!(page.contains("\\-\\-lie"), "{page}");
    let completions = said(&["completions", "bash"]).1;
    for verb in ["run", "compare", "report"] {
        let page = fs::read_to_string(folder.path().join(format!("nandarium-{verb}.1"))).unwrap();
        assert!(page.contains("\\-\\-open"), "{page}");
        let words = completions.split(&format!("nandarium__subcmd__{verb})")).nth(1).unwrap_or_default();
        let words = words.split_once("opts=").map_or("", |(_, rest)| rest.lines().next().unwrap_or_default());
        assert!(words.contains("--open "), "{verb}: {words}");
    }
}
