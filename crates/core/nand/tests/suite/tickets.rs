//! Tickets: commands that are issued late stand where they would have stood if they had been issued early.

use crate::rig::{US, at, fill, joined, plain, program, programmed, read, run, time_of};
use nand::{Event, Flash, Ticket, TimedFlash};
use units::Ppn;

fn with_ticket(flash: &mut TimedFlash, ticket: Ticket, page: Ppn) {
    flash.show_ticket(Some(ticket));
    program(flash, page);
    flash.show_ticket(None);
}

/// The times at which the programs of these pages end, us.
fn ends(flash: &mut TimedFlash, pages: [Ppn; 5]) -> [u64; 5] {
    let seen = run(flash);
    pages.map(|page| time_of(&seen, programmed(page)) / US)
}

#[test]
fn a_program_with_a_ticket_stands_before_what_came_after_the_ticket_was_taken() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(0, 0, 1));
    let [first, second] = [flash.take_ticket(), flash.take_ticket()];
    program(&mut flash, at(0, 1, 0));
    with_ticket(&mut flash, second, at(0, 2, 0));
    with_ticket(&mut flash, first, at(0, 3, 0));
    let order = [at(0, 0, 0), at(0, 0, 1), at(0, 3, 0), at(0, 2, 0), at(0, 1, 0)];
    assert_eq!(ends(&mut flash, order), [105, 210, 315, 420, 525]);
}

#[test]
fn programs_of_a_block_stay_in_order_whatever_their_tickets_are() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    let ticket = flash.take_ticket();
    for page in [at(0, 2, 0), at(0, 1, 0), at(0, 3, 0)] {
        program(&mut flash, page);
    }
    with_ticket(&mut flash, ticket, at(0, 1, 1));
    let order = [at(0, 0, 0), at(0, 2, 0), at(0, 1, 0), at(0, 1, 1), at(0, 3, 0)];
    assert_eq!(ends(&mut flash, order), [105, 210, 315, 420, 525]);
}

/// The program is issued when the read has ended, at that very moment; the other read was there long before.
#[test]
fn nothing_begins_between_the_steps_of_a_ticket_unless_the_next_step_is_late() {
    for late in [false, true] {
        let mut flash = plain();
        let begun = fill(&mut flash, 0, 0, 1);
        let ticket = flash.take_ticket();
        flash.show_ticket(Some(ticket));
        read(&mut flash, at(0, 0, 0), 1);
        flash.show_ticket(None);
        read(&mut flash, at(0, 0, 0), 2);
        read(&mut flash, at(0, 0, 0), 3);
        let ended = |flash: &mut TimedFlash, token| {
            while flash.advance() && !flash.state_mut().events.drain(..).any(|(_, event)| joined(token)(&event)) {}
        };
        ended(&mut flash, if late { 2 } else { 1 });
        with_ticket(&mut flash, ticket, at(0, 0, 1));
        let seen: Vec<_> = run(&mut flash).into_iter().map(|(time, event)| ((time - begun) / US, event)).collect();
        let at_time = |wanted: &dyn Fn(&Event) -> bool| seen.iter().find(|(_, event)| wanted(event)).map(|seen| seen.0);
        let [program, third] = [at_time(&programmed(at(0, 0, 1))), at_time(&joined(3))];
        // A read takes 15 us, a program 105. Nobody waits for a step that is late, but the next one that begins.
        let expected = if late { [Some(150), Some(45)] } else { [Some(120), Some(150)] };
        assert_eq!([program, third], expected, "late: {late}");
    }
}
