//! Reed–Solomon codes: any `n` elements of a group with `n` data blocks tell all the others.
//!
//! Byte by byte, the data blocks are the values at 0, 1, … n - 1 of a polynomial over GF(2^8) of a degree below `n`,
//! and the code blocks are its values from `n` on. So every element is a sum of any `n` others, and its factors are
//! those of Lagrange's interpolation. The field is that of x^8 + x^4 + x^3 + x^2 + 1. This is the systematic
//! Vandermonde code: parities in drive files and snapshots are of it, so neither points nor polynomial may change.

/// The polynomial of the field, without x^8.
const POLYNOMIAL: u8 = 0b0001_1101;

/// By factor, then by byte: their product.
static PRODUCTS: [[u8; 256]; 256] = {
    let mut products = [[0; 256]; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut byte = 1;
        while byte < 256 {
            // Twice the product of half the byte, and once more where the byte is odd.
            let half: u8 = products[factor][byte / 2];
            let carry = if half >> 7 == 1 { POLYNOMIAL } else { 0 };
            products[factor][byte] = half << 1 ^ carry ^ if byte & 1 == 1 { factor as u8 } else { 0 };
            byte += 1;
        }
        factor += 1;
    }
    products
};

fn product(a: u8, b: u8) -> u8 {
    PRODUCTS[a as usize][b as usize]
}

fn inverse(a: u8) -> u8 {
    (1..=u8::MAX).find(|b| product(a, *b) == 1).expect("every byte but 0 has an inverse")
}

/// The sum that is element `target`: by element of `have`, its factor. `have` are as many elements as there are data
/// blocks.
pub fn factors(have: &[u8], target: u8) -> Vec<u8> {
    let factor = |of: &u8| {
        let others = have.iter().filter(|other| *other != of);
        let (over, under) =
            others.fold((1, 1), |(over, under), other| (product(over, target ^ other), product(under, of ^ other)));
        product(over, inverse(under))
    };
    have.iter().map(factor).collect()
}

/// Adds `factor` times the bytes of `from` to those of `into`, or takes it away again: in this field both are one.
#[inline]
pub fn add_product(factor: u8, from: &[u8], into: &mut [u8]) {
    let products = &PRODUCTS[factor as usize];
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= products[*from as usize]);
}
