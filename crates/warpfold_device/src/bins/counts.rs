//! Counts how often each key occurs.
//!
//! A thread counts a run of equal keys before it adds their number to a bin, because additions of
//! several lanes to one bin wait for each other. Each warp has a copy of the bins, if they fit into
//! shared memory. Integers are added, so the order does not matter.

use super::{bytes, keys::Count, report, shards::Shards};
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
    /// How many shards the blocks add to, a power of two.
    pub shards: u32,
    /// The count of each bin.
    pub output: *mut u64,
    /// A line of memory, whose first word counts blocks, and then the shards.
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
    let Counting { keys, n, chunk, bins, range, copies, shards, output, words, status } = counting;
    let shards = Shards { words, length: bins.next_multiple_of(2), count: shards };
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
                atomic::add(shards.own().add((first + bin) as usize), sum);
            }
            bin += THREADS;
        }
        // Nobody needs the bins in shared memory any more.
        if chunks > 1 && shards.are_complete(shared) {
            let whole = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            let split = |pack: Pack| [whole(pack[0], pack[1]), whole(pack[2], pack[3])];
            shards.sum(THREADS, split, |pair, sums| {
                each(2, |k| {
                    let bin = 2 * pair + k as u32;
                    if bin < bins {
                        output.add(bin as usize).write(sums[k]);
                    }
                });
            });
        }
    }
}
