//! Combines the accumulators of a block into one.

use crate::Reduction;
use crate::unroll::{each, tree};
use crate::warp::{WARP, warp_reduce};
use crate::words::{MOST, Words};
use core::mem::MaybeUninit;
use cuda_std::ext::control;
use cuda_std::{address_space, thread};

/// The most threads of a block.
const MOST_THREADS: usize = 1024;

/// The most words of an accumulator for which all threads leave their accumulators in shared
/// memory.
const MOST_COLUMNS: usize = 2;

/// How many accumulators a lane reads in one access.
const GROUP: u32 = 4;

/// The number of threads whose accumulators a warp reads at once.
const EIGHT: u32 = 8 * WARP;

/// A word of the accumulators of four threads.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Four([u32; GROUP as usize]);

/// The accumulators of the threads. For each word of an accumulator there is one place for each
/// thread.
#[address_space(shared)]
static mut THREADS: [MaybeUninit<Four>; MOST_COLUMNS * MOST_THREADS / GROUP as usize] =
    [const { MaybeUninit::uninit() }; MOST_COLUMNS * MOST_THREADS / GROUP as usize];

/// The accumulators of the warps. For each word of an accumulator there is one place for each warp.
#[address_space(shared)]
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
    // SAFETY: the caller's contract is that of the functions below. After the columns only the
    // first warp shuffles, and all of its lanes do.
    unsafe {
        // The compiler knows which arm it is. If the device has an instruction that combines a
        // warp, this takes as long as a trip through shared memory, and long accumulators take long
        // trips.
        match R::redux(acc, by_block) {
            Some(folded) => warps_of::<R>(folded, warps, by_block),
            None if R::Acc::COUNT > MOST_COLUMNS => {
                warps_of::<R>(warp_reduce::<R>(acc, WARP, by_block), warps, by_block)
            }
            None => {
                let acc = if warps > 1 { columns::<R>(acc, warps) } else { acc };
                // The other warps have nothing left to combine.
                if warps > 1 && thread::thread_idx_x() >= WARP {
                    return acc;
                }
                warp_reduce::<R>(acc, WARP, by_block)
            }
        }
    }
}

/// Combines the accumulators of the warps. Each lane brings that of its warp.
///
/// # Safety
/// That of [`block_reduce`].
#[inline(always)]
unsafe fn warps_of<R: Reduction>(folded: R::Acc, warps: u32, by_block: bool) -> R::Acc {
    if warps == 1 {
        return folded;
    }
    let tid = thread::thread_idx_x();
    let slots = (&raw mut WARPS).cast::<u32>();
    // SAFETY: each warp writes places of its own, the barrier separates writing from reading, and
    // only places of warps that exist are read. All lanes of a warp take the same branches.
    unsafe {
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

/// Combines the warps lane by lane, which leaves one accumulator for each lane of the first warp.
/// The values that the other warps get mean nothing.
///
/// All threads leave their accumulators in shared memory, and the lanes of the first warp read
/// them. Only one warp shuffles after that, instead of all warps and then one (bench/NOTEBOOK.md,
/// attempt 45; H100, in place, 2^12 f32: 1.25 us to 1.12).
///
/// # Safety
/// That of [`block_reduce`], and there is more than one warp.
#[inline(always)]
unsafe fn columns<R: Reduction>(acc: R::Acc, warps: u32) -> R::Acc {
    let tid = thread::thread_idx_x();
    let columns = (&raw mut THREADS).cast::<u32>();
    let threads = warps * WARP;
    // SAFETY: each thread writes places of its own, the barrier separates writing from reading, and
    // only places of threads that exist are read. The number of threads is a multiple of four.
    unsafe {
        each(R::Acc::COUNT, |i| *columns.add(i * MOST_THREADS + tid as usize) = acc.word(i));
        thread::sync_threads();
        if tid >= WARP {
            return acc;
        }
        let mut at = columns.add((GROUP * tid) as usize).cast_const();
        let mut acc = eight_warps::<R>(at, 0, threads);
        // Most blocks have eight warps or fewer. All lanes go through the loop equally often.
        let mut before = EIGHT;
        while before < threads {
            control::no_unroll();
            at = at.add(EIGHT as usize);
            acc = R::combine(acc, eight_warps::<R>(at, before, threads));
            before += EIGHT;
        }
        acc
    }
}

/// This lane's share of the accumulators of eight warps, of which `before` is the first thread. The
/// lane's first four begin at `at`. Threads from `threads` on do not exist.
///
/// # Safety
/// All threads below `threads` have left their accumulators in shared memory.
#[inline(always)]
unsafe fn eight_warps<R: Reduction>(at: *const u32, before: u32, threads: u32) -> R::Acc {
    // SAFETY: the caller's contract is the callee's.
    unsafe {
        R::combine(
            four_threads::<R>(at, before, threads, 0),
            four_threads::<R>(at, before, threads, 1),
        )
    }
}

/// The accumulators of four threads, combined: of this lane's four in the first or second half of
/// eight warps.
///
/// # Safety
/// That of [`eight_warps`].
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "a lane's four begin at a multiple of four words")]
unsafe fn four_threads<R: Reduction>(
    at: *const u32,
    before: u32,
    threads: u32,
    half: u32,
) -> R::Acc {
    let none = R::identity().to_words();
    let is_there = before + GROUP * (WARP * half + thread::thread_idx_x()) < threads;
    let mut words = [Four([0; GROUP as usize]); MOST_COLUMNS];
    each(R::Acc::COUNT, |i| {
        let at = at.wrapping_add(i * MOST_THREADS + (GROUP * WARP * half) as usize);
        // Words are chosen here, and not accumulators below, because LLVM would keep those in local
        // memory.
        words[i] = if is_there {
            // SAFETY: the threads below `threads` have written these words.
            unsafe { at.cast::<Four>().read() }
        } else {
            Four([none[i]; GROUP as usize])
        };
    });
    tree(GROUP as usize, |k| R::Acc::from_words(&|i| words[i].0[k]), R::combine)
}
