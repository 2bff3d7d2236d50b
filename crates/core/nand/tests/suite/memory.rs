//! Memory of the controller: payloads, records, non-volatile memory.

use crate::rig::{at, command, counted, counted_stamps, stamps, stamps_at, stamps_of};
use engine::random::Stream;
use nand::{Flash, PayloadId, Program};

#[test]
fn without_contents_every_payload_is_none_and_what_is_done_to_that_does_nothing() {
    let mut flash = counted();
    let payloads = &mut flash.memory_mut().payloads;
    let none = payloads.take(4, 1);
    assert_eq!((none, none.offset(3), payloads.cell_bytes()), (PayloadId::NONE, PayloadId::NONE, 0));
    payloads.copy(none, none, 1);
    payloads.add(none, none);
    payloads.clear(none, 1);
    payloads.set_mask(none, 1);
    payloads.release(none, 4);
    assert_eq!((payloads.mask(none), payloads.cells(none)), (0, [].as_slice()));
    assert!(payloads.take_record(|| unreachable!("no record is made that nothing will hold")).is_none());
}

#[test]
fn a_run_that_was_given_back_is_taken_again_with_its_mask_set_anew() {
    let mut flash = counted_stamps();
    let payloads = &mut flash.memory_mut().payloads;
    let [first, other] = [payloads.take(3, 0b11), payloads.take(3, 0b01)];
    payloads.release(first, 3);
    assert_eq!(payloads.take(4, 0b10), first, "runs of three and four are of one size");
    assert_eq!([first, other].map(|run| payloads.mask(run.offset(2))), [0b10, 0b01]);
}

#[test]
fn sectors_of_payloads_are_copied_added_and_cleared_by_mask() {
    let mut flash = counted_stamps();
    let [a, b] = [stamps(&mut flash, 5, 0b11), stamps(&mut flash, 3, 0b11)];
    let payloads = &mut flash.memory_mut().payloads;
    payloads.add(a, b);
    payloads.copy(a, b, 0b10);
    payloads.copy(a, PayloadId::NONE, 0b11);
    assert_eq!(stamps_of(&flash, b), [5 ^ 3, 5]);
    flash.memory_mut().payloads.clear(b, 0b01);
    assert_eq!(stamps_of(&flash, b), [0, 5]);
}

#[test]
fn a_power_cut_leaves_non_volatile_memory_the_payloads_it_names_and_what_flash_holds() {
    let mut flash = counted_stamps();
    let [written, kept, gone] = [7, 8, 9].map(|stamp| stamps(&mut flash, stamp, 0b11));
    let what = Program::Data { payload: written, merge: false };
    flash.program(0, nand::PageProgram { what, ..command(at(0, 0, 0)) });
    flash.memory_mut().nvram.insert(3, 30, 0b01, kept, 0);
    let image = flash.state().after_power_cut(&[], &mut Stream::new(1, "cut"));
    assert_eq!(stamps_at(&flash, at(0, 0, 0)), [7, 7]);
    let mut again = nand::CountedFlash::new(image);
    assert_eq!((stamps_at(&again, at(0, 0, 0)), stamps_of(&again, kept)), ([7, 7], [8, 8]));
    let memory = again.memory_mut();
    assert_eq!((memory.nvram.of(3).len(), memory.payloads.mask(kept)), (1, 0b01));
    assert_eq!(memory.payloads.take(1, 0), gone, "the last of those that nothing names");
}
