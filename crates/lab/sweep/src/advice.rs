//! Recommendations in words, made of numbers alone: the same results give the same text.

use crate::front::{Cost, Front};
use crate::metric::Metric;
use crate::summary::Summary;
use crate::words::{listed, shown, shown_cell};
use metrics::Cell;
use std::fmt::Write as _;

/// A knee lies at least so far below the straight line from the first to the last price, as a share of the fall between
/// them.
const BEND: f64 = 0.1;
/// Beyond a knee the tail falls by no more than this part of the share by which it fell until there: where it falls on
/// as before, paying more goes on being worth it.
const FLATTER: f64 = 0.5;

/// Where the tail stops falling for its price.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// Combinations with the shortest tail at the lowest price, at the knee, and at the highest price.
    pub at: [usize; 3],
    /// By which share of itself the tail falls until the knee, and from there on; below zero where it rises.
    pub falls: [f64; 2],
}

/// The recommendation, and its reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Number of the combination; `None`: nothing can be told.
    pub recommended: Option<usize>,
    /// Number of the combination with the shortest tail.
    pub best: Option<usize>,
    /// Where the tail stops falling for its price, if it does.
    pub knee: Option<Knee>,
    /// All of it in words.
    pub text: String,
}

/// The inputs of advice on a panel.
pub(crate) struct Look<'a> {
    pub all: &'a [Summary],
    pub front: &'a Front,
    /// How far beyond the best tail a recommended one may be, as a share.
    pub within: f64,
    /// Names of combinations.
    pub name: &'a dyn Fn(usize) -> String,
}

/// A share as per cent, in whole ones where that says it.
fn percent(share: f64) -> String {
    format!("{} %", figures::number(share * 100.0))
}

impl Advice {
    pub(crate) fn nothing(why: &str) -> Self {
        Self { text: format!("Nothing is recommended: {why}."), ..Self::default() }
    }

    /// The recommendation with its price, which is one sentence, and the reasons behind it.
    pub fn in_two(&self) -> (&str, &str) {
        self.text.find(". ").map_or((self.text.as_str(), ""), |end| (&self.text[..=end], &self.text[end + 2..]))
    }

    /// The recommendation in a panel.
    pub(crate) fn of(look: &Look<'_>) -> Self {
        let Some(best) = look.shortest(look.front.candidates.iter().copied()) else {
            return Self::nothing("no design was measured");
        };
        if look.front.candidates.len() < 2 {
            return Self { best: Some(best), ..Self::nothing("there is one design, and nothing to compare it with") };
        }
        let advice = match look.front.price {
            Some(price) => look.for_price(price, best),
            None => look.without_price(best),
        };
        Self { best: Some(best), ..advice }
    }
}

impl Look<'_> {
    fn tail(&self, at: usize) -> Cost {
        self.front.tail_of(self.all, at)
    }

    fn shortest(&self, of: impl Iterator<Item = usize>) -> Option<usize> {
        of.min_by(|a, b| self.tail(*a).mean.total_cmp(&self.tail(*b).mean))
    }

    /// The tail of a combination, with its interval.
    fn value(&self, at: usize) -> String {
        let cell = self.all[at].cell(self.front.tail.name).unwrap_or(Cell { mean: f64::NAN, half: None });
        shown_cell(self.front.tail, cell)
    }

    /// What two tails that cannot be told apart are.
    fn unsure(&self) -> &'static str {
        if self.front.is_repeated { "within the intervals" } else { "less than single runs can tell" }
    }

    fn sure(&self) -> &'static str {
        if self.front.is_repeated { "beyond the intervals" } else { "as far as single runs can tell" }
    }

    /// Whether the tail of a combination is near enough to the best.
    fn is_near(&self, at: usize, best: usize) -> bool {
        self.tail(at).mean <= self.tail(best).mean * (1.0 + self.within)
    }

    /// Each price there is, ascending, and the combination with the shortest tail for it.
    fn levels(&self, price: &Metric) -> Vec<(f64, usize)> {
        let of = |at: usize| self.all[at].mean(price.name).unwrap_or(f64::NAN);
        let mut candidates = self.front.candidates.clone();
        candidates.sort_by(|a, b| of(*a).total_cmp(&of(*b)));
        let mut levels: Vec<(f64, usize)> = Vec::new();
        for at in candidates {
            match levels.last_mut() {
                Some((known, shortest)) if of(at) - *known <= price.rounding() * known.abs() => {
                    if self.tail(at).mean < self.tail(*shortest).mean {
                        *shortest = at;
                    }
                }
                _ => levels.push((of(at), at)),
            }
        }
        levels
    }

    /// The lowest price for which the tail stays near the best.
    fn for_price(&self, price: &'static Metric, best: usize) -> Advice {
        let levels = self.levels(price);
        let cheapest = levels[0].1;
        let (tail, near) = (self.front.tail.short, percent(self.within));
        if !self.is_near(cheapest, best) && !self.tail(best).is_below(self.tail(cheapest)) {
            let (cheap, good) = (self.value(cheapest), self.value(best));
            return Advice::nothing(&format!(
                "the {tail} with least {} ({cheap}, {}) cannot be told from the shortest ({good}, {}); more \
                 repetitions narrow the intervals",
                price.short,
                (self.name)(cheapest),
                (self.name)(best)
            ));
        }
        let Some(at) = levels.iter().position(|(_, shortest)| self.is_near(*shortest, best)) else {
            return Advice::nothing("no tail is a number");
        };
        let chosen = self.chosen_at(price, levels[at], best);
        let cost = shown(price, levels[at].0);
        let beside = if chosen == best {
            "the shortest there is".to_owned()
        } else {
            format!("shortest {} with {}", self.value(best), (self.name)(best))
        };
        let mut sentences = vec![format!(
            "Least {} whose {tail} stays within {near} of the shortest: {cost} with {} ({}; {beside}).",
            price.short,
            (self.name)(chosen),
            self.value(chosen)
        )];
        sentences.extend(self.beside_cheaper(price, &levels, at, chosen));
        if chosen != best {
            let how = if self.tail(best).is_below(self.tail(chosen)) { self.sure() } else { self.unsure() };
            sentences.push(format!("The difference to the shortest is {how}."));
        }
        sentences.extend(self.ties(price, levels[at].0, chosen));
        let knee = self.knee(&levels);
        sentences.extend(self.knee_words(price, &levels, knee.as_ref()));
        Advice { recommended: Some(chosen), best: None, knee, text: sentences.join(" ") }
    }

    /// Of the combinations of a price that are near the best, the one with the shortest tail that none of the others
    /// beats; where they beat each other in a ring, the one with the shortest tail.
    fn chosen_at(&self, price: &Metric, (cost, shortest): (f64, usize), best: usize) -> usize {
        let near = self
            .front
            .candidates
            .iter()
            .copied()
            .filter(|at| self.has_price(*at, price, cost) && self.is_near(*at, best));
        self.shortest(self.front.unbeaten_of(self.all, &near.collect::<Vec<_>>()).into_iter()).unwrap_or(shortest)
    }

    fn has_price(&self, at: usize, price: &Metric, cost: f64) -> bool {
        self.all[at].mean(price.name).is_some_and(|of| (of - cost).abs() <= price.rounding() * cost.abs())
    }

    /// How sure it is that the next lower price is worse.
    fn beside_cheaper(&self, price: &Metric, levels: &[(f64, usize)], at: usize, chosen: usize) -> Option<String> {
        let (cost, cheaper) = levels[at.checked_sub(1)?];
        let what = format!("{} ({})", shown(price, cost), self.value(cheaper));
        Some(if self.tail(chosen).is_below(self.tail(cheaper)) {
            format!("The {} is shorter than with {what} {}.", self.front.tail.short, self.sure())
        } else {
            format!("The difference to {what}, which costs less, is {}.", self.unsure())
        })
    }

    /// What costs the same and cannot be told apart.
    fn ties(&self, price: &Metric, cost: f64, chosen: usize) -> Option<String> {
        let of_price: Vec<usize> =
            self.front.candidates.iter().copied().filter(|at| self.has_price(*at, price, cost)).collect();
        let others = self.front.unbeaten_of(self.all, &of_price).into_iter().filter(|at| *at != chosen);
        let names: Vec<String> =
            others.filter(|at| !self.tail(chosen).is_below(self.tail(*at))).map(self.name).collect();
        (!names.is_empty()).then(|| {
            format!("For the same {}, the recommended design cannot be told from {}.", price.short, listed(&names))
        })
    }

    /// The price from which on paying more shortens the tail much less. Of the prices beyond which the tail falls by at
    /// most half the share by which it fell until there, the one that lies furthest below the straight line from the
    /// first to the last.
    fn knee(&self, levels: &[(f64, usize)]) -> Option<Knee> {
        let (&(low, first), &(high, last)) = (levels.first()?, levels.last()?);
        let (start, end) = (self.tail(first).mean, self.tail(last).mean);
        if levels.len() < 3 || start <= end {
            return None;
        }
        let below = |(cost, at): (f64, usize)| {
            (start - (start - end) * (cost - low) / (high - low) - self.tail(at).mean) / (start - end)
        };
        let falls = |at: usize| {
            let turn = self.tail(at).mean;
            [1.0 - turn / start, 1.0 - end / turn]
        };
        let is_bent = |level: &(f64, usize)| {
            let [before, after] = falls(level.1);
            after <= FLATTER * before && below(*level) >= BEND && self.tail(level.1).is_below(self.tail(first))
        };
        let inner = levels[1..levels.len() - 1].iter().copied().filter(is_bent);
        let (_, knee) = inner.max_by(|a, b| below(*a).total_cmp(&below(*b)))?;
        Some(Knee { at: [first, knee, last], falls: falls(knee) })
    }

    fn knee_words(&self, price: &Metric, levels: &[(f64, usize)], knee: Option<&Knee>) -> Option<String> {
        let [low, high] = [levels.first()?, levels.last()?].map(|level| shown(price, level.0));
        let tail = self.front.tail.short;
        let Some(Knee { at: [_, turn, last], falls }) = knee else {
            let is_less =
                levels.len() > 1 && levels[1..].iter().all(|(_, at)| !self.tail(*at).is_below(self.tail(levels[0].1)));
            return if is_less {
                Some(format!("More {} than {low} does not shorten the {tail} {}.", price.short, self.sure()))
            } else {
                (levels.len() > 2).then(|| format!("There is no knee between {low} and {high}."))
            };
        };
        let middle = shown(price, self.all[*turn].mean(price.name)?);
        let verb = |fall: f64| {
            if fall < 0.0 { format!("rises by {}", percent(-fall)) } else { format!("falls by {}", percent(fall)) }
        };
        let (turned, ended) = (self.tail(*turn), self.tail(*last));
        let how = if ended.is_below(turned) || turned.is_below(ended) {
            String::new()
        } else {
            format!(", {}", self.unsure())
        };
        let rest = if falls[1] < 0.0 { format!("it {}", verb(falls[1])) } else { format!("by {}", percent(falls[1])) };
        Some(format!(
            "Knee at {middle}: from {low} to {middle} the {tail} {}, from {middle} to {high} {rest}{how}.",
            verb(falls[0])
        ))
    }

    /// The shortest tail, where all designs cost the same.
    fn without_price(&self, best: usize) -> Advice {
        let others = || self.front.candidates.iter().copied().filter(|at| *at != best);
        let tail = self.front.tail.short;
        let same: Vec<usize> = others().filter(|at| !self.tail(best).is_below(self.tail(*at))).collect();
        if same.len() + 1 == self.front.candidates.len() {
            let rest = if self.front.is_repeated { "; more repetitions would narrow them" } else { "" };
            return Advice::nothing(&format!("the differences of the {tail} are {}{rest}", self.unsure()));
        }
        let Some(chosen) = self.front.unbeaten.iter().copied().find(|at| *at == best || same.contains(at)) else {
            return Advice::nothing(
                "each of the designs with the shortest tail is beaten by another one; more repetitions would tell",
            );
        };
        let equal: Vec<usize> = std::iter::once(best)
            .chain(same.iter().copied())
            .filter(|at| *at != chosen && self.front.unbeaten.contains(at))
            .collect();
        let names: Vec<String> = std::iter::once(chosen).chain(equal).map(self.name).collect();
        let value = self.value(chosen);
        // Of designs that cannot be told apart none is the best.
        let shortest = if let [name] = names.as_slice() {
            format!("{name} has the shortest {tail}, {value}")
        } else {
            format!("{} cannot be told apart: they have the shortest {tail}, {value} of the first", listed(&names))
        };
        let mut text = format!("{shortest}, and all designs have the same spare space and memory.");
        let next = self.shortest(others().filter(|at| !same.contains(at) && *at != chosen));
        if let Some(next) = next {
            let _ = write!(text, " {} ({}) is longer {}.", (self.name)(next), self.value(next), self.sure());
        }
        Advice { recommended: Some(chosen), best: None, knee: None, text }
    }
}
