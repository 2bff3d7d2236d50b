//! Bytes from anywhere. The server of these tests checks each request that it is given.

use proptest::prelude::*;

use crate::client::*;

/// What a connection may hold: its input buffer, and answers to reads of the whole drive of the tests,
/// rounded up.
const MOST_BYTES: usize = 8 << 20;

fn survives(bytes: &[u8], pieces: &[usize]) -> Result<(), TestCaseError> {
    let mut server = Server::new(&export());
    server.sparse = bytes.len().is_multiple_of(2);
    server.say_in_pieces(bytes, pieces);
    prop_assert!(server.connection.memory_bytes() <= MOST_BYTES, "{} bytes", server.connection.memory_bytes());
    prop_assert_eq!(server.connection.outstanding(), 0);
    server.connection.hung_up();
    prop_assert!(server.connection.is_closed());
    Ok(())
}

fn conversation() -> Vec<u8> {
    let requests = [
        write(FUA, 1, 4096, &[5; 4096]),
        request(0, READ, 2, 0, 65536),
        request(REQ_ONE, STATUS, 3, 0, 65536),
        write(0, 4, 0, &vec![6; 78 * 512]),
        request(NO_HOLE, ZEROES, 5, 8192, 8192),
        request(DF, READ, 6, 4096, 8192),
        request(0, TRIM, 7, 0, 4096),
        request(0, FLUSH, 8, 0, 0),
    ];
    let options = [flags(3), option(LIST, &[]), option(INFO, &go("drive", &[1, 2, 3]))].concat();
    [options, structured_start()[4..].to_vec(), requests.concat(), request(0, DISC, 9, 0, 0)].concat()
}

/// Structured requests with any fields, so that ranges are tried at their edges.
fn any_head() -> impl Strategy<Value = Vec<u8>> {
    let edge = prop_oneof![Just(0), Just(DRIVE_BYTES as u64), Just(u64::MAX), Just(1 << 32), any::<u64>()];
    let length = prop_oneof![Just(0), Just(512), Just(u32::MAX), Just(1 << 20), 0..100_000_u32];
    let place = (edge, -2_i64..3, length, prop_oneof![Just(512), Just(1)]);
    (0..64_u16, 0..9_u16, any::<u64>(), place).prop_map(|(flags, kind, cookie, (edge, steps, length, step))| {
        request(flags, kind, cookie, edge.wrapping_add_signed(steps * step), length)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        pieces in prop::collection::vec(1..99_usize, 1..4),
    ) {
        survives(&bytes, &pieces)?;
        survives(&[flags(3), bytes.clone()].concat(), &pieces)?;
        survives(&[simple_start(), bytes].concat(), &pieces)?;
    }

    #[test]
    fn any_options_are_survived(
        options in prop::collection::vec((0..13_u32, prop::collection::vec(0..9_u8, 0..60)), 0..20),
    ) {
        let options: Vec<_> = options.iter().map(|(number, data)| option(*number, data)).collect();
        survives(&[flags(3), options.concat()].concat(), &[usize::MAX])?;
    }

    #[test]
    fn any_requests_are_survived(
        heads in prop::collection::vec(any_head(), 0..30),
        filler in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        for start in [simple_start(), structured_start()] {
            survives(&[start, heads.concat(), filler.clone()].concat(), &[usize::MAX])?;
        }
    }

    #[test]
    fn changed_conversations_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        moved in any::<prop::sample::Index>(),
        pieces in prop::collection::vec(1..9000_usize, 1..4),
    ) {
        let mut bytes = conversation();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes, &pieces)?;
        let cut = cut.index(bytes.len());
        survives(&bytes[..cut], &pieces)?;
        bytes.rotate_left(moved.index(20));
        survives(&bytes, &pieces)?;
        bytes.drain(cut..(cut + 13).min(conversation().len()));
        survives(&bytes, &pieces)?;
    }
}

#[test]
fn the_conversation_is_valid_as_it_is() {
    let mut server = Server::new(&export());
    server.say(&conversation());
    assert_eq!(server.connection.end(), Some(&nbd::End::Disconnected));
}
