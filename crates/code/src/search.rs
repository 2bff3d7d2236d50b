//! Which code of n data and n code blocks is best.
//!
//! The sets of n blocks that decode are the nonsingular minors of the matrix of code blocks. The minors of a set of rows, one
//! for each set of as many columns, are one word of 2^n bits, and one more row changes it by n shifts: that is the wedge
//! product over GF(2). Up to n = 6 a word holds them, and all codes can be tried.

use crate::count::decodable_sets;
use crate::decode::Decoder;
use crate::group::GroupCode;
use engine::random::Stream;
use rayon::prelude::*;

/// What is counted.
pub type Goal = Decoder;

/// The best that was found.
#[derive(Clone, Debug)]
pub struct Best {
    /// Sets that decode.
    pub sets: u64,
    /// Codes with as many; 0 if not all were tried.
    pub optima: u64,
    /// Codes tried.
    pub tried: u64,
    /// One of the best.
    pub code: GroupCode,
}

/// Codes of `n` data and `n` code blocks: sets of non-empty rows, of which several may be equal.
pub fn graphs(n: u32) -> u64 {
    let rows = (1_u64 << n) - 1;
    (0..u64::from(n)).fold(1, |graphs, i| graphs * (rows + i) / (i + 1))
}

/// The minors of a set of rows and one more.
fn wedge(minors: u64, row: u32) -> u64 {
    // Bit T of a word stands for a set T of columns; column i joins those sets that it is not in.
    const WITHOUT: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    let columns = (0..6_u32).filter(|column| row >> column & 1 == 1);
    columns.fold(0, |sum, column| sum ^ (minors & WITHOUT[column as usize]) << (1_u32 << column))
}

#[derive(Clone, Copy)]
struct Found {
    sets: u64,
    optima: u64,
    rows: [u32; 6],
}

impl Found {
    fn better(self, other: Self) -> Self {
        match self.sets.cmp(&other.sets) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            // The first in order, whoever found it.
            std::cmp::Ordering::Equal => Self { optima: self.optima + other.optima, rows: self.rows.min(other.rows), ..self },
        }
    }
}

const NOTHING: Found = Found { sets: 0, optima: 0, rows: [0; 6] };

/// Tries every code whose rows from `depth` on are not smaller than `least`. `minors`: of each set of the rows so far.
fn try_rows(n: usize, depth: usize, least: u32, minors: &mut Vec<u64>, rows: &mut [u32; 6], best: &mut Found) {
    let before = minors.len();
    let so_far: u64 = minors.iter().map(|minors| u64::from(minors.count_ones())).sum();
    for row in least..1 << n {
        rows[depth] = row;
        if depth + 1 == n {
            let more: u64 = minors[..before].iter().map(|minors| u64::from(wedge(*minors, row).count_ones())).sum();
            if so_far + more >= best.sets {
                *best = best.better(Found { sets: so_far + more, optima: 1, rows: *rows });
            }
            continue;
        }
        for set in 0..before {
            minors.push(wedge(minors[set], row));
        }
        try_rows(n, depth + 1, row, minors, rows, best);
        minors.truncate(before);
    }
}

/// Tries every code of `n` data and `n` code blocks, up to 6 for elimination and 5 for peeling. `None`: too many.
pub fn best_of_all(n: u32, goal: Goal) -> Option<Best> {
    let most = if goal == Decoder::Gauss { 6 } else { 5 };
    if n == 0 || n > most {
        return None;
    }
    let first_rows: Vec<u32> = (1..1 << n).collect();
    let found = first_rows.par_iter().map(|first| {
        let (mut best, mut rows) = (NOTHING, [0; 6]);
        rows[0] = *first;
        if goal == Decoder::Gauss {
            let mut minors = vec![1, wedge(1, *first)];
            if n == 1 {
                return Found { sets: 2, optima: 1, rows };
            }
            try_rows(n as usize, 1, *first, &mut minors, &mut rows, &mut best);
        } else {
            peel_rows(n as usize, 1, *first, &mut rows, &mut best);
        }
        best
    });
    // In order, so that the code shown does not depend on who was first.
    let best = found.collect::<Vec<_>>().into_iter().fold(NOTHING, Found::better);
    let code = GroupCode::new(n, &best.rows[..n as usize]).expect("rows are not empty");
    Some(Best { sets: best.sets, optima: best.optima, tried: graphs(n), code })
}

fn peel_rows(n: usize, depth: usize, least: u32, rows: &mut [u32; 6], best: &mut Found) {
    if depth == n {
        let code = GroupCode::new(n as u32, &rows[..n]).expect("rows are not empty");
        let sets = decodable_sets(&code, Decoder::Peel);
        *best = best.better(Found { sets, optima: 1, rows: *rows });
        return;
    }
    for row in least..1 << n {
        rows[depth] = row;
        peel_rows(n, depth + 1, row, rows, best);
    }
}

/// Climbs from random codes, each time to the best neighbour with one other row, `restarts` times.
///
/// # Panics
/// `n` is not 1 to 16.
pub fn best_by_climbing(n: u32, goal: Goal, restarts: u64, seed: u64) -> Best {
    let climbs = (0..restarts).into_par_iter().map(|restart| {
        let mut stream = Stream::new(seed, &format!("code.{restart}"));
        let rows: Vec<u32> = (0..n).map(|_| 1 + stream.below((1 << n) - 1) as u32).collect();
        climb(n, goal, rows)
    });
    let all: Vec<(u64, u64, GroupCode)> = climbs.collect();
    let tried = all.iter().map(|climb| climb.1).sum();
    let best = all.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
    let (sets, _, code) = best.unwrap_or_else(|| climb(n, goal, vec![1; n as usize]));
    Best { sets, optima: 0, tried, code }
}

fn climb(n: u32, goal: Goal, mut rows: Vec<u32>) -> (u64, u64, GroupCode) {
    let code = |rows: &[u32]| GroupCode::new(n, rows).expect("rows are not empty");
    let mut sets = decodable_sets(&code(&rows), goal);
    let mut tried = 1;
    loop {
        let mut better = None;
        for at in 0..rows.len() {
            let old = rows[at];
            for bit in 0..n {
                let row = old ^ 1 << bit;
                if row == 0 {
                    continue;
                }
                rows[at] = row;
                tried += 1;
                let found = decodable_sets(&code(&rows), goal);
                if found > sets {
                    (sets, better) = (found, Some((at, row)));
                }
            }
            rows[at] = old;
        }
        let Some((at, row)) = better else { return (sets, tried, code(&rows)) };
        rows[at] = row;
    }
}
