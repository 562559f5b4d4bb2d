//! Sine and exponential, accurate to about the last bit. They are here because `core` has none.
//!
//! Both reduce their argument after Cody and Waite ("Software Manual for the Elementary Functions",
//! 1980): they subtract a multiple of the period in several parts, each by a fused multiplication
//! and addition. The rest is small, and a polynomial computes the function of it. The polynomial
//! interpolates the function at Chebyshev's nodes; its coefficients are rounded to `f32`.
//!
//! The errors that the comments name are differences from `f64`, in units of the last place (ulp)
//! of the result. This file's tests measure them on the host.

use cuda_std::ext::math::fma;

/// 1.5 * 2^23. Adding and then subtracting it rounds a number below 2^22 to the nearest integer.
const ROUND: f32 = 12_582_912.0;

/// The sine of `x`. Its error is at most 1.5 ulp for arguments up to 2^17. Beyond that the
/// reduction has no correct bits left: up to 2^22 the result is some number between -1 and 1.
///
/// The result is NaN if `x` is infinite or NaN.
#[inline(always)]
#[must_use]
pub fn sin(x: f32) -> f32 {
    // Pi / 2 in three parts.
    const HALF_PI: [f32; 3] = [core::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

    let shifted = fma(x, core::f32::consts::FRAC_2_PI, ROUND);
    let quarters = shifted - ROUND;
    let mut r = fma(-quarters, HALF_PI[0], x);
    r = fma(-quarters, HALF_PI[1], r);
    r = fma(-quarters, HALF_PI[2], r);

    // The last bits of `shifted` are those of the integer. In odd quarters the sine is the cosine
    // of the rest. It takes the same steps with other coefficients, so that no lane waits for
    // others.
    let quadrant = shifted.to_bits();
    let pick = |of_sine: f32, of_cosine: f32| if quadrant & 1 == 0 { of_sine } else { of_cosine };
    let square = r * r;
    let mut p =
        fma(pick(2.724_986_4e-6, 2.454_789_1e-5), square, pick(-1.984_008_6e-4, -1.388_830_2e-3));
    p = fma(p, square, pick(8.333_332e-3, 4.166_666_4e-2));
    p = fma(p, square, pick(-0.166_666_67, -0.5));
    let factor = pick(r, 1.0);
    let value = fma(p * square, factor, factor);
    if quadrant & 2 == 0 { value } else { -value }
}

/// `e` to the power of `x`, with an error of less than 1 ulp. The result is infinity if it is too
/// large for `f32`, 0 if it is below the smallest subnormal number, and NaN if `x` is NaN.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    // ln 2 in two parts.
    const LN_2: [f32; 2] = [core::f32::consts::LN_2, -1.904_654_2e-9];

    // Beyond these bounds the result no longer changes. A NaN passes both comparisons unchanged.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = fma(x, core::f32::consts::LOG2_E, ROUND);
    let doublings = shifted - ROUND;
    let mut r = fma(-doublings, LN_2[0], x);
    r = fma(-doublings, LN_2[1], r);

    let mut p = fma(1.989_099_1e-4, r, 1.393_365e-3);
    p = fma(p, r, 8.333_310_5e-3);
    p = fma(p, r, 4.166_646_7e-2);
    p = fma(p, r, 0.166_666_67);
    p = fma(p, r, 0.5);
    let value = fma(p, r * r, r) + 1.0;

    // The power of two is split into two factors, because 2^128 and 2^-150 are no normal numbers.
    let doublings = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let half = doublings >> 1;
    value * power_of_two(half) * power_of_two(doublings - half)
}

/// 2^n, for n from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::f32::consts::PI;
    use std::vec::Vec;

    use super::*;

    /// How far `found` is from `exact`, in units of the last place of an `f32` near `exact`.
    fn ulps(found: f32, exact: f64) -> f64 {
        let exponent = (exact.abs().log2().floor() as i32).max(-126);
        (f64::from(found) - exact).abs() / (exponent - 23).exp2()
    }

    trait Exp2 {
        fn exp2(self) -> f64;
    }

    impl Exp2 for i32 {
        fn exp2(self) -> f64 {
            f64::from(self).exp2()
        }
    }

    /// Every `step`-th float up to `most`, counted by bit patterns, with both signs.
    fn floats(most: f32, step: usize) -> impl Iterator<Item = f32> {
        (0..=most.to_bits())
            .step_by(step)
            .flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)])
    }

    fn worst(
        arguments: impl Iterator<Item = f32>,
        function: fn(f32) -> f32,
        exact: fn(f64) -> f64,
    ) -> (f64, f32) {
        arguments
            .map(|x| (ulps(function(x), exact(f64::from(x))), x))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap()
    }

    #[test]
    fn the_sine_is_off_by_at_most_one_and_a_half_ulp() {
        let (error, x) = worst(floats(131_072.0, 487), sin, f64::sin);
        assert!(error <= 1.5, "sin({x:?}) is {error} ulp off");
        // The bound is not much too large.
        assert!(error > 0.5, "{error}");
    }

    #[test]
    fn the_sine_holds_at_multiples_of_a_quarter_turn() {
        let near: Vec<f32> = (0..40_000_u32)
            .flat_map(|quarters| {
                let bits = (f64::from(quarters) * std::f64::consts::FRAC_PI_2).to_bits();
                let nearest = (f64::from_bits(bits) as f32).to_bits();
                (0..3).map(move |step| f32::from_bits((nearest + step).saturating_sub(1)))
            })
            .collect();
        let (error, x) = worst(near.into_iter(), sin, f64::sin);
        assert!(error <= 1.5, "sin({x:?}) is {error} ulp off");
    }

    #[test]
    fn the_exponential_is_off_by_less_than_one_ulp() {
        let (error, x) = worst(floats(88.72, 487), exp, f64::exp);
        assert!(error < 1.0, "exp({x:?}) is {error} ulp off");
        assert!(error > 0.5, "{error}");
    }

    #[test]
    fn the_exponential_ends_where_f32_does() {
        assert_eq!(exp(88.722_84).to_bits(), f32::INFINITY.to_bits());
        assert!(exp(88.722_83).is_finite());
        for x in [89.0, 1e30, f32::INFINITY] {
            assert_eq!(exp(x).to_bits(), f32::INFINITY.to_bits(), "{x}");
        }
        for x in [-104.0, -1e30, f32::NEG_INFINITY] {
            assert_eq!(exp(x).to_bits(), 0, "{x}");
        }
        assert_eq!(exp(-103.0).to_bits(), 1);
        assert_eq!(exp(0.0).to_bits(), 1.0_f32.to_bits());
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn the_sine_of_what_is_not_finite_is_no_number() {
        assert_eq!(sin(0.0).to_bits(), 0);
        assert_eq!(sin(f32::MIN_POSITIVE).to_bits(), f32::MIN_POSITIVE.to_bits());
        assert!(sin(PI).abs() < 1e-6);
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(sin(x).is_nan(), "{x}");
        }
    }
}
