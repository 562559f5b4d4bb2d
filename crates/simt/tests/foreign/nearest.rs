//! Rounding to 16-bit floats by a search through all of them. This repository's
//! `tests/instructions` uses this file too.

use std::cmp::Ordering;
use std::sync::LazyLock;

/// The bits of the NaN that arithmetic makes.
const NAN: u16 = 0x7fff;

/// A format of 16 bits: its finite values from 0 up, each at the index of its bits.
pub(crate) struct Format(Vec<f64>);

/// `f16`: one sign bit, five bits of the exponent, ten bits of the significand.
pub(crate) static F16: LazyLock<Format> = LazyLock::new(|| Format::new(10, 15));
/// `bf16`: the upper half of an `f32`.
pub(crate) static BF16: LazyLock<Format> = LazyLock::new(|| Format::new(7, 127));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Format {
    fn new(digits: u32, bias: i32) -> Format {
        let infinity = (2 * bias + 1) << digits;
        let value = |bits: i32| {
            let (exponent, fraction) =
                (bits >> digits, f64::from(bits % (1 << digits)) / f64::from(1 << digits));
            if exponent == 0 {
                fraction * 2f64.powi(1 - bias)
            } else {
                (1.0 + fraction) * 2f64.powi(exponent - bias)
            }
        };
        Format((0..infinity).map(value).collect())
    }

    pub(crate) fn infinity(&self) -> u16 {
        self.0.len() as u16
    }

    pub(crate) fn value(&self, bits: u16) -> f64 {
        let magnitude = match (bits & 0x7fff).cmp(&self.infinity()) {
            Ordering::Less => self.0[usize::from(bits & 0x7fff)],
            Ordering::Equal => f64::INFINITY,
            Ordering::Greater => f64::NAN,
        };
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    }

    /// The bits of the rounded exact value.
    pub(crate) fn round(&self, value: f64, mode: Mode) -> u16 {
        self.round_beside(value, 0.0, mode)
    }

    /// The bits of the sum of two values, rounded to the nearest.
    pub(crate) fn nearest_sum(&self, a: f64, b: f64) -> u16 {
        let sum = a + b;
        // The part that the sum leaves out (Knuth). There is such a part only if one term is tiny
        // compared with the other.
        let b_part = sum - a;
        let rest = (a - (sum - b_part)) + (b - b_part);
        self.round_beside(sum, if rest.is_nan() { 0.0 } else { rest }, Mode::Nearest)
    }

    /// The bits of a rounded value. The exact value is `value` plus a tiny `rest`, which only
    /// decides ties.
    fn round_beside(&self, value: f64, rest: f64, mode: Mode) -> u16 {
        if value.is_nan() {
            return NAN;
        }
        let (sign, magnitude) = (if value.is_sign_negative() { 0x8000 } else { 0 }, value.abs());
        if magnitude.is_infinite() {
            return sign | self.infinity();
        }
        let above = self.0.partition_point(|&candidate| candidate <= magnitude);
        let below = above - 1;
        let at = |index: usize| match self.0.get(index) {
            Some(value) => *value,
            // The place of the next number if the exponent range were unlimited.
            None => 2.0 * self.0[index - 1] - self.0[index - 2],
        };
        let exact = at(below).total_cmp(&magnitude).is_eq();
        let up = match mode {
            _ if exact => false,
            Mode::Nearest => match (magnitude - at(below)).total_cmp(&(at(above) - magnitude)) {
                Ordering::Less => false,
                Ordering::Equal if rest != 0.0 => (rest > 0.0) == (value > 0.0),
                Ordering::Equal => below % 2 == 1,
                Ordering::Greater => true,
            },
            Mode::Zero => false,
            Mode::Down => sign != 0,
            Mode::Up => sign == 0,
        };
        sign | (below + usize::from(up)) as u16
    }
}
