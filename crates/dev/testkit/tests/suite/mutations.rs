//! The mutation check: with any one law broken on purpose, the campaign must fail, and soon.

// Only builds with debug assertions can break a law on purpose.
#![cfg(debug_assertions)]

use nand::{FlashState, LawBroken};
use testkit::Layers;
use testkit::crash::{Campaign, Failure};

/// Cuts within which a broken law must have shown itself.
const WITHIN: u64 = 100_000;

fn broken(prepare: fn(&mut FlashState)) -> Failure {
    // With the whole map in memory, or an invariant of translation pages might be first to notice.
    broken_under(Layers::mapping("page"), prepare)
}

fn broken_under(layers: Layers, prepare: fn(&mut FlashState)) -> Failure {
    match (Campaign { prepare, layers, ..Campaign::new(WITHIN, 1) }).run(|_| {}) {
        Ok(tally) => panic!("the campaign did not notice the broken law: {tally:?}"),
        Err(failure) => *failure,
    }
}

/// The same drives, with all laws kept.
fn nothing_is_lost(layers: Layers) {
    let campaign = Campaign { layers, ..Campaign::new(WITHIN, 1) };
    let tally = campaign.run(|_| {}).expect("with all laws kept nothing is lost");
    assert!(tally.cuts >= WITHIN);
}

/// The oracle (not an assertion) found older, foreign or no data.
fn assert_data_lost(failure: &Failure) {
    assert!(failure.what.contains("are legal"), "{failure}");
}

#[test]
fn an_erase_that_ignores_programs_superseding_its_pages_loses_data() {
    assert_data_lost(&broken(|state| state.break_law(LawBroken::PinsOff)));
}

#[test]
fn a_fold_that_erases_before_its_copies_are_down_is_noticed() {
    let layers = Layers { cached: true, ..Layers::mapping("page") };
    nothing_is_lost(layers);
    // Depending on the order of events an assertion of flash or the oracle is first.
    broken_under(layers, |state| state.break_law(LawBroken::EarlyFold));
}

#[test]
fn a_flush_that_leaves_in_volatile_memory_what_waits_for_a_full_program_loses_data() {
    let layers = Layers { forgetful: true, ..Layers::mapping("page") };
    nothing_is_lost(layers);
    assert_data_lost(&broken_under(layers, |state| state.break_law(LawBroken::FlushSkipsGather)));
}

/// Pages of a killed program were read and flushed, and the next power cut took them.
#[test]
fn memory_that_is_guessed_anew_after_a_program_was_killed_loses_data() {
    let layers = Layers { forgetful: true, ..Layers::mapping("page") };
    let campaign = Campaign { layers, kills: true, cuts_per_life: 1000, ..Campaign::new(20_000, 1) };
    let tally = campaign.run(|_| {}).expect("with all laws kept nothing is lost");
    assert!(tally.kills >= 20, "{tally:?}");
    let prepare: fn(&mut FlashState) = |state| state.break_law(LawBroken::GuessesMemory);
    // More pages are gone than were programmed, or the oracle is first.
    let failure = Campaign { prepare, ..campaign }.run(|_| {}).expect_err("a broken law is noticed");
    assert!(failure.position.restarts > 0, "{failure}");
}

#[test]
fn sequence_numbers_taken_at_completion_lose_data() {
    assert_data_lost(&broken(|state| state.break_law(LawBroken::SequenceAtCompletion)));
}

#[test]
fn a_block_handed_out_when_its_erase_is_issued_is_noticed() {
    // Depending on the order of events an assertion of flash or the oracle is first.
    broken(|state| state.break_law(LawBroken::EarlyReuse));
}

#[test]
fn a_trim_that_does_not_hold_the_page_it_unmaps_lets_an_older_version_surface() {
    assert_data_lost(&broken(|state| state.break_law(LawBroken::TrimHoldsOff)));
}

#[test]
fn a_flush_that_does_not_wait_for_tombstones_loses_trims() {
    // Writes are on flash when they are acknowledged, so only trims can tell.
    assert_data_lost(&broken(|state| state.break_law(LawBroken::FlushBarrierOff)));
}

/// Drives whose mapping keeps writes of several pages whole.
fn atomic() -> Layers {
    Layers { atomic: true, ..Layers::mapping("page") }
}

#[test]
fn a_group_that_does_not_hold_what_it_replaces_loses_data() {
    nothing_is_lost(atomic());
    assert_data_lost(&broken_under(atomic(), |state| state.break_law(LawBroken::GroupHoldsOff)));
}

#[test]
fn a_part_that_counts_without_its_group_tears_a_write() {
    let failure = broken_under(atomic(), |state| state.break_law(LawBroken::GroupsBroken));
    assert!(failure.what.contains("is torn by a power cut"), "{failure}");
}
