//! Small sets of numbers, a bit each.

/// The members of a set, ascending.
pub fn members(set: impl Into<u64>) -> impl Iterator<Item = u32> {
    let mut left = set.into();
    std::iter::from_fn(move || {
        let member = (left != 0).then(|| left.trailing_zeros());
        left &= left.wrapping_sub(1);
        member
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn members_come_once_and_in_order() {
        assert_eq!(super::members(1_u64 << 63 | 0b1010).collect::<Vec<_>>(), [1, 3, 63]);
        assert_eq!(super::members(0_u32).count(), 0);
    }
}
