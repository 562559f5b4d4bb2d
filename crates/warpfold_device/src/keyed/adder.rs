//! The number of runs before each window, without a launch of its own and without a look-back.
//!
//! Block 0 has no window. It reads the numbers of the windows, in their order, and tells each
//! window what is before it. So a block of a window polls only the word of its own window, which
//! block 0 polls besides. In a look-back many blocks poll the words of a few, and hold up those
//! that write them.
//!
//! Each window has a word, which holds the number of its window first ([`OWN`]), and then the sum
//! of the numbers before it ([`SUM`]). The sum stays there, as a part of the window's record.
//!
//! Relaxed accesses are enough, because number and tag are one 64-bit access.

use super::THREADS;
use crate::unroll::each;
use crate::warp::{WARP, sum_up_to};
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread, warp};

/// The tag of a word that has the number of its window.
const OWN: u64 = 1 << 62;

/// The tag of a word that has the sum of the numbers before its window.
const SUM: u64 = 1 << 63;

/// Neighbouring windows of which a lane reads the words at a time.
const OF_LANE: usize = 4;

/// Windows of which a warp reads the words at a time.
const OF_WARP: u32 = OF_LANE as u32 * WARP;

/// Warps of a block.
const WARPS: usize = (THREADS / WARP) as usize;

/// How many windows of a warp, from its first one on, have given their numbers, and the sum of
/// these numbers: for each warp, in two turns.
#[address_space(shared)]
static mut GIVEN: [MaybeUninit<[u32; 2]>; 2 * WARPS] = [const { MaybeUninit::uninit() }; 2 * WARPS];

/// The word of a window.
#[inline(always)]
fn word_of(words: *mut u64, window: u32) -> *mut u64 {
    words.wrapping_add(window as usize)
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
        let own = first + warp_of_block * OF_WARP + lane * OF_LANE as u32;
        let mut found = [0; OF_LANE];
        // SAFETY: only words of windows are used. All lanes take the same branches, except where no
        // lane calls another. A barrier is between writing the shared memory of a turn and reading
        // it, and another one before it is written again.
        unsafe {
            each(OF_LANE, |i| {
                let window = own + i as u32;
                if window < windows {
                    found[i] = atomic::load_relaxed(word_of(words, window));
                }
            });
            // The windows that have given their numbers, up to the first one that has not. The
            // numbers of so few windows fit into a word.
            let (mut given, mut numbers, mut before_window) = (0, 0, [0; OF_LANE]);
            each(OF_LANE, |i| {
                before_window[i] = numbers;
                let is_given = given == i as u32 && found[i] & OWN != 0;
                given += u32::from(is_given);
                numbers += if is_given { found[i] as u32 } else { 0 };
            });
            let whole = warp::warp_vote_ballot(u32::MAX, given == OF_LANE as u32).trailing_ones();
            if lane > whole {
                (given, numbers) = (0, 0);
            }
            let until = sum_up_to(numbers);
            let of = |word: u32, lane: u32| warp::warp_shuffle_idx(u32::MAX, word, lane, WARP).0;
            let all = of(until, WARP - 1);
            let of_gap = of(given, whole % WARP);
            let of_warp = whole * OF_LANE as u32 + if whole < WARP { of_gap } else { 0 };
            if lane == 0 {
                *shared.add(turn + warp_of_block as usize) = [of_warp, all];
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
                each(OF_LANE, |i| {
                    if (i as u32) < given {
                        let before = before + u64::from(until - numbers + before_window[i]);
                        atomic::store_relaxed(word_of(words, own + i as u32), SUM | before);
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

/// Asks for the sum of the numbers before a window, which [`before`] returns later.
///
/// # Safety
/// The thread that gave the number of the window calls this, or another one behind it.
#[inline(always)]
pub(super) unsafe fn ask(words: *mut u64, window: u32) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { atomic::load_relaxed(word_of(words, window)) }
}

/// Whether the answer to a [question](ask) is a sum.
#[inline(always)]
pub(super) fn is_sum(answer: u64) -> bool {
    answer & SUM != 0
}

/// The sum of the numbers before a window, after the first answer to the [question](ask) for it.
///
/// # Safety
/// That of [`ask`].
#[inline(always)]
pub(super) unsafe fn before(words: *mut u64, window: u32, answer: u64) -> u64 {
    let mut answer = answer;
    while !is_sum(answer) {
        control::keep_rolled();
        // SAFETY: the caller's contract.
        answer = unsafe { ask(words, window) };
    }
    sum(answer)
}

/// The sum that a word has.
#[inline(always)]
pub(super) fn sum(word: u64) -> u64 {
    word & !SUM
}
