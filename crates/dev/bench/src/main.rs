//! The benchmark: each row of the speed table with its target, result hash and rates.
//!
//! Machines are noisy: where the environment variable `YARDSTICK_DIR` names a folder of reference programs, they run
//! before and after, and each row shows its ratio to the mean of both.

mod against;
mod cuts;
mod instructions;
mod readers;
mod rounds;
mod rows;
mod sizes;
mod stopwatch;
mod yardstick;

use bench::serving::{DISCIPLINES, Race, Track};
use clap::Parser;
use rows::{GROUPS, Row, Scale};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Measures each row of the speed table against its target.
#[derive(Parser)]
struct Arguments {
    /// Small drives: whether everything runs, not how fast.
    #[arg(long)]
    smoke: bool,
    /// The rows of one group.
    #[arg(long, value_name = "GROUP",
          value_parser = clap::builder::PossibleValuesParser::new(GROUPS.map(|(name, _)| name)))]
    only: Option<String>,
    /// Race the block device server of the program beside this one against `nbdkit memory`, by fio, instead.
    #[arg(long, conflicts_with_all = ["smoke", "only"])]
    serving: bool,
    /// What a request costs on drives of 8 GiB to 8 TB instead, as far as they fit into memory (20 GB for the
    /// largest).
    #[arg(long, conflicts_with_all = ["smoke", "only", "serving"])]
    sizes: bool,
    /// Run another build of this program and this one in turns, and print how the rows compare, by wall and CPU time.
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["smoke", "serving", "sizes"])]
    against: Option<PathBuf>,
    /// Measure so often, and print the mean of each row and of its ratio; with --against 5 times by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["serving", "sizes", "instructions"])]
    rounds: Option<u32>,
    /// Count the instructions of a flash command by callgrind instead, of this program and that of --against.
    #[arg(long, conflicts_with_all = ["smoke", "only", "serving", "sizes", "out"])]
    instructions: bool,
    /// The work whose instructions are counted.
    #[arg(long, hide = true, value_name = "WORK", requires = "requests")]
    work: Option<instructions::Work>,
    /// Its requests.
    #[arg(long, hide = true, value_name = "N", requires = "work")]
    requests: Option<u64>,
    /// Folder for the figures as JSON.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() {
    let arguments = Arguments::parse();
    if arguments.serving {
        return race(arguments.out.as_deref());
    }
    if arguments.sizes {
        return by_size(arguments.out.as_deref());
    }
    if let (Some(work), Some(requests)) = (arguments.work, arguments.requests) {
        return work.run(requests);
    }
    if arguments.instructions {
        return or_exit(against::count_instructions(arguments.against.as_deref()));
    }
    if let Some(other) = &arguments.against {
        return in_turns(other, &arguments);
    }
    if let Some(rounds) = arguments.rounds {
        return in_rounds(rounds, &arguments);
    }
    let scale = if arguments.smoke { Scale::Smoke } else { Scale::Full };
    let yardsticks = std::env::var_os("YARDSTICK_DIR").map(PathBuf::from);
    let before = yardsticks.as_deref().map(yardstick::measure);
    let rows = rows::measure(scale, arguments.only.as_deref());
    let after = yardsticks.as_deref().map(yardstick::measure);
    let references = before.zip(after).map(|(before, after)| yardstick::mean(&before, &after));
    println!(
        "{:<26} {:>9} {:>9} {:>7}  {:>11} {:>8} {:>10} {:>6}  hash",
        "row", "measured", "target", "", "commands/s", "ns/cmd", "bytes/page", "ratio"
    );
    for row in &rows {
        print_row(row, references.as_ref().and_then(|r| r.ratio(row)));
    }
    if let Some(folder) = &arguments.out {
        let lines: Vec<_> =
            rows.iter().map(|row| row.to_json(references.as_ref().and_then(|r| r.ratio(row)))).collect();
        let text = json!({"scale": format!("{scale:?}"), "only": arguments.only, "rows": lines,
            "yardsticks": references.as_ref().map(yardstick::References::to_json)});
        write(folder, "bench.json", &text);
    }
}

/// This build several times.
fn in_rounds(rounds: u32, arguments: &Arguments) {
    let rows = or_exit(rounds::measure(rounds, arguments.only.as_deref(), arguments.smoke));
    rounds::print(&rows);
    if let Some(folder) = &arguments.out {
        let rows: Vec<_> = rows.iter().map(rounds::Repeated::to_json).collect();
        write(folder, "rounds.json", &json!({"only": arguments.only, "rows": rows}));
    }
}

/// Another build and this one.
fn in_turns(other: &Path, arguments: &Arguments) {
    let rows = or_exit(against::measure(other, arguments.rounds.unwrap_or(5), arguments.only.as_deref()));
    against::print(&rows);
    if let Some(folder) = &arguments.out {
        write(folder, "against.json", &against::to_json(&rows, other));
    }
}

fn or_exit<T>(result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1);
    })
}

/// The cost of a request by the size of the drive.
fn by_size(out: Option<&Path>) {
    let free = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = free.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = free.and_then(|kib| kib.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(1 << 21) << 10;
    let costs = sizes::measure(free);
    sizes::print(&costs);
    if let Some(folder) = out {
        write(folder, "sizes.json", &sizes::to_json(&costs));
        if let Err(error) = sizes::draw(&costs, folder) {
            eprintln!("{}: {error}", folder.display());
        }
    }
}

fn write(folder: &Path, name: &str, text: &Value) {
    let path = folder.join(name);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, format!("{text:#}\n")));
    match written {
        Ok(()) => eprintln!("wrote {}", path.display()),
        Err(error) => eprintln!("{}: {error}", path.display()),
    }
}

/// The servers' race: five rounds of two seconds each.
fn race(out: Option<&Path>) {
    let program = std::env::current_exe().expect("a program knows where it is").with_file_name("nandarium");
    let folder = tempfile::tempdir().expect("there is room for sockets");
    let races = Track::open(&program, folder.path())
        .and_then(|track| DISCIPLINES.into_iter().map(|one| track.race(one, 5, 2)).collect::<Result<Vec<_>, _>>());
    let races = match races {
        Ok(races) => races,
        Err(error) => return eprintln!("{error}; `make setup` installs fio and nbdkit, `make build` the program"),
    };
    println!("{:<10} {:>5} {:>14} {:>14} {:>6}", "pattern", "depth", "nandarium k/s", "nbdkit k/s", "ratio");
    for race in &races {
        println!(
            "{:<10} {:>5} {:>14.1} {:>14.1} {:>6.2}",
            race.pattern,
            race.depth,
            race.ours / 1e3,
            race.other / 1e3,
            race.ratio()
        );
    }
    if let Some(out) = out {
        let row = |race: &Race| {
            json!({
                "pattern": race.pattern, "depth": race.depth, "nandarium": race.ours, "nbdkit": race.other,
            })
        };
        let rows: Vec<_> = races.iter().map(row).collect();
        write(out, "serving.json", &json!({"rounds": 5, "seconds": 2, "rows": rows}));
    }
}

fn print_row(row: &Row, ratio: Option<f64>) {
    let verdict = if row.meets_target() { "ok" } else { "MISSED" };
    let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    println!(
        "{:<26} {:>9} {:>9} {:>7}  {:>9.2} M {:>8} {:>10} {:>6}  {:016x}",
        row.name,
        format!("{:.2} {}", row.measured, row.unit),
        format!("{} {}", row.target, row.unit),
        verdict,
        row.commands_per_second / 1e6,
        if row.commands_per_second > 0.0 { format!("{:.1}", 1e9 / row.commands_per_second) } else { "-".to_owned() },
        row.bytes_per_page.map_or("-".to_owned(), |bytes| format!("{bytes:.2}")),
        ratio,
        row.hash,
    );
}
