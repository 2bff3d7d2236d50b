//! What a buffer promises, whichever policy decides what leaves it.

use crate::rig::{PAGES, Page, Plan, Rig, SECTORS, over};
use buffer::{Buffer, buffers};
use engine::random::Stream;
use layer::{Parameter, ParameterKind};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testing::{Step, cases, steps};

const WHOLE: u64 = (1 << SECTORS) - 1;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Write { page: u32, mask: u64, fua: bool },
    Read(u32),
    Trim(u32),
    Flush,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let write =
        (0..PAGES, 1..=WHOLE, prop::bool::weighted(0.1)).prop_map(|(page, mask, fua)| Deed::Write { page, mask, fua });
    let deed = prop_oneof![
        12 => write,
        4 => (0..PAGES).prop_map(Deed::Read),
        2 => (0..PAGES).prop_map(Deed::Trim),
        1 => Just(Deed::Flush),
    ];
    proptest::collection::vec(deed, 1..120)
}

/// Does all of it and compares each read; what the host must find at the end.
fn carry_out(rig: &mut Rig, deeds: &[Deed]) -> BTreeMap<u32, Page> {
    let mut host = BTreeMap::<u32, Page>::new();
    for (stamp, deed) in (1..).zip(deeds) {
        match *deed {
            Deed::Write { page, mask, fua } => {
                let held = host.entry(page).or_default();
                *held = over(*held, [stamp; SECTORS], mask);
                rig.write(page, [stamp; SECTORS], mask, fua);
                if fua && !rig.is_nonvolatile() {
                    let below = rig.table.borrow().pages.get(&page).copied().unwrap_or_default();
                    assert_eq!(over(host[&page], below, mask), host[&page], "an FUA write is below when it is done");
                }
            }
            Deed::Read(page) => assert_eq!(rig.read(page), host.get(&page).copied().unwrap_or_default()),
            Deed::Trim(page) => {
                host.insert(page, Page::default());
                rig.trim(page);
            }
            Deed::Flush => rig.flush(),
        }
        rig.check();
    }
    host
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_read_sees_the_last_write_and_a_flush_brings_all_of_it_below(deeds in deeds()) {
        for kind in buffers() {
            let mut rig = Rig::new(kind, &[]);
            let host = carry_out(&mut rig, &deeds);
            rig.flush();
            for (page, wanted) in host {
                let below = rig.table.borrow().pages.get(&page).copied().unwrap_or_default();
                prop_assert_eq!(below, wanted, "page {} in {}", page, kind.name);
            }
        }
    }

    #[test]
    fn every_page_that_came_is_written_back_forgotten_or_there(deeds in deeds()) {
        for kind in buffers() {
            let mut rig = Rig::new(kind, &[]);
            carry_out(&mut rig, &deeds);
            let sum = |names: &[&str]| names.iter().map(|name| rig.counter(name)).sum::<u64>();
            let came = sum(&["pages_buffered_before", "page_misses", "block_misses", "clean_pages_written"]);
            let went = sum(&["pages_written_back", "block_pages_written_back", "pages_forgotten"]);
            let there = sum(&["pages_buffered", "block_pages_buffered"]);
            prop_assert_eq!(came, went + there, "{}", kind.name);
            prop_assert!(there <= 16, "{} holds {} pages", kind.name, there);
        }
    }

    #[test]
    fn non_volatile_memory_outlives_a_power_cut(deeds in deeds()) {
        for kind in buffers() {
            let mut rig = Rig::new(kind, &[("buffer.nonvolatile", "true")]);
            let host = carry_out(&mut rig, &deeds);
            rig.cut_power();
            for (page, wanted) in host {
                prop_assert_eq!(rig.read(page), wanted, "page {} in {}", page, kind.name);
            }
        }
    }
}

/// Every choice and switch of a buffer, drawn from `seed`.
fn settings(kind: &Buffer, seed: u64) -> Vec<(&'static str, String)> {
    let mut stream = Stream::new(seed, kind.name);
    let own = (kind.parameters)();
    let draw = |Parameter { key, kind, .. }: &Parameter| {
        let value = match kind {
            ParameterKind::Choice(names) => names()[stream.below(names().len() as u64) as usize].0.to_owned(),
            ParameterKind::Switch => stream.chance(0.5).to_string(),
            ParameterKind::Count { .. } if *key == "buffer.write_back_pages" => stream.below(4).to_string(),
            _ => return None,
        };
        Some((*key, value))
    };
    let mut settings: Vec<_> = own.iter().filter_map(draw).collect();
    if settings.contains(&("buffer.nonvolatile", "true".to_owned())) {
        settings.retain(|(key, _)| *key != "buffer.acknowledge");
    }
    settings
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_read_returns_the_last_write_while_pages_are_on_their_way(
        seed in any::<u64>(),
        takes in prop::sample::select(vec![0, 1000]),
        steps in steps(PAGES, 150),
    ) {
        for kind in buffers() {
            let set = settings(&kind, seed);
            println!("{} with 16 pages on {set:?}, {takes} ns", kind.name);
            let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (*key, value.as_str())).collect();
            Plan::new(kind, &set, takes).host().live(&steps);
        }
    }
}

#[test]
fn a_write_that_fits_does_not_go_below_and_a_second_one_of_the_page_saves_a_program() {
    for kind in buffers() {
        let mut rig = Rig::new(kind, &[]);
        for stamp in 1..4 {
            rig.write(7, [stamp; SECTORS], WHOLE, false);
        }
        assert_eq!(rig.table.borrow().written, [], "{}", kind.name);
        rig.flush();
        assert_eq!(rig.table.borrow().written.iter().filter(|page| **page == 7).count(), 1, "{}", kind.name);
        assert_eq!(rig.table.borrow().flushes, 1, "the flush goes on below");
    }
}

#[test]
fn a_buffer_that_acknowledges_from_flash_keeps_nothing_back() {
    for kind in buffers() {
        let mut rig = Rig::new(kind, &[("buffer.acknowledge", "flash")]);
        rig.write(7, [1; SECTORS], WHOLE, false);
        assert_eq!(rig.table.borrow().pages[&7], [1; SECTORS], "{}", kind.name);
    }
}

#[test]
fn what_volatile_memory_held_is_gone_after_a_power_cut_and_what_was_flushed_is_not() {
    for kind in buffers() {
        let mut rig = Rig::new(kind, &[]);
        rig.write(7, [1; SECTORS], WHOLE, false);
        rig.flush();
        rig.write(7, [2; SECTORS], WHOLE, false);
        rig.cut_power();
        assert_eq!(rig.read(7), [1; SECTORS], "{}", kind.name);
    }
}

#[test]
fn a_page_in_both_areas_of_nonvolatile_memory_goes_through_a_snapshot() {
    let two_level = buffers().into_iter().find(|kind| kind.name == "two-level").expect("it is in the table");
    let write = |first, pages| Step::Write { first, pages, mask: 0, fua: false };
    let read = Step::Read { first: PAGES - 3, pages: 3 };
    let steps = [write(PAGES - 1, 1), write(PAGES - 3, 3), Step::Reload, read];
    Plan::new(two_level, &[("buffer.nonvolatile", "true")], 0).host().live(&steps);
}
