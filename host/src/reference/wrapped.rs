//! Whether a result wrapped.

use crate::{element::Values, op::Op};

/// Whether the exact sum or product of integers does not fit in their type, so that the result is
/// exact only modulo a power of two. Partial results may wrap and come back; the result is then the
/// exact one, and this is `false`. Floats do not wrap.
///
/// ```
/// use warpfold_lab::{element::Values, op::Op, reference::wraps};
///
/// assert!(wraps(&Values::I32(vec![i32::MAX, 1]), Op::Sum));
/// assert!(!wraps(&Values::I32(vec![i32::MAX, 1, -1]), Op::Sum));
/// assert!(wraps(&Values::U32(vec![1 << 16, 1 << 16]), Op::Prod));
/// assert!(!wraps(&Values::U32(vec![1 << 16, 1 << 16, 0]), Op::Prod));
/// ```
pub fn wraps(values: &Values, op: Op) -> bool {
    fn of<T: Copy + Into<i128>>(values: &[T], op: Op, least: T, most: T) -> bool {
        let mut numbers = values.iter().map(|&value| value.into());
        let exact = match op {
            Op::Sum => Some(numbers.sum()),
            Op::Prod => product(&mut numbers),
            Op::Min | Op::Max => return false,
        };
        exact.is_none_or(|exact| exact < least.into() || most.into() < exact)
    }
    match values {
        Values::I32(values) => of(values, op, i32::MIN, i32::MAX),
        Values::U32(values) => of(values, op, u32::MIN, u32::MAX),
        Values::I64(values) => of(values, op, i64::MIN, i64::MAX),
        Values::U64(values) => of(values, op, u64::MIN, u64::MAX),
        Values::F32(_) | Values::F64(_) => false,
    }
}

/// The exact product; `None` if it is larger than an `i128` holds.
fn product(numbers: &mut dyn Iterator<Item = i128>) -> Option<i128> {
    // A factor that is no zero makes no product smaller, but a zero may still come.
    let mut product = Some(1_i128);
    for number in numbers {
        if number == 0 {
            return Some(0);
        }
        product = product.and_then(|product| product.checked_mul(number));
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_the_type_decides() {
        assert!(!wraps(&Values::I64(vec![i64::MIN, -1, 1]), Op::Sum));
        assert!(wraps(&Values::I64(vec![i64::MIN, -1]), Op::Sum));
        assert!(!wraps(&Values::U64(vec![u64::MAX]), Op::Sum));
        assert!(wraps(&Values::U64(vec![u64::MAX; 3]), Op::Sum));
        assert!(!wraps(&Values::I32(vec![i32::MIN, 1]), Op::Prod));
        assert!(wraps(&Values::I32(vec![i32::MIN, -1]), Op::Prod));
        assert!(wraps(&Values::U64(vec![3; 1000]), Op::Prod));
        assert!(!wraps(&Values::I32(vec![i32::MAX; 9]), Op::Max));
        assert!(!wraps(&Values::F32(vec![f32::MAX; 9]), Op::Sum));
        for op in [Op::Sum, Op::Prod] {
            assert!(!wraps(&Values::U32(Vec::new()), op));
        }
    }
}
