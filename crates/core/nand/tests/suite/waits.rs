//! Who was in the way: waiting by direct blocker and by root cause, and that both sum to the time waited.

use crate::rig::{PAGES, US, at, fill, flash, plain, program, program_after, read, read_for, run, waits};
use nand::{CommandOptions, Event, Flash, SuspendOption, TimedFlash};
use proptest::prelude::*;
use std::collections::HashMap;
use units::{BlockId, Cause, Nanos, Wait};

const HOST: Wait = Wait::Cause(Cause::Host);
const GC: Wait = Wait::Cause(Cause::Gc);

#[test]
fn waiting_is_charged_to_the_command_in_the_way_and_to_its_root() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 2);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(0, 0, 1), 8);
    let wait = waits(&mut flash.clone(), 7).expect("it waited");
    assert_eq!((wait.direct(GC), wait.direct(HOST)), (1000 * US, 0));
    let wait = waits(&mut flash, 8).expect("it waited");
    assert_eq!((wait.direct(GC), wait.direct(HOST)), (1000 * US, 15 * US));
    assert_eq!((wait.root(GC), wait.root(HOST)), (1015 * US, 0), "a host read behind gc is gc");
}

#[test]
fn only_host_commands_inherit_a_root() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 2);
    program(&mut flash, at(0, 0, 2));
    read_for(&mut flash, at(0, 0, 0), Cause::Gc, 7);
    read(&mut flash, at(0, 0, 1), 8);
    let wait = waits(&mut flash, 8).expect("it waited");
    assert_eq!((wait.direct(HOST), wait.direct(GC)), (105 * US, 15 * US));
    assert_eq!((wait.root(HOST), wait.root(GC)), (105 * US, 15 * US), "the collection is not the host's");
}

#[test]
fn waiting_for_the_channel_is_charged_to_the_bus() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 2, 0, 1);
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(2, 0, 0), 8);
    let wait = waits(&mut flash, 8).expect("it waited");
    assert_eq!(wait.direct(Wait::Bus), 5 * US);
    assert_eq!(wait.total(), 5 * US);
}

#[test]
fn an_idle_read_waits_for_nothing() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    read(&mut flash, at(0, 0, 0), 7);
    assert!(waits(&mut flash, 7).is_none());
}

#[test]
fn a_read_that_waits_for_its_page_waits_for_the_cause_of_the_program() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    read(&mut flash, at(0, 0, 0), 7);
    let wait = waits(&mut flash, 7).expect("it waited");
    assert_eq!((wait.direct(HOST), wait.total()), (210 * US, 210 * US));
}

#[test]
fn dies_are_busy_for_what_they_did() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(1, 0, 0));
    flash.erase(0, BlockId(5), Cause::Gc);
    run(&mut flash);
    assert_eq!(flash.die_busy_ns().collect::<Vec<_>>(), [105 * US, 1105 * US, 0, 0]);
}

/// What is issued, and how many events pass before the next.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Read { die: u32, page: u32, cause: Cause },
    Program(u32),
    Erase(u32),
    Wait(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let cause = prop_oneof![Just(Cause::Host), Just(Cause::Gc), Just(Cause::Parity)];
    let read = (0..4_u32, 0..PAGES, cause).prop_map(|(die, page, cause)| Deed::Read { die, page, cause });
    let deed = prop_oneof![
        4 => read,
        1 => (0..4_u32).prop_map(Deed::Program),
        1 => (0..4_u32).prop_map(Deed::Erase),
        2 => (1..6_u8).prop_map(Deed::Wait),
    ];
    proptest::collection::vec(deed, 1..60)
}

fn hear(flash: &mut TimedFlash, issued: &HashMap<u32, Nanos>) -> usize {
    let (now, mut heard) = (flash.now(), 0);
    let state = flash.state_mut();
    for (_, event) in std::mem::take(&mut state.events) {
        let Event::Joined { token, wait, .. } = event else { continue };
        let waited = now - issued[&token] - 15 * US;
        let sums = wait.map_or([0; 2], |at| [0, 1].map(|lane| state.memory.waits[at].total_of(lane)));
        assert_eq!(sums, [waited; 2], "read {token} took {} ns", now - issued[&token]);
        heard += 1;
    }
    state.memory.waits.clear();
    heard
}

proptest! {
    #[test]
    fn waits_by_direct_blocker_and_by_root_both_sum_to_the_time_waited(deeds in deeds(), suspend in 0..3_usize) {
        let suspend = [SuspendOption::Off, SuspendOption::Erase, SuspendOption::ProgramErase][suspend];
        let options = CommandOptions { suspend, suspend_ns: 3 * US, ..CommandOptions::default() };
        let mut flash = flash(options);
        for die in 0..4 {
        fill(&mut flash, die, 0, PAGES);
    }
        let (mut issued, mut heard, mut programs, mut erasing) = (HashMap::new(), 0, [0; 4], [false; 4]);
        for deed in deeds {
            match deed {
                Deed::Read { die, page, cause } => {
                    let token = issued.len() as u32;
                    issued.insert(token, flash.now());
                    read_for(&mut flash, at(die, 0, page), cause, token);
                }
                Deed::Program(die) if programs[die as usize] < PAGES => {
                    program(&mut flash, at(die, 1, programs[die as usize]));
                    programs[die as usize] += 1;
                }
                Deed::Erase(die) if !erasing[die as usize] => {
                    flash.erase(0, BlockId(die * 4 + 2), Cause::Gc);
                    erasing[die as usize] = true;
                }
                Deed::Wait(events) => {
                    for _ in 0..events {
                        flash.step();
                        heard += hear(&mut flash, &issued);
                    }
                }
                _ => {}
            }
        }
        while flash.step() {
            heard += hear(&mut flash, &issued);
        }
        prop_assert_eq!(heard, issued.len());
    }
}
