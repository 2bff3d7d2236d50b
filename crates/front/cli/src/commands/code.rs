//! `nandarium code`: the sets that decode a group of blocks, and the best code.

use super::results::pretty;
use crate::arguments::CodeArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::table::Grid;
use crate::watch::{Work, catch_interrupts};
use crate::{output, table};
use erasure::{
    Best, CodeError, DECODERS, Decoder, GroupCode, MOST_COUNTED, Step, best_by_climbing, best_of_all, completion_of,
    counts, decoded_after, harmonic, misses,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.code/1";

pub fn execute(arguments: &CodeArguments) -> Result<(), Failure> {
    let print = |document: &Value| output::print(&if arguments.json { pretty(document) } else { text(document) });
    let asked = Asked { work: Work::new(), misses: arguments.json };
    match (&arguments.code, arguments.data) {
        (None, Some(data)) if arguments.search => {
            let (document, is_interrupted) = search(arguments, data, &asked.work);
            print(&document)?;
            let message = "interrupted: this is the best that was found until then".to_owned();
            if is_interrupted { Err(Failure { code: INTERRUPTED, message }) } else { Ok(()) }
        }
        (Some(name), data) => print(&one(name, data, &asked)?),
        (None, data) => print(&regular(data, &asked)?),
    }
}

fn mistake(error: CodeError) -> Failure {
    Failure::usage(error)
}

/// How a description is made.
struct Asked {
    work: Work,
    /// What peeling misses of sets of any size is shown in JSON only, and takes longest.
    misses: bool,
}

/// Everything there is to say of a code.
fn describe(name: &str, code: &GroupCode, asked: &Asked) -> Result<Value, Failure> {
    let data = code.data();
    if data > MOST_COUNTED {
        return Err(Failure::usage(format!(
            "{name} has {data} data blocks, and sets of more than {MOST_COUNTED} are not counted; a group of a drive \
             (coded.group) has no more: write rows of at most {MOST_COUNTED} digits"
        )));
    }
    asked.work.tell(|| format!("counting the sets of {name} of {data} data blocks"));
    let by_decoder = [Decoder::Gauss, Decoder::Peel].map(|decoder| counts(code, decoder));
    let [gauss, peel] = [0, 1].map(|decoder| {
        let (time, blocks) = completion_of(&by_decoder[decoder]);
        json!({"sets": by_decoder[decoder][data as usize].1, "mean_completion": time, "mean_blocks": blocks})
    });
    let missed = if code.is_mds() {
        Value::Null
    } else {
        let [gauss, peel] = [0, 1].map(|decoder| by_decoder[decoder][data as usize].1);
        let more = if asked.misses { misses(code) } else { None };
        json!({"full": gauss - peel, "any": more.map(|more| more.any), "data": more.map(|more| more.data)})
    };
    let [after_gauss, after_peel] = [0, 1].map(|decoder| decoded_after(&by_decoder[decoder]));
    let by_blocks: Vec<Value> = (0..=code.elements() as usize)
        .map(|blocks| {
            let [(all, gauss), (_, peel)] = [0, 1].map(|decoder| by_decoder[decoder][blocks]);
            json!({
                "blocks": blocks, "sets": all, "gauss": gauss, "peel": peel,
                "gauss_share": after_gauss[blocks], "peel_share": after_peel[blocks],
            })
        })
        .collect();
    Ok(json!({
        "name": name, "data": data, "code": code.code(),
        "matrix": if code.is_mds() { Value::Null } else { json!(code.matrix()) },
        "no_code_mean_completion": harmonic(data), "gauss": gauss, "peel": peel,
        "peeling_misses": missed, "by_blocks": by_blocks,
    }))
}

/// The regular codes of one size, or of those that were published.
fn regular(data: Option<u32>, asked: &Asked) -> Result<Value, Failure> {
    let mut codes = Vec::new();
    for n in data.map_or(3..=8, |n| n..=n) {
        for m in 1..=n {
            codes.push(describe(&format!("regular-{m}"), &GroupCode::regular(n, m).map_err(mistake)?, asked)?);
        }
        codes.push(describe("mds", &GroupCode::mds(n).map_err(mistake)?, asked)?);
    }
    Ok(json!({"schema": SCHEMA, "codes": codes}))
}

/// One code, with its counts by number of blocks. A matrix tells how many data blocks there are.
fn one(name: &str, data: Option<u32>, asked: &Asked) -> Result<Value, Failure> {
    let digits = name.split_whitespace().next().filter(|row| row.bytes().all(|digit| matches!(digit, b'0' | b'1')));
    let data = data.or(digits.map(|row| row.len() as u32)).unwrap_or(4);
    let code = GroupCode::parse(name, data).map_err(mistake)?;
    Ok(json!({"schema": SCHEMA, "codes": [describe(name, &code, asked)?]}))
}

/// The best code, and whether the user did not wait for it.
fn search(arguments: &CodeArguments, data: u32, work: &Work) -> (Value, bool) {
    let goal = DECODERS.iter().find(|(name, ..)| *name == arguments.decoder).expect("decoders are checked").2;
    let all = best_of_all(data, goal);
    let exhaustive = all.is_some();
    let (found, is_interrupted) = all.map_or_else(|| climb(arguments, data, goal, work), |best| (best, false));
    let Best { sets, optima, tried, climbs, code } = found;
    let climbing = json!({
        "climbs": climbs, "restarts": arguments.restarts, "seconds": arguments.seconds,
        "stopped": climbs < arguments.restarts,
    });
    let document = json!({"schema": SCHEMA, "search": {
        "data": data, "decoder": arguments.decoder, "exhaustive": exhaustive, "tried": tried, "sets": sets,
        "optima": if exhaustive { json!(optima) } else { Value::Null }, "matrix": code.matrix(),
        "climbing": if exhaustive { Value::Null } else { climbing },
    }});
    (document, is_interrupted)
}

/// Climbs until the tops are reached, the time is up, or the user has had enough.
fn climb(arguments: &CodeArguments, data: u32, goal: Decoder, work: &Work) -> (Best, bool) {
    catch_interrupts();
    let (tried, best, tops, stopped) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let watch = |step: Step| {
        let tried = tried.fetch_add(step.tried, Ordering::Relaxed) + step.tried;
        let best = best.fetch_max(step.sets, Ordering::Relaxed).max(step.sets);
        let tops = tops.fetch_add(u64::from(step.is_top), Ordering::Relaxed) + u64::from(step.is_top);
        let how_far = || {
            format!(
                "{} codes tried, {tops} of {} climbs at their top, best {} sets",
                table::count(tried),
                arguments.restarts,
                table::count(best)
            )
        };
        if !work.tell(how_far) {
            stopped.store(true, Ordering::Relaxed);
        }
        !stopped.load(Ordering::Relaxed) && work.seconds() < arguments.seconds as f64
    };
    let found = best_by_climbing(data, goal, arguments.restarts, arguments.seed, &watch);
    (found, stopped.load(Ordering::Relaxed))
}

fn text(document: &Value) -> String {
    if let Some(found) = document.get("search") {
        let how = if found["exhaustive"] == true {
            format!("best of all {} codes; {} are as good", found["tried"], found["optima"])
        } else {
            let climbing = &found["climbing"];
            let end = if climbing["stopped"] == true {
                format!(
                    "; {} of {} climbs reached their top within --seconds {}",
                    climbing["climbs"], climbing["restarts"], climbing["seconds"]
                )
            } else {
                String::new()
            };
            format!("best of {} codes met while climbing; there may be better ones{end}", found["tried"])
        };
        let (sets, data, decoder) = (&found["sets"], &found["data"], found["decoder"].as_str().unwrap_or(""));
        return format!(
            "{sets} sets of {data} blocks decode ({decoder})\n{how}\n{}\n",
            found["matrix"].as_str().unwrap_or("")
        );
    }
    let codes = document["codes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = listing(codes);
    if let [code] = codes
        && let Some(by_size) = code["by_blocks"].as_array()
    {
        let matrix = code["matrix"].as_str().unwrap_or("no matrix of bits");
        text.extend(["\ncode blocks: ", matrix, "\n\n"]);
        let mut grid = Grid::new(0);
        grid.row(["blocks", "sets", "decode (gauss)", "decode (peel)", "share (gauss)", "share (peel)"]);
        for size in by_size {
            let counts = ["blocks", "sets", "gauss", "peel"].map(|key| size[key].to_string());
            let shares = ["gauss_share", "peel_share"].map(|key| number(&size[key]));
            grid.row(counts.into_iter().chain(shares));
        }
        text.push_str(&grid.render(""));
    }
    text
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"))
}

fn listing(codes: &[Value]) -> String {
    let mut grid = Grid::new(1);
    let timing = ["no code", "time (gauss)", "time (peel)", "blocks (gauss)", "blocks (peel)"];
    grid.row(["code", "data", "sets (gauss)", "sets (peel)", "missed"].into_iter().chain(timing));
    for code in codes {
        let missed = &code["peeling_misses"]["full"];
        let counts = [
            code["name"].as_str().unwrap_or("").to_owned(),
            code["data"].to_string(),
            code["gauss"]["sets"].to_string(),
            code["peel"]["sets"].to_string(),
            if missed.is_null() { "-".to_owned() } else { missed.to_string() },
        ];
        let (gauss, peel) = (&code["gauss"], &code["peel"]);
        let timing = [
            &code["no_code_mean_completion"],
            &gauss["mean_completion"],
            &peel["mean_completion"],
            &gauss["mean_blocks"],
            &peel["mean_blocks"],
        ];
        grid.row(counts.into_iter().chain(timing.map(number)));
    }
    grid.render("")
        + "\nsets: sets of as many blocks as there are data blocks that decode all of them; missed: sets that \
           peeling alone does not decode.\n\
           time: mean time until the group is known, in mean service times, with idle banks and exponential service, \
           all blocks asked for at once;\n\
           no code: the same for the data blocks alone. blocks: mean number of blocks that arrived until then.\n"
}
