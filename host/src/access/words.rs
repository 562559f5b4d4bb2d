//! The contents of the arrays, and the results that the kernels must compute from them.

use super::error::AccessError;

/// The word at index `i` of an array that `access_fill` filled.
pub(super) const fn word(i: u32, seed: u32) -> u32 {
    i.wrapping_mul(0x9E37_79B9).wrapping_add(seed)
}

/// The sum of each of `threads` threads, if thread `t` adds `value(i)` for `i = t`, `t + threads`
/// and so on below `n`.
pub(super) fn sums(threads: usize, n: u64, value: impl Fn(u64) -> u32) -> Vec<u32> {
    let mut sums = vec![0_u32; threads];
    for first in (0..n).step_by(threads) {
        for (sum, i) in sums.iter_mut().zip(first..n) {
            *sum = sum.wrapping_add(value(i));
        }
    }
    sums
}

/// Compares an output with the expected values, and refuses it at the first difference.
pub(super) fn check<T: PartialEq + ToString>(
    kernel: &str,
    parameter: &str,
    found: &[T],
    expected: impl IntoIterator<Item = T>,
) -> Result<(), AccessError> {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        if *found != expected {
            return Err(AccessError::Wrong {
                kernel: kernel.to_owned(),
                parameter: parameter.to_owned(),
                place: format!("element {i}"),
                found: found.to_string(),
                expected: expected.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_every_nth_index() {
        let sums = sums(3, 7, |i| word(2 * i as u32, 5));
        let expected = [[0, 6, 12].as_slice(), &[2, 8], &[4, 10]];
        assert_eq!(
            sums,
            expected
                .map(|indices| indices.iter().fold(0, |sum: u32, &i| sum.wrapping_add(word(i, 5))))
        );
    }

    #[test]
    fn a_difference_is_named() {
        assert!(check("k", "offset 1", &[1, 2], [1, 2]).is_ok());
        let error = check("k", "offset 1", &[1, 2], [1, 3]).unwrap_err().to_string();
        assert_eq!(error, "wrong result: k with offset 1 left 2 in element 1, and it must be 3");
    }
}
