//! The reference of the sum and of the product of floats.

use warpfold_tools::exact::{ExactSum, LongProduct, power_of_two};

use super::verdict::{Reference, Rule};
use crate::element::Value;

/// The properties of a floating-point format that the error bounds need.
pub(super) struct Format {
    /// Half the distance from 1 to the next number.
    unit_roundoff: f64,
    max: f64,
    /// The least exponent for which `2^exponent` overflows.
    overflow_exponent: f64,
    /// The exponent for which `2^-exponent` is the least normal number.
    underflow_exponent: f64,
}

pub(super) const BINARY32: Format = Format {
    unit_roundoff: f32::EPSILON as f64 / 2.0,
    max: f32::MAX as f64,
    overflow_exponent: f32::MAX_EXP as f64,
    underflow_exponent: (1 - f32::MIN_EXP) as f64,
};

pub(super) const BINARY64: Format = Format {
    unit_roundoff: f64::EPSILON / 2.0,
    max: f64::MAX,
    overflow_exponent: f64::MAX_EXP as f64,
    underflow_exponent: (1 - f64::MIN_EXP) as f64,
};

impl Format {
    /// `(1 + u)^roundings - 1`. Its own rounding makes it too large rather than too small.
    pub(super) fn relative_error(&self, roundings: u64) -> f64 {
        (roundings as f64 * self.unit_roundoff.ln_1p()).exp_m1() * (1.0 + 8.0 * f64::EPSILON)
    }
}

/// The infinities and NaNs among the elements.
#[derive(Default)]
struct Specials {
    nan: bool,
    positive_infinity: bool,
    negative_infinity: bool,
}

impl Specials {
    /// Notes `x` if it is infinite or NaN, and tells whether it was.
    fn note(&mut self, x: f64) -> bool {
        self.nan |= x.is_nan();
        self.positive_infinity |= x == f64::INFINITY;
        self.negative_infinity |= x == f64::NEG_INFINITY;
        !x.is_finite()
    }

    fn infinite(&self) -> bool {
        self.positive_infinity || self.negative_infinity
    }
}

pub(super) fn sum(values: impl Iterator<Item = f64>, depth: u64, format: &Format) -> Reference {
    let mut specials = Specials::default();
    let (mut sum, mut magnitude) = (ExactSum::new(), ExactSum::new());
    for x in values {
        if !specials.note(x) {
            sum.add(x);
            magnitude.add(x.abs());
        }
    }
    let sum = sum.value();
    let relative = format.relative_error(depth);
    let may_overflow = magnitude.value() * (1.0 + relative) > format.max;

    if specials.nan || specials.positive_infinity && specials.negative_infinity {
        return Reference::exact(Value::F64(f64::NAN));
    }
    if specials.infinite() {
        let value = if specials.positive_infinity { f64::INFINITY } else { f64::NEG_INFINITY };
        let rule = if may_overflow { Rule::SameOrNan } else { Rule::Same };
        return Reference { value: Value::F64(value), error_bound: 0.0, rule };
    }
    // The sum of the magnitudes may be beyond the range of `f64` although this fraction of it is
    // within the range.
    let rounding = match magnitude.value() {
        finite if finite.is_finite() => relative * finite,
        _ => relative * magnitude.scaled(-64) * power_of_two(64),
    };
    Reference {
        value: Value::F64(sum),
        error_bound: rounding + BINARY64.unit_roundoff * sum.abs().min(f64::MAX),
        rule: if may_overflow { Rule::NearOrOverflow } else { Rule::Near },
    }
}

pub(super) fn product(values: impl Iterator<Item = f64>, format: &Format) -> Reference {
    let mut specials = Specials::default();
    let (mut n, mut zero, mut negative) = (0u64, false, false);
    // The product of the elements above 1 alone, and of those below 1 alone, as powers of 2. Any
    // partial product lies between the two.
    let (mut up, mut down) = (0.0f64, 0.0f64);
    let mut product = LongProduct::ONE;
    for x in values {
        n += 1;
        negative ^= x.is_sign_negative();
        zero |= x == 0.0;
        if !specials.note(x) && x != 0.0 {
            let exponent = x.abs().log2();
            up += exponent.max(0.0);
            down += (-exponent).max(0.0);
            product.multiply(x.abs());
        }
    }
    let roundings = n.saturating_sub(1);
    let relative = format.relative_error(roundings);
    // Rounding moves a partial product by a factor of (1 + u) each time. The relative error of log2
    // and of its sums is far below 1e-12.
    let slack = relative.ln_1p() / std::f64::consts::LN_2 + (up + down) * 1e-12;
    let may_overflow = up + slack >= format.overflow_exponent;
    let may_underflow = down + slack > format.underflow_exponent;
    let signed = |magnitude: f64| Value::F64(if negative { -magnitude } else { magnitude });

    if specials.nan || zero && specials.infinite() {
        return Reference::exact(Value::F64(f64::NAN));
    }
    if zero || specials.infinite() {
        let (value, nan) = if zero { (0.0, may_overflow) } else { (f64::INFINITY, may_underflow) };
        let rule = if nan { Rule::SameOrNan } else { Rule::Same };
        return Reference { value: signed(value), error_bound: 0.0, rule };
    }
    let magnitude = product.value();
    let value = signed(magnitude);
    match (may_overflow, may_underflow) {
        (false, false) => {
            let error_bound = (relative + 4.0 * BINARY64.unit_roundoff) * magnitude;
            Reference { value, error_bound, rule: Rule::Near }
        }
        (true, true) => Reference { value, error_bound: f64::INFINITY, rule: Rule::SignOrNan },
        _ => Reference { value, error_bound: f64::INFINITY, rule: Rule::Sign },
    }
}
