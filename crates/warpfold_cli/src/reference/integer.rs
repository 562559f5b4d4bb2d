//! Sums and products of integers, exactly.

use num_bigint::BigInt;
use warpfold_tools::arrays::Dtype;

use super::element::Number;
use crate::{operation::Operation, wrap::lowest_bits};

/// Whether the exact result of a wrapping operation over `n` integers of this type may exceed the
/// type of the result. If `n` is not known, it may be any number that a pipe can deliver.
pub(super) fn may_exceed(operation: Operation, dtype: Dtype, n: Option<u64>) -> bool {
    let bits = dtype.size() as u32 * 8;
    // Each term is at most 2^term.
    let term = match operation {
        Operation::Norm1 => bits,
        Operation::SumSquares | Operation::Dot | Operation::SquaredDistance => 2 * bits,
        // A product grows with each element.
        _ => return n != Some(0),
    };
    let room: u32 = if bits == 128 { 127 } else { 63 };
    let terms = n.map_or(48, |n| 64 - n.leading_zeros());
    term + terms > room
}

/// A natural number below 2^320.
#[derive(Clone, Copy, Default)]
struct Natural {
    low: u128,
    high: u128,
    top: u64,
}

impl Natural {
    fn add(&mut self, (low, high): (u128, u128)) {
        let carry;
        (self.low, carry) = self.low.overflowing_add(low);
        let (sum, first) = self.high.overflowing_add(high);
        let (sum, second) = sum.overflowing_add(carry.into());
        self.high = sum;
        self.top += u64::from(first) + u64::from(second);
    }

    fn value(self) -> BigInt {
        (BigInt::from(self.top) << 256u32) + (BigInt::from(self.high) << 128u32) + self.low
    }
}

/// The product of two numbers, its lower half first.
fn times(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    if (a | b) <= HALF {
        return (a * b, 0);
    }
    let ((a1, a0), (b1, b0)) = ((a >> 64, a & HALF), (b >> 64, b & HALF));
    let (low, high) = (a0 * b0, a1 * b1);
    let (middle, carry) = (a1 * b0).overflowing_add(a0 * b1);
    let (low, from_low) = low.overflowing_add(middle << 64);
    let high = high + (middle >> 64) + (u128::from(carry) << 64) + u128::from(from_low);
    (low, high)
}

/// An exact sum of terms.
pub(super) struct IntegerSum {
    operation: Operation,
    positive: Natural,
    negative: Natural,
}

impl IntegerSum {
    pub(super) fn new(operation: Operation) -> Self {
        Self { operation, positive: Natural::default(), negative: Natural::default() }
    }

    fn add(&mut self, is_negative: bool, term: (u128, u128)) {
        if is_negative { self.negative.add(term) } else { self.positive.add(term) }
    }

    pub(super) fn feed<T: Number>(&mut self, first: &[T], second: Option<&[T]>) {
        let pairs = || first.iter().zip(second.unwrap_or_default());
        match self.operation {
            Operation::Norm1 => first.iter().for_each(|x| self.add(false, (x.integer().1, 0))),
            Operation::Norm2 | Operation::SumSquares => first.iter().for_each(|x| {
                let (_, x) = x.integer();
                self.add(false, times(x, x));
            }),
            Operation::Dot => pairs().for_each(|(x, y)| {
                let ((is_x, x), (is_y, y)) = (x.integer(), y.integer());
                self.add(is_x != is_y, times(x, y));
            }),
            Operation::Distance | Operation::SquaredDistance => pairs().for_each(|(x, y)| {
                let ((is_x, x), (is_y, y)) = (x.integer(), y.integer());
                // The difference of two elements of one type is below 2^128.
                let difference = if is_x == is_y { x.abs_diff(y) } else { x + y };
                self.add(false, times(difference, difference));
            }),
            _ => first.iter().for_each(|x| {
                let (is_negative, x) = x.integer();
                self.add(is_negative, (x, 0));
            }),
        }
    }

    pub(super) fn value(&self) -> BigInt {
        self.positive.value() - self.negative.value()
    }

    /// The value in the type of the result: 64 bits, or 128 for elements of 128 bits.
    pub(super) fn cut(&self, dtype: Dtype) -> BigInt {
        Result::of(self.operation, dtype).cut(&self.value())
    }

    pub(super) fn wraps(&self, dtype: Dtype) -> bool {
        self.cut(dtype) != self.value()
    }
}

/// The type of a result.
struct Result {
    bits: u32,
    is_signed: bool,
}

impl Result {
    fn of(operation: Operation, dtype: Dtype) -> Self {
        Self {
            bits: if dtype.size() == 16 { 128 } else { 64 },
            is_signed: dtype.is_signed_integer() && operation != Operation::Norm1,
        }
    }

    /// A value as this type holds it.
    fn cut(&self, value: &BigInt) -> BigInt {
        lowest_bits(value, self.bits, self.is_signed)
    }
}

/// A product of integers: its lowest bits, and whether it has more.
pub(super) struct IntegerProduct {
    result: Result,
    /// The lowest 128 bits.
    low: u128,
    is_zero: bool,
    /// The magnitude, as long as 128 bits hold it.
    magnitude: Option<u128>,
    is_negative: bool,
}

impl IntegerProduct {
    pub(super) fn new(dtype: Dtype) -> Self {
        Self {
            result: Result::of(Operation::Product, dtype),
            low: 1,
            is_zero: false,
            magnitude: Some(1),
            is_negative: false,
        }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        for element in elements {
            let (is_negative, x) = element.integer();
            self.low = self.low.wrapping_mul(if is_negative { x.wrapping_neg() } else { x });
            self.is_zero |= x == 0;
            self.magnitude = self.magnitude.and_then(|magnitude| magnitude.checked_mul(x));
            self.is_negative ^= is_negative;
        }
    }

    pub(super) fn value(&self) -> BigInt {
        self.result.cut(&self.low.into())
    }

    pub(super) fn wraps(&self) -> bool {
        if self.is_zero {
            return false;
        }
        let exact = self.magnitude.map(BigInt::from);
        exact.map(|exact| if self.is_negative { -exact } else { exact }) != Some(self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_128_bits_are_exact() {
        for (a, b) in [(u128::MAX, u128::MAX), (1 << 127, 3), (u128::MAX, 1), (1 << 64, 1 << 64)] {
            let (low, high) = times(a, b);
            assert_eq!((BigInt::from(high) << 128u32) + low, BigInt::from(a) * b, "{a} {b}");
        }
        let mut sum = Natural::default();
        (0..3).for_each(|_| sum.add((u128::MAX, u128::MAX)));
        assert_eq!(sum.value(), ((BigInt::from(1) << 256u32) - 1) * 3);
    }
}
