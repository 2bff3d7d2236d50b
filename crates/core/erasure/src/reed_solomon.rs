//! Reed–Solomon codes: any `n` elements of a group with `n` data blocks tell all the others.
//!
//! Byte by byte, the data blocks are the values at 0, 1, … n - 1 of a polynomial over GF(2^8) of a degree below `n`,
//! and the code blocks are its values from `n` on. So every element is a sum of any `n` others, and its factors come
//! from Lagrange's interpolation. The polynomial of the field is x^8 + x^4 + x^3 + x^2 + 1. This is the systematic
//! Vandermonde code with the usual points and polynomial, so that other programs compute the same parities.

/// The polynomial of the field, without x^8.
const POLYNOMIAL: u8 = 0b0001_1101;

const fn double(byte: u8) -> u8 {
    byte << 1 ^ if byte >> 7 == 1 { POLYNOMIAL } else { 0 }
}

/// By factor, then by byte: their product.
static PRODUCTS: [[u8; 256]; 256] = {
    let mut products = [[0; 256]; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut byte = 1;
        while byte < 256 {
            // Twice the product of half the byte, and once more where the byte is odd.
            let odd = if byte & 1 == 1 { factor as u8 } else { 0 };
            products[factor][byte] = double(products[factor][byte / 2]) ^ odd;
            byte += 1;
        }
        factor += 1;
    }
    products
};

/// Powers of 2, which are all bytes but 0.
const POWERS: [u8; 255] = {
    let mut powers = [1; 255];
    let mut exponent = 1;
    while exponent < 255 {
        powers[exponent] = double(powers[exponent - 1]);
        exponent += 1;
    }
    powers
};

/// By byte: which power of 2 it is. 0 is none, and counts as 1.
static LOGARITHMS: [u8; 256] = {
    let mut logarithms = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        logarithms[POWERS[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    logarithms
};

/// The sum that is element `target`: by element of `have`, its factor. `have` are as many other elements as there are
/// data blocks.
pub fn factors(have: &[u8], target: u8) -> Vec<u8> {
    debug_assert!(!have.contains(&target), "element {target} is there");
    let logarithm = |byte: u8| u32::from(LOGARITHMS[byte as usize]);
    // Of the product of what all elements differ from one by, which itself counts as 1.
    let differences = |one: u8| have.iter().map(|other| logarithm(other ^ one)).sum::<u32>();
    let over = differences(target) + 255 * (have.len() as u32 + 1);
    let factor = |of: &u8| POWERS[((over - differences(*of) - logarithm(target ^ of)) % 255) as usize];
    have.iter().map(factor).collect()
}

/// Adds `factor` times the bytes of `from` to the bytes of `into`, or takes it away again: in this field both are one.
#[inline]
pub fn add_product(factor: u8, from: &[u8], into: &mut [u8]) {
    let products = &PRODUCTS[factor as usize];
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= products[*from as usize]);
}
