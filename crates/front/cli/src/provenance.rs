//! Where results come from, and running them again.

use crate::failure::Failure;
use crate::panics;
use metrics::{Asked, Provenance, SourceFile};
use serde_json::Value;
use simulator::config::{all_keys, find_key, stack_parts};
use simulator::session::is_trace;
use simulator::{Config, Setting};
use std::path::Path;

/// Where the result of a stack under a workload comes from, both as they were asked for. The files are read for their
/// digests.
/// Errors: a file cannot be read.
pub fn of(stack: &str, workload: &str) -> Result<Provenance, Failure> {
    let command = panics::command();
    let base = if Path::new(stack).exists() { stack } else { stack_parts(stack).map_or(stack, |(base, _)| base) };
    Ok(Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: (!command.is_empty()).then_some(command),
        asked: Asked { stack: stack.to_owned(), workload: workload.to_owned() },
        workload: if is_trace(workload) { file(workload)? } else { None },
        stack: file(base)?,
    })
}

/// A regular file and its digest; nothing for what is none, such as a built-in stack or a pipe.
fn file(path: &str) -> Result<Option<SourceFile>, Failure> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(None) };
    if !about.is_file() {
        return Ok(None);
    }
    let sha256 = sweep::file_digest(Path::new(path)).map_err(|error| Failure::file(Path::new(path), "read", &error))?;
    Ok(Some(SourceFile { path: path.to_owned(), bytes: about.len(), sha256 }))
}

/// A run as a result describes it.
pub struct Again {
    /// Its configuration, all keys.
    pub config: Config,
    pub workload: String,
    /// Where it came from then.
    pub provenance: Provenance,
    /// The hash of its result.
    pub hash: String,
}

/// Reads a `result.json`, for the same run once more.
/// Errors: it is no result of one run, it does not say where it comes from, its workload cannot be repeated, or a file
/// has changed.
pub fn again(path: &Path) -> Result<Again, Failure> {
    let place = path.display().to_string();
    let wrong = |what: &str| Failure::usage(format!("--again {place}: {what}"));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(&format!("it is not JSON ({error}); give the result.json of `nandarium run --out`")))?;
    let document = metrics::result_of_today(document).ok_or_else(|| {
        wrong(
            "it is not the result of one run; give the result.json of `nandarium run --out`, or one of those below a \
             comparison's folder",
        )
    })?;
    let provenance: Option<Provenance> = serde_json::from_value(document["provenance"].clone()).unwrap_or_default();
    let provenance = provenance.ok_or_else(|| {
        wrong(
            "it does not say where it comes from (provenance): it was written \
        by an older version, or by a program of its own",
        )
    })?;
    if provenance.asked.workload == "-" {
        return Err(wrong("its workload was standard input, which is gone; save the trace to a file and run that"));
    }
    if is_trace(&provenance.asked.workload) && provenance.workload.is_none() {
        return Err(wrong("its workload was not a regular file, and cannot be read again"));
    }
    // The stack file may change: the result holds every key of it.
    if let Some(then) = &provenance.workload {
        let now = file(&then.path)?.ok_or_else(|| {
            wrong(&format!(
                "its trace {} is not there; run it from the folder it was run from, or put the file back",
                then.path
            ))
        })?;
        if now.sha256 != then.sha256 {
            return Err(wrong(&format!(
                "its trace {} has changed since: SHA-256 {:.16}… then, {:.16}… now; put the old file back, or run \
                 without --again",
                then.path, then.sha256, now.sha256
            )));
        }
    }
    let values = document["config"].as_object().ok_or_else(|| wrong("it has no configuration (config)"))?;
    let given = document["config_given"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let known = all_keys();
    let setting = |(key, value): (&String, &Value)| Setting {
        of_stack: !given.contains(&key.as_str()),
        ..Setting::new(key, value.as_str().unwrap_or_default(), &place)
    };
    // A key that this version has no more would be refused as a typing error.
    if let Some(key) = values.keys().find(|key| find_key(known, key).is_none()) {
        return Err(wrong(&format!(
            "it has the key {key}, which this version does not know; use version {}",
            provenance.version
        )));
    }
    let settings: Vec<Setting> = values.iter().map(setting).collect();
    let name = document["stack"].as_str().unwrap_or_default().to_owned();
    let hash = document["hash"].as_str().unwrap_or_default().to_owned();
    Ok(Again {
        config: Config::resolve(name, &settings)?,
        workload: provenance.asked.workload.clone(),
        provenance,
        hash,
    })
}
