//! Exact sums of elements on the host.

use super::{
    Exact, Rounded,
    flag::{MINUS_ZEROS, NAN, NEGATIVE_INFINITY, NUMBERS, POSITIVE_INFINITY},
    private::Parts,
    rounded,
};

/// How many elements can be added to the limbs before carries must be propagated: a limb of 64 bits
/// takes 2^31 parts of 32 bits.
const ROUND: u32 = 1 << 30;

impl<F: Rounded, const LIMBS: usize> Exact<F, LIMBS> {
    /// The exact sum of elements on the host. It has the bytes of the raw result that a device
    /// gives for the same elements, in whichever order.
    ///
    /// ```
    /// use warpfold::{Device, ReproducibleSum, reducer::{ExactF32, ExactF64}};
    ///
    /// let values = [1.0f32, 1e30, -1e30, 1e-45];
    /// let on_host = ExactF32::of(values);
    /// assert_eq!(on_host.value(), 1.0);
    /// let on_device = Device::simulator().reduce(&values, ReproducibleSum)?;
    /// assert_eq!(on_host.value().to_bits(), on_device.to_bits());
    ///
    /// // A part of an array can be put together with the others.
    /// let parts = [ExactF64::of([0.1, 0.2]), ExactF64::of([0.3])];
    /// assert_eq!(parts[0].combine(&parts[1]).value(), ExactF64::of([0.3, 0.2, 0.1]).value());
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn of(values: impl IntoIterator<Item = F>) -> Self {
        let mut sums = [0i64; LIMBS];
        let (mut flags, mut all_minus_zero, mut left, mut any) = (0, true, ROUND, false);
        for value in values {
            any = true;
            let Parts { significand, exponent, is_negative } = value.parts();
            all_minus_zero &= is_negative && significand == 0;
            if exponent == F::SPECIAL {
                flags |= match (significand << 1 << (64 - F::PRECISION) == 0, is_negative) {
                    (false, _) => NAN,
                    (true, false) => POSITIVE_INFINITY,
                    (true, true) => NEGATIVE_INFINITY,
                };
                continue;
            }
            let place = F::LEAST + exponent.max(1) - 1;
            let (limb, shift) = ((place / 32) as usize, place % 32);
            let wide = u128::from(significand) << shift;
            // All bits of it are 1 for a negative number, whose parts are negated.
            let sign = -i64::from(is_negative);
            for part in 0..3 {
                let bits = i64::from((wide >> (32 * part)) as u32);
                sums[limb + part] += (bits ^ sign) - sign;
            }
            left -= 1;
            if left == 0 {
                propagate(&mut sums);
                left = ROUND;
            }
        }
        if any {
            flags |= if all_minus_zero { MINUS_ZEROS } else { NUMBERS };
        }
        propagate(&mut sums);
        let limbs = sums.map(|sum| sum as u32);
        Self { value: rounded(flags, &limbs), flags, limbs }
    }
}

/// Brings all limbs but the last to 32 bits.
fn propagate<const LIMBS: usize>(sums: &mut [i64; LIMBS]) {
    for limb in 0..LIMBS - 1 {
        let carry = sums[limb] >> 32;
        sums[limb] &= 0xffff_ffff;
        sums[limb + 1] += carry;
    }
}
