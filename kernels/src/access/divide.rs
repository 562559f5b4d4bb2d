//! Integer division.
//!
//! Filipovič, "Rychlost provádění instrukcí": integer division and modulo are slow on a GPU, which
//! has no instruction for them. If the divisor is a power of two, a shift or a mask does the same.
//!
//! What it teaches: PTX has `div` and `rem`, but the hardware runs some twenty instructions for
//! each division of 32 bits, and a subroutine for each of 64 bits. The divisor comes with the
//! launch, so that the compiler cannot know that it is a power of two.

use super::thread_index;

/// An unsigned integer to divide.
pub trait Dividend: Copy {
    /// A number made of the thread's index.
    fn start(index: usize) -> Self;
    /// The next number of a sequence that no compiler sees through: x -> a x + c, modulo 2^bits.
    #[must_use]
    fn next(self) -> Self;
    /// `self + other`, wrapping.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

/// An operation on each number and the operand of the launch.
pub trait Operation<T> {
    /// The result for one number.
    fn apply(x: T, operand: T) -> T;
}

/// `x / operand`.
pub struct Quotient;
/// `x % operand`.
pub struct Remainder;
/// `x >> operand`.
pub struct Shift;
/// `x & operand`.
pub struct Mask;

macro_rules! dividends {
    ($($t:ty, $a:literal, $c:literal;)*) => {$(
        impl Dividend for $t {
            #[inline(always)]
            fn start(index: usize) -> Self {
                index as $t
            }
            #[inline(always)]
            fn next(self) -> Self {
                self.wrapping_mul($a).wrapping_add($c)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }

        impl Operation<$t> for Quotient {
            #[inline(always)]
            fn apply(x: $t, operand: $t) -> $t {
                // SAFETY: the launch's contract says that the operand is not 0; `/` would test
                // that, and trap.
                unsafe { x.checked_div(operand).unwrap_unchecked() }
            }
        }

        impl Operation<$t> for Remainder {
            #[inline(always)]
            fn apply(x: $t, operand: $t) -> $t {
                // SAFETY: as above.
                unsafe { x.checked_rem(operand).unwrap_unchecked() }
            }
        }

        impl Operation<$t> for Shift {
            #[inline(always)]
            fn apply(x: $t, operand: $t) -> $t {
                x.wrapping_shr(operand as u32)
            }
        }

        impl Operation<$t> for Mask {
            #[inline(always)]
            fn apply(x: $t, operand: $t) -> $t {
                x & operand
            }
        }
    )*};
}

// The multipliers and increments of "Numerical Recipes" (32 bits) and of Knuth's MMIX (64 bits).
dividends! {
    u32, 1_664_525, 1_013_904_223;
    u64, 6_364_136_223_846_793_005, 1_442_695_040_888_963_407;
}

/// Each thread sums the results of `rounds` operations on a sequence of its own, and leaves the sum
/// in `output[thread]`.
///
/// # Safety
/// The launch's contract (see [`access`](super)); `output` holds an element for each thread; a
/// divisor is not 0.
#[inline(always)]
pub unsafe fn divide<T: Dividend, O: Operation<T>>(output: *mut T, operand: T, rounds: u32) {
    let mut x = T::start(thread_index());
    let mut sum = T::start(0);
    let mut round = 0;
    while round < rounds {
        x = x.next();
        sum = sum.plus(O::apply(x, operand));
        round += 1;
    }
    // SAFETY: a thread writes its own element.
    unsafe { *output.add(thread_index()) = sum };
}
