//! Pages in the user's browser. Whether one can be opened says nothing about the result: it is a remark, no failure.

use crate::output;
use std::env;
use std::path::Path;
use std::time::Duration;

/// How long the desktop may take to say that it has no browser; after that it has opened the page.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens a page with a program of the variable BROWSER, otherwise with the desktop's; says so where neither can.
pub fn open(page: &Path) {
    if let Err(problem) = opened(page) {
        output::complain(&format!(
            "the page is written and was not opened: {problem}. Open {} yourself, or set BROWSER to a program that \
             takes its path",
            page.display()
        ));
    }
}

/// Opens a page as [`open`] does.
/// Errors: why it could not be opened.
pub fn opened(page: &Path) -> Result<(), String> {
    // A browser that runs already has a working folder of its own.
    let page = std::path::absolute(page).map_err(|error| error.to_string())?;
    if let Some(names) = env::var_os("BROWSER").filter(|names| !names.is_empty()) {
        return by_name(&page, env::split_paths(&names).map(|name| name.to_string_lossy().into_owned()));
    }
    if !has_display() {
        return Err("this session has no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    open::that_detached_with_timeout(&page, PATIENCE)
        .map_err(|error| format!("the desktop found no program for it ({error})"))
}

/// Starts the first program that can be started.
fn by_name(page: &Path, names: impl Iterator<Item = String>) -> Result<(), String> {
    let mut problems = Vec::new();
    for name in names {
        match open::with_detached(page, &name) {
            Ok(()) => return Ok(()),
            Err(error) => problems.push(format!("`{name}` could not be started ({error})")),
        }
    }
    Err(format!("BROWSER is set, and {}", problems.join(", ")))
}

/// Without a display a text browser would be started where nobody sees it. Elsewhere the system knows better.
fn has_display() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(not(unix), target_os = "macos")) || ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(is_set)
}
