//! Repetitions of a comparison: each stack again with other seeds, and the findings from all runs.

use crate::check_ended;
use crate::error::CompareError;
use crate::life::{self, LifeOverSeeds, LifePlan};
use crate::runs::{Comparison, Ran, Stage};
use experiment::Monitor;
use metrics::{LifeReport, Status};
use serde_json::{Value, json};
use simulator::Config;
use simulator::session::SessionError;
use sweep::{Contrast, Differs, Metric};

/// Figures that are compared, where all repetitions have them.
const FIGURES: [&str; 15] = [
    "iops",
    "read_mean_ns",
    "read_p50_ns",
    "read_p99_ns",
    "read_p999_ns",
    "write_mean_ns",
    "write_p50_ns",
    "write_p99_ns",
    "write_p999_ns",
    "flush_mean_ns",
    "flush_p50_ns",
    "flush_p99_ns",
    "flush_p999_ns",
    "waf",
    "erased_bytes",
];
/// Keys that repetitions change.
const SEEDS: [&str; 2] = ["workload.seed", "engine.seed"];
/// From here on a ratio is told as a factor.
pub(crate) const FACTOR: f64 = 1.95;

/// The repetitions of a stack.
#[derive(Clone, Debug)]
pub struct Repeated {
    name: String,
    /// Runs, the first one included.
    count: usize,
    /// The stack that it is compared with; `None`: it is that stack.
    against: Option<String>,
    contrasts: Vec<Contrast>,
    /// The figures of each run.
    pub(crate) runs: Vec<Figures>,
}

/// A stack to be run again.
pub(crate) struct Again<'a> {
    /// Its configuration, with the seeds of the first run.
    pub config: &'a Config,
    /// The text that tells its runs from the runs of others where they are kept.
    pub identity: &'a str,
    /// Where its life is asked for.
    pub plan: Option<&'a LifePlan>,
    /// Its first run.
    pub first: &'a Ran,
}

/// Figures of a run, and after them the amounts of its life, where that is asked for.
pub(crate) type Figures = Vec<Option<f64>>;

/// Runs each stack again until there are as many runs of each as asked for, and compares them with the first: the
/// findings on each, and on its life.
///
/// # Errors
/// As a run's; a repetition that did not end as its workload does, or has no life.
pub(crate) fn run(
    asked: &Comparison<'_>,
    stacks: &[Again<'_>],
    stage: &dyn Stage,
    monitor: &dyn Monitor,
) -> Result<Vec<(Repeated, Option<LifeOverSeeds>)>, CompareError> {
    let count = asked.repetitions;
    let jobs: Vec<(usize, u64)> =
        (0..stacks.len()).flat_map(|stack| (1..count as u64).map(move |number| (stack, number))).collect();
    let name = |(stack, number): &(usize, u64)| {
        let Again { identity, plan, .. } = &stacks[*stack];
        format!("repetition {number} of {identity}\n{}", plan.map_or_else(String::new, LifePlan::identity))
    };
    let values = experiment::all(monitor, &jobs, name, |(stack, number)| {
        one(asked, &stacks[*stack], *number, stage).inspect_err(|_| stage.failed())
    })?;
    let values = values.into_iter().collect::<Option<Vec<Figures>>>().ok_or(CompareError::Unrepeated)?;
    let of_stack = |stack: usize| -> Vec<Figures> {
        let others = &values[stack * (count - 1)..(stack + 1) * (count - 1)];
        let Ran { result, lived, .. } = stacks[stack].first;
        let life = lived.as_ref().and_then(|lived| lived.life.as_ref().ok());
        std::iter::once(figures(&result.to_json(), life)).chain(others.iter().cloned()).collect()
    };
    if stacks.is_empty() {
        return Ok(Vec::new());
    }
    let first = of_stack(0);
    let repeated = (0..stacks.len()).map(|stack| {
        let own = of_stack(stack);
        let against = (stack > 0).then_some(&first);
        let contrast = |(at, metric): (usize, &'static Metric)| {
            let known = |runs: &[Figures]| runs.iter().map(|run| run[at]).collect::<Option<Vec<f64>>>();
            Contrast::of(metric, &known(&own)?, against.and_then(|first| known(first)).as_deref())
        };
        let repeated = Repeated {
            name: stacks[stack].config.name.clone(),
            count,
            against: (stack > 0).then(|| stacks[0].config.name.clone()),
            contrasts: named().enumerate().filter_map(contrast).collect(),
            runs: Vec::new(),
        };
        let amounts = || own.iter().map(|run| run.get(named().count()..).unwrap_or_default()).collect::<Vec<_>>();
        let over_seeds = stacks[stack].plan.map(|_| LifeOverSeeds::of(&amounts()));
        (Repeated { runs: own, ..repeated }, over_seeds)
    });
    Ok(repeated.collect())
}

/// The figures of a repetition; `None`: it was interrupted.
fn one(
    asked: &Comparison<'_>,
    stack: &Again<'_>,
    number: u64,
    stage: &dyn Stage,
) -> Result<Option<Figures>, CompareError> {
    let run = format!("{}, repetition {}", stack.config.name, number + 1);
    let mut config = stack.config.clone();
    for key in SEEDS {
        let seed = config.values.whole(key).wrapping_add(number);
        config.set_whole(key, seed);
    }
    let whose = |error: CompareError| CompareError::Repetition { run: run.clone(), problem: Box::new(error) };
    let prepared = asked.source.prepare(config).map_err(|error| whose(error.into()))?;
    let watcher = &mut *stage.watcher(&run);
    let ran = match stack.plan {
        Some(_) => prepared.run_wear(asked.snapshots, watcher).map(|(result, window)| (result, Some(window))),
        None => prepared.run(asked.snapshots, watcher).map(|result| (result, None)),
    };
    let (result, window) = match ran {
        Ok(ran) => ran,
        Err(SessionError::Interrupted) => return Ok(None),
        Err(error) => return Err(whose(error.into())),
    };
    match result.status {
        Status::Complete => {}
        Status::Interrupted => return Ok(None),
        status => {
            let why = check_ended(&[&result]).err().map_or_else(String::new, |early| early.to_string());
            return Err(CompareError::Ended { run, status: status.name(), why });
        }
    }
    let document = result.to_json();
    let life = stack.plan.zip(window).map(|(plan, window)| plan.report(result, window)).transpose();
    Ok(Some(figures(&document, life.map_err(|error| whose(error.into()))?.as_ref())))
}

pub(crate) fn named() -> impl Iterator<Item = &'static Metric> {
    FIGURES.into_iter().filter_map(Metric::named)
}

pub(crate) fn figures(result: &Value, life: Option<&LifeReport>) -> Figures {
    named().map(|metric| metric.of(result)).chain(life.into_iter().flat_map(life::amounts)).collect()
}

impl Repeated {
    /// The findings on this stack against the first; nothing on the first itself.
    pub fn sentence(&self) -> Option<String> {
        let against = self.against.as_ref()?;
        let judged: Vec<Option<bool>> =
            self.contrasts.iter().filter(|one| one.ratio.is_some()).map(Contrast::is_better).collect();
        let count = |wanted: Option<bool>| judged.iter().filter(|one| **one == wanted).count();
        let told: Vec<String> = self.contrasts.iter().filter_map(words).collect();
        if judged.is_empty() {
            return Some(format!("{} and {against} have no figures that all repetitions have.", self.name));
        }
        let apart = |one: &&Contrast| one.ratio.is_some() && one.is_better().is_none();
        let open: Vec<&str> = self.contrasts.iter().filter(apart).map(|one| one.metric.short).collect();
        let open = if open.is_empty() { String::new() } else { format!(" Cannot be told apart: {}.", open.join(", ")) };
        let details = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
        Some(format!(
            "{} against {against}, {} repetitions: better in {}, worse in {} of {}{details}.{open}",
            self.name,
            self.count,
            count(Some(true)),
            count(Some(false)),
            if judged.len() == 1 { "1 figure".to_owned() } else { format!("{} figures", judged.len()) }
        ))
    }

    /// The form in a result.
    pub fn to_json(&self) -> Value {
        let figure = |contrast: &Contrast| {
            let ratio = contrast.ratio.map(|ratio| {
                let [low, middle, high] = ratio;
                json!({"low": low, "middle": middle, "high": high, "shown": shown(ratio)})
            });
            let differs = contrast.differs().map(|differs| match differs {
                Differs::Higher => "higher",
                Differs::Lower => "lower",
                Differs::CannotBeTold => "cannot be told",
            });
            json!({
                "metric": contrast.metric.name,
                "name": contrast.metric.short,
                "mean": contrast.own.mean,
                "half": contrast.own.half,
                "shown": sweep::shown_cell(contrast.metric, contrast.own),
                "ratio": ratio,
                "differs": differs,
                "better": contrast.is_better(),
            })
        };
        json!({
            "count": self.count,
            "against": self.against,
            "figures": self.contrasts.iter().map(figure).collect::<Vec<_>>(),
            "sentence": self.sentence(),
        })
    }
}

/// A ratio with its interval, with as many decimals as show on which side of 1 the interval ends.
fn shown([low, middle, high]: [f64; 3]) -> String {
    let is_clear = |decimals: &usize| {
        let rounded = |ratio: f64| format!("{ratio:.decimals$}").parse().unwrap_or(ratio);
        [low, high].iter().all(|end| (*end < 1.0) == (rounded(*end) < 1.0) && (*end > 1.0) == (rounded(*end) > 1.0))
    };
    let decimals = (2..5).find(is_clear).unwrap_or(2);
    format!("{middle:.decimals$} ({low:.decimals$} to {high:.decimals$})")
}

/// A number of percent: one decimal, or more where that would be none at all.
fn digits(percent: f64) -> String {
    let decimals = (1..4).find(|decimals| percent * 10_f64.powi(*decimals) >= 0.5).unwrap_or(1) as usize;
    format!("{percent:.decimals$}")
}

/// A difference that can be told, in words.
fn words(contrast: &Contrast) -> Option<String> {
    let [low, middle, high] = contrast.ratio?;
    let name = contrast.metric.short;
    let percent = |ratio: f64| format!("{}\u{a0}%", digits((ratio - 1.0).abs() * 100.0));
    match contrast.differs()? {
        Differs::CannotBeTold => None,
        _ if middle >= FACTOR => Some(format!("{name} {middle:.2} times as high ({low:.2} to {high:.2})")),
        Differs::Higher => Some(format!("{name} {} higher ({} to {})", percent(middle), percent(low), percent(high))),
        Differs::Lower => Some(format!("{name} {} lower ({} to {})", percent(middle), percent(high), percent(low))),
    }
}
