//! Doubts about the parameters of a fit, for its reader: one warning for each, the strongest.
//!
//! *Why one*: a parameter that no figure tells may end anywhere, also at its bound. "It changes nothing" and "the
//! figures would take less of it" cannot both be true. One that stopped at its bound has no value that another one
//! could make up for.

use layer::spelling::joined;

/// Doubts about a parameter, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// No figure tells it.
    Untold,
    /// It stopped at a bound of its range.
    AtBound,
    /// Figures tell it together with others alone.
    Alike,
}

/// All doubts of a fit.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// The parameters, by their keys, and the warning.
    all: Vec<(Doubt, Vec<&'static str>, String)>,
}

impl Doubts {
    /// Adds a doubt of some parameters; `text` is told behind their keys.
    pub fn add(&mut self, doubt: Doubt, keys: &[&'static str], text: &str) {
        self.all.push((doubt, keys.to_vec(), format!("{} {text}", joined(keys, "and"))));
    }

    /// A parameter is fitted anew: doubts about it alone are forgotten.
    pub fn forget(&mut self, key: &'static str) {
        self.all.retain(|(_, keys, _)| keys.as_slice() != [key]);
    }

    /// Adds that parameters cannot be told apart, of pairs that cannot: all that hang together are one doubt.
    pub fn add_alike(&mut self, pairs: &[[&'static str; 2]]) {
        let mut groups: Vec<Vec<&'static str>> = Vec::new();
        for pair in pairs {
            let (joined, others): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|group| pair.iter().any(|key| group.contains(key)));
            let mut group: Vec<&'static str> = joined.into_iter().flatten().collect();
            let missing: Vec<&'static str> = pair.iter().filter(|key| !group.contains(key)).copied().collect();
            group.extend(missing);
            groups = others;
            groups.push(group);
        }
        for group in groups {
            let rest = if group.len() == 2 { "one" } else { "all but one" };
            let text = format!(
                "cannot be told apart: they change all fitted figures alike. Measure something that only one of them \
                 changes, or leave {rest} as it is"
            );
            self.add(Doubt::Alike, &group, &text);
        }
    }

    /// The warnings, the strongest doubts first: of each parameter its strongest alone.
    pub fn told(mut self) -> Vec<String> {
        self.all.sort_by_key(|(doubt, ..)| *doubt);
        let (mut known, mut told) = (Vec::new(), Vec::new());
        for (_, keys, text) in self.all {
            if keys.iter().all(|key| !known.contains(key)) {
                known.extend(keys);
                told.push(text);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "changes none of the fitted figures" stood beside "stopped at its bound: the mean would take less".
    #[test]
    fn of_each_parameter_the_strongest_doubt_alone_is_told() {
        let mut doubts = Doubts::default();
        doubts.add(Doubt::AtBound, &["a"], "stopped at its bound");
        doubts.add_alike(&[["b", "d"], ["e", "f"]]);
        doubts.add(Doubt::AtBound, &["b"], "stopped at its bound");
        doubts.add(Doubt::Untold, &["a"], "changes none of the fitted figures");
        doubts.add(Doubt::Untold, &["a"], "has no effect");
        let told = doubts.told();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0], "a changes none of the fitted figures");
        assert_eq!(told[1], "b stopped at its bound");
        assert!(told[2].starts_with("e and f cannot be told apart: ") && told[2].ends_with("or leave one as it is"));
    }

    /// Three parameters had three warnings, each of which asked to leave another one as it is.
    #[test]
    fn parameters_that_hang_together_are_one_doubt() {
        let mut doubts = Doubts::default();
        doubts.add_alike(&[["a", "b"], ["c", "d"], ["b", "c"], ["e", "f"]]);
        let told = doubts.told();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("a, b, c and d cannot") && told[0].ends_with("leave all but one as it is"));
        assert!(told[1].starts_with("e and f cannot") && told[1].ends_with("leave one as it is"), "{told:?}");
    }

    #[test]
    fn a_parameter_that_is_fitted_anew_has_no_doubts_of_the_round_before() {
        let mut doubts = Doubts::default();
        doubts.add(Doubt::AtBound, &["a"], "stopped at its bound");
        doubts.forget("a");
        assert_eq!(doubts.told(), Vec::<String>::new());
    }
}
