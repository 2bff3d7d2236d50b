//! Times: what one command costs is the sum of its data sheet, and what overlaps does so as the options say.

use crate::rig::{
    PART, US, at, copy, erased, fill, flash, joined, part_of, plain, program, program_after, programmed, read, run,
    time_of,
};
use nand::{
    Awaits, Cancel, CommandCycles, CommandOptions, ContentsKind, CopyWay, Counters, Event, Flash, FlashState, Part,
    Read, TimedFlash,
};
use proptest::prelude::*;
use units::{BlockId, Cause, DieId, Geometry, Nanos, Ppn, Shape};

#[test]
fn an_idle_read_costs_array_time_plus_transfer() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 1);
    read(&mut flash, at(0, 0, 0), 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)) - start, 15 * US);
}

#[test]
fn an_idle_program_costs_transfer_plus_array_time_and_an_erase_its_own() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    flash.erase(0, BlockId(2), Cause::Gc);
    let seen = run(&mut flash);
    assert_eq!((time_of(&seen, programmed(at(0, 0, 0))), time_of(&seen, erased)), (105 * US, 1105 * US));
}

#[test]
fn command_cycles_belong_to_the_die_of_a_read_or_erase_and_to_the_channel_of_a_program() {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 2,
        planes_per_die: 1,
        blocks_per_die: 4,
        pages_per_block: 4,
        page_bytes: 512,
    };
    let state = FlashState::new(Geometry::new(shape).expect("a valid shape"), ContentsKind::None);
    let part = Part { command_ns: 2 * US, ..PART };
    let mut flash = TimedFlash::new(state, part, CommandOptions::default(), 0);
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(1, 0, 0));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 0, 0))), (2 + 5 + 100) * US);
    assert_eq!(time_of(&seen, programmed(at(1, 0, 0))), (2 * (2 + 5) + 100) * US, "the channel was busy for both");
    let start = flash.now();
    read(&mut flash, at(0, 0, 0), 7);
    assert_eq!(time_of(&run(&mut flash), joined(7)) - start, (2 + 10 + 5) * US);
    let start = flash.now();
    flash.erase(0, BlockId(0), Cause::Gc);
    assert_eq!(time_of(&run(&mut flash), erased) - start, (2 + 1000) * US);
}

#[test]
fn a_read_moves_the_sectors_asked_for_and_no_others() {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_die: 4,
        pages_per_block: 4,
        page_bytes: 4096,
    };
    let state = FlashState::new(Geometry::new(shape).expect("a valid shape"), ContentsKind::None);
    let mut flash = TimedFlash::new(state, PART, CommandOptions::default(), 0);
    assert_eq!(fill(&mut flash, 0, 0, 1), (8 * 5 + 100) * US);
    for sectors in 0..=8 {
        let start = flash.now();
        let join = flash.open(0, 7, Cancel::Never);
        flash.read(0, Read { sectors, ..part_of(join, at(0, 0, 0), Cause::Host) });
        flash.close(join, Awaits::Commands);
        assert_eq!(time_of(&run(&mut flash), joined(7)) - start, (10 + 5 * u64::from(sectors)) * US);
    }
}

#[test]
fn a_transfer_is_rounded_up_and_goes_over_channels_side_by_side() {
    let part = |bus_bytes_per_second, side_by_side| Part { bus_bytes_per_second, side_by_side, ..PART };
    assert_eq!(part(3_000_000_000, (1, 512)).transfer_ns(512), 171);
    assert_eq!(part(0, (1, 512)).transfer_ns(1 << 20), 0);
    let two = part(1_000_000_000, (2, 1024));
    assert_eq!([512, 1024, 1536, 2048, 3072].map(|bytes| two.transfer_ns(bytes)), [512, 1024, 1024, 1024, 2048]);
}

#[test]
fn dies_of_a_channel_move_one_at_a_time_and_work_together() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    program(&mut flash, at(2, 0, 0)); // on the same channel
    program(&mut flash, at(1, 0, 0)); // on the other one
    let seen = run(&mut flash);
    let end = |die| time_of(&seen, programmed(at(die, 0, 0)));
    assert_eq!([end(0), end(2), end(1)], [105 * US, 110 * US, 105 * US]);
}

#[test]
fn cache_programs_hide_the_transfer_and_cache_reads_hide_the_array_or_the_channel() {
    let mut flash = flash(CommandOptions { cache_program: true, cache_read: true, ..CommandOptions::default() });
    let start = fill(&mut flash, 0, 0, 4);
    assert_eq!(start, (5 + 4 * 100) * US);
    for page in 0..4 {
        read(&mut flash, at(0, 0, page), page);
    }
    assert_eq!(time_of(&run(&mut flash), joined(3)) - start, (4 * 10 + 5) * US);
}

#[test]
fn a_copy_over_the_channel_costs_a_read_of_the_page_and_a_program_and_waits_for_a_page_in_flight() {
    let mut flash = plain();
    program(&mut flash, at(0, 0, 0));
    flash.copy(0, copy(at(0, 0, 0), at(1, 0, 0), CopyWay::Channel));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(1, 0, 0))), (105 + 15 + 105) * US);
    let counters = &flash.state().counters;
    let gc = Cause::Gc.index();
    assert_eq!((counters.reads[gc], counters.programs[gc]), (1, 1));
}

#[test]
fn a_copy_inside_its_plane_waits_for_a_page_in_flight_as_well() {
    let mut flash = plain();
    let slow = program(&mut flash, at(1, 0, 0));
    program_after(&mut flash, at(0, 0, 0), slow);
    flash.copy(0, copy(at(0, 0, 0), at(0, 1, 0), CopyWay::Plane));
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, programmed(at(0, 1, 0))), (105 + 105 + 110) * US);
    assert_eq!([0, 1].map(|block| flash.state().block(BlockId(block)).pins()), [0, 0]);
}

#[test]
fn a_copy_inside_its_plane_leaves_the_channel_free() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    let start = fill(&mut flash, 2, 0, 1); // dies 0 and 2 share channel 0
    flash.copy(0, copy(at(0, 0, 0), at(0, 1, 0), CopyWay::Plane));
    read(&mut flash, at(2, 0, 0), 7);
    let seen = run(&mut flash);
    assert_eq!(time_of(&seen, joined(7)) - start, 15 * US);
    assert_eq!(time_of(&seen, |event| matches!(event, Event::Notified { .. })) - start, 110 * US);
}

#[test]
fn saturated_dies_reach_their_ceiling() {
    let mut flash = plain();
    let start = (0..4).map(|die| fill(&mut flash, die, 0, 1)).max().expect("four dies");
    for number in 0..4000 {
        read(&mut flash, at(number % 4, 0, 0), number);
    }
    run(&mut flash);
    // Four dies at 10 + 5 us a read; both channels have time to spare.
    assert_eq!(flash.now() - start, (1000 * 15 + 5) * US);
    let busy: Vec<Nanos> = flash.die_busy_ns().collect();
    assert_eq!(busy.iter().map(|busy| busy - 105 * US).collect::<Vec<_>>()[0], 1000 * 15 * US);
}

#[test]
fn work_left_out_of_account_takes_no_time_and_counts() {
    let mut flash = plain();
    flash.set_instant(true);
    assert_eq!(fill(&mut flash, 0, 0, 4), 0);
    flash.erase(0, BlockId(0), Cause::Gc);
    assert_eq!(time_of(&run(&mut flash), erased), 0);
    flash.set_instant(false);
    assert_eq!(fill(&mut flash, 0, 0, 1), 105 * US);
    assert_eq!(Counters::total(&flash.state().counters.programs), 5);
}

#[test]
fn a_timer_tells_its_number_at_its_time_unless_it_is_disarmed() {
    let state = plain().into_state();
    let mut flash = TimedFlash::new(state, PART, CommandOptions::default(), 3);
    flash.set_timer(2, Some(70));
    flash.set_timer(1, Some(50));
    flash.set_timer(1, None);
    flash.set_timer(0, Some(90));
    assert_eq!(run(&mut flash), [(70, Event::Timer { timer: 2 }), (90, Event::Timer { timer: 0 })]);
}

#[test]
fn the_backlog_counts_what_is_on_the_die_and_in_its_queue_and_whose_it_is() {
    let mut flash = plain();
    let start = fill(&mut flash, 0, 0, 2);
    assert_eq!(flash.backlog(DieId(0)).commands, 0);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(1, 0, 0), 8); // its page is not programmed: it waits beside the queue
    program(&mut flash, at(0, 0, 2));
    let backlog = flash.backlog(DieId(0));
    assert_eq!((backlog.commands, backlog.cleaning), (3, 1));
    assert_eq!(flash.backlog(DieId(1)).commands, 0);
    assert_eq!(start + flash.backlog_ns(DieId(0)), start + (1000 + 15 + 105) * US);
}

/// Reads, programs and erases of one die: what, and how long after the command before it is issued.
fn work() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0..3_u8, 0..4_u8), 1..12)
}

proptest! {
    #[test]
    fn a_die_alone_on_its_channel_is_done_when_its_backlog_says(work in work()) {
        let mut flash = plain();
        fill(&mut flash, 0, 3, 4);
        let (mut page, mut block) = (0, 1);
        for (what, events) in work {
            match what {
                0 => {
 read(&mut flash, at(0, 3, u32::from(events)), 7);
}
                1 if page < 4 => {
                    program(&mut flash, at(0, 0, page));
                    page += 1;
                }
                _ if block < 3 => {
                    flash.erase(0, BlockId(block), Cause::Gc);
                    block += 1;
                }
                _ => {}
            }
            for _ in 0..events {
                flash.step();
            }
            let end = flash.now() + flash.backlog_ns(DieId(0));
            let mut rest = flash.clone();
            run(&mut rest);
            prop_assert_eq!(rest.now(), end);
        }
    }

    #[test]
    fn commands_one_at_a_time_cost_what_the_meter_says(work in work()) {
        let mut flash = plain();
        let meter = nand::ServiceMeter::new(&PART, flash.state());
        let mut counted = nand::MeteredFlash::with_meter(flash.state().clone(), meter);
        for page in 0..4 {
            program(&mut flash, at(0, 3, page));
            counted.program(0, crate::rig::command(at(0, 3, page)));
        }
        let (mut page, mut block) = (0, 1);
        run(&mut flash);
        for (what, number) in work {
            match what {
                0 => {
                    let page = at(0, 3, u32::from(number));
                    read(&mut flash, page, 7);
                    let join = counted.open(0, 7, Cancel::Never);
                    counted.read(0, part_of(join, page, Cause::Host));
                }
                1 if page < 4 => {
                    program(&mut flash, at(0, 0, page));
                    counted.program(0, crate::rig::command(at(0, 0, page)));
                    page += 1;
                }
                _ if block < 3 => {
                    flash.erase(0, BlockId(block), Cause::Gc);
                    counted.erase(0, BlockId(block), Cause::Gc);
                    block += 1;
                }
                _ => {}
            }
            run(&mut flash);
        }
        let mut spans = Vec::new();
        counted.meter_mut().take(&mut spans);
        prop_assert_eq!(spans.iter().map(|span| span.time).sum::<Nanos>(), flash.now());
    }
}

/// The time of a read on one channel with a die that is sent a program and another die whose program waits for it.
fn read_beside_programs(cycles: CommandCycles) -> Nanos {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 3,
        planes_per_die: 1,
        blocks_per_die: 1,
        pages_per_block: 4,
        page_bytes: 512,
    };
    let state = FlashState::new(Geometry::new(shape).expect("a valid shape"), ContentsKind::None);
    let options = CommandOptions { command_cycles: cycles, ..CommandOptions::default() };
    let mut flash = TimedFlash::new(state, Part { command_ns: 2 * US, ..PART }, options, 0);
    program(&mut flash, Ppn(8));
    run(&mut flash);
    let start = flash.now();
    program(&mut flash, Ppn(0));
    program(&mut flash, Ppn(4));
    read(&mut flash, Ppn(8), 7);
    (time_of(&run(&mut flash), joined(7)) - start) / US
}

#[test]
fn commands_take_the_channel_in_turn_or_first_where_they_take_it() {
    // Programs move until 7 and 14 us; the read takes 10 us in its array and 5 us to move.
    assert_eq!(read_beside_programs(CommandCycles::Die), 14 + 5, "its array works meanwhile");
    assert_eq!(read_beside_programs(CommandCycles::Channel), 14 + 2 + 10 + 5);
    assert_eq!(read_beside_programs(CommandCycles::ChannelFirst), 7 + 2 + 10 + 5);
}

#[test]
fn pages_of_a_staircase_take_the_times_of_their_place_in_the_word_line() {
    let times = nand::PageTimes::new(&[1, 2, 3]).unwrap();
    let of = |times: nand::PageTimes| (0..12).map(|page| times.at(page)).collect::<Vec<_>>();
    assert_eq!(of(times), [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
    // Lower 0, lower 1, middle 0, lower 2, middle 1, upper 0, lower 3, middle 2, upper 1, middle 3, upper 2, upper 3.
    assert_eq!(of(times.in_staircase(12)), [1, 1, 2, 1, 2, 3, 1, 2, 3, 2, 3, 3]);
    let two = nand::PageTimes::new(&[1, 2]).unwrap().in_staircase(8);
    assert_eq!((0..8).map(|page| two.at(page)).collect::<Vec<_>>(), [1, 1, 2, 1, 2, 1, 2, 2]);
}
