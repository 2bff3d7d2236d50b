//! Writing: data to standard output, where a closed pipe is the reader's right and no failure.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output was closed when somebody looked.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Notes whether standard output is closed (`>&-`). Rust's library puts /dev/null in its place before `main` and takes
/// what cannot be written for written, so that a program has to look before that.
pub extern "C" fn look_at_stdout() {
    if rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err() {
        IS_CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Whether there is a standard output.
/// Errors: it is closed: the output would be lost.
pub fn check_stdout() -> Result<(), Failure> {
    look_at_stdout();
    if IS_CLOSED.load(Ordering::Relaxed) {
        return Err(Failure::failed("standard output is closed: send it to a file, or to /dev/null"));
    }
    Ok(())
}

/// Writes data to standard output.
/// Errors: standard output cannot be written, other than because its reader has gone.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    heard(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Turns "nobody reads any more" into success.
/// Errors: any other error.
pub fn heard(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("standard output could not be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file, with its folders.
/// Errors: the file cannot be written.
pub fn write_file(path: &Path, contents: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, contents))
        .map_err(|error| Failure::file(path, "written", &error))
}

/// Whether a file can be written, before minutes or hours are spent on what it is to hold.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let was_there = path.exists();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::OpenOptions::new().append(true).create(true).open(path).map(drop))
        .and_then(|()| if was_there { Ok(()) } else { std::fs::remove_file(path) })
        .map_err(|error| Failure::file(path, "written", &error))
}

/// Writes a line to standard error; if even that is closed there is nobody left to tell.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
