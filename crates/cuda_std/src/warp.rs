//! Functions that the lanes of a warp execute together.
//!
//! Nearly every function here is a *collective*: the lanes named in `mask` wait for each other at
//! the call. All of them have the same contract, which is called "the mask's contract" below: the
//! calling lane is in `mask`, and every lane in `mask` that has not exited calls the same function
//! with the same mask. (PTX ISA, `shfl.sync`, `vote.sync`, `bar.warp.sync`.)

use crate::gpu_only;

mod shuffle;

pub use shuffle::{
    WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};

/// The lane of the calling thread in its warp, 0 to 31: PTX `%laneid`.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        fn read() -> u32;
    }
    // SAFETY: reading a special register has no precondition.
    unsafe { read() }
}

/// The lanes that execute this same instruction together, one bit each: PTX `activemask`.
///
/// It tells which lanes happen to run together, and not which lanes the program wants to run
/// together. If lanes may have diverged, never use it as the mask of a collective.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.activemask"]
        fn read() -> u32;
    }
    // SAFETY: no precondition.
    unsafe { read() }
}

/// Waits for the lanes in `mask`, and makes their earlier writes to memory visible to each other:
/// CUDA's `__syncwarp`, PTX `bar.warp.sync`.
///
/// # Safety
/// The mask's contract (see the module).
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn sync(mask: u32);
    }
    // SAFETY: the caller keeps the mask's contract.
    unsafe { sync(mask) }
}

/// Declares votes. Each lane gives one bit, and all lanes get the same answer.
macro_rules! votes {
    ($($(#[$doc:meta])* $name:ident -> $answer:ty = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The mask's contract (see the module).
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name(mask: u32, predicate: bool) -> $answer {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn vote(mask: u32, predicate: bool) -> $answer;
            }
            // SAFETY: the caller keeps the mask's contract.
            unsafe { vote(mask, predicate) }
        }
    )*};
}

votes! {
    /// Whether `predicate` is true in all lanes of `mask`: PTX `vote.sync.all`.
    warp_vote_all -> bool = "llvm.nvvm.vote.all.sync";
    /// Whether `predicate` is true in any lane of `mask`: PTX `vote.sync.any`.
    warp_vote_any -> bool = "llvm.nvvm.vote.any.sync";
    /// The lanes of `mask` in which `predicate` is true, one bit each: PTX `vote.sync.ballot`.
    warp_vote_ballot -> u32 = "llvm.nvvm.vote.ballot.sync";
}
