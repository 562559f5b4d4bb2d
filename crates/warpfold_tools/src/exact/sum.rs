//! An exact sum of `f64`s, kept in one long fixed-point number that has room for every finite
//! `f64`.

use super::scale::power_of_two;

/// The number of bits in a digit. A digit is the low half of an `i64`; the high half collects
/// carries.
const DIGIT_BITS: u32 = 32;
/// The digits reach from 2^-1074, the least bit of an `f64`, to beyond 2^1088, because the sum of
/// 2^64 of the largest numbers is just below that.
const DIGITS: usize = 68;
/// The number of additions before the carries must be passed on. One addition changes a digit by
/// less than 2^32, so this many fit in an `i64`.
const ADDITIONS_PER_CARRY: u32 = 1 << 30;

/// The sum of the numbers added so far, without any rounding.
///
/// ```
/// use warpfold_tools::exact::ExactSum;
///
/// let mut sum = ExactSum::new();
/// [1e300, 1.0, -1e300].into_iter().for_each(|x| sum.add(x));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// The value is the sum of `digits[i] * 2^(32 * i - 1074)`.
    digits: [i64; DIGITS],
    additions: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self::new()
    }
}

impl ExactSum {
    /// The sum of no numbers.
    pub fn new() -> Self {
        Self { digits: [0; DIGITS], additions: 0 }
    }

    /// Adds a finite number.
    pub fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let stored_exponent = (bits >> (f64::MANTISSA_DIGITS - 1)) as u32 & 0x7ff;
        let fraction = bits & ((1 << (f64::MANTISSA_DIGITS - 1)) - 1);
        // A subnormal number has the place of the least normal numbers, but no leading bit.
        let (mantissa, place) = match stored_exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << (f64::MANTISSA_DIGITS - 1), stored_exponent - 1),
        };
        let shifted = u128::from(mantissa) << (place % DIGIT_BITS);
        let first = (place / DIGIT_BITS) as usize;
        for (i, digit) in self.digits[first..first + 3].iter_mut().enumerate() {
            let part = i64::from((shifted >> (i as u32 * DIGIT_BITS)) as u32);
            *digit += if x.is_sign_negative() { -part } else { part };
        }
        self.additions += 1;
        if self.additions == ADDITIONS_PER_CARRY {
            self.carry();
        }
    }

    /// Passes the carries on. Then all digits but the highest are from 0 to 2^32 - 1.
    fn carry(&mut self) {
        let mut carry = 0;
        let (highest, lower) = self.digits.split_last_mut().expect("there are digits");
        for digit in lower {
            *digit += carry;
            carry = *digit >> DIGIT_BITS;
            *digit &= i64::from(u32::MAX);
        }
        *highest += carry;
        self.additions = 0;
    }

    /// The sum, rounded to nearest even. It is infinite if it is too large for an `f64`, and 0 if
    /// no number was added.
    pub fn value(&self) -> f64 {
        self.scaled(0)
    }

    /// The sum times `2^exponent`, rounded to nearest even. If the exponent is negative and the
    /// result is subnormal, it is rounded twice.
    pub fn scaled(&self, exponent: i64) -> f64 {
        self.clone().into_scaled(exponent)
    }

    fn into_scaled(mut self, exponent: i64) -> f64 {
        self.carry();
        let negative = self.digits[DIGITS - 1] < 0;
        if negative {
            self.digits.iter_mut().for_each(|digit| *digit = -*digit);
            self.carry();
        }
        let top = self.digits.iter().rposition(|&digit| digit != 0).unwrap_or_default();
        let lowest = top.saturating_sub(3);
        // The four highest digits hold at least 97 bits. So for right rounding, one bit is enough
        // to stand for all digits below them.
        let leading = self.digits[lowest..=top]
            .iter()
            .rev()
            .fold(0, |bits, &digit| bits << DIGIT_BITS | digit as u128);
        let below = self.digits[..lowest].iter().any(|&digit| digit != 0);
        let magnitude = (leading | u128::from(below)) as f64;
        let exponent = exponent + i64::from(DIGIT_BITS) * lowest as i64 - 1074;
        // This scales in two steps, because 2^-1074 is not a normal number. Neither step rounds,
        // because a subnormal sum has few enough bits.
        let half = exponent / 2;
        let value = magnitude * power_of_two(half) * power_of_two(exponent - half);
        if negative { -value } else { value }
    }
}

#[cfg(test)]
mod tests {
    // These tests compare exact results.
    #![allow(clippy::float_cmp)]

    use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = ExactSum::new();
        for &x in values {
            sum.add(x);
        }
        sum.value()
    }

    #[test]
    fn one_number_comes_back() {
        let powers = (-1074..=1023).map(|e| 2f64.powi(e / 2) * 2f64.powi(e - e / 2));
        let others = [0.1, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-310, 123_456.789];
        for x in powers.chain(others) {
            assert_eq!(sum(&[x]), x);
            assert_eq!(sum(&[-x]), -x);
        }
        assert_eq!(sum(&[]).to_bits(), 0);
    }

    #[test]
    fn sums_round_once_to_nearest_even() {
        let half_ulp = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half_ulp]), 1.0);
        assert_eq!(sum(&[1.0, half_ulp, 5e-324]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0 + f64::EPSILON, half_ulp]), 1.0 + 2.0 * f64::EPSILON);
        assert_eq!(sum(&[-1.0, -half_ulp, -5e-324]), -1.0 - f64::EPSILON);
    }

    #[test]
    fn the_largest_numbers_add_up() {
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[-f64::MAX, -f64::MAX, f64::MAX]), -f64::MAX);
    }

    #[test]
    fn long_sums_of_one_magnitude_equal_integer_sums() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in [4095, 4096, 4097, 65_537, 300_000] {
            let integers: Vec<i64> =
                (0..n).map(|_| rng.random_range(-(1 << 40)..1 << 40)).collect();
            let scaled: Vec<f64> =
                integers.iter().map(|&i| i as f64 / (1u64 << 40) as f64).collect();
            assert_eq!(
                sum(&scaled),
                integers.iter().sum::<i64>() as f64 / (1u64 << 40) as f64,
                "n = {n}"
            );
        }
    }

    #[test]
    fn whatever_cancels_leaves_the_rest() {
        let mut rng = StdRng::seed_from_u64(2);
        for _ in 0..100 {
            let mut values: Vec<f64> = Vec::new();
            while values.len() < 400 {
                let x = f64::from_bits(rng.random());
                if x.is_finite() {
                    values.extend([x, -x]);
                }
            }
            let rest = f64::from_bits(rng.random_range(0..f64::INFINITY.to_bits()));
            values.push(rest);
            values.shuffle(&mut rng);
            assert_eq!(sum(&values), rest);
        }
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut many = ExactSum::new();
        many.additions = ADDITIONS_PER_CARRY - 3;
        for _ in 0..8 {
            many.add(-f64::MAX / 16.0);
        }
        assert_eq!(many.value(), -f64::MAX / 2.0);
    }
}
