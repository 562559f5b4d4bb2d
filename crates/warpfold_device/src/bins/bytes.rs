//! Counts keys of one byte.
//!
//! Each thread has a count of its own for each key, in 16 bits, and all counts of a lane lie in one
//! bank of shared memory. So no two lanes of a warp ever wait for each other, whether keys are
//! equal or not, and no branch looks at a key. That matters because 16 keys come with each load. A
//! block has few threads, because the counts of a thread take 512 bytes.

use super::counts::Counting;
use super::{keys::Count, report, shards::Shards};
use crate::item::Pack;
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control, grid, packed, streaming};
use cuda_std::{address_space, thread, warp};

/// Threads of a block.
pub const BYTE_THREADS: u32 = 64;

/// How many packs a thread has under way.
const LOADS: usize = 4;

/// Pairs of keys. The counts of a pair are the two halves of a word.
const PAIRS: u32 = 128;

/// Four words of neighbouring threads are read at once. The counts of a pair are so many quads.
const QUADS: u32 = BYTE_THREADS / 4;

/// The counts: for each pair of keys a word of each thread.
#[address_space(shared)]
static mut COUNTS: [MaybeUninit<u128>; (PAIRS * BYTE_THREADS) as usize / 4] =
    [const { MaybeUninit::uninit() }; (PAIRS * BYTE_THREADS) as usize / 4];

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
    // Where the thread's word of the first pair is, in bytes: one byte is enough for the number.
    let own = tid * 4;
    // SAFETY: barriers separate the clearing of the counts, the additions, and the reading. Only
    // keys that are there are read. The rest is the launch's contract.
    unsafe {
        let mut word = tid;
        while word < PAIRS * BYTE_THREADS / 4 {
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
            let at = (key >> 1) * BYTE_THREADS + tid;
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
        let mut is_wrong = false;
        let mut pair = tid;
        while pair < PAIRS {
            control::keep_rolled();
            let (mut both, mut odd) = (0u32, 0);
            let mut i = 0;
            while i < QUADS {
                control::keep_rolled();
                each(4, |k| {
                    // Each lane begins at another place, so that lanes read different banks.
                    let place = (tid + i + k as u32) % QUADS;
                    let quad = *four.add((pair * QUADS + place) as usize);
                    each(4, |k| {
                        let word = (quad >> (32 * k)) as u32;
                        both = both.wrapping_add(word);
                        odd += word >> 16;
                    });
                });
                i += 4;
            }
            // Modulo 2^32, `both` is the number of even keys and 2^16 times that of odd ones. There
            // are fewer than 2^32 even keys.
            let even = both.wrapping_sub(odd << 16);
            is_wrong |= even > 0 && 2 * pair >= bins || odd > 0 && 2 * pair + 1 >= bins;
            if chunks == 1 {
                write(2 * pair, even.into());
                write(2 * pair + 1, odd.into());
            } else if even | odd > 0 {
                let sums = u64::from(even) | u64::from(odd) << 32;
                atomic::add(shards.own().add(pair as usize), sums);
            }
            pair += BYTE_THREADS;
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
            shards.sum(
                BYTE_THREADS,
                |pack| pack.map(u64::from),
                |quad, sums| {
                    each(4, |k| write(4 * quad + k as u32, sums[k]));
                },
            );
        }
        let mut bin = 2 * PAIRS + tid;
        while bin < bins {
            control::keep_rolled();
            output.add(bin as usize).write(0);
            bin += BYTE_THREADS;
        }
    }
}

/// Adds 1 to the counts of the four keys of a word. The word of the thread for the first pair is
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
