//! Limits on figures, for `--fail-if`: an expression of one figure, a comparison and a value with its unit, such as
//! `write.p99 > 5ms`. Where it is true a command fails.
//!
//! A figure has the name of its column in the tables of a sweep (`write_p99_ns`), or of its place in `result.json`
//! (`latency_ns.write.p99`, without `latency_ns.` too). Lives have figures of their own. A figure that a run does not
//! have cannot be within its limit: the command fails, and says why.

use crate::metric::{METRICS, Metric};
use crate::words::shown;
use figures::number;
use layer::spelling::did_you_mean;
use serde_json::{Value, json};
use units::quantity::{parse_duration, parse_share, parse_size};

/// Figures of a life: their names in expressions, and where they are in `life.json`.
const LIVES: [(&str, &str); 5] = [
    ("tbw", "/tbw/estimate"),
    ("dwpd", "/dwpd/estimate"),
    ("years", "/years/estimate"),
    ("years.earliest", "/years/earliest"),
    ("cost_per_year", "/cost/per_year/estimate"),
];
/// Comparisons, those of two signs first.
const SIGNS: [(&str, Sign); 4] = [(">=", Sign::AtLeast), ("<=", Sign::AtMost), (">", Sign::Above), ("<", Sign::Below)];
/// An expression, for messages.
const EXAMPLE: &str = "write.p99 > 5ms";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Above,
    Below,
    AtLeast,
    AtMost,
}

/// What an expression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Run(&'static Metric),
    /// Name and place of a figure of a life.
    Life(&'static str, &'static str),
}

/// A limit: where its expression is true, a command fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    subject: Subject,
    sign: Sign,
    value: f64,
}

/// The verdict of a limit on a run, a stack or a combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    limit: Limit,
    /// What was judged.
    of: String,
    /// The figure, or the reason why there is none, where one is known.
    value: Result<f64, Option<String>>,
}

impl Limit {
    /// The limit of an expression.
    ///
    /// # Errors
    /// In words: there is no comparison or no such figure, or the value does not suit the figure.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = SIGNS.iter().find_map(|(sign, meaning)| Some((*meaning, text.split_once(sign)?)));
        let (sign, (name, value)) =
            found.ok_or_else(|| format!("write a figure, a comparison (>, >=, < or <=) and a value: {EXAMPLE}"))?;
        let (name, value) = (name.trim(), value.trim());
        let subject = Subject::named(name)?;
        let value = subject.read(value).map_err(|problem| format!("{name}: {problem}"))?;
        Ok(Self { text: text.trim().to_owned(), subject, sign, value })
    }

    /// Whether it is about a life, which a run alone does not have.
    pub fn is_of_life(&self) -> bool {
        matches!(self.subject, Subject::Life(..))
    }

    /// The expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Judges a figure that is a mean of some runs. `reason`: why there is none, in words, as far as that is known.
    pub fn judge(
        &self,
        of: &str,
        value: impl Fn(&'static Metric) -> Option<f64>,
        reason: impl Fn(&'static Metric) -> Option<String>,
    ) -> Judged {
        let value = match self.subject {
            Subject::Run(metric) => value(metric).ok_or_else(|| reason(metric)),
            Subject::Life(..) => Err(None),
        };
        Judged { limit: self.clone(), of: of.to_owned(), value }
    }

    /// Judges a result: the mean of its repetitions where they tell the figure, and its life where that is asked for.
    pub fn judge_result(&self, of: &str, result: &Value, life: &Value) -> Judged {
        let Subject::Life(name, pointer) = self.subject else {
            let repeated = result["repeated"]["figures"].as_array();
            let value = |metric: &'static Metric| {
                let told = repeated.and_then(|all| all.iter().find(|figure| figure["metric"] == metric.name));
                told.and_then(|figure| figure["mean"].as_f64()).or_else(|| metric.of(result))
            };
            return self.judge(of, value, |metric| metric.absence_in(result));
        };
        let mean = life["repeated"][name]["mean"].as_f64();
        let value = mean.or_else(|| life.pointer(pointer).and_then(Value::as_f64));
        Judged { limit: self.clone(), of: of.to_owned(), value: value.ok_or(None) }
    }
}

impl Subject {
    fn named(name: &str) -> Result<Self, String> {
        let of_run = METRICS.iter().find(|metric| metric.name == name || names(metric).iter().any(|one| one == name));
        let of_life = LIVES.iter().find(|(own, _)| *own == name);
        let found = of_run.map(Self::Run).or_else(|| of_life.map(|(name, pointer)| Self::Life(name, pointer)));
        found.ok_or_else(|| {
            let all: Vec<String> = METRICS
                .iter()
                .flat_map(|metric| [vec![metric.name.to_owned()], names(metric)].concat())
                .chain(LIVES.iter().map(|(name, _)| (*name).to_owned()))
                .collect();
            let hint = did_you_mean(name, all.iter().map(String::as_str));
            format!(
                "no figure is called {name}: there are columns of a sweep, latencies such as write.p99, and figures of \
                 lives{hint}"
            )
        })
    }

    /// A value in the unit of the figure.
    fn read(self, text: &str) -> Result<f64, String> {
        let quantity = |read: Result<u64, units::quantity::QuantityError>| {
            read.map(|value| value as f64).map_err(|error| error.to_string())
        };
        match self {
            Self::Run(Metric { unit: "ns", .. }) => quantity(parse_duration(text)),
            Self::Run(Metric { unit: "bytes", .. }) => quantity(parse_size(text)),
            Self::Run(Metric { unit: "share of 1", .. }) => parse_share(text).map_err(|error| error.to_string()),
            // Terabytes are decimal in a life.
            Self::Life("tbw", _) => quantity(parse_size(text)).map(|bytes| bytes / 1e12),
            Self::Run(_) | Self::Life(..) => match text.parse() {
                Ok(number) if f64::is_finite(number) => Ok(number),
                _ => Err(format!("`{text}` is no number; it has no unit")),
            },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Run(metric) => metric.name,
            Self::Life(name, _) => name,
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Self::Run(metric) => shown(metric, value),
            Self::Life("tbw", _) => format!("{} TB", number(value)),
            Self::Life(..) => number(value),
        }
    }
}

/// Names of a metric by its place in `result.json`.
fn names(metric: &Metric) -> Vec<String> {
    let place = metric.pointer.trim_start_matches('/').replace('/', ".");
    let short = place.strip_prefix("latency_ns.").or_else(|| place.strip_suffix(".total")).map(str::to_owned);
    short.into_iter().chain([place.clone()]).collect()
}

impl Judged {
    /// Whether the command fails.
    pub fn fails(&self) -> bool {
        let Ok(value) = self.value else { return true };
        let limit = self.limit.value;
        match self.limit.sign {
            Sign::Above => value > limit,
            Sign::Below => value < limit,
            Sign::AtLeast => value >= limit,
            Sign::AtMost => value <= limit,
        }
    }

    /// The subject: a stack, or a combination of a sweep.
    pub fn of(&self) -> &str {
        &self.of
    }

    /// The limit of this verdict.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// The failed figure, with its value and its limit.
    pub fn sentence(&self) -> String {
        let Self { limit: Limit { text, subject, value: limit, .. }, of, value } = self;
        let limit = subject.shown(*limit);
        let (found, why) = match value {
            Ok(value) => (format!("is {}", subject.shown(*value)), String::new()),
            Err(reason) => {
                ("is not told".to_owned(), reason.as_ref().map_or_else(String::new, |why| format!(": {why}")))
            }
        };
        format!("{of}: {} {found}, and its limit is {limit} (--fail-if '{text}'){why}", subject.name())
    }

    /// The form in JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "limit": self.limit.text,
            "figure": self.limit.subject.name(),
            "of": self.of,
            "value": self.value.as_ref().ok(),
            "bound": self.limit.value,
            "fails": self.fails(),
            "reason": self.value.as_ref().err(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(p99: u64) -> Value {
        json!({
            "latency_ns": {"write": {"count": 50_000, "p99": p99}}, "waf": {"total": 2.5}, "iops": 9000.0,
            "ram_bytes": {"map": 4096, "buffer": 4096},
        })
    }

    #[test]
    fn a_figure_fails_where_its_expression_is_true() {
        let judged = |text: &str| Limit::parse(text).unwrap().judge_result("page", &result(6_000_000), &Value::Null);
        for (text, fails) in [
            ("write.p99 > 5ms", true),
            ("latency_ns.write.p99 > 5ms", true),
            ("write_p99_ns>7ms", false),
            ("write.p99 >= 6ms", true),
            ("waf > 2.4", true),
            ("waf.total <= 2.4", false),
            ("iops < 10000", true),
            ("ram_bytes > 8KiB", false),
        ] {
            assert_eq!(judged(text).fails(), fails, "{text}");
        }
        let told = "page: write_p99_ns is 6 ms, and its limit is 5 ms (--fail-if 'write.p99 > 5ms')";
        assert_eq!(judged("write.p99 > 5ms").sentence(), told);
        let life = json!({"years": {"earliest": 0.5, "estimate": 2.0}, "tbw": {"estimate": 3.0}});
        let of_life = |text: &str| Limit::parse(text).unwrap().judge_result("page", &Value::Null, &life).fails();
        assert_eq!(["years < 3", "years.earliest < 0.4", "tbw < 4TB"].map(of_life), [true, false, true]);
    }

    /// The first seed alone was judged, beside a mean that was within the limit.
    #[test]
    fn a_limit_on_a_life_of_several_seeds_judges_their_mean() {
        let life = json!({"tbw": {"estimate": 3.0}, "repeated": {"tbw": {"mean": 5.0, "half": 2.5}}});
        let judged = Limit::parse("tbw < 4TB").unwrap().judge_result("page", &Value::Null, &life);
        assert!(!judged.fails(), "{judged:?}");
    }

    /// A job of a pipeline that measured nothing would have passed.
    #[test]
    fn a_figure_that_is_not_told_fails() {
        let judged = Limit::parse("read.p99 > 5ms").unwrap().judge_result("page", &result(1), &Value::Null);
        assert!(judged.fails() && judged.sentence().starts_with("page: read_p99_ns is not told"), "{judged:?}");
        assert_eq!(judged.to_json()["reason"], Value::Null, "what was not measured at all has no reason");
        assert_eq!((&judged.to_json()["value"], &judged.to_json()["bound"]), (&Value::Null, &json!(5e6)));
    }

    /// Whoever reads the verdict alone could not tell a run without reads from one that is broken.
    #[test]
    fn a_figure_that_is_not_told_has_its_own_reason() {
        let mut few = result(1);
        few["host"] = json!({"read": {"requests": 0}, "write": {"requests": 5000}, "flush": {"requests": 0}});
        (few["waf"], few["waf_absent"]) = (Value::Null, json!("too few writes"));
        few["latency_ns"]["write"] = json!({"count": 5000});
        for (text, reason) in [
            ("read.p99 > 5ms", Some("no reads")),
            ("write.p999 > 5ms", Some("5000 writes, too few: it needs 10000 or more")),
            ("write.p99 > 5ms", None), // enough of them: time stands still, for example
            ("waf > 2", Some("too few writes")),
            ("waf_pages > 2", Some("too few writes")),
        ] {
            let judged = Limit::parse(text).unwrap().judge_result("page", &few, &Value::Null);
            assert_eq!(judged.to_json()["reason"].as_str(), reason, "{text}");
            assert_eq!(judged.sentence().rsplit_once("'): ").map(|(_, told)| told), reason, "{}", judged.sentence());
        }
    }

    #[test]
    fn mistakes_end_with_what_would_do() {
        for (text, wanted) in [
            ("write.p99", "write a figure, a comparison (>, >=, < or <=) and a value: write.p99 > 5ms"),
            ("writ.p99 > 5ms", "no figure is called writ.p99: "),
            ("write.p99 > 5", "write.p99: "),
            ("waf > 2ms", "waf: `2ms` is no number"),
        ] {
            let problem = Limit::parse(text).unwrap_err();
            assert!(problem.starts_with(wanted), "{text}: {problem}");
        }
        assert!(Limit::parse("writ.p99 > 5ms").unwrap_err().ends_with("; did you mean `write.p99`"));
    }
}
