//! The steps of a request's way through the Linux block layer. Traces show each request at several
//! of them, and exactly one step is read.

/// The step that is read, by the letter blkparse has for it: `Q` queued by the host, `D` issued to the
/// drive after merging, `C` completed.
pub(crate) struct Step {
    letter: u8,
    /// Nobody named the step: it is the most usual one the first part of the trace has.
    pub detected: bool,
}

impl Step {
    pub fn of(letter: u8) -> Step {
        Step { letter, detected: false }
    }

    pub fn is(&self, letter: u8) -> bool {
        self.letter == letter
    }

    /// Whether `letter` would have been chosen, had it come earlier: such rows are not left out in
    /// silence.
    pub fn is_late(&self, letter: u8) -> bool {
        self.detected && usual(letter) < usual(self.letter)
    }
}

/// Place in the order of preference.
fn usual(letter: u8) -> usize {
    b"QDC".iter().position(|&other| other == letter).unwrap_or(usize::MAX)
}
