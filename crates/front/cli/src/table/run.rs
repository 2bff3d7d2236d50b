//! One result.

use super::grid::Grid;
use super::text::{told_or, waf_refused, wrapped};
use figures::numbers::{
    NONE, bandwidth, count, duration, latency as as_latency, percentile_name, rate, ratio, share, size, time,
};
use metrics::{Latencies, LatencyRecorder, PERCENTILES, RunResult, UNWRITTEN, needed};
use std::fmt::Write;
use units::{CAUSES, HostOp, WAIT_KINDS, Wait};

/// Waiting kinds shown of a tail.
const KINDS_SHOWN: usize = 4;
/// Parts of a latency smaller than this are not worth a word.
const SHARE_SHOWN: f64 = 0.005;

/// A result as a page of text; `advice`: what the slowest requests waited for, and what can be tried.
pub fn result(result: &RunResult, advice: Option<&str>) -> String {
    let mut text = heading(result);
    if let Some(advice) = advice {
        let _ = writeln!(text, "\nadvice    {}", wrapped(advice));
    }
    for part in [requests(result), latency(result), waiting(result), flash(result), state(result), notes(result)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text.push('\n');
    text.push_str(&closing(result));
    text
}

fn heading(result: &RunResult) -> String {
    let arrivals = match result.queue_depth {
        Some(depth) => format!("closed loop, queue depth {depth}"),
        None => "open loop, requests arrive at their own time".to_owned(),
    };
    let status = result.status.name();
    format!("{} under {}  ({arrivals})  {status}\n", result.stack, result.workload)
}

/// The name of an operation.
pub fn called(name: &str) -> &str {
    if name == UNWRITTEN { "read of unwritten pages" } else { name }
}

fn requests(result: &RunResult) -> String {
    let mut grid = Grid::new(1);
    grid.row(["requests", "count", "IOPS", "MB/s", "data", "errors"]);
    for (name, totals, _) in result.operations() {
        if totals.requests == 0 {
            continue;
        }
        let per_second = |amount: u64| (result.sim_ns > 0).then(|| amount as f64 * 1e9 / result.sim_ns as f64);
        let moves = ![HostOp::Trim, HostOp::Flush].iter().any(|op| op.name() == name);
        // Reads that no flash was asked for come as fast as the host asks.
        let is_rate = name != UNWRITTEN;
        grid.row([
            format!("  {}", called(name)),
            count(totals.requests),
            rate(per_second(totals.requests).filter(|_| is_rate)),
            bandwidth(per_second(totals.bytes).filter(|_| moves && is_rate)),
            if name == HostOp::Flush.name() { NONE.to_owned() } else { size(totals.bytes) },
            if totals.failed > 0 { count(totals.failed) } else { NONE.to_owned() },
        ]);
    }
    grid.row(["  all".to_owned(), count(result.requests()), rate(result.iops())]);
    grid.render("")
}

fn timed(result: &RunResult) -> impl Iterator<Item = (&'static str, &LatencyRecorder)> {
    let recorders = result.operations().map(|(name, _, recorder)| (name, recorder));
    recorders.filter(|(_, recorder)| recorder.histogram().count() > 0)
}

fn latency(result: &RunResult) -> String {
    let mut grid = Grid::new(1);
    let names = PERCENTILES.map(|(name, _)| percentile_name(name));
    grid.row(["latency", "mean"].into_iter().chain(names).chain(["max"]));
    let mut lacking = None;
    for (name, recorder) in timed(result) {
        let Some(simulated) = Latencies::of(recorder.histogram()) else { continue };
        // Nobody asks how slow the slowest of these are.
        let is_asked = name != UNWRITTEN;
        lacking = lacking.or(PERCENTILES.into_iter().find(|(_, share)| is_asked && simulated.count < needed(*share)));
        grid.row(latencies(called(name), &simulated, as_latency));
        let op = HostOp::ALL.into_iter().find(|op| op.name() == name);
        if let Some(recorded) = result.recorded.zip(op).and_then(|(recorded, op)| recorded.of(op)) {
            grid.row(latencies(&format!("{name}, as recorded"), &recorded, time));
        }
    }
    let mut text = if timed(result).next().is_none() { String::new() } else { grid.render("") };
    if let Some((name, share)) = lacking {
        let _ = writeln!(
            text,
            "  ten requests lie beyond a percentile, or it is not told: {} takes {}",
            percentile_name(name),
            count(needed(share))
        );
    }
    text
}

/// A row: mean, percentiles, longest.
fn latencies(name: &str, of: &Latencies, show: fn(f64) -> String) -> Vec<String> {
    let percentiles = [of.p50, of.p90, of.p99, of.p999, of.p9999];
    let cells = percentiles.map(|nanos| nanos.map_or_else(|| NONE.to_owned(), |nanos| show(nanos as f64)));
    [format!("  {name}"), show(of.mean)].into_iter().chain(cells).chain([show(of.max as f64)]).collect()
}

/// Who kept the slowest requests waiting.
fn waiting(result: &RunResult) -> String {
    let mut text = String::new();
    for op in [HostOp::Read, HostOp::Write] {
        let recorder = &result.latency[op.index()];
        if recorder.histogram().count() == 0 || !result.has_causes() {
            continue;
        }
        // Of fewer the slowest 1 % are a few requests, which say nothing.
        let has_tail = recorder.histogram().count() >= needed(0.99);
        let tail = recorder.tail(if has_tail { 0.01 } else { 1.0 });
        let which = if has_tail { "slowest 1 % of" } else { "all" };
        let _ = writeln!(text, "{which} {}s ({}, mean {}): why", op.name(), count(tail.requests), time(tail.latency));
        let mut grid = Grid::new(3);
        let service = format!("own commands and transfers {}", part(tail.service(), tail.latency));
        grid.row(["", "service", service.as_str()]);
        grid.row(["", "waited behind", ranked(&tail.direct, tail.latency).as_str()]);
        grid.row(["", "root cause", ranked(&tail.root, tail.latency).as_str()]);
        text.push_str(&grid.render(""));
    }
    text
}

fn part(nanos: f64, of: f64) -> String {
    format!("{} ({})", time(nanos), share(if of > 0.0 { nanos / of } else { 0.0 }))
}

/// The largest waiting kinds, largest first.
fn ranked(kinds: &[f64; WAIT_KINDS], of: f64) -> String {
    let mut order: Vec<usize> = (0..WAIT_KINDS).filter(|kind| kinds[*kind] > SHARE_SHOWN * of).collect();
    order.sort_by(|a, b| kinds[*b].total_cmp(&kinds[*a]));
    let named =
        order.iter().take(KINDS_SHOWN).map(|kind| format!("{} {}", Wait::name_at(*kind), part(kinds[*kind], of)));
    let named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() { "nothing".to_owned() } else { named }
}

fn flash(result: &RunResult) -> String {
    let mut grid = Grid::new(1);
    grid.row(["flash", "reads", "programs", "erases", "WAF"]);
    let waf = |programs: u64| ratio(result.waf_of(programs));
    let [reads, programs, erases] = &result.flash;
    for cause in CAUSES {
        let index = cause.index();
        if reads[index] + programs[index] + erases[index] > 0 {
            grid.row([
                format!("  {}", cause.name()),
                count(reads[index]),
                count(programs[index]),
                count(erases[index]),
                waf(programs[index]),
            ]);
        }
    }
    let total = |counts: &[u64]| counts.iter().sum::<u64>();
    grid.row([
        "  all causes".to_owned(),
        count(total(reads)),
        count(total(programs)),
        count(total(erases)),
        told_or(result.waf().map(|waf| ratio(Some(waf))), waf_refused(result)),
    ]);
    if result.waf_pages().is_some() {
        let none = String::new();
        let label = "  by pages".to_owned();
        grid.row([label, none.clone(), none.clone(), none, ratio(result.waf_pages())]);
    }
    grid.render("")
}

fn state(result: &RunResult) -> String {
    let good: Vec<u64> = result.erases.iter().flatten().map(|erases| u64::from(*erases)).collect();
    let bad = result.erases.len() - good.len();
    let mean = good.iter().sum::<u64>() as f64 / good.len().max(1) as f64;
    let (low, high) = (good.iter().min().copied().unwrap_or(0), good.iter().max().copied().unwrap_or(0));
    let mut text = format!("wear      {low} to {high} erases a block, mean {mean:.1}; {bad} bad blocks\n");
    let ram: Vec<String> = result.ram_bytes.iter().map(|(layer, bytes)| format!("{layer} {}", size(*bytes))).collect();
    let _ = writeln!(text, "memory    {} in a real controller", ram.join(", "));
    if result.merges.iter().sum::<u64>() > 0 {
        let [switch, partial, full] = result.merges.map(count);
        let _ = writeln!(text, "merges    {switch} switch, {partial} partial, {full} full");
    }
    for (layer, hits, misses) in &result.caches {
        let all = (hits + misses).max(1) as f64;
        let _ = writeln!(text, "cache     {layer}: {} of {} hit", share(*hits as f64 / all), count(hits + misses));
    }
    text + &zones(result)
}

/// What code zones did, of a drive that has some.
fn zones(result: &RunResult) -> String {
    let counter = |name: &str| result.counters.get(&format!("coded.{name}")).copied().unwrap_or(0);
    if result.config.get("stripe.kind").is_none_or(|kind| kind != "coded")
        || result.config.get("coded.code_zones").is_none_or(|zones| zones == "0")
    {
        return String::new();
    }
    let [coded, decoded] = ["zones_coded", "blocks_decoded"].map(counter);
    let [data, code] = ["blocks_read", "code_blocks_read"].map(counter);
    let [back, wasted] = ["block_reads_taken_back", "block_reads_wasted"].map(counter);
    format!(
        "zones     {} coded; {} blocks and {} code blocks read, {} decoded; {} taken back, {} wasted\n",
        count(coded),
        count(data),
        count(code),
        count(decoded),
        count(back),
        count(wasted),
    )
}

fn notes(result: &RunResult) -> String {
    result.notes.iter().fold(String::new(), |mut text, note| {
        let _ = writeln!(text, "note      {}", wrapped(note));
        text
    })
}

fn closing(result: &RunResult) -> String {
    let speed = result.requests() as f64 / result.wall_s.max(1e-9);
    let simulated = if result.sim_ns > 0 { time(result.sim_ns as f64) } else { "no time".to_owned() };
    format!(
        "hash {:016x}  seed {}  simulated {simulated} in {} ({} requests/s)\n",
        result.hash,
        result.seed,
        duration(result.wall_s),
        count(speed as u64),
    )
}
