//! The elements that are known when some others are there.

use crate::group::GroupCode;

/// A way to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// A code block and its sources are a constraint; one with a single unknown element tells it. Cheap, and misses
    /// what only several constraints together tell.
    Peel,
    /// Elimination over GF(2): everything that can be known is.
    Gauss,
}

/// Every decoder: its name, its method, the decoder.
pub const DECODERS: &[(&str, &str, Decoder)] = &[
    ("peel", "it resolves constraints with one unknown block, one after the other (Tanner graph)", Decoder::Peel),
    ("gauss", "elimination over GF(2): every block that follows from the blocks read", Decoder::Gauss),
];

/// Most elements of a code whose answers are in a table.
const TABLE_ELEMENTS: u32 = 12;

/// Answers for a code and a decoder.
#[derive(Clone, Debug)]
pub struct Known {
    code: GroupCode,
    decoder: Decoder,
    /// By set of elements that are there: those that are known.
    table: Vec<u16>,
}

impl Known {
    /// Computes the answers for each set of blocks where there are few enough.
    pub fn new(code: GroupCode, decoder: Decoder) -> Self {
        let table = if code.elements() <= TABLE_ELEMENTS {
            (0..1_u32 << code.elements()).map(|have| compute(&code, decoder, have) as u16).collect()
        } else {
            Vec::new()
        };
        Self { code, decoder, table }
    }

    pub fn code(&self) -> &GroupCode {
        &self.code
    }

    /// Elements that are known when the elements of `have` are there: read or buffered.
    #[inline]
    pub fn from(&self, have: u32) -> u32 {
        match self.table.get(have as usize) {
            Some(known) => u32::from(*known),
            None => compute(&self.code, self.decoder, have),
        }
    }

    /// Whether these data blocks are known.
    #[inline]
    pub fn decodes(&self, have: u32, wanted: u32) -> bool {
        wanted & !self.from(have) == 0
    }
}

fn compute(code: &GroupCode, decoder: Decoder, have: u32) -> u32 {
    if code.is_mds() {
        let all = u32::MAX >> (32 - code.elements());
        return if have.count_ones() >= code.data() { all } else { have };
    }
    match decoder {
        Decoder::Peel => peel(code, have),
        Decoder::Gauss => eliminate(code, have),
    }
}

fn peel(code: &GroupCode, have: u32) -> u32 {
    let mut known = have;
    loop {
        let before = known;
        for row in 0..code.code() {
            let unknown = (code.sources(row) | 1 << (code.data() + row)) & !known;
            if unknown.is_power_of_two() {
                known |= unknown;
            }
        }
        if known == before {
            return known;
        }
    }
}

fn eliminate(code: &GroupCode, have: u32) -> u32 {
    let mut basis = [0_u32; 32];
    let reduce = |basis: &[u32; 32], mut vector: u32| {
        while vector != 0 {
            let row = basis[vector.trailing_zeros() as usize];
            if row == 0 {
                break;
            }
            vector ^= row;
        }
        vector
    };
    for element in (0..code.elements()).filter(|element| have >> element & 1 == 1) {
        let vector = reduce(&basis, code.vector(element));
        if vector != 0 {
            basis[vector.trailing_zeros() as usize] = vector;
        }
    }
    let is_known = |element: &u32| reduce(&basis, code.vector(*element)) == 0;
    (0..code.elements()).filter(is_known).fold(0, |known, element| known | 1 << element)
}
