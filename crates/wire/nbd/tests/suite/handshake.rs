//! Before the first request.

use nbd::{End, Export, ExportError, MOST_NAME, MOST_PAYLOAD};

use crate::client::*;

/// What the options get for an answer, after the flags.
fn replies(options: &[Vec<u8>]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut server = Server::started(&export(), &flags(3));
    option_replies(&server.say(&options.concat()))
}

fn kinds(options: &[Vec<u8>]) -> Vec<u32> {
    replies(options).iter().map(|reply| reply.1).collect()
}

fn end_of(bytes: &[u8]) -> Option<End> {
    let mut server = Server::new(&export());
    server.say(bytes);
    assert_eq!(server.connection.is_closed(), server.connection.end().is_some());
    server.connection.end().cloned()
}

/// `INFO_EXPORT` of the drive of the tests with these flags.
fn info_export(flags: u16) -> Vec<u8> {
    [&[0, 0], &(DRIVE_BYTES as u64).to_be_bytes()[..], &flags.to_be_bytes()].concat()
}

#[test]
fn the_server_greets_first() {
    let mut server = Server::new(&export());
    assert_eq!(server.say(&[]), GREETING);
    assert!(!server.connection.is_serving() && !server.connection.is_closed());
}

#[test]
fn flags_of_the_client() {
    for known in 0..4 {
        assert_eq!(end_of(&flags(known)), None);
    }
    assert_eq!(end_of(&flags(4)), Some(End::ClientFlags(4)));
    assert_eq!(end_of(&flags(0x8000_0003)), Some(End::ClientFlags(0x8000_0003)));
}

#[test]
fn export_name_has_zeroes_unless_they_are_not_wanted() {
    for name in ["", "drive"] {
        let mut server = Server::started(&export(), &flags(3));
        let short = server.say(&option(EXPORT_NAME, name.as_bytes()));
        assert_eq!(short, info_export(0b110_1101)[2..]);
        assert!(server.connection.is_serving());
        let mut server = Server::started(&export(), &flags(1));
        assert_eq!(server.say(&option(EXPORT_NAME, name.as_bytes())), [short, vec![0; 124]].concat());
        assert_eq!(server.say(&request(0, FLUSH, 1, 0, 0)), simple(1, 0));
    }
    let unknown = [flags(3), option(EXPORT_NAME, b"other")].concat();
    assert_eq!(end_of(&unknown), Some(End::UnknownExport("other".to_owned())));
    let long = [flags(3), option(EXPORT_NAME, &[b'x'; MOST_NAME + 1])].concat();
    assert_eq!(end_of(&long), Some(End::LongOption { option: EXPORT_NAME, length: MOST_NAME as u32 + 1 }));
}

#[test]
fn a_client_without_fixed_newstyle_can_only_name_an_export() {
    let mut server = Server::started(&export(), &flags(0));
    assert_eq!(server.say(&option(EXPORT_NAME, b"")).len(), 134);
    assert_eq!(end_of(&[flags(0), option(LIST, &[])].concat()), Some(End::OldClient(LIST)));
}

#[test]
fn abort_is_acknowledged_and_ends() {
    assert_eq!(replies(&[option(ABORT, &[])]), [(ABORT, ACK, vec![])]);
    assert_eq!(end_of(&[flags(3), option(ABORT, &[])].concat()), Some(End::Aborted));
}

#[test]
fn list_names_the_one_export() {
    let server = [counted(b"drive"), b"for tests".to_vec()].concat();
    assert_eq!(replies(&[option(LIST, &[])]), [(LIST, 2, server), (LIST, ACK, vec![])]);
    assert_eq!(kinds(&[option(LIST, b"x")]), [INVALID]);
}

#[test]
fn info_tells_what_is_asked_and_go_goes() {
    let number = |n: u32| n.to_be_bytes();
    let sizes = [&[0, 3], &number(512)[..], &number(4096), &number(MOST_PAYLOAD)].concat();
    let all = [info_export(0b110_1101), b"\0\x01drive".to_vec(), b"\0\x02for tests".to_vec(), sizes];
    for kind in [INFO, GO] {
        let mut server = Server::started(&export(), &flags(3));
        // Order and repetition do not matter, nor do kinds nobody knows.
        let told = option_replies(&server.say(&option(kind, &go("drive", &[3, 2, 99, 1, 1]))));
        let mut expected: Vec<_> = all.iter().map(|data| (kind, 3, data.clone())).collect();
        expected.push((kind, ACK, vec![]));
        assert_eq!(told, expected);
        assert_eq!(server.connection.is_serving(), kind == GO);
        assert_eq!(replies(&[option(kind, &go("", &[]))]), [(kind, 3, all[0].clone()), (kind, ACK, vec![])]);
        assert_eq!(kinds(&[option(kind, &go("other", &[])), option(LIST, &[])]), [UNKNOWN, 2, ACK]);
    }
}

#[test]
fn go_that_is_cut_or_too_long_is_invalid() {
    let whole = go("drive", &[1, 3]);
    for kind in [INFO, GO] {
        for cut in 0..whole.len() {
            assert_eq!(kinds(&[option(kind, &whole[..cut])]), [INVALID]);
        }
        assert_eq!(kinds(&[option(kind, &[&whole[..], b"x"].concat())]), [INVALID]);
        assert_eq!(kinds(&[option(kind, b"\xff\xff\xff\xff\0\0")]), [INVALID]);
        assert_eq!(kinds(&[option(kind, &go(&"x".repeat(MOST_NAME + 1), &[]))]), [INVALID]);
    }
}

#[test]
fn flags_follow_what_is_offered() {
    let flags_of = |export: &Export, start: &[Vec<u8>]| {
        let mut server = Server::started(export, &flags(3));
        let told = option_replies(&server.say(&[start.concat(), option(INFO, &go("", &[]))].concat()));
        let info = told.iter().find(|reply| reply.1 == 3).expect("an export is described").2.clone();
        u16::from_be_bytes([info[10], info[11]])
    };
    let base = export();
    assert_eq!(flags_of(&base, &[]), 0b110_1101);
    assert_eq!(flags_of(&base, &[option(STRUCTURED, &[])]), 0b1110_1101);
    assert_eq!(flags_of(&Export { read_only: true, ..base.clone() }, &[]), 0b1111);
    assert_eq!(flags_of(&Export { multi_conn: true, fua: false, ..base.clone() }, &[]), 0b1_0110_0101);
    assert_eq!(flags_of(&Export { cache: true, flush: false, ..base.clone() }, &[]), 0b100_0110_1001);
    assert_eq!(flags_of(&Export { fast_zero: true, trim: false, ..base.clone() }, &[]), 0b1000_0100_1101);
    assert_eq!(flags_of(&Export { fast_zero: true, write_zeroes: false, ..base }, &[]), 0b10_1101);
}

#[test]
fn options_that_are_not_served() {
    for unknown in [0, 4, STARTTLS, 11, 12, 999, u32::MAX] {
        assert_eq!(replies(&[option(unknown, &[])]), [(unknown, UNSUP, vec![])]);
    }
    assert_eq!(kinds(&[option(STARTTLS, b"x"), option(STRUCTURED, b"x"), option(77, b"x")]), [INVALID, INVALID, UNSUP]);
    assert_eq!(kinds(&[option(STRUCTURED, &[]), option(STRUCTURED, &[])]), [ACK, ACK]);
}

#[test]
fn long_options_are_skipped_and_refused() {
    let long = vec![b'x'; 100_000];
    let mut server = Server::started(&export(), &flags(3));
    let before = server.connection.memory_bytes();
    for known in [LIST, INFO, GO, STRUCTURED, LIST_META, SET_META, ABORT] {
        assert_eq!(option_replies(&server.say(&option(known, &long))), [(known, TOO_BIG, vec![])]);
    }
    for unknown in [STARTTLS, 11, 999] {
        assert_eq!(option_replies(&server.say(&option(unknown, &long))), [(unknown, UNSUP, vec![])]);
    }
    assert_eq!(server.connection.memory_bytes(), before);
    let endless = [flags(3), option(LIST, &[])[..12].to_vec(), vec![0xff; 4]].concat();
    assert_eq!(end_of(&endless), Some(End::LongOption { option: LIST, length: u32::MAX }));
    assert_eq!(end_of(&[flags(3), b"GET / HT".to_vec()].concat()), Some(End::OptionMagic(0x4745_5420_2f20_4854)));
}

#[test]
fn contexts_are_listed_and_chosen() {
    let told = |id: u32| [&id.to_be_bytes()[..], b"base:allocation"].concat();
    let structured = option(STRUCTURED, &[]);
    let ask = |kind, name: &str, queries: &[&str]| {
        let mut answers = replies(&[structured.clone(), option(kind, &contexts(name, queries))]);
        answers.remove(0);
        answers
    };
    for queries in [&[][..], &["base:"], &["base:allocation"], &["x:y", "base:allocation", "base:"]] {
        assert_eq!(ask(LIST_META, "drive", queries), [(LIST_META, 4, told(0)), (LIST_META, ACK, vec![])]);
    }
    for queries in [&["x:"][..], &["base:other"], &["base"], &[""]] {
        assert_eq!(ask(LIST_META, "", queries), [(LIST_META, ACK, vec![])]);
    }
    for queries in [&["base:allocation"][..], &["qemu:", "base:allocation", "base:allocation"]] {
        assert_eq!(ask(SET_META, "drive", queries), [(SET_META, 4, told(1)), (SET_META, ACK, vec![])]);
    }
    for queries in [&[][..], &["base:"], &["x:y"]] {
        assert_eq!(ask(SET_META, "", queries), [(SET_META, ACK, vec![])]);
    }
    for kind in [LIST_META, SET_META] {
        assert_eq!(ask(kind, "other", &["base:allocation"]), [(kind, UNKNOWN, vec![])]);
        assert_eq!(kinds(&[option(kind, &contexts("", &["base:allocation"]))]), [INVALID], "not structured yet");
        let whole = contexts("drive", &["base:allocation", "x:y"]);
        for cut in 0..whole.len() {
            assert_eq!(kinds(&[structured.clone(), option(kind, &whole[..cut])]), [ACK, INVALID]);
        }
        assert_eq!(kinds(&[structured.clone(), option(kind, &[&whole[..], b"x"].concat())]), [ACK, INVALID]);
        // More queries than the message has room for.
        assert_eq!(kinds(&[structured.clone(), option(kind, b"\0\0\0\0\xff\xff\xff\xff")]), [ACK, INVALID]);
    }
}

#[test]
fn the_last_choice_of_contexts_holds() {
    let set = |name: &str, queries: &[&str]| option(SET_META, &contexts(name, queries));
    let chosen = set("", &["base:allocation"]);
    let status = request(0, STATUS, 1, 0, 4096);
    let with = |options: &[Vec<u8>]| {
        let start = [flags(3), option(STRUCTURED, &[]), options.concat(), option(GO, &go("", &[]))].concat();
        let answer = Server::started(&export(), &start).say(&status);
        answer != error_chunk(1, EINVAL)
    };
    assert!(with(std::slice::from_ref(&chosen)));
    assert!(!with(&[]));
    for lost in [set("", &[]), set("", &["x:y"]), set("other", &["base:allocation"]), option(SET_META, b"x")] {
        assert!(!with(&[chosen.clone(), lost.clone()]));
        assert!(with(&[lost, chosen.clone()]));
    }
}

#[test]
fn exports_are_checked() {
    let with = |change: fn(&mut Export)| {
        let mut export = export();
        change(&mut export);
        export.check()
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(with(|export| export.name = "x".repeat(4097)), Err(ExportError::Name));
    assert_eq!(with(|export| export.description = "x".repeat(4097)), Err(ExportError::Name));
    assert_eq!(with(|export| export.least_block = 0), Err(ExportError::LeastBlock(0)));
    assert_eq!(with(|export| export.least_block = 768), Err(ExportError::LeastBlock(768)));
    assert_eq!(with(|export| export.least_block = 128 << 10), Err(ExportError::LeastBlock(128 << 10)));
    assert_eq!(with(|export| export.preferred_block = 256), Err(ExportError::PreferredBlock(256)));
    assert_eq!(with(|export| export.preferred_block = 64 << 20), Err(ExportError::PreferredBlock(64 << 20)));
    assert_eq!(with(|export| export.size = 1000), Err(ExportError::Size { size: 1000, least_block: 512 }));
    assert_eq!(with(|export| export.size = 1 << 63), Err(ExportError::Size { size: 1 << 63, least_block: 512 }));
    assert_eq!(with(|export| export.size = 0), Ok(()));
}
