//! Rung 6: completely unrolled.
//!
//! Filipovič, "Implementace 6". The block size is known when the kernel is compiled, and so are the
//! loop's bounds. The loop becomes a straight line, and the compiler decides each `if B >= ...`.
//!
//! What it teaches: const generics do what the lecture's C++ template does,
//! `reduce6<block><<<grid, block, mem>>>`.

use super::{element_or_identity, last_warp::last_warp};
use crate::element::Element;
use crate::op::Op;
use cuda_std::{shared, thread};

/// One partial result for each block of two elements per thread.
///
/// # Safety
/// The launch's contract (see [`ladder`](super)), with `B` threads in a block: 64, 128, 256, 512 or
/// 1024.
#[inline(always)]
pub unsafe fn reduce6<T: Element, O: Op<T>, const B: usize>(
    input: *const T,
    output: *mut T,
    n: usize,
) {
    let sv = shared::dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * (B * 2) + tid as usize;

    // SAFETY: as in rung 5.
    unsafe {
        *sv.add(tid as usize) = O::combine(
            element_or_identity::<T, O>(input, i, n),
            element_or_identity::<T, O>(input, i + B, n),
        );
        thread::sync_threads();

        unrolled::<T, O, B>(sv, tid);

        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = *sv;
        }
    }
}

/// Reduces `sv[0..B]` to `sv[0]`, without a loop.
///
/// # Safety
/// All `B` threads of the block call this together, after a barrier; `sv` holds `B` elements.
#[inline(always)]
pub(super) unsafe fn unrolled<T: Element, O: Op<T>, const B: usize>(sv: *mut T, tid: u32) {
    // SAFETY: as in rung 5: each step reads `sv[tid + S]` for `tid < S`, within the block.
    unsafe {
        if B >= 1024 {
            step::<T, O, 512>(sv, tid);
        }
        if B >= 512 {
            step::<T, O, 256>(sv, tid);
        }
        if B >= 256 {
            step::<T, O, 128>(sv, tid);
        }
        if B >= 128 {
            step::<T, O, 64>(sv, tid);
        }
        if tid < 32 {
            last_warp::<T, O>(sv, tid);
        }
    }
}

/// `if tid < S { sv[tid] += sv[tid + S] }`, then the barrier.
///
/// # Safety
/// As [`unrolled`], with `2 * S` at most the block size.
#[inline(always)]
unsafe fn step<T: Element, O: Op<T>, const S: u32>(sv: *mut T, tid: u32) {
    if tid < S {
        // SAFETY: `tid + S` is below `2 * S`; cells below `S` are written by their own thread only.
        unsafe {
            *sv.add(tid as usize) = O::combine(*sv.add(tid as usize), *sv.add((tid + S) as usize));
        };
    }
    thread::sync_threads();
}
