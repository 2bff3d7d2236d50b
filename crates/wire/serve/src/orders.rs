//! Requests of the protocol as orders to a target, and their costs.

use crate::target::{Order, OrderKind, Target};
use nbd::{Command, Connection, Request};

/// Most bytes that a trim counts as: it takes no memory, but time.
const TRIM_COST: u32 = 16 << 20;

/// The order of a request to the target; nothing, if it can be answered at once.
pub(crate) fn order_of(request: &Request) -> Option<Order> {
    let kind = match request.command {
        Command::Read => OrderKind::Read,
        Command::Write => OrderKind::Write,
        Command::Flush => OrderKind::Flush,
        Command::Trim => OrderKind::Trim,
        Command::WriteZeroes => OrderKind::Zeroes { keep: request.no_hole },
        Command::BlockStatus | Command::Cache => return None,
    };
    let is_empty = request.length == 0 && kind != OrderKind::Flush;
    (!is_empty).then_some(Order { kind, offset: request.offset, length: request.length, fua: request.fua })
}

/// Bytes that an order moves.
pub(crate) fn moved_by(order: &Order) -> u64 {
    if matches!(order.kind, OrderKind::Read | OrderKind::Write) { u64::from(order.length) } else { 0 }
}

/// Bytes that a request counts among the requests of its client.
pub(crate) fn cost_of(request: &Request) -> u64 {
    match request.command {
        Command::Trim | Command::WriteZeroes => request.length.min(TRIM_COST).into(),
        Command::Read | Command::Write => request.length.into(),
        _ => 0,
    }
}

/// Answers what needs no order.
pub(crate) fn answer_at_once(target: &mut dyn Target, connection: &mut Connection, request: Request) {
    match request.command {
        Command::BlockStatus => {
            let mut extents = Vec::new();
            if let Err(error) = target.extents(request.offset, request.length.into(), &mut extents) {
                connection.failed(request, error);
                return;
            }
            let told: u64 = extents.iter().map(|extent| extent.length).sum();
            let mut request = request;
            if told > 0 {
                request.length = told.min(request.length.into()) as u32; // the client asks for the rest
            }
            connection.extents(request, &extents);
        }
        Command::Read => connection.read(request, |_| Ok(())),
        Command::Cache | Command::Write | Command::Trim | Command::WriteZeroes | Command::Flush => {
            connection.done(request);
        }
    }
}
