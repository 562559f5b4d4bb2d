//! The skeletons of kernels that find where segments begin, for [`segments`](mod@crate::segments)
//! to reduce them. They do not depend on the operation.
//!
//! *Heads.* A kernel of [`runs!`](crate::runs!) reads keys, and writes where each run of equal
//! neighbours begins, the key of each run, and the number of runs. Or it reads flags, of which each
//! one that is not 0 begins a segment ([`heads()`]).
//!
//! *Lengths.* A kernel of [`lengths!`](crate::lengths!) reads the lengths of segments, and writes
//! where each segment begins ([`lengths()`]). A kernel of [`spans!`](crate::spans!) does so for
//! spans, which lie anywhere, as if they lay one behind the other ([`spans()`]).
//!
//! *One pass.* A block takes a tile of neighbouring elements, the lower block the lower tile. What
//! comes before a tile is only a number: of heads, or of elements. Blocks pass it on by tagged
//! words in memory (`lookback.rs`). A block that waits for lower ones asks for nothing, so a large
//! array has large tiles: then a block reads for much longer than it waits. A small array has
//! small tiles, so that many multiprocessors read it. A thread needs one bit for each of its keys.
//! The heads that a warp finds first are listed in shared memory, with their keys, and where there
//! are more, the warp reads their keys again. The results are written in order, by neighbouring
//! lanes to neighbouring places.
//!
//! # The launch's contract
//!
//! - The block has [`THREADS`] threads, and the grid has a block for each tile, and at least one. A
//!   tile has `rows` keys or flags for each thread, and `rows` is 1 to [`MOST_ROWS`]. Or it has
//!   [`LENGTHS`] lengths or spans for each thread.
//! - The status of spans is 0 before.
//! - `words` has one 64-bit word more than the grid has blocks. All are 0 before the launch, and 0
//!   again after it. Launches that may overlap do not share words.
//! - `offsets` has a place more than there are elements, each of 4 bytes if `log` is 2, and of 8
//!   bytes if `log` is 3.
//! - The output of keys has a place for each key, and `runs` has one place.
//! - The blocks start in the order of their numbers, or at least two of them are resident at a
//!   time, because each block waits for lower ones.
//! - The numbers that are passed on are at most [`MOST`].

pub mod heads;
mod lengths;
mod lookback;

pub use heads::{Bits, MOST_ROWS, heads};
pub use lengths::{Ends, IS_WRONG, LENGTHS, Lengths, Offsets, lengths, spans};
pub use lookback::MOST;

use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// The number of each warp, and the number before the tile.
#[address_space(shared)]
static mut NUMBERS: [MaybeUninit<u64>; WARPS + 1] = [const { MaybeUninit::uninit() }; WARPS + 1];

/// Where a warp stands in the sum over all warps of the grid.
#[derive(Clone, Copy)]
struct Place {
    /// The sum of the numbers of all warps before.
    before: u64,
    /// The sum of the numbers of all warps up to the end of the tile.
    end: u64,
}

/// The place of this warp, whose number is `own`. No sum exceeds `most`: a greater one becomes
/// `most`. Up to 32 times `AT_ONCE` blocks ask for all lower numbers at once.
///
/// # Safety
/// All threads of the grid call this, once, and those of a warp bring the same number. The launch
/// keeps [its contract](self#the-launchs-contract).
#[inline(always)]
unsafe fn place<const AT_ONCE: usize>(own: u64, most: u64, words: *mut u64) -> Place {
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let numbers = (&raw mut NUMBERS).cast::<u64>();
    // SAFETY: each warp writes a place of its own, and the barriers separate writing from reading.
    // All branches around collective calls are the same in all lanes of a warp.
    unsafe {
        if lane == 0 {
            *numbers.add(warp_of_block as usize) = own;
        }
        thread::sync_threads();
        let (mut before, mut all) = (0, 0);
        crate::unroll::each(WARPS, |i| {
            let number = *numbers.add(i);
            before += if (i as u32) < warp_of_block { number } else { 0 };
            all += number;
        });
        if warp_of_block == 0 {
            let before_tile = lookback::before::<AT_ONCE>(all.min(most), most, words, lane);
            if lane == 0 {
                *numbers.add(WARPS) = before_tile;
            }
        }
        thread::sync_threads();
        if warp_of_block == 0 {
            lookback::leave(words, lane);
        }
        let before_tile = *numbers.add(WARPS);
        Place { before: before_tile + before, end: before_tile + all }
    }
}

/// Writes offset number `i`, in 2 to the power of `log` bytes.
///
/// # Safety
/// There is a place for it.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "the places of offsets are as large as offsets")]
pub(crate) unsafe fn write_offset(offsets: *mut u32, log: u32, i: u64, offset: u64) {
    // SAFETY: the caller's contract.
    unsafe {
        if log == 2 {
            offsets.add(i as usize).write(offset as u32);
        } else {
            offsets.cast::<u64>().add(i as usize).write(offset);
        }
    }
}
