//! The exponential function of numbers that are not large, as sums of exponentials need it.
//!
//! It is made of additions, fused multiplications and additions, and operations on bits, each of
//! which IEEE 754 defines to the last bit. So every device and the simulator compute the same bits,
//! which they would not with PTX `ex2.approx`.
//!
//! The argument is reduced after W. J. Cody and W. Waite ("Software Manual for the Elementary
//! Functions", 1980): `x = n ln 2 + r` with an integer `n`, where `r` lies between `-ln(2) / 2` and
//! `ln(2) / 2`. A polynomial gives `e^r`, and `n` is added to the exponent of its value. The
//! polynomial is `1 + r q(r)`, so that the exponential of 0 is exactly 1. Its greatest relative
//! error is as small as its degree allows (`f32`), or `q(r)` is `1 + r s(r)`, where `s`
//! interpolates at Chebyshev's nodes (`f64`).

use crate::item::Number;
use crate::unroll::each;
use cuda_std::ext::{math, target};

/// A float that has an exponential function.
///
/// ```
/// use warpfold_device::exp::Exp;
///
/// assert_eq!(Exp::exp(0.0f32), 1.0);
/// assert_eq!(Exp::exp(f64::NEG_INFINITY), 0.0);
/// assert!((Exp::exp(-1.0f64) - 0.367_879_441_171_442_3).abs() < 1e-16);
/// ```
pub trait Exp: Number + PartialOrd {
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// The least finite number.
    const LOWEST: Self;
    /// The greatest argument of [`exp_scaled`](Self::exp_scaled).
    const MOST: Self;
    /// The factor that turns a [scaled](Self::exp_scaled) exponential into the exponential itself.
    const UNSCALE: Self;

    /// `self * factor + term`, rounded once.
    #[must_use]
    fn fma(self, factor: Self, term: Self) -> Self;

    /// The magnitude of a number, negated. The exponential of what it makes of a NaN is 0.
    #[must_use]
    fn negated_magnitude(self) -> Self;

    /// The greater one of two numbers, or a NaN if either is one. Of two zeros it may be either.
    ///
    /// # Panics
    /// On the host, if the type is `f32`.
    #[must_use]
    fn greater_or_nan(self, other: Self) -> Self;

    /// The exponential function divided by [`UNSCALE`](Self::UNSCALE), of a number that is at most
    /// [`MOST`](Self::MOST). No result is subnormal. The result for -infinity and for all numbers
    /// whose exponential rounds to 0 is a positive number that [`UNSCALE`](Self::UNSCALE) turns
    /// into 0. The result for a NaN or a greater number means nothing.
    #[must_use]
    fn exp_scaled(self) -> Self;

    /// The exponential function of a number that is at most [`MOST`](Self::MOST). A greater
    /// argument has no smaller result. The result for -infinity is 0. The result for a NaN or a
    /// greater number means nothing.
    ///
    /// The measured error (this file's tests) of `f64` is at most 0.92 units in the last place, and
    /// that of `f32` at most `1.95 + |x| / 30` of them, subnormal results included. So the results
    /// of `f32` with the greatest errors are the smallest ones. In a sum whose largest term is 1,
    /// these errors do not count.
    #[inline(always)]
    #[must_use]
    fn exp(self) -> Self {
        self.exp_scaled().multiply(Self::UNSCALE)
    }
}

/// The value of the polynomial `1 + x q(x)`. The coefficients of `q` begin with that of the highest
/// power.
#[inline(always)]
fn polynomial<F: Exp, const N: usize>(q: [F; N], x: F) -> F {
    let mut value = q[0];
    each(N, |i| {
        if i > 0 {
            value = value.fma(x, q[i]);
        }
    });
    value.fma(x, F::ONE)
}

impl Exp for f32 {
    const NEG_INFINITY: Self = Self::NEG_INFINITY;
    const LOWEST: Self = Self::MIN;
    const MOST: Self = 8.0;
    // 2^-64.
    const UNSCALE: Self = Self::from_bits((127 - 64) << 23);

    #[inline(always)]
    fn fma(self, factor: Self, term: Self) -> Self {
        math::fma(self, factor, term)
    }

    #[inline(always)]
    fn negated_magnitude(self) -> Self {
        -self.abs()
    }

    #[inline(always)]
    fn greater_or_nan(self, other: Self) -> Self {
        if target::arch() >= 800 {
            math::maximum_f32(self, other)
        } else if (self >= other) | self.is_nan() {
            self
        } else {
            other
        }
    }

    #[inline(always)]
    fn exp_scaled(self) -> Self {
        /// 1.5 * 2^23, which rounds a small number to the nearest integer when it is added, and 64
        /// for the scale. The lowest bits of the sum are then the exponent of the result.
        const ROUND: f32 = 12_582_976.0;
        /// The exponential of this number and of all below it rounds to 0.
        const LEAST: f32 = -104.0;
        // The error of the polynomial is less than 2^-23 of its value. One power more would make it
        // 2^-26, and sums of exponentials wait for these instructions (bench/NOTEBOOK.md, attempt
        // 141).
        const Q: [f32; 5] =
            [8.290_316e-3, 4.189_793_4e-2, 1.666_763_6e-1, 4.999_915e-1, 9.999_997e-1];

        // A NaN becomes the other number.
        let x = self.max(LEAST);
        let shifted = math::fma(x, core::f32::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        // A second part of ln 2 would change the result by `n` times 2^-29 of it, which does not
        // count beside 1, because a result with a large `n` is small.
        let r = math::fma(-n, core::f32::consts::LN_2, x);
        let value = polynomial(Q, r);
        Self::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 23))
    }
}

impl Exp for f64 {
    const NEG_INFINITY: Self = Self::NEG_INFINITY;
    const LOWEST: Self = Self::MIN;
    const MOST: Self = 8.0;
    // 2^-512.
    const UNSCALE: Self = Self::from_bits((1023 - 512) << 52);

    #[inline(always)]
    fn fma(self, factor: Self, term: Self) -> Self {
        math::fma_f64(self, factor, term)
    }

    // The sign is set as a bit, because PTX leaves open what `neg.f64` makes of a NaN.
    #[inline(always)]
    fn negated_magnitude(self) -> Self {
        let bits = self.to_bits();
        halves(bits as u32, (bits >> 32) as u32 | 1 << 31)
    }

    // These are four instructions, and `maximum_f64` is about twenty, because it orders zeros.
    #[inline(always)]
    fn greater_or_nan(self, other: Self) -> Self {
        if (self >= other) | self.is_nan() { self } else { other }
    }

    #[inline(always)]
    fn exp_scaled(self) -> Self {
        /// 1.5 * 2^52, which rounds a small number to the nearest integer when it is added, and 512
        /// for the scale.
        const ROUND: f64 = 6_755_399_441_056_256.0;
        /// The upper half of -746. The exponential of this number and of all below it rounds to 0.
        const LEAST: u32 = 0xc087_5000;
        /// ln 2 in two parts.
        const LN_2: [f64; 2] = [core::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
        // The error of the polynomial is less than 2^-55 of its value.
        const Q: [f64; 11] = [
            2.510_047_250_569_499_6e-8,
            2.762_020_159_103_154_7e-7,
            2.755_726_827_690_569_6e-6,
            2.480_152_105_786_820_6e-5,
            1.984_126_986_317_155_7e-4,
            1.388_888_891_736_708_1e-3,
            8.333_333_333_330_039e-3,
            4.166_666_666_662_388e-2,
            1.666_666_666_666_666_9e-1,
            0.500_000_000_000_000_1,
            1.0,
        ];

        // The larger a negative number is in magnitude, the larger are its bits. So the minimum of
        // the upper halves is one instruction that keeps the number from going below `LEAST`.
        let bits = self.to_bits();
        let x = halves(bits as u32, ((bits >> 32) as u32).min(LEAST));
        let shifted = math::fma_f64(x, core::f64::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = math::fma_f64(-n, LN_2[1], math::fma_f64(-n, LN_2[0], x));
        let bits = polynomial(Q, r).to_bits();
        let exponent = (shifted.to_bits() as u32) << 20;
        halves(bits as u32, ((bits >> 32) as u32).wrapping_add(exponent))
    }
}

/// The `f64` whose bits have these halves.
#[inline(always)]
fn halves(lower: u32, upper: u32) -> f64 {
    f64::from_bits(u64::from(upper) << 32 | u64::from(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far `found` is from `exact`, in units of the last place that an `f32` near `exact` has.
    fn ulps_f32(found: f32, exact: f64) -> f64 {
        let exponent = (exact.log2().floor() as i32).max(-126);
        (f64::from(found) - exact).abs() / f64::from(exponent - 23).exp2()
    }

    /// The sum of two numbers of which the second is far smaller: about 106 bits.
    type Double = (f64, f64);

    fn normalized(a: f64, b: f64) -> Double {
        let sum = a + b;
        (sum, b - (sum - a))
    }

    fn plus(a: Double, b: Double) -> Double {
        let sum = a.0 + b.0;
        let of_b = sum - a.0;
        let error = (a.0 - (sum - of_b)) + (b.0 - of_b);
        normalized(sum, error + a.1 + b.1)
    }

    fn times(a: Double, b: Double) -> Double {
        let product = a.0 * b.0;
        normalized(product, a.0.mul_add(b.0, -product) + a.0 * b.1 + a.1 * b.0)
    }

    /// The exponential of `x` as a number between 1/2 and 2 and a power of two. The exponential of
    /// a 4096th of the argument is a short series, and is then squared twelve times.
    fn reference(x: f64) -> (Double, i32) {
        const LN_2: Double = (std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
        let n = (x / LN_2.0).round();
        let r = plus((x, 0.0), times((-n, 0.0), LN_2));
        let r = (r.0 / 4096.0, r.1 / 4096.0);
        let mut sum = (1.0, 0.0);
        for k in (1..=12).rev() {
            let inverse = normalized(1.0 / f64::from(k), {
                let quotient = 1.0 / f64::from(k);
                -quotient.mul_add(f64::from(k), -1.0) / f64::from(k)
            });
            sum = plus((1.0, 0.0), times(times(r, inverse), sum));
        }
        for _ in 0..12 {
            sum = times(sum, sum);
        }
        (sum, n as i32)
    }

    /// How far `found` is from the exponential of `x`, in units of its last place.
    fn ulps_f64(found: f64, x: f64) -> f64 {
        let ((upper, lower), n) = reference(x);
        // Each factor is a power of two within the range of `f64`, so that the products are exact.
        let half = -n / 2;
        let scaled = found * f64::from(half).exp2() * f64::from(-n - half).exp2();
        let exponent = (upper.log2().floor() as i32 + n).max(-1022) - n;
        ((scaled - upper) - lower).abs() / f64::from(exponent - 52).exp2()
    }

    /// Numbers that are not positive down to `least`: each `step`-th one by its bits.
    fn f32s(least: f32, step: usize) -> impl Iterator<Item = f32> {
        ((-1e-9f32).to_bits()..=least.to_bits()).step_by(step).map(f32::from_bits)
    }

    fn f64s(least: f64, step: usize) -> impl Iterator<Item = f64> {
        ((-1e-17f64).to_bits()..=least.to_bits()).step_by(step).map(f64::from_bits)
    }

    /// Numbers around `x` at distances of one unit in the last place.
    fn around_f32(x: f32) -> impl Iterator<Item = f32> {
        (0..33).map(move |step| f32::from_bits(x.to_bits() - 16 + step))
    }

    fn around_f64(x: f64) -> impl Iterator<Item = f64> {
        (0..33).map(move |step| f64::from_bits(x.to_bits() - 16 + step))
    }

    #[test]
    fn the_error_of_f32_is_as_documented() {
        // The polynomial changes at the odd multiples of half of ln 2.
        let seams = (-12..126).flat_map(|n| {
            around_f32(-(f64::from(2 * n + 1) * std::f64::consts::LN_2 / 2.0) as f32)
        });
        let (normal, least) = (-87.336_5, -103.972);
        let of_bound = |x: f32| {
            let bound = 1.95 + f64::from(x.abs()) / 30.0;
            ulps_f32(Exp::exp(x), f64::from(x).exp()) / bound
        };
        let positive = f32s(-f32::MOST, 487).map(|x| -x);
        let worst = f32s(normal, 487).chain(positive).chain(seams).filter(|&x| x >= normal);
        let worst = worst.map(of_bound).fold(0.0, f64::max);
        assert!(worst <= 1.0, "{worst}");
        // The bound is not much too large.
        assert!(worst > 0.97, "{worst}");
        let subnormal = f32s(least, 7).filter(|&x| x < normal);
        let worst = subnormal.map(of_bound).fold(0.0, f64::max);
        assert!(worst <= 1.0, "{worst}");
    }

    #[test]
    fn the_error_of_f64_is_as_documented() {
        let seams = (-12..1021)
            .flat_map(|n| around_f64(-f64::from(2 * n + 1) * std::f64::consts::LN_2 / 2.0));
        let (normal, least) = (-708.396, -745.13);
        let step = 1_000_000_000_007;
        let positive = f64s(-f64::MOST, step).map(|x| -x);
        let worst = f64s(normal, step).chain(positive).chain(seams).filter(|&x| x >= normal);
        let worst = worst.map(|x| ulps_f64(Exp::exp(x), x)).fold(0.0, f64::max);
        assert!(worst <= 0.92, "{worst}");
        assert!(worst > 0.8, "{worst}");
        let subnormal = f64s(least, 3_000_000_019).filter(|&x| x < normal);
        let worst = subnormal.map(|x| ulps_f64(Exp::exp(x), x)).fold(0.0, f64::max);
        assert!(worst <= 0.92, "{worst}");
    }

    #[test]
    fn a_greater_argument_has_no_smaller_exponential() {
        // All numbers in parts of the range, and the seams of the polynomial.
        let rises_f32 = |x: &[f32]| {
            assert!(x.is_sorted_by(|a, b| a >= b));
            let values: Vec<f32> = x.iter().map(|&x| Exp::exp(x)).collect();
            for (x, values) in x.windows(2).zip(values.windows(2)) {
                assert!(values[0] >= values[1], "{x:?}: {values:?}");
            }
        };
        rises_f32(&f32s(-110.0, 499).collect::<Vec<_>>());
        for n in 0..150 {
            let seam = -(f64::from(2 * n + 1) * std::f64::consts::LN_2 / 2.0) as f32;
            rises_f32(&around_f32(seam).collect::<Vec<_>>());
        }
        let rises_f64 = |x: &[f64]| {
            let values: Vec<f64> = x.iter().map(|&x| Exp::exp(x)).collect();
            for (x, values) in x.windows(2).zip(values.windows(2)) {
                assert!(values[0] >= values[1], "{x:?}: {values:?}");
            }
        };
        rises_f64(&f64s(-750.0, 1_000_000_000_007).collect::<Vec<_>>());
        for n in 0..1075 {
            let seam = -f64::from(2 * n + 1) * std::f64::consts::LN_2 / 2.0;
            rises_f64(&around_f64(seam).collect::<Vec<_>>());
        }
    }

    #[test]
    fn it_begins_at_one_and_ends_at_zero() {
        for x in [0.0f32, -0.0, -f32::from_bits(1)] {
            assert_eq!(Exp::exp(x).to_bits(), 1.0f32.to_bits(), "{x}");
        }
        for x in [0.0f64, -0.0, -f64::from_bits(1)] {
            assert_eq!(Exp::exp(x).to_bits(), 1.0f64.to_bits(), "{x}");
        }
        for x in [-103.98f32, -104.0, -1e30, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(Exp::exp(x).to_bits(), 0, "{x}");
            let scaled = x.exp_scaled();
            assert!(scaled.is_normal() && scaled > 0.0, "{x}: {scaled}");
        }
        for x in [-745.14f64, -746.0, -1e300, f64::MIN, f64::NEG_INFINITY] {
            assert_eq!(Exp::exp(x).to_bits(), 0, "{x}");
            let scaled = x.exp_scaled();
            assert!(scaled.is_normal() && scaled > 0.0, "{x}: {scaled}");
        }
        assert_eq!((Exp::exp(-103.9f32).to_bits(), Exp::exp(-745.1f64).to_bits()), (1, 1));
        for nan in [f32::NAN, -f32::NAN] {
            assert_eq!(Exp::exp(nan.negated_magnitude()).to_bits(), 0);
        }
        for nan in [f64::NAN, -f64::NAN] {
            assert_eq!(Exp::exp(nan.negated_magnitude()).to_bits(), 0);
        }
        assert_eq!((1.5f32.negated_magnitude(), (-1.5f64).negated_magnitude()), (-1.5, -1.5));
    }
}
