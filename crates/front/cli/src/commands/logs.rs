//! `nandarium life --smart`: the life of a real drive, from two of its own logs.

use super::results::pretty;
use crate::arguments::LifeArguments;
use crate::failure::Failure;
use crate::output;
use crate::table::Grid;
use compare::life::telemetry::{LifeOfLogs, Log};
use compare::life::words::{decimal, digits, short};
use metrics::Range;
use std::path::Path;
use units::quantity;

pub fn execute(arguments: &LifeArguments, [before, after]: [&Path; 2]) -> Result<(), Failure> {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error))?;
        Log::read(&text).map_err(|problem| Failure::usage(format!("--smart {}: {problem}", path.display())))
    };
    let sheet = arguments.tbw.as_deref().map(quantity::parse_size).transpose();
    let sheet = sheet.map_err(|error| Failure::usage(format!("--tbw: {error}")))?.map(|bytes| bytes as f64);
    let life = LifeOfLogs::of(&read(before)?, &read(after)?, arguments.over, sheet)
        .map_err(|problem| Failure::usage(format!("--smart: {problem}")))?;
    output::print(&if arguments.session.json { pretty(&life.to_json()) } else { text(&life) })
}

fn text(life: &LifeOfLogs) -> String {
    let per_day = decimal(life.per_day());
    let mut facts = vec![
        ("between the logs", format!("{} days ({})", short(life.days), life.days_from)),
        (
            "host writes",
            format!("{}, {per_day} a day; {} in all", decimal(life.host_bytes), decimal(life.host_bytes_ever)),
        ),
        (
            "flash writes",
            life.flash_bytes.zip(life.waf()).map_or_else(
                || "the logs do not tell them; add the output of `nvme ocp smart-add-log -o json` to each".to_owned(),
                |(bytes, waf)| {
                    let doubt = if waf < 1.0 { " (below 1: the drive counts them in another unit)" } else { "" };
                    format!("{}, write amplification {}{doubt}", decimal(bytes), digits(waf))
                },
            ),
        ),
        (
            "life spent",
            life.used.map_or_else(
                || "the logs do not tell it".to_owned(),
                |[before, after]| format!("{before} % before, {after} % after"),
            ),
        ),
    ];
    if let Some(bytes) = life.data_sheet_bytes {
        let years = short(life.years_until(bytes));
        facts.push(("data sheet", format!("{} TB written, in {years} years at {per_day} a day", short(bytes / 1e12))));
    }
    let mut table = Grid::new(2);
    for (name, fact) in facts {
        table.row([name.to_owned(), fact]);
    }
    let text = table.render("");
    let Some(worn) = life.bytes_until_worn else {
        let why = match life.used {
            Some(_) => "the drive tells less than 2 % of wear",
            None => "the logs do not tell the wear",
        };
        return format!("{text}\nNo projection: {why}.\n");
    };
    let cells = |name: String, of: &dyn Fn(f64) -> f64| {
        let Range { earliest, estimate, latest } = worn;
        [name, digits(of(earliest)), digits(of(estimate)), digits(of(latest))]
    };
    let mut rows = Grid::new(1);
    rows.row(["until worn out", "earliest", "estimate", "latest"].map(str::to_owned));
    rows.row(cells("  TB written (TBW)".to_owned(), &|bytes| bytes / 1e12));
    rows.row(cells(format!("  years at {per_day} a day"), &|bytes| life.years_until(bytes)));
    format!("{text}\n{}", rows.render(""))
}
