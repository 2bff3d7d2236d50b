//! All tests of the crate from outside, in one program: linking is most of what a test costs.

mod answers;
mod comparing;
mod conversions;
mod dependencies;
mod explained;
mod figures;
mod fitting;
mod golden;
mod life;
mod mistakes;
mod probe;
mod progress;
mod recipes;
mod repetitions;
mod repro;
mod runs;
mod serving;
mod style;
mod support;
mod sweeps;
mod terminal;
mod tidy;
mod tidy_commits;
mod tidy_prose;
mod timelines;
mod traces;
