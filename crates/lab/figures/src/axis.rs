//! Axes: lines stand at 1, 2 and 5 times powers of ten. The charts of reports (`web/src/axis.ts`) and the pictures of
//! notebooks (`python/nandarium/_html.py`) follow the same rules; `axis.json` has cases that the tests of all three
//! compare with.

/// An axis has a logarithmic scale where its largest value is this many times the smallest.
const WIDE: f64 = 5.0;
/// A span is divided into about so many parts.
const PARTS: f64 = 5.0;
/// More lines than these are left out of a logarithmic scale, but for powers of ten.
const MOST_LINES: usize = 9;

/// The scale of one axis: from one value to another, linear or logarithmic, and the lines on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub from: f64,
    pub to: f64,
    pub is_log: bool,
    pub ticks: Vec<f64>,
}

/// A distance of lines that divides a span into about so many parts: for 5, into 4 to 7.
fn step(span: f64, about: f64) -> f64 {
    let rough = span / about;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = match rough / power {
        digit if digit < 1.5 => 1.0,
        digit if digit < 3.5 => 2.0,
        digit if digit < 7.5 => 5.0,
        _ => 10.0,
    };
    power * digit
}

impl Axis {
    /// From nothing to the first line above all values.
    pub fn from_zero(most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = step(most, PARTS);
        let lines = (most / step - 1e-9).ceil() as u32;
        let ticks = (0..=lines).map(|line| step * f64::from(line)).collect();
        Self { from: 0.0, to: step * f64::from(lines), is_log: false, ticks }
    }

    /// From one value to another, with the round values between them.
    pub fn within(from: f64, to: f64) -> Self {
        let step = step(to - from, PARTS);
        let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
        Self { from, to, is_log: false, ticks: (first..=last).map(|line| line as f64 * step).collect() }
    }

    /// From nothing, or logarithmic where some values are much larger than others.
    pub fn over(values: &[f64]) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 && most > WIDE * least { Self::logarithmic(least, most) } else { Self::from_zero(most) }
    }

    /// From the last line below all values to the first one above.
    fn logarithmic(least: f64, most: f64) -> Self {
        let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32 + 1);
        let all: Vec<(f64, bool)> = (first..=last)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit * 10_f64.powi(power), digit < 2.0)))
            .collect();
        let start = all.iter().rposition(|(line, _)| *line <= least * (1.0 + 1e-9)).unwrap_or(0);
        let end = all.iter().position(|(line, _)| *line >= most * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
        let within = &all[start..=end.max(start + 1)];
        let powers = within.iter().filter(|(_, is_power)| *is_power).count();
        let is_short = within.len() <= MOST_LINES;
        let shown = within.iter().filter(|(_, is_power)| is_short || *is_power).map(|(line, _)| *line);
        let ticks = shown.step_by(if is_short { 1 } else { powers.div_ceil(MOST_LINES) }).collect();
        Self { from: within[0].0, to: within[within.len() - 1].0, is_log: true, ticks }
    }

    /// Where a value lies on the axis: 0 at the beginning, 1 at the end, and not beyond them.
    pub fn place(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_log { value.ln() } else { value };
        let value = value.max(self.from).min(self.to);
        (scaled(value) - scaled(self.from)) / (scaled(self.to) - scaled(self.from))
    }

    /// The name of the axis.
    pub fn named(&self, name: &str) -> String {
        if self.is_log { format!("{name} (logarithmic)") } else { name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    fn are_alike(got: &[f64], expected: &[f64]) -> bool {
        got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs().max(1e-9))
    }

    /// Charts of reports had lines at 2.5 and 7.5, and those of figures did not.
    #[test]
    fn lines_of_axes_stand_where_those_of_reports_and_notebooks_do() {
        let cases: Value = serde_json::from_str(include_str!("axis.json")).unwrap();
        for case in cases["steps"].as_array().unwrap() {
            let case = numbers(case);
            assert!(are_alike(&[step(case[0], case[1])], &case[2..]), "{case:?}: {}", step(case[0], case[1]));
        }
        let check = |kind: &str, axis: fn(f64, f64) -> Axis| {
            for case in cases[kind].as_array().unwrap() {
                let (of, lines) = (numbers(&case["of"]), numbers(&case["lines"]));
                let axis = axis(of[0], of[1]);
                let ends = case.get("ends").map_or(of, numbers);
                assert!(are_alike(&axis.ticks, &lines) && are_alike(&[axis.from, axis.to], &ends), "{case}: {axis:?}");
            }
        };
        check("within", Axis::within);
        check("from zero", |_, most| Axis::from_zero(most));
        check("logarithmic", Axis::logarithmic);
    }

    #[test]
    fn wide_axes_are_logarithmic_and_all_points_lie_within() {
        assert!(!Axis::over(&[2.0, 8.0]).is_log);
        let wide = Axis::over(&[3.0, 5000.0]);
        assert!(wide.is_log && (wide.place(100.0) - 0.5).abs() < 1e-9, "{wide:?}");
        assert!(Axis::over(&[0.0]).place(0.0).abs() < 1e-9);
        assert!(Axis::over(&[]).place(0.5).is_finite());
        assert!(are_alike(&[-1.0, 0.5, 9.0].map(|value| Axis::within(0.0, 2.0).place(value)), &[0.0, 0.25, 1.0]));
    }
}
