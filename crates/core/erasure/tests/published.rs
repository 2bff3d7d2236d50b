//! What the publication and closed forms say of codes.

use engine::random::Stream;
use erasure::{
    Best, Decoder, GroupCode, Known, Misses, best_by_climbing, best_of_all, completion, counts, decodable_sets,
    decoded_after, misses, ways,
};

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
        let missed: Vec<u64> = (1..=n)
            .map(|m| decodable_sets(&regular(n, m), Decoder::Gauss) - decodable_sets(&regular(n, m), Decoder::Peel))
            .collect();
        assert_eq!(missed, row, "n = {n}");
    }
    let of = |n, m| misses(&regular(n, m)).expect("few enough blocks");
    assert_eq!(of(4, 2), Misses { any: 4, data: 0 }, "the cycle of code blocks");
    assert_eq!(of(4, 3), Misses { any: 57, data: 33 });
    assert_eq!(of(4, 4).any, 154);
    assert_eq!(of(3, 2).any, 3);
    assert_eq!([2, 3, 4, 5].map(|m| of(5, m).any), [5, 226, 425, 780]);
    assert_eq!(misses(&regular(12, 2)), None, "too many sets to look at each");
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
    for (n, tried, sets, optima) in
        [(3, 84, 16, 4), (4, 3060, 56, 1), (5, 324_632, 176, 11), (6, 109_453_344, 576, 360)]
    {
        let best = best_of_all(n, Decoder::Gauss).expect("few enough");
        assert_eq!((best.tried, best.sets, best.optima), (tried, sets, optima), "n = {n}");
        assert_eq!(decodable_sets(&best.code, Decoder::Gauss), sets, "the code shown has as many");
    }
    let six = GroupCode::parse("111100 111010 111001 100111 010111 001111", 6).expect("a matrix");
    assert_eq!(decodable_sets(&six, Decoder::Gauss), 576, "more than any regular code of six");
}

#[test]
fn the_best_of_all_codes_under_peeling_up_to_six() {
    for (n, sets) in [(4, 47), (5, 143)] {
        assert_eq!(best_of_all(n, Decoder::Peel).expect("few enough").sets, sets, "n = {n}");
    }
    let six = best_of_all(6, Decoder::Peel).expect("few enough");
    assert!(six.sets >= 453, "more than climbing found: {}", six.sets);
    assert_eq!(decodable_sets(&six.code, Decoder::Peel), six.sets, "the code shown has as many");
}

fn climbed(n: u32, goal: Decoder, restarts: u64) -> Best {
    best_by_climbing(n, goal, restarts, 1, &|_| true)
}

#[test]
fn climbing_finds_what_trying_all_finds() {
    assert_eq!(climbed(4, Decoder::Gauss, 40).sets, 56);
    assert_eq!(climbed(4, Decoder::Peel, 40).sets, 47);
    let five = climbed(5, Decoder::Gauss, 40);
    assert_eq!((five.sets, five.climbs), (176, 40));
    assert_eq!(climbed(5, Decoder::Gauss, 40).code, five.code, "the same seed finds the same code");
}

#[test]
fn a_search_of_the_largest_groups_can_be_stopped() {
    let best = best_by_climbing(12, Decoder::Gauss, 3, 1, &|step| step.tried == 0);
    assert_eq!(best.climbs, 0);
    assert!(best.sets > 0 && best.tried > 0);
    assert_eq!(decodable_sets(&best.code, Decoder::Gauss), best.sets);
}

/// Set by set, as the fast counts do not.
fn counted(code: &GroupCode, decoder: Decoder) -> Vec<u64> {
    let known = Known::new(code.clone(), decoder);
    let mut counts = vec![0; code.elements() as usize + 1];
    for have in 0..1_u32 << code.elements() {
        counts[have.count_ones() as usize] += u64::from(known.decodes(have, code.all_data()));
    }
    counts
}

#[test]
fn fast_counts_are_those_of_set_by_set() {
    let mut stream = Stream::new(11, "codes");
    let shapes = [(1, 1), (1, 9), (2, 3), (3, 8), (4, 4), (5, 7), (6, 6), (7, 1), (7, 7), (8, 8), (9, 4), (4, 12)];
    let random = shapes.map(|(data, code)| {
        let rows: Vec<u32> = (0..code).map(|_| 1 + stream.below((1 << data) - 1) as u32).collect();
        GroupCode::new(data, &rows).expect("rows are not empty")
    });
    for code in random.into_iter().chain([regular(7, 3), GroupCode::mds(5).expect("an MDS code")]) {
        for decoder in [Decoder::Gauss, Decoder::Peel] {
            let fast: Vec<u64> = counts(&code, decoder).into_iter().map(|(_, decoded)| decoded).collect();
            let slow = counted(&code, decoder);
            assert_eq!(fast, slow, "{} {decoder:?}", code.matrix());
            assert_eq!(decodable_sets(&code, decoder), slow[code.data() as usize], "{} {decoder:?}", code.matrix());
        }
    }
}

#[test]
fn groups_of_twelve_and_more_are_counted() {
    let lucas = |k: u32| (0..k).fold((2_u64, 1_u64), |(a, b), _| (b, a + b)).0;
    for n in [12, 14] {
        for decoder in [Decoder::Gauss, Decoder::Peel] {
            assert_eq!(decodable_sets(&regular(n, 1), decoder), 1 << n);
            assert_eq!(decodable_sets(&regular(n, 2), decoder), lucas(2 * n) - 2);
            assert_eq!(decodable_sets(&regular(n, n), decoder), u64::from(n * n + 1));
        }
    }
    let all: u64 = counts(&regular(12, 5), Decoder::Gauss).iter().map(|(all, _)| all).sum();
    assert_eq!(all, 1 << 24);
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
    let near =
        |measured: f64, expected: f64| assert!((measured - expected).abs() < 5e-5, "{measured} against {expected}");
    for (n, m, linear, peel) in [
        (3, 1, 0.9167, 0.9167),
        (3, 2, 0.6833, 0.6833),
        (3, 3, 0.8833, 0.8833),
        (4, 1, 1.0417, 1.0417),
        (4, 2, 0.7476, 0.7476),
        (4, 3, 0.6845, 0.7548),
        (4, 4, 1.0976, 1.0976),
        (5, 1, 1.1417, 1.1417),
        (5, 2, 0.8111, 0.8111),
        (5, 3, 0.7349, 0.7575),
        (5, 4, 0.7179, 0.8786),
        (5, 5, 1.2873, 1.2873),
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
    for (m, decoder, arrived) in [
        (1, Decoder::Gauss, 5.3429),
        (2, Decoder::Peel, 4.4286),
        (3, Decoder::Gauss, 4.2),
        (3, Decoder::Peel, 4.4571),
        (4, Decoder::Peel, 5.4714),
    ] {
        near(completion(&regular(4, m), decoder).1, arrived);
    }
    let after = decoded_after(&counts(&regular(4, 2), Decoder::Peel));
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
    for (code, decoder) in codes.iter().flat_map(|code| [Decoder::Peel, Decoder::Gauss].map(|decoder| (code, decoder)))
    {
        let known = Known::new(code.clone(), decoder);
        let n = code.data();
        let runs = 60_000;
        let mut total = 0.0;
        for _ in 0..runs {
            let mut arrivals: Vec<(f64, u32)> =
                (0..2 * n).map(|element| (-(1.0 - stream.unit()).ln(), element)).collect();
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
        assert!(
            (measured / expected - 1.0).abs() < 0.01,
            "{}, {decoder:?}: {measured} against {expected}",
            code.matrix()
        );
    }
}
