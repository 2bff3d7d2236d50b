//! Errors of a configuration.

use super::Setting;
use crate::memory::TooLittleMemory;
use layer::Parameter;
use layer::spelling::{did_you_mean, one_of};

/// A configuration that cannot be used: place, value, limit and remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A key nobody reads.
    #[error("{place}: unknown key `{key}`{hint}; `nandarium {listing}` lists what there is")]
    UnknownKey {
        key: String,
        /// File or option that it came from.
        place: String,
        /// `; did you mean …`, or nothing.
        hint: String,
        /// The command that lists the keys of its group, or all.
        listing: String,
    },
    /// A value that cannot be read or is out of range.
    #[error("{place}: {key}: {problem}")]
    Value {
        key: &'static str,
        /// File or option that it came from.
        place: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// A value of a kind no key takes.
    #[error("{place}: `{key}` is {found}; write a text in quotes, a whole number, true or false")]
    Type {
        key: String,
        /// File or option that it came from.
        place: String,
        found: &'static str,
    },
    /// `--set` without a value.
    #[error("--set {text}: write key=value, for example --set drive.capacity=4GiB")]
    NoValue { text: String },
    /// No built-in stack and no file of that name.
    #[error(
        "`{name}` is neither a built-in stack, a drive nor a readable file ({io}){hint}; `nandarium list stacks` and \
         `nandarium list drives` name the built-in ones"
    )]
    NoStack {
        name: String,
        /// What the operating system said.
        io: String,
        /// `; did you mean …`, or nothing.
        hint: String,
    },
    /// A file that is no TOML.
    #[error("{path}, line {line}: {problem}")]
    Syntax {
        path: String,
        /// Line, from 1.
        line: usize,
        /// What the parser said.
        problem: String,
    },
    /// A chain of `extends` that is too long to be meant.
    #[error("{path}: `extends` leads through more than 8 files; does a stack extend itself?")]
    Extends {
        /// File at which it was given up.
        path: String,
    },
    /// A drive whose tables do not fit into the memory of this process.
    #[error(
        "drive.capacity = {capacity}: the tables of this drive take {problem}; lower drive.capacity, {raise}or give \
         the program more memory"
    )]
    Memory {
        /// Capacity of the drive, as it was given.
        capacity: String,
        /// How much that is, and what the limit is.
        problem: Box<TooLittleMemory>,
        /// Keys to raise with a comma behind them, or nothing.
        raise: String,
    },
    /// A drive that has more of something than its addresses can tell apart; a smaller one may do.
    #[error("{problem}")]
    TooLarge {
        /// How many there are, the limit, and how to mend it.
        problem: String,
    },
    /// Values that are fine alone but not together.
    #[error("{problem}")]
    Together {
        /// What does not fit, with the limit and how to mend it.
        problem: String,
    },
}

impl ConfigError {
    /// The key of a setting is none of the known ones: with the keys that may be meant. A key without its group
    /// (`capacity`) means the keys that end in it.
    pub fn unknown_key(setting: &Setting, known: &[Parameter]) -> Self {
        let group = setting.key.split('.').next().unwrap_or_default();
        let ends = |key: &&str| key.rsplit('.').next() == Some(setting.key.as_str());
        let ending: Vec<&str> = known.iter().map(|parameter| parameter.key).filter(ends).collect();
        let grouped = known.iter().any(|parameter| parameter.key.split('.').next() == Some(group));
        Self::UnknownKey {
            key: setting.key.clone(),
            place: setting.place.clone(),
            hint: if ending.is_empty() {
                did_you_mean(&setting.key, known.iter().map(|parameter| parameter.key))
            } else {
                one_of(&ending)
            },
            listing: if grouped { format!("explain {group}") } else { "list keys".to_owned() },
        }
    }
}
