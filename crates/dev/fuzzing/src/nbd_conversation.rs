//! Any bytes from an NBD client. The first byte chooses what was agreed on before, the export, and how much
//! comes at once, the second one the parts in which long requests are handed out; requests must stay on the drive,
//! memory within bounds, and every connection must close.

use nbd::{Command, Connection, ErrorNumber, Export, Extent, MOST_PAYLOAD};

const DRIVE_BYTES: u64 = 1 << 16;
/// Input buffer, one payload, answers that wait: each with room to spare.
const MOST_MEMORY: usize = 4 * MOST_PAYLOAD as usize;

/// The client's flags, `STRUCTURED_REPLY`, `SET_META_CONTEXT` of base:allocation, `GO`.
const FLAGS: &[u8] = b"\0\0\0\x03";
const STRUCTURED: &[u8] = b"IHAVEOPT\0\0\0\x08\0\0\0\0\
    IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation";
const GO: &[u8] = b"IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";

/// # Panics
///
/// If the input breaks a law of the target.
pub fn nbd_conversation(bytes: &[u8]) {
    let &[choice, parts, ref rest @ ..] = bytes else { return };
    let start: &[&[u8]] = [&[][..], &[FLAGS], &[FLAGS, GO], &[FLAGS, STRUCTURED, GO]][usize::from(choice & 3)];
    let set = |bit: u8| choice & bit != 0;
    let mut export = Export::new("drive", DRIVE_BYTES);
    (export.read_only, export.cache, export.fast_zero) = (set(4), set(8), set(8));
    export.least_block = if set(16) { 1 } else { 512 };
    let most_at_once = [1, 7, 1000, usize::MAX][usize::from(choice >> 6)];

    // Only requests of more than 32 KiB are handed out in parts. Zeros behind the input are the payload of a write.
    let part = [None, Some(512), Some(4096), Some(36 << 10)][usize::from(parts & 3)];
    let payload_bytes = if parts & 4 == 0 { 0 } else { DRIVE_BYTES as usize };

    let mut connection = Connection::new(&export);
    connection.allow(part.unwrap_or(u32::MAX));
    let client = [&start.concat(), rest, &vec![0; payload_bytes]].concat();
    let mut left = client.as_slice();
    let mut payload = Vec::new();
    while !left.is_empty() && connection.end().is_none() {
        let space = connection.space();
        let count = left.len().min(space.len()).min(most_at_once);
        assert!(count > 0, "no space for bytes, though nothing is in the way");
        space[..count].copy_from_slice(&left[..count]);
        connection.filled(count);
        left = &left[count..];
        serve(&mut connection, &export, &mut payload, part, set(32));
        assert!(connection.memory_bytes() <= MOST_MEMORY, "{} bytes", connection.memory_bytes());
    }
    connection.hung_up();
    serve(&mut connection, &export, &mut payload, part, false);
    assert!(connection.is_closed() && connection.next_request().is_none());
}

/// Answers all requests, long ones in parts of `part` bytes, and takes all answers.
fn serve(connection: &mut Connection, export: &Export, payload: &mut Vec<u8>, part: Option<u32>, fails: bool) {
    loop {
        while let Some(request) = connection.next_request() {
            let end = request.offset.checked_add(u64::from(request.length)).expect("an end within 64 bits");
            assert!(end <= DRIVE_BYTES, "a request beyond the drive");
            assert!((request.offset | end) % u64::from(export.least_block) == 0, "half a block");
            assert!((request.length == 0) == (request.command == Command::Flush), "a request of nothing");
            connection.take_payload(payload);
            let carried = if request.command == Command::Write { request.length as usize } else { 0 };
            assert_eq!(payload.len(), carried, "not the payload");
            let extents = [Extent::hole(request.cookie % 9000), Extent::data(4096), Extent::hole(1 << 40)];
            match request.command {
                // Of the parts of a request not only the first one fails.
                _ if fails && (request.cookie ^ request.offset >> 12) % 2 == 0 => {
                    connection.failed(request, ErrorNumber::Io);
                }
                Command::Read => connection.read_sparse(request, &extents, |_, bytes| {
                    bytes.fill(1);
                    Ok(())
                }),
                Command::BlockStatus => connection.extents(request, &extents),
                command => {
                    let changes = matches!(command, Command::Write | Command::Trim | Command::WriteZeroes);
                    assert!(!(changes && export.read_only), "a change of what cannot be changed");
                    connection.done(request);
                }
            }
        }
        let count = connection.output().len();
        connection.taken(count);
        match part.filter(|_| connection.waits_for_memory()) {
            Some(part) => connection.split(part),
            None if count == 0 => return,
            None => {}
        }
    }
}
