//! Rung 11: `redux.sync`, a warp's reduction in one instruction (sm_80).
//!
//! PTX ISA, "redux.sync"; CUDA C++ Programming Guide, "Warp Reduce Functions". From Ampere on the
//! hardware combines the 32-bit integers of a warp: one instruction does what takes rung 8 five
//! shuffles and five additions. There are such instructions for the sum, the minimum and the
//! maximum, but none for products, for 64 bits or for floats.
//!
//! What it teaches: the last steps of a block are so short that they cost nothing. All the time is
//! in the loads, which are those of rung 9.

use super::block::WARP;
use super::reduce9::thread_reduce;
use crate::element::Element;
use crate::op::{Max, Min, Op, Sum};
use cuda_std::ext::redux;
use cuda_std::{shared, thread};

/// An operation for which there is a `redux.sync`.
pub trait Redux<T: Element>: Op<T> {
    /// Combines the values of the whole warp and gives the result to every lane.
    ///
    /// # Safety
    /// All 32 lanes call this together.
    unsafe fn redux(value: T) -> T;
}

macro_rules! redux_ops {
    ($($op:ident, $t:ty, $function:ident;)*) => {$(
        impl Redux<$t> for $op {
            #[inline(always)]
            unsafe fn redux(value: $t) -> $t {
                // SAFETY: the caller brings the whole warp.
                unsafe { redux::$function(u32::MAX, value) }
            }
        }
    )*};
}

redux_ops! {
    Sum, i32, add_i32;
    Min, i32, min_i32;
    Max, i32, max_i32;
    Sum, u32, add_u32;
    Min, u32, min_u32;
    Max, u32, max_u32;
}

/// One partial result for each block, whatever the grid and the alignment of the input.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)).
#[inline(always)]
pub unsafe fn reduce11<T: Element, O: Redux<T>>(input: *const T, output: *mut T, n: usize) {
    let slots = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();

    // SAFETY: as in rung 8: a slot for each warp, a barrier between writing and reading, and
    // branches of whole warps.
    unsafe {
        let sum = O::redux(thread_reduce::<T, O>(input, n));
        if tid.is_multiple_of(WARP) {
            *slots.add((tid / WARP) as usize) = sum;
        }
        thread::sync_threads();

        if tid < WARP {
            let slot = if tid < thread::block_dim_x() / WARP {
                *slots.add(tid as usize)
            } else {
                O::IDENTITY
            };
            let sum = O::redux(slot);
            if tid == 0 {
                *output.add(thread::block_idx_x() as usize) = sum;
            }
        }
    }
}
