//! How the tasks of a row meet: the last task of each 32 polls the slots of the others.

use super::columns::log;
use super::tree;
use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::{LONGEST, Words};
use cuda_std::ext::{atomic, control, target};
use cuda_std::warp;

/// The tag of a word that a task has written. As in
/// [`grid_reduction`](crate::grid_reduction::Polled), value and tag are one 64-bit access.
const TAG: u64 = 1 << 48;

/// After so many polls, some milliseconds, a lane looks whether the task that it waits for exists.
const PATIENCE: u32 = 1 << 14;

/// How many slots of `words` words a lane reads into shared memory before it combines them. The
/// slots of all lanes fit where a tile was.
pub(crate) const fn batch(words: usize) -> u32 {
    match words {
        ..=4 => 8,
        5..=8 => 4,
        _ => 1,
    }
}

/// Leaves the accumulator of a task in slot number `slot`, for the task that waits for it.
///
/// # Safety
/// There is such a slot, and one lane calls this.
#[inline(always)]
pub(crate) unsafe fn post<R: Reduction>(slots: *mut u64, slot: u64, acc: R::Acc) {
    let words = acc.to_words();
    let slot = slots.wrapping_add(slot as usize * R::Acc::COUNT);
    // SAFETY: the caller's contract.
    each(R::Acc::COUNT, |i| unsafe {
        atomic::store_relaxed(slot.wrapping_add(i), TAG | u64::from(words[i]));
    });
}

/// What a warp needs to meet the other warps that work on its rows.
#[derive(Clone, Copy)]
pub(crate) struct Meeting {
    pub slots: *mut u64,
    /// The number of tasks of a row.
    pub tasks: u32,
    /// The number of lanes of a row, a power of two.
    pub lanes: u32,
    /// Shared memory of the warp, with room for so many slots of each lane.
    pub words: *mut u32,
    pub batch: u32,
    pub stack: tree::Stack,
    pub lane: u32,
    /// Whether this lane's row exists.
    pub is_row: bool,
}

/// Whether task number `task` of so many is one that waits for others.
#[inline(always)]
pub(crate) fn waits(task: u32, tasks: u32) -> bool {
    task % WARP == WARP - 1 || task == tasks - 1
}

impl Meeting {
    /// Passes on the accumulators of task number `task` of each row. Returns the accumulators of
    /// the whole rows, and whether this warp is the one that has them. `slot_of` gives the number
    /// of the slot of a task of this lane's row. If `are_wrong` says so, a task may never come.
    ///
    /// # Safety
    /// The whole warp calls this. The launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(crate) unsafe fn combine<R: Reduction>(
        self,
        acc: R::Acc,
        task: u32,
        slot_of: impl Fn(u32) -> u64,
        are_wrong: impl Fn(u32) -> bool,
    ) -> (R::Acc, bool) {
        let lanes = self.lanes;
        let (is_first, is_row) = (self.lane & (lanes - 1) == 0, self.is_row);
        let slot = |task: u32| self.slots.wrapping_add(slot_of(task) as usize * R::Acc::COUNT);
        let mut acc = acc;
        // Where the task stands among the tasks that are left, of which each stands for `width`
        // tasks.
        let (mut element, mut elements, mut width) = (task, self.tasks, 1);
        // SAFETY: a slot is written by the task that it belongs to, and read by the last of its 32
        // alone, which writes no slot of its own at this level. The branches are the same in all
        // lanes, except where no lane calls another.
        unsafe {
            // The tile, whose place the words take, is not read any more.
            warp::sync_warp(u32::MAX);
            while elements > 1 {
                control::keep_rolled();
                let before = element % WARP;
                if !waits(element, elements) {
                    if is_first && is_row {
                        post::<R>(self.slots, slot_of(task), acc);
                    }
                    return (acc, false);
                }
                // Each lane of a row takes as many of up to 32, and this task is the last of them.
                let leaves = 1 << (u32::BITS - before.leading_zeros());
                let share = if lanes == WARP { 1 } else { (leaves >> log(lanes)).max(1) };
                let first = (self.lane & (lanes - 1)) * share;
                let count = share.min(before + 1);
                let words = acc.to_words();
                let leader = self.lane & !(lanes - 1);
                let own = R::Acc::from_words(&|i| {
                    warp::warp_shuffle_idx(u32::MAX, words[i], leader, WARP).0
                });
                let mut done = 0;
                while done < count {
                    control::keep_rolled();
                    let batch = (count - done).min(self.batch);
                    let from = first + done;
                    // The end of the tasks that element `from` stands for, less one.
                    let group = element - before;
                    let of = |i: u32| slot((group + from + i + 1) * width - 1);
                    let others = before.saturating_sub(from).min(batch);
                    self.poll::<R>(of, if is_row { others } else { 0 }, batch, &are_wrong);
                    let mut i = 0;
                    while i < batch {
                        control::keep_rolled();
                        let leaf = from + i;
                        let read = self.leaf(i, R::Acc::COUNT);
                        let is_other = is_row && leaf < before;
                        // Words are chosen here, and not accumulators, because LLVM would keep
                        // those in local memory.
                        let value = R::Acc::from_words(&|word| {
                            let (own, none) = (own.word(word), R::identity().word(word));
                            let rest = if leaf == before { own } else { none };
                            if is_other { *read.add(word * WARP as usize) } else { rest }
                        });
                        acc = self.stack.push::<R>(value, done + i, done + i + 1 == count);
                        i += 1;
                    }
                    done += batch;
                }
                acc = tree::lanes::<R>(acc, tree::Parts::Even, lanes);
                element /= WARP;
                elements = elements.div_ceil(WARP);
                width *= WARP;
            }
        }
        (acc, true)
    }

    /// The place in shared memory of slot `i` of a batch.
    #[inline(always)]
    fn leaf(self, i: u32, count: usize) -> *mut u32 {
        let place = i as usize * count * WARP as usize + self.lane as usize;
        self.words.wrapping_add(place)
    }

    /// Waits for the first `count` of a batch of slots, moves their words to shared memory and
    /// clears them. The places of the other slots of the batch get any values. If what is in memory
    /// is wrong, a task may never come; then all slots are taken as they are.
    ///
    /// # Safety
    /// The slots below `count` are there, and some task writes them.
    #[inline(always)]
    unsafe fn poll<R: Reduction>(
        self,
        slot: impl Fn(u32) -> *mut u64,
        count: u32,
        batch: u32,
        are_wrong: &impl Fn(u32) -> bool,
    ) {
        // So many slots are read before the lane looks at the first one.
        let at_once: u32 = match R::Acc::COUNT {
            // Each slot needs registers, and older devices need more for their copies.
            _ if target::arch() < 800 => 1,
            1 => 4,
            2 => 2,
            _ => 1,
        };
        let mut first = 0;
        while first < batch {
            control::keep_rolled();
            let mut found = [[0u32; LONGEST]; 4];
            let mut polls = 0;
            // SAFETY: the caller's contract.
            unsafe {
                loop {
                    control::keep_rolled();
                    let mut tags = TAG;
                    each(at_once as usize, |k| {
                        let number = first + k as u32;
                        if number < count {
                            each(R::Acc::COUNT, |i| {
                                let word = atomic::load_relaxed(slot(number).add(i));
                                tags &= word;
                                found[k][i] = word as u32;
                            });
                        }
                    });
                    polls += 1;
                    if tags != 0 || polls % PATIENCE == 0 && are_wrong(polls / PATIENCE - 1) {
                        break;
                    }
                }
                each(at_once as usize, |k| {
                    let number = first + k as u32;
                    if number < batch {
                        each(R::Acc::COUNT, |i| {
                            *self.leaf(number, R::Acc::COUNT).add(i * WARP as usize) = found[k][i];
                        });
                    }
                    if number < count {
                        each(R::Acc::COUNT, |i| atomic::store_relaxed(slot(number).add(i), 0));
                    }
                });
            }
            first += at_once;
        }
    }
}
