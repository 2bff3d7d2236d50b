//! How bytes arrive does not matter.

use proptest::prelude::*;

use crate::client::*;

/// Requests of all sorts, long writes and refused ones among them.
fn any_request() -> impl Strategy<Value = Vec<u8>> {
    let place = (0..300_u64, 0..200_u32).prop_map(|(offset, length)| (offset * 4096, length * 512));
    let kind = prop_oneof![Just(READ), Just(TRIM), Just(ZEROES), Just(STATUS), Just(CACHE), 0..12_u16];
    let other =
        (kind, place.clone(), 0..32_u16, any::<u64>()).prop_map(|(kind, (offset, length), flags, cookie)| match kind {
            WRITE | DISC | FLUSH => request(0, FLUSH, cookie, 0, 0),
            _ => request(flags, kind, cookie, offset, length),
        });
    let writes = (place, any::<u8>(), any::<u64>()).prop_map(|((offset, length), byte, cookie)| {
        let payload: Vec<_> = (0..length).map(|at| byte.wrapping_add((at / 3) as u8)).collect();
        write(u16::from(byte & 1), cookie, offset, &payload)
    });
    prop_oneof![other, writes]
}

fn any_start() -> impl Strategy<Value = Vec<u8>> {
    let listed = [flags(3), option(99, &vec![1; 40_000]), option(LIST, &[]), structured_start()[4..].to_vec()].concat();
    prop_oneof![Just(simple_start()), Just(structured_start()), Just(listed)]
}

fn outcome(bytes: &[u8], pieces: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let mut server = Server::new(&export());
    server.sparse = true;
    let answers = server.say_in_pieces(bytes, pieces);
    assert_eq!(server.connection.outstanding(), 0);
    (answers, server.drive)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pieces_do_as_much_as_the_whole(
        start in any_start(),
        requests in prop::collection::vec(any_request(), 0..12),
        pieces in prop::collection::vec(prop_oneof![1..40_usize, 1..70_000_usize], 1..12),
    ) {
        let bytes = [start, requests.concat()].concat();
        prop_assert!(outcome(&bytes, &[usize::MAX]) == outcome(&bytes, &pieces));
    }

    #[test]
    fn single_bytes_do_as_much_as_the_whole(
        start in any_start(),
        requests in prop::collection::vec(any_request(), 0..4),
    ) {
        let bytes = [start, requests.concat()].concat();
        prop_assert!(outcome(&bytes, &[usize::MAX]) == outcome(&bytes, &[1]));
    }
}
