//! The last six steps of a block, which one warp takes: Filipovič, "Implementace 5", but written
//! for today's hardware.
//!
//! The lectures' warps ran in lock step, so that
//! `sv[tid] += sv[tid + 32]; sv[tid] += sv[tid + 16]; …` was in order by itself. Since Volta each
//! lane has its own program counter, and only `__syncwarp` orders the lanes: once between reading
//! and writing, because another lane reads this lane's cell, and once before the next step. (CUDA
//! C++ Programming Guide, "Independent Thread Scheduling".)

use crate::element::Element;
use crate::op::Op;
use cuda_std::warp;

/// Reduces `sv[0..64]` to `sv[0]`. The condition `tid < s` is left out, as in the lecture: it would
/// save no time, and nobody reads the results of the upper lanes.
///
/// # Safety
/// The 32 lanes of one warp call this together, with `tid` 0 to 31; `sv` holds 64 elements.
#[inline(always)]
pub(super) unsafe fn last_warp<T: Element, O: Op<T>>(sv: *mut T, tid: u32) {
    // SAFETY: the caller brings the whole warp, and `tid + 32` is below 64.
    unsafe {
        step::<T, O, 32>(sv, tid);
        step::<T, O, 16>(sv, tid);
        step::<T, O, 8>(sv, tid);
        step::<T, O, 4>(sv, tid);
        step::<T, O, 2>(sv, tid);
        step::<T, O, 1>(sv, tid);
    }
}

/// `sv[tid] += sv[tid + S]`, for all lanes at once.
///
/// # Safety
/// As [`last_warp`].
#[inline(always)]
unsafe fn step<T: Element, O: Op<T>, const S: u32>(sv: *mut T, tid: u32) {
    // SAFETY: the caller keeps it in bounds. The first `sync_warp` puts all reads before all
    // writes, the second one this step before the next.
    unsafe {
        let both = O::combine(*sv.add(tid as usize), *sv.add((tid + S) as usize));
        warp::sync_warp(u32::MAX);
        *sv.add(tid as usize) = both;
        warp::sync_warp(u32::MAX);
    }
}
