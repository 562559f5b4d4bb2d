//! The exact sum of integers, where the device has found its lowest 64 bits.

use num_bigint::BigInt;
use warpfold_tools::arrays::Dtype;

use crate::{
    answer::{Answer, Value},
    reference::Number,
    wrap::lowest_bits,
};

/// The exact sum of integers in one bin. The device has found the lowest 64 bits of it. They
/// are all its bits, unless there are so many integers that the sum may have more: then the CPU
/// finds them. The sum of floats stays as it is.
pub(crate) fn exact_sum<T: Number>(answer: Answer, elements: &[T], dtype: Dtype) -> Answer {
    let Answer::One(Value::Int(found)) = &answer else { return answer };
    if (elements.len() as u128) << (8 * dtype.size()) <= 1 << 64 {
        return answer;
    }
    let exact: i128 = elements
        .iter()
        .map(|element| match element.integer() {
            (true, magnitude) => -(magnitude as i128),
            (false, magnitude) => magnitude as i128,
        })
        .sum();
    let exact = BigInt::from(exact);
    // If the lowest bits differ, the device was wrong. Its sum stays, so that --verify finds it.
    if lowest_bits(&exact, 64, dtype.is_signed_integer()) == *found {
        Answer::One(Value::Int(exact))
    } else {
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::IntoValue as _;

    #[test]
    fn a_sum_has_all_its_bits() {
        let exact = |found: i128, elements: &[i64]| {
            exact_sum(Answer::One(found.value()), elements, Dtype::I64)
        };
        let half = 1i64 << 62;
        for (found, elements, sum) in [
            (0, &[][..], 0),
            (-7, &[-7], -7),
            (5, &[i64::MIN, i64::MAX, 6], 5),
            (i64::MIN.into(), &[half, half], 1i128 << 63),
            (0, &[i64::MIN; 4], -(1i128 << 65)),
            (i64::MAX.into(), &[i64::MIN, -1], -(1i128 << 63) - 1),
            // A wrong sum stays wrong.
            (1, &[i64::MIN; 4], 1),
        ] {
            assert_eq!(exact(found, elements), Answer::One(sum.value()), "{elements:?}");
        }
        let of_bytes = exact_sum(Answer::One(510u64.value()), &[255u8, 255], Dtype::U8);
        assert_eq!(of_bytes, Answer::One(510u64.value()));
        let most = exact_sum(Answer::One((u64::MAX - 1).value()), &[u64::MAX; 2], Dtype::U64);
        assert_eq!(most, Answer::One((2 * u128::from(u64::MAX)).value()));
    }
}
