//! What a timeline shows, slice by slice, against times worked out by hand.

use crate::rig::{US, at, fill, flash, plain, program, read, run};
use nand::{Choice, CommandOptions, Flash as _, RecorderPlan, Served, Slice, SuspendOption, TimedFlash, Work};
use units::{BlockId, Cause, HostOp, Nanos, Request};

/// All that happens from a moment on, as far as so many pieces are enough.
fn everything(begin: Nanos, most: usize) -> RecorderPlan {
    let window = Some([begin, Nanos::MAX]);
    RecorderPlan { window, most, closeups: Choice::Nobody, samples: false, host: 1, layers: 0 }
}

fn record(flash: &mut TimedFlash) -> Nanos {
    let begin = flash.now();
    flash.record(everything(begin, 100));
    begin
}

/// Track, what was done, and from when to when, us since the recording began.
fn slices(flash: &mut TimedFlash, begin: Nanos) -> Vec<(u16, Work, Nanos, Nanos)> {
    run(flash);
    let row = |slice: &Slice| (slice.track, slice.work, (slice.begin - begin) / US, (slice.end - begin) / US);
    let mut rows: Vec<_> = flash.take_recording().expect("it is recorded").slices.iter().map(row).collect();
    rows.sort_by_key(|row| (row.0, row.2));
    rows
}

/// Dies 0 and 2 share channel 0, which is track 4; track 6 has all commands, from when they were asked for.
#[test]
fn two_reads_and_a_program_on_one_channel_are_where_they_belong() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 2, 0, 1);
    let begin = record(&mut flash);
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(2, 0, 0), 8);
    program(&mut flash, at(0, 0, 1));
    let wanted = [
        (0, Work::Read, 0, 10),
        // Its data waits for the channel, which moves the page of die 2 meanwhile.
        (0, Work::Program, 25, 125),
        (2, Work::Read, 0, 10),
        (4, Work::DataOut, 10, 15),
        (4, Work::DataOut, 15, 20),
        (4, Work::DataIn, 20, 25),
        (6, Work::Read, 0, 15),
        (6, Work::Read, 0, 20),
        (6, Work::Program, 0, 125),
    ];
    assert_eq!(slices(&mut flash, begin), wanted);
}

/// Blocks 0 and 2 of a die are in different planes.
#[test]
fn what_planes_do_together_is_a_piece_for_each() {
    let mut flash = flash(CommandOptions { multi_plane: nand::MultiPlane::All, ..CommandOptions::default() });
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 0, 2, 1);
    let begin = record(&mut flash);
    flash.erase(0, BlockId(4), Cause::Gc); // of die 1, beside them
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(0, 0, 0), 7);
    read(&mut flash, at(0, 2, 0), 8);
    run(&mut flash);
    let recording = flash.take_recording().unwrap();
    let of_die = recording.slices.iter().filter(|slice| slice.track == 0);
    let row = |slice: &Slice| (slice.page, slice.is_beside, (slice.begin - begin) / US, (slice.end - begin) / US);
    let rows: Vec<_> = of_die.map(row).collect();
    let wanted =
        [(at(0, 1, 0).0, false, 0, 1000), (at(0, 0, 0).0, false, 1000, 1010), (at(0, 2, 0).0, true, 1000, 1010)];
    assert_eq!(rows, wanted);
}

#[test]
fn each_layer_has_a_track_and_all_others_one_together() {
    let mut flash = plain();
    let begin = flash.now();
    flash.record(RecorderPlan { layers: 2, ..everything(begin, 100) });
    for (block, owner) in [(1, u16::MAX), (5, u16::MAX - 1), (9, u16::MAX - 2), (13, 0)] {
        flash.erase(owner, BlockId(block), Cause::Gc);
    }
    flash.erase(u16::MAX, BlockId(2), Cause::Gc);
    let found = slices(&mut flash, begin);
    let of_layers: Vec<_> = found.into_iter().filter(|row| row.0 >= 6).collect();
    let erase = |track, end| (track, Work::Erase, 0, end);
    // The last one waits for the first, on the same die.
    assert_eq!(of_layers, [erase(6, 1000), erase(6, 2000), erase(7, 1000), erase(8, 1000), erase(8, 1000)]);
}

#[test]
fn an_erase_that_a_read_interrupts_is_two_pieces() {
    let mut flash = flash(CommandOptions {
        suspend: SuspendOption::ProgramErase,
        suspend_limit: 10,
        read_priority: true,
        ..CommandOptions::default()
    });
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 1, 0, 1);
    let begin = record(&mut flash);
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(1, 0, 0), 6);
    while flash.now() < begin + 15 * US {
        flash.step();
    }
    read(&mut flash, at(0, 0, 0), 7);
    let found = slices(&mut flash, begin);
    let of_die: Vec<_> = found.into_iter().filter(|row| row.0 == 0).collect();
    assert_eq!(of_die, [(0, Work::Erase, 0, 15), (0, Work::Read, 15, 25), (0, Work::Erase, 30, 1015)]);
}

/// What dies did adds up to the time they were busy, whatever the load.
#[test]
fn what_arrays_and_channels_did_is_the_busy_time_of_their_dies() {
    let mut flash = plain();
    for die in 0..4 {
        fill(&mut flash, die, 0, 3);
    }
    let busy: Vec<Nanos> = flash.die_busy_ns().collect();
    record(&mut flash);
    for die in 0..4 {
        for page in 0..3 {
            read(&mut flash, at(die, 0, page), page);
        }
        program(&mut flash, at(die, 0, 3));
        flash.erase(0, BlockId(die * 4 + 1), Cause::Gc);
    }
    run(&mut flash);
    let after: Vec<Nanos> = flash.die_busy_ns().collect();
    let recording = flash.take_recording().unwrap();
    for die in 0..4 {
        let array = recording.slices.iter().filter(|slice| u32::from(slice.track) == die);
        // Commands of a die come one after the other here: between array and array its page moves, or waits to.
        let (first, last) = (array.clone().map(|slice| slice.begin).min(), array.map(|slice| slice.end).max());
        let passed = last.unwrap() - first.unwrap();
        let die = die as usize;
        assert_eq!(after[die] - busy[die], passed, "die {die}");
    }
    assert!(!recording.is_cut_short);
}

#[test]
fn a_window_is_kept_and_no_more_than_asked_for() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    let begin = flash.now();
    flash.record(RecorderPlan { window: Some([begin, begin + 12 * US]), ..everything(begin, 100) });
    for number in 0..20 {
        read(&mut flash, at(0, 0, 0), number);
    }
    run(&mut flash);
    let recording = flash.take_recording().unwrap();
    let (done, asked): (Vec<&Slice>, Vec<&Slice>) = recording.slices.iter().partition(|slice| slice.track < 6);
    let works: Vec<Work> = done.iter().map(|slice| slice.work).collect();
    assert_eq!(works, [Work::Read, Work::DataOut], "one has begun when the window ends");
    assert_eq!(asked.len(), 20, "all were asked for within it");
    flash.record(everything(0, 3));
    for number in 0..20 {
        read(&mut flash, at(0, 0, 0), number);
    }
    run(&mut flash);
    let recording = flash.take_recording().unwrap();
    assert!(recording.slices.len() == 3 && recording.is_cut_short);
}

/// Nothing is followed until shortly before a window: a long run with a short one is as fast as without.
#[test]
fn what_began_long_before_a_window_is_drawn_from_shortly_before_it() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    let begin = flash.now();
    let from = begin + 150_000 * US;
    flash.record(RecorderPlan { window: Some([from, from + 15 * US]), ..everything(begin, 100_000) });
    // One after the other, 15 us each: all wait from the beginning, and the window is that of one of them.
    for number in 0..20_000 {
        read(&mut flash, at(0, 0, 0), number);
    }
    let found = slices(&mut flash, begin);
    let [on_die, waiting]: [Vec<_>; 2] = [0, 6].map(|track| found.iter().filter(|row| row.0 == track).collect());
    assert_eq!(on_die, [&(0, Work::Read, 150_000, 150_010)]);
    let (since, until) = (50_000, 250_015);
    let ends: Vec<Nanos> = waiting.iter().map(|row| row.3).collect();
    assert!(waiting.iter().all(|row| row.2 == since), "all were asked for before that");
    assert!(ends.contains(&150_015) && ends.iter().all(|end| (150_000..until).contains(end)), "{ends:?}");
}

/// What die 0 is occupied by while the last of four commands waits and is served.
#[test]
fn what_occupies_a_die_is_what_its_commands_are_charged_for() {
    let mut flash = plain();
    fill(&mut flash, 0, 0, 1);
    fill(&mut flash, 1, 0, 1);
    let begin = flash.now();
    flash.record(RecorderPlan { window: None, most: 0, closeups: Choice::Nobody, samples: true, host: 0, layers: 0 });
    program(&mut flash, at(0, 0, 1));
    flash.erase(0, BlockId(1), Cause::Gc);
    read(&mut flash, at(1, 0, 0), 6);
    read(&mut flash, at(0, 0, 0), 7);
    run(&mut flash);
    let end = flash.now();
    let request = Request { op: HostOp::Read, arrival: begin, first_sector: 0, sectors: 8, fua: false };
    let recorder = flash.recorder().unwrap();
    assert!(recorder.wants_request(HostOp::Read, begin, end), "the first of its kind");
    let served = Served { number: 7, request, end, waited: None, queue_ns: 0 };
    recorder.serve(served);
    let recording = flash.take_recording().unwrap();
    let [closeup] = recording.samples.as_slice() else { panic!("{:?}", recording.samples) };
    let row = |slice: &Slice| {
        let own = slice.request == 7;
        (slice.track, slice.work, slice.cause, (slice.begin - begin) / US, (slice.end - begin) / US, own)
    };
    let rows: Vec<_> = closeup.slices.iter().map(row).collect();
    let wanted = [
        // The page moves in 5 us, and is programmed in 100.
        (0, Work::Program, Cause::Host, 0, 105, false),
        (0, Work::Erase, Cause::Gc, 105, 1105, false),
        (0, Work::Read, Cause::Host, 1105, 1120, true),
    ];
    assert_eq!(rows, wanted, "and nothing of die 1, which it did not use");
    assert!(!closeup.is_cut_short && recording.slices.is_empty());
}
