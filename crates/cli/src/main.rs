//! The program `nandarium`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(nandarium_cli::execute(std::env::args_os().collect()))
}
