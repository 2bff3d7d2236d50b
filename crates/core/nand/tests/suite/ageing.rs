//! Cells that err: the rate as published, repetitions as the code needs them, and what they cost.

use crate::rig::{
    PAGES, PART, US, at, command, copy, counted_stamps, erased, fill, joined, plain, read, read_for, run, silent_read,
    time_of, waits,
};
use engine::random::Stream;
use nand::{
    AgeingOptions, Awaits, Closed, ContentsKind, CopyWay, Correction, CountedFlash, Counters, ErrorRate, Event, Flash,
    FlashState, PageKind, RefreshLimits, TimedFlash, lost_share,
};
use units::{BlockId, Cause, Geometry, HOUR, Ppn, Shape, Wait};

/// 72-layer TLC, as published.
const TLC: ErrorRate = ErrorRate {
    floor: 1.48e-3,
    wear: [3.9e-10, 2.05],
    retention: [6.28e-5, 0.14, 0.54],
    disturb: [3.73e-9, 0.33, 1.71],
};

/// A floor alone, which brings `errors` to a codeword of 512 bytes.
fn floor(errors: f64) -> ErrorRate {
    ErrorRate { floor: errors / 4096.0, wear: [0.0, 1.0], retention: [0.0, 0.0, 1.0], disturb: [0.0, 0.0, 1.0] }
}

fn options(rate: ErrorRate) -> AgeingOptions {
    AgeingOptions {
        rate,
        correction: Correction { codeword_bytes: 512, bits: 40, retries: 20, gain: 0.5, decode_ns: 7 * US },
        refresh: RefreshLimits::default(),
        data_age_ns: 0,
    }
}

fn erring(options: AgeingOptions) -> TimedFlash {
    let mut flash = plain();
    flash.state_mut().let_err(options, 512, 1);
    flash
}

fn retries(flash: &impl Flash) -> u64 {
    flash.state().counters.reads[Cause::Retry.index()]
}

#[test]
fn the_error_rate_of_worn_old_and_disturbed_cells_is_the_published_one() {
    // Worked out apart from this program from the same coefficients.
    for (erases, hours, reads, rate) in [
        (0.0, 0.0, 0.0, 1.48e-3),
        (1.0, 2160.0, 0.0, 5.447_94e-3),
        (1000.0, 0.0, 0.0, 2.030_89e-3),
        (1000.0, 1000.0, 0.0, 8.916_773e-3),
        (1000.0, 0.0, 100.0, 2.126_765e-3),
        (3000.0, 2000.0, 500.0, 2.055_42e-2),
    ] {
        assert!((TLC.at(erases, hours, reads) / rate - 1.0).abs() < 1e-5, "{erases} erases, {hours} h, {reads} reads");
    }
}

/// A new drive that was read after a year needed no repetition, as nothing was erased and zero has no power but zero.
#[test]
fn cells_that_were_never_erased_lose_charge_and_are_disturbed() {
    for (hours, reads) in [(2160.0, 0.0), (0.0, 1e5)] {
        let [new, once] = [0.0, 1.0].map(|erases| TLC.at(erases, hours, reads));
        assert!(new > 1.5 * TLC.floor, "{hours} h, {reads} reads: {new}");
        assert!((once / new - 1.0).abs() < 1e-6, "{hours} h, {reads} reads: {new}, and {once} after one erase");
    }
}

#[test]
fn a_page_is_lost_to_its_code_if_one_codeword_has_an_error_too_many() {
    let none_of_one = (-1.0_f64).exp();
    assert!((lost_share(1.0, 0, 1) - (1.0 - none_of_one)).abs() < 1e-12);
    assert!((lost_share(1.0, 0, 3) - (1.0 - none_of_one.powi(3))).abs() < 1e-12);
    assert!((lost_share(2.0, 1, 1) - (1.0 - 3.0 * (-2.0_f64).exp())).abs() < 1e-12);
    assert!((lost_share(0.01, 2, 1) / (0.01_f64.powi(3) / 6.0) - 1.0).abs() < 0.01, "small shares are exact");
}

#[test]
fn as_many_pages_are_read_again_and_again_as_their_code_says() {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_die: 200,
        pages_per_block: 256,
        page_bytes: 4096,
    };
    let (bits, words, gain, mean) = (40, 4, 0.8, 48.0);
    let mut state = FlashState::new(Geometry::new(shape).unwrap(), ContentsKind::None);
    let options = options(floor(mean * 0.5));
    let correction = Correction { codeword_bytes: 1024, bits, retries: 20, gain, decode_ns: 0 };
    state.let_err(AgeingOptions { correction, ..options }, 16384, 7);
    let pages = state.geometry.pages();
    let mut flash = CountedFlash::new(state);
    for page in (0..pages).map(Ppn) {
        flash.program(0, command(page));
        flash.read(0, silent_read(page));
    }
    let expected: f64 = (0..20).map(|round| lost_share(mean * gain.powi(round), bits, words)).sum();
    let found = retries(&flash) as f64 / f64::from(pages);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} repetitions of a page, {expected} expected");
}

#[test]
fn a_repetition_keeps_the_die_for_another_array_time_and_the_decoders() {
    let mut flash = erring(options(floor(400.0)));
    let start = fill(&mut flash, 0, 0, 1);
    read(&mut flash, at(0, 0, 0), 8);
    read(&mut flash, at(0, 0, 0), 9);
    let wait = waits(&mut flash, 9).expect("it waited");
    let each = retries(&flash) / 2;
    assert!((2..6).contains(&each), "{each} repetitions halve 400 errors of which 40 can be corrected");
    let one = (10 + each * (10 + 7)) * US;
    assert_eq!(flash.now() - start, 2 * one + 2 * 5 * US);
    // Its own repetitions and those of the read before it.
    let retry = Wait::Cause(Cause::Retry);
    assert_eq!([wait.direct(retry), wait.root(retry)], [2 * each * 17 * US; 2]);
    assert_eq!(wait.direct(Wait::Cause(Cause::Host)), (10 + 5) * US);
    assert_eq!(flash.state().counters.reads[Cause::Host.index()], 2);
}

#[test]
fn a_page_is_lost_after_the_last_repetition_and_so_is_its_copy() {
    let correction = Correction { retries: 1, ..options(floor(0.0)).correction };
    let mut flash = counted_stamps();
    flash.state_mut().let_err(AgeingOptions { correction, ..options(floor(400.0)) }, 1024, 1);
    flash.program(0, command(at(0, 0, 0)));
    let join = flash.open(0, 1, nand::Cancel::Never);
    flash.read(0, crate::rig::part_of(join, at(0, 0, 0), Cause::Host));
    assert_eq!(flash.close(join, Awaits::Commands), Closed::Done { failed: true });
    assert_eq!((flash.state().counters.failed_reads, retries(&flash)), (1, 1));
    flash.copy(0, copy(at(0, 0, 0), at(0, 1, 0), CopyWay::Channel));
    assert_eq!(flash.state().contents().unwrap().oob(at(0, 1, 0).0).kind, PageKind::Lost);
}

#[test]
fn pages_of_the_drives_own_are_never_lost_to_errors() {
    let correction = Correction { retries: 1, ..options(floor(0.0)).correction };
    let mut flash = erring(AgeingOptions { correction, ..options(floor(400.0)) });
    fill(&mut flash, 0, 0, 1);
    read_for(&mut flash, at(0, 0, 0), Cause::Mapping, 8);
    run(&mut flash);
    assert_eq!((flash.state().counters.failed_reads, retries(&flash)), (0, 1));
}

#[test]
fn a_block_read_too_often_is_told_of_once_until_it_is_erased() {
    let refresh = RefreshLimits { reads: 3, ..RefreshLimits::default() };
    let mut flash = erring(AgeingOptions { refresh, ..options(floor(0.0)) });
    let due = |seen: &[(u64, Event)]| {
        seen.iter().filter(|(_, event)| *event == Event::RefreshDue { block: BlockId(0) }).count()
    };
    for round in 0..2 {
        fill(&mut flash, 0, 0, PAGES);
        for page in [0, 1, 0, 0, 2] {
            read(&mut flash, at(0, 0, page), page);
        }
        assert_eq!(due(&run(&mut flash)), 1, "round {round}");
        assert!(flash.state().block(BlockId(0)).is_refresh_due() && flash.state().must_refresh(BlockId(0)));
        flash.erase(0, BlockId(0), Cause::Refresh);
        time_of(&run(&mut flash), erased);
        assert!(!flash.state().block(BlockId(0)).is_refresh_due() && !flash.state().must_refresh(BlockId(0)));
    }
    assert_eq!(flash.state().counters.erases[Cause::Refresh.index()], 2);
}

#[test]
fn data_grows_old_with_the_clock_and_over_a_power_cut() {
    let refresh = RefreshLimits { age_ns: HOUR, ..RefreshLimits::default() };
    let mut state = plain().into_state();
    state.let_err(AgeingOptions { refresh, ..options(TLC) }, 512, 1);
    state.blocks.wear_all(1000);
    let mut flash = TimedFlash::new(state, PART, nand::CommandOptions::default(), 1);
    fill(&mut flash, 0, 0, 1);
    let young = flash.state().error_rate(BlockId(0));
    flash.set_timer(0, Some(2 * HOUR));
    run(&mut flash);
    read(&mut flash, at(0, 0, 0), 8);
    assert!(time_of(&run(&mut flash), joined(8)) > 2 * HOUR);
    let old = flash.state().error_rate(BlockId(0));
    let expected = 6.28e-5 * 1000_f64.powf(0.14) * 2_f64.powf(0.54);
    assert!(((old - young) / expected - 1.0).abs() < 0.01, "{young} to {old}");
    assert!(flash.state().block(BlockId(0)).is_refresh_due(), "a read of it finds it old");
    let image = flash.power_cut(&mut Stream::new(1, "cut"));
    assert!((image.error_rate(BlockId(0)) / old - 1.0).abs() < 1e-9);
    assert_eq!(Counters::total(&image.counters.reads), 1 + retries(&flash));
}
