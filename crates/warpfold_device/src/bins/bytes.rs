//! Counts keys of one byte.
//!
//! Each lane of two warps has a *column* of counts of its own: one for each key, in 16 bits, all in
//! one bank of shared memory. So no two lanes of a warp ever wait for each other, whether keys are
//! equal or not, and no branch looks at a key. That matters because 16 keys come with each load.
//! The other warps of the block add to the same columns, so that the columns of few blocks have to
//! be cleared and summed.

use super::counts::Counting;
use super::{keys::Count, report, shards::Shards};
use crate::item::Pack;
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control, grid, packed, streaming};
use cuda_std::{address_space, thread, warp};

/// Threads of a block.
pub const BYTE_THREADS: u32 = 512;

/// Columns of counts, of which each takes 512 bytes.
pub const BYTE_COLUMNS: u32 = 64;

/// How many packs a thread has under way.
const LOADS: usize = 2;

/// Pairs of keys. The counts of a pair are the two halves of a word.
const PAIRS: u32 = 128;

/// Four words of neighbouring columns are read at once. The counts of a pair are so many quads.
const QUADS: u32 = BYTE_COLUMNS / 4;

/// How many lanes sum the counts of a pair.
const LANES: u32 = BYTE_THREADS / PAIRS;

/// The counts: for each pair of keys a word of each column.
#[address_space(shared)]
static mut COUNTS: [MaybeUninit<u128>; (PAIRS * QUADS) as usize] =
    [const { MaybeUninit::uninit() }; (PAIRS * QUADS) as usize];

/// Counts the keys of a chunk. The last block of the grid writes the counts.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract). A key has one byte.
#[inline(always)]
pub(super) unsafe fn counts<K: Count>(counting: Counting<K>) {
    let Counting { keys, n, chunk, bins, shards, output, words, status, .. } = counting;
    let shards = Shards { words, length: PAIRS, count: shards };
    let tid = thread::thread_idx_x();
    let (block, chunks) = (thread::block_idx_x(), thread::grid_dim_x());
    let four = (&raw mut COUNTS).cast::<u128>();
    let counts = four.cast::<u32>();
    let column = tid % BYTE_COLUMNS;
    // Where the column's word of the first pair is, in bytes: one byte is enough for the number.
    let own = column * 4;
    // SAFETY: barriers separate the clearing of the counts, the additions, and the reading. Only
    // keys that are there are read. The rest is the launch's contract.
    unsafe {
        let mut word = tid;
        while word < PAIRS * QUADS {
            control::keep_rolled();
            four.add(word as usize).write(0);
            word += BYTE_THREADS;
        }
        thread::sync_threads();
        grid::wait_for_dependencies();

        let before = ((keys as usize).wrapping_neg() % size_of::<Pack>()) as u64;
        let before = before.min(n);
        let packs = (n - before) / K::PER_PACK as u64;
        let outside = n - packs * K::PER_PACK as u64;
        if block == 0 && u64::from(tid) < outside {
            let position = u64::from(tid) + if u64::from(tid) < before { 0 } else { n - outside };
            let key = K::load_if(keys.wrapping_add(position as usize), true).number();
            if key >= bins {
                report(status, position);
            }
            let at = (key >> 1) * BYTE_COLUMNS + column;
            atomic::add(counts.add(at as usize), 1 << (16 * (key & 1)));
        }
        let source = keys.wrapping_add(before as usize);
        let mut pack = u64::from(block) * chunk + u64::from(tid);
        let end = (u64::from(block + 1) * chunk).min(packs);
        let load = |pack: u64| {
            let at = source.cast::<Pack>().wrapping_add(pack as usize);
            streaming::load_unhinted_pack_if(at, pack < end)
        };
        let number = |i: usize| u64::from(i as u32 * BYTE_THREADS);
        let mut loaded = [[0; 4]; LOADS];
        each(LOADS, |i| loaded[i] = load(pack + number(i)));
        while pack < end {
            control::keep_rolled();
            let next = pack + number(LOADS);
            each(LOADS, |i| {
                if pack + number(i) < end {
                    each(4, |word| add(counts, own, loaded[i][word]));
                }
                // This pack is under way while the others are counted.
                loaded[i] = load(next + number(i));
            });
            pack = next;
        }

        thread::sync_threads();
        let write = |bin: u32, count: u64| {
            if bin < bins {
                output.add(bin as usize).write(count);
            }
        };
        let (pair, lane) = (tid / LANES, tid % LANES);
        let (mut both, mut odd) = (0u32, 0);
        each((QUADS / LANES) as usize, |i| {
            // Eight lanes, those of two pairs, read eight different banks of 16 bytes.
            let place = (i as u32 ^ (pair % 2)) * LANES + lane;
            let quad = *four.add((pair * QUADS + place) as usize);
            each(4, |k| {
                let word = (quad >> (32 * k)) as u32;
                both = both.wrapping_add(word);
                odd += word >> 16;
            });
        });
        let mut distance = 1;
        while distance < LANES {
            control::keep_rolled();
            both = both.wrapping_add(warp::warp_shuffle_xor(u32::MAX, both, distance, WARP).0);
            odd += warp::warp_shuffle_xor(u32::MAX, odd, distance, WARP).0;
            distance *= 2;
        }
        // Modulo 2^32, `both` is the number of even keys and 2^16 times that of odd ones. There are
        // fewer than 2^32 even keys.
        let even = both.wrapping_sub(odd << 16);
        let is_wrong = even > 0 && 2 * pair >= bins || odd > 0 && 2 * pair + 1 >= bins;
        if lane > 0 {
            // The first lane of the pair writes its counts.
        } else if chunks == 1 {
            write(2 * pair, even.into());
            write(2 * pair + 1, odd.into());
        } else if even | odd > 0 {
            let sums = u64::from(even) | u64::from(odd) << 32;
            atomic::add(shards.own().add(pair as usize), sums);
        }
        if warp::warp_vote_any(u32::MAX, is_wrong) {
            // Keys that are no bins have been counted, so the warp looks where the first one is.
            let first = u64::from(block) * chunk * K::PER_PACK as u64;
            let mut key = first + u64::from(tid % WARP);
            while key < end * K::PER_PACK as u64 {
                control::keep_rolled();
                if K::load_if(source.wrapping_add(key as usize), true).number() >= bins {
                    report(status, before + key);
                }
                key += u64::from(WARP);
            }
        }
        if chunks > 1 {
            // Nobody needs the counts in shared memory any more.
            if !shards.are_complete(counts) {
                return;
            }
            // Some threads may not have looked yet whether the block is the last one.
            let sums = sum(shards, four.add(1).cast());
            if tid < PAIRS {
                write(2 * tid, sums[0]);
                write(2 * tid + 1, sums[1]);
            }
        }
        let mut bin = 2 * PAIRS + tid;
        while bin < bins {
            control::keep_rolled();
            output.add(bin as usize).write(0);
            bin += BYTE_THREADS;
        }
    }
}

/// Adds the shards up and clears them, and clears the word that counts blocks. The first threads
/// get the counts of a pair each. The threads of a pair take different shards, and meet in `room`.
///
/// # Safety
/// The whole block calls this, and `room` has a place for two numbers of each thread. No other
/// block uses the shards, and nothing else is in `room`.
#[inline(always)]
unsafe fn sum(shards: Shards, room: *mut [u64; 2]) -> [u64; 2] {
    let tid = thread::thread_idx_x();
    let at = |shard: u32| shards.at(shard).wrapping_add((tid % PAIRS) as usize);
    let mut sums = [0; 2];
    let mut shard = tid / PAIRS;
    // SAFETY: the caller's contract. A barrier separates the writes to `room` from the reads.
    unsafe {
        while shard < shards.count {
            control::keep_rolled();
            let mut loaded = [0; 4];
            each(4, |i| {
                let shard = shard + i as u32 * LANES;
                if shard < shards.count {
                    loaded[i] = atomic::load_relaxed(at(shard));
                }
            });
            each(4, |i| {
                let shard = shard + i as u32 * LANES;
                if shard < shards.count {
                    atomic::store_relaxed(at(shard), 0);
                }
                sums[0] += u64::from(loaded[i] as u32);
                sums[1] += loaded[i] >> 32;
            });
            shard += 4 * LANES;
        }
        if tid == 0 {
            atomic::store_relaxed(shards.words, 0);
        }
        room.add(tid as usize).write(sums);
        thread::sync_threads();
        if tid < PAIRS {
            each(LANES as usize - 1, |i| {
                let others = *room.add(tid as usize + (i + 1) * PAIRS as usize);
                sums[0] += others[0];
                sums[1] += others[1];
            });
        }
    }
    sums
}

/// Adds 1 to the counts of the four keys of a word. The word of the column for the first pair is
/// `own` bytes behind `counts`.
///
/// # Safety
/// Only atomics use the counts meanwhile.
#[inline(always)]
unsafe fn add(counts: *mut u32, own: u32, keys: u32) {
    let pairs = (keys >> 1) & 0x7f7f_7f7f;
    let odd = keys & 0x0101_0101;
    let even = odd ^ 0x0101_0101;
    each(4, |i| {
        let i = i as u32;
        // The words of a pair take 256 bytes, so the pair is the second byte of the distance.
        let distance = packed::permute(pairs, own, 0x5504 | i << 4);
        // 1 in the lower or in the upper half. The bytes between are the sign of a byte that has
        // none.
        let sign = 8 | i;
        let one = packed::permute(even, odd, sign << 12 | (4 | i) << 8 | sign << 4 | i);
        // SAFETY: the caller's contract. The distance is that of one of the counts.
        unsafe { atomic::add(counts.wrapping_byte_add(distance as usize), one) };
    });
}
