//! Results that earlier versions of the program wrote, in the form of today.

use crate::report::{NoWaf, SCHEMA, UNWRITTEN};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Beginnings of keys and counters that had another name in the version before, and the names of today.
const KEYS: [(&str, &str); 1] = [("zones.", "coded.")];
/// Values of keys that had another name in the version before, and the names of today.
const VALUES: [(&str, &str, &str); 1] = [("stripe.kind", "zones", "coded")];

/// The present name of a key or counter.
pub fn key_of_today(key: &str) -> Cow<'_, str> {
    let renamed = KEYS.iter().find_map(|(before, today)| Some((today, key.strip_prefix(before)?)));
    renamed.map_or(Cow::Borrowed(key), |(today, rest)| Cow::Owned(format!("{today}{rest}")))
}

/// The present name of a value of a key.
pub fn value_of_today<'a>(key: &str, value: &'a str) -> &'a str {
    let is_meant = |renamed: &&(&str, &str, &str)| (renamed.0, renamed.1) == (key, value);
    VALUES.iter().find(is_meant).map_or(value, |(_, _, today)| today)
}

/// The present name of a key, a counter, a group of them or a value, where `name` is its name in the version before.
pub fn name_of_today(name: &str) -> Option<String> {
    let group = format!("{name}.");
    let of_group = KEYS.iter().find(|(before, _)| *before == group).map(|(_, today)| today.trim_end_matches('.'));
    let of_value = VALUES.iter().find(|(_, before, _)| *before == name).map(|(_, _, today)| *today);
    let of_key = key_of_today(name);
    of_group.or(of_value).or((of_key != name).then_some(&*of_key)).map(str::to_owned)
}

/// Gives the keys and counters of a result the names of today.
fn rename(document: &mut Value) {
    for name in ["config", "counters"] {
        let Some(members) = document.get_mut(name).and_then(Value::as_object_mut) else { continue };
        *members = std::mem::take(members)
            .into_iter()
            .map(|(key, value)| {
                let today = value.as_str().map(|text| json!(value_of_today(&key, text)));
                (key_of_today(&key).into_owned(), today.unwrap_or(value))
            })
            .collect();
    }
    for name in ["config_given", "config_unused"] {
        for key in document.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            *key = key.as_str().map_or(Value::Null, |key| json!(key_of_today(key)));
        }
    }
}

/// A result in the form of today; `None`: it is no result, or one of a version that this program does not know.
///
/// The first version had write amplification by pages, histograms as pairs, single requests with slices of their own,
/// and reads of pages that hold nothing among all reads.
pub fn result_of_today(mut document: Value) -> Option<Value> {
    match document["schema"].as_str() {
        Some(SCHEMA) => {
            rename(&mut document);
            return Some(document);
        }
        Some("nandarium.result/1") => rename(&mut document),
        _ => return None,
    }
    document["schema"] = json!(SCHEMA);
    amplification(&mut document);
    document["host"][UNWRITTEN] = json!({"requests": 0, "pages": 0, "bytes": 0, "failed": 0});
    document["unwritten_read_share"] = Value::Null;
    if let Some(latencies) = document["latency_ns"].as_object_mut() {
        latencies.values_mut().for_each(|of| columns(&mut of["histogram"], ["latency_ns", "requests"]));
        let nothing: Value = ["mean", "p50", "p90", "p99", "p999", "p9999", "max"]
            .into_iter()
            .map(|name| (name.to_owned(), Value::Null))
            .collect::<Map<_, _>>()
            .into();
        latencies.insert(UNWRITTEN.to_owned(), nothing);
        latencies[UNWRITTEN]["count"] = json!(0);
        latencies[UNWRITTEN]["histogram"] = json!({"latency_ns": [], "requests": []});
    }
    columns(&mut document["wear"]["histogram"], ["erases", "blocks"]);
    let intervals = document["series"]["columns"]["time_ns"].as_array().map_or(0, Vec::len);
    document["series"]["intervals"] = json!(intervals);
    document["series"]["columns"][format!("{UNWRITTEN}_requests")] = json!(0);
    closeups(&mut document);
    Some(document)
}

/// Write amplification was by pages; that by bytes had its total alone.
fn amplification(document: &mut Value) {
    let by_pages = document["waf"].clone();
    let [pages, bytes] = [by_pages["total"].as_f64(), document["waf_bytes"].as_f64()];
    let absent = if pages.is_none() { Some(NoWaf::NoWrites) } else { too_few_writes(document) };
    let scale = bytes.zip(pages.filter(|pages| *pages > 0.0)).map(|(bytes, pages)| bytes / pages);
    let scaled = |factor: Option<f64>| -> Value {
        let of = |(cause, value): (&String, &Value)| {
            let value = value.as_f64().zip(factor).filter(|_| absent.is_none()).map(|(value, factor)| value * factor);
            (cause.clone(), json!(value))
        };
        by_pages.as_object().into_iter().flatten().map(of).collect::<Map<_, _>>().into()
    };
    document["waf"] = scaled(scale);
    document["waf_pages"] = scaled(Some(1.0));
    document["waf_absent"] = json!(absent.map(NoWaf::name));
    if let Some(members) = document.as_object_mut() {
        members.remove("waf_bytes");
    }
}

/// The rule of a run of today, from what the result says of itself.
fn too_few_writes(document: &Value) -> Option<NoWaf> {
    let counter = |name: &str| document["counters"][name].as_u64();
    let spare = counter("flash.pages")?.saturating_sub(counter("drive.user_pages")?);
    let was_in_use = document["config"]["drive.precondition"].as_str().is_some_and(|kind| kind != "none");
    let written = document["host"]["write"]["pages"].as_u64()?;
    (was_in_use && written < spare).then_some(NoWaf::TooFewWrites)
}

/// Pairs as two columns.
fn columns(pairs: &mut Value, [first, second]: [&str; 2]) {
    let of =
        |at: usize| -> Vec<Value> { pairs.as_array().into_iter().flatten().map(|pair| pair[at].clone()).collect() };
    *pairs = json!({first: of(0), second: of(1)});
}

/// Slices were columns of each request, with names in them.
fn closeups(document: &mut Value) {
    let Some(closeups) = document.get_mut("closeups") else { return };
    let mut all: Map<String, Value> = Map::new();
    let mut names: [Vec<Value>; 2] = [Vec::new(), Vec::new()];
    let mut number = |table: usize, name: &Value| {
        let table: &mut Vec<Value> = &mut names[table];
        let at = table.iter().position(|known| known == name).unwrap_or_else(|| {
            table.push(name.clone());
            table.len() - 1
        });
        json!(at)
    };
    for request in closeups["requests"].as_array_mut().into_iter().flatten() {
        let slices = request["slices"].take();
        request["slices"] = json!(slices["ns"].as_array().map_or(0, Vec::len));
        request["waited_root_ns"] = Value::Null;
        for (name, column) in slices.as_object().into_iter().flatten() {
            let values = column.as_array().into_iter().flatten().map(|value| match name.as_str() {
                "work" => number(0, value),
                "cause" => number(1, value),
                "own" => json!(u8::from(value.as_bool() == Some(true))),
                _ => value.clone(),
            });
            let values: Vec<Value> = values.collect();
            match all.get_mut(name).and_then(Value::as_array_mut) {
                Some(known) => known.extend(values),
                None => drop(all.insert(name.clone(), values.into())),
            }
        }
    }
    for name in ["track", "begin_ns", "ns", "work", "cause", "pages", "own"] {
        all.entry(name).or_insert_with(|| json!([]));
    }
    let [works, causes] = names;
    closeups["works"] = works.into();
    closeups["causes"] = causes.into();
    closeups["slices"] = all.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> Value {
        let latency = json!({"count": 2, "mean": 4.0, "max": 5, "histogram": [[3, 1], [5, 1]]});
        let slices = |work: &str| {
            json!({
                "track": [0, 1], "begin_ns": [-1, 2], "ns": [3, 4], "work": ["read", work], "cause": ["gc", "host"],
                "pages": [1, 1], "own": [false, true],
            })
        };
        json!({
            "schema": "nandarium.result/1",
            "config": {"drive.precondition": "overwrite"},
            "counters": {"flash.pages": 1_100, "drive.user_pages": 1_000},
            "host": {"write": {"pages": 200}},
            "latency_ns": {"read": latency},
            "wear": {"histogram": [[1, 7], [2, 3]]},
            "series": {"interval_ns": 10, "columns": {"time_ns": [0.0, 10.0]}},
            "waf": {"host": 1.0, "gc": 1.0, "total": 2.0},
            "waf_bytes": 3.0,
            "closeups": {
                "tracks": ["a", "b"],
                "requests": [{"slices": slices("program")}, {"slices": slices("erase")}],
            },
        })
    }

    #[test]
    fn every_name_of_the_version_before_has_one_of_today() {
        for (before, today) in KEYS {
            let group = |name: &str| name.trim_end_matches('.').to_owned();
            assert_eq!(name_of_today(&group(before)), Some(group(today)));
            assert_eq!(name_of_today(&format!("{before}x")), Some(format!("{today}x")));
            assert_eq!(name_of_today(&group(today)), None);
        }
        for (_, before, today) in VALUES {
            assert_eq!(name_of_today(before).as_deref(), Some(today));
        }
    }

    #[test]
    fn a_result_of_the_first_version_is_read_as_one_of_today() {
        let now = result_of_today(first()).unwrap();
        assert_eq!(now["schema"], SCHEMA);
        assert_eq!([&now["waf"]["total"], &now["waf"]["gc"], &now["waf_pages"]["total"]], [3.0, 1.5, 2.0]);
        assert!(now.get("waf_bytes").is_none() && now["waf_absent"].is_null());
        assert_eq!(now["latency_ns"]["read"]["histogram"], json!({"latency_ns": [3, 5], "requests": [1, 1]}));
        assert_eq!(now["latency_ns"][UNWRITTEN]["count"], 0);
        assert_eq!(now["wear"]["histogram"], json!({"erases": [1, 2], "blocks": [7, 3]}));
        assert_eq!(now["series"]["intervals"], 2);
        let closeups = &now["closeups"];
        assert_eq!([&closeups["requests"][0]["slices"], &closeups["requests"][1]["slices"]], [2, 2]);
        assert_eq!(closeups["works"], json!(["read", "program", "erase"]));
        assert_eq!(closeups["slices"]["work"], json!([0, 1, 0, 2]));
        assert_eq!(closeups["slices"]["own"], json!([0, 1, 0, 1]));
        assert_eq!(result_of_today(now.clone()), Some(now), "one of today stays as it is");
        assert_eq!(result_of_today(json!({"schema": "nandarium.life/1"})), None);
    }

    #[test]
    fn keys_and_counters_of_an_old_result_have_the_names_of_today() {
        for schema in [SCHEMA, "nandarium.result/1"] {
            let mut old = first();
            old["schema"] = json!(schema);
            old["config"] = json!({"stripe.kind": "zones", "zones.code_zones": "2", "workload.kind": "zones"});
            old["counters"] = json!({"zones.zones_coded": 2, "zones.blocks_read": 9});
            (old["config_given"], old["config_unused"]) = (json!(["zones.code_zones"]), json!(["buffer.size"]));
            let now = result_of_today(old).unwrap();
            let config = json!({"stripe.kind": "coded", "coded.code_zones": "2", "workload.kind": "zones"});
            assert_eq!(now["config"], config, "{schema}");
            assert_eq!(now["counters"], json!({"coded.zones_coded": 2, "coded.blocks_read": 9}));
            assert_eq!([&now["config_given"][0], &now["config_unused"][0]], ["coded.code_zones", "buffer.size"]);
        }
    }

    /// 785.13 for eight written pages stayed in the pages that are made anew from old results.
    #[test]
    fn an_old_result_with_too_few_writes_has_no_write_amplification_either() {
        let mut few = first();
        few["host"]["write"]["pages"] = json!(8);
        let now = result_of_today(few).unwrap();
        assert_eq!([&now["waf"]["total"], &now["waf_pages"]["total"]], [&Value::Null; 2]);
        assert_eq!(now["waf_absent"], "too few writes");
    }
}
