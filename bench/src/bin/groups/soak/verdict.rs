//! What a result has to be, and whether it is that.

use bytemuck::Pod;

/// A number that is part of an expected result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    /// This integer, or the bits of this float.
    Exact(i128),
    /// A float that differs by so much at most.
    Near { value: f64, error: f64 },
}

/// A number that is part of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Found {
    Exact(i128),
    Float(f64),
}

/// Whether a result consists of the expected numbers.
pub(crate) fn agree(expected: &[Expected], found: &[Found]) -> bool {
    let is_right = |(expected, found): (&Expected, &Found)| match (*expected, *found) {
        (Expected::Exact(expected), Found::Exact(found)) => expected == found,
        (Expected::Near { value, error }, Found::Float(found)) => (found - value).abs() <= error,
        _ => false,
    };
    expected.len() == found.len() && expected.iter().zip(found).all(is_right)
}

/// The position of the first raw result whose bits differ. If the lengths differ, it is the shorter
/// length.
pub(crate) fn first_other<R: Pod>(one: &[R], other: &[R]) -> Option<usize> {
    let differ = |(one, other): (&R, &R)| bytemuck::bytes_of(one) != bytemuck::bytes_of(other);
    let at = one.iter().zip(other).position(differ);
    at.or((one.len() != other.len()).then(|| one.len().min(other.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_is_noticed() {
        let expected = [Expected::Exact(7), Expected::Near { value: 1.0, error: 0.25 }];
        for (found, is_right) in [
            (&[Found::Exact(7), Found::Float(1.0)][..], true),
            (&[Found::Exact(7), Found::Float(1.25)], true),
            (&[Found::Exact(7), Found::Float(0.75)], true),
            (&[Found::Exact(7), Found::Float(1.3)], false),
            (&[Found::Exact(7), Found::Float(0.7)], false),
            (&[Found::Exact(7), Found::Float(f64::NAN)], false),
            (&[Found::Exact(7), Found::Float(f64::INFINITY)], false),
            (&[Found::Exact(-7), Found::Float(1.0)], false),
            (&[Found::Float(7.0), Found::Float(1.0)], false),
            (&[Found::Exact(7), Found::Exact(1)], false),
            (&[Found::Exact(7)], false),
            (&[], false),
        ] {
            assert_eq!(agree(&expected, found), is_right, "{found:?}");
        }
    }

    #[test]
    fn the_first_other_bits_are_found() {
        assert_eq!(first_other(&[1.0f32, 2.0, 3.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(first_other(&[1.0f32, 2.0, 3.0], &[1.0, 2.0, 3.000_000_2]), Some(2));
        // Equal numbers with other bits.
        assert_eq!(first_other(&[0.0f64, 1.0], &[-0.0, 1.0]), Some(0));
        assert_eq!(first_other(&[1u8, 2], &[1]), Some(1));
        assert_eq!(first_other::<u8>(&[], &[]), None);
    }
}
