//! Which code of n data and n code blocks is best.
//!
//! Up to n = 6 all codes are tried, one of each that differ in the names of the data blocks only. The power of a set of
//! code blocks is one word then, a bit for each set of data blocks: its minors for elimination, the sets it peels for
//! peeling.

use crate::count::decodable_sets;
use crate::decode::Decoder;
use crate::group::GroupCode;
use crate::words::WITHOUT;
use engine::random::Stream;
use rayon::prelude::*;
use std::collections::BTreeSet;

pub type Goal = Decoder;

/// Most data blocks for which all codes are tried.
pub const MOST_TRIED: u32 = 6;

/// The best that was found.
#[derive(Clone, Debug)]
pub struct Best {
    /// Sets of blocks that the code decodes.
    pub sets: u64,
    /// Codes with as many; 0 if not all were tried.
    pub optima: u64,
    /// Codes tried, or stood for by one that was.
    pub tried: u64,
    /// Climbs that reached their top; 0 if all codes were tried.
    pub climbs: u64,
    /// One of the best.
    pub code: GroupCode,
}

/// Codes of `n` data and `n` code blocks: sets of non-empty rows; several may be equal.
pub fn graphs(n: u32) -> u64 {
    let rows = (1_u64 << n) - 1;
    (0..u64::from(n)).fold(1, |graphs, i| graphs * (rows + i) / (i + 1))
}

/// Code blocks in ascending order.
type Rows = Vec<u32>;

/// Other names for the data blocks: by naming, by row, the row under the new names.
struct Names(Vec<Vec<u32>>);

impl Names {
    fn of(n: u32) -> Self {
        let mut orders = vec![Vec::new()];
        for _ in 0..n {
            let longer = |order: &Vec<u32>| {
                (0..n)
                    .filter(|name| !order.contains(name))
                    .map(|name| [&order[..], &[name]].concat())
                    .collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        let renamed = |order: &Vec<u32>, row: u32| {
            (0..n).filter(|at| row >> at & 1 == 1).fold(0, |new, at| new | 1 << order[at as usize])
        };
        Self(orders.iter().map(|order| (0..1 << n).map(|row| renamed(order, row)).collect()).collect())
    }

    /// The rows under each naming.
    fn renamed<'a>(&'a self, rows: &'a [u32]) -> impl Iterator<Item = Rows> + 'a {
        self.0.iter().map(|names| {
            let mut rows: Rows = rows.iter().map(|row| names[*row as usize]).collect();
            rows.sort_unstable();
            rows
        })
    }

    /// No naming makes the rows smaller. What follows then holds without the last row as well, so that codes can be
    /// built row by row: a smaller form of the first rows would be one of all.
    fn is_least(&self, rows: &[u32]) -> bool {
        self.renamed(rows).all(|other| other.as_slice() >= rows)
    }

    /// The least form, and how many forms there are.
    fn orbit(&self, rows: &[u32]) -> (Rows, u64) {
        let forms: BTreeSet<Rows> = self.renamed(rows).collect();
        let count = forms.len() as u64;
        (forms.into_iter().next().unwrap_or_default(), count)
    }

    /// Every `count` rows in least form.
    fn all_least(&self, n: u32, count: u32) -> Vec<Rows> {
        (0..count).fold(vec![Vec::new()], |shorter: Vec<Rows>, _| {
            let longer = |rows: &Rows| {
                let least = rows.last().copied().unwrap_or(1);
                (least..1 << n)
                    .map(|row| [rows.as_slice(), &[row]].concat())
                    .filter(|rows| self.is_least(rows))
                    .collect::<Vec<_>>()
            };
            shorter.par_iter().flat_map_iter(longer).collect()
        })
    }
}

/// What a set of rows can do, and the rows.
#[derive(Clone)]
struct Able {
    /// Bit T: the sets T of data blocks that these rows alone, or these and the data blocks beside T, tell.
    sets: u64,
    rows: Rows,
}

/// The minors of a set of rows and one more.
fn wedge(minors: u64, row: u32) -> u64 {
    let columns = (0..MOST_TRIED).filter(|column| row >> column & 1 == 1);
    columns.fold(0, |sum, column| sum ^ (minors & WITHOUT[column as usize]) << (1_u32 << column))
}

/// What rows peel with one more, if without it they peel `peeled`.
fn peel(mut peeled: u64, rows: &[u32], more: u32) -> u64 {
    loop {
        let before = peeled;
        for row in rows.iter().copied().chain([more]) {
            for column in (0..MOST_TRIED).filter(|column| row >> column & 1 == 1) {
                // Sets that the row meets in this column only, and whose rest can be peeled.
                let others = (0..MOST_TRIED).filter(|other| *other != column && row >> other & 1 == 1);
                let free = others.fold(WITHOUT[column as usize], |free, other| free & WITHOUT[other as usize]);
                peeled |= (peeled & free) << (1_u32 << column);
            }
        }
        if peeled == before {
            return peeled;
        }
    }
}

impl Able {
    fn nothing() -> Self {
        Self { sets: 1, rows: Vec::new() }
    }

    fn with(&self, row: u32, goal: Goal) -> u64 {
        match goal {
            Decoder::Gauss => wedge(self.sets, row),
            Decoder::Peel => peel(self.sets, &self.rows, row),
        }
    }
}

/// The sets with `size` columns.
fn of_size(sets: u64, size: usize) -> u64 {
    /// Bits of a word by the columns of their sets.
    const OF_SIZE: [u64; 7] = {
        let mut of_size = [0; 7];
        let mut set = 0_u64;
        while set < 64 {
            of_size[set.count_ones() as usize] |= 1 << set;
            set += 1;
        }
        of_size
    };
    u64::from((sets & OF_SIZE[size]).count_ones())
}

/// The best of all codes that begin with these rows: sets that decode, and the last row of each.
fn best_last_rows(n: u32, rows: &Rows, goal: Goal) -> (u64, Vec<Rows>) {
    let chosen = rows.iter().fold(vec![Able::nothing()], |chosen, row| {
        let with = |able: &Able| Able { sets: able.with(*row, goal), rows: [able.rows.as_slice(), &[*row]].concat() };
        let more: Vec<Able> = chosen.iter().map(with).collect();
        [chosen, more].concat()
    });
    let so_far: u64 = chosen.iter().map(|able| of_size(able.sets, able.rows.len())).sum();
    let mut best = (0, Vec::new());
    for last in rows.last().copied().unwrap_or(1)..1 << n {
        let more: u64 = chosen.iter().map(|able| of_size(able.with(last, goal), able.rows.len() + 1)).sum();
        if so_far + more > best.0 {
            best = (so_far + more, Vec::new());
        }
        if so_far + more == best.0 {
            best.1.push([rows.as_slice(), &[last]].concat());
        }
    }
    best
}

/// Tries every code of `n` data and `n` code blocks. `None`: there are too many, or none; see [`MOST_TRIED`].
pub fn best_of_all(n: u32, goal: Goal) -> Option<Best> {
    if n == 0 || n > MOST_TRIED {
        return None;
    }
    let names = Names::of(n);
    let found: Vec<(u64, Vec<Rows>)> =
        names.all_least(n, n - 1).par_iter().map(|rows| best_last_rows(n, rows, goal)).collect();
    let sets = found.iter().map(|(sets, _)| *sets).max()?;
    let best = found.iter().filter(|found| found.0 == sets).flat_map(|(_, codes)| codes);
    let orbits: BTreeSet<(Rows, u64)> = best.map(|rows| names.orbit(rows)).collect();
    let code = GroupCode::new(n, &orbits.first()?.0).ok()?;
    let optima = orbits.iter().map(|(_, forms)| forms).sum();
    Some(Best { sets, optima, tried: graphs(n), climbs: 0, code })
}

/// How a climb goes on.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Codes tried since the last step.
    pub tried: u64,
    /// Sets that decode with the best code of this climb so far.
    pub sets: u64,
    /// This was the last step: no other row is better.
    pub is_top: bool,
}

/// Climbs from random codes `restarts` times: row after row is replaced by the best of the rows that differ in one data
/// block, until no other row is better. `watch` is told of each step, and returns `false` to stop all climbs where they
/// are.
/// Panics: `n` is not 1 to 16, or there is no restart.
pub fn best_by_climbing(n: u32, goal: Goal, restarts: u64, seed: u64, watch: &(dyn Fn(Step) -> bool + Sync)) -> Best {
    assert!(restarts > 0, "a climb has to begin somewhere");
    let climbs = (0..restarts).into_par_iter().map(|restart| {
        let mut stream = Stream::new(seed, &format!("code.{restart}"));
        let rows: Vec<u32> = (0..n).map(|_| 1 + stream.below((1 << n) - 1) as u32).collect();
        let mut climb = Climb { n, goal, rows, sets: 0, tried: 0, is_top: false };
        climb.go(watch);
        climb
    });
    let climbs: Vec<Climb> = climbs.collect();
    // In order, so that the code shown does not depend on who was first.
    let best = climbs.iter().reduce(|a, b| if b.sets > a.sets { b } else { a }).expect("there is a restart");
    let code = GroupCode::new(n, &best.rows).expect("rows are not empty");
    let tops = climbs.iter().filter(|climb| climb.is_top).count() as u64;
    Best { sets: best.sets, optima: 0, tried: climbs.iter().map(|climb| climb.tried).sum(), climbs: tops, code }
}

/// One climb, as far as it has got.
struct Climb {
    n: u32,
    goal: Goal,
    rows: Rows,
    sets: u64,
    tried: u64,
    is_top: bool,
}

impl Climb {
    fn go(&mut self, watch: &(dyn Fn(Step) -> bool + Sync)) {
        // A stop that came before the climb began costs it no count.
        if !watch(Step { tried: 0, sets: 0, is_top: false }) {
            return;
        }
        self.sets = self.count(None);
        self.tried = 1;
        let mut tried = 1;
        let mut unchanged = 0;
        for at in (0..self.rows.len()).cycle() {
            let others: Vec<u32> = (0..self.n).map(|bit| self.rows[at] ^ 1 << bit).filter(|row| *row != 0).collect();
            let counts: Vec<u64> = others.par_iter().map(|row| self.count(Some((at, *row)))).collect();
            tried += others.len() as u64;
            self.tried += others.len() as u64;
            unchanged += 1;
            // The first of those that are as good.
            let best = counts.into_iter().zip(others).reduce(|a, b| if b.0 > a.0 { b } else { a });
            if let Some((sets, row)) = best.filter(|best| best.0 > self.sets) {
                (self.sets, self.rows[at], unchanged) = (sets, row, 0);
            }
            self.is_top = unchanged == self.rows.len();
            let goes_on = watch(Step { tried, sets: self.sets, is_top: self.is_top });
            if self.is_top || !goes_on {
                return;
            }
            tried = 0;
        }
    }

    /// Sets that decode, with another row if there is one.
    fn count(&self, other: Option<(usize, u32)>) -> u64 {
        let mut rows = self.rows.clone();
        if let Some((at, row)) = other {
            rows[at] = row;
        }
        decodable_sets(&GroupCode::new(self.n, &rows).expect("rows are not empty"), self.goal)
    }
}
