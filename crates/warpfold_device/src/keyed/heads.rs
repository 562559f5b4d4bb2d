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

/// Rows of the largest window, each of a key for each lane.
const ROWS: u32 = super::MOST / WARP;

/// Rows that a warp looks at without a branch. A warp has so many rows, or a multiple.
const AT_ONCE: usize = 4;

/// A bit for each key of the window that begins a run, and for the first end of a run that is not
/// the begin of another one of the window.
#[address_space(shared)]
static mut HEADS: [MaybeUninit<u32>; ROWS as usize + 1] =
    [const { MaybeUninit::uninit() }; ROWS as usize + 1];

/// The number of runs that begin in the rows before each row.
#[address_space(shared)]
static mut BEFORE: [MaybeUninit<u16>; ROWS as usize + 1] =
    [const { MaybeUninit::uninit() }; ROWS as usize + 1];

/// The number of runs that begin in the rows of each warp.
#[address_space(shared)]
static mut TOTALS: [MaybeUninit<u32>; WARPS as usize] =
    [const { MaybeUninit::uninit() }; WARPS as usize];

/// Starts the copies of `bytes` bytes at `source` to `target`, and returns how far behind `target`
/// the first of them will be, which is less than a pack.
///
/// # Safety
/// All threads of the block call this. The bytes are there, and at `target` is room for them, and
/// for two packs more.
#[inline(always)]
pub(super) unsafe fn stage(target: *mut u8, source: u64, bytes: u32) -> u32 {
    const COPIES: usize = 3;
    let tid = thread::thread_idx_x();
    let shift = source as u32 % PACK;
    let (from, end) = (source - u64::from(shift), shift + bytes);
    // The bytes in whole packs begin at `first` and end at `last`.
    let (first, last) = (shift.next_multiple_of(PACK), end / PACK * PACK);
    let address = |at: u32| (from + u64::from(at)) as *const u8;
    // SAFETY: only bytes that are there are read.
    unsafe {
        let mut at = tid * PACK;
        while at - tid * PACK < last {
            control::keep_rolled();
            each(COPIES, |i| {
                let at = at + i as u32 * THREADS * PACK;
                let is_there = first <= at && at < last;
                let to = target.wrapping_add(at as usize).cast();
                copy::pack_if(to, address(at).cast(), is_there);
            });
            at += COPIES as u32 * THREADS * PACK;
        }
        // The first threads take what is before the first whole pack, and the next ones what is
        // behind the last one.
        let is_head = tid < PACK;
        let at = if is_head { tid } else { last + tid % PACK };
        let is_there = if is_head { at < first } else { first <= last && tid < 2 * PACK };
        if is_there && shift <= at && at < end {
            target.add(at as usize).write(u8::load_if(address(at), true));
        }
    }
    shift
}

/// The heads of a window, for one warp.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    /// A word for each row.
    rows: *mut u32,
    before: *mut u16,
    /// The number of runs that begin in the window.
    pub all: u32,
    lane: u32,
}

impl Heads {
    /// Finds the heads of a window, whose first key is at `keys`. Returns how many heads the rows
    /// of the warp have before that of this lane.
    ///
    /// # Safety
    /// All threads of the block call this. The keys of the window are there, those known behind it,
    /// and, unless the window is the first one, the one before it.
    #[inline(always)]
    pub(super) unsafe fn find<K: Bits>(keys: *const K, window: Window) -> u32 {
        let tid = thread::thread_idx_x();
        let (warp_of_block, lane) = (tid / WARP, tid % WARP);
        let heads = (&raw mut HEADS).cast::<u32>();
        let totals = (&raw mut TOTALS).cast::<u32>();
        let whole = 1 << window.log;
        let rows = whole / THREADS;
        let first_row = warp_of_block * rows;
        // SAFETY: each row is written by one lane, and barriers separate writing from reading. All
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
            let (mut own, mut row) = (0, 0);
            while row < rows {
                control::keep_rolled();
                each(AT_ONCE, |i| {
                    let row = row + i as u32;
                    let at = (first_row + row) * WARP + lane;
                    let found = warp::warp_vote_ballot(u32::MAX, differs(at, window.count - 1));
                    own = if lane == row { found } else { own };
                });
                row += AT_ONCE as u32;
            }
            let mine = first_row + lane;
            own &= lower(window.count.saturating_sub(mine * WARP));
            if least > 0 && mine == 0 {
                own |= 1;
            }
            let until = sum_up_to(own.count_ones());
            if lane == WARP - 1 {
                *totals.add(warp_of_block as usize) = until;
            }
            let in_warp = until - own.count_ones();
            // The last run of an array ends with it.
            if window.is_end(mine * WARP) {
                own |= 1 << (window.known % WARP);
            }
            if lane < rows {
                heads.add(mine as usize).write(own);
            }
            if warp_of_block == 0 {
                let differs = differs(whole + lane, window.known - 1);
                let behind = lower(window.known.saturating_sub(whole));
                let mut found = warp::warp_vote_ballot(u32::MAX, differs) & behind;
                if found == 0 && window.is_end(whole) {
                    found = 1 << (window.known % WARP);
                }
                if lane == 0 {
                    // The others belong to the next window.
                    heads.add((whole / WARP) as usize).write(found & found.wrapping_neg());
                }
            }
            in_warp
        }
    }

    /// Sums the heads of all rows. `in_warp` is what [`find`](Self::find) has returned.
    ///
    /// # Safety
    /// All threads of the block call this, behind a barrier.
    #[inline(always)]
    pub(super) unsafe fn count(in_warp: u32, window: Window) -> Self {
        let tid = thread::thread_idx_x();
        let (warp_of_block, lane) = (tid / WARP, tid % WARP);
        let before = (&raw mut BEFORE).cast::<u16>();
        let totals = (&raw mut TOTALS).cast::<u32>();
        let whole = 1 << window.log;
        let rows = whole / THREADS;
        // SAFETY: each row is written by one lane.
        unsafe {
            let (mut before_warp, mut all) = (0, 0);
            each(WARPS as usize, |i| {
                let total = *totals.add(i);
                before_warp += if (i as u32) < warp_of_block { total } else { 0 };
                all += total;
            });
            if lane < rows {
                let row = warp_of_block * rows + lane;
                before.add(row as usize).write((before_warp + in_warp) as u16);
            }
            if tid == 0 {
                before.add((whole / WARP) as usize).write(all as u16);
            }
            Self { rows: (&raw mut HEADS).cast(), before, all, lane }
        }
    }

    /// The heads of the row of a place, and how many runs begin before that row.
    ///
    /// # Safety
    /// The window has the row, or ends there.
    #[inline(always)]
    unsafe fn row(self, row: u32) -> (u32, u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let heads = *self.rows.add(row as usize);
            (heads, u32::from(*self.before.add(row as usize)))
        }
    }

    /// The number of runs that begin before a place of the window, or its end.
    ///
    /// # Safety
    /// A barrier is behind [`count`](Self::count), and the window has the place, or ends there.
    #[inline(always)]
    pub(super) unsafe fn before(self, place: u32) -> u32 {
        // SAFETY: the caller's contract.
        let (heads, before) = unsafe { self.row(place / WARP) };
        // The end of an array is no begin of a run.
        (before + (heads & lower(place % WARP)).count_ones()).min(self.all)
    }

    /// The first head, or end, at `place` or behind. `whole` is the number of keys of a whole
    /// window.
    ///
    /// # Safety
    /// The whole warp calls this, and a barrier is behind [`count`](Self::count).
    #[inline(always)]
    pub(super) unsafe fn next(self, place: u32, whole: u32) -> Option<u32> {
        let mut row = place / WARP + self.lane;
        while row - self.lane <= whole / WARP {
            control::keep_rolled();
            // SAFETY: only rows of the window are read, and the one behind it.
            unsafe {
                let mut heads = 0;
                if row <= whole / WARP {
                    heads = *self.rows.add(row as usize);
                }
                if row == place / WARP {
                    heads &= !lower(place % WARP);
                }
                let found = warp::warp_vote_ballot(u32::MAX, heads != 0);
                if found != 0 {
                    let lane = found.trailing_zeros();
                    let heads = warp::warp_shuffle_idx(u32::MAX, heads, lane, WARP).0;
                    return Some((row - self.lane + lane) * WARP + heads.trailing_zeros());
                }
            }
            row += WARP;
        }
        None
    }

    /// The last head, or end, behind `place` and up to `limit`. Only the row of `limit` and 31 rows
    /// before it are looked at.
    ///
    /// # Safety
    /// The whole warp calls this, and a barrier is behind [`count`](Self::count). The row of
    /// `limit` is there.
    #[inline(always)]
    pub(super) unsafe fn last(self, place: u32, limit: u32) -> Option<u32> {
        let row = (limit / WARP).wrapping_sub(self.lane);
        // SAFETY: only rows that are there are read.
        unsafe {
            let mut heads = 0;
            if row <= limit / WARP && row >= place / WARP {
                heads = *self.rows.add(row as usize);
                if self.lane == 0 {
                    heads &= u32::MAX >> (WARP - 1 - limit % WARP);
                }
                if row == place / WARP {
                    heads &= u32::MAX.wrapping_shl(place % WARP) << 1;
                }
            }
            let found = warp::warp_vote_ballot(u32::MAX, heads != 0);
            if found == 0 {
                return None;
            }
            let lane = found.trailing_zeros();
            let heads = warp::warp_shuffle_idx(u32::MAX, heads, lane, WARP).0;
            Some((limit / WARP - lane) * WARP + (WARP - 1 - heads.leading_zeros()))
        }
    }

    /// Calls `put` with the number of a run and the place of its head, for each head in the rows
    /// from that of `place` up to `end`, in any order. Each thread of the block has some of them.
    /// The end of an array may be among them. Where a row has few heads, most lanes have no work.
    ///
    /// # Safety
    /// A barrier is behind [`count`](Self::count), and the window has the places.
    #[inline(always)]
    pub(super) unsafe fn many(self, place: u32, end: u32, mut put: impl FnMut(u32, u32)) {
        let before = lower(self.lane);
        let mut row = place / WARP + thread::thread_idx_x() / WARP;
        while row * WARP < end {
            control::keep_rolled();
            // SAFETY: the caller's contract.
            let (heads, first) = unsafe { self.row(row) };
            if heads >> self.lane & 1 != 0 {
                put(first + (heads & before).count_ones(), row * WARP + self.lane);
            }
            row += WARPS;
        }
    }

    /// Does what [`many`](Self::many) does, with half a row for each thread, which takes one head
    /// after the other.
    ///
    /// # Safety
    /// That of [`many`](Self::many).
    #[inline(always)]
    pub(super) unsafe fn few(self, place: u32, end: u32, mut put: impl FnMut(u32, u32)) {
        const HALF: u32 = WARP / 2;
        let mut half = place / WARP * 2 + thread::thread_idx_x();
        while half * HALF < end {
            control::keep_rolled();
            // SAFETY: the caller's contract.
            let (heads, before) = unsafe { self.row(half / 2) };
            let skipped = half % 2 * HALF;
            let mut number = before + (heads & lower(skipped)).count_ones();
            let mut heads = heads >> skipped & lower(HALF);
            while heads != 0 {
                control::keep_rolled();
                put(number, half * HALF + heads.trailing_zeros());
                number += 1;
                heads &= heads - 1;
            }
            half += THREADS;
        }
    }
}

/// The lower bits of a word: the first `count` ones, at most all.
#[inline(always)]
fn lower(count: u32) -> u32 {
    if count < WARP { (1 << count) - 1 } else { u32::MAX }
}
