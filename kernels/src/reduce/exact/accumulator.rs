//! A thread's part of the sum, in registers.

use super::cells::Cells;
use super::item::Item;
use cuda_std::ext::control;

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
    pub(super) fn try_add<T: Item>(&mut self, x: T) -> bool {
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

    /// Adds `high + low`, whatever they are.
    ///
    /// # Safety
    /// Those of [`Cells::add`].
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, high: f64, low: f64) {
        let (sum, error) = two_sum(self.high, high);
        let (rest, lost) = two_sum(self.low, error);
        let (rest, lost_too) = two_sum(rest, low);
        // NaN if one of the numbers is not finite, or the sum is not.
        let is_finite = lost_too - lost_too == 0.0;
        let (mut over, mut over_too) = (high, low);
        if is_finite {
            (self.high, self.low) = (sum, rest);
            (over, over_too) = (lost, lost_too);
        }
        while over != 0.0 || over_too != 0.0 {
            control::no_unroll();
            // SAFETY: the caller's word.
            unsafe { Cells::<LIMBS>::add(over) };
            (over, over_too) = (over_too, 0.0);
        }
    }

    /// Gives up the single `f64`, to begin a new one.
    ///
    /// # Safety
    /// Those of [`Cells::add`].
    #[inline(always)]
    pub(super) unsafe fn settle(&mut self) {
        let single = self.single;
        self.single = -0.0;
        // SAFETY: the caller's word.
        unsafe { self.add(single, 0.0) };
    }

    /// What other threads are to be given of a settled sum: its high and its low part.
    #[inline(always)]
    pub(super) fn parts(self) -> (f64, f64) {
        (self.high, self.low)
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
