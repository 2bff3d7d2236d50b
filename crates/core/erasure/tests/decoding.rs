//! Decoders: worked examples, and what must hold for any code.

use erasure::{CodeError, Decoder, GroupCode, Known};
use proptest::prelude::*;

#[test]
fn the_worked_example_of_lazy_scheduling() {
    // a b c d, then a+b, b+c, c+d, d+a.
    let known = Known::new(GroupCode::regular(4, 2).expect("a regular code"), Decoder::Peel);
    let [a, b, c, d, ab, bc, cd, da] = [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| 1_u32 << bit);
    let have = a | d | cd;
    assert_eq!(known.from(have), a | d | cd | c | da, "c follows, and d+a tells nothing new");
    for last in [b, ab, bc] {
        assert_eq!(known.from(have | last), 255, "any one of those left completes the read");
    }
    for have in [a | b | bc | d, a | b | ab | cd | da, ab | bc | cd | d] {
        assert!(known.decodes(have, a | b | c | d));
    }
    assert!(!known.decodes(a | b | ab, a | b | c | d));
}

#[test]
fn elimination_sees_the_cycle_of_code_blocks_and_peeling_does_not() {
    let code = GroupCode::regular(4, 2).expect("a regular code");
    let have = 0b0111_0000;
    assert_eq!(Known::new(code.clone(), Decoder::Gauss).from(have), 0b1111_0000);
    assert_eq!(Known::new(code, Decoder::Peel).from(have), have);
}

#[test]
fn mistakes_are_told() {
    assert!(matches!(GroupCode::parse("regular-5", 4), Err(CodeError::Edges { .. })));
    assert!(matches!(GroupCode::parse("regular-x", 4), Err(CodeError::Unknown(_))));
    assert!(matches!(GroupCode::parse("110 011", 4), Err(CodeError::Row { .. })));
    assert!(matches!(GroupCode::parse("0000", 4), Err(CodeError::Row { .. })));
    assert!(matches!(GroupCode::parse("peel-best", 5), Err(CodeError::OnlyFour(5))));
    assert!(["", " ", "  "].iter().all(|none| matches!(GroupCode::parse(none, 4), Err(CodeError::Unknown(_)))));
    assert!(matches!(GroupCode::regular(17, 2), Err(CodeError::TooMany { .. })));
    assert!(matches!(GroupCode::new(0, &[]), Err(CodeError::TooMany { .. })));
}

fn any_code() -> impl Strategy<Value = GroupCode> {
    (2..9_u32).prop_flat_map(|data| {
        prop::collection::vec(1..1_u32 << data, 1..9)
            .prop_map(move |rows| GroupCode::new(data, &rows).expect("rows fit"))
    })
}

proptest! {
    #[test]
    fn decoders_only_know_what_is_true(code in any_code(), have in any::<u32>(), blocks in any::<[u64; 8]>()) {
        let have = have & (u32::MAX >> (32 - code.elements()));
        let bits = |of: u32, most: u32| (0..most).filter(move |at| of >> at & 1 == 1);
        let value = |element| bits(code.vector(element), code.data()).fold(0, |sum, at| sum ^ blocks[at as usize]);
        let gauss = Known::new(code.clone(), Decoder::Gauss).from(have);
        let peel = Known::new(code.clone(), Decoder::Peel).from(have);
        prop_assert_eq!(have & !peel, 0);
        prop_assert_eq!(peel & !gauss, 0);
        for target in 0..code.data() {
            let sum = code.express(target, have);
            prop_assert_eq!(sum.is_some(), gauss >> target & 1 == 1);
            if let Some(of) = sum {
                prop_assert_eq!(of & !have, 0);
                let found = bits(of, code.elements()).fold(0, |sum, element| sum ^ value(element));
                prop_assert_eq!(found, blocks[target as usize]);
            }
        }
    }

    #[test]
    fn a_matrix_is_read_as_it_is_written(code in any_code()) {
        prop_assert_eq!(GroupCode::parse(&code.matrix(), code.data()).expect("it was written by the code"), code);
    }
}
