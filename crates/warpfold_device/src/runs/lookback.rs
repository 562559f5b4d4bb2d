//! The sum of the numbers of all lower blocks, without a launch of its own.
//!
//! Each block has a word, in which it leaves its own number first, and later the sum of the numbers
//! up to its own. To find what is before it, a block looks back over the words of the blocks before
//! it, 32 at a time, until it meets a sum. If there are few blocks, each of them asks for the
//! numbers of all lower blocks at once instead, because then no block waits for what another one
//! has found by waiting. (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with
//! Decoupled Look-back", NVIDIA Technical Report NVR-2016-002.)
//!
//! Relaxed accesses are enough, because number and tag are one 64-bit access, as in
//! [`grid_reduction`](crate::grid_reduction::Polled). A block waits only for lower blocks. Many
//! blocks read a word, so none of them knows when it may clear it. Instead, the block that is the
//! last to have looked back clears all words.

use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{atomic, control};
use cuda_std::{thread, warp};

/// The tag of a word that has the number of its block alone.
const OWN: u64 = 1 << 62;

/// The tag of a word that has the sum of the numbers up to that of its block.
const SUM: u64 = 1 << 63;

/// The greatest number that a word holds beside its tag. A lane's sum of 32 of them does not
/// overflow.
pub const MOST: u64 = (1 << 56) - 1;

/// The word of a block. The first word counts the blocks that have looked back.
#[inline(always)]
fn word_of(words: *mut u64, block: u32) -> *mut u64 {
    words.wrapping_add(block as usize + 1)
}

/// The sum of the numbers of all lower blocks, of which a sum above `most` becomes `most`. `own` is
/// the number of this block. The blocks are few if each lane has at most `AT_ONCE` words of them.
///
/// # Safety
/// One whole warp of each block calls this, once, with the same numbers in all lanes. The launch
/// keeps [its contract](super#the-launchs-contract).
#[inline(always)]
pub(super) unsafe fn before<const AT_ONCE: usize>(
    own: u64,
    most: u64,
    words: *mut u64,
    lane: u32,
) -> u64 {
    let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
    let post = |value: u64| {
        // No block looks for the word of the last one.
        if lane == 0 && block < last {
            // SAFETY: the caller's contract.
            unsafe { atomic::store_relaxed(word_of(words, block), value) };
        }
    };
    if block == 0 {
        post(SUM | own);
        return 0;
    }
    post(OWN | own);
    if last < WARP * AT_ONCE as u32 {
        // SAFETY: the caller's contract.
        return unsafe { before_few::<AT_ONCE>(most, words, lane) };
    }
    let mut sum = 0;
    // The blocks from this one on are in the sum.
    let mut end = block;
    // SAFETY: all words are those of lower blocks. All lanes take the same branches, except where
    // no lane calls another.
    unsafe {
        loop {
            control::keep_rolled();
            let mut found = SUM;
            // Nothing is before block 0.
            if lane < end {
                found = atomic::load_relaxed(word_of(words, end - 1 - lane));
            }
            let there = warp::warp_vote_ballot(u32::MAX, found != 0);
            let sums = warp::warp_vote_ballot(u32::MAX, found & SUM != 0);
            // The lanes up to the first one that has a sum.
            let needed = sums ^ sums.wrapping_sub(1);
            if there & needed != needed {
                continue;
            }
            let is_needed = needed >> lane & 1 != 0;
            let part = warp_sum(if is_needed { found & MOST } else { 0 });
            sum = (sum + part).min(most);
            if sums != 0 {
                break;
            }
            end -= WARP;
        }
    }
    post(SUM | (sum + own).min(most));
    sum
}

/// The sum of the numbers of all lower blocks, as [`before`], if there are few blocks.
///
/// # Safety
/// As for [`before`]. This block is not block 0, and has left its own number.
#[inline(always)]
unsafe fn before_few<const AT_ONCE: usize>(most: u64, words: *mut u64, lane: u32) -> u64 {
    let block = thread::block_idx_x();
    // SAFETY: all words are those of lower blocks. All lanes take the same branches, except where
    // no lane calls another.
    unsafe {
        loop {
            control::keep_rolled();
            let mut found = [SUM; AT_ONCE];
            each(AT_ONCE, |i| {
                let lower = i as u32 * WARP + lane;
                if lower < block {
                    found[i] = atomic::load_relaxed(word_of(words, lower));
                }
            });
            let (mut is_missing, mut sum) = (false, 0);
            each(AT_ONCE, |i| {
                is_missing |= found[i] == 0;
                sum += found[i] & MOST;
            });
            if !warp::warp_vote_any(u32::MAX, is_missing) {
                return warp_sum(sum.min(most)).min(most);
            }
        }
    }
}

/// The sum of the numbers of all lanes, which is the same in each of them.
///
/// # Safety
/// All lanes of the warp call this together.
#[inline(always)]
unsafe fn warp_sum(mut sum: u64) -> u64 {
    let mut distance = WARP / 2;
    while distance > 0 {
        control::keep_rolled();
        // SAFETY: the caller's contract.
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, distance, WARP).0 };
        distance /= 2;
    }
    sum
}

/// Notes that this block has looked back. The last block to do so clears all words.
///
/// # Safety
/// The warp that has called [`before`] calls this after it, once.
#[inline(always)]
pub(super) unsafe fn leave(words: *mut u64, lane: u32) {
    let blocks = thread::grid_dim_x();
    if blocks == 1 {
        return;
    }
    // SAFETY: only atomics use the words. The block that comes last is the only one left to use
    // them, because a block comes here when it has found all that it looked for. The fence brings
    // the block's own words into memory before its arrival, so that none of them arrives when all
    // have been cleared.
    unsafe {
        let mut is_last = false;
        if lane == 0 {
            thread::device_fence();
            is_last = atomic::add(words, 1) == u64::from(blocks) - 1;
        }
        if !warp::warp_vote_any(u32::MAX, is_last) {
            return;
        }
        let mut word = lane;
        while word < blocks {
            control::keep_rolled();
            atomic::store_relaxed(words.wrapping_add(word as usize), 0);
            word += WARP;
        }
    }
}
