//! Fast and precise functions.
//!
//! Filipovič, "Rychlost provádění instrukcí": some instructions are faster than those of a
//! processor, because special function units compute less precise versions of sine, exponential and
//! others.
//!
//! What it teaches: the fast sine is one instruction, or a few with the reduction of its argument;
//! a precise sine is dozens. The fast functions lose the last bits, and more bits if the argument
//! or the result is large.

use super::precise;
use super::thread_index;
use cuda_std::ext::math::{ex2_approx, sin_approx};

/// A function of one `f32`.
pub trait Function {
    /// The function's value.
    fn of(x: f32) -> f32;
}

/// Sine by `sin.approx`.
pub struct FastSin;
/// [`precise::sin`].
pub struct PreciseSin;
/// The exponential by `ex2.approx`: 2 to the power of x log2(e).
pub struct FastExp;
/// [`precise::exp`].
pub struct PreciseExp;

impl Function for FastSin {
    #[inline(always)]
    fn of(x: f32) -> f32 {
        sin_approx(x)
    }
}

impl Function for PreciseSin {
    #[inline(always)]
    fn of(x: f32) -> f32 {
        precise::sin(x)
    }
}

impl Function for FastExp {
    #[inline(always)]
    fn of(x: f32) -> f32 {
        ex2_approx(x * core::f32::consts::LOG2_E)
    }
}

impl Function for PreciseExp {
    #[inline(always)]
    fn of(x: f32) -> f32 {
        precise::exp(x)
    }
}

/// `output[thread] = F(input[thread])`, computed `rounds` times, for `n` threads. All other threads
/// do nothing.
///
/// Each round waits for the one before, because its argument is the previous argument plus the
/// previous value times `zero`. `zero` holds the bits of 0.0, but the compiler cannot know that.
///
/// # Safety
/// The launch's contract (see [`access`](super)); both arrays hold `n` numbers; `rounds` is at
/// least 1.
#[inline(always)]
pub unsafe fn math<F: Function>(
    input: *const f32,
    output: *mut f32,
    n: usize,
    rounds: u32,
    zero: u32,
) {
    let i = thread_index();
    if i >= n {
        return;
    }
    let zero = f32::from_bits(zero);
    // SAFETY: `i` is below `n`.
    unsafe {
        let mut x = *input.add(i);
        let mut value = 0.0;
        let mut round = 0;
        while round < rounds {
            value = F::of(x);
            x += value * zero;
            round += 1;
        }
        *output.add(i) = value;
    }
}
