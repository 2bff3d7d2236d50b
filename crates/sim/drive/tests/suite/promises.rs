//! The promises of a drive: a client sees that they are kept, and a drive that cannot keep one refuses it.

use crate::small::{ROOM, settings, small};
use drive::{Completions, Drive, Promises};
use units::{HostOp, Request};

const WINDOW: usize = 16 << 10;
const WINDOWS: u64 = 8;
/// Buffers that a power cut does not empty.
const KEPT: [&str; 2] = ["buffer.nonvolatile=true", "buffer.size=64KiB"];

/// Cells of several bits, so that blocks may be a cache with one.
const CELLS: [&str; 2] = ["flash.word_line_pages=4", "flash.slc_program_time=100us"];

/// Windows that hold parts of two writes after power cuts within writes of whole windows, several at a time.
fn torn(different: &[&str]) -> usize {
    (0..60).map(|seed| torn_by(different, seed)).sum()
}

fn torn_by(different: &[&str], seed: u64) -> usize {
    let mut drive = small(different);
    drive.cut_power_after(40 + 7 * seed, seed);
    let mut completions = Completions::default();
    'lives: for round in 1..=255 {
        for window in 0..WINDOWS {
            let request = Request::of_bytes(HostOp::Write, window * WINDOW as u64, WINDOW as u64, false);
            if drive.submit(window as u32, &request, &[round; WINDOW]).is_err() {
                break 'lives;
            }
        }
        while drive.outstanding() > 0 {
            if drive.advance(&mut completions).is_err() {
                break 'lives;
            }
        }
    }
    assert!(!drive.is_on(), "{different:?}: power goes within the writes");
    drive.reopen().unwrap();
    let mut is_torn = |window: u64| {
        let mut found = [0; WINDOW];
        drive.read(window * WINDOW as u64, &mut found).unwrap();
        found != [found[0]; WINDOW]
    };
    (0..WINDOWS).filter(|window| is_torn(*window)).count()
}

#[test]
fn a_power_cut_tears_no_write_within_the_promise() {
    let promise = "drive.atomic=16KiB";
    for kind in ["page-lru", "sorted", "cflru"] {
        let kind = format!("buffer.kind={kind}");
        assert_eq!(torn(&[&KEPT[..], &[&kind, promise]].concat()), 0, "{kind}");
    }
    for kind in ["page", "superpage"] {
        assert_eq!(torn(&[&format!("ftl.kind={kind}"), promise]), 0, "{kind} without a buffer");
    }
    for stack in
        [&["flash.page_size=16KiB"][..], &["flash.page_size=16KiB", "buffer.kind=page-lru", "buffer.size=64KiB"]]
    {
        assert_eq!(torn(&[stack, &[ROOM, promise]].concat()), 0, "{stack:?}");
    }
}

/// Without this the test before it says nothing.
#[test]
fn a_power_cut_tears_writes_of_several_pages_without_a_promise() {
    assert!(torn(&[]) > 0);
    let small_buffer = ["buffer.kind=page-lru", "buffer.nonvolatile=true", "buffer.size=24KiB"];
    assert!(torn(&small_buffer) > 0, "a window of four pages enters a buffer of six in parts");
    let promised = [&small_buffer[..], &["drive.atomic=16KiB"]].concat();
    assert_eq!(torn(&promised), 0);
}

#[test]
fn a_drive_refuses_a_promise_that_it_cannot_keep_with_the_setting_that_helps() {
    for (different, wanted) in [
        (
            &["drive.atomic=16KiB", "ftl.kind=dftl"][..],
            "set ftl.kind to \"page\" or \"superpage\", or set flash.page_size to \"16KiB\", or set buffer.nonvolatile",
        ),
        (&["drive.atomic=16KiB", "stripe.kind=raid5", "flash.channels=4", ROOM], "set stripe.kind to \"none\""),
        (&["drive.atomic=16KiB", "ftl.gc.frontier=shared"], "set ftl.gc.frontier to \"separate\""),
        (&["drive.atomic=16KiB", "ftl.allocation.placement=static"], "set ftl.allocation.placement to \"dynamic\""),
        (&["drive.atomic=16KiB", CELLS[0], CELLS[1], ROOM, "ftl.slc.blocks=2"], "set ftl.slc.blocks to \"0\""),
        (&["drive.atomic=16KiB", CELLS[0], CELLS[1], ROOM, "ftl.slc.share=10%"], "set ftl.slc.share to \"0\""),
        (&["drive.atomic=16KiB", "buffer.kind=page-lru"], "set buffer.nonvolatile to true"),
        // No page of flash is that large.
        (&["drive.atomic=128KiB"], "and a block 16; raise flash.pages_per_block, or set buffer.nonvolatile to true"),
        (
            &["drive.atomic=16KiB", "buffer.kind=page-lru", "buffer.acknowledge=flash"],
            "buffer.acknowledge to \"buffer\"",
        ),
        (&["drive.atomic=3KiB"], "not a power of two; try \"2KiB\""),
        (&["drive.atomic=4KiB", "remap.kind=hard", "drive.capacity=4MiB"], "remap.kind to \"none\""),
        (
            &["drive.atomic=16KiB", "buffer.kind=page-lru", "buffer.nonvolatile=true", "buffer.size=8KiB"],
            "which needs 4; raise buffer.size",
        ),
        (
            &["drive.atomic=16KiB", "buffer.kind=block-lru", "buffer.nonvolatile=true", "flash.pages_per_block=18"],
            "a write would enter in two parts",
        ),
    ] {
        let problem = Drive::new("page", &settings(different)).err().map(|error| error.to_string());
        let problem = problem.unwrap_or_else(|| panic!("{different:?} is refused"));
        assert!(problem.contains(wanted), "{different:?}: {problem}");
    }
}

#[test]
fn a_drive_tells_its_promises() {
    let promises = |different: &[&str]| small(different).promises();
    assert_eq!(promises(&[]), Promises { atomic_bytes: 512, is_volatile: false });
    let volatile = promises(&["buffer.kind=page-lru", "drive.atomic=4KiB"]);
    assert_eq!(volatile, Promises { atomic_bytes: 4096, is_volatile: true });
}

/// They have no logical blocks that a write could cross.
#[test]
fn policies_of_single_pages_keep_a_promise_over_blocks_of_any_length() {
    for kind in ["page-lru", "cflru", "sorted"] {
        let kind = format!("buffer.kind={kind}");
        let buffer = ["buffer.nonvolatile=true", "buffer.size=24KiB", &kind];
        let different = [&["drive.atomic=16KiB", "flash.pages_per_block=18"], &buffer[..]].concat();
        assert_eq!(torn(&different), 0, "{kind}");
    }
}
