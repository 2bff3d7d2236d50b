//! The crash campaign as a program: `crash [--cuts N] [--seed S] [--life SEED] [--faults | --deaths] [--ftl KIND]
//! [--buffer KIND] [--stripe KIND] [--forgetful] [--cached] [--atomic] [--kills]
//! [--survey]`.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;
use testkit::crash::{Campaign, Tally};
use testkit::{Faults, Layers};

const USAGE: &str = "usage: crash [--cuts N] [--seed S] [--life SEED] [--faults | --deaths] [--ftl KIND] [--buffer \
    KIND] [--stripe KIND] [--forgetful] [--cached] [--atomic] [--kills]
  --cuts N     power cuts to make (10,000,000)
  --seed S     seed of the first life (1)
  --life SEED  replay this life only
  --faults     let programs and erases fail now and then
  --deaths     let dies die under stripes, as many as they can stand
  --ftl KIND   drives with this mapping only, not with any
  --buffer KIND  drives with this buffer only, or with `none`
  --stripe KIND  drives with these stripes only (over a mapping that can carry them: --ftl page), or with `none`
  --forgetful  drives whose memory for programs a power cut takes, wherever that goes
  --cached     drives with a cache of blocks with one bit a cell, wherever that goes
  --atomic     drives whose mapping keeps writes of several pages whole, wherever that goes
  --kills      kill the program at half of the restarts, and open the file of its flash again (in TMPDIR)
  --survey     go on after a failure, one line for each";

fn main() -> ExitCode {
    let mut campaign = Campaign::new(10_000_000, 1);
    let mut only = None;
    let mut survey = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.replace('_', "").parse::<u64>().ok());
        let taken = match argument.as_str() {
            "--cuts" => number().map(|cuts| campaign.cuts = cuts),
            "--seed" => number().map(|seed| campaign.seed = seed),
            "--life" => number().map(|seed| only = Some(seed)),
            "--faults" => {
                campaign.faults = Faults::Rare;
                Some(())
            }
            "--deaths" => {
                campaign.faults = Faults::Deaths;
                Some(())
            }
            "--kills" => {
                campaign.kills = true;
                Some(())
            }
            "--help" | "-h" => return say(USAGE, 0),
            "--survey" => {
                survey = true;
                Some(())
            }
            of_drives => take_layer(of_drives, &mut arguments, &mut campaign.layers),
        };
        if taken.is_none() {
            return say(&format!("{argument} is not understood\n{USAGE}"), 2);
        }
    }
    if let Err(problem) = campaign.check() {
        return say(&problem, 2);
    }
    let begun = Instant::now();
    if survey {
        return look_everywhere(&campaign, begun);
    }
    let result = match only {
        Some(seed) => {
            let mut tally = Tally::default();
            campaign.live(seed, &mut tally).map(|()| tally)
        }
        None => campaign.run(|tally| {
            if tally.lives.is_multiple_of(50) {
                say(&line(tally, begun), 0);
            }
        }),
    };
    match result {
        Ok(tally) => say(&line(&tally, begun), 0),
        Err(failure) => say(&failure.to_string(), 3),
    }
}

/// What drives are drawn, if an argument says something of that. `None`: it does not, or names nothing.
fn take_layer(argument: &str, arguments: &mut impl Iterator<Item = String>, layers: &mut Layers) -> Option<()> {
    match argument {
        "--ftl" => {
            let wanted = arguments.next();
            let name = ftl::mapping::mapping_names().into_iter().find(|name| Some(*name) == wanted.as_deref());
            name.map(|name| layers.mapping = Some(name))
        }
        "--buffer" => {
            let wanted = arguments.next();
            let name = buffer::buffer_names().into_iter().find(|name| Some(*name) == wanted.as_deref());
            name.map(|name| layers.buffer = Some(name))
        }
        "--stripe" => {
            let wanted = arguments.next();
            let name = stripe::stripe_names().into_iter().find(|name| Some(*name) == wanted.as_deref());
            name.map(|name| layers.stripe = Some(name))
        }
        "--forgetful" => {
            layers.forgetful = true;
            Some(())
        }
        "--cached" => {
            layers.cached = true;
            Some(())
        }
        "--atomic" => {
            layers.atomic = true;
            Some(())
        }
        _ => None,
    }
}

/// Runs every life whatever became of those before, and lists the failures.
fn look_everywhere(campaign: &Campaign, begun: Instant) -> ExitCode {
    let mut tally = Tally::default();
    let mut failures = 0;
    let mut seed = campaign.seed;
    while tally.cuts < campaign.cuts {
        if let Err(failure) = campaign.live(seed, &mut tally) {
            failures += 1;
            say(&format!("seed {seed} event {}: {}", failure.position.event, failure.what), 0);
        }
        seed += 1;
    }
    say(&format!("{failures} failures; {}", line(&tally, begun)), u8::from(failures > 0) * 3)
}

fn line(tally: &Tally, begun: Instant) -> String {
    let rate = tally.cuts as f64 / begun.elapsed().as_secs_f64();
    let Tally { cuts, restarts, kills, read_through, lives, worn_out, requests, erases } = tally;
    format!(
        "{cuts} cuts ({rate:.0}/s), {restarts} restarts ({kills} of killed programs), {read_through} read by requests, \
         {lives} lives ({worn_out} worn out), {requests} requests, {erases} erases"
    )
}

fn say(text: &str, code: u8) -> ExitCode {
    // Nothing can be done about a closed terminal.
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(code)
}
