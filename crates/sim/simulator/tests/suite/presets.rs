//! Stacks that people compare differ in their subject and in nothing else.

use simulator::{Config, DrivePlan, Setting};
use std::collections::BTreeMap;

/// Stacks meant to be compared, and the keys that are their subject: a whole key, or a prefix that ends with a dot.
const FAMILIES: [(&[&str], &[&str]); 7] = [
    (
        &[
            "block-lru",
            "block-only",
            "cbm",
            "cflru",
            "fab",
            "lb-clock",
            "page-only",
            "two-level",
            "two-level-victim-only",
        ],
        &["buffer.kind", "buffer.block_buffer", "buffer.flush_unit"],
    ),
    (&["bast", "block", "fast", "nftl"], &["ftl.kind"]),
    (&["cdftl", "dftl", "leaftl", "tpftl", "tpm"], &["ftl.kind"]),
    (&["hard", "hard-log-cache", "superpage"], &["remap.kind"]),
    (&["hard", "hard-shrd"], &["remap.kind", "ftl.kind", "ftl.map_cache"]),
    // Two parities take one chip more.
    (
        &["fra", "raid-elastic", "raid0", "raid4", "raid5", "raid5-fpc", "raid5-ppc", "raid6", "raid6-ppc"],
        &["stripe.kind", "stripe.cache.entries", "flash.channels"],
    ),
    // How blocks are placed, coded, queued and read is what the striping study is about.
    (
        &[
            "striping-coded",
            "striping-eager",
            "striping-gc-aware",
            "striping-in-turn",
            "striping-interleave",
            "striping-mirror",
            "striping-single-queue",
            "striping-static",
        ],
        &["coded."],
    ),
];

fn is_subject(key: &str, subject: &[&str]) -> bool {
    subject.iter().any(|subject| key == *subject || subject.ends_with('.') && key.starts_with(subject))
}

#[test]
fn stacks_that_are_compared_are_alike_but_for_their_subject() {
    for (stacks, subject) in FAMILIES {
        let mut first: BTreeMap<String, (&str, String)> = BTreeMap::new();
        for stack in stacks.iter().copied() {
            for (key, value) in Config::load(stack, &[]).unwrap().resolved {
                let (other, expected) = first.entry(key.clone()).or_insert_with(|| (stack, value.clone()));
                let alike = *expected == value || is_subject(&key, subject);
                assert!(
                    alike,
                    "{key} is {value} in {stack} and {expected} in {other}, and is not what they are compared for"
                );
            }
        }
    }
}

#[test]
fn every_built_in_stack_is_in_a_family_or_stands_for_itself() {
    let alone = ["page"];
    for preset in simulator::config::stacks() {
        let is_in_family = FAMILIES.iter().any(|(stacks, _)| stacks.contains(&preset.name));
        assert!(is_in_family || alone.contains(&preset.name), "{} is in no family of stacks to compare", preset.name);
    }
}

/// A drive of "745.2GiB" could only be run many times smaller: its own size was no whole number of pages.
#[test]
fn every_built_in_stack_and_drive_can_be_built_at_its_own_size() {
    for preset in [simulator::config::stacks(), simulator::config::drives()].concat() {
        let plan = DrivePlan::new(Config::load(preset.name, &[]).unwrap());
        let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        let (seen, said) = (plan.host_sectors() * 512, Config::load(preset.name, &[]).unwrap());
        let said = said.values.whole("drive.capacity");
        // A driver of the host holds a share of the drive back.
        assert!(seen <= said && (plan.remap.is_some() || said - seen < 1 << 20), "{}: {seen} of {said}", preset.name);
    }
}

#[test]
fn a_capacity_is_rounded_down_to_whole_pages_unless_much_of_it_would_be_lost() {
    let plan = |stack: &str, capacity: &str| {
        let setting = Setting::from_argument(&format!("drive.capacity={capacity}")).unwrap();
        DrivePlan::new(Config::load(stack, &[setting]).unwrap())
    };
    for stack in ["page", "superpage", "raid5", "dftl"] {
        for capacity in ["745.2MiB", "500MB", "1.3GB"] {
            let built = plan(stack, capacity).unwrap_or_else(|error| panic!("{stack}, {capacity}: {error}"));
            let said = built.config.values.whole("drive.capacity");
            assert!((said - built.capacity()) < u64::from(built.geometry.page_bytes), "{stack}, {capacity}");
            assert_eq!(built.config.resolved["drive.capacity"], capacity, "as it was written");
        }
    }
    let refused = plan("page", "4097B").unwrap_err().to_string();
    assert!(refused.contains("no whole number of pages"), "{refused}");
}
