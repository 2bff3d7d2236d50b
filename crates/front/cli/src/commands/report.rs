//! `nandarium report`: pages from results that were written before.

use super::results;
use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::{browser, output};
use metrics::{SCHEMA, result_of_today};
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub fn execute(arguments: &ReportArguments) -> Result<(), Failure> {
    let mut found = Found::default();
    for folder in &arguments.folders {
        collect(folder, &mut found)?;
    }
    let path = match (&arguments.out, arguments.folders.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [file]) if file.is_file() => file.with_file_name("report.html"),
        (None, [folder]) => folder.join("report.html"),
        (None, _) => PathBuf::from("report.html"),
    };
    // An answer is of all results of its comparison, and of no others.
    let answer = if arguments.folders.len() == 1 { &found.answer } else { &Value::Null };
    results::write_answered(&path, answer, &found.documents, &found.notes)?;
    output::print(&format!("{}\n", path.display()))?;
    if arguments.open {
        browser::open(&path);
    }
    Ok(())
}

/// What is to be on the page.
#[derive(Default)]
struct Found {
    documents: Vec<Value>,
    /// What comparisons say of their results together.
    notes: Vec<String>,
    /// What the last of them answers.
    answer: Value,
}

/// The result of a folder, or those of the folders in it (as `compare --out` writes them).
fn collect(folder: &Path, found: &mut Found) -> Result<(), Failure> {
    // Whoever names the file itself means what is in it.
    let path = if folder.is_file() { folder.to_path_buf() } else { folder.join("result.json") };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            parse(&path, &text, found)?;
            return Ok(());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
    }
    let entries =
        std::fs::read_dir(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    let mut inner: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.join("result.json").is_file())
        .collect();
    inner.sort();
    if inner.is_empty() {
        return Err(Failure::usage(format!(
            "{} holds no result.json; give a folder that `nandarium run --out` or `compare --out` wrote",
            folder.display()
        )));
    }
    inner.iter().try_for_each(|folder| collect(folder, found))
}

/// Takes the results of a document: one, or those of a comparison.
fn parse(path: &Path, text: &str, found: &mut Found) -> Result<(), Failure> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let beside = path.with_file_name("result.json");
        let remedy = if beside != path && beside.is_file() {
            format!("give {}, which is beside it", beside.display())
        } else {
            "give the result.json that `nandarium run --out` or `compare --out` wrote".to_owned()
        };
        Failure::usage(format!("{} is not a result: {error}; {remedy}", path.display()))
    })?;
    let schema = document["schema"].as_str().map(str::to_owned);
    let results: Vec<Value> = match document {
        Value::Object(mut members) if schema.as_deref() == Some(compare::COMPARISON) => {
            let mut list = |name: &str| members.get_mut(name).map_or(Value::Null, Value::take);
            found.answer = list("answer");
            found.notes.extend(serde_json::from_value::<Vec<String>>(list("notes")).unwrap_or_default());
            serde_json::from_value(list("results")).unwrap_or_default()
        }
        document => vec![document],
    };
    let results = results.into_iter().map(result_of_today).collect::<Option<Vec<Value>>>().ok_or_else(|| {
        Failure::usage(format!(
            "{}: its schema is {}, and this program renders results up to {SCHEMA}; run it again with --out",
            path.display(),
            schema.as_deref().unwrap_or("missing")
        ))
    })?;
    found.documents.extend(results);
    Ok(())
}
