//! A thread's part of the sum, in registers.

// What is exact is compared exactly, and without branches.
#![allow(clippy::float_cmp, clippy::needless_bitwise_bool)]

use super::cells::Cells;
use super::item::Float;

/// The sum of a thread's elements but for what went to the block's cells: `single + high + low`, unevaluated.
#[derive(Clone, Copy)]
pub(super) struct Accumulator<const LIMBS: usize> {
    /// Of narrow types, while an `f64` holds the sum.
    single: f64,
    /// The rest, rounded.
    high: f64,
    /// What additions to `high` lost.
    low: f64,
}

impl<const LIMBS: usize> Accumulator<LIMBS> {
    /// The sum of nothing: adding -0 changes nothing, and only of -0s the sum is -0.
    pub(super) const EMPTY: Self = Self { single: -0.0, high: -0.0, low: 0.0 };

    /// Adds a number and tells whether the sum is still exact. If not, it is lost.
    #[inline(always)]
    pub(super) fn try_add<T: Float>(&mut self, x: T) -> bool {
        let x = x.widen();
        if T::IS_NARROW {
            // Taking the larger of two numbers from their rounded sum is exact (T. J. Dekker 1971): it gives the other one,
            // unless the sum is rounded. It is not known which is larger. What is not finite fails too.
            let sum = self.single + x;
            let is_exact = (sum - self.single == x) & (sum - x == self.single);
            self.single = sum;
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
    /// Those of [`Cells::add`].
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, x: f64) {
        let (high, error) = two_sum(self.high, x);
        let (low, lost) = two_sum(self.low, error);
        // It is NaN if the number is not finite, or the sum is not.
        let rest = if lost.is_finite() {
            (self.high, self.low) = (high, low);
            lost
        } else {
            x
        };
        if rest != 0.0 {
            // SAFETY: the caller's word.
            unsafe { Cells::<LIMBS>::add(rest) };
        }
    }

    /// Takes out what a narrow type's single `f64` holds, to be added again: -0 if that is nothing.
    #[inline(always)]
    pub(super) fn take_single(&mut self) -> f64 {
        core::mem::replace(&mut self.single, -0.0)
    }

    /// The high part of the sum, and the low one. The single `f64` was taken out.
    #[inline(always)]
    pub(super) fn parts(self) -> [f64; 2] {
        [self.high, self.low]
    }
}

/// The rounded sum of two numbers, and what rounding lost; if the sum is not finite, that is NaN.
///
/// D. E. Knuth, *The Art of Computer Programming*, vol. 2, 4.2.2, theorem B.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_as_added = sum - a;
    let a_as_added = sum - b_as_added;
    (sum, (a - a_as_added) + (b - b_as_added))
}
