//! A read that is all of an operation ends as a join of this one read does.

use crate::rig::{at, fill, flash, issue, part_of, program};
use nand::{
    Awaits, Cancel, Closed, CommandOptions, Event, Flash, Operation, Owner, PayloadId, Read, TimedFlash, Token,
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
    let mut seen = Vec::new();
    while flash.advance() {
        let now = flash.now();
        let state = flash.state_mut();
        for (owner, event) in state.events.drain(..) {
            if let Event::Joined { token, failed, wait } = event {
                let waited = wait.map(|wait| [0, 1].map(|by| state.memory.waits[wait].total_of(by)));
                seen.push((now, owner, token, failed, waited));
            }
        }
    }
    seen
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
