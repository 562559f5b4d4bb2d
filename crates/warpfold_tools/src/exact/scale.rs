//! Floats as a mantissa and a power of 2.

/// Splits a positive finite number into a mantissa in `[0.5, 1)` and an exponent of 2.
pub(super) fn split(x: f64) -> (f64, i64) {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    const HALF: u64 = 0.5f64.to_bits();
    if x < f64::MIN_POSITIVE {
        let (mantissa, exponent) = split(x * power_of_two(64));
        return (mantissa, exponent - 64);
    }
    let bits = x.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | HALF;
    (f64::from_bits(mantissa), (bits >> MANTISSA_BITS) as i64 - (HALF >> MANTISSA_BITS) as i64)
}

/// `2^exponent`. The result must be a normal number, so the exponent is from -1022 to 1023.
pub fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + i64::from(f64::MAX_EXP) - 1) as u64) << (f64::MANTISSA_DIGITS - 1))
}
