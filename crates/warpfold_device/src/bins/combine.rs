//! The second stage: the partial results of all chunks become one result for each bin.

use super::{Problem, reduce::write};
use crate::Reduction;
use crate::unroll::each;
use crate::words::{LONGEST, Words};
use cuda_std::ext::{control, grid, streaming};
use cuda_std::{shared, thread};

/// Neighbouring bins of a block. A warp reads as many neighbouring words.
pub const COLUMNS: u32 = 32;
/// Threads that share the chunks of a bin among them. Each takes neighbouring chunks.
pub const SLICES: u32 = 16;
/// The most partial results that a thread has under way.
const MOST_LOADS: usize = 8;

/// How many partial results a thread has under way. With more long ones, ptxas would spill
/// registers.
const fn loads<A: Words>() -> usize {
    if A::COUNT > 4 { MOST_LOADS / 2 } else { MOST_LOADS }
}

/// The most slices of a bin that are read at once, so that the combination of one does not wait for
/// the read of the next.
const MOST_READS: usize = 5;

/// How many slices are read at once. More long ones would take many registers.
const fn reads<A: Words>() -> usize {
    if A::COUNT > 4 { 3 } else { MOST_READS }
}

/// Combines the partial results, and clears them.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn combine<T, R: Reduction>(problem: &Problem<T, R::Raw>) {
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (slice, column) = (tid / COLUMNS, tid % COLUMNS);
    let bin = thread::block_idx_x() * COLUMNS + column;
    let is_bin = bin < problem.bins;
    let taken = problem.chunks.div_ceil(SLICES);
    let first = slice * taken;
    let end = if is_bin { (first + taken).min(problem.chunks) } else { 0 };
    let shared = shared::dynamic_shared_mem::<u32>();
    let place = |word: usize, slice: u32| {
        let row = word * SLICES as usize + slice as usize;
        shared.wrapping_add(row * COLUMNS as usize + column as usize)
    };
    // SAFETY: each thread has its own partial results, and its own place in shared memory, which
    // others read behind the barrier. The rest is the launch's contract.
    unsafe {
        grid::wait_for_dependencies();
        let mut words = R::identity().to_words();
        let mut chunk = first;
        while chunk < end {
            control::keep_rolled();
            let mut loaded = [[0; LONGEST]; MOST_LOADS];
            each(loads::<R::Acc>(), |i| {
                let chunk = chunk + i as u32;
                each(R::Acc::COUNT, |word| {
                    let source = problem.partial(word, chunk, bin);
                    loaded[i][word] = streaming::load_u32_if(source, chunk < end);
                });
            });
            each(loads::<R::Acc>(), |i| {
                let other = R::Acc::from_words(&|word| loaded[i][word]);
                let both = R::combine(R::Acc::from_words(&|word| words[word]), other);
                let is_there = chunk + (i as u32) < end;
                each(R::Acc::COUNT, |word| {
                    words[word] = if is_there { both.word(word) } else { words[word] };
                });
            });
            chunk += loads::<R::Acc>() as u32;
        }
        each(R::Acc::COUNT, |word| *place(word, slice) = words[word]);
        // The barrier also keeps the loads before the clears.
        thread::sync_threads();
        let mut chunk = first;
        while chunk < end {
            control::keep_rolled();
            each(R::Acc::COUNT, |word| *problem.partial(word, chunk, bin) = 0);
            chunk += 1;
        }
        if slice == 0 && is_bin {
            let mut acc = R::Acc::from_words(&|word| *place(word, 0));
            const { assert!((SLICES as usize - 1).is_multiple_of(reads::<R::Acc>())) };
            let mut slice = 1;
            while slice < SLICES {
                control::keep_rolled();
                let mut read = [[0; LONGEST]; MOST_READS];
                each(reads::<R::Acc>(), |i| {
                    each(R::Acc::COUNT, |word| read[i][word] = *place(word, slice + i as u32));
                });
                each(reads::<R::Acc>(), |i| {
                    acc = R::combine(acc, R::Acc::from_words(&|word| read[i][word]));
                });
                slice += reads::<R::Acc>() as u32;
            }
            write::<T, R>(problem, bin, acc);
        }
    }
}
