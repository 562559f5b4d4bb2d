//! How the tasks of a row meet: the last task of each 32 polls the slots of the others.

use super::{Plan, tree};
use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::{MOST, Words};
use cuda_std::ext::{atomic, control, target};
use cuda_std::warp;

/// The tag of a word that a task has written. As in
/// [`grid_reduction`](crate::grid_reduction::Polled), value and tag are one 64-bit access.
const TAG: u64 = 1 << 48;

/// How many slots a lane reads one after the other into shared memory before it combines them.
const BATCH: u32 = 8;

/// What a warp needs to meet the other warps that work on its rows.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub slots: *mut u64,
    /// The number of the slot of this lane's row in the group's first task.
    pub first: u64,
    /// Shared memory of this warp for the words of [`BATCH`] slots of each lane.
    pub words: *mut u32,
    pub stack: tree::Stack,
    pub lane: u32,
    /// Whether this lane's row exists.
    pub is_row: bool,
}

impl Meeting {
    /// Passes on the accumulators of the rows of task number `task` of a group. Returns the
    /// accumulators of the whole rows, and whether this warp is the one that has them.
    ///
    /// # Safety
    /// The whole warp calls this. The launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn combine<R: Reduction>(
        self,
        acc: R::Acc,
        task: u32,
        plan: &Plan,
    ) -> (R::Acc, bool) {
        let lanes = 1u32 << plan.lanes;
        let (is_first, is_row) = (self.lane & (lanes - 1) == 0, self.is_row);
        let slot = |task: u32| {
            let number = self.first + u64::from(task) * u64::from(plan.tile_rows);
            self.slots.wrapping_add(number as usize * R::Acc::COUNT)
        };
        let mut acc = acc;
        // Where the task stands among the tasks that are left, of which each stands for `width`
        // tasks.
        let (mut element, mut elements, mut width) = (task, plan.tasks, 1);
        // SAFETY: a slot is written by the task that it belongs to, and read by the last of its 32
        // alone, which writes no slot of its own at this level. The branches are the same in all
        // lanes, except where no lane calls another.
        unsafe {
            // The tile, whose place the words take, is not read any more.
            warp::sync_warp(u32::MAX);
            while elements > 1 {
                control::keep_rolled();
                let before = element % WARP;
                if before != WARP - 1 && element != elements - 1 {
                    if is_first && is_row {
                        let words = acc.to_words();
                        each(R::Acc::COUNT, |i| {
                            atomic::store_relaxed(slot(task).add(i), TAG | u64::from(words[i]));
                        });
                    }
                    return (acc, false);
                }
                // Each lane of a row takes as many of the 32, and this task is the last of them.
                let share = WARP >> plan.lanes;
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
                    let batch = (count - done).min(BATCH);
                    let from = first + done;
                    // The end of the tasks that element `from` stands for, less one.
                    let group = element - before;
                    let of = |i: u32| slot((group + from + i + 1) * width - 1);
                    let others = before.saturating_sub(from).min(batch);
                    self.poll::<R>(of, if is_row { others } else { 0 }, batch);
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
                acc = tree::lanes::<R>(acc, plan.lanes);
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
    /// clears them. The places of the other slots of the batch get any values.
    ///
    /// # Safety
    /// The slots below `count` are there, and some task writes them.
    #[inline(always)]
    unsafe fn poll<R: Reduction>(self, slot: impl Fn(u32) -> *mut u64, count: u32, batch: u32) {
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
            let mut found = [[0u32; MOST]; 4];
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
                    if tags != 0 {
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
