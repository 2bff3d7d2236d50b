//! Nothing in a result is left without an explanation.

mod support;

#[test]
fn every_counter_of_every_built_in_stack_is_explained() {
    let listed = support::nandarium(&["list", "stacks", "--json"]).output().expect("it runs").stdout;
    let stacks: serde_json::Value = serde_json::from_slice(&listed).expect("it is JSON");
    let names: Vec<&str> = stacks["stacks"].as_array().expect("a list").iter().filter_map(|stack| stack["name"].as_str()).collect();
    assert!(names.len() >= 6, "{names:?}");
    let mut missing = std::collections::BTreeSet::new();
    for name in names {
        for service in ["engine.service=parallel", "engine.service=serial"] {
            let result = support::json(&["--stack", name, "--set", service, "--requests", "200"]);
            let counters = result["counters"].as_object().expect("counters have names");
            assert!(counters.len() > 5, "{counters:?}");
            for counter in counters.keys() {
                if !support::nandarium(&["explain", counter]).output().expect("it runs").status.success() {
                    missing.insert(counter.clone());
                }
            }
        }
    }
    assert!(missing.is_empty(), "neither a key nor in the glossary: {missing:?}");
}
