//! Integers of 192 bits, for sums that 128 bits cannot hold.

use std::{cmp::Ordering, fmt, iter, ops::Add};

use bytemuck::{Pod, Zeroable};

/// An integer of 192 bits in two's complement. It is the raw result of
/// [`CheckedSum`](super::CheckedSum) over 128-bit integers, and the exact sum in
/// [`Error::Overflow`](super::Error::Overflow).
///
/// In memory, an `Int192` is three 64-bit words, the least significant first.
///
/// ```
/// use warpfold::reducer::Int192;
///
/// let sum = Int192::from(u128::MAX) + Int192::from(1u128);
/// assert_eq!(sum.to_string(), "340282366920938463463374607431768211456");
/// assert_eq!(u128::try_from(sum).ok(), None);
/// assert_eq!(i128::try_from(Int192::from(-5i128)), Ok(-5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Int192 {
    words: [u64; 3],
}

impl Int192 {
    /// Whether the number is negative: the highest bit is its sign.
    fn is_negative(self) -> bool {
        self.words[2] >> 63 == 1
    }

    /// Makes the number whose lower 128 bits are `low` and whose upper 64 bits are `high`.
    fn extended(low: u128, high: u64) -> Self {
        Self { words: [low as u64, (low >> 64) as u64, high] }
    }

    fn low(self) -> u128 {
        u128::from(self.words[1]) << 64 | u128::from(self.words[0])
    }

    fn negated(self) -> Self {
        let ones = Self { words: self.words.map(|word| !word) };
        ones + Self::from(1u128)
    }
}

impl From<u128> for Int192 {
    fn from(value: u128) -> Self {
        Self::extended(value, 0)
    }
}

impl From<i128> for Int192 {
    fn from(value: i128) -> Self {
        Self::extended(value as u128, (value >> 127) as u64)
    }
}

impl From<u64> for Int192 {
    fn from(value: u64) -> Self {
        Self::from(u128::from(value))
    }
}

impl From<i64> for Int192 {
    fn from(value: i64) -> Self {
        Self::from(i128::from(value))
    }
}

/// The error of a conversion to `u128` or `i128`: that type cannot hold the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} does not fit into 128 bits")]
pub struct TooWide(pub Int192);

impl TryFrom<Int192> for u128 {
    type Error = TooWide;

    fn try_from(value: Int192) -> Result<Self, TooWide> {
        if value.words[2] == 0 { Ok(value.low()) } else { Err(TooWide(value)) }
    }
}

impl TryFrom<Int192> for i128 {
    type Error = TooWide;

    fn try_from(value: Int192) -> Result<Self, TooWide> {
        let low = value.low() as Self;
        if Int192::from(low) == value { Ok(low) } else { Err(TooWide(value)) }
    }
}

/// The sum wraps modulo 2^192.
impl Add for Int192 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (low, carry) = self.low().overflowing_add(other.low());
        let high = self.words[2].wrapping_add(other.words[2]).wrapping_add(u64::from(carry));
        Self::extended(low, high)
    }
}

impl Ord for Int192 {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |value: &Self| (value.words[2] as i64, value.low());
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Int192 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Int192 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The largest power of ten that a 64-bit word can hold.
        const STEP: u64 = 10_000_000_000_000_000_000;
        let mut words = if self.is_negative() { self.negated().words } else { self.words };
        // 2^192 has 58 decimal digits, which takes four steps of 19 digits.
        let mut steps = Vec::with_capacity(4);
        while words != [0; 3] {
            let mut remainder = 0;
            for word in words.iter_mut().rev() {
                let dividend = u128::from(remainder) << 64 | u128::from(*word);
                *word = (dividend / u128::from(STEP)) as u64;
                remainder = (dividend % u128::from(STEP)) as u64;
            }
            steps.push(remainder);
        }
        let highest = steps.pop().unwrap_or(0).to_string();
        let others = steps.iter().rev().map(|step| format!("{step:019}"));
        let digits: String = iter::once(highest).chain(others).collect();
        f.pad_integral(!self.is_negative(), "", &digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i128; 9] = [
        i128::MIN,
        i128::MIN + 1,
        -(1 << 64),
        -1,
        0,
        1,
        10_000_000_000_000_000_000,
        1 << 64,
        i128::MAX,
    ];

    #[test]
    fn what_fits_into_128_bits_is_as_there() {
        for a in EDGES {
            let wide = Int192::from(a);
            assert_eq!(i128::try_from(wide), Ok(a));
            assert_eq!(u128::try_from(wide).ok(), u128::try_from(a).ok());
            assert_eq!(wide.to_string(), a.to_string());
            for b in EDGES {
                assert_eq!(wide.cmp(&b.into()), a.cmp(&b), "{a} {b}");
                let sum = wide + b.into();
                match a.checked_add(b) {
                    Some(exact) => assert_eq!(sum, exact.into(), "{a} + {b}"),
                    None => assert_eq!(i128::try_from(sum), Err(TooWide(sum)), "{a} + {b}"),
                }
            }
        }
    }

    #[test]
    fn beyond_128_bits() {
        let doubled = |mut value: Int192, times: u32| {
            for _ in 0..times {
                value = value + value;
            }
            value
        };
        assert_eq!(
            doubled(1u64.into(), 190).to_string(),
            "1569275433846670190958947355801916604025588861116008628224"
        );
        assert_eq!(
            doubled((-1i64).into(), 190).to_string(),
            "-1569275433846670190958947355801916604025588861116008628224"
        );
        assert_eq!(
            doubled((-1i64).into(), 191).to_string(),
            "-3138550867693340381917894711603833208051177722232017256448",
            "the least there is"
        );
        assert_eq!(
            doubled(u128::MAX.into(), 1).to_string(),
            "680564733841876926926749214863536422910"
        );
        assert!(doubled(1u64.into(), 190) > u128::MAX.into());
        assert!(doubled((-1i64).into(), 190) < i128::MIN.into());
    }
}
