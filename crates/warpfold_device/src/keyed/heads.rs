//! Which keys of a window begin runs.

use super::{THREADS, Window};
use crate::item::Item;
use crate::rows::PACK;
use crate::runs::Bits;
use crate::unroll::each;
use crate::warp::{WARP, sum_up_to};
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy};
use cuda_std::{address_space, thread, warp};

/// Warps of a block.
const WARPS: u32 = THREADS / WARP;

/// How many votes a warp takes without a branch. It takes so many, or a multiple.
const VOTES: usize = 4;

/// No place in a window.
const NOWHERE: u32 = u32::MAX;

/// The number of runs that begin in the part of each warp, as a pack.
#[address_space(shared)]
static mut TOTALS: MaybeUninit<u128> = MaybeUninit::uninit();

/// The places of the first head, or of the end of the array, in the part of each warp, and in as
/// many rows of keys behind the window.
#[address_space(shared)]
static mut FIRSTS: [MaybeUninit<u32>; 2 * WARPS as usize] =
    [const { MaybeUninit::uninit() }; 2 * WARPS as usize];

/// Starts the copies of the bytes from number `first` to number `end` behind `source`, which is a
/// pack, to as far behind `target`.
///
/// # Safety
/// All threads of the block call this. The bytes are there, and at `target` is room for them.
#[inline(always)]
pub(super) unsafe fn stage(target: *mut u8, source: u64, first: u32, end: u32) {
    const COPIES: usize = (super::BYTES + super::BYTES_BEHIND).div_ceil(THREADS * PACK) as usize;
    let tid = thread::thread_idx_x();
    // The bytes in whole packs.
    let (begin, last) = (first.next_multiple_of(PACK), end / PACK * PACK);
    let address = |at: u32| (source + u64::from(at)) as *const u8;
    // SAFETY: only bytes that are there are read.
    unsafe {
        let mut at = tid * PACK;
        while at - tid * PACK < last {
            control::keep_rolled();
            let (to, from) = (target.wrapping_add(at as usize), address(at));
            each(COPIES, |i| {
                let further = i as u32 * THREADS * PACK;
                // Only the first copy may lie before the first pack.
                let is_there = (i > 0 || begin <= at) && at + further < last;
                let to = to.wrapping_add(further as usize).cast();
                copy::pack_if(to, from.wrapping_add(further as usize).cast(), is_there);
            });
            at += COPIES as u32 * THREADS * PACK;
        }
        if (first | end).is_multiple_of(PACK) {
            return;
        }
        // The first threads take what is before the first whole pack, and the next ones what is
        // behind the last one.
        let is_head = tid < PACK;
        let at =
            if is_head { begin.wrapping_sub(PACK).wrapping_add(tid) } else { last + tid % PACK };
        let is_there = if is_head { at < begin } else { begin <= last && tid < 2 * PACK };
        if is_there && first <= at && at < end {
            target.add(at as usize).write(u8::load_if(address(at), true));
        }
    }
}

/// The heads in a warp's part of a window. Each lane has a few neighbouring keys. Places are
/// counted from the window's first key on.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    /// A bit for each key of this lane that begins a run.
    bits: u32,
    /// The place of this lane's first key.
    place: u32,
    /// The number of runs of the warp that begin before the keys of this lane.
    before_lane: u32,
    /// The number of runs that begin in the warp's part.
    pub runs: u32,
    /// The number of runs that begin in the window before that part.
    pub before: u32,
    /// The number of runs that begin in the window.
    pub all: u32,
    /// The places of the first head of the warp, and of the last one, if there is one.
    pub first: u32,
    pub last: u32,
    /// The end of the last run of the warp, or a place far behind, if it is not known.
    pub end: u32,
}

impl Heads {
    /// Finds the heads of a window, whose first key is at `keys`. What other warps find is not
    /// known before [`count`](Self::count).
    ///
    /// # Safety
    /// All threads of the block call this. The keys of the window are there, those known behind it,
    /// and, unless the window is the first one, the one before it.
    #[inline(always)]
    pub(super) unsafe fn find<K: Bits>(keys: *const K, window: Window) -> Self {
        let tid = thread::thread_idx_x();
        let (warp_of_block, lane) = (tid / WARP, tid % WARP);
        let firsts = (&raw mut FIRSTS).cast::<u32>();
        let totals = (&raw mut TOTALS).cast::<u32>();
        let whole = 1 << window.log;
        // The keys of a lane, and where they begin.
        let of_lane = whole / THREADS;
        let place = tid * of_lane;
        let behind = (warp_of_block + 1) * WARP * of_lane;
        // SAFETY: each word is written by one lane, and barriers separate writing from reading. All
        // branches around collective calls are the same in all lanes of a warp.
        unsafe {
            // All lanes look at keys that are there, so that no branch is needed. The first key of
            // the array has none before it. The second one is looked at in its place, and what is
            // found is not used.
            let least = u32::from(window.first == 0);
            let differs = |at: u32, last: u32| {
                let at = at.min(last).max(least);
                let key = keys.wrapping_add(at as usize);
                (*key).word() != (*key.wrapping_sub(1)).word()
            };
            let mut bits = 0;
            let bytes = of_lane * size_of::<K>() as u32;
            let are_packs = (keys.addr() as u32 | bytes).is_multiple_of(PACK);
            if are_packs && least == 0 && window.count == whole {
                bits = Packs::heads(keys.wrapping_add(place as usize), bytes / PACK);
            } else {
                let mut number = 0;
                while number < of_lane {
                    control::keep_rolled();
                    each(VOTES, |i| {
                        let number = number + i as u32;
                        let at = warp_of_block * WARP * of_lane + number * WARP + lane;
                        let found = warp::warp_vote_ballot(u32::MAX, differs(at, window.count - 1));
                        let own = lane * of_lane;
                        bits = if own / WARP == number { found >> (own % WARP) } else { bits };
                    });
                    number += VOTES as u32;
                }
                bits &= lower(of_lane.min(window.count.saturating_sub(place)));
                if least > 0 && place == 0 {
                    bits |= 1;
                }
            }
            let until = sum_up_to(bits.count_ones());
            let found = warp::warp_vote_ballot(u32::MAX, bits != 0);
            let of = |word: u32, lane: u32| warp::warp_shuffle_idx(u32::MAX, word, lane, WARP).0;
            let runs = of(until, WARP - 1);
            // Without a head these are of any lane.
            let first = of(place + bits.trailing_zeros(), found.trailing_zeros() % WARP);
            let last = of(
                place + (WARP - 1).wrapping_sub(bits.leading_zeros()),
                (WARP - 1).wrapping_sub(found.leading_zeros()) % WARP,
            );
            // The last run of an array ends with it.
            let is_end = window.is_last && window.known <= behind;
            let end = if is_end { window.known } else { NOWHERE };
            if lane == 0 {
                *totals.add(warp_of_block as usize) = runs;
                *firsts.add(warp_of_block as usize) = if runs > 0 { first } else { end };
            }
            // Each warp looks at a row of the keys behind the window.
            let row = whole + warp_of_block * WARP;
            let found = warp::warp_vote_ballot(u32::MAX, differs(row + lane, window.known - 1));
            let found = found & lower(window.known.saturating_sub(row));
            if lane == 0 {
                let end = if window.is_last { window.known } else { NOWHERE };
                let first = row + found.trailing_zeros();
                *firsts.add((WARPS + warp_of_block) as usize) =
                    if found != 0 { first } else { end };
            }
            let before_lane = until - bits.count_ones();
            Self { bits, place, before_lane, runs, before: 0, all: 0, first, last, end }
        }
    }

    /// Adds what other warps have found.
    ///
    /// # Safety
    /// All threads of the block call this, behind a barrier.
    #[inline(always)]
    pub(super) unsafe fn count(mut self) -> Self {
        let warp_of_block = thread::thread_idx_x() / WARP;
        let firsts = (&raw mut FIRSTS).cast::<u32>();
        // SAFETY: all warps have written these words.
        unsafe {
            let totals = copy::read_pack((&raw const TOTALS).cast());
            each(WARPS as usize, |i| {
                self.before += if (i as u32) < warp_of_block { totals[i] } else { 0 };
                self.all += totals[i];
            });
            self.end = self.end.min(*firsts.add(warp_of_block as usize + 1));
            if warp_of_block == WARPS - 1 {
                each(WARPS as usize - 1, |i| {
                    self.end = self.end.min(*firsts.add(WARPS as usize + 1 + i));
                });
            }
        }
        self
    }

    /// Calls `put` with the number of each run of this lane among those of the warp, and with the
    /// place of its head.
    #[inline(always)]
    pub(super) fn each(self, mut put: impl FnMut(u32, u32)) {
        let (mut bits, mut number) = (self.bits, self.before_lane);
        while bits != 0 {
            control::keep_rolled();
            put(number, self.place + bits.trailing_zeros());
            number += 1;
            bits &= bits - 1;
        }
    }
}

/// Neighbouring keys of a lane in whole packs, of which some have been looked at.
struct Packs<K> {
    keys: *const K,
    /// How many packs there are, a power of two.
    count: u32,
    /// The number of the next pack.
    number: u32,
    /// The key before the first pack, and that before the next one.
    before_first: K,
    before: K,
    /// The heads that have been found.
    heads: u32,
}

impl<K: Bits> Packs<K> {
    /// The keys of a pack.
    const KEYS: u32 = PACK / size_of::<K>() as u32;

    /// The heads of the keys of a lane, which begin at `keys`. Eight neighbouring lanes begin with
    /// different packs, so that they read different banks.
    ///
    /// # Safety
    /// All keys of the lane are there, and the one before them. They begin at a pack, and are
    /// `count` packs, a power of two.
    #[inline(always)]
    unsafe fn heads(keys: *const K, count: u32) -> u32 {
        // The numbers are made anew for each window, because they would need registers meanwhile.
        let lane = control::anew(thread::thread_idx_x()) % WARP;
        let number = (lane * count / 8) & (count - 1);
        // SAFETY: the caller's contract.
        unsafe {
            let before =
                |number: u32| *keys.wrapping_add((number * Self::KEYS) as usize).wrapping_sub(1);
            let (before_first, before) = (before(0), before(number));
            let mut packs = Self { keys, count, number, before_first, before, heads: 0 };
            if size_of::<K>() == 4 {
                // If there are less than four, some come more than once.
                each(4, |_| packs.next());
                return packs.heads;
            }
            let mut done = 0;
            while done < count {
                control::keep_rolled();
                packs.next();
                done += 1;
            }
            packs.heads
        }
    }

    /// Looks at the next pack. The first one comes behind the last one.
    ///
    /// # Safety
    /// That of [`heads`](Self::heads).
    #[inline(always)]
    unsafe fn next(&mut self) {
        let first = self.number * Self::KEYS;
        // SAFETY: the caller's contract.
        let pack = unsafe { copy::read_pack(self.keys.wrapping_add(first as usize).cast()) };
        let before = if self.number == 0 { self.before_first } else { self.before };
        let mut before = before.word();
        let mut heads = 0;
        each(Self::KEYS as usize, |i| {
            let key = K::element(pack, i).word();
            heads |= u32::from(key != before) << i;
            before = key;
        });
        self.before = K::of_word(before);
        self.heads |= heads << first;
        self.number = (self.number + 1) & (self.count - 1);
    }
}

/// The lower bits of a word: the first `count` ones, at most all.
#[inline(always)]
fn lower(count: u32) -> u32 {
    if count < WARP { (1 << count) - 1 } else { u32::MAX }
}
