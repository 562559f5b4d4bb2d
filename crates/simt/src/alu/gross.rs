//! `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: rough values from which compilers start
//! iterations.
//!
//! The PTX ISA defines these instructions on upper words. The upper 32 bits of a double are its
//! sign, its exponent and the first 20 bits of its fraction. The instruction reads the upper word
//! of its source alone, and writes the upper word of its result; the lower word of the result is
//! zero. Subnormal sources and results become zeros of the same sign. A NaN becomes
//! `0x7fffffff00000000`.
//!
//! The ISA leaves open how close the result is. Here it is the nearest value that has 20 bits of
//! fraction. There are no ties, because a tie has 21 bits of fraction: neither its reciprocal nor
//! the reciprocal of its square has 20. So a program sees an error of at most half a unit in bit 20
//! from the result, and one of less than a unit from the part of the source that is ignored. The
//! results of hardware may differ from these in their last bits.

use crate::registers::{AluFn, alu};

const LOWER: u64 = 0xffff_ffff;
const SIGN: u64 = 1 << 63;
const EXPONENT: u64 = 0x7ff << 52;
const NAN: u64 = 0x7fff_ffff << 32;

/// A subnormal becomes a zero of the same sign.
#[inline(always)]
fn flush(bits: u64) -> u64 {
    if bits & EXPONENT == 0 { bits & SIGN } else { bits }
}

/// The result of an instruction whose exact result is `function`, rounded to `f64`.
///
/// The rounding to `f64` does no harm: no exact result is so close to the middle of two results
/// that it could move there. A test tries all sources.
#[inline(always)]
fn gross(source: f64, function: impl Fn(f64) -> f64) -> f64 {
    let exact = function(f64::from_bits(flush(source.to_bits() & !LOWER)));
    if exact.is_nan() {
        return f64::from_bits(NAN);
    }
    f64::from_bits(flush((exact.to_bits() + (1 << 31)) & !LOWER))
}

/// `rcp.approx.ftz.f64`.
pub(crate) fn reciprocal() -> AluFn {
    alu!(|a: f64| -> f64 { gross(a, f64::recip) })
}

/// `rsqrt.approx.ftz.f64`.
pub(crate) fn reciprocal_root() -> AluFn {
    // The root of -0 is -0, as the ISA demands: its reciprocal is negative infinity.
    alu!(|a: f64| -> f64 { gross(a, |a| 1.0 / a.sqrt()) })
}
