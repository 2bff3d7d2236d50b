//! Settings that were changed, or given beside the stack, and have no effect on this run. They are no mistakes, as one
//! configuration serves many workloads, but nobody should wonder why a number did not move.

use super::WorkloadSource;
use crate::DrivePlan;
use crate::build::Service;
use crate::config::{all_keys, find_key};
use buffer::buffers;
use ftl::mapping::mappings;
use layer::Parameter;

/// A sentence for each key that differs from its default, or was given, and is not used.
pub(super) fn notes(plan: &DrivePlan, unused: Vec<(&'static str, String)>) -> Vec<String> {
    let values = &plan.config.values;
    let known = all_keys();
    let is_changed = |key: &str| {
        if plan.config.given.contains(key) {
            return true;
        }
        let default = find_key(&known, key).and_then(|known| known.default.map(|text| known.kind.parse(text)));
        values.get(key).is_some_and(|value| default.is_none_or(|default| default.as_ref() != Ok(value)))
    };
    let told = unused.into_iter().filter(|(key, _)| is_changed(key));
    told.map(|(key, why)| format!("{key} has no effect here because {why}.")).collect()
}

/// Every key that is not used, and why.
pub(super) fn keys(plan: &DrivePlan, source: &WorkloadSource) -> Vec<(&'static str, String)> {
    let values = &plan.config.values;
    let closed = "requests follow each other in a closed loop (workload.loop)";
    let open = "requests arrive at their own time (workload.loop = open)";
    let serial = plan.service() == Service::Serial;
    let one_server = "one server does everything in order (engine.service = serial)";
    let is_victim = |name: &str| values.get("ftl.gc.victim").is_some() && values.name("ftl.gc.victim") == name;
    let unused = [
        ("workload.queue_depth", !source.is_closed(), open),
        ("workload.interarrival", source.is_closed(), closed),
        ("workload.time_scale", source.is_closed(), closed),
        ("host.queue_limit", source.is_closed(), closed),
        ("engine.service", !plan.is_timed(), "no time passes (engine.time = none)"),
        ("host.link_bandwidth", serial, one_server),
        ("host.idle_after", serial, one_server),
        ("zones.offline_every", serial && plan.zones.is_some(), one_server),
        ("flash.multi_plane", serial, one_server),
        ("flash.cache_read", serial, one_server),
        ("flash.cache_program", serial, one_server),
        ("flash.read_priority", serial, one_server),
        ("flash.cleaning", serial, one_server),
        ("flash.suspend", serial, one_server),
        ("flash.read_in_flight", serial, one_server),
        ("flash.fault.dies_after", plan.deaths().is_empty(), "no die is to fail (flash.fault.dies)"),
        ("remap.timeout", !plan.is_timed(), "no time passes (engine.time = none)"),
        ("remap.idle_after", !plan.is_timed(), "no time passes (engine.time = none)"),
        ("flash.suspend_time", values.name("flash.suspend") == "off", "flash.suspend is off"),
        ("ftl.gc.choices", !is_victim("d-choices"), "ftl.gc.victim is not d-choices"),
        ("ftl.gc.window_blocks", !is_victim("windowed-greedy"), "ftl.gc.victim is not windowed-greedy"),
    ];
    let unused = unused.into_iter().filter(|(_, is_unused, _)| *is_unused);
    let unused = unused.map(|(key, _, why)| (key, why.to_owned()));
    let stripes = stripe::unused(values).into_iter().chain(zones::unused(values));
    let kind = values.name("remap.kind");
    let is_foreign = |key: &str| plan.remap.is_none() || !remap::reads(kind, key);
    let driver = remap::keys().into_iter().filter(|known| is_foreign(known.key));
    let driver = driver.map(|known| (known.key, format!("remap.kind is {kind}")));
    unused.chain(stripes).chain(driver).chain(foreign(plan)).collect()
}

/// Keys of other mappings and buffers than those in use.
fn foreign(plan: &DrivePlan) -> Vec<(&'static str, String)> {
    let values = &plan.config.values;
    let mappings = mappings().into_iter().map(|entry| (entry.name, (entry.parameters)()));
    let buffers = buffers().into_iter().map(|entry| (entry.name, (entry.parameters)()));
    let mut notes = others("ftl.kind", values.name("ftl.kind"), &mappings.collect::<Vec<_>>());
    notes.extend(others("buffer.kind", values.name("buffer.kind"), &buffers.collect::<Vec<_>>()));
    notes
}

/// Keys of a table's entries that the one in use does not read.
fn others(key: &str, used: &str, entries: &[(&str, Vec<Parameter>)]) -> Vec<(&'static str, String)> {
    let of_used = entries.iter().filter(|(name, _)| *name == used).flat_map(|(_, parameters)| parameters);
    let read: Vec<&str> = of_used.map(|parameter| parameter.key).collect();
    let mut notes: Vec<(&str, String)> = Vec::new();
    for parameter in entries.iter().flat_map(|(_, parameters)| parameters) {
        if !read.contains(&parameter.key) && notes.iter().all(|(known, _)| *known != parameter.key) {
            notes.push((parameter.key, format!("{key} is {used}, which does not read it")));
        }
    }
    notes
}
