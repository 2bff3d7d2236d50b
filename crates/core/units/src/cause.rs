//! Why a flash command exists: the one list used by counters, WAF, waiting times and laws.

/// The cause of a flash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The host asked for this page.
    Host = 0,
    /// Garbage collection: relocation of valid pages and the erase that follows.
    Gc,
    /// Merge of log and data blocks in a hybrid mapping.
    Merge,
    /// Translation pages of a demand-paged mapping.
    Mapping,
    /// Reads and programs that complete a block or page around host data.
    Padding,
    /// Parity reads and programs, commits included.
    Parity,
    /// Code blocks of a coded stripe.
    Code,
    /// The drive's own records: trim tombstones, journals, checkpoints.
    Metadata,
    /// Wear levelling and relocation away from failing blocks.
    Wear,
    /// Reconstruction after a die or channel was lost.
    Rebuild,
    /// Moving what is valid in blocks with one bit a cell into others.
    Fold,
    /// Reading a page again whose errors could not be corrected.
    Retry,
    /// Writing a block anew that was read too often or is too old.
    Refresh,
}

/// Every cause, in display order; the index is the discriminant.
pub const CAUSES: [Cause; 13] = [
    Cause::Host,
    Cause::Gc,
    Cause::Merge,
    Cause::Mapping,
    Cause::Padding,
    Cause::Parity,
    Cause::Code,
    Cause::Metadata,
    Cause::Wear,
    Cause::Rebuild,
    Cause::Fold,
    Cause::Retry,
    Cause::Refresh,
];

/// Causes there were from the beginning: result hashes mix what the later ones count only where it is not zero.
pub const FIRST_CAUSES: usize = 10;

/// Number of causes a die can be busy for.
pub const DIE_CAUSES: usize = CAUSES.len();

impl Cause {
    /// The name used in results, configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Gc => "gc",
            Cause::Merge => "merge",
            Cause::Mapping => "mapping",
            Cause::Padding => "padding",
            Cause::Parity => "parity",
            Cause::Code => "code",
            Cause::Metadata => "metadata",
            Cause::Wear => "wear",
            Cause::Rebuild => "rebuild",
            Cause::Fold => "fold",
            Cause::Retry => "retry",
            Cause::Refresh => "refresh",
        }
    }

    /// Whether commands of this cause read pages of the drive's own, and none of the host's.
    #[inline]
    pub const fn is_own(self) -> bool {
        matches!(self, Cause::Mapping | Cause::Metadata)
    }

    /// The cause as a table index.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The cause of a waiting nanosecond: a cause of commands, or a resource that is not a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// A command of this cause was in the way.
    Cause(Cause),
    /// The channel was moving another die's data.
    Bus,
    /// The request stood in the host's queue before the drive took it, or inside a layer, behind others of its stripe
    /// or before a gate.
    Queue,
    /// The host link was moving the data of other requests.
    Link,
    /// The cores of the controller were busy with other requests.
    Firmware,
    /// No free block: the drive had to reclaim space before it could accept the request.
    Space,
}

/// Number of waiting kinds: the causes, then the resources.
pub const WAIT_KINDS: usize = DIE_CAUSES + RESOURCES.len();

/// What is waited for and is not a command, in the order of [`Wait::index`].
const RESOURCES: [&str; 5] = ["bus", "queue", "link", "firmware", "space"];

impl Wait {
    /// The waiting kind as a table index, causes first.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Wait::Cause(cause) => cause.index(),
            Wait::Bus => DIE_CAUSES,
            Wait::Queue => DIE_CAUSES + 1,
            Wait::Link => DIE_CAUSES + 2,
            Wait::Firmware => DIE_CAUSES + 3,
            Wait::Space => DIE_CAUSES + 4,
        }
    }

    /// Name of the waiting kind at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`WAIT_KINDS`].
    pub fn name_at(index: usize) -> &'static str {
        match index.checked_sub(DIE_CAUSES) {
            None => CAUSES[index].name(),
            Some(resource) => match RESOURCES.get(resource) {
                Some(name) => name,
                None => panic!("waiting kind {index} does not exist (limit {WAIT_KINDS})"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_and_names_agree() {
        for (index, cause) in CAUSES.iter().enumerate() {
            assert_eq!(cause.index(), index);
            assert_eq!(Wait::name_at(index), cause.name());
        }
        assert_eq!(Wait::name_at(Wait::Space.index()), "space");
        assert_eq!(Wait::Space.index() + 1, WAIT_KINDS);
    }
}
