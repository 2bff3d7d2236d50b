//! A command that is all of an operation ends as a join of this one command does.

use crate::rig::{at, command, fill, flash, issue, part_of, program};
use nand::{
    Awaits, Cancel, Closed, CommandOptions, Completion, Event, FaultPlan, Flash, Operation, Owner, PageProgram,
    PayloadId, Read, TimedFlash, Token,
};
use units::{Cause, DieId, Nanos, Ppn};

const LAYER: Owner = 7;

type Ask = fn(&mut TimedFlash, Ppn, Token) -> Closed;

fn alone(flash: &mut TimedFlash, page: Ppn, token: Token) -> Closed {
    let read = Read { page, cause: Cause::Host, sectors: 1, payload: PayloadId::NONE, completion: None, after: None };
    flash.read_alone(0, Operation { owner: LAYER, token }, read)
}

fn in_a_join(flash: &mut TimedFlash, page: Ppn, token: Token) -> Closed {
    let join = flash.open(LAYER, token, Cancel::Never);
    flash.read(0, part_of(join, page, Cause::Host));
    flash.close(join, Awaits::Commands)
}

/// An operation that ended: when, whose, whether it failed, and its waiting by direct blocker and by root.
type Ended = (Nanos, Owner, Token, bool, Option<[Nanos; 2]>);

/// Reads behind a program, of its page, and behind each other; `dies`: the die fails meanwhile.
fn ends(options: CommandOptions, ask: Ask, dies: bool) -> Vec<Ended> {
    let mut flash = flash(CommandOptions { tells_waits: true, ..options });
    fill(&mut flash, 0, 0, 3);
    let written = program(&mut flash, at(0, 1, 0));
    let pages = [at(0, 0, 0), at(0, 1, 0), at(0, 0, 2), at(2, 0, 0)];
    issue(&mut flash, nand::PageProgram { after: Some(written), ..crate::rig::command(at(2, 0, 0)) });
    for (token, page) in (0..).zip(pages) {
        assert_eq!(ask(&mut flash, page, token), Closed::Pending);
    }
    if dies {
        flash.state_mut().kill_die(DieId(0));
    }
    run(&mut flash, false)
}

/// Runs to the end. `again`: nothing fails any more when a program has failed, and the program is issued again in a
/// spare block.
fn run(flash: &mut TimedFlash, again: bool) -> Vec<Ended> {
    let (mut seen, mut spare) = (Vec::new(), 0);
    while flash.advance() {
        let now = flash.now();
        for (owner, event) in std::mem::take(&mut flash.state_mut().events) {
            match event {
                Event::Joined { token, failed, wait } => {
                    let waits = &flash.state().memory.waits;
                    let waited = wait.map(|wait| [0, 1].map(|by| waits[wait].total_of(by)));
                    seen.push((now, owner, token, failed, waited));
                }
                Event::ProgramFailed(id) if again => {
                    assert_eq!(owner, 0, "the unit that issued it hears of it");
                    flash.state_mut().set_faults(FaultPlan::default(), 1);
                    flash.place_again(id, at(1, 3, spare));
                    spare += 1;
                }
                _ => {}
            }
        }
    }
    seen
}

/// A way to program a page as all of an operation.
type Write = fn(&mut TimedFlash, Owner, PageProgram, Token) -> Closed;

fn program_alone(flash: &mut TimedFlash, owner: Owner, command: PageProgram, token: Token) -> Closed {
    flash.program_alone(0, Operation { owner, token }, command)
}

fn program_in_a_join(flash: &mut TimedFlash, owner: Owner, command: PageProgram, token: Token) -> Closed {
    let join = flash.open(owner, token, Cancel::Never);
    flash.program(0, PageProgram { completion: Completion::Join(join), ..command });
    flash.close(join, Awaits::Commands)
}

/// Programs behind each other, over a page, and after a read. `fail`: the first one that ends fails, and the others of
/// its block go back.
fn program_ends(options: CommandOptions, owner: Owner, write: Write, fail: bool) -> Vec<Ended> {
    let mut flash = flash(CommandOptions { tells_waits: true, ..options });
    fill(&mut flash, 0, 0, 3);
    if fail {
        flash.state_mut().set_faults(FaultPlan { program: 1.0, ..FaultPlan::default() }, 1);
    }
    let over = PageProgram { supersedes: Some(at(0, 0, 1)), ..command(at(0, 1, 1)) };
    let before = flash.read(0, crate::rig::silent_read(at(0, 0, 0))).pending();
    let after = PageProgram { after: before, ..command(at(2, 0, 0)) };
    for (token, command) in (0..).zip([command(at(0, 1, 0)), over, after, command(at(1, 0, 0))]) {
        assert_eq!(write(&mut flash, owner, command, token), Closed::Pending);
    }
    run(&mut flash, true)
}

#[test]
fn a_program_alone_ends_when_and_as_its_join_would() {
    let beside = CommandOptions { cache_program: true, ..CommandOptions::default() };
    // The highest owner, the lowest one that a program has a place for, and one that takes a join.
    for owner in [Owner::MAX, Owner::MAX - 255, Owner::MAX - 256] {
        for options in [CommandOptions::default(), beside] {
            for fail in [false, true] {
                let joined = program_ends(options, owner, program_in_a_join, fail);
                assert_eq!(joined.len(), 4, "{joined:?}");
                assert!(joined.iter().all(|(_, of, ..)| *of == owner), "{joined:?}");
                assert!(joined.iter().any(|(.., waited)| waited.is_some_and(|[direct, _]| direct > 0)), "{joined:?}");
                assert_eq!(program_ends(options, owner, program_alone, fail), joined);
            }
        }
    }
}

#[test]
fn a_read_alone_ends_when_and_as_its_join_would() {
    let urgent = CommandOptions { read_priority: true, ..CommandOptions::default() };
    for options in [CommandOptions::default(), urgent] {
        for dies in [false, true] {
            let joined = ends(options, in_a_join, dies);
            assert_eq!(joined.len(), 4, "{joined:?}");
            assert!(joined.iter().any(|(_, _, _, failed, _)| *failed) == dies, "{joined:?}");
            assert!(joined.iter().any(|(.., waited)| waited.is_some_and(|[direct, _]| direct > 0)), "{joined:?}");
            assert_eq!(ends(options, alone, dies), joined);
        }
    }
}
