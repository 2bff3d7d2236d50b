//! Histograms against sorted lists.

use metrics::{Histogram, Latencies, PERCENTILES, needed};
use proptest::prelude::*;

/// Durations of every magnitude, ns.
fn durations(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec((0..64_u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift), 1..most)
}

fn histogram(durations: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    for duration in durations {
        histogram.record(*duration);
    }
    histogram
}

/// All that a histogram says.
fn words(histogram: &Histogram) -> String {
    format!("{histogram:?}")
}

proptest! {
    #[test]
    fn a_percentile_is_at_most_a_bucket_above_that_of_the_sorted_list(mut list in durations(400), share in 0.001..1.0) {
        let found = histogram(&list).percentile(share);
        list.sort_unstable();
        let rank = (list.len() as f64 * share).ceil() as usize;
        let exact = list[rank - 1];
        prop_assert!(found >= exact, "{found} is below {exact}");
        prop_assert!(found - exact <= exact / 64, "{found} is more than 1/64 above {exact}");
        prop_assert!(found <= list[list.len() - 1], "no percentile is above the longest duration");
    }

    #[test]
    fn percentiles_grow_with_their_share_up_to_the_longest_duration(
        list in durations(200), shares in any::<[u16; 2]>(),
    ) {
        let all = histogram(&list);
        let [low, high] = shares.map(|share| f64::from(share) / f64::from(u16::MAX));
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(all.percentile(low) <= all.percentile(high));
        prop_assert_eq!(all.percentile(1.0), *list.iter().max().expect("a list that is not empty"));
    }

    #[test]
    fn a_bucket_holds_its_durations_and_is_no_wider_than_a_64th_of_them(duration in any::<u64>(), shift in 0..64_u32) {
        let duration = duration >> shift;
        let bucket = Histogram::bucket(duration);
        prop_assert!(bucket < Histogram::buckets());
        prop_assert!(Histogram::upper(bucket) - duration <= duration / 64);
        prop_assert!(bucket == 0 || Histogram::upper(bucket - 1) < duration);
    }

    #[test]
    fn histograms_added_in_any_parts_are_that_of_the_whole(
        list in durations(200), cut in any::<prop::sample::Index>(),
    ) {
        let (one, other) = list.split_at(cut.index(list.len()));
        for [first, second] in [[one, other], [other, one]] {
            let mut sum = histogram(first);
            sum.merge(&histogram(second));
            prop_assert_eq!(words(&sum), words(&histogram(&list)));
        }
    }

    #[test]
    fn count_mean_and_maximum_are_exact(list in prop::collection::vec(0..1_u64 << 40, 1..300)) {
        let all = histogram(&list);
        prop_assert_eq!(all.count(), list.len() as u64);
        let mean = list.iter().sum::<u64>() as f64 / list.len() as f64;
        prop_assert!((all.mean() - mean).abs() <= mean * 1e-12);
        prop_assert_eq!(Some(all.max()), list.iter().max().copied());
        prop_assert_eq!(all.filled().map(|(_, count)| count).sum::<u64>(), all.count());
    }

    #[test]
    fn a_percentile_is_told_from_the_duration_on_that_leaves_ten_beyond_it(share in 0.01..0.9999) {
        let needed = needed(share);
        let beyond = needed as f64 * (1.0 - share);
        prop_assert!((beyond - 10.0).abs() <= (1.0 - share), "{beyond} of {needed} lie beyond {share}");
        let mut all = Histogram::default();
        for duration in 1..=needed {
            prop_assert_eq!(all.supported(share), None);
            all.record(duration);
        }
        prop_assert_eq!(all.supported(share), Some(all.percentile(share)));
    }
}

#[test]
fn an_empty_histogram_says_nothing() {
    let none = Histogram::default();
    assert_eq!((none.count(), none.max(), none.percentile(0.5), none.mean()), (0, 0, 0, 0.0));
    assert!(PERCENTILES.iter().all(|(_, share)| none.supported(*share).is_none()));
    assert_eq!(Latencies::of(&none), None);
}

#[test]
fn latencies_leave_out_the_percentiles_that_few_requests_lie_beyond() {
    let of = |count: u64| Latencies::of(&histogram(&(1..=count).collect::<Vec<_>>())).expect("there are some");
    let told = |latencies: Latencies| {
        [latencies.p50, latencies.p90, latencies.p99, latencies.p999, latencies.p9999].map(|value| value.is_some())
    };
    for (count, expected) in [
        (19, [false; 5]),
        (20, [true, false, false, false, false]),
        (99, [true, false, false, false, false]),
        (100, [true, true, false, false, false]),
        (1_000, [true, true, true, false, false]),
        (10_000, [true, true, true, true, false]),
        (100_000, [true; 5]),
    ] {
        assert_eq!(told(of(count)), expected, "{count} requests");
        assert_eq!((of(count).count, of(count).max), (count, count));
    }
}
