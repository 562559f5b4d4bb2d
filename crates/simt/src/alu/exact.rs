//! `add mul fma div sqrt` of doubles with a directed rounding: the exact result in integers,
//! rounded once.
//!
//! An exact result is an integer times a power of two, and perhaps something below one unit of that
//! integer, of which only the existence is known. Operands that are zero, infinite or NaN need no
//! rounding, so Rust's own operations compute them.

use crate::ptx::ast::Rounding;

const FRACTION: i32 = 52;
const BIAS: i32 = 1023;
/// The exponent of the last bit of subnormal numbers.
const LEAST: i32 = -1074;
const INFINITY: u64 = 0x7ff << FRACTION;
/// In a sum, the first bit of the greater term is this one. A carry fits above it.
const TOP: i32 = 125;

/// A number other than zero: `integer * 2^exponent`, and up to one unit more if `more` is set.
#[derive(Debug, Clone, Copy)]
struct Number {
    negative: bool,
    integer: u128,
    exponent: i32,
    more: bool,
}

impl Number {
    /// A finite double other than zero. The integer has 53 bits.
    fn new(value: f64) -> Number {
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION) - 1);
        let (integer, exponent) = match (bits >> FRACTION & 0x7ff) as i32 {
            0 => {
                let shift = fraction.leading_zeros() as i32 - (63 - FRACTION);
                (fraction << shift, LEAST - shift)
            }
            biased => (fraction | 1 << FRACTION, biased - BIAS - FRACTION),
        };
        Number {
            negative: value.is_sign_negative(),
            integer: integer.into(),
            exponent,
            more: false,
        }
    }

    /// The exponent of the first bit.
    fn magnitude(self) -> i32 {
        self.exponent + 127 - self.integer.leading_zeros() as i32
    }

    fn times(self, other: Number) -> Number {
        Number {
            negative: self.negative != other.negative,
            integer: self.integer * other.integer,
            exponent: self.exponent + other.exponent,
            more: false,
        }
    }

    /// The sum of two numbers of at most 106 bits; `None` if it is zero.
    fn plus(self, other: Number) -> Option<Number> {
        let (great, small) =
            if self.magnitude() < other.magnitude() { (other, self) } else { (self, other) };
        let exponent = great.magnitude() - TOP;
        let integer = great.integer << (great.exponent - exponent);
        let up = small.exponent - exponent;
        let (moved, more) = match up {
            0.. => (small.integer << up, false),
            -127..0 => (small.integer >> -up, small.integer << (128 + up) != 0),
            _ => (0, true),
        };
        if great.negative == small.negative {
            return Some(Number { integer: integer + moved, exponent, more, ..great });
        }
        // The small term was cut, so that it is by up to one unit greater than `moved`. If the
        // terms have the same magnitude, it was not cut.
        if integer == moved {
            return None;
        }
        let negative = great.negative != (integer < moved);
        let integer = integer.abs_diff(moved) - u128::from(more);
        Some(Number { negative, integer, exponent, more })
    }

    fn over(self, other: Number) -> Number {
        const BITS: i32 = 64;
        let dividend = self.integer << BITS;
        Number {
            negative: self.negative != other.negative,
            integer: dividend / other.integer,
            exponent: self.exponent - other.exponent - BITS,
            more: !dividend.is_multiple_of(other.integer),
        }
    }

    /// The root of a positive number of 53 bits.
    fn root(self) -> Number {
        let bits = 72 + (self.exponent & 1);
        let square = self.integer << bits;
        let root = square.isqrt();
        let exponent = (self.exponent - bits) / 2;
        Number { integer: root, exponent, more: root * root != square, ..self }
    }

    fn round(self, rounding: Rounding) -> f64 {
        let last = (self.magnitude() - FRACTION).max(LEAST);
        let drop = last - self.exponent;
        let (kept, rest) = match drop {
            ..=0 => (self.integer << -drop, 0),
            1..128 => (self.integer >> drop, self.integer << (128 - drop)),
            _ => (0, 1),
        };
        let inexact = rest != 0 || self.more;
        let away = match rounding {
            Rounding::Zero => false,
            Rounding::Down => inexact && self.negative,
            Rounding::Up => inexact && !self.negative,
            Rounding::NearestEven => unreachable!("Rust's own operations round to nearest"),
        };
        let kept = kept as u64 + u64::from(away);
        // The first bit of a normal number adds one to the exponent, and so does a carry.
        let exponent = (last - LEAST) as u64;
        let bits = (exponent << FRACTION) + kept;
        let bits = match (bits >= INFINITY, rounding) {
            (false, _) => bits,
            (true, Rounding::Up) if !self.negative => INFINITY,
            (true, Rounding::Down) if self.negative => INFINITY,
            (true, _) => INFINITY - 1,
        };
        f64::from_bits(bits | u64::from(self.negative) << 63)
    }
}

fn is_ordinary(value: f64) -> bool {
    value.is_finite() && value != 0.0
}

/// A sum that is zero. It has the sign of both terms, or is negative only if the rounding is down.
fn zero_sum(a: f64, b: f64, rounding: Rounding) -> f64 {
    let (a, b) = (a.is_sign_negative(), b.is_sign_negative());
    let negative = if a == b { a } else { rounding == Rounding::Down };
    if negative { -0.0 } else { 0.0 }
}

pub(super) fn add(a: f64, b: f64, rounding: Rounding) -> f64 {
    if is_ordinary(a) && is_ordinary(b) {
        let sum = Number::new(a).plus(Number::new(b));
        return sum.map_or_else(|| zero_sum(a, b, rounding), |sum| sum.round(rounding));
    }
    if a == 0.0 && b == 0.0 { zero_sum(a, b, rounding) } else { a + b }
}

pub(super) fn multiply(a: f64, b: f64, rounding: Rounding) -> f64 {
    if is_ordinary(a) && is_ordinary(b) {
        return Number::new(a).times(Number::new(b)).round(rounding);
    }
    a * b
}

pub(super) fn fused(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a * b + c;
    }
    // A finite product that would overflow does not compete with an infinity.
    if !c.is_finite() {
        return c;
    }
    if a == 0.0 || b == 0.0 {
        return add(a * b, c, rounding);
    }
    let product = Number::new(a).times(Number::new(b));
    if c == 0.0 {
        return product.round(rounding);
    }
    let zero = || if rounding == Rounding::Down { -0.0 } else { 0.0 };
    product.plus(Number::new(c)).map_or_else(zero, |sum| sum.round(rounding))
}

pub(super) fn divide(a: f64, b: f64, rounding: Rounding) -> f64 {
    if is_ordinary(a) && is_ordinary(b) {
        return Number::new(a).over(Number::new(b)).round(rounding);
    }
    a / b
}

pub(super) fn root(a: f64, rounding: Rounding) -> f64 {
    if is_ordinary(a) && a > 0.0 { Number::new(a).root().round(rounding) } else { a.sqrt() }
}
