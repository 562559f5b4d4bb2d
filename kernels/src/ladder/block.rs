//! Combines a block's values by warp shuffles, as rungs 8 to 10, 12 to 14 and the atomic ones do.
//!
//! A lane reads another lane's register with `shfl.sync`, so a warp needs neither shared memory nor
//! a barrier for its five steps. So shared memory needs only one slot for each warp, and the block
//! only one barrier. (CUDA C++ Programming Guide, "Warp Shuffle Functions"; J. Luitjens, "Faster
//! Parallel Reductions on Kepler", NVIDIA 2014.)

use crate::element::Element;
use crate::op::Op;
use cuda_std::{thread, warp};

/// The number of lanes in a warp.
pub(crate) const WARP: u32 = 32;

/// Combines the warp's values. Only lane 0 gets the result.
///
/// # Safety
/// All 32 lanes call this together.
#[inline(always)]
pub(crate) unsafe fn warp_reduce<T: Element, O: Op<T>>(value: T) -> T {
    let mut folded = value;
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: the caller brings the whole warp, and nobody reads the results of its upper
        // lanes.
        folded =
            O::combine(folded, unsafe { warp::warp_shuffle_down(u32::MAX, folded, delta, WARP) }.0);
        delta /= 2;
    }
    folded
}

/// Combines the block's values. Only thread 0 gets the result.
///
/// # Safety
/// All threads of a one-dimensional block of whole warps call this together; `slots` is shared
/// memory for one element of each warp, which no thread uses any more.
#[inline(always)]
pub(crate) unsafe fn block_reduce<T: Element, O: Op<T>>(slots: *mut T, value: T) -> T {
    let tid = thread::thread_idx_x();
    // SAFETY: each warp writes its own slot, the barrier separates writing from reading, and only
    // slots of warps that exist are read. All lanes of a warp take the same branches.
    unsafe {
        let folded = warp_reduce::<T, O>(value);
        if tid.is_multiple_of(WARP) {
            *slots.add((tid / WARP) as usize) = folded;
        }
        thread::sync_threads();

        if tid >= WARP {
            return folded;
        }
        let slot =
            if tid < thread::block_dim_x() / WARP { *slots.add(tid as usize) } else { O::IDENTITY };
        warp_reduce::<T, O>(slot)
    }
}
