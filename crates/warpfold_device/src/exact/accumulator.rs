//! A thread's part of the sum, in registers.

// Exact results are compared exactly, and without branches.
#![allow(clippy::float_cmp, clippy::needless_bitwise_bool)]

use super::cells::Cells;
use super::item::Float;

/// The sum of a thread's elements, except for the parts that went to the block's cells. It is
/// `single + high + low`, unevaluated.
#[derive(Clone, Copy)]
pub(super) struct Accumulator<const LIMBS: usize> {
    /// The sum of narrow elements, as long as one `f64` holds it exactly.
    single: f64,
    /// The rest of the sum, rounded.
    high: f64,
    /// The sum of the rounding errors of the additions to `high`.
    low: f64,
}

impl<const LIMBS: usize> Accumulator<LIMBS> {
    /// The sum of no elements. It is -0, because adding -0 changes no number, and a sum of -0s
    /// alone is -0.
    pub(super) const EMPTY: Self = Self { single: -0.0, high: -0.0, low: 0.0 };

    /// Adds a number and tells whether the sum is still exact. If it is not, the sum is lost.
    #[inline(always)]
    pub(super) fn try_add<T: Float>(&mut self, x: T) -> bool {
        let x = x.widen();
        if T::IS_NARROW {
            let is_exact;
            (self.single, is_exact) = try_sum(self.single, x);
            is_exact
        } else {
            let (high, error) = two_sum(self.high, x);
            let (low, lost) = two_sum(self.low, error);
            (self.high, self.low) = (high, low);
            lost == 0.0
        }
    }

    /// Adds a number, whatever it is.
    ///
    /// # Safety
    /// The cells are cleared. A barrier stands between clearing and adding, and between adding and
    /// reading.
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, x: f64) {
        let (high, error) = two_sum(self.high, x);
        let (low, lost) = two_sum(self.low, error);
        // `lost` is NaN if the number or the sum is not finite.
        let rest = if lost.is_finite() {
            (self.high, self.low) = (high, low);
            lost
        } else {
            x
        };
        if rest != 0.0 {
            // SAFETY: the caller vouches for the cells.
            unsafe { Cells::<LIMBS>::add(rest) };
        }
    }

    /// Takes the number out of the single `f64`, so that the caller can add it again. The number is
    /// -0 if there is none.
    #[inline(always)]
    pub(super) fn take_single(&mut self) -> f64 {
        core::mem::replace(&mut self.single, -0.0)
    }

    /// The high and the low part of the sum. The single `f64` must have been taken out.
    #[inline(always)]
    pub(super) fn parts(self) -> [f64; 2] {
        [self.high, self.low]
    }
}

/// The rounded sum of two numbers, and whether it is exact. It is not if a number is not finite.
///
/// Subtracting the larger of two numbers from their rounded sum is exact (T. J. Dekker 1971), and
/// gives the smaller one unless the sum was rounded. Both numbers are tried, because it is not
/// known which one is larger.
#[inline(always)]
pub(super) fn try_sum(a: f64, b: f64) -> (f64, bool) {
    let sum = a + b;
    (sum, (sum - a == b) & (sum - b == a))
}

/// The rounded sum of two numbers, and the rounding error, which is NaN if the sum is not finite.
///
/// D. E. Knuth, *The Art of Computer Programming*, vol. 2, 4.2.2, theorem B.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_as_added = sum - a;
    let a_as_added = sum - b_as_added;
    (sum, (a - a_as_added) + (b - b_as_added))
}
