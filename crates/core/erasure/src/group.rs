//! A code as a bit matrix.

/// Most elements of a group, data and code.
pub const MOST_ELEMENTS: u32 = 32;

/// Codes with a name, and a description of each.
pub const NAMED_CODES: &[(&str, &str)] = &[
    ("regular-M", "code block i is the sum of the M data blocks from i on, as many code blocks as data blocks"),
    ("mirror", "regular-1: each code block is a copy of a data block"),
    ("parity", "one code block, the sum of all data blocks"),
    ("peel-best", "the code of four data blocks with the most sets that peeling decodes: ab, ac, ad, bcd"),
    ("mds", "Reed-Solomon: as many code blocks as data blocks, any half of all blocks is enough; a bound"),
];

/// A fault of a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// No code has this name, and it is no matrix.
    #[error(
        "no code is called `{0}`; use regular-1 to regular-N, mirror, parity, peel-best or mds. Or write the code \
         blocks as rows of bits, one digit for each data block, such as \"1100 0110 0011 1001\""
    )]
    Unknown(String),
    /// More edges than data blocks, or none.
    #[error("{name}: a code block is the sum of 1 to {data} data blocks")]
    Edges {
        /// Name of the code.
        name: String,
        data: u32,
    },
    /// The code exists for one size only.
    #[error("peel-best is a code of 4 data blocks, and there are {0}")]
    OnlyFour(u32),
    /// A row that does not fit.
    #[error("`{row}` is not a code block of {data} data blocks: write {data} digits, 0 or 1, not all 0")]
    Row { row: String, data: u32 },
    #[error("{data} data blocks and {code} code blocks are more than {MOST_ELEMENTS}, the most of a group")]
    TooMany { data: u32, code: u32 },
}

/// A code: its data blocks, and for each code block the data blocks that it is the sum of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCode {
    data: u32,
    rows: Vec<u32>,
    mds: bool,
}

impl GroupCode {
    /// A code of `data` data blocks with these code blocks, sets of data blocks.
    ///
    /// # Errors
    /// A row is empty or names other blocks, or there are too many.
    pub fn new(data: u32, rows: &[u32]) -> Result<Self, CodeError> {
        let code = rows.len() as u32;
        if data == 0 || data + code > MOST_ELEMENTS {
            return Err(CodeError::TooMany { data, code });
        }
        if let Some(row) = rows.iter().find(|row| **row == 0 || u64::from(**row) >> data != 0) {
            return Err(CodeError::Row { row: format!("{row:b}"), data });
        }
        Ok(Self { data, rows: rows.to_vec(), mds: false })
    }

    /// The regular graph of the appendix of the publication: code block i is the sum of data blocks i to i + m - 1.
    ///
    /// # Errors
    /// `m` is not 1 to `n`, or `n` is too large.
    pub fn regular(n: u32, m: u32) -> Result<Self, CodeError> {
        if m == 0 || m > n {
            return Err(CodeError::Edges { name: format!("regular-{m}"), data: n });
        }
        if 2 * n > MOST_ELEMENTS {
            return Err(CodeError::TooMany { data: n, code: n });
        }
        let rows: Vec<u32> = (0..n).map(|i| (0..m).fold(0, |row, j| row | 1 << ((i + j) % n))).collect();
        Self::new(n, &rows)
    }

    /// A maximum distance separable code with as many code blocks as data blocks.
    ///
    /// # Errors
    /// `n` is too large.
    pub fn mds(n: u32) -> Result<Self, CodeError> {
        Ok(Self { mds: true, ..Self::regular(n, n)? })
    }

    /// The code of a name (see [`NAMED_CODES`]) or of rows of bits for groups of `data` blocks; the leftmost digit of a
    /// row is data block 0.
    ///
    /// # Errors
    /// There is no such code.
    pub fn parse(text: &str, data: u32) -> Result<Self, CodeError> {
        match text {
            "mirror" => return Self::regular(data, 1),
            "parity" => return Self::new(data, &[u32::MAX >> (32 - data.clamp(1, 32))]),
            "mds" => return Self::mds(data),
            "peel-best" if data == 4 => return Self::new(4, &[0b0011, 0b0101, 0b1001, 0b1110]),
            "peel-best" => return Err(CodeError::OnlyFour(data)),
            _ => {}
        }
        if let Some(edges) = text.strip_prefix("regular-") {
            let edges = edges.parse().map_err(|_| CodeError::Unknown(text.to_owned()))?;
            return Self::regular(data, edges);
        }
        if text.trim().is_empty() || !text.chars().all(|letter| matches!(letter, '0' | '1' | ' ')) {
            return Err(CodeError::Unknown(text.to_owned()));
        }
        let row = |word: &str| {
            let bits =
                word.bytes().enumerate().fold(0_u64, |bits, (at, digit)| bits | u64::from(digit == b'1') << at.min(63));
            let fits = word.len() == data as usize && bits != 0;
            fits.then_some(bits as u32).ok_or_else(|| CodeError::Row { row: word.to_owned(), data })
        };
        Self::new(data, &text.split_whitespace().map(row).collect::<Result<Vec<_>, _>>()?)
    }

    pub fn data(&self) -> u32 {
        self.data
    }

    pub fn code(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Data and code blocks.
    pub fn elements(&self) -> u32 {
        self.data + self.code()
    }

    /// The set of all data blocks.
    pub fn all_data(&self) -> u32 {
        u32::MAX >> (32 - self.data)
    }

    /// Data blocks that a code block is the sum of.
    #[inline]
    pub fn sources(&self, code: u32) -> u32 {
        self.rows[code as usize]
    }

    /// Any `data()` elements are enough, and fewer tell nothing but themselves.
    pub fn is_mds(&self) -> bool {
        self.mds
    }

    /// An element as a sum of data blocks.
    #[inline]
    pub fn vector(&self, element: u32) -> u32 {
        if element < self.data { 1 << element } else { self.rows[(element - self.data) as usize] }
    }

    /// Code blocks, as elements, whose sources all are among these data blocks.
    pub fn codes_within(&self, data: u32) -> u32 {
        (0..self.code())
            .filter(|code| self.sources(*code) & !data == 0)
            .fold(0, |codes, code| codes | 1 << (self.data + code))
    }

    /// Code blocks, as elements, with one of these data blocks among their sources.
    pub fn codes_of(&self, data: u32) -> u32 {
        (0..self.code())
            .filter(|code| self.sources(*code) & data != 0)
            .fold(0, |codes, code| codes | 1 << (self.data + code))
    }

    /// Some of `have` whose sum is data block `target`, if there are any. Not for MDS codes, whose sums have
    /// coefficients.
    pub fn express(&self, target: u32, have: u32) -> Option<u32> {
        // Row echelon over the data blocks; beside each row, the elements it is the sum of.
        let mut basis = [(0_u32, 0_u32); 32];
        let reduce = |basis: &[(u32, u32); 32], mut vector: u32, mut of: u32| {
            while vector != 0 {
                let (row, row_of) = basis[vector.trailing_zeros() as usize];
                if row == 0 {
                    break;
                }
                vector ^= row;
                of ^= row_of;
            }
            (vector, of)
        };
        for element in (0..self.elements()).filter(|element| have >> element & 1 == 1) {
            let (vector, of) = reduce(&basis, self.vector(element), 1 << element);
            if vector != 0 {
                basis[vector.trailing_zeros() as usize] = (vector, of);
            }
        }
        let (rest, of) = reduce(&basis, self.vector(target), 0);
        (rest == 0).then_some(of)
    }

    /// The code blocks as rows of bits.
    pub fn matrix(&self) -> String {
        let row = |row: &u32| (0..self.data).map(|at| if row >> at & 1 == 1 { '1' } else { '0' }).collect::<String>();
        self.rows.iter().map(row).collect::<Vec<_>>().join(" ")
    }
}
