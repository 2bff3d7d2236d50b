//! The program `nandarium`.

use std::process::ExitCode;

/// Runs before Rust's library puts /dev/null in the place of a standard output that is closed.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[expect(unsafe_code, reason = "`>&-` cannot be seen from `main` any more, and would end with 0 and nothing written")]
static LOOK_AT_STDOUT: extern "C" fn() = nandarium_cli::look_at_stdout;

fn main() -> ExitCode {
    ExitCode::from(nandarium_cli::execute(&std::env::args_os().collect::<Vec<_>>()))
}
