//! The accumulators of a block made one.

use super::Reduction;
use super::unroll::each;
use super::words::{MOST, Words};
use core::mem::MaybeUninit;
use cuda_std::ext::control;
use cuda_std::{address_space, thread, warp};

/// Lanes of a warp, and warps of a block at most.
pub const WARP: u32 = 32;

/// For each word of an accumulator, one of each warp.
#[address_space(shared)]
// PTX contains the variable's name, and the committed PTX is to stay as it is, byte for byte, when
// this module moves.
#[unsafe(export_name = "_RNvNtNtC7kernels6reduce5block5WARPS")]
static mut WARPS: [MaybeUninit<u32>; MOST * WARP as usize] = [const { MaybeUninit::uninit() }; MOST * WARP as usize];

/// The accumulators of the first `lanes` lanes of a warp combined, 8 or 32; true in lane 0 only. `by_block` is for
/// [`Reduction::redux`].
///
/// # Safety
/// All 32 lanes call this together, with the same `lanes`; the others have the identity.
#[inline(always)]
unsafe fn warp_reduce<R: Reduction>(acc: R::Acc, lanes: u32, by_block: bool) -> R::Acc {
    // SAFETY: the caller brings the whole warp.
    if let Some(folded) = unsafe { R::redux(acc, by_block) } {
        return folded;
    }
    let mut folded = acc;
    let mut step = |distance| {
        // SAFETY: the caller brings the whole warp; what the upper lanes get back from beyond it, nobody reads.
        let shuffle = |word| unsafe { warp::warp_shuffle_down(u32::MAX, word, distance, WARP) }.0;
        let words = folded.to_words();
        folded = R::combine(folded, R::Acc::from_words(&|i| shuffle(words[i])));
    };
    if R::Acc::COUNT <= 2 {
        each(5, |i| {
            if 16 >> i < lanes {
                step(16 >> i);
            }
        });
    } else {
        // Written out, this would be most of the text.
        let mut distance = control::opaque(lanes / 2);
        while distance > 0 {
            control::no_unroll();
            step(distance);
            distance /= 2;
        }
    }
    folded
}

/// The accumulators of the block's first `warps` warps combined; true in thread 0 only. `by_block` is for [`Reduction::redux`].
///
/// # Safety
/// All threads of these warps call this together, with the same `warps`: all of the block's, or 1. Between two calls for more
/// than one warp there is a barrier.
#[inline(always)]
pub unsafe fn block_reduce<R: Reduction>(acc: R::Acc, warps: u32, by_block: bool) -> R::Acc {
    let tid = thread::thread_idx_x();
    let slots = (&raw mut WARPS).cast::<u32>();
    // SAFETY: each warp writes its own slots, the barrier parts writing from reading, and only slots of warps that are there
    // are read. The branches are taken by whole warps.
    unsafe {
        let folded = warp_reduce::<R>(acc, WARP, by_block);
        if warps == 1 {
            return folded;
        }
        if tid.is_multiple_of(WARP) {
            each(R::Acc::COUNT, |i| *slots.add(i * WARP as usize + (tid / WARP) as usize) = folded.word(i));
        }
        thread::sync_threads();

        if tid >= WARP {
            return folded;
        }
        let of_warp = if tid < warps {
            R::Acc::from_words(&|i| *slots.add(i * WARP as usize + tid as usize))
        } else {
            R::identity()
        };
        // Most blocks are small, and this is what the last of them is waited for.
        warp_reduce::<R>(of_warp, if warps > 8 { WARP } else { 8 }, by_block)
    }
}
