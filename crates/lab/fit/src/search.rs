//! The search for the value of one parameter: which value is tried next, and when the search ends.

/// Most values of a parameter that are tried in a round.
pub(crate) const TRIES: usize = 8;
/// A fitted figure is as near as this, as a share of it.
pub(crate) const NEAR: f64 = 0.005;
/// The same for a percentile: histograms are no finer.
pub(crate) const NEAR_OF_PERCENTILES: f64 = 0.012;
/// Logarithm by which a parameter is changed without effect before it is taken to have none: what limits a rate may
/// be something else until then.
const SPAN: f64 = 1.2;

/// A value that was tried, as its logarithm, and how far its figures were off; positive: it is too large.
pub(crate) type Tried = (f64, f64);

/// How near figures should come, by their names.
pub(crate) fn near<'a>(mut names: impl Iterator<Item = &'a str>) -> f64 {
    let is_percentile =
        |name: &str| name.rsplit('.').next().is_some_and(|name| name.starts_with('p') && name != "plateau");
    if names.any(is_percentile) { NEAR_OF_PERCENTILES } else { NEAR }
}

/// Whether values far from each other gave the same.
pub(crate) fn is_without_effect(tried: &[Tried]) -> bool {
    let span = |of: fn(&Tried) -> f64| {
        let values = tried.iter().map(of);
        values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
    };
    let width = span(|(value, _)| *value);
    width > SPAN && span(|(_, error)| *error) < 0.02 * width
}

/// The next logarithm to try: between two values of different signs, or along the line through the last two.
pub(crate) fn next_value(tried: &[Tried]) -> f64 {
    let (x, error) = tried[tried.len() - 1];
    // As if the figure were proportional, and by half as much or double at most.
    let guess = x - error.clamp(-0.7, 0.7);
    let below = tried.iter().filter(|(_, error)| *error < 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    let above = tried.iter().filter(|(_, error)| *error > 0.0).min_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some((low, under)), Some((high, over))) = (below, above)
        && low < high
    {
        let share = (under / (under - over)).clamp(0.1, 0.9);
        return low + share * (high - low);
    }
    let [.., (before, error_before), _] = tried else { return guess };
    let slope = (error - error_before) / (x - before);
    // Where it has no effect yet, a good deal further.
    if slope > 0.05 { x - (error / slope).clamp(-1.5, 1.5) } else { x - 0.7 * error.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that are tried until a rising error is about 0.
    fn tries(error: impl Fn(f64) -> f64, start: f64) -> Vec<f64> {
        let mut tried = vec![(start, error(start))];
        while tried.len() < TRIES && tried[tried.len() - 1].1.abs() >= NEAR {
            let next = next_value(&tried);
            tried.push((next, error(next)));
        }
        tried.into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn a_search_ends_at_the_value_whatever_the_slope() {
        for (slope, start) in [(1.0, 0.0), (1.0, 4.5), (0.3, 1.0), (2.5, 0.5), (2.5, 3.0)] {
            let tried = tries(|value| slope * (value - 2.0), start);
            let last = tried[tried.len() - 1];
            assert!((last - 2.0).abs() < 0.02, "slope {slope} from {start}: {tried:?}");
        }
        // Flat until 1: something else is the limit there.
        let tried = tries(|value| if value < 1.0 { -0.5 } else { 0.5 * (value - 2.0) }, 0.0);
        assert!((tried[tried.len() - 1] - 2.0).abs() < 0.1, "{tried:?}");
    }

    #[test]
    fn only_values_far_apart_tell_that_a_parameter_has_no_effect() {
        assert!(!is_without_effect(&[(0.0, -0.5), (0.7, -0.5)]));
        assert!(is_without_effect(&[(0.0, -0.5), (0.7, -0.5), (1.4, -0.5)]));
        assert!(!is_without_effect(&[(0.0, -0.5), (0.7, -0.45), (1.4, -0.3)]));
    }
}
