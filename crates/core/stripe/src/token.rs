//! Tokens of requests to the mapping.

layer::tag_kinds! {
    /// Requests to the mapping. Their number is the job's, unless another one is named here.
    pub(crate) Asked, 5 bits of index:
    /// The newest version of a data page: its index in the stripe.
    Newest,
    /// What the parity on flash covers of a data page: its index.
    Old,
    /// A row of the parity on flash.
    Parity,
    /// The program of a data page: its index.
    Data,
    /// The program of a row of the new parity, a trim, or a page that is written again.
    Fresh,
    /// The trims of several jobs are written down; there is no number.
    Log,
    /// A flush of the host, by its slot.
    Flush,
    /// A run of pages that an operation reads, by the operation.
    Read,
    /// A member of a stripe, read for a page whose chip is busy: its slot, and the member.
    Around
}

pub(crate) type Tag = layer::Tag<Asked>;
