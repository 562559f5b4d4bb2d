//! A short exact sum: three `f64`s that together are the sum, or a note that they are not.

// Exact results are compared exactly.
#![allow(clippy::float_cmp)]

use super::accumulator::two_sum;
use super::flag::{NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY};
use super::item::Rounded;
use crate::words::Words;

/// There are elements.
const ELEMENTS: u32 = 32;
/// An addition was not exact, so the three `f64`s are not the sum.
const UNPROVEN: u32 = 64;

/// The flags of the infinities of both signs.
const BOTH: u32 = POSITIVE_INFINITY | NEGATIVE_INFINITY;

/// The sum of the finite elements is `high + middle + low`, unevaluated, unless the flags say that
/// it is not proven. The order of the additions does not change the sum, but it may decide whether
/// the sum is proven.
#[derive(Clone, Copy)]
pub struct Expansion {
    /// The sum, rounded in each addition.
    high: f64,
    /// The sum of the rounding errors of `high`.
    middle: f64,
    /// The sum of the rounding errors of `middle`.
    low: f64,
    /// The kinds of elements that are not finite, as [`flag`](super::flag)s, [`ELEMENTS`] and
    /// [`UNPROVEN`].
    flags: u32,
}

impl Expansion {
    /// The sum of no elements. Its high part is -0, because adding -0 changes no number, and
    /// because a sum of -0s alone is -0.
    pub(super) const EMPTY: Self = Self { high: -0.0, middle: 0.0, low: 0.0, flags: 0 };

    /// Notes that there are elements.
    #[inline(always)]
    pub(super) fn note_elements(&mut self) {
        self.flags |= ELEMENTS;
    }

    /// Adds a number, finite or not.
    #[inline(always)]
    pub(super) fn add(&mut self, x: f64) {
        if x.is_finite() {
            self.add_high(x);
        } else {
            self.flags |= if x.is_nan() {
                NAN
            } else if x > 0.0 {
                POSITIVE_INFINITY
            } else {
                NEGATIVE_INFINITY
            };
        }
    }

    #[inline(always)]
    fn add_high(&mut self, x: f64) {
        let (high, error) = two_sum(self.high, x);
        self.high = high;
        self.add_middle(error);
    }

    #[inline(always)]
    fn add_middle(&mut self, x: f64) {
        let (middle, error) = two_sum(self.middle, x);
        self.middle = middle;
        self.add_low(error);
    }

    #[inline(always)]
    fn add_low(&mut self, x: f64) {
        let (low, lost) = two_sum(self.low, x);
        self.low = low;
        // `lost` is NaN if a sum has overflowed.
        self.flags |= if lost == 0.0 { 0 } else { UNPROVEN };
    }

    /// The sum of the elements of both. Parts of the same rank are added, so that -0s stay -0.
    #[inline(always)]
    pub(super) fn combine(a: Self, b: Self) -> Self {
        let mut sum = a;
        sum.add_high(b.high);
        sum.add_middle(b.middle);
        sum.add_low(b.low);
        sum.flags |= b.flags;
        sum
    }

    /// The sum rounded to nearest even, or the [mark](Rounded::MARK) if it is not proven.
    ///
    /// The sum of three numbers is rounded once, because the sum of its lower parts is rounded to
    /// odd before (S. Boldo and G. Melquiond, *Emulation of a FMA and correctly rounded sums:
    /// proved algorithms using rounding to odd*, 2008, section 5).
    #[inline(always)]
    pub(super) fn round<V: Rounded>(self) -> V {
        let (kinds, mark) = (self.flags, V::from_magnitude(V::MARK, false));
        if kinds & NAN != 0 || kinds & BOTH == BOTH {
            return V::from_magnitude(V::NAN, false);
        }
        if kinds & BOTH != 0 {
            return V::from_magnitude(V::INFINITY, kinds & BOTH == NEGATIVE_INFINITY);
        }
        if kinds & UNPROVEN != 0 {
            return mark;
        }
        // The high part stays -0 only if there are no elements, or -0s alone.
        if self.high.to_bits() == (-0.0f64).to_bits() {
            return V::from_magnitude(0, kinds & ELEMENTS != 0);
        }
        let (upper, rest_of_upper) = two_sum(self.middle, self.low);
        let (total, rest) = two_sum(self.high, upper);
        if !total.is_finite() || !rest.is_finite() {
            // An intermediate sum has overflowed.
            return mark;
        }
        V::of_sum(total, to_odd(rest, rest_of_upper))
    }
}

/// The sum of two numbers, rounded to odd: if it is no `f64`, it is that of its two neighbours
/// whose last bit is 1.
#[inline(always)]
pub(super) fn to_odd(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    let bits = sum.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        return sum;
    }
    // The bits of a number's magnitude count upwards, so the next number away from 0 is 1 more.
    let is_away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if is_away { bits + 1 } else { bits - 1 })
}

impl Words for Expansion {
    const COUNT: usize = 7;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        (((self.high, self.middle), self.low), self.flags).word(i)
    }
    #[inline(always)]
    fn from_words(get: &impl Fn(usize) -> u32) -> Self {
        let (((high, middle), low), flags) = Words::from_words(get);
        Self { high, middle, low, flags }
    }
}
