//! How the tasks of a row meet: those of a team in shared memory, and teams by words in the
//! workspace.

use super::columns::{self, log, place};
use super::{Plan, SHARE, Tile, WARPS, buffer, finish, index, tree};
use crate::Reduction;
use crate::source::Source;
use crate::unroll::{self, each};
use crate::warp::WARP;
use crate::words::Words;
use cuda_std::thread;

/// Leaves the accumulators of a warp in its buffer, for the first warp of its team.
///
/// # Safety
/// The buffer of the warp begins at `buffer`, and is neither read nor copied to any more.
#[inline(always)]
pub(super) unsafe fn leave<A: Words>(acc: A, buffer: *mut u8, lane: u32) {
    let place = place(buffer, A::COUNT, 0, lane);
    // SAFETY: the words of all lanes are shorter than a buffer.
    each(A::COUNT, |i| unsafe { *place.add(i * WARP as usize) = acc.word(i) });
}

/// A warp of a team that finishes rows of its group.
#[derive(Clone, Copy)]
pub(super) struct Team {
    /// The buffer of the first warp of the team.
    pub first: *mut u8,
    /// The buffer of this warp.
    pub own: *mut u8,
    pub lane: u32,
    pub stack: tree::Stack,
    pub slots: *mut u64,
    /// The number of the team among those of its group.
    pub number: u32,
    /// The columns of a lane, unless the tiles were in shared memory.
    pub columns: Option<u32>,
}

impl Team {
    /// Combines the accumulators of the team for some of its rows, and passes on what these rows
    /// have become. Columns have several slices of rows, and `slice` is the number of one.
    /// Otherwise it is the number of this warp in the team: if there are several teams, all warps
    /// of each call this, unless the order of the elements does not matter.
    ///
    /// # Safety
    /// The whole warp calls this with a tile of the group, after a barrier behind which all warps
    /// of the team have left their accumulators. The launch keeps
    /// [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn finish<R: Reduction>(
        self,
        source: R::Source,
        output: *mut R::Raw,
        slice: u32,
        here: Tile,
        plan: &Plan,
    ) {
        // The row of this lane, how many lanes it has, and where its accumulators lie in the
        // buffers of the team. Then the number of this warp among those that meet other teams, and
        // the logarithm of how many they are.
        let (row, lanes, column, from, member, members) = match self.columns {
            None => {
                let row = (self.lane * plan.lane_share) >> SHARE;
                let members = if R::IN_ANY_ORDER { 0 } else { plan.team };
                (row, plan.lanes, 0, self.lane, slice, members)
            }
            Some(columns) => {
                let lanes = columns::lanes_of_column(plan, columns);
                let row = (slice * WARP + self.lane) >> log(lanes);
                let (unit, column) = (row / columns, row % columns);
                // A lane without a row looks at another one.
                let from = (unit << log(plan.lanes)) & (WARP - 1);
                (row, lanes, column, from, 0, 0)
            }
        };
        let is_row = row < here.rows(plan);
        let first_task = self.number << plan.team;
        let teams = (plan.tasks + (1 << plan.team) - 1) >> plan.team;
        let count = (1 << plan.team).min(plan.tasks - first_task);
        // SAFETY: the caller's contract.
        unsafe {
            let mut acc = self.gather::<R>(count, plan, column, from);
            let mut is_whole = teams == 1;
            if !is_whole {
                let base = u64::from(here.group) * u64::from(teams);
                let first = base * u64::from(plan.tile_rows) + u64::from(row);
                let (slots, stack, lane) = (self.slots, self.stack, self.lane);
                let meeting = finish::Meeting {
                    slots,
                    tasks: teams,
                    lanes,
                    member,
                    members,
                    stack,
                    lane,
                    is_row,
                };
                let slot_of = |team: u32| first + u64::from(team) * u64::from(plan.tile_rows);
                let gather = |acc: R::Acc| {
                    if R::IN_ANY_ORDER || members == 0 {
                        return acc;
                    }
                    // The team is the whole block. Its warps have read what is in the buffers.
                    thread::sync_threads();
                    leave(acc, self.own, lane);
                    thread::sync_threads();
                    self.gather::<R>(1 << members, plan, 0, lane)
                };
                (acc, is_whole) =
                    meeting.combine::<R>(acc, self.number, slot_of, gather, |_| false);
            }
            if is_whole && member == 0 && self.lane & (lanes - 1) == 0 && is_row {
                let row = here.row(plan) + u64::from(row);
                R::write(acc, output, row, index, source, self.slots);
            }
        }
    }

    /// Combines the accumulators that the first `count` warps of the team have left for a column,
    /// at the places of lane number `from`.
    ///
    /// # Safety
    /// They are there.
    #[inline(always)]
    unsafe fn gather<R: Reduction>(
        self,
        count: u32,
        plan: &Plan,
        column: u32,
        from: u32,
    ) -> R::Acc {
        let buffer = buffer(R::Source::ARRAYS);
        let left = |i: u32| {
            // SAFETY: the caller's contract.
            unsafe {
                let buffer = self.first.add(((1 << plan.apart()) * i) as usize * buffer);
                let place = place(buffer, R::Acc::COUNT, column, from);
                R::Acc::from_words(&|word| {
                    if i < count {
                        *place.add(word * WARP as usize)
                    } else {
                        R::identity().word(word)
                    }
                })
            }
        };
        // Short ones are all read at once, because a lane would wait for each.
        if R::Acc::COUNT <= 2 {
            return unroll::tree(WARPS as usize, |i| left(i as u32), R::append);
        }
        let mut acc = R::identity();
        let mut i = 0;
        while i < count {
            i += 1;
            // SAFETY: the accumulators of the warps come in order.
            acc = unsafe { self.stack.push::<R>(left(i - 1), i - 1, i == count) };
        }
        acc
    }
}
