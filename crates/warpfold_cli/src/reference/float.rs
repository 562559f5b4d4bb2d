//! Sums and products of floats, with more digits than the result has.

use warpfold_tools::{
    arrays::Dtype,
    exact::{ExactSum, LongProduct},
};

use super::{Verdict, element::Number};
use crate::operation::Operation;

/// Half the distance from 1 to the next float of the type in which elements are added: `f64` for
/// `f64`, and `f32` for the others.
pub(super) fn unit_roundoff(dtype: Dtype) -> f64 {
    2f64.powi(if dtype == Dtype::F64 { -53 } else { -24 })
}

/// `(1 + u)^k - 1`.
fn grown(u: f64, k: u64) -> f64 {
    (u.ln_1p() * k as f64).exp_m1()
}

/// The special values among the terms of a sum.
#[derive(Default)]
struct Specials {
    is_nan: bool,
    is_positive_infinite: bool,
    is_negative_infinite: bool,
}

/// The exact sum of terms, and that of their magnitudes.
pub(super) struct FloatSum {
    operation: Operation,
    sum: ExactSum,
    magnitudes: ExactSum,
    specials: Specials,
    /// The number of terms.
    n: u64,
}

impl FloatSum {
    pub(super) fn new(operation: Operation) -> Self {
        Self {
            operation,
            sum: ExactSum::new(),
            magnitudes: ExactSum::new(),
            specials: Specials::default(),
            n: 0,
        }
    }

    pub(super) fn feed<T: Number>(&mut self, first: &[T], second: Option<&[T]>) {
        self.n += first.len() as u64;
        let pairs =
            || first.iter().zip(second.unwrap_or_default()).map(|(x, y)| (x.float(), y.float()));
        match self.operation {
            Operation::Norm1 => first.iter().for_each(|x| self.add(x.float().abs(), 0.0)),
            Operation::Norm2 | Operation::SumSquares => first.iter().for_each(|x| {
                self.add_product(x.float(), x.float());
            }),
            Operation::Dot => pairs().for_each(|(x, y)| self.add_product(x, y)),
            Operation::Distance | Operation::SquaredDistance => pairs().for_each(|(x, y)| {
                let difference = x - y;
                if !difference.is_finite() {
                    return self.add(difference * difference, 0.0);
                }
                // D. E. Knuth's TwoSum: `difference + rest` is exactly x - y.
                let of_y = x - difference;
                let rest = (x - (difference + of_y)) + (of_y - y);
                self.add_product(difference, difference);
                self.add(2.0 * difference * rest, 0.0);
            }),
            Operation::NanSum | Operation::NanMean => {
                for x in first.iter().map(|x| x.float()) {
                    if x.is_nan() {
                        self.n -= 1;
                    } else {
                        self.add(x, 0.0);
                    }
                }
            }
            _ => first.iter().for_each(|x| self.add(x.float(), 0.0)),
        }
    }

    /// Adds `x * y`, whose rounding error a fused multiply-add gives.
    fn add_product(&mut self, x: f64, y: f64) {
        let product = x * y;
        let rest = if product.is_finite() { x.mul_add(y, -product) } else { 0.0 };
        self.add(product, rest);
    }

    fn add(&mut self, term: f64, rest: f64) {
        if term.is_finite() {
            self.sum.add(term);
            self.magnitudes.add(term.abs());
            if rest != 0.0 {
                self.sum.add(rest);
            }
        } else {
            self.specials.is_nan |= term.is_nan();
            self.specials.is_positive_infinite |= term == f64::INFINITY;
            self.specials.is_negative_infinite |= term == f64::NEG_INFINITY;
        }
    }

    pub(super) fn verdict(&self, value: f64, result: Dtype, depth: u64) -> Verdict {
        let is_root = matches!(self.operation, Operation::Norm2 | Operation::Distance);
        let Specials { is_nan, is_positive_infinite, is_negative_infinite } = self.specials;
        let is_mean = self.operation == Operation::NanMean;
        if is_nan || (is_mean && self.n == 0) || (is_positive_infinite && is_negative_infinite) {
            return Verdict { agrees: value.is_nan(), reference: "NaN".into(), bound: None };
        }
        if is_positive_infinite || is_negative_infinite {
            let infinity = if is_positive_infinite { f64::INFINITY } else { f64::NEG_INFINITY };
            let agrees = value.total_cmp(&infinity).is_eq();
            return Verdict { agrees, reference: infinity.to_string(), bound: None };
        }
        let (exact, magnitude) = (self.sum.value(), self.magnitudes.value());
        // The sum of a mean is divided by the number of its terms.
        let divisor = if is_mean { self.n as f64 } else { 1.0 };
        let reference = if is_root { exact.sqrt() } else { exact / divisor };
        let greatest = if result == Dtype::F64 { f64::MAX } else { f32::MAX.into() };
        let u = unit_roundoff(result);
        // Terms or partial sums may have overflowed, in some order.
        let is_safe = magnitude < greatest * (1.0 - 1e-3) || self.operation == Operation::Exact;
        let bound = if is_safe { self.bound(exact, magnitude, u, depth) } else { f64::INFINITY };
        let bound = match self.operation {
            // The root of (1 + e) is at most 1 + e, or the root of what the square may be wrong by.
            _ if is_root && bound < exact => reference * (bound / exact) + reference * 2.0 * u,
            _ if is_root => bound.sqrt() + reference * 2.0 * u,
            _ if is_mean => bound / divisor + reference.abs() * 2.0 * u,
            _ => bound,
        };
        let difference = match self.operation {
            Operation::Exact if value.is_finite() => {
                let mut rest = self.sum.clone();
                rest.add(-value);
                rest.value().abs()
            }
            Operation::Exact => {
                // The sum rounds to infinity from half a unit above the greatest number on.
                let is_right = exact.abs() >= greatest * (1.0 + u / 2.0) && exact * value > 0.0;
                if is_right { 0.0 } else { f64::INFINITY }
            }
            _ => (value - reference).abs(),
        };
        let agrees = difference <= bound || bound.is_infinite();
        Verdict { agrees, reference: format!("{reference:?}"), bound: Some(bound) }
    }

    /// How far a sum may be from the exact one: the bounds that the operations of the library
    /// document, and the least number of the type for each term that may underflow.
    fn bound(&self, exact: f64, magnitude: f64, u: f64, depth: u64) -> f64 {
        let least = if u < 1e-10 { f64::from_bits(1) } else { f32::from_bits(1).into() };
        let rounded = exact.abs() * 2f64.powi(-52);
        match self.operation {
            // Half a unit in the last place.
            Operation::Exact => (exact.abs() * u).max(least / 2.0) * (1.0 + 1e-9),
            Operation::Compensated => {
                u * exact.abs() + 2.0 * grown(u, 2 * depth).powi(2) * magnitude + rounded
            }
            Operation::Wide => grown(2f64.powi(-53), depth) * magnitude + rounded,
            Operation::Sum | Operation::NanSum | Operation::NanMean | Operation::Norm1 => {
                grown(u, depth) * magnitude + rounded
            }
            // A product or a square of a difference has up to three roundings more.
            _ => grown(u, depth + 3) * magnitude + rounded + 2.0 * self.n as f64 * least,
        }
    }
}

/// A product with twice the digits of `f64`, and with an exponent that does not overflow.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct FloatProduct {
    dtype: Dtype,
    product: LongProduct,
    is_negative: bool,
    is_nan: bool,
    is_infinite: bool,
    is_zero: bool,
    /// The sums of the binary logarithms below and above 0, which bound all partial products.
    least: f64,
    greatest: f64,
}

impl FloatProduct {
    pub(super) fn new(dtype: Dtype) -> Self {
        Self {
            dtype,
            product: LongProduct::ONE,
            is_negative: false,
            is_nan: false,
            is_infinite: false,
            is_zero: false,
            least: 0.0,
            greatest: 0.0,
        }
    }

    pub(super) fn feed<T: Number>(&mut self, elements: &[T]) {
        for x in elements.iter().map(|x| x.float()) {
            self.is_nan |= x.is_nan();
            self.is_negative ^= x.is_sign_negative();
            self.is_infinite |= x.is_infinite();
            self.is_zero |= x == 0.0;
            if x.is_finite() && x != 0.0 {
                self.product.multiply(x.abs());
                let log = x.abs().log2();
                self.least += log.min(0.0);
                self.greatest += log.max(0.0);
            }
        }
    }

    pub(super) fn verdict(&self, value: f64, n: u64) -> Verdict {
        if self.is_nan || (self.is_infinite && self.is_zero) {
            return Verdict { agrees: value.is_nan(), reference: "NaN".into(), bound: None };
        }
        let sign = if self.is_negative { -1.0 } else { 1.0 };
        let (u, least, greatest) = match self.dtype {
            Dtype::F64 => (2f64.powi(-53), -1021.0, 1023.0),
            _ => (2f64.powi(-24), -125.0, 127.0),
        };
        if self.is_infinite || self.is_zero {
            let decided = if self.is_zero { sign * 0.0 } else { sign * f64::INFINITY };
            // Other elements may have overflowed against a zero in between, or underflowed.
            let is_decided = self.least >= least && self.greatest <= greatest;
            let agrees = value.total_cmp(&decided).is_eq() || !is_decided;
            return Verdict { agrees, reference: format!("{decided:?}"), bound: None };
        }
        let exact = self.product.value();
        let is_safe = self.least >= least && self.greatest <= greatest;
        let bound = if is_safe {
            exact * (grown(u, n.saturating_sub(1)) + 2f64.powi(-50))
        } else {
            // A partial product may leave the range of numbers in some order.
            f64::INFINITY
        };
        let agrees = (value.abs() - exact).abs() <= bound
            && value.is_sign_negative() == self.is_negative
            || bound.is_infinite();
        Verdict { agrees, reference: format!("{:?}", sign * exact), bound: Some(bound) }
    }
}
