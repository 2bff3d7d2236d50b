//! Faults of a drive, and its requests under them.

use crate::error::DriveError;
use crate::faults::{ActiveFault, Fault, Faults, Injected, OF_FAULTS, Sent};
use crate::requests::{Drive, Power};
use nand::DieTrouble;
use simulator::Completions;
use units::{BlockId, HostOp, Request};

impl Drive {
    /// Lets something fail. Chances may also be set while power is off.
    ///
    /// # Errors
    /// Power is off, or the drive has no such die, channel, block or bytes.
    pub fn inject(&mut self, fault: Fault) -> Result<(), DriveError> {
        match fault {
            Fault::Programs(share) => self.chances[0] = share,
            Fault::Erases(share) => self.chances[1] = share,
            Fault::Reads(share) => self.chances[2] = share,
            Fault::Die(_) | Fault::Channel(_) | Fault::Block(_) => return self.lose(fault),
            Fault::Host(fault) => {
                let (now, sectors) = (self.now(), self.plan.host_sectors());
                let page = self.plan.host_page_sectors();
                if fault.on.sectors.0 >= sectors {
                    return Err(DriveError::Unsupported(format!(
                        "`{fault}` begins beyond the drive, which has {} bytes; give a range within it",
                        self.bytes()
                    )));
                }
                if let Some(die) = fault.on.die {
                    check_part("die", die, self.plan.array.dies())?;
                }
                self.faults.get_or_insert_with(|| Box::new(Faults::new(sectors, page.into()))).arm(now, fault);
                self.set_troubles();
                return Ok(());
            }
            Fault::Off => {
                self.end_faults();
                self.chances = [0.0; 3];
            }
        }
        match &mut self.power {
            Power::On(host) => host.drive_mut().flash_mut().state_mut().set_fault_chances(self.chances),
            Power::Off(state) => state.set_fault_chances(self.chances),
            Power::Between => {}
        }
        self.note_given(fault);
        Ok(())
    }

    /// Ends all faults of requests and power cuts as [`Fault::Off`] does, but as nobody has asked for it: chances stay,
    /// and the log has no entry. Answers that were kept are due.
    pub fn end_faults(&mut self) {
        let now = self.now();
        self.faults.iter_mut().for_each(|faults| faults.disarm(now));
        self.set_troubles();
    }

    /// Tells the flash which dies answer late, and counts the commands that were delayed so far.
    pub(crate) fn set_troubles(&mut self) {
        self.count_hits();
        let (Some(faults), Power::On(host)) = (&self.faults, &mut self.power) else { return };
        let troubles = faults.troubles(|die| self.plan.array.mapped_dies(&[die]));
        host.drive_mut().flash_mut().set_troubles(self.before, troubles);
    }

    /// Commands that faults of dies have delayed since they were counted last.
    fn troubles(&self) -> &[DieTrouble] {
        if let Power::On(host) = &self.power { host.drive().flash().troubles() } else { &[] }
    }

    /// Counts the commands that faults of dies have delayed. The flash is told of the faults anew, or ends, after this.
    pub(crate) fn count_hits(&mut self) {
        let troubles = self.troubles().to_vec();
        self.faults.iter_mut().for_each(|faults| faults.count_hits(&troubles));
    }

    /// Numbers of faults that, since the last call, have begun to keep no older bytes of further sectors.
    pub fn take_faults_at_limit(&mut self) -> Vec<u32> {
        self.faults.as_mut().map_or_else(Vec::new, |faults| std::mem::take(&mut faults.at_limit))
    }

    fn lose(&mut self, fault: Fault) -> Result<(), DriveError> {
        let array = self.plan.array;
        let (what, number, count) = match fault {
            Fault::Die(die) => ("die", die, array.dies()),
            Fault::Channel(channel) => ("channel", channel, array.channels()),
            Fault::Block(block) => ("block", block, self.plan.geometry.blocks()),
            _ => return Ok(()),
        };
        check_part(what, number, count)?;
        let drive = self.host()?.drive_mut();
        if let Fault::Block(block) = fault {
            drive.flash_mut().state_mut().lose_block(BlockId(block));
        } else {
            let named = if what == "die" { vec![number] } else { array.dies_behind(number) };
            array.mapped_dies(&named).into_iter().for_each(|die| drive.kill_die(die));
        }
        self.note_given(fault);
        Ok(())
    }

    /// Notes a fault that the layer of faults does not know.
    fn note_given(&mut self, fault: Fault) {
        self.fault_log = self.take_fault_log();
        self.fault_log.push(Injected::given(self.now(), fault));
    }

    /// Faults of requests and power cuts that were given and are not over.
    pub fn active_faults(&self) -> Vec<ActiveFault> {
        self.faults.as_ref().map_or_else(Vec::new, |faults| faults.active(self.now(), self.troubles()))
    }

    /// The log of faults since the last call, in order: those that were given, and the hits of faults of requests and
    /// power cuts.
    pub fn take_fault_log(&mut self) -> Vec<Injected> {
        let mut log = std::mem::take(&mut self.fault_log);
        self.faults.iter_mut().for_each(|faults| log.append(&mut faults.log));
        log
    }

    /// Whether the request with this tag failed because [`Effect::Full`](crate::Effect::Full) refused it. It is told
    /// once.
    pub fn was_refused_as_full(&mut self, tag: u32) -> bool {
        self.faults.as_mut().is_some_and(|faults| faults.took_no_room(tag))
    }

    /// Gives the drive a request as the faults leave it.
    pub(crate) fn submit_under_faults(&mut self, tag: u32, request: &Request, cells: &[u8]) -> Result<(), DriveError> {
        let (now, before) = (self.now(), self.before);
        // A flush covers the requests that the drive has completed, although nobody has asked for their answers.
        let mut completions = Completions::default();
        if self.host()?.has_news() {
            self.step_drive(&mut completions)?;
        }
        let Some(faults) = &mut self.faults else { return Ok(()) };
        faults.take_in(now, before, &mut completions);
        let sent = faults.submit(now, tag, request, cells);
        let reads = faults.take_reads();
        let (request, changed) = match sent {
            Sent::Nothing => return Ok(()),
            Sent::AsAsked => (*request, None),
            Sent::Changed(request, cells) => (request, cells),
        };
        let device = self.host()?.device();
        for (first_sector, end) in reads {
            // It finds the pages before the request that is given after it.
            let sectors = (end - first_sector) as u32;
            let read = Request { op: HostOp::Read, fua: false, first_sector, sectors, ..request };
            device.submit_cells(OF_FAULTS, &read, &[]);
        }
        device.submit_cells(tag, &request, changed.as_deref().unwrap_or(cells));
        Ok(())
    }

    /// Gives answers that faults have kept until now. `false`: there are none, and the drive wakes for the next one.
    pub(crate) fn release_held(&mut self, completions: &mut Completions) -> Result<bool, DriveError> {
        let (now, before) = (self.now(), self.before);
        let Some(faults) = &mut self.faults else { return Ok(false) };
        if faults.release(now, completions) {
            return Ok(true);
        }
        // The drive itself wakes at a moment that has come.
        let next = faults
            .wake
            .take_if(|wake| *wake <= now)
            .or_else(|| faults.next_answer().into_iter().chain(faults.wake).min());
        if let Some(next) = next.filter(|next| *next > now) {
            self.host()?.device().wake_at(next - before);
        }
        Ok(false)
    }

    /// Takes completions of the drive through the faults.
    pub(crate) fn take_in(&mut self, completions: &mut Completions) {
        let (now, before) = (self.now(), self.before);
        if let Some(faults) = self.faults.as_mut().filter(|_| !completions.done.is_empty()) {
            faults.take_in(now, before, completions);
            faults.release(now, completions);
        }
    }
}

/// Whether a drive with `count` parts of a kind has this one.
fn check_part(what: &str, number: u32, count: u32) -> Result<(), DriveError> {
    let refused = || format!("there is no {what} {number}: this drive has {count}, numbered from 0");
    if number < count { Ok(()) } else { Err(DriveError::Unsupported(refused())) }
}
