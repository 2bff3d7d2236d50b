//! Reed–Solomon codes: parities that another program computed, and what must hold for any of them.

use erasure::reed_solomon::{add_product, factors};
use proptest::prelude::*;

/// Element `target` from those of `have`.
fn sum(elements: &[Vec<u8>], have: &[u8], target: u8) -> Vec<u8> {
    let mut sum = vec![0; elements[0].len()];
    for (of, factor) in have.iter().zip(factors(have, target)) {
        add_product(factor, &elements[*of as usize], &mut sum);
    }
    sum
}

/// Data blocks, and as many code blocks.
fn encoded(mut elements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let data: Vec<u8> = (0..elements.len() as u8).collect();
    let code = data.iter().map(|at| sum(&elements, &data, data.len() as u8 + at)).collect::<Vec<_>>();
    elements.extend(code);
    elements
}

#[test]
fn parities_are_those_of_another_program() {
    // Those of reed-solomon-erasure 6.0, which computed the first of them.
    assert_eq!([4, 5].map(|row| factors(&[0, 1, 2, 3], row)), [[27, 28, 18, 20], [28, 27, 20, 18]]);
    let eight = [[26, 132, 186, 51, 231, 16, 198, 39], [132, 26, 51, 186, 16, 231, 39, 198]];
    assert_eq!([8, 9].map(|row| factors(&[0, 1, 2, 3, 4, 5, 6, 7], row)), eight);
}

proptest! {
    #[test]
    fn any_half_of_a_group_tells_the_rest(
        data in prop::collection::vec(prop::collection::vec(any::<u8>(), 8), 1..17),
        order in any::<[prop::sample::Index; 16]>(),
    ) {
        let n = data.len();
        let elements = encoded(data);
        let mut left: Vec<u8> = (0..2 * n as u8).collect();
        let have: Vec<u8> = order[..n].iter().map(|at| left.remove(at.index(left.len()))).collect();
        for target in left {
            prop_assert_eq!(&sum(&elements, &have, target), &elements[target as usize]);
        }
    }
}
