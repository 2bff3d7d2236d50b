//! What the publication and closed forms say of codes.

use code::{Decoder, GroupCode, Misses, best_by_climbing, best_of_all, completion, counts, decodable_sets, decoded_after, misses, ways};
use engine::random::Stream;

/// Table 1 of the publication.
const TABLE_1: [&[u64]; 6] = [
    &[8, 16, 10],
    &[16, 45, 56, 17],
    &[32, 121, 162, 176, 26],
    &[64, 320, 492, 472, 512, 37],
    &[128, 841, 1570, 1737, 1570, 1408, 50],
    &[256, 2205, 4600, 4785, 4600, 5469, 3712, 65],
];

fn regular(n: u32, m: u32) -> GroupCode {
    GroupCode::regular(n, m).expect("a regular code")
}

#[test]
fn every_cell_of_the_published_table_is_met() {
    for (n, row) in (3..).zip(TABLE_1) {
        let counted: Vec<u64> = (1..=n).map(|m| decodable_sets(&regular(n, m), Decoder::Gauss)).collect();
        assert_eq!(counted, row, "n = {n}");
    }
}

#[test]
fn closed_forms_of_regular_codes() {
    let lucas = |k: u32| (0..k).fold((2_u64, 1_u64), |(a, b), _| (b, a + b)).0;
    let choose = |n: u64, k: u64| (0..k).fold(1, |c, i| c * (n - i) / (i + 1));
    for n in 3..9 {
        assert_eq!(decodable_sets(&regular(n, 1), Decoder::Gauss), 1 << n);
        assert_eq!(decodable_sets(&regular(n, 2), Decoder::Gauss), lucas(2 * n) - 2, "spanning trees of a wheel");
        assert_eq!(decodable_sets(&regular(n, n), Decoder::Gauss), u64::from(n * n + 1));
        let mds = GroupCode::mds(n).expect("an MDS code");
        assert_eq!(decodable_sets(&mds, Decoder::Gauss), choose(2 * u64::from(n), u64::from(n)));
    }
}

#[test]
fn what_peeling_misses() {
    let published: [&[u64]; 6] = [
        &[0, 0, 0],
        &[0, 0, 13, 0],
        &[0, 0, 21, 85, 0],
        &[0, 0, 54, 153, 346, 0],
        &[0, 0, 253, 679, 967, 1134, 0],
        &[0, 0, 733, 1424, 2539, 4452, 3291, 0],
    ];
    for (n, row) in (3..).zip(published) {
        let missed: Vec<u64> = (1..=n).map(|m| misses(&regular(n, m)).full).collect();
        assert_eq!(missed, row, "n = {n}");
    }
    assert_eq!(misses(&regular(4, 2)), Misses { full: 0, any: 4, data: 0 }, "the cycle of code blocks");
    let three = misses(&regular(4, 3));
    assert_eq!((three.any, three.data), (57, 33));
    assert_eq!(misses(&regular(4, 4)).any, 154);
    assert_eq!(misses(&regular(3, 2)).any, 3);
    assert_eq!([2, 3, 4, 5].map(|m| misses(&regular(5, m)).any), [5, 226, 425, 780]);
}

#[test]
fn with_peeling_two_edges_are_better_than_three_and_47_is_the_best() {
    assert_eq!(decodable_sets(&regular(4, 2), Decoder::Peel), 45);
    assert_eq!(decodable_sets(&regular(4, 3), Decoder::Peel), 43);
    assert_eq!(decodable_sets(&regular(4, 3), Decoder::Gauss), 56);
    let best = best_of_all(4, Decoder::Peel).expect("few enough");
    assert_eq!((best.sets, best.optima), (47, 4));
    let named = GroupCode::parse("peel-best", 4).expect("a named code");
    assert_eq!(decodable_sets(&named, Decoder::Peel), 47);
}

#[test]
fn the_best_of_all_codes() {
    for (n, tried, sets, optima) in [(3, 84, 16, 4), (4, 3060, 56, 1), (5, 324_632, 176, 11)] {
        let best = best_of_all(n, Decoder::Gauss).expect("few enough");
        assert_eq!((best.tried, best.sets, best.optima), (tried, sets, optima), "n = {n}");
        assert_eq!(decodable_sets(&best.code, Decoder::Gauss), sets, "the code shown has as many");
    }
    let six = GroupCode::parse("111100 111010 111001 100111 010111 001111", 6).expect("a matrix");
    assert_eq!(decodable_sets(&six, Decoder::Gauss), 576, "more than any regular code of six");
}

#[test]
fn climbing_finds_what_trying_all_finds() {
    assert_eq!(best_by_climbing(4, Decoder::Gauss, 40, 1).sets, 56);
    assert_eq!(best_by_climbing(4, Decoder::Peel, 40, 1).sets, 47);
    let five = best_by_climbing(5, Decoder::Gauss, 40, 1);
    assert_eq!(five.sets, 176);
    assert_eq!(best_by_climbing(5, Decoder::Gauss, 40, 1).code, five.code, "the same seed finds the same code");
}

#[test]
fn ways_to_serve_the_reads_of_the_example() {
    let code = regular(3, 2);
    let (x, y, z) = (1, 2, 4);
    for decoder in [Decoder::Peel, Decoder::Gauss] {
        assert_eq!(ways(&code, decoder, x | y, 0), 3);
        assert_eq!(ways(&code, decoder, z, 0), 1, "nothing is known that a code block could be used with");
        assert_eq!(ways(&code, decoder, z, x | y), 3);
        assert_eq!(ways(&code, decoder, x | y | z, 0), 16);
    }
}

/// Mean completion times by code, from formulas of order statistics; exponential service, mean 1.
#[test]
fn completion_times_follow_order_statistics() {
    let near = |measured: f64, expected: f64| assert!((measured - expected).abs() < 5e-5, "{measured} against {expected}");
    for (n, m, linear, peel) in [
        (3, 1, 0.9167, 0.9167), (3, 2, 0.6833, 0.6833), (3, 3, 0.8833, 0.8833),
        (4, 1, 1.0417, 1.0417), (4, 2, 0.7476, 0.7476), (4, 3, 0.6845, 0.7548), (4, 4, 1.0976, 1.0976),
        (5, 1, 1.1417, 1.1417), (5, 2, 0.8111, 0.8111), (5, 3, 0.7349, 0.7575), (5, 4, 0.7179, 0.8786), (5, 5, 1.2873, 1.2873),
    ] {
        near(completion(&regular(n, m), Decoder::Gauss).0, linear);
        near(completion(&regular(n, m), Decoder::Peel).0, peel);
    }
    let harmonic = |k: u32| (1..=k).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    for n in 3..7 {
        near(completion(&regular(n, 1), Decoder::Peel).0, harmonic(n) / 2.0);
        near(completion(&GroupCode::mds(n).expect("an MDS code"), Decoder::Gauss).0, harmonic(2 * n) - harmonic(n));
    }
    let best = GroupCode::parse("peel-best", 4).expect("a named code");
    near(completion(&best, Decoder::Gauss).0, 0.7310);
    near(completion(&best, Decoder::Peel).0, 0.7345);
    for (m, decoder, arrived) in [(1, Decoder::Gauss, 5.3429), (2, Decoder::Peel, 4.4286), (3, Decoder::Gauss, 4.2), (3, Decoder::Peel, 4.4571), (4, Decoder::Peel, 5.4714)] {
        near(completion(&regular(4, m), decoder).1, arrived);
    }
    let after = decoded_after(&regular(4, 2), Decoder::Peel);
    for (share, expected) in after.iter().zip([0.0, 0.0, 0.0, 0.0, 9.0 / 14.0, 13.0 / 14.0, 1.0, 1.0, 1.0]) {
        near(*share, expected);
    }
    assert_eq!(counts(&regular(4, 2), Decoder::Peel)[4], (70, 45));
}

/// The same by simulation: blocks arrive at random times, and what is known decides when to stop.
#[test]
fn completion_times_by_simulation_within_one_percent() {
    let mut stream = Stream::new(7, "arrivals");
    let regular = (3..=5).flat_map(|n| (1..=n).map(move |m| regular(n, m)));
    let mds = (3..=5).map(|n| GroupCode::mds(n).expect("an MDS code"));
    let best = GroupCode::parse("peel-best", 4).expect("a named code");
    let codes: Vec<GroupCode> = regular.chain(mds).chain([best]).collect();
    for (code, decoder) in codes.iter().flat_map(|code| [Decoder::Peel, Decoder::Gauss].map(|decoder| (code, decoder))) {
        let known = code::Known::new(code.clone(), decoder);
        let n = code.data();
        let runs = 60_000;
        let mut total = 0.0;
        for _ in 0..runs {
            let mut arrivals: Vec<(f64, u32)> = (0..2 * n).map(|element| (-(1.0 - stream.unit()).ln(), element)).collect();
            arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut have = 0;
            let done = arrivals.iter().find(|(_, element)| {
                have |= 1 << element;
                known.decodes(have, known.code().all_data())
            });
            total += done.expect("all blocks decode the group").0;
        }
        let (expected, _) = completion(known.code(), decoder);
        let measured = total / f64::from(runs);
        assert!((measured / expected - 1.0).abs() < 0.01, "{}, {decoder:?}: {measured} against {expected}", code.matrix());
    }
}
