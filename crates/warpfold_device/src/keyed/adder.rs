//! The number of runs before each window, without a launch of its own and without a look-back.
//!
//! Block 0 has no window. It reads the numbers of the windows, in their order, and tells each
//! window what is before it. So a block of a window polls only the word of its own window, which
//! block 0 polls besides. In a look-back many blocks poll the words of a few, and hold up those
//! that write them.
//!
//! Each window has a word, which holds the number of its window first ([`OWN`]), and then the sum
//! of the numbers before it ([`SUM`]). Later the block of the window leaves its record there.
//!
//! Relaxed accesses are enough, because number and tag are one 64-bit access.

use super::THREADS;
use super::records::WORDS;
use crate::unroll::each;
use crate::warp::WARP;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread, warp};

/// The tag of a word that has the number of its window.
const OWN: u64 = 1 << 62;

/// The tag of a word that has the sum of the numbers before its window.
const SUM: u64 = 1 << 63;

/// Rows of 32 words that a warp of the adder reads at a time.
const ROWS: usize = 2;

/// Windows of which a warp reads the words at a time.
const OF_WARP: u32 = ROWS as u32 * WARP;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// How many windows of a warp, from its first one on, have given their numbers, and the sum of
/// these numbers: for each warp, in two turns.
#[address_space(shared)]
static mut GIVEN: [MaybeUninit<[u32; 2]>; 2 * WARPS] = [const { MaybeUninit::uninit() }; 2 * WARPS];

/// The word of a window: the first one of its record.
#[inline(always)]
fn word_of(words: *mut u64, window: u32) -> *mut u64 {
    words.wrapping_add((window * WORDS) as usize)
}

/// Tells each of `windows` windows the sum of the numbers before it.
///
/// # Safety
/// All threads of one block call this. Each window has a word, which is 0 before, and gives its
/// number ([`give`]).
#[inline(always)]
pub(super) unsafe fn add_up(words: *mut u64, windows: u32) {
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let shared = (&raw mut GIVEN).cast::<[u32; 2]>();
    // The windows up to the first one have been told, and the sum of their numbers.
    let (mut first, mut sum, mut turn) = (0, 0, 0);
    while first < windows {
        control::keep_rolled();
        let number_of = |i: usize| i as u32 * WARP + lane;
        let window = |i: usize| first + warp_of_block * OF_WARP + number_of(i);
        let mut found = [0; ROWS];
        // SAFETY: only words of windows are used. All lanes take the same branches, except where no
        // lane calls another. A barrier is between writing the shared memory of a turn and reading
        // it, and another one before it is written again.
        unsafe {
            each(ROWS, |i| {
                if window(i) < windows {
                    found[i] = atomic::load_relaxed(word_of(words, window(i)));
                }
            });
            // The windows that have given their numbers, up to the first one that has not.
            let (mut given, mut is_gap) = (0, false);
            each(ROWS, |i| {
                let are_there = warp::warp_vote_ballot(u32::MAX, found[i] & OWN != 0);
                given += if is_gap { 0 } else { are_there.trailing_ones() };
                is_gap |= are_there != u32::MAX;
            });
            // All rows take a step of the sum together, because a shuffle takes its time. The
            // numbers of so few windows fit into a word.
            let number = |i: usize| if number_of(i) < given { found[i] as u32 } else { 0 };
            let mut until = [0; ROWS];
            each(ROWS, |i| until[i] = number(i));
            each(WARP.ilog2() as usize, |step| {
                let distance = 1 << step;
                each(ROWS, |i| {
                    let (lower, _) = warp::warp_shuffle_up(u32::MAX, until[i], distance, WARP);
                    until[i] += if lane >= distance { lower } else { 0 };
                });
            });
            let mut all = 0;
            each(ROWS, |i| {
                let row = warp::warp_shuffle_idx(u32::MAX, until[i], WARP - 1, WARP).0;
                until[i] += all;
                all += row;
            });
            if lane == 0 {
                *shared.add(turn + warp_of_block as usize) = [given, all];
            }
            thread::sync_threads();
            let (mut told, mut added, mut before) = (0, 0, None);
            let mut is_whole = true;
            each(WARPS, |i| {
                let [given, all] = *shared.add(turn + i);
                if i as u32 == warp_of_block && is_whole {
                    before = Some(sum + u64::from(added));
                }
                told += if is_whole { given } else { 0 };
                added += if is_whole { all } else { 0 };
                is_whole &= given == OF_WARP;
            });
            if let Some(before) = before {
                each(ROWS, |i| {
                    if number_of(i) < given {
                        let before = before + u64::from(until[i] - number(i));
                        atomic::store_relaxed(word_of(words, window(i)), SUM | before);
                    }
                });
            }
            first += told;
            sum += u64::from(added);
            turn = WARPS - turn;
        }
    }
}

/// Gives the number of a window.
///
/// # Safety
/// One thread calls this, once for each window, whose word is 0 before.
#[inline(always)]
pub(super) unsafe fn give(words: *mut u64, window: u32, number: u32) {
    // SAFETY: the caller's contract.
    unsafe { atomic::store_relaxed(word_of(words, window), OWN | u64::from(number)) };
}

/// The sum of the numbers before a window, which has [given](give) its own number.
///
/// # Safety
/// The thread that gave the number calls this.
#[inline(always)]
pub(super) unsafe fn before(words: *mut u64, window: u32) -> u64 {
    loop {
        control::keep_rolled();
        // SAFETY: the caller's contract.
        let found = unsafe { atomic::load_relaxed(word_of(words, window)) };
        if found & SUM != 0 {
            return found & !SUM;
        }
    }
}
