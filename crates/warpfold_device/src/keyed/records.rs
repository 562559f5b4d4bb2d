//! What the kernel for keys leaves over of each window: a record, which the kernel for what is left
//! takes.
//!
//! A record has a word with the number of runs before the window, as the block that adds up has
//! left it, and one with [a part](Part) of each warp. The words of the first kind lie before those
//! of the second kind.

use super::adder;
use crate::segments::Found;
use crate::unroll::each;
use crate::warp::WARP;
use core::ptr;
use cuda_std::ext::atomic;
use cuda_std::{thread, warp};

/// 64-bit words of a record.
pub const WORDS: u32 = 2;

/// The bits of a part.
const BITS: u32 = 16;

/// The parts of a record.
const PARTS: u32 = u64::BITS / BITS;

/// The bit of a part whose last run is left over.
const LAST: u32 = 1 << 14;

/// The bit of each part of a window that is left over as a whole.
const WHOLE: u32 = 1 << 15;

const _: () = assert!(super::WARPS == PARTS && super::MOST / PARTS < LAST);

/// The word that says which window the next block takes.
#[inline(always)]
pub(super) fn turn(words: *mut u64, windows: u32) -> *mut u32 {
    words.wrapping_add((windows * WORDS) as usize).cast()
}

/// What is known of the runs that begin in the rows of a warp.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// How many they are.
    pub runs: u32,
    /// Whether only the last one is left over.
    pub is_last_left: bool,
    /// Whether the window is left over as a whole.
    pub is_left: bool,
}

impl Part {
    /// Leaves the part of a warp in the record of one of `windows` windows.
    ///
    /// # Safety
    /// The whole warp calls this, and no thread reads the record during the launch.
    #[inline(always)]
    pub(super) unsafe fn leave(self, words: *mut u64, window: u32, windows: u32) {
        let (warp_of_block, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        let last = if self.is_last_left { LAST } else { 0 };
        let whole = if self.is_left { WHOLE } else { 0 };
        let parts = words.wrapping_add((windows + window) as usize).cast::<u16>();
        // SAFETY: the caller's contract.
        unsafe {
            if lane == 0 {
                parts.add(warp_of_block as usize).write((self.runs | last | whole) as u16);
            }
        }
    }
}

/// The records of a launch.
#[derive(Clone, Copy)]
pub struct Records {
    /// The words of the records, and one more.
    pub words: *mut u64,
    /// The number of windows.
    pub windows: u32,
    /// 2 to this number are the windows of a group. Each group is a range.
    pub group: u32,
}

impl Records {
    /// No records.
    pub const NONE: Self = Self { words: ptr::null_mut(), windows: 0, group: 0 };

    /// The number of groups.
    #[inline(always)]
    pub const fn groups(self) -> u32 {
        ((self.windows - 1) >> self.group) + 1
    }
}

/// What is left over of the groups that a warp takes. Each lane has a window.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    /// The number of runs before this lane's window, and the parts of its record.
    before: u64,
    parts: u64,
    /// The lanes whose windows have something left over, and those whose windows are left over as a
    /// whole.
    lanes: u32,
    whole: u32,
    /// The lane whose window has been begun, and 1 more.
    begun: u32,
    /// The parts of that window whose last run has not been taken.
    singles: u32,
    /// 2 to this number are the lanes of a group.
    group: u32,
    /// The first group, and how many groups lie between those of neighbouring lanes.
    first: u32,
    apart: u32,
}

impl Left {
    /// Takes the records of the groups `first`, `first + apart`, and so on. Their words are 0 again
    /// then. `has_task` tells for a group, and the number of the last run before it, whether that
    /// has a task in the group.
    ///
    /// # Safety
    /// Each window has a record, which no other warp uses, and the whole warp calls this. A warp
    /// has at most as many windows as lanes.
    #[inline(always)]
    pub(crate) unsafe fn take(
        records: Records,
        first: u32,
        apart: u32,
        has_task: impl Fn(u32, u64) -> bool,
    ) -> Self {
        let lane = thread::thread_idx_x() % WARP;
        let group = records.group;
        let of_group = lane % (1 << group);
        let number = first + (lane >> group) * apart;
        let window = (number << group) + of_group;
        let (mut before, mut parts, mut is_left) = (0, 0, false);
        // SAFETY: the caller's contract.
        unsafe {
            if window < records.windows {
                let word = records.words.wrapping_add(window as usize);
                let other = word.wrapping_add(records.windows as usize);
                before = adder::sum(atomic::load_relaxed(word));
                parts = atomic::load_relaxed(other);
                atomic::store_relaxed(word, 0);
                atomic::store_relaxed(other, 0);
                let flags = u64::from(LAST | WHOLE) * (u64::MAX / ((1 << BITS) - 1));
                is_left = parts & flags != 0;
                is_left |= of_group == 0 && has_task(number, before.wrapping_sub(1));
            }
            if first == 0 && lane == 0 {
                turn(records.words, records.windows).write(0);
            }
            let lanes = warp::warp_vote_ballot(u32::MAX, is_left);
            let whole = warp::warp_vote_ballot(u32::MAX, parts as u32 & WHOLE != 0);
            Self { before, parts, lanes, whole, begun: 0, singles: 0, group, first, apart }
        }
    }

    /// A group, and what is left over of it. A group may come several times.
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
            let of = |value: u64, lane| warp::warp_shuffle_idx(u32::MAX, value, lane, WARP).0;
            let before = of(self.before, lane);
            let range = self.first + (lane >> self.group) * self.apart;
            let in_group = lane % (1 << self.group);
            let is_begin = in_group == 0 && self.begun != lane + 1;
            let base = before.wrapping_sub(1);
            // Neighbouring windows that are left over as a whole are one range of runs.
            let whole = (self.whole >> lane).trailing_ones().min((1 << self.group) - in_group);
            if whole > 0 {
                let last = lane + whole - 1;
                let end = runs_up_to(of(self.parts, last), PARTS);
                let count = (of(self.before, last) - before) as u32 + end;
                self.lanes &= u32::MAX.wrapping_shl(last) << 1;
                return Some((range, Found { base, count: count + 1, done: 0, is_begin }));
            }
            let parts = of(self.parts, lane);
            if self.begun != lane + 1 {
                self.begun = lane + 1;
                self.singles = 0;
                each(PARTS as usize, |i| {
                    let is_left = (parts >> (i as u32 * BITS)) as u32 & LAST != 0;
                    self.singles |= u32::from(is_left) << i;
                });
            }
            // Without a single run there is only the task.
            let (mut done, mut count) = (0, 1);
            if self.singles != 0 {
                let part = self.singles.trailing_zeros();
                self.singles &= self.singles - 1;
                let until = runs_up_to(parts, part + 1);
                (done, count) = (until - 1, until + 1);
            }
            if self.singles == 0 {
                self.lanes &= self.lanes - 1;
            }
            Some((range, Found { base, count, done, is_begin }))
        }
    }
}

/// The number of runs of the first `count` parts.
#[inline(always)]
fn runs_up_to(parts: u64, count: u32) -> u32 {
    let mut runs = 0;
    each(PARTS as usize, |i| {
        let of_part = (parts >> (i as u32 * BITS)) as u32 & (LAST - 1);
        runs += if (i as u32) < count { of_part } else { 0 };
    });
    runs
}
