//! The gate of a stripe: shared by data writes, exclusive for read-modify-write, commit and rebuild.

use std::collections::VecDeque;

/// How an operation passes a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateMode {
    /// Together with other shared holders.
    Shared,
    /// Alone.
    Exclusive,
}

/// A gate with a waiting line in order of arrival. Nobody overtakes, so an exclusive holder is
/// never starved; those let in are named in order, so a run never depends on chance.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    shared: u32,
    exclusive: bool,
    line: VecDeque<(GateMode, u32)>,
}

impl Gate {
    /// An open gate.
    pub fn new() -> Self {
        Self::default()
    }

    fn admits(&self, mode: GateMode) -> bool {
        match mode {
            GateMode::Shared => !self.exclusive,
            GateMode::Exclusive => !self.exclusive && self.shared == 0,
        }
    }

    fn take(&mut self, mode: GateMode) {
        match mode {
            GateMode::Shared => self.shared += 1,
            GateMode::Exclusive => self.exclusive = true,
        }
    }

    /// Passes at once (`true`) or joins the line as `ticket`.
    pub fn enter(&mut self, mode: GateMode, ticket: u32) -> bool {
        let passes = self.line.is_empty() && self.admits(mode);
        if passes {
            self.take(mode);
        } else {
            self.line.push_back((mode, ticket));
        }
        passes
    }

    /// Leaves the gate; `admitted` gets the tickets of those who may pass now.
    ///
    /// # Panics
    /// If nobody holds the gate in this mode.
    pub fn leave(&mut self, mode: GateMode, admitted: &mut Vec<u32>) {
        match mode {
            GateMode::Shared => {
                assert!(self.shared > 0, "nobody shares the gate");
                self.shared -= 1;
            }
            GateMode::Exclusive => {
                assert!(self.exclusive, "nobody holds the gate alone");
                self.exclusive = false;
            }
        }
        while let Some(&(mode, ticket)) = self.line.front() {
            if !self.admits(mode) {
                break;
            }
            self.line.pop_front();
            self.take(mode);
            admitted.push(ticket);
        }
    }

    /// Nobody holds the gate and nobody waits.
    pub fn is_idle(&self) -> bool {
        self.shared == 0 && !self.exclusive && self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exclusive_waiter_is_not_overtaken_by_later_shared_ones() {
        let mut gate = Gate::new();
        let mut admitted = Vec::new();
        assert!(gate.enter(GateMode::Shared, 1));
        assert!(!gate.enter(GateMode::Exclusive, 2));
        assert!(!gate.enter(GateMode::Shared, 3));
        gate.leave(GateMode::Shared, &mut admitted);
        assert_eq!(admitted, [2]);
        gate.leave(GateMode::Exclusive, &mut admitted);
        assert_eq!(admitted, [2, 3]);
    }

    proptest! {
        #[test]
        fn holders_never_conflict_and_everybody_passes(modes in prop::collection::vec(any::<(bool, bool)>(), 1..60)) {
            let mut gate = Gate::new();
            let (mut inside, mut passed) = (Vec::new(), 0);
            let mode = |exclusive| if exclusive { GateMode::Exclusive } else { GateMode::Shared };
            let mut admitted = Vec::new();
            for (ticket, &(exclusive, leave)) in modes.iter().enumerate() {
                if gate.enter(mode(exclusive), ticket as u32) { admitted.push(ticket as u32); }
                let settle = |admitted: &mut Vec<u32>, inside: &mut Vec<u32>, passed: &mut usize| {
                    *passed += admitted.len();
                    inside.append(admitted);
                    let alone = inside.iter().any(|&t| modes[t as usize].0);
                    assert!(!alone || inside.len() == 1, "conflict: {inside:?}");
                };
                settle(&mut admitted, &mut inside, &mut passed);
                if leave && !inside.is_empty() {
                    let ticket = inside.remove(0);
                    gate.leave(mode(modes[ticket as usize].0), &mut admitted);
                    settle(&mut admitted, &mut inside, &mut passed);
                }
            }
            while !inside.is_empty() {
                let ticket = inside.remove(0);
                gate.leave(mode(modes[ticket as usize].0), &mut admitted);
                passed += admitted.len();
                inside.append(&mut admitted);
            }
            prop_assert_eq!(passed, modes.len());
            prop_assert!(gate.is_idle());
        }
    }
}
