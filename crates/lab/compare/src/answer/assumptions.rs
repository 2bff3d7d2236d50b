//! The assumptions of an answer, in one line.

use super::small::TooSmall;
use crate::count::RunCount;
use crate::life::words::{decimal, short};
use crate::runs::{Ran, Stack};
use figures::numbers::count as grouped;
use metrics::{Basis, ENDURANCE_FACTOR, LifeReport, YEAR_DAYS};

/// The line.
pub(super) fn line(stacks: &[Stack], ran: &[Ran], small: Option<&TooSmall>, count: &RunCount) -> String {
    let parts = [
        Some(scale(stacks)),
        small.map(TooSmall::assumption),
        Some(endurance(stacks)),
        rate(stacks, ran),
        speed(stacks, ran),
        warranty(stacks),
        Some(currency(stacks)),
        Some(load(ran, count)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A value of each stack: once if all have the same, else with the names.
fn each(stacks: &[Stack], value: impl Fn(&Stack) -> String) -> String {
    named(stacks, &stacks.iter().map(value).collect::<Vec<_>>())
}

/// The same of values that are there.
fn named(stacks: &[Stack], values: &[String]) -> String {
    match values.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => first.clone(),
        _ => {
            let all = stacks.iter().zip(values).map(|(stack, value)| format!("{} {value}", stack.name));
            all.collect::<Vec<_>>().join(", ")
        }
    }
}

fn scale(stacks: &[Stack]) -> String {
    let scale = |stack: &Stack| stack.config.values.whole("drive.scale");
    if stacks.iter().all(|stack| scale(stack) == 1) {
        return "whole drives simulated".to_owned();
    }
    format!("scale {}", each(stacks, |stack| format!("1/{}", grouped(scale(stack)))))
}

fn endurance(stacks: &[Stack]) -> String {
    let endurance = |stack: &Stack| {
        let erases = grouped(stack.config.values.whole("flash.endurance"));
        let is_given = stack.config.given.contains("flash.endurance");
        let known =
            if is_given { "given".to_owned() } else { format!("of the part, within a factor of {ENDURANCE_FACTOR}") };
        format!("{erases} erases ({known})")
    };
    format!("blocks survive {}", each(stacks, endurance))
}

/// Bytes a day, which may be those of each drive.
fn rate(stacks: &[Stack], ran: &[Ran]) -> Option<String> {
    let given = stacks.iter().find_map(|stack| stack.plan.as_ref()?.terms().per_day);
    if let Some(bytes) = given {
        return Some(format!("{} written a day", decimal(bytes as f64)));
    }
    let life = |ran: &Ran| -> Option<(f64, Basis)> {
        let report: &LifeReport = ran.lived.as_ref()?.life.as_ref().ok()?;
        report.per_day()
    };
    ran.iter().find_map(life).map(|(bytes, basis)| match basis {
        Basis::FullSpeed => "each written at its full speed, day and night".to_owned(),
        Basis::Given | Basis::OwnTime => format!("the load's own {} written a day", decimal(bytes)),
    })
}

/// How fast requests come whose rates and latencies are told; `None`: no time passed.
fn speed(stacks: &[Stack], ran: &[Ran]) -> Option<String> {
    let of = |ran: &Ran| match ran.result.queue_depth {
        Some(depth) => format!("at full speed, queue depth {depth}"),
        None => "at the load's own arrival times".to_owned(),
    };
    let has_time = ran.iter().any(|ran| ran.result.sim_ns > 0);
    has_time.then(|| format!("rates and latencies {}", named(stacks, &ran.iter().map(of).collect::<Vec<_>>())))
}

fn warranty(stacks: &[Stack]) -> Option<String> {
    let days = stacks.iter().find_map(|stack| Some(stack.plan.as_ref()?.terms().warranty_days))?;
    Some(format!("drive writes a day over {} years; years have no cap", short(days / YEAR_DAYS)))
}

fn currency(stacks: &[Stack]) -> String {
    let terms = || stacks.iter().filter_map(|stack| stack.plan.as_ref()).map(crate::LifePlan::terms);
    if terms().all(|terms| terms.price.is_none()) {
        return "no prices given".to_owned();
    }
    let currency = terms().find_map(|terms| terms.currency.as_ref());
    currency.map_or_else(|| "prices without a currency".to_owned(), |one| format!("prices in {}", one.name))
}

/// The requests, and the runs of each.
fn load(ran: &[Ran], count: &RunCount) -> String {
    let requests = ran.iter().map(|ran| ran.result.requests()).max().unwrap_or(0);
    let passes = ran.iter().find_map(|ran| ran.result.config.get("workload.repeat")?.parse::<u64>().ok()).unwrap_or(1);
    let passes = if passes > 1 { format!(" in {} passes", grouped(passes)) } else { String::new() };
    format!("{} requests{passes}, {}", grouped(requests), count.words())
}
