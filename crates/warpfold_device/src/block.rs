//! Combines the accumulators of a block into one.

use crate::Reduction;
use crate::unroll::each;
use crate::warp::{WARP, warp_reduce};
use crate::words::{MOST, Words};
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

/// The accumulators of the warps. For each word of an accumulator there is one place for each warp.
#[address_space(shared)]
// PTX contains the variable's name, and the committed PTX is to stay as it is, byte for byte, when
// this module moves.
#[unsafe(export_name = "_RNvNtNtC7kernels6reduce5block5WARPS")]
static mut WARPS: [MaybeUninit<u32>; MOST * WARP as usize] =
    [const { MaybeUninit::uninit() }; MOST * WARP as usize];

/// Combines the accumulators of the block's first `warps` warps. Only thread 0 gets the result; the
/// values that other threads get mean nothing. `by_block` is passed on to [`Reduction::redux`].
///
/// # Safety
/// All threads of these warps call this together, with the same `warps`, which is 1 or the number
/// of all warps of the block. A barrier stands between two calls for more than one warp, because
/// both use the same shared memory.
#[inline(always)]
pub unsafe fn block_reduce<R: Reduction>(acc: R::Acc, warps: u32, by_block: bool) -> R::Acc {
    let tid = thread::thread_idx_x();
    let slots = (&raw mut WARPS).cast::<u32>();
    // SAFETY: each warp writes places of its own, the barrier separates writing from reading, and
    // only places of warps that exist are read. All lanes of a warp take the same branches.
    unsafe {
        let folded = warp_reduce::<R>(acc, WARP, by_block);
        if warps == 1 {
            return folded;
        }
        if tid.is_multiple_of(WARP) {
            each(R::Acc::COUNT, |i| {
                *slots.add(i * WARP as usize + (tid / WARP) as usize) = folded.word(i);
            });
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
        // Most blocks have 8 warps or fewer. Three shuffles are then enough instead of five, which
        // matters because the whole grid waits for the last block (bench/NOTEBOOK.md, attempt 16;
        // H100, f32 sum of 2^16: 2.22 us to 2.10, together with one warp that polls).
        warp_reduce::<R>(of_warp, if warps > 8 { WARP } else { 8 }, by_block)
    }
}
