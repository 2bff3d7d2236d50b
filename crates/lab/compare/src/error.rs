//! Why stacks cannot be compared, and why runs ended early.

use crate::life::LifeError;
use crate::timeline::TimelineError;
use experiment::ThreadsError;
use metrics::{RunResult, Status};
use simulator::session::SessionError;
use units::HostOp;
use units::quantity::format_size;

/// Why stacks cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run has no result.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A life cannot be asked for.
    #[error(transparent)]
    Life(#[from] LifeError),
    /// A run cannot be drawn.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// The system does not give the threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The first run of a stack has a problem.
    #[error("stack `{stack}`: {problem}")]
    Stack {
        /// What the stack is called.
        stack: String,
        /// Its problem.
        problem: Box<CompareError>,
    },
    /// A repetition has a problem.
    #[error("{run}: {problem}")]
    Repetition {
        /// What the repetition is called.
        run: String,
        /// Its problem.
        problem: Box<CompareError>,
    },
    /// A repetition ended before its workload did.
    #[error("{run} ended as {status}, and has no place in means: {why}")]
    Ended {
        /// What the repetition is called.
        run: String,
        /// The name of its status.
        status: &'static str,
        /// Why, and what to do.
        why: String,
    },
    /// First runs were interrupted before anything of them was measured: a sentence for each.
    #[error("{}", .0.join("\n  "))]
    Interrupted(Vec<String>),
    /// The repetitions were interrupted.
    #[error("the repetitions were interrupted: the first runs alone are told")]
    Unrepeated,
}

impl CompareError {
    /// The problem of the first run of a stack.
    pub fn of_stack(stack: &str, problem: impl Into<Self>) -> Self {
        Self::Stack { stack: stack.to_owned(), problem: Box::new(problem.into()) }
    }
}

/// Why a run ended before its workload did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Early {
    /// The user wanted it to end.
    #[error("interrupted: the numbers cover what ran until then")]
    Interrupted,
    /// The drive took no more writes.
    #[error(
        "stack `{stack}`: the drive is {how} after {written} of host writes: {remedy}. The numbers cover what ran \
         until then"
    )]
    Full {
        /// What the stack is called.
        stack: String,
        /// Full, or worn out.
        how: &'static str,
        /// What the host had written, with its unit.
        written: String,
        /// The reason, and what to do.
        remedy: String,
    },
}

/// Looks whether all runs went on to the end of their workload.
///
/// # Errors
/// One did not: an interrupted one comes before others.
pub fn check_ended(results: &[&RunResult]) -> Result<(), Early> {
    let ended = |status: Status| results.iter().find(|result| result.status == status);
    if ended(Status::Interrupted).is_some() {
        return Err(Early::Interrupted);
    }
    let ended_so = ended(Status::WornOut).or(ended(Status::DriveFull));
    ended_so.map_or(Ok(()), |result| Err(full(result)))
}

/// Why a drive took no more writes, and what to do.
fn full(result: &RunResult) -> Early {
    // A spare makes up for a die, and an idle spare is nobody's loss.
    let missing =
        ["stripe.dies_missing", "flash.dies_lost"].iter().find_map(|name| result.counters.get(*name)).copied();
    let has_lost_dies = missing.is_some_and(|dies| dies > 0);
    // Zones have spare blocks of their own, and nothing in place of a lost die.
    let is_coded = result.config.get("stripe.kind").is_some_and(|kind| kind == "coded");
    let spare = if is_coded { "coded.spare_blocks" } else { "drive.over_provisioning" };
    let (how, remedy) = if has_lost_dies {
        let remedy = if is_coded {
            "dies failed, and a zone cannot be written without one of its banks; use stripe.kind = raid5 (or another \
             with parity)"
                .to_owned()
        } else {
            format!(
                "dies failed, and what they held leaves too little spare flash on the others; set stripe.spares, or \
                 raise {spare}"
            )
        };
        ("full", remedy)
    } else if result.status == Status::WornOut {
        (
            "worn out",
            format!(
                "blocks went bad until nothing could be reclaimed; raise flash.endurance or {spare}, or lower the \
                 fault shares"
            ),
        )
    } else {
        ("full", format!("no block could be reclaimed; raise {spare}"))
    };
    let written = format_size(result.host[HostOp::Write.index()].bytes);
    Early::Full { stack: result.stack.clone(), how, written, remedy }
}
