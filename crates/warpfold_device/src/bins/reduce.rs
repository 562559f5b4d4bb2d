//! The first stage: each block reduces a chunk of the input into bins of its own.

use super::{Problem, group, keys, report};
use crate::item::Item;
use crate::source::One;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::{LONGEST, Words};
use crate::{Position, Reduction};
use cuda_std::ext::{control, grid};
use cuda_std::{shared, thread, warp};

/// How many keys, and how many values, a thread has under way while it works on as many others, at
/// most.
pub const LOADS: usize = 4;

/// The bins of one warp, in shared memory: for each word of an accumulator a row of all bins.
#[derive(Clone, Copy)]
struct Bins {
    words: *mut u32,
    range: u32,
}

impl Bins {
    /// The bins of warp number `warp` of the block.
    #[inline(always)]
    fn of<R: Reduction>(warp: u32, range: u32) -> Self {
        let all = shared::dynamic_shared_mem::<u32>();
        let words = all.wrapping_add(warp as usize * R::Acc::COUNT * range as usize);
        Self { words, range }
    }

    /// The accumulator of a bin.
    ///
    /// # Safety
    /// There is such a bin, and it was written.
    #[inline(always)]
    unsafe fn read<R: Reduction>(self, bin: u32) -> R::Acc {
        // SAFETY: the caller's contract.
        R::Acc::from_words(&|i| unsafe { *self.words.add(i * self.range as usize + bin as usize) })
    }

    /// Writes the accumulator of a bin.
    ///
    /// # Safety
    /// There is such a bin.
    #[inline(always)]
    unsafe fn write<R: Reduction>(self, bin: u32, acc: R::Acc) {
        each(R::Acc::COUNT, |i| {
            // SAFETY: the caller's contract.
            unsafe { *self.words.add(i * self.range as usize + bin as usize) = acc.word(i) };
        });
    }
}

/// Reduces a chunk of the input into a range of bins.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn reduce<T: Item, R: Reduction<Source = One<T>>>(problem: &Problem<T, R::Raw>) {
    // SAFETY: the caller's contract is the callee's.
    unsafe {
        // With more long ones, ptxas would spill registers for sm_120. The order is the same.
        if R::Acc::COUNT > 4 && size_of::<T>() > 4 {
            reduce_by::<T, R, { LOADS / 2 }>(problem);
        } else {
            reduce_by::<T, R, LOADS>(problem);
        }
    }
}

/// As [`reduce()`], with so many loads of each array.
///
/// # Safety
/// That of [`reduce()`].
#[inline(always)]
unsafe fn reduce_by<T: Item, R: Reduction<Source = One<T>>, const N: usize>(
    problem: &Problem<T, R::Raw>,
) {
    grid::launch_dependents();
    let Problem { keys, log, values, n, share, bins, range, chunks, status, .. } = *problem;
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let (threads, chunk) = (thread::block_dim_x(), thread::block_idx_x());
    let first_bin = thread::block_idx_y() * range;
    let count = (bins - first_bin).min(range);
    let own = Bins::of::<R>(warp_of_block, range);
    // Elements of a warp's tile.
    let tile = N as u64 * u64::from(WARP);
    // SAFETY: each warp has its own bins, and a barrier lies before they are read by all. All
    // branches around collective calls are the same in all lanes of a warp. The rest is the
    // launch's contract.
    unsafe {
        let mut bin = lane;
        while bin < count {
            control::keep_rolled();
            own.write::<R>(bin, R::identity());
            bin += WARP;
        }
        warp::sync_warp(u32::MAX);
        grid::wait_for_dependencies();

        let number = u64::from(chunk) * u64::from(threads / WARP) + u64::from(warp_of_block);
        let mut begin = (number * share).min(n);
        let end = (begin + share).min(n);
        let index = |begin: u64, i: usize| begin + u64::from(i as u32 * WARP + lane);
        let load = |begin: u64| {
            let at = |i: usize| index(begin, i);
            let numbers = keys::load::<N>(keys, log, at, end);
            let mut items = [T::element([0; 4], 0); N];
            each(N, |i| {
                items[i] = T::load_if(values.wrapping_add(at(i) as usize), at(i) < end);
            });
            (numbers, items)
        };
        let (mut numbers, mut items) = load(begin);
        while begin < end {
            control::keep_rolled();
            let ahead = load(begin + tile);
            let mut own_bins = [u32::MAX; N];
            let mut words = [[0; LONGEST]; N];
            let mut wrong = u64::MAX;
            each(N, |i| {
                let at = index(begin, i);
                let bin = numbers[i].wrapping_sub(first_bin);
                own_bins[i] = if at < end && bin < count { bin } else { u32::MAX };
                wrong = if at < end && numbers[i] >= bins { wrong.min(at) } else { wrong };
                let position = Position { block: (at >> 32) as u32, number: at as u32 };
                words[i] = R::item(items[i], position).to_words();
            });
            if wrong != u64::MAX {
                report(status, wrong);
            }
            let has_result = group::combine::<R, N>(&own_bins, &mut words, lane);
            each(N, |i| {
                if has_result[i] {
                    let acc = R::Acc::from_words(&|word| words[i][word]);
                    let before = own.read::<R>(own_bins[i]);
                    own.write::<R>(own_bins[i], R::combine(before, acc));
                }
                warp::sync_warp(u32::MAX);
            });
            (numbers, items) = ahead;
            begin += tile;
        }

        thread::sync_threads();
        let mut bin = tid;
        while bin < count {
            control::keep_rolled();
            let mut acc = Bins::of::<R>(0, range).read::<R>(bin);
            let mut warp = 1;
            while warp < threads / WARP {
                control::keep_rolled();
                acc = R::combine(acc, Bins::of::<R>(warp, range).read::<R>(bin));
                warp += 1;
            }
            if chunks == 1 {
                write::<T, R>(problem, first_bin + bin, acc);
            } else {
                each(R::Acc::COUNT, |i| {
                    *problem.partial(i, chunk, first_bin + bin) = acc.word(i);
                });
            }
            bin += threads;
        }
    }
}

/// Writes the result of a bin.
///
/// # Safety
/// There is a place for it.
#[inline(always)]
pub(super) unsafe fn write<T, R: Reduction>(problem: &Problem<T, R::Raw>, bin: u32, acc: R::Acc) {
    let index = |position: Position| u64::from(position.block) << 32 | u64::from(position.number);
    // SAFETY: the caller's contract.
    unsafe { problem.output.add(bin as usize).write(R::raw_of_items(acc, index)) };
}
