//! What a state holds, against doing all of its requests one after the other.

use engine::random::Stream;
use serve::{Order, OrderKind};
use torture::{CrashState, Guarantee, Lie, Outcome, Recorded, Recording, States, Step};

const SECTORS: u64 = 48;
const SMALL: [&str; 5] = [
    "drive.capacity=4MiB",
    "flash.channels=1",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=16",
    "drive.over_provisioning=100%",
];

/// Overlapping writes, trims, flushes and FUA, some under way at once, some never answered.
fn recorded(seed: u64) -> Recording {
    let mut stream = Stream::new(seed, "requests");
    let mut recording = Recording { before: vec![9; (SECTORS * 512) as usize], ..Recording::default() };
    let mut under_way = Vec::new();
    for number in 0..60 {
        let kind = match stream.below(10) {
            0 | 1 => OrderKind::Flush,
            2 => OrderKind::Trim,
            _ => OrderKind::Write,
        };
        let first = stream.below(SECTORS);
        let count = if kind == OrderKind::Flush { 0 } else { 1 + stream.below((SECTORS - first).min(6)) };
        let order = Order { kind, offset: first * 512, length: count as u32 * 512, fua: stream.chance(0.2) };
        let payload =
            if kind == OrderKind::Write { vec![number as u8 + 10; order.length as usize] } else { Vec::new() };
        recording.requests.push(Recorded { order, payload: payload.into() });
        recording.steps.push(Step::Asked(number));
        under_way.push(number);
        while under_way.len() > 3 || !under_way.is_empty() && stream.chance(0.5) {
            let one = under_way.swap_remove(stream.below(under_way.len() as u64) as usize);
            if one != 20 {
                recording.steps.push(Step::Answered(one)); // that one was refused
            }
        }
    }
    recording
}

/// All sectors after doing what a state says, one request after the other.
fn done_again(recording: &Recording, states: &States<'_>, state: &CrashState) -> Vec<u8> {
    let mut bytes = recording.before.clone();
    for (number, Recorded { order, payload }) in recording.requests.iter().enumerate() {
        let span = states.span(number);
        if span.asked > state.step || order.kind == OrderKind::Flush {
            continue;
        }
        let mut new = payload.to_vec();
        new.resize(order.length as usize, 0);
        let own = state.outcomes.iter().find(|(open, _)| *open == number);
        assert_eq!(own.is_some(), span.lasts > state.step, "what lasts has no outcome of its own, and all else has");
        let part = match own.map_or(Outcome::Kept, |(_, outcome)| *outcome) {
            Outcome::Kept => 0..new.len(),
            Outcome::Lost => 0..0,
            Outcome::Torn { first, sectors, bytes } => {
                let first = first as usize * 512;
                first..first + sectors as usize * 512 + bytes as usize
            }
        };
        let at = order.offset as usize;
        bytes[at + part.start..at + part.end].copy_from_slice(&new[part]);
    }
    bytes
}

#[test]
fn a_state_holds_what_its_requests_leave_one_after_the_other() {
    let mut torn = [0; 3];
    for seed in 0..20 {
        let recording = recorded(seed);
        for (_, _, guarantee) in Guarantee::TABLE {
            for lies in [&[][..], &[Lie::IgnoreFlush, Lie::TornSector], &[Lie::LateFlush, Lie::EarlyFua]] {
                let states = States::with_lies(&recording, guarantee, lies);
                for number in 0..400 {
                    let state = states.draw(seed, number);
                    for (_, outcome) in &state.outcomes {
                        if let Outcome::Torn { first, bytes, .. } = outcome {
                            torn[if *bytes > 0 { 2 } else { usize::from(*first > 0) }] += 1;
                        }
                    }
                    let wanted = done_again(&recording, &states, &state);
                    let image = states.image(&state);
                    for sector in 0..SECTORS {
                        let wanted = &wanted[sector as usize * 512..][..512];
                        assert!(
                            image.sector(sector) == Some(wanted),
                            "seed {seed}, {number}, sector {sector}: {state:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(
        torn.iter().all(|count| *count > 100),
        "requests are torn at their begin, their end and in a sector: {torn:?}"
    );
}

/// Two states that hold the same are checked once, and two that do not are both checked.
#[test]
fn states_are_taken_for_the_same_where_they_hold_the_same() {
    let recording = recorded(3);
    let states = States::new(&recording, Guarantee::AnyOrder);
    let limits = torture::Limits { seed: 1, first: 0, states: 3000, smaller: 0 };
    let mut seen = std::collections::HashSet::new();
    let found = torture::explore(&states, limits, &(), &mut |disk, _| {
        assert!(seen.insert(disk.to_bytes()), "the same bytes are checked again");
        Some(torture::Verdict::Holds)
    });
    let found = found.unwrap();
    let all: std::collections::HashSet<Vec<u8>> =
        (0..3000).map(|number| done_again(&recording, &states, &states.draw(1, number))).collect();
    assert_eq!((found.checked as usize, seen.len()), (all.len(), all.len()));
}

/// Whatever the number of states, each moment at which a promise begins or ends is among the first of them.
#[test]
fn every_edge_of_a_promise_is_cut_with_all_lost_and_with_all_kept() {
    for seed in 0..10 {
        let recording = recorded(seed);
        for (_, _, guarantee) in Guarantee::TABLE {
            let states = States::new(&recording, guarantee);
            let corners: Vec<CrashState> = (0..states.corners()).map(|number| states.draw(seed, number)).collect();
            let lasting = |number: &usize| {
                let order = recording.requests[*number].order;
                order.kind == OrderKind::Flush || order.fua
            };
            for number in (0..recording.requests.len()).filter(lasting) {
                let span = states.span(number);
                for step in [span.asked - 1, span.asked, span.answered.wrapping_sub(1), span.answered] {
                    let here: Vec<&CrashState> = corners.iter().filter(|state| state.step == step).collect();
                    let is_edge = step < recording.steps.len() + 1;
                    assert_eq!(here.len(), if is_edge { 2 } else { 0 }, "seed {seed}, request {number}, step {step}");
                    if guarantee == Guarantee::AnyOrder && is_edge && !here[0].outcomes.is_empty() {
                        let all = |state: &CrashState, wanted: Outcome| {
                            state.outcomes.iter().all(|(_, outcome)| *outcome == wanted)
                        };
                        assert!(here.iter().any(|state| all(state, Outcome::Lost)));
                        assert!(here.iter().any(|state| all(state, Outcome::Kept)));
                    }
                }
            }
        }
    }
}

#[test]
fn without_a_volatile_cache_no_state_misses_a_write_that_was_answered() {
    let (mut answered, mut missing) = (0, 0);
    for seed in 0..10 {
        let recording = recorded(seed);
        let [kept, any] = [Guarantee::Answered, Guarantee::AnyOrder].map(|promise| States::new(&recording, promise));
        let is_answered = |state: &CrashState, number: usize| {
            let is_write = recording.requests[number].order.kind == OrderKind::Write;
            is_write && kept.span(number).answered <= state.step
        };
        for number in 0..400 {
            let state = kept.draw(seed, number);
            missing += state.missing().count();
            assert!(state.missing().all(|(request, _)| !is_answered(&state, *request)), "seed {seed}: {state:?}");
            let state = any.draw(seed, number);
            answered += state.missing().filter(|(request, _)| is_answered(&state, *request)).count();
        }
    }
    assert!(missing > 100 && answered > 100, "{missing} under way, {answered} answered with a volatile cache");
}

/// Pages written in place, eight sectors each: whether some state has a page with parts of two writes.
#[test]
fn pages_are_torn_unless_the_drive_promises_that_they_are_not() {
    let torn = |settings: &[&str]| {
        let given = [&SMALL[..], settings].concat();
        let torture = torture::Torture::serving("page", &given).unwrap().states(300);
        let tried = torture.run(
            |disk| {
                (1..=4).try_for_each(|round| (0..4).try_for_each(|page| disk.write(page * 4096, &[round; 4096], false)))
            },
            |disk, _| {
                let mut bytes = [0; 4096];
                for page in 0..4 {
                    disk.read(page * 4096, &mut bytes).map_err(|error| format!("{error:?}"))?;
                    if bytes != [bytes[0]; 4096] {
                        return Err(format!("page {page} is torn"));
                    }
                }
                Ok(())
            },
        );
        tried.unwrap().exploration.found.is_some()
    };
    assert!(torn(&[]) && torn(&["drive.atomic=2KiB"]));
    assert!(!torn(&["drive.atomic=4KiB"]));
}
