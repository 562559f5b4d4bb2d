//! Rungs `atomic` and `atomic-warp`: one atomic operation for each block, or for each warp, instead
//! of a second pass.
//!
//! J. Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA, 2014), "Atomic Power". `output[0]`
//! holds the identity before the launch, and each block (or warp) combines its value with it, in
//! any order. That changes no integer, but a sum of floats may have other bits each time. There are
//! atomics for sums of every type, for minima and maxima of integers, and none for products.
//!
//! What it teaches: the atomic units of memory can do the combining, but then the order of the
//! values is not fixed. If the work of a whole block comes before each atomic operation, the time
//! of the operation is hidden.

use super::block::{WARP, block_reduce, warp_reduce};
use super::reduce9::thread_reduce;
use crate::element::Element;
use crate::op::{Max, Min, Op, Sum};
use cuda_std::ext::atomic;
use cuda_std::{shared, thread};

/// An operation that global memory does atomically.
pub trait Atomic<T: Element>: Op<T> {
    /// Combines the value at `target` with `value`.
    ///
    /// # Safety
    /// `target` is in global memory, aligned and initialised, and only atomics use it during the
    /// launch.
    unsafe fn combine_at(target: *mut T, value: T);
}

macro_rules! atomic_ops {
    ($($op:ident = $function:ident: $($t:ty)*;)*) => {$($(
        impl Atomic<$t> for $op {
            #[inline(always)]
            unsafe fn combine_at(target: *mut $t, value: $t) {
                // SAFETY: the caller vouches for `target`.
                unsafe { atomic::$function(target, value) };
            }
        }
    )*)*};
}

atomic_ops! {
    Sum = add: i32 u32 i64 u64 f32 f64;
    Min = min: i32 u32 i64 u64;
    Max = max: i32 u32 i64 u64;
}

/// Combines `output[0]` with the values of all blocks, each by one atomic operation.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)); `output[0]` is the identity.
#[inline(always)]
pub unsafe fn atomic_block<T: Element, O: Atomic<T>>(input: *const T, output: *mut T, n: usize) {
    // SAFETY: the caller's contract; the block reduces together, in shared memory that is not used
    // before.
    unsafe {
        let sum = thread_reduce::<T, O>(input, n);
        let sum = block_reduce::<T, O>(shared::dynamic_shared_mem(), sum);
        if thread::thread_idx_x() == 0 {
            O::combine_at(output, sum);
        }
    }
}

/// Combines `output[0]` with the values of all warps, each by one atomic operation. It needs
/// neither shared memory nor barriers.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)); `output[0]` is the identity.
#[inline(always)]
pub unsafe fn atomic_warp<T: Element, O: Atomic<T>>(input: *const T, output: *mut T, n: usize) {
    // SAFETY: the caller's contract; the lanes of a warp reduce together.
    unsafe {
        let sum = warp_reduce::<T, O>(thread_reduce::<T, O>(input, n));
        if thread::thread_idx_x().is_multiple_of(WARP) {
            O::combine_at(output, sum);
        }
    }
}
