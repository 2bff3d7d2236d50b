//! `nandarium report`: pages from results that were written before.

use super::results;
use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::{browser, output};
use metrics::SCHEMA;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub fn execute(arguments: &ReportArguments) -> Result<(), Failure> {
    let mut documents = Vec::new();
    for folder in &arguments.folders {
        collect(folder, &mut documents)?;
    }
    let path = match (&arguments.out, arguments.folders.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [file]) if file.is_file() => file.with_file_name("report.html"),
        (None, [folder]) => folder.join("report.html"),
        (None, _) => PathBuf::from("report.html"),
    };
    results::write_page(&path, &documents)?;
    output::print(&format!("{}\n", path.display()))?;
    if arguments.open {
        browser::open(&path);
    }
    Ok(())
}

/// The result of a folder, or those of the folders in it (as `compare --out` writes them).
fn collect(folder: &Path, documents: &mut Vec<Value>) -> Result<(), Failure> {
    // Whoever names the file itself means what is in it.
    let path = if folder.is_file() { folder.to_path_buf() } else { folder.join("result.json") };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            documents.extend(parse(&path, &text)?);
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
    inner.iter().try_for_each(|folder| collect(folder, documents))
}

/// The results of a document: one, or those of a comparison.
fn parse(path: &Path, text: &str) -> Result<Vec<Value>, Failure> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{}: {error}; run it again with --out", path.display())))?;
    match document["schema"].as_str() {
        Some(SCHEMA) => Ok(vec![document]),
        Some(results::COMPARISON) => Ok(document["results"].as_array().cloned().unwrap_or_default()),
        other => Err(Failure::usage(format!(
            "{}: its schema is {}, this program renders {SCHEMA}; run it again with --out",
            path.display(),
            other.unwrap_or("missing")
        ))),
    }
}
