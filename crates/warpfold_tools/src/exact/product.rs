//! A product of many floats.

use super::scale::{power_of_two, split};

/// A product of positive numbers, with twice the precision of `f64` and with an exponent that does
/// not overflow. The value is `(high + low) * 2^exponent`, and `high` lies in `[0.5, 1]`. The error
/// of each step is less than 2^-102 of the value.
#[derive(Clone, Debug)]
pub struct LongProduct {
    high: f64,
    low: f64,
    exponent: i64,
}

impl LongProduct {
    /// The product of no numbers.
    pub const ONE: Self = Self { high: 1.0, low: 0.0, exponent: 0 };

    /// Multiplies by `x`, which must be positive and finite.
    pub fn multiply(&mut self, x: f64) {
        let (mantissa, exponent) = split(x);
        // T. J. Dekker's double-length product, with a fused multiply-add for the rounding error.
        let high = self.high * mantissa;
        let low = self.high.mul_add(mantissa, -high) + self.low * mantissa;
        self.high = high + low;
        self.low = low - (self.high - high);
        self.exponent += exponent;
        if self.high < 0.5 {
            self.high *= 2.0;
            self.low *= 2.0;
            self.exponent -= 1;
        }
    }

    /// The product, rounded to `f64`.
    pub fn value(&self) -> f64 {
        // Beyond these exponents the value is infinite or 0. The power of 2 is applied in two
        // halves, because within these exponents each half is a normal `f64`.
        let exponent = self.exponent.clamp(-1200, 1200);
        let half = exponent / 2;
        self.high * power_of_two(half) * power_of_two(exponent - half)
    }
}

#[cfg(test)]
mod tests {
    // These tests compare exact results.
    #![allow(clippy::float_cmp)]

    use super::*;

    #[test]
    fn numbers_split_and_scale() {
        for x in [1.0, 0.5, 0.75, 1e300, f64::MIN_POSITIVE, 5e-324, f64::MAX] {
            let (mantissa, exponent) = split(x);
            assert!((0.5..1.0).contains(&mantissa), "{x:e}");
            assert!(LongProduct { high: mantissa, low: 0.0, exponent }.value() == x, "{x:e}");
        }
    }
}
