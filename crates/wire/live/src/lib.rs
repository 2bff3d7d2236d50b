//! A page that shows what goes on now, and the same numbers as metrics, over HTTP.
//!
//! There are no sockets and no threads here: the owner of a viewer's socket moves bytes between it and a
//! [`Connection`].
//!
//! ```text
//! browser | Prometheus | curl -> Connection -> Question -> Kept -> Source: what is watched
//! ```
//! A [`Source`] knows what is watched and gives documents. [`Kept`] keeps them for a moment: many viewers ask no more
//! of the source than one.
//!
//! Protects: requests are answered that come from programs on this machine, or that know a token; pages of other sites
//! can neither read nor command; lengths of requests, memory of a connection and questions to the source are bounded.

mod connection;
mod guard;
mod metrics;
mod page;
mod reply;
mod source;

pub use connection::Connection;
pub use guard::{Access, AccessError};
pub use metrics::{Exposition, exposition};
pub use reply::Reply;
pub use source::{Kept, Question, Source};
