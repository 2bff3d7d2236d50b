//! A page about a failure: the requests to the drive before the cut, and the data that survived.

use super::Report;
use crate::explore::{Found, kind_in_words, outcome_in_words};
use crate::states::{NEVER, Outcome};
use figures::{Page, each, escape, frame};
use std::fmt::Write as _;
use units::SECTOR_BYTES;

/// Requests before the cut, and after it, that are shown.
const SHOWN: [usize; 2] = [40, 3];
/// Width of the area of steps, height of a row, and width of the names beside it, in pixels.
const WIDTH: f64 = 520.0;
const ROW: f64 = 20.0;
const NAMES: f64 = 250.0;
/// Width of what became of a request.
const FATES: f64 = 260.0;

/// The report as a self-contained HTML page.
pub fn render(report: &Report<'_>) -> String {
    let exploration = report.exploration;
    let (title, sections) = match &exploration.found {
        None => ("Nothing was found".to_owned(), String::new()),
        Some(found) => (format!("State {} fails", found.number), failure(report, found)),
    };
    let facts = format!(
        "<p class=\"lead\">{} requests were recorded, {} of them flushes; the workload said {} lines. {} states were \
         drawn ({}), {} checked{}, {:.0} a second.{}</p>",
        report.recording.requests.len(),
        report.flushes(),
        report.recording.said.len(),
        exploration.states,
        escape(&report.by()),
        report.checked(),
        report.asked.shard.map_or_else(String::new, |(index, count)| format!(" in shard {} of {count}", index + 1)),
        report.rate(),
        if exploration.found.is_none() { " That proves nothing beyond these states." } else { "" },
    );
    Page { brand: "torture", title: &title, top: facts, sections: sections + &commands(report) }.render()
}

/// The commands that were run, where it was commands.
fn commands(report: &Report<'_>) -> String {
    let commands = &report.asked.commands;
    if commands.is_empty() {
        return String::new();
    }
    let rows = each(commands, |(option, text)| {
        format!("<tr><td>{}</td><td><code>{}</code></td></tr>", escape(option), escape(text))
    });
    format!(
        "<section><h2>What was run</h2><div class=\"table\"><table><thead><tr><th>option</th><th>command</th></tr>\
         </thead><tbody>{rows}</tbody></table></div></section>"
    )
}

fn failure(report: &Report<'_>, found: &Found) -> String {
    let stale = found.smallest.stale.map_or_else(String::new, |sector| {
        format!(" The first read of sector {sector} brought what it had held before it was last written.")
    });
    let wrong = found.smallest.wrong.map_or_else(String::new, |wrong| format!(" Wrong data: {wrong}."));
    let missing = match found.smallest.missing().count() {
        0 if stale.is_empty() && wrong.is_empty() => {
            "No write of the program is missing: it promised data that had not reached the drive.".to_owned()
        }
        0 => "Nothing else is missing.".to_owned(),
        1 => "One request missing is enough to make the check fail.".to_owned(),
        count => format!("{count} requests missing are enough to make the check fail."),
    };
    let lead = format!(
        "<section><h2>{}</h2><p class=\"lead\">Power went after step {} of {}. {missing}{stale}{wrong} As it was \
         drawn, the state lacked {}.</p><p class=\"advice\">To see it again: {} {}.</p>",
        escape(&found.why),
        found.smallest.step,
        report.recording.steps.len(),
        found.drawn.missing().count(),
        escape(&report.asked.again),
        found.number,
    );
    lead + &timeline(report, found) + &table(report, found) + "</section>"
}

/// Requests around the cut.
fn shown(report: &Report<'_>, found: &Found) -> Vec<usize> {
    let step = found.smallest.step;
    let count = report.recording.requests.len();
    let asked = (0..count).take_while(|number| report.states.span(*number).asked <= step).count();
    let recent = asked.saturating_sub(SHOWN[0])..(asked + SHOWN[1]).min(count);
    let earlier = found.smallest.missing().map(|(number, _)| *number).filter(|number| *number < recent.start);
    earlier.chain(recent.clone()).collect()
}

/// What became of a request, in words, and whether it is missing.
fn outcome(report: &Report<'_>, found: &Found, number: usize) -> (String, bool) {
    let order = report.recording.requests[number].order;
    let (span, step) = (report.states.span(number), found.smallest.step);
    let own = found.smallest.outcomes.iter().find(|(open, _)| *open == number).map(|(_, outcome)| *outcome);
    match own {
        _ if span.asked > step => ("not asked for yet".to_owned(), false),
        _ if order.length == 0 => (if span.answered <= step { "answered" } else { "under way" }.to_owned(), false),
        Some(Outcome::Kept) => ("there, and need not be".to_owned(), false),
        Some(outcome) => (outcome_in_words(outcome, u64::from(order.length) / SECTOR_BYTES), true),
        None if span.lasts <= step => ("there: it had to last".to_owned(), false),
        None => ("there".to_owned(), false),
    }
}

fn timeline(report: &Report<'_>, found: &Found) -> String {
    let rows = shown(report, found);
    let spans: Vec<_> = rows.iter().map(|number| report.states.span(*number)).collect();
    let step = found.smallest.step;
    let recent = spans.iter().rev().take(SHOWN[0] + SHOWN[1]);
    let first = recent.map(|span| span.asked).min().unwrap_or(0).min(step);
    let ends = spans.iter().flat_map(|span| [span.asked, span.answered]).filter(|at| *at != NEVER);
    let last = ends.max().unwrap_or(step).max(step) + 1;
    let x = |at: usize| NAMES + (at.clamp(first, last) - first) as f64 / (last - first).max(1) as f64 * WIDTH;
    let height = ROW * (rows.len() as f64 + 1.5);
    let mut marks = String::new();
    for (row, (number, span)) in rows.iter().zip(&spans).enumerate() {
        let order = report.recording.requests[*number].order;
        let (words, is_missing) = outcome(report, found, *number);
        let (y, middle) = (ROW * (row as f64 + 1.0), ROW * (row as f64 + 1.5));
        let (from, until) = (x(span.asked), x(span.answered));
        let colour = if is_missing { "var(--bad)" } else { "var(--series-0)" };
        let fill = if order.length == 0 { "none" } else { colour };
        let dash = if is_missing { ";stroke-dasharray:4 3;fill-opacity:0.25" } else { "" };
        let _ = write!(
            marks,
            "<text x=\"0\" y=\"{middle}\" dominant-baseline=\"middle\">{number} {}{} {}</text>\
             <rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{fill};\
             stroke:{colour}{dash}\"/>\
             <text x=\"{}\" y=\"{middle}\" dominant-baseline=\"middle\"{}>{}</text>",
            kind_in_words(order.kind),
            if order.fua { " (FUA)" } else { "" },
            if order.length == 0 { String::new() } else { format!("{} B at {}", order.length, order.offset) },
            y + 4.0,
            (until - from).max(3.0),
            ROW - 8.0,
            NAMES + WIDTH + 12.0,
            if is_missing { " style=\"fill:var(--bad);font-weight:600\"" } else { "" },
            escape(&words),
        );
    }
    let cut = f64::midpoint(x(step), x(step + 1));
    let all = NAMES + WIDTH + FATES + 12.0;
    format!(
        "<p class=\"lead\">Each bar goes from a request to its answer, in steps of the recording; flushes are hollow. \
         Missing writes are dashed.</p><div class=\"plot\" tabindex=\"0\" role=\"img\" aria-label=\"The last requests \
         before the cut; the table below has the same\"><svg style=\"width:{all}px\" height=\"{height}\" viewBox=\"0 \
         0 {all} {height}\">{marks}<line x1=\"{cut:.1}\" x2=\"{cut:.1}\" y1=\"{}\" y2=\"{height}\" \
         stroke=\"var(--ink)\" stroke-width=\"2\"/><text x=\"{cut:.1}\" y=\"12\" text-anchor=\"middle\">power \
         goes</text></svg></div>",
        ROW * 0.8,
    )
}

fn table(report: &Report<'_>, found: &Found) -> String {
    let numbers = shown(report, found);
    let step = |at: usize| if at == NEVER { "-".to_owned() } else { at.to_string() };
    let rows = each(&numbers, |number| {
        let (order, span) = (report.recording.requests[*number].order, report.states.span(*number));
        let (words, is_missing) = outcome(report, found, *number);
        format!(
            "<tr><td>{number}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td><span class=\"chip{}\">{}</span></td></tr>",
            kind_in_words(order.kind),
            if order.fua { ", FUA" } else { "" },
            order.offset,
            order.length,
            step(span.asked),
            step(span.answered),
            if order.length == 0 { "-".to_owned() } else { step(span.lasts) },
            if is_missing { " fail" } else { "" },
            escape(&words),
        )
    });
    let said: Vec<&str> = report.recording.said_by(found.smallest.step).collect();
    let last = said.last().map_or_else(String::new, |line| {
        format!("<p class=\"lead\">It had said {} lines; the last was <code>{}</code>.</p>", said.len(), escape(line))
    });
    format!(
        "{last}<details><summary>The same as a table</summary><div class=\"{}\"><table><thead><tr><th>request</th>\
         <th>op</th><th>byte</th><th>bytes</th><th>asked at step</th><th>answered</th><th>must last from</th>\
         <th>after the cut</th></tr></thead><tbody>{rows}</tbody></table></div></details>",
        frame(numbers.len())
    )
}
