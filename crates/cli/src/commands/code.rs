//! `nandarium code`: what decodes a group of blocks, and which code is best.

use super::results::pretty;
use crate::arguments::CodeArguments;
use crate::failure::Failure;
use crate::output;
use crate::table::Grid;
use ::code::{
    Best, CodeError, DECODERS, Decoder, GroupCode, best_by_climbing, best_of_all, completion, counts, decodable_sets, misses,
};
use serde_json::{Value, json};

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.code/1";
/// Codes of so many blocks or fewer have all their sets counted: 2^22 of them take seconds.
const COUNTED_ELEMENTS: u32 = 22;

pub fn execute(arguments: &CodeArguments) -> Result<(), Failure> {
    let document = match (&arguments.code, arguments.data) {
        (None, Some(data)) if arguments.search => search(arguments, data),
        (Some(name), data) => one(name, data)?,
        (None, data) => regular(data)?,
    };
    output::print(&if arguments.json { pretty(&document) } else { text(&document) })
}

fn mistake(error: CodeError) -> Failure {
    Failure::usage(error)
}

/// Everything there is to say of a code.
fn describe(name: &str, code: &GroupCode) -> Result<Value, Failure> {
    if code.elements() > COUNTED_ELEMENTS {
        return Err(Failure::usage(format!(
            "{name} has {} blocks, and sets of more than {COUNTED_ELEMENTS} are not counted; use at most {} data blocks",
            code.elements(),
            COUNTED_ELEMENTS / 2
        )));
    }
    let of = |decoder| {
        let (time, blocks) = completion(code, decoder);
        json!({"sets": decodable_sets(code, decoder), "mean_completion": time, "mean_blocks": blocks})
    };
    let missed = if code.is_mds() { Value::Null } else { json!({"full": misses(code).full, "any": misses(code).any, "data": misses(code).data}) };
    Ok(json!({
        "name": name, "data": code.data(), "code": code.code(), "matrix": if code.is_mds() { Value::Null } else { json!(code.matrix()) },
        "gauss": of(Decoder::Gauss), "peel": of(Decoder::Peel), "peeling_misses": missed,
    }))
}

/// The regular codes of one size, or of those that were published.
fn regular(data: Option<u32>) -> Result<Value, Failure> {
    let mut codes = Vec::new();
    for n in data.map_or(3..=8, |n| n..=n) {
        for m in 1..=n {
            codes.push(describe(&format!("regular-{m}"), &GroupCode::regular(n, m).map_err(mistake)?)?);
        }
        codes.push(describe("mds", &GroupCode::mds(n).map_err(mistake)?)?);
    }
    Ok(json!({"schema": SCHEMA, "codes": codes}))
}

/// One code, with its counts by number of blocks. A matrix tells how many data blocks there are.
fn one(name: &str, data: Option<u32>) -> Result<Value, Failure> {
    let digits = name.split_whitespace().next().filter(|row| row.bytes().all(|digit| matches!(digit, b'0' | b'1')));
    let data = data.or(digits.map(|row| row.len() as u32)).unwrap_or(4);
    let code = GroupCode::parse(name, data).map_err(mistake)?;
    let mut described = describe(name, &code)?;
    let by_size = counts(&code, Decoder::Gauss).into_iter().zip(counts(&code, Decoder::Peel)).zip(0..);
    described["by_blocks"] = by_size.map(|(((all, gauss), (_, peel)), blocks)| json!({"blocks": blocks, "sets": all, "gauss": gauss, "peel": peel})).collect();
    Ok(json!({"schema": SCHEMA, "codes": [described]}))
}

fn search(arguments: &CodeArguments, data: u32) -> Value {
    let goal = DECODERS.iter().find(|(name, ..)| *name == arguments.decoder).expect("decoders are checked").1;
    let all = best_of_all(data, goal);
    let exhaustive = all.is_some();
    let Best { sets, optima, tried, code } =
        all.unwrap_or_else(|| best_by_climbing(data, goal, arguments.restarts, arguments.seed));
    json!({"schema": SCHEMA, "search": {
        "data": data, "decoder": arguments.decoder, "exhaustive": exhaustive, "tried": tried, "sets": sets,
        "optima": if exhaustive { json!(optima) } else { Value::Null }, "matrix": code.matrix(),
    }})
}

fn text(document: &Value) -> String {
    if let Some(found) = document.get("search") {
        let how = if found["exhaustive"] == true {
            format!("best of all {} codes; {} are as good", found["tried"], found["optima"])
        } else {
            format!("best of {} codes met while climbing; there may be better ones", found["tried"])
        };
        let (sets, data, decoder) = (&found["sets"], &found["data"], found["decoder"].as_str().unwrap_or(""));
        return format!("{sets} sets of {data} blocks decode ({decoder})\n{how}\n{}\n", found["matrix"].as_str().unwrap_or(""));
    }
    let codes = document["codes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = table(codes);
    if let [code] = codes
        && let Some(by_size) = code["by_blocks"].as_array()
    {
        let matrix = code["matrix"].as_str().unwrap_or("no matrix of bits");
        text.extend(["\ncode blocks: ", matrix, "\n\n"]);
        let mut grid = Grid::new(0);
        grid.row(["blocks", "sets", "decode (gauss)", "decode (peel)"]);
        for size in by_size {
            grid.row(["blocks", "sets", "gauss", "peel"].map(|key| size[key].to_string()));
        }
        text.push_str(&grid.render(""));
    }
    text
}

fn table(codes: &[Value]) -> String {
    let mut grid = Grid::new(1);
    grid.row(["code", "data", "sets (gauss)", "sets (peel)", "missed", "time (gauss)", "time (peel)", "blocks (peel)"]);
    let number = |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
    for code in codes {
        let missed = &code["peeling_misses"]["full"];
        grid.row([
            code["name"].as_str().unwrap_or("").to_owned(),
            code["data"].to_string(),
            code["gauss"]["sets"].to_string(),
            code["peel"]["sets"].to_string(),
            if missed.is_null() { "-".to_owned() } else { missed.to_string() },
            number(&code["gauss"]["mean_completion"]),
            number(&code["peel"]["mean_completion"]),
            number(&code["peel"]["mean_blocks"]),
        ]);
    }
    grid.render("")
        + "\nsets: of as many blocks as there are data blocks, that decode all of them; missed: by peeling alone.\n\
           time: mean until the group is known, in mean service times, idle banks, exponential service, all blocks asked for at once.\n"
}
