//! Stack files over any text: no panic, and an accepted file either becomes a drive or says why not.

use simulator::{Config, DrivePlan};

/// # Panics
///
/// If reading or planning breaks a law.
pub fn stack_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // `extends` would open files named by the input.
    if text.contains("extends") {
        return;
    }
    if let Ok(config) = Config::from_text("input", text) {
        let _ = DrivePlan::new(config);
    }
}
