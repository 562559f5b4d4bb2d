//! Counts how often each key occurs.
//!
//! A thread counts a run of equal keys before it adds their number to a bin, because additions of
//! several lanes to one bin wait for each other. Each warp has a copy of the bins, if they fit into
//! shared memory. Integers are added, so the order does not matter.

use super::{bytes, keys::Count, report};
use crate::item::Pack;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{atomic, control, grid, streaming};
use cuda_std::{shared, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// How many packs a thread has under way.
const LOADS: usize = 4;

/// A launch that counts keys.
#[derive(Clone, Copy)]
pub struct Counting<K> {
    /// The first key.
    pub keys: *const K,
    /// The number of keys.
    pub n: u64,
    /// Packs of a block.
    pub chunk: u64,
    /// The number of bins.
    pub bins: u32,
    /// Bins of a block.
    pub range: u32,
    /// Copies of these bins, among which the warps of a block are divided. A power of two.
    pub copies: u32,
    /// The count of each bin.
    pub output: *mut u64,
    /// A word that counts blocks, and a word for each bin.
    pub words: *mut u64,
    /// See [`Problem::status`](super::Problem::status).
    pub status: *mut u64,
}

/// Equal keys that a thread has met one after the other and not yet added to their bin.
#[derive(Clone, Copy)]
struct Run {
    key: u32,
    length: u32,
}

/// The bins of a warp.
#[derive(Clone, Copy)]
struct Bins {
    words: *mut u32,
    first: u32,
    count: u32,
}

impl Bins {
    /// Adds a run to its bin, if it is one of these.
    ///
    /// # Safety
    /// Only atomics use the bins meanwhile.
    #[inline(always)]
    unsafe fn add(self, run: Run) {
        let bin = run.key.wrapping_sub(self.first);
        if bin < self.count {
            // SAFETY: the caller's contract.
            unsafe { atomic::add(self.words.add(bin as usize), run.length) };
        }
    }

    /// The run behind one more key.
    ///
    /// # Safety
    /// That of [`add`](Self::add).
    #[inline(always)]
    unsafe fn next(self, run: Run, key: u32) -> Run {
        if key == run.key {
            return Run { key, length: run.length + 1 };
        }
        // SAFETY: the caller's contract.
        unsafe { self.add(run) };
        Run { key, length: 1 }
    }
}

/// Counts the keys of a chunk in a range of bins. The last block of the grid writes the counts.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub unsafe fn counts<K: Count>(counting: Counting<K>) {
    grid::launch_dependents();
    if size_of::<K>() == 1 {
        // SAFETY: the caller's contract.
        return unsafe { bytes::counts(counting) };
    }
    let Counting { keys, n, chunk, bins, range, copies, output, words, status } = counting;
    let tid = thread::thread_idx_x();
    let (block, chunks) = (thread::block_idx_x(), thread::grid_dim_x());
    let first = thread::block_idx_y() * range;
    let count = (bins - first).min(range);
    let shared = shared::dynamic_shared_mem::<u32>();
    let copy = ((tid / WARP) & (copies - 1)) as usize * range as usize;
    let own = Bins { words: shared.wrapping_add(copy), first, count };
    // SAFETY: barriers separate the clearing of the bins, the atomics, and the reading. Only keys
    // that are there are read. The rest is the launch's contract.
    unsafe {
        let mut word = tid;
        while word < copies * range {
            control::keep_rolled();
            *shared.add(word as usize) = 0;
            word += THREADS;
        }
        thread::sync_threads();
        grid::wait_for_dependencies();

        // A thread with no key adds none to a bin that does not exist.
        let mut run = Run { key: u32::MAX, length: 0 };
        let before = ((keys as usize).wrapping_neg() % size_of::<Pack>() / size_of::<K>()) as u64;
        let before = before.min(n);
        let packs = (n - before) / K::PER_PACK as u64;
        let outside = n - packs * K::PER_PACK as u64;
        if block == 0 && u64::from(tid) < outside {
            let position = u64::from(tid) + if u64::from(tid) < before { 0 } else { n - outside };
            let key = K::load_if(keys.wrapping_add(position as usize), true).number();
            if key >= bins {
                report(status, position);
            }
            run = own.next(run, key);
        }
        let source = keys.wrapping_add(before as usize);
        let mut pack = u64::from(block) * chunk + u64::from(tid);
        let end = (u64::from(block + 1) * chunk).min(packs);
        while pack < end {
            control::keep_rolled();
            let number = |i: usize| pack + u64::from(i as u32 * THREADS);
            let mut loaded = [[0; 4]; LOADS];
            each(LOADS, |i| {
                let at = source.cast::<Pack>().wrapping_add(number(i) as usize);
                loaded[i] = streaming::load_unhinted_pack_if(at, number(i) < end);
            });
            let mut greatest = 0;
            each(LOADS, |i| {
                if number(i) < end {
                    each(K::PER_PACK, |element| {
                        let key = K::element(loaded[i], element).number();
                        greatest = if key > greatest { key } else { greatest };
                        run = own.next(run, key);
                    });
                }
            });
            if greatest >= bins {
                let mut i = 0;
                while i < LOADS as u32 * K::PER_PACK as u32 {
                    control::keep_rolled();
                    let (load, element) = (i / K::PER_PACK as u32, i % K::PER_PACK as u32);
                    let number = number(load as usize);
                    let position = number * K::PER_PACK as u64 + u64::from(element);
                    let at = source.wrapping_add(position as usize);
                    if number < end && K::load_if(at, true).number() >= bins {
                        report(status, before + position);
                    }
                    i += 1;
                }
            }
            pack += LOADS as u64 * u64::from(THREADS);
        }
        own.add(run);

        thread::sync_threads();
        let mut bin = tid;
        while bin < count {
            control::keep_rolled();
            let mut sum = 0;
            let mut copy = 0;
            while copy < copies {
                control::keep_rolled();
                sum += u64::from(*shared.add((copy * range + bin) as usize));
                copy += 1;
            }
            if chunks == 1 {
                output.add((first + bin) as usize).write(sum);
            } else if sum > 0 {
                atomic::add(word_of(words, first + bin), sum);
            }
            bin += THREADS;
        }
        if chunks > 1 {
            // Nobody needs the bins in shared memory any more.
            finish(output, words, bins, shared, THREADS);
        }
    }
}

/// The word of a bin.
#[inline(always)]
pub(super) fn word_of(words: *mut u64, bin: u32) -> *mut u64 {
    words.wrapping_add(bin as usize + 1)
}

/// Notes that this block, of so many threads, has added its counts. The last block to do so writes
/// all counts, and clears the words.
///
/// # Safety
/// The whole block calls this once, behind its last addition. `is_last` is a word of shared memory,
/// which nobody uses any more.
#[inline(always)]
pub(super) unsafe fn finish(
    output: *mut u64,
    words: *mut u64,
    bins: u32,
    is_last: *mut u32,
    threads: u32,
) {
    let tid = thread::thread_idx_x();
    let blocks = thread::grid_dim_x() * thread::grid_dim_y();
    // SAFETY: only atomics use the words. The barrier and the fence bring the additions of the
    // block before its arrival, and the second fence and barrier bring those of all blocks before
    // the reads of the last one, which is the only one left to use the words.
    unsafe {
        thread::sync_threads();
        if tid == 0 {
            thread::device_fence();
            *is_last = u32::from(atomic::add(words, 1) == u64::from(blocks) - 1);
            thread::device_fence();
        }
        thread::sync_threads();
        if *is_last == 0 {
            return;
        }
        let mut bin = tid;
        while bin < bins {
            control::keep_rolled();
            output.add(bin as usize).write(atomic::load_relaxed(word_of(words, bin)));
            atomic::store_relaxed(word_of(words, bin), 0);
            bin += threads;
        }
        if tid == 0 {
            atomic::store_relaxed(words, 0);
        }
    }
}
