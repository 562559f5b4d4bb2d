//! How the tasks of a row meet: the last one of some tasks polls the slots of the others.

use super::tree;
use crate::Reduction;
use crate::unroll::{self, each};
use crate::warp::WARP;
use crate::words::{LONGEST, Words};
use cuda_std::ext::{atomic, control, target};
use cuda_std::warp;

/// The tag of a word that a task has written. As in
/// [`grid_reduction`](crate::grid_reduction::Polled), value and tag are one 64-bit access.
const TAG: u64 = 1 << 48;

/// After so many polls, some milliseconds, a lane looks whether the task that it waits for exists.
const PATIENCE: u32 = 1 << 14;

/// How many slots of an accumulator a lane reads at once. The answers need registers, and older
/// devices need more of them for their copies.
#[inline(always)]
fn at_once<A: Words>() -> u32 {
    match A::COUNT {
        _ if target::arch() < 800 => 1,
        1 => 8,
        2 => 4,
        3 | 4 => 2,
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
    /// The number of this warp among those that wait together for the tasks of its rows.
    pub member: u32,
    /// 2 to this number is the number of such warps.
    pub members: u32,
    pub stack: tree::Stack,
    pub lane: u32,
    /// Whether this lane's row exists.
    pub is_row: bool,
}

/// The slots of a row that a lane waits for.
#[derive(Clone, Copy)]
struct Share {
    /// The number of the first one among the tasks that meet.
    first: u32,
    /// How many tasks before the last one there are.
    before: u32,
    /// How many of the tasks from `first` on are those of this lane.
    count: u32,
}

impl Meeting {
    /// 2 to this number is how many tasks meet at a time: as many as the lanes of a row read at
    /// once, because each meeting takes the time of a way through memory and back.
    #[inline(always)]
    fn most<A: Words>(self) -> u32 {
        (self.lanes * at_once::<A>()).max(WARP).trailing_zeros() + self.members
    }

    /// Whether task number `task` of the row's `tasks` is one that waits for others.
    #[inline(always)]
    pub(crate) fn waits<A: Words>(self, task: u32) -> bool {
        let last = (1 << self.most::<A>()) - 1;
        task & last == last || task == self.tasks - 1
    }

    /// Passes on the accumulators of task number `task` of each row. Returns the accumulators of
    /// the whole rows, which the first member has, and whether there are any. `slot_of` gives the
    /// number of the slot of a task of this lane's row. `gather` combines the accumulators of the
    /// members, and gives the result to all of them. If `are_wrong` says so, a task may never come.
    ///
    /// # Safety
    /// The whole warp calls this, and so do the other members, with the same accumulators. The
    /// launch keeps [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(crate) unsafe fn combine<R: Reduction>(
        self,
        acc: R::Acc,
        task: u32,
        slot_of: impl Fn(u32) -> u64,
        gather: impl Fn(R::Acc) -> R::Acc,
        are_wrong: impl Fn(u32) -> bool,
    ) -> (R::Acc, bool) {
        let lanes = self.lanes;
        let (number, most) = (self.lane & (lanes - 1), self.most::<R::Acc>());
        let slot = |task: u32| self.slots.wrapping_add(slot_of(task) as usize * R::Acc::COUNT);
        let mut acc = acc;
        // The task is an element of those that are left, of which each stands for `width` tasks.
        let (mut left, mut element, mut width) = (self, task, 1);
        // SAFETY: a slot is written by the task that it belongs to, and read by the last of those
        // that meet, which writes no slot of its own at this level. The branches are the same in
        // all lanes, except where no lane calls another, and in all members.
        unsafe {
            while left.tasks > 1 {
                control::keep_rolled();
                if !left.waits::<R::Acc>(element) {
                    if number == 0 && self.member == 0 && self.is_row {
                        post::<R>(self.slots, slot_of(task), acc);
                    }
                    return (acc, false);
                }
                // The lanes divide the elements that meet, of which this task is the last one. The
                // other members are asked only if the lanes of the first one cannot read all at
                // once.
                let before = element & ((1 << most) - 1);
                let leaves = 1u32 << (u32::BITS - before.leading_zeros());
                let of_warp = leaves >> lanes.trailing_zeros();
                let count = of_warp.min(at_once::<R::Acc>().max(of_warp >> self.members)).max(1);
                let first = (self.member * lanes + number) * count;
                let share = Share { first, before, count: count.min(before + 1) };
                // The end of the tasks that an element stands for, less one.
                let of = |i: u32| slot((element - before + i + 1) * width - 1);
                acc = self.poll::<R>(acc, share, of, &are_wrong);
                acc = tree::lanes::<R>(acc, tree::Parts::Even, lanes);
                element >>= most;
                left.tasks = ((left.tasks - 1) >> most) + 1;
                width <<= most;
                // Without the others, the first member has all that is asked for in the end.
                if of_warp > count || left.tasks > 1 {
                    acc = gather(acc);
                }
            }
        }
        (acc, true)
    }

    /// Waits for the slots of a lane, clears them, and combines what they had. The accumulator of
    /// this warp is `own`, in the first lane of each row. If what is in memory is wrong, a task may
    /// never come; then all slots are taken as they are.
    ///
    /// # Safety
    /// The whole warp calls this. The slots are there, and some task writes them.
    #[inline(always)]
    unsafe fn poll<R: Reduction>(
        self,
        own: R::Acc,
        share: Share,
        slot: impl Fn(u32) -> *mut u64,
        are_wrong: &impl Fn(u32) -> bool,
    ) -> R::Acc {
        let Share { first, before, count } = share;
        let leader = self.lane & !(self.lanes - 1);
        let words = own.to_words();
        let own = R::Acc::from_words(&|i| {
            // SAFETY: the caller brings the whole warp.
            unsafe { warp::warp_shuffle_idx(u32::MAX, words[i], leader, WARP).0 }
        });
        let others = if self.is_row { before } else { 0 };
        let mut acc = own;
        let mut done = 0;
        while done < count {
            control::keep_rolled();
            let turns = at_once::<R::Acc>();
            let from = first + done;
            let is_own = |k: u32| from + k == before && k < count - done;
            let is_other = |k: u32| from + k < others && k < count - done;
            let mut found = [[0u32; LONGEST]; 8];
            let mut polls = 0;
            // SAFETY: the caller's contract.
            unsafe {
                loop {
                    control::keep_rolled();
                    let mut tags = TAG;
                    each(turns as usize, |k| {
                        if is_other(k as u32) {
                            each(R::Acc::COUNT, |i| {
                                let word = atomic::load_relaxed(slot(from + k as u32).add(i));
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
                each(turns as usize, |k| {
                    if is_other(k as u32) {
                        let slot = slot(from + k as u32);
                        each(R::Acc::COUNT, |i| atomic::store_relaxed(slot.add(i), 0));
                    }
                });
                // Words are chosen here, and not accumulators, because LLVM would keep those in
                // local memory.
                let leaf = |k: usize| {
                    let (is_own, is_other) = (is_own(k as u32), is_other(k as u32));
                    R::Acc::from_words(&|word| {
                        let (own, none) = (own.word(word), R::identity().word(word));
                        let rest = if is_own { own } else { none };
                        if is_other { found[k][word] } else { rest }
                    })
                };
                // A tree of one leaf would keep a long accumulator in local memory.
                let part = match turns {
                    1 => leaf(0),
                    _ => unroll::tree(turns as usize, leaf, R::append),
                };
                let number = done / turns;
                done += turns;
                acc = self.stack.push::<R>(part, number, done >= count);
            }
        }
        acc
    }
}
