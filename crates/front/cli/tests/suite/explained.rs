//! Nothing in a result is left without an explanation.

/// Chips enough for a stripe, and room for the old versions of few of them.
const STRIPED: [&str; 4] =
    ["flash.channels=6", "flash.dies_per_channel=1", "stripe.cache.entries=16", "stripe.in_flight=16"];

/// Banks of one die, and zones small enough that there are as many as code zones.
const ZONED: [&str; 4] = ["flash.channels=8", "flash.dies_per_channel=1", "drive.capacity=80MiB", "coded.size=1MiB"];

/// What a stack needs to be as small as a test's.
fn settings(stack: &str) -> Vec<&'static str> {
    let text = crate::support::said(crate::support::nandarium(&["explain", stack])).out;
    let needed: &[&str] = match () {
        () if text.contains("[coded]") => &ZONED,
        () if text.contains("[stripe]") => &STRIPED,
        () => &[],
    };
    needed.iter().flat_map(|setting| ["--set", setting]).collect()
}

#[test]
fn every_counter_of_every_built_in_stack_is_explained() {
    let listed = crate::support::nandarium(&["list", "stacks", "--json"]).output().expect("it runs").stdout;
    let stacks: serde_json::Value = serde_json::from_slice(&listed).expect("it is JSON");
    let names: Vec<&str> =
        stacks["stacks"].as_array().expect("a list").iter().filter_map(|stack| stack["name"].as_str()).collect();
    assert!(names.len() >= 6, "{names:?}");
    let mut all = std::collections::BTreeSet::new();
    for name in names {
        let settings = settings(name);
        for service in ["engine.service=parallel", "engine.service=serial"] {
            let result = crate::support::json(
                &[
                    &settings[..],
                    &["--stack", name, "--set", service, "--set", "drive.precondition=none", "--requests", "200"],
                ]
                .concat(),
            );
            let counters = result["counters"].as_object().expect("counters have names");
            assert!(counters.len() > 5, "{counters:?}");
            all.extend(counters.keys().cloned());
        }
    }
    let is_explained =
        |counter: &str| crate::support::nandarium(&["explain", counter]).output().expect("it runs").status.success();
    let missing: Vec<&String> = all.iter().filter(|counter| !is_explained(counter)).collect();
    assert!(missing.is_empty(), "neither a key nor in the glossary: {missing:?}");
}

#[test]
fn a_key_is_explained_with_when_it_is_read() {
    for (key, when) in [
        ("ftl.gc.choices", "read when ftl.kind is not bast, block or fast, and ftl.gc.victim is d-choices"),
        ("ftl.bast.victim", "read when stripe.kind is not raid-elastic, and ftl.kind is bast"),
        ("buffer.size", "read when buffer.kind is not none"),
        ("buffer.small_request", "read when buffer.kind is two-level, and buffer.identify is request-size"),
        ("coded.decoder", "read when stripe.kind is coded, and coded.code_zones is above 0"),
        ("flash.suspend_time", "read when flash.suspend is not off"),
        ("remap.segment", "read when remap.kind is log-cache"),
        ("flash.fault.dies_after", "read when flash.fault.dies or flash.fault.channels is set"),
    ] {
        let output = crate::support::nandarium(&["explain", key]).output().expect("it runs").stdout;
        let text = String::from_utf8_lossy(&output);
        assert!(text.contains(&format!("  {when}\n")), "{key}: {text}");
    }
    let always = crate::support::nandarium(&["explain", "drive.capacity"]).output().expect("it runs").stdout;
    let always = String::from_utf8_lossy(&always);
    assert!(!always.contains("read when") && always.contains("example: --set drive.capacity="), "{always}");
}

/// A stack file may have them for one version, and `explain` said that there is nothing of such a name.
#[test]
fn names_of_the_version_before_are_explained_under_those_of_today() {
    let explained = |name: &str| {
        let output = crate::support::nandarium(&["explain", name]).output().expect("it runs").stdout;
        String::from_utf8(output).expect("it is text")
    };
    let keys = explained("coded");
    let keys = keys.lines().filter_map(|line| line.strip_prefix("coded."));
    let mut names: Vec<String> = keys.map(|key| format!(".{key}")).collect();
    assert!(names.len() > 5, "{names:?}");
    names.extend([String::new(), ".zones_coded".to_owned()]);
    for name in names {
        let (before, today) = (format!("zones{name}"), format!("coded{name}"));
        let text = explained(&before);
        assert_eq!(text, format!("{before} is called {today} today\n\n{}", explained(&today)));
    }
}

/// Only whoever knew the name of a thing was told of it.
#[test]
fn words_find_what_speaks_of_them() {
    for (words, found) in [
        (&["garbage"][..], &["GC (garbage collection)"][..]),
        (&["tail", "latency"], &["slowest share of the requests"]),
        (&["slow", "requests"], &["these texts speak of it"]),
        (&["znand"], &["znand-2k"]),
    ] {
        let said = crate::support::said(crate::support::nandarium(&[&["explain"], words].concat()));
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
        for name in found {
            assert!(said.out.contains(name), "{words:?}: {}", said.out);
        }
    }
    let nothing = crate::support::said(crate::support::nandarium(&["explain", "garbage", "aardvark"]));
    assert!(nothing.code == 2 && nothing.err.contains("nothing is called `garbage aardvark`"), "{}", nothing.err);
}

#[test]
fn the_list_of_stacks_begins_with_the_usual_one_and_has_each_once() {
    let listed = crate::support::said(crate::support::nandarium(&["list", "stacks"])).out;
    let mut lines = listed.lines();
    assert_eq!(lines.next(), Some("begin with"));
    assert!(lines.next().is_some_and(|line| line.starts_with("  page ")), "{listed}");
    let rows: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let mut names: Vec<&str> = simulator::config::stacks().iter().map(|stack| stack.name).collect();
    names.sort_unstable();
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, names);
    let place = |name: &str| rows.iter().position(|row| *row == name);
    assert!(place("dftl") < place("bast") && place("bast") < place("raid5") && place("raid5") < place("hard"));
}

#[test]
fn every_policy_tells_when_to_use_it() {
    let listed = crate::support::nandarium(&["list", "policies", "--json"]).output().expect("it runs").stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).expect("it is JSON");
    let policies = listed["policies"].as_array().expect("a list");
    assert!(policies.len() > 40, "{} policies", policies.len());
    for policy in policies {
        let name = policy["name"].as_str().expect("a policy has a name");
        let when = policy["when"].as_str().unwrap_or_else(|| panic!("{name} does not tell when to use it"));
        let is_short = (1..=2).contains(&when.matches(". ").count());
        assert!(when.starts_with("Use it ") && is_short, "{name}: a use, a cost, and what it is built from: {when}");
        let shown = crate::support::nandarium(&["explain", name]).output().expect("it runs").stdout;
        let shown = String::from_utf8(shown).expect("it is text");
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(when), "explain {name}: {shown}");
    }
}
