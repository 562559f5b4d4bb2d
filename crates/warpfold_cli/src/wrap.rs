//! Integers that wrap around where their type cannot hold them.

use num_bigint::BigInt;
use warpfold_tools::arrays::Dtype;

use crate::operation::Operation;

/// Whether the result of this operation over integers of this type wraps around if it is large.
pub(crate) fn may_wrap(operation: Operation, dtype: Dtype) -> bool {
    use Operation as O;
    let is_wrapping = matches!(
        operation,
        O::WrappingSum | O::Product | O::Norm1 | O::SumSquares | O::Dot | O::SquaredDistance
    );
    is_wrapping && !dtype.is_float()
}

/// The lowest bits of an integer, as many as the type has.
pub(crate) fn cut(exact: &BigInt, dtype: Dtype) -> BigInt {
    // A sum of truth values is their number, as NumPy has it.
    let bits = if dtype == Dtype::Bool { 64 } else { dtype.size() * 8 };
    lowest_bits(exact, bits as u32, dtype.is_signed_integer())
}

/// The lowest bits of an integer in two's complement, as a number with or without a sign.
pub(crate) fn lowest_bits(value: &BigInt, bits: u32, is_signed: bool) -> BigInt {
    let modulus = BigInt::from(1) << bits;
    let rest = ((value % &modulus) + &modulus) % &modulus;
    if is_signed && rest.bit(u64::from(bits) - 1) { rest - modulus } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_cut_like_wrapping_sums() {
        for (exact, dtype, own) in [
            (128i64, Dtype::I8, -128i64),
            (-129, Dtype::I8, 127),
            (256, Dtype::U8, 0),
            (-1, Dtype::U8, 255),
            (1 << 31, Dtype::I32, -(1 << 31)),
            (1 << 31, Dtype::I64, 1 << 31),
            (300, Dtype::Bool, 300),
        ] {
            assert_eq!(cut(&BigInt::from(exact), dtype), BigInt::from(own), "{exact} {dtype}");
        }
    }
}
