//! Files of drives that there cannot be, as figures are in no order that drives have.

use fit::MeasuredDrive;

const HEAD: &str = "name = \"d\"\ncapacity = \"1000GB\"\n[source.s]\ntext = \"t\"\n[source.told]\ntext = \"t\"\n\
                    host_time = \"20us\"\n";

/// What is wrong with a file of these experiments, in both orders; empty: nothing.
fn wrong(experiments: [&str; 2]) -> String {
    let problem = |experiments: [&str; 2]| {
        let text = experiments.map(|one| format!("[[experiment]]\n{one}\n")).concat();
        MeasuredDrive::from_text(&(HEAD.to_owned() + &text), "d.toml").map_or_else(|e| e.to_string(), |_| String::new())
    };
    let [one, turned] = [problem(experiments), problem([experiments[1], experiments[0]])];
    assert_eq!(one.is_empty(), turned.is_empty(), "{one}, {turned}");
    one
}

fn closed(op: &str, more: &str, measured: &str) -> String {
    format!("kind = \"closed\"\nop = \"{op}\"\nsource = \"s\"\n{more}\nmeasured = {{ {measured} }}")
}

/// Two sources had equal figures, and one alone said what its host adds: that was a contradiction.
#[test]
fn a_host_time_that_one_source_alone_states_contradicts_nothing() {
    let read = |source: &str, mean: &str| {
        let of = closed("read", "depth = 1", &format!("mean = \"{mean}\", p50 = \"{mean}\""));
        of.replace("source = \"s\"", &format!("source = \"{source}\""))
    };
    let told = read("told", "60us");
    assert_eq!(wrong([&told, &read("s", "60us")]), "", "both with the host");
    assert_eq!(wrong([&told, &read("s", "40us")]), "", "the other one without it");
    assert!(wrong([&told, &read("s", "90us")]).contains("both state the same experiment"));
    let deep = closed("read", "depth = 8", "mean = \"18us\"");
    assert!(wrong([&told, &deep]).contains("among fewer others"));
    assert_eq!(wrong([&told, &closed("read", "depth = 8", "mean = \"29us\"")]), "", "40us without the host");
}

/// Each was fitted to: no law put experiments of other sizes, areas or loads in order.
#[test]
fn harder_work_takes_no_less_time() {
    let alone = closed("read", "depth = 1", "mean = \"80us\"");
    let large = |mean: &str| closed("read", "depth = 1\nsize = \"128KiB\"", &format!("mean = \"{mean}\""));
    let beside = |mean: &str| closed("read", "depth = 1\nbeside_writes = 9000", &format!("mean = \"{mean}\""));
    let offered = |writes: u32, mean: &str| {
        format!(
            "kind = \"offered\"\nwrites_per_second = {writes}\nsource = \"s\"\nmeasured = {{ read.mean = \"{mean}\" }}"
        )
    };
    let part = |mean: &str| closed("read", "depth = 1\nused = \"100GB\"", &format!("mean = \"{mean}\""));
    for (first, second, what) in [
        (&alone, large("60us"), "a request does not take longer than a larger one"),
        (&alone, beside("35us"), "a request with fewer writes beside it"),
        (&alone, offered(9000, "35us"), "a request with fewer writes beside it"),
        (&offered(100, "200us"), offered(9000, "90us"), "a request with fewer writes beside it"),
        (&alone, part("200us"), "where less of the drive is in use"),
        // Harder in two respects.
        (&alone, closed("read", "depth = 8\nsize = \"128KiB\"", "mean = \"35us\""), "a request does not take longer"),
    ] {
        let problem = wrong([first, &second]);
        assert!(problem.contains(what), "{first}\n{second}\n{problem}");
    }
    for sound in [large("75us"), beside("60us"), offered(9000, "70us"), part("100us")] {
        assert_eq!(wrong([&alone, &sound]), "", "{sound}");
    }
    // A larger read among others, and another order, say nothing of a lone small one.
    assert_eq!(wrong([&closed("read", "depth = 32", "mean = \"200us\""), &large("60us")]), "");
    let in_order = closed("read", "depth = 1\nsize = \"128KiB\"\norder = \"sequential\"", "mean = \"30us\"");
    assert_eq!(wrong([&alone, &in_order]), "");
}

/// A fuller drive that amplifies writes less was fitted to.
#[test]
fn write_amplification_does_not_fall_with_the_fill() {
    let waf = |used: &str, waf: f64| {
        format!("kind = \"amplification\"\nused = \"{used}\"\nsource = \"s\"\nmeasured = {{ waf = {waf:?} }}")
    };
    let problem = wrong([&waf("500GB", 3.0), &waf("1000GB", 2.0)]);
    assert!(problem.contains("waf is 3.000") && problem.contains("amplifies writes less"), "{problem}");
    assert_eq!(wrong([&waf("500GB", 2.1), &waf("1000GB", 2.0)]), "", "as exact as they are measured");
}

/// The end of a transient and a closed loop said two rates of one state.
#[test]
fn a_steady_rate_is_the_same_in_both_forms() {
    let transient = |rate: u32| {
        format!("kind = \"transient\"\nused = \"1000GB\"\ndepth = 32\nsource = \"s\"\nmeasured = {{ steady = {rate} }}")
    };
    let steady = |depth: u32, overwrites: u32, rate: u32| {
        closed("write", &format!("depth = {depth}\noverwrites = {overwrites}"), &format!("iops = {rate}"))
    };
    let problem = wrong([&transient(50_000), &steady(32, 4, 90_000)]);
    assert!(problem.contains("steady is 50.0k/s") && problem.contains("the rate of one steady state"), "{problem}");
    assert!(wrong([&transient(50_000), &steady(64, 4, 10_000)]).contains("more requests at a time"));
    for sound in [steady(32, 4, 55_000), steady(32, 1, 90_000), steady(256, 4, 90_000)] {
        assert_eq!(wrong([&transient(50_000), &sound]), "", "{sound}");
    }
}
