//! Lives that once went wrong: each as its steps were when they could not be made fewer.
//!
//! `w3+2` writes pages 3 and 4, `t` trims and `r` reads; `c7` cuts power after 7 events.

use crate::drawn::Drawn;
use ftl::mapping::mappings;
use nand::CountedFlash;
use testing::Step;

fn step(word: &str) -> Step {
    match word {
        "flush" => return Step::Flush,
        "idle" => return Step::Idle,
        _ => {}
    }
    let (letter, numbers) = word.split_at(1);
    let number = |text: &str| -> u32 { text.parse().unwrap_or_else(|_| panic!("{word} is no step")) };
    let extent = || numbers.split_once('+').map(|(first, pages)| (number(first), number(pages)));
    match (letter, extent()) {
        ("w", Some((first, pages))) => Step::Write { first, pages, mask: 0, fua: false },
        ("r", Some((first, pages))) => Step::Read { first, pages },
        ("t", Some((first, pages))) => Step::Trim { first, pages },
        ("c", None) => Step::Cut(number(numbers)),
        _ => panic!("{word} is no step"),
    }
}

/// Lives through `steps` on the drive drawn from `seed`, which is still `drive`.
fn live(seed: u64, drive: &str, steps: &str) {
    let mapping = mappings().into_iter().find(|mapping| drive.split(' ').next() == Some(mapping.name));
    let drawn = Drawn::new(&mapping.expect("the name is in the table"), seed, 0);
    assert!(format!("{drawn:?}").starts_with(drive), "{seed} draws another drive now: {drawn:?}");
    let steps: Vec<Step> = steps.split_whitespace().map(step).collect();
    drawn.host::<CountedFlash>(None).live(&steps);
}

/// Two lanes whose data cannot leave them, both full, collected each other's tombstones without end.
#[test]
fn an_idle_time_of_full_lanes_with_tombstones_ends() {
    live(
        5_525_992_060_754_923_048,
        "page with 40 pages on 2 planes of 7 blocks of 4 pages",
        "w47+4 w37+2 w36+1 w0+1 w45+1 c3 w1+1 w19+3 w50+1 w22+2 w38+2 w18+2 w1+1 w60+3 w47+1 w53+3 w76+1 w64+3 t95+1 \
         w54+2 w15+1 w27+1 w3+2 w26+3 w69+1 w9+3 w22+1 w79+1 t10+4 w88+4 w12+1 w12+2 w15+1 idle w20+3 t59+4 flush \
         flush t63+3 w43+1 w44+2 w15+3 w46+1 w19+1 w40+4 w15+1 t26+4 w50+2 w0+3 w30+3 t42+4 w48+1 w46+1 w30+2 w34+2 \
         idle w6+2 r0+1 t33+4 w32+1 w66+2 w31+4 w21+2 w63+2",
    );
}

/// One lane's collection used what the lane asked before it could spare, and nobody asked that one again.
#[test]
fn a_write_finds_the_room_of_a_lane_that_another_collection_used() {
    live(
        13_537_560_602_391_747_345,
        "tpm with 38 pages on 2 planes of 10 blocks of 5 pages",
        "w24+4 w83+3 w63+2 w68+4 w66+2 w39+2 w49+3 w57+1 w20+4 w1+1 w11+2 w40+4 w91+2 w24+1 w57+1 w32+2 w92+2 w91+3 \
         w33+2 t64+2 w7+2 w47+1 flush w91+2 w85+2 w33+2 w62+3 w88+1 w35+3 w53+3 w30+1 w45+2 w37+1 w46+1 r14+3 w15+4 \
         c1 w79+1 w86+2 w54+1 t83+4 w64+3 w30+3 w32+1 t2+1 w52+1 w35+1 r0+1 w32+3 w83+4 w46+3 w26+1 w71+1 w40+3 \
         t55+3 w67+4 flush t8+1 w83+3 r15+2 w85+4 w92+2 w32+4 w76+1 w32+1 c7 w45+3 w16+1 w16+1 w62+4 r0+1 w0+1 w2+2 \
         t84+1 w4+1 w5+4",
    );
}
