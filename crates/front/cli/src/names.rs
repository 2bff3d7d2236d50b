//! The names on a command line that no option stands before: which are stacks, and which is the workload.

use crate::failure::Failure;
use simulator::config::{did_you_mean, drives, stacks};
use simulator::session::{SAMPLE, is_built_in, is_trace};
use trace::synthetic::WORKLOADS;

/// The stack of a command that names none.
pub const STACK: &str = "page";
/// The workload of a command that names none.
pub const WORKLOAD: &str = "mixed";

/// The names in a command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// Stacks, in the order given, stacks with an option last.
    pub stacks: Vec<&'a str>,
    pub workload: &'a str,
}

impl<'a> Names<'a> {
    /// Sorts `bare` names into stacks and a workload; `stacks` and `workload` were given by options.
    /// Errors: a name that is nothing; two workloads.
    pub fn sort(bare: &'a [String], stacks: &'a [String], workload: Option<&'a str>) -> Result<Self, Failure> {
        let mut named = Self { stacks: Vec::new(), workload: workload.unwrap_or(WORKLOAD) };
        let mut first = workload;
        for name in bare {
            if name.contains('=') && !name.contains('+') && !std::path::Path::new(name).exists() {
                return Err(Failure::usage(format!("`{name}` is a setting: write --set {name}")));
            }
            if is_stack(name) || workload.is_some() && !is_built_in(name) {
                named.stacks.push(name);
            } else if !(is_built_in(name) || is_trace(name)) {
                return Err(unknown(name));
            } else if let Some(first) = first.replace(name) {
                return Err(Failure::usage(format!(
                    "`{first}` and `{name}` are two workloads, and a run has one: leave one out"
                )));
            } else {
                named.workload = name;
            }
        }
        named.stacks.extend(stacks.iter().map(String::as_str));
        Ok(named)
    }

    /// The only stack, of a command that runs one.
    /// Errors: there are several.
    pub fn stack(&self) -> Result<&'a str, Failure> {
        match self.stacks.as_slice() {
            [] => Ok(STACK),
            [stack] => Ok(stack),
            several => Err(Failure::usage(format!(
                "`{}` are {} stacks, and this command runs one: name one of them, or run them side by side with \
                 `nandarium compare {}`",
                several.join("` and `"),
                several.len(),
                several.join(" ")
            ))),
        }
    }
}

/// A built-in stack or drive, or a stack file; keys behind plus signs do not matter.
fn is_stack(name: &str) -> bool {
    let base = name.split('+').next().unwrap_or_default();
    let is_file = std::path::Path::new(base).extension().is_some_and(|ending| ending == "toml");
    is_file || [stacks(), drives()].concat().iter().any(|preset| preset.name == base)
}

fn unknown(name: &str) -> Failure {
    let presets = [stacks(), drives()].concat();
    let known = presets.iter().map(|preset| preset.name).chain(WORKLOADS.iter().map(|entry| entry.name));
    Failure::usage(format!(
        "`{name}` is not a stack, drive, workload or file{}; `nandarium list` names what there is",
        did_you_mean(name, known.chain([SAMPLE]))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(bare: &[&str], workload: Option<&str>) -> Result<(Vec<String>, String), String> {
        let bare: Vec<String> = bare.iter().map(|name| (*name).to_owned()).collect();
        let named = Names::sort(&bare, &[], workload).map_err(|failure| failure.message)?;
        Ok((named.stacks.iter().map(|name| (*name).to_owned()).collect(), named.workload.to_owned()))
    }

    #[test]
    fn no_name_is_both_a_stack_and_a_workload() {
        for preset in [stacks(), drives()].concat() {
            assert!(!is_built_in(preset.name), "{}", preset.name);
        }
    }

    #[test]
    fn stacks_and_a_workload_are_told_apart_in_any_order() {
        let told = |stacks: &[&str], workload: &str| {
            Ok((stacks.iter().map(|name| (*name).to_owned()).collect(), workload.to_owned()))
        };
        assert_eq!(sorted(&[], None), told(&[], WORKLOAD));
        assert_eq!(sorted(&["zipf"], None), told(&[], "zipf"));
        assert_eq!(sorted(&["a.csv.zst", "dftl"], None), told(&["dftl"], "a.csv.zst"));
        assert_eq!(sorted(&["page", "page+ftl.gc.victim=fifo"], None).unwrap().0.len(), 2);
        assert_eq!(sorted(&["mine.toml", "-"], None), told(&["mine.toml"], "-"));
        assert_eq!(sorted(&["mine"], Some("zipf")), told(&["mine"], "zipf"), "a stack file by any name");
    }

    #[test]
    fn a_name_that_is_nothing_and_a_second_workload_are_refused() {
        let problem = sorted(&["zpif"], None).unwrap_err();
        assert!(problem.contains("`zpif` is not a stack") && problem.contains("did you mean `zipf`"), "{problem}");
        assert!(sorted(&["drive.capacity=1GiB"], None).unwrap_err().contains("write --set drive.capacity=1GiB"));
        assert!(sorted(&["zipf", "oltp"], None).unwrap_err().contains("`zipf` and `oltp` are two workloads"));
        assert!(sorted(&["zipf"], Some("oltp")).unwrap_err().contains("two workloads"));
        let both = ["page".to_owned(), "dftl".to_owned()];
        let message = Names::sort(&both, &[], None).unwrap().stack().unwrap_err().message;
        assert!(message.contains("nandarium compare page dftl"), "{message}");
    }
}
