//! What the kernel for keys leaves over of each window: a record, which the kernel for what is left
//! takes.

use crate::segments::Found;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::atomic;
use cuda_std::{thread, warp};

/// 64-bit words of a record.
pub const WORDS: u32 = 2;

/// The bits of a number of runs of one window.
const BITS: u32 = 13;

/// The bits of a run in the list of long ones, which has as many as fit into a word.
const LONG_BITS: u32 = 16;

/// The most runs of an array: as many as the rest of a word can count.
pub const MOST_RUNS: u64 = 1 << (u64::BITS - 2 * BITS);

const _: () = assert!(super::MOST < 1 << BITS && super::MOST < 1 << LONG_BITS);

/// What is known of the runs that begin in a window.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// The number of runs that begin before the window.
    pub before: u64,
    /// The runs of the window from this one on are left over.
    pub done: u32,
    /// The number of runs that begin in the window.
    pub all: u32,
    /// Single runs before those, which are left over too: a few long ones.
    pub long: Long,
}

/// A list of a few runs of a window. Each entry is the number of a run and 1 more.
#[derive(Clone, Copy, Default)]
pub(super) struct Long {
    entries: u64,
}

impl Long {
    /// Whether there is room for one more run.
    #[inline(always)]
    pub(super) fn has_room(self) -> bool {
        self.entries >> (u64::BITS - LONG_BITS) == 0
    }
    /// The list with one more run.
    #[inline(always)]
    pub(super) fn with(self, run: u32) -> Self {
        Self { entries: self.entries << LONG_BITS | u64::from(run + 1) }
    }
}

impl Record {
    /// Leaves the record of a window.
    ///
    /// # Safety
    /// The window has a record, which no other thread uses, and one thread calls this.
    #[inline(always)]
    pub(super) unsafe fn leave(self, records: *mut u64, window: u32) {
        let numbers = u64::from(self.done) | u64::from(self.all) << BITS;
        let record = records.wrapping_add((window * WORDS) as usize);
        // SAFETY: the caller's contract.
        unsafe {
            atomic::store_relaxed(record, self.before << (2 * BITS) | numbers);
            atomic::store_relaxed(record.add(1), self.long.entries);
        }
    }
}

/// What is left over of the windows that a warp takes: up to one for each lane.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    /// The record of this lane's window.
    record: u64,
    long: u64,
    /// The lanes whose windows have something left over.
    lanes: u32,
    /// The lane whose window the warp works on, and what it has not taken of that window.
    lane: u32,
    listed: u64,
    /// The window of lane 0, and how many windows lie between those of two lanes.
    first: u32,
    apart: u32,
}

impl Left {
    /// Takes the records of the windows `first`, `first + apart`, and so on, of `windows` windows.
    /// Their words are 0 again then. `has_task` tells for a window, and the number of the last run
    /// before it, whether that has a task in the window.
    ///
    /// # Safety
    /// Each window has a record, which no other warp uses, and the whole warp calls this. A warp
    /// has at most as many windows as lanes.
    #[inline(always)]
    pub(crate) unsafe fn take(
        records: *mut u64,
        first: u32,
        apart: u32,
        windows: u32,
        has_task: impl Fn(u32, u64) -> bool,
    ) -> Self {
        let lane = thread::thread_idx_x() % WARP;
        let window = first + lane * apart;
        let (mut record, mut long, mut is_left) = (0, 0, false);
        // SAFETY: the caller's contract.
        unsafe {
            if window < windows {
                let place = records.wrapping_add((window * WORDS) as usize);
                record = atomic::load_relaxed(place);
                long = atomic::load_relaxed(place.add(1));
                each(WORDS as usize, |i| atomic::store_relaxed(place.add(i), 0));
                let (before, done, all) = parts(record);
                is_left = done < all || long != 0 || has_task(window, before.wrapping_sub(1));
            }
            let lanes = warp::warp_vote_ballot(u32::MAX, is_left);
            Self { record, long, lanes, lane: 0, listed: 0, first, apart }
        }
    }

    /// A window, and what is left over of it. A window with long runs comes several times.
    ///
    /// # Safety
    /// The whole warp calls this.
    #[inline(always)]
    pub(crate) unsafe fn next(&mut self) -> Option<(u32, Found)> {
        // SAFETY: the caller's contract.
        unsafe {
            if self.lanes == 0 {
                return None;
            }
            let lane = self.lanes.trailing_zeros();
            let of = |value: u64| warp::warp_shuffle_idx(u32::MAX, value, lane, WARP).0;
            let (record, long) = (of(self.record), of(self.long));
            let (before, done, all) = parts(record);
            let is_begin = self.lane != lane + 1;
            if is_begin {
                self.lane = lane + 1;
                self.listed = long;
            }
            let (mut from, mut until) = (done, all);
            if self.listed == 0 {
                self.lanes &= self.lanes - 1;
            } else {
                from = self.listed as u32 % (1 << LONG_BITS) - 1;
                until = from + 1;
                self.listed >>= LONG_BITS;
            }
            let found =
                Found { base: before.wrapping_sub(1), count: until + 1, done: from, is_begin };
            Some((self.first + lane * self.apart, found))
        }
    }
}

/// The number of runs before a window, how many of its own are not left over, and the number of
/// its own.
#[inline(always)]
fn parts(record: u64) -> (u64, u32, u32) {
    let number = |shift: u32| (record >> shift) as u32 & ((1 << BITS) - 1);
    (record >> (2 * BITS), number(0), number(BITS))
}
