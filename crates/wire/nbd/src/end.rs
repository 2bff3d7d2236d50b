//! Why a connection ended.

/// Why no more requests come.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The client said that it was done.
    #[error("the client disconnected")]
    Disconnected,
    /// The client gave up while options were negotiated.
    #[error("the client left while options were negotiated")]
    Aborted,
    /// The socket ended; see [`crate::Connection::hung_up`].
    #[error("the client hung up")]
    HungUp,
    /// [`crate::Connection::shut_down`] was called.
    #[error("the server shut down")]
    ShutDown,
    /// The client set flags of the handshake that nobody knows.
    #[error("unknown flags of the client: {0:#010x}")]
    ClientFlags(u32),
    /// An option did not begin as options do.
    #[error("an option began with {0:#018x}")]
    OptionMagic(u64),
    /// A client without fixed newstyle sent another option than the name of an export, which cannot be
    /// answered.
    #[error("option {0} of a client without fixed newstyle negotiation")]
    OldClient(u32),
    /// An option was longer than what is worth skipping.
    #[error("option {option} with {length} bytes")]
    LongOption {
        /// Number of the option.
        option: u32,
        /// Bytes it was said to have.
        length: u32,
    },
    /// The client asked for another export in the one way that has no answer.
    #[error("there is no export {0:?}")]
    UnknownExport(String),
    /// A request did not begin as requests do.
    #[error("a request began with {0:#010x}")]
    RequestMagic(u32),
    /// A write was longer than what is worth skipping.
    #[error("a write of {0} bytes")]
    LongWrite(u32),
    /// A part of a long read failed after its first part was sent as a success; see [`crate::Connection::split`].
    #[error("a read failed after its first bytes were sent: {0}")]
    LateError(crate::ErrorNumber),
}

impl End {
    /// Whether both sides kept to the protocol.
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Disconnected | Self::Aborted | Self::ShutDown)
    }
}
