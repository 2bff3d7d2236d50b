//! What is measured: its size, and where fio finds it.

use super::super::block_target::{self, Access};
use super::super::probe::nbd::Client;
use crate::arguments::MeasureArguments;
use crate::failure::Failure;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use units::quantity::{exact_size, parse_size};

/// What fio works on.
pub struct Target {
    /// Its engine and where that looks.
    pub engine: Vec<String>,
    /// Bytes to work on.
    pub size: u64,
}

impl Target {
    /// What was asked for.
    /// Errors: it is not there, or not of the size that was given, or cannot be opened as is needed.
    pub fn of(arguments: &MeasureArguments) -> Result<Self, Failure> {
        let target = arguments.target.as_str();
        let given = arguments.size.as_deref().map(parse_size).transpose();
        let given = given.map_err(|error| Failure::usage(format!("--size: {error}")))?;
        if Client::is_uri(target) {
            let size = given.map_or_else(|| size_of_export(target), Ok)?;
            return Ok(Self { engine: vec!["--ioengine=nbd".into(), format!("--uri={target}")], size });
        }
        let path = PathBuf::from(target);
        let access = if arguments.destroy_data { Access::Write } else { Access::Read };
        let all = size_of_file(&path, access)?;
        let size = given.unwrap_or(all);
        if size > all {
            return Err(Failure::usage(format!(
                "--size: {target} has {}, and a file is not made larger to be measured",
                exact_size(all)
            )));
        }
        // A colon would end the name.
        let name = target.replace(':', "\\:");
        let engine = vec!["--ioengine=libaio".into(), "--direct=1".into(), format!("--filename={name}")];
        Ok(Self { engine, size })
    }
}

fn size_of_file(path: &Path, access: Access) -> Result<u64, Failure> {
    let mut file = block_target::open(path, access)?;
    file.seek(SeekFrom::End(0)).map_err(|error| Failure::file(path, "measured", &error))
}

fn size_of_export(uri: &str) -> Result<u64, Failure> {
    let client = Client::connect(uri).map_err(|error| Failure::failed(format!("{uri}: {error}")))?;
    Ok(client.bytes())
}
