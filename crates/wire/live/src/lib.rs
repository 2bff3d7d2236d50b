//! A page that shows what goes on now, and the same numbers as metrics, over HTTP.
//!
//! ```text
//! browser | Prometheus | curl -> HTTP, a thread of its own -> Source -> what is watched
//! ```
//! The server knows nothing of drives: a [`Source`] gives it documents. That of a served drive is [`ControlSocket`],
//! one more client of the drive's control socket, so that the page, the metrics and `nandarium ctl` cannot disagree.
//!
//! Protects: only programs on this machine are answered, or who knows a token; pages of other sites can neither read
//! nor command; connections, lengths of requests and questions to the source are bounded; what is watched never waits.

mod control;
mod guard;
mod metrics;
mod page;
mod server;
mod source;

pub use control::ControlSocket;
pub use guard::{Access, AccessError};
pub use metrics::{Exposition, exposition};
pub use server::{WatchError, Watching};
pub use source::Source;
