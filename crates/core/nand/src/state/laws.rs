//! Laws that the mutation check breaks on purpose, to see that its tests notice.

/// A law of the command waist or of flash itself, broken on purpose by the mutation check. In a
/// build without debug assertions the choice does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawBroken {
    /// Law 2: an erase no longer waits for programs that supersede a page of its block.
    PinsOff,
    /// Law 1: the sequence number is taken when a program completes.
    SequenceAtCompletion,
    /// Law 3: a block is handed out when its erase is issued.
    EarlyReuse,
    /// Law 2, of folds: a block with one bit a cell is erased before its copies are down.
    EarlyFold,
    /// Law 9: a trim does not hold the page it unmaps.
    TrimHoldsOff,
    /// Law 9: a flush does not wait for the programs before it.
    FlushBarrierOff,
    /// Law 9: a flush leaves in volatile memory what waits there until a program is full.
    FlushSkipsGather,
    /// Law 2, of groups: pages that a part replaces are not held until the whole group is on flash.
    GroupHoldsOff,
    /// A part of a group counts after a power cut, whether or not the group is whole.
    GroupsBroken,
    /// Volatile memory is guessed anew when flash is served again: it holds pages for which nothing waits.
    GuessesMemory,
}
