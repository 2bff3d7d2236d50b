//! How many runs each stack has, and why not another number: one answer for all texts.

use crate::longer::{REQUESTS_MAX, RUNS_CHOSEN};

/// Runs of each stack, the first one included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunCount {
    pub runs: usize,
    pub why: Why,
}

/// Why there are so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The user said so, or nothing was said where one run is usual.
    Asked,
    /// Nothing was said: [`RUNS_CHOSEN`].
    Chosen,
    /// Nothing was said, and [`RUNS_CHOSEN`] runs would have more than [`REQUESTS_MAX`] requests.
    Limited,
    /// There is one: the stacks were not run again, for this reason.
    NotRepeated(String),
}

impl RunCount {
    /// `3 runs of each (chosen)`.
    pub fn words(&self) -> String {
        let runs = if self.runs == 1 { "1 run of each".to_owned() } else { format!("{} runs of each", self.runs) };
        let limit = REQUESTS_MAX / 1_000_000;
        match &self.why {
            Why::Asked => runs,
            Why::Chosen => format!("{runs} (chosen)"),
            Why::Limited => {
                format!("{runs} (chosen: {RUNS_CHOSEN} would be more than {limit} million requests for each drive)")
            }
            Why::NotRepeated(reason) => format!("{runs} (not repeated: {reason})"),
        }
    }

    /// The remedy for differences that may be chance, as there is one run of each.
    pub fn remedy(&self) -> String {
        match &self.why {
            Why::NotRepeated(reason) => format!("there are no repetitions, as {reason}."),
            Why::Asked | Why::Chosen | Why::Limited => format!("--repetitions {RUNS_CHOSEN} would tell."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1 run of each (chosen; together at most 250 million requests)" stood beside 300 million requests, and where
    /// a drive without a life was the reason.
    #[test]
    fn the_number_of_runs_has_its_own_reason() {
        let words = |runs: usize, why: Why| RunCount { runs, why }.words();
        assert_eq!(words(5, Why::Asked), "5 runs of each");
        assert_eq!(words(3, Why::Chosen), "3 runs of each (chosen)");
        assert_eq!(
            words(1, Why::Limited),
            "1 run of each (chosen: 3 would be more than 250 million requests for each drive)"
        );
        let not_repeated = RunCount { runs: 1, why: Why::NotRepeated("page has no life".to_owned()) };
        assert_eq!(not_repeated.words(), "1 run of each (not repeated: page has no life)");
        assert!(!not_repeated.remedy().contains("--repetitions"), "{}", not_repeated.remedy());
    }
}
