//! Trims, and zeros that are written: taken apart, so that others get their turn.

use super::{Entry, SimulatedDrive, State};
use crate::pieces::{PIECE, TRIM, ZEROS};
use drive::DriveError;
use units::HostOp;

impl SimulatedDrive {
    /// A trim gets its turn, or a write of zeros (`op`): at once if there is no other.
    pub(super) fn trim(&mut self, slot: u32, op: HostOp, from: u64, end: u64) -> Result<(), DriveError> {
        if !self.drive.is_on() {
            return Err(DriveError::PowerOff);
        }
        let entry = &mut self.entries[slot as usize];
        (entry.to_trim, entry.trim_op) = ((from, end), Some(op));
        if self.trims.is_empty() {
            self.trim_piece(slot)?;
        }
        // Until all of it is done the trim itself counts as a piece.
        self.entries[slot as usize].left += 1;
        self.trims.push_back(slot);
        Ok(())
    }

    /// Gives the next piece of a trim to the drive, in whole pages, or the next piece of zeros.
    fn trim_piece(&mut self, slot: u32) -> Result<(), DriveError> {
        let page = u64::from(self.drive.page_bytes());
        let Entry { to_trim: (from, end), trim_op, .. } = self.entries[slot as usize];
        let is_write = trim_op == Some(HostOp::Write);
        let until = if is_write { from + PIECE } else { (from + TRIM) / page * page }.min(end);
        self.entries[slot as usize].to_trim.0 = until;
        let (op, bytes) =
            if is_write { (HostOp::Write, &ZEROS[..(until - from) as usize]) } else { (HostOp::Trim, &[][..]) };
        self.piece(slot, op, from, bytes, until - from, false)
    }

    /// The drive has done the piece of the first trim: that one goes to the end of the line, or is over, and the next
    /// one has its turn.
    pub(super) fn trim_piece_done(&mut self) {
        let Some(slot) = self.trims.pop_front() else { return };
        let entry = &mut self.entries[slot as usize];
        if entry.to_trim.0 < entry.to_trim.1 && !entry.failed && entry.state == State::Asked {
            self.trims.push_back(slot);
        } else {
            entry.left -= 1;
        }
        while let Some(slot) = self.trims.front().copied() {
            let is_wanted = self.entries[slot as usize].state == State::Asked;
            if is_wanted && self.trim_piece(slot).is_ok() {
                return;
            }
            self.trims.pop_front();
            self.trim_refused(slot);
        }
    }

    /// What is left of a trim that waited for its turn will not be done.
    fn trim_refused(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.failed = true;
        entry.left -= 1;
        if entry.left > 0 {
            return; // what is in the drive ends it
        }
        if entry.state == State::Asked {
            let tag = entry.tag;
            let error = self.reason(HostOp::Trim);
            self.refused.push((tag, error));
            self.active -= 1;
        }
        self.leave(slot);
    }

    /// Whether the drive promises to keep a write of these bytes whole, and it has several pages.
    pub(super) fn is_kept_whole(&self, from: u64, end: u64) -> bool {
        let most = self.drive.promises().atomic_bytes;
        most > u64::from(self.drive.page_bytes()) && from < end && from / most == (end - 1) / most
    }

    pub(super) fn zeros(&mut self, slot: u32, from: u64, end: u64, fua: bool) -> Result<(), DriveError> {
        (from..end).step_by(PIECE as usize).try_for_each(|at| {
            let length = PIECE.min(end - at);
            self.piece(slot, HostOp::Write, at, &ZEROS[..length as usize], length, fua)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Pace;
    use crate::target::{Answers, Order, OrderKind, Target};
    use drive::Drive;

    #[test]
    fn a_long_trim_is_given_to_the_drive_piece_by_piece_so_that_others_get_their_turn() {
        let bytes = 3 * TRIM + 4096;
        let drive =
            Drive::new("raid5", &[&format!("drive.capacity={bytes}B"), "drive.over_provisioning=150%"]).unwrap();
        let mut target = SimulatedDrive::new(drive, Pace::Off);
        let last = bytes - 4096;
        target.drive.write(last, &[7; 4096]).unwrap();
        let order = |kind, offset, length| Order { kind, offset, length, fua: false };
        target.submit(0, &order(OrderKind::Trim, 0, bytes as u32), &[]);
        assert_eq!(target.entries[0].to_trim, (TRIM, bytes));
        target.submit(1, &order(OrderKind::Trim, 0, bytes as u32), &[]);
        target.submit(2, &order(OrderKind::Read, last, 4096), &[]);
        assert_eq!(target.entries[1].to_trim, (0, bytes), "one piece is in the drive, of all trims together");
        let mut answers = Answers::default();
        while target.poll(&mut answers).is_some() {}
        let tags: Vec<u32> = answers.all.iter().map(|answer| answer.tag).collect();
        assert_eq!(tags, [2, 0, 1], "one answer for each, and the read does not wait for the trims");
        assert!(answers.all.iter().all(|answer| answer.result.is_ok()));
        let mut found = [1; 4096];
        target.drive.read(last, &mut found).unwrap();
        assert_eq!(found, [0; 4096]);
    }

    /// Trims in the line behind one that was given up, with power on, could have waited for ever.
    #[test]
    fn trims_that_were_given_up_with_power_on_make_way_for_later_trims() {
        let bytes = 3 * TRIM + 4096;
        let drive =
            Drive::new("raid5", &[&format!("drive.capacity={bytes}B"), "drive.over_provisioning=150%"]).unwrap();
        let mut target = SimulatedDrive::new(drive, Pace::Off);
        let trim = Order { kind: OrderKind::Trim, offset: 0, length: bytes as u32, fua: true };
        let (mut answers, mut later) = (Answers::default(), Answers::default());
        (0..2).for_each(|tag| target.submit(tag, &trim, &[]));
        target.give_up(&mut answers, nbd::ErrorNumber::Io);
        assert!(answers.all.iter().map(|answer| (answer.tag, answer.result.is_err())).eq([(0, true), (1, true)]));
        target.submit(2, &trim, &[]);
        while target.poll(&mut later).is_some() {}
        assert!(later.all.iter().map(|answer| (answer.tag, answer.result.is_ok())).eq([(2, true)]));
        assert!(target.trims.is_empty() && target.free.len() == target.entries.len());
    }

    /// The first and the last page of such zeros lasted when they were answered, and those between when it was flushed.
    #[test]
    fn zeros_within_the_promise_of_the_drive_are_there_as_a_whole_or_not_at_all() {
        let room = "drive.over_provisioning=150%";
        let small = ["drive.capacity=16MiB", "flash.pages_per_block=16", room, "drive.atomic=16KiB"];
        let drive = Drive::new("page", &small).unwrap();
        let mut target = SimulatedDrive::new(drive, Pace::Off);
        target.drive.write(0, &[7; 16384]).unwrap();
        target.drive.flush().unwrap();
        let zeros = Order { kind: OrderKind::Zeroes { keep: false }, offset: 512, length: 15360, fua: false };
        target.submit(0, &zeros, &[]);
        let mut answers = Answers::default();
        while target.poll(&mut answers).is_some() {}
        assert!(answers.all[0].result.is_ok());
        target.drive.power_cut(7);
        target.drive.reopen().unwrap();
        let mut found = [1; 16384];
        target.drive.read(0, &mut found).unwrap();
        let mut whole = [7; 16384];
        whole[512..15872].fill(0);
        assert!(found == whole || found == [7; 16384], "{:?}", found.chunks(512).map(|one| one[0]).collect::<Vec<_>>());
    }
}
