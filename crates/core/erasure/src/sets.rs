//! How many sets of blocks decode a group, without going through them one by one.
//!
//! A set of blocks lacks some data blocks, T, and has some code blocks, C. Elimination decodes it if the columns T of
//! the rows C are independent; peeling, if some row of C meets T in one column, and so on without that column. Both are
//! found out for many T or many C at once, a bit for each.

use crate::decode::Decoder;
use crate::group::GroupCode;
use crate::words::{COVERED, NO_SIZES, Sizes, WITHOUT, add_parts, choose, tally, tally_word, wedge, words};
use rayon::prelude::*;

/// Rows whose two branches, with and without, are walked side by side.
const SPLIT: usize = 4;

/// By number of blocks: sets of that many that decode all data.
pub(crate) fn decoded(code: &GroupCode, decoder: Decoder) -> Sizes {
    if code.is_mds() {
        return std::array::from_fn(
            |size| if size as u32 >= code.data() { choose(code.elements(), size as u32) } else { 0 },
        );
    }
    match decoder {
        Decoder::Gauss => Rows::of(code).walk(0, &Chosen::nothing(code.data())),
        Decoder::Peel => peeled(code),
    }
}

/// Sets of as many blocks as there are data blocks that elimination decodes: the minors of the matrix that are not 0.
pub(crate) fn minors(code: &GroupCode) -> u64 {
    let rows = Rows::of(code);
    rows.minors(0, &Chosen::nothing(code.data()).minors)
}

/// The code blocks of a code.
struct Rows {
    rows: Vec<u32>,
    data: u32,
}

/// What follows from the rows chosen so far.
#[derive(Clone)]
struct Chosen {
    /// Minors of an independent half of them that spans the rest: bit T, for T of as many columns.
    minors: Vec<u64>,
    /// Rows of that half.
    rank: u32,
    /// Rows that were spanned when their turn came: with or without them, the same decodes.
    spanned: u32,
}

impl Chosen {
    fn nothing(data: u32) -> Self {
        let mut minors = vec![0; words(data)];
        minors[0] = 1;
        Self { minors, rank: 0, spanned: 0 }
    }
}

fn sum(mut a: Sizes, b: &Sizes) -> Sizes {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

impl Rows {
    fn of(code: &GroupCode) -> Self {
        Self { rows: (0..code.code()).map(|row| code.sources(row)).collect(), data: code.data() }
    }

    /// The sets that decode, by size, with and without each row from `at` on.
    fn walk(&self, at: usize, chosen: &Chosen) -> Sizes {
        if chosen.rank == self.data {
            let left = (self.rows.len() - at) as u32;
            return self.weighed(&Chosen { spanned: chosen.spanned + left, ..chosen.clone() });
        }
        let Some(row) = self.rows.get(at) else { return self.weighed(chosen) };
        let minors = wedge(&chosen.minors, *row);
        if minors.iter().all(|minors| *minors == 0) {
            return self.walk(at + 1, &Chosen { spanned: chosen.spanned + 1, ..chosen.clone() });
        }
        let with = Chosen { minors, rank: chosen.rank + 1, spanned: chosen.spanned };
        let (without, with) = (|| self.walk(at + 1, chosen), || self.walk(at + 1, &with));
        let (without, with) = if at < SPLIT { rayon::join(without, with) } else { (without(), with()) };
        sum(without, &with)
    }

    /// Columns are independent in these rows if they are part of a minor that is not 0.
    fn weighed(&self, chosen: &Chosen) -> Sizes {
        let mut independent = chosen.minors.clone();
        add_parts(&mut independent, self.data);
        let lacking = tally(&independent);
        let mut sizes = NO_SIZES;
        for lacks in 0..=self.data {
            for more in 0..=chosen.spanned {
                let blocks = self.data - lacks + chosen.rank + more;
                sizes[blocks as usize] += lacking[lacks as usize] * choose(chosen.spanned, more);
            }
        }
        sizes
    }

    fn minors(&self, at: usize, minors: &[u64]) -> u64 {
        let Some(row) = self.rows.get(at) else {
            return minors.iter().map(|minors| u64::from(minors.count_ones())).sum();
        };
        let with = || {
            let more = wedge(minors, *row);
            if more.iter().all(|minors| *minors == 0) { 0 } else { self.minors(at + 1, &more) }
        };
        let without = || self.minors(at + 1, minors);
        let (without, with) = if at < SPLIT { rayon::join(without, with) } else { (without(), with()) };
        without + with
    }
}

/// How a set of lacking data blocks gets smaller: the set with one less, and the code blocks that tell that one.
type Steps = Vec<(u32, u32)>;

/// By set of lacking data blocks: where its steps end in the list of all.
fn steps(code: &GroupCode) -> (Vec<u32>, Steps) {
    let (mut ends, mut steps) = (Vec::with_capacity(1 << code.data()), Vec::new());
    for lacking in 0..1_u32 << code.data() {
        let mut told = [0; 32];
        for row in 0..code.code() {
            let met = code.sources(row) & lacking;
            if met.is_power_of_two() {
                told[met.trailing_zeros() as usize] |= 1_u32 << row;
            }
        }
        let columns = (0..code.data()).filter(|column| told[*column as usize] != 0);
        steps.extend(columns.map(|column| (lacking & !(1 << column), told[column as usize])));
        ends.push(steps.len() as u32);
    }
    (ends, steps)
}

/// The sets that peeling decodes, by size. A word has a bit for each choice among the first code blocks; the choices
/// among the others are gone through.
fn peeled(code: &GroupCode) -> Sizes {
    let low = code.code().min(COVERED);
    let all = u64::MAX >> (64 - (1_u32 << low));
    // By set of the first code blocks: the choices with one of them.
    let with: Vec<u64> = (0..1_usize << low)
        .map(|among| {
            (0..low).filter(|row| among >> row & 1 == 1).fold(0, |with, row| with | !WITHOUT[row as usize] & all)
        })
        .collect();
    let (ends, steps) = steps(code);
    let of_high = |(mut known, mut sizes): (Vec<u64>, Sizes), high: u32| {
        known.clear();
        known.push(all);
        let mut from = ends[0];
        for end in &ends[1..] {
            let now = steps[from as usize..*end as usize].iter().fold(0, |now, (less, told)| {
                let can = if told >> low & high != 0 { all } else { with[(told & ((1 << low) - 1)) as usize] };
                now | known[*less as usize] & can
            });
            known.push(now);
            from = *end;
        }
        for (lacking, known) in known.iter().enumerate().filter(|(_, known)| **known != 0) {
            let at = code.data() - lacking.count_ones() + high.count_ones();
            tally_word(*known, at, &mut sizes);
        }
        (known, sizes)
    };
    let empty = || (Vec::with_capacity(1 << code.data()), NO_SIZES);
    let highs = (0..1_u32 << (code.code() - low)).into_par_iter();
    highs.fold(empty, of_high).map(|(_, sizes)| sizes).reduce(|| NO_SIZES, |a, b| sum(a, &b))
}
