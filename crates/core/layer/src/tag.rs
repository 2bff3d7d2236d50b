//! Tokens that say what they are of: a number, a kind, and an index within it.
//!
//! ```text
//! token   number | kind | index        as many bits for kind and index as there are kinds and indices
//! ```

use nand::Token;

/// The kinds of work behind the tokens of one layer.
pub trait TagKind: Copy + 'static {
    /// Every kind, each at the place of its own number.
    const ALL: &'static [Self];
    /// Bits of the index.
    const INDEX_BITS: u32;

    /// Its place among [`TagKind::ALL`].
    fn number(self) -> u32;
}

/// A token, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<K> {
    /// Kind of the work.
    pub kind: K,
    /// Which one: a slot, as a rule.
    pub number: u32,
    /// Which page or step of that thing, as the kind says.
    pub index: u32,
}

impl<K: TagKind> Tag<K> {
    const KIND_BITS: u32 = usize::BITS - (K::ALL.len() - 1).leading_zeros();
    const SHIFT: u32 = Self::KIND_BITS + K::INDEX_BITS;

    /// The token of a thing.
    ///
    /// # Panics
    /// If the number or the index has more bits than there are for it.
    #[inline]
    pub fn token(kind: K, number: u32, index: u32) -> Token {
        let fits = number <= Token::MAX >> Self::SHIFT && index >> K::INDEX_BITS == 0;
        assert!(fits, "number {number} with index {index} does not fit into a token");
        number << Self::SHIFT | kind.number() << K::INDEX_BITS | index
    }

    /// The work behind a token.
    #[inline]
    pub fn of(token: Token) -> Self {
        let kind = token >> K::INDEX_BITS & ((1 << Self::KIND_BITS) - 1);
        Self { kind: K::ALL[kind as usize], number: token >> Self::SHIFT, index: token & ((1 << K::INDEX_BITS) - 1) }
    }
}

/// Declares the kinds of a layer's tokens, in the order of their numbers.
#[macro_export]
macro_rules! tag_kinds {
    (
        $(#[$about:meta])* $visible:vis $name:ident, $bits:literal bits of index:
        $($(#[$doc:meta])* $kind:ident),+ $(,)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $name { $($(#[$doc])* $kind),+ }

        impl $crate::TagKind for $name {
            const ALL: &'static [Self] = &[$(Self::$kind),+];
            const INDEX_BITS: u32 = $bits;

            #[inline]
            fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    tag_kinds! {
        /// Three of them.
        Thing, 5 bits of index: Job, Read, Flush
    }

    #[test]
    fn a_token_says_what_it_is_of() {
        for (kind, number, index) in [(Thing::Job, 0, 0), (Thing::Flush, (1 << 25) - 1, 31), (Thing::Read, 7, 1)] {
            assert_eq!(Tag::of(Tag::token(kind, number, index)), Tag { kind, number, index });
        }
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_number_that_does_not_fit_is_refused() {
        Tag::token(Thing::Job, 1 << 25, 0);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn an_index_that_does_not_fit_is_refused() {
        Tag::token(Thing::Job, 0, 32);
    }
}
