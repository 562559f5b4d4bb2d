//! The reference: it adds integers of any length, and searches for the nearest float.

use std::cmp::Ordering;

use num_bigint::BigInt;

/// The format of a float type to which sums are rounded.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) precision: u32,
    pub(crate) least_exponent: i32,
    /// `2^overflow` is the least power of two that is too large for the format.
    pub(crate) overflow: i32,
}

pub(crate) const BINARY32: Format = Format { precision: 24, least_exponent: -149, overflow: 128 };
pub(crate) const BINARY64: Format = Format { precision: 53, least_exponent: -1074, overflow: 1024 };

/// A finite number as an integer, in units of `2^-1074`.
fn integer(x: f64) -> BigInt {
    let bits = x.to_bits();
    let exponent = bits >> 52 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, place) =
        if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
    let magnitude = BigInt::from(significand) << place;
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// The correctly rounded sum of these numbers.
pub(crate) fn expected(values: &[f64], format: Format) -> f64 {
    if values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    match (values.contains(&f64::INFINITY), values.contains(&f64::NEG_INFINITY)) {
        (true, true) => return f64::NAN,
        (true, false) => return f64::INFINITY,
        (false, true) => return f64::NEG_INFINITY,
        (false, false) => {}
    }
    let mut sum = BigInt::ZERO;
    for &x in values {
        sum += integer(x);
    }
    if sum == BigInt::ZERO {
        let all_minus_zero =
            !values.is_empty() && values.iter().all(|x| x.to_bits() == (-0.0f64).to_bits());
        return if all_minus_zero { -0.0 } else { 0.0 };
    }
    let magnitude = nearest(&BigInt::from(sum.magnitude().clone()), format);
    if sum < BigInt::ZERO { -magnitude } else { magnitude }
}

/// The number of the format that is nearest to a magnitude in units of `2^-1074`; if two are
/// equally near, the even one.
///
/// The bits of non-negative numbers, read as integers, are in the order of the numbers, so this is
/// a binary search over bits.
fn nearest(magnitude: &BigInt, format: Format) -> f64 {
    let number = |bits: u64| {
        let (exponent, fraction) =
            (bits >> (format.precision - 1), bits & ((1 << (format.precision - 1)) - 1));
        let leading = if exponent == 0 { 0 } else { 1 << (format.precision - 1) };
        BigInt::from(fraction | leading)
            << (exponent.max(1) - 1 + (format.least_exponent + 1074) as u64)
    };
    let infinity = ((format.overflow - format.least_exponent - format.precision as i32 + 2) as u64)
        << (format.precision - 1);
    // The number of `below` is at most the magnitude, and the number of `above` is greater.
    let (mut below, mut above) = (0, infinity);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if number(middle) <= *magnitude { below = middle } else { above = middle }
    }
    let twice: BigInt = magnitude * 2;
    let bits = match twice.cmp(&(number(below) + number(above))) {
        Ordering::Less => below,
        Ordering::Greater => above,
        Ordering::Equal => below + below % 2,
    };
    if format.precision == 53 {
        f64::from_bits(bits)
    } else {
        f64::from(f32::from_bits(bits as u32))
    }
}

/// `2^exponent`, even if it is subnormal.
pub(crate) fn power(exponent: i32) -> f64 {
    2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}
