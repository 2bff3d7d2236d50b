//! Times relative to the first record, with gaps beyond a limit cut to it.
//!
//! A clock that is set while a log is written, or a machine that was switched off, leaves a gap of
//! days or decades between two records, and nobody wants to simulate that.

use super::ReadStatistics;

/// The clock of a reader.
#[expect(clippy::struct_field_names, reason = "the unit belongs to each")]
pub(crate) struct Gaps {
    limit_ns: u64,
    /// The file's own time of the first record and of the last one.
    origin_ns: Option<i64>,
    last_ns: i64,
    /// Time handed out last.
    elapsed_ns: i64,
}

impl Gaps {
    /// `limit_ns`: gaps beyond it are cut to it; `None` keeps all.
    pub fn new(limit_ns: Option<u64>) -> Gaps {
        Gaps { limit_ns: limit_ns.unwrap_or(u64::MAX), origin_ns: None, last_ns: 0, elapsed_ns: 0 }
    }

    /// The file's own time of the first record.
    pub fn origin_ns(&self) -> Option<i64> {
        self.origin_ns
    }

    /// The time of a record that is no earlier than the one before, relative to the first record;
    /// `None` beyond 292 years.
    #[inline]
    pub fn relative(&mut self, time_ns: i64, statistics: &mut ReadStatistics) -> Option<i64> {
        if self.origin_ns.is_none() {
            self.origin_ns = Some(time_ns);
            self.last_ns = time_ns;
        }
        let mut gap = time_ns.abs_diff(self.last_ns);
        if gap > self.limit_ns {
            statistics.gaps_cut += 1;
            statistics.gaps_cut_ns = statistics.gaps_cut_ns.saturating_add(gap - self.limit_ns);
            gap = self.limit_ns;
        }
        self.elapsed_ns = self.elapsed_ns.checked_add_unsigned(gap)?;
        self.last_ns = time_ns;
        Some(self.elapsed_ns)
    }
}

impl ReadStatistics {
    /// The time cut out of gaps longer than `limit_ns`, as a sentence; `None` if no gap was cut.
    pub fn gaps_note(&self, limit_ns: Option<u64>) -> Option<String> {
        let limit = long_duration(limit_ns.filter(|_| self.gaps_cut > 0)?);
        let (gaps, were) = if self.gaps_cut == 1 { ("gap", "was") } else { ("gaps", "were") };
        let cut = long_duration(self.gaps_cut_ns);
        Some(format!(
            "{} {gaps} longer than {limit} {were} cut to {limit}, {cut} in all (workload.gap_limit).",
            self.gaps_cut
        ))
    }
}

/// Nanoseconds with two digits at most behind the point, in the largest unit up to years that fits.
pub fn long_duration(nanos: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(365.25 * 86_400e9, "years"), (86_400e9, "d"), (3_600e9, "h"), (60e9, "min")];
    match UNITS.into_iter().find(|(scale, _)| nanos as f64 >= *scale) {
        None => units::quantity::format_duration(nanos),
        Some((scale, unit)) => {
            let text = format!("{:.2}", nanos as f64 / scale);
            format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_cut_and_counted_even_where_64_bits_cannot_hold_them() {
        let mut statistics = ReadStatistics::default();
        let mut gaps = Gaps::new(Some(100));
        let times = [i64::MIN, i64::MIN + 100, i64::MAX, i64::MAX].map(|time| gaps.relative(time, &mut statistics));
        assert_eq!(times, [Some(0), Some(100), Some(200), Some(200)]);
        assert_eq!((statistics.gaps_cut, statistics.gaps_cut_ns), (1, u64::MAX - 200));
        assert_eq!(gaps.origin_ns(), Some(i64::MIN));
        let mut all = Gaps::new(None);
        assert_eq!([-5, i64::MAX].map(|time| all.relative(time, &mut statistics)), [Some(0), None]);
        assert_eq!(statistics.gaps_cut, 1);
    }

    #[test]
    fn long_durations_have_long_units() {
        let of = |seconds: u64| long_duration(seconds * 1_000_000_000);
        assert_eq!([of(59), of(3600), of(5400), of(86_400 * 10)], ["59s", "1 h", "1.5 h", "10 d"]);
        assert_eq!(of(100_982_592), "3.2 years");
    }
}
