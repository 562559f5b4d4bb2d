//! How the tasks of a row meet: those of a team in shared memory, and teams by words in the
//! workspace.

use super::{Plan, SHARE, Tile, WARPS, buffer, finish, index, tree};
use crate::Reduction;
use crate::source::Source;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;

/// The words of a lane in the buffer of its warp, which begins at `tile`.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "a buffer begins at a pack")]
fn place(tile: *mut u8, lane: u32) -> *mut u32 {
    tile.cast::<u32>().wrapping_add(lane as usize)
}

/// Leaves the accumulators of a warp in its buffer, for the first warp of its team.
///
/// # Safety
/// The buffer of the warp begins at `tile`, and is neither read nor copied to any more.
#[inline(always)]
pub(super) unsafe fn leave<A: Words>(acc: A, tile: *mut u8, lane: u32) {
    let place = place(tile, lane);
    // SAFETY: the words of all lanes are shorter than a buffer.
    each(A::COUNT, |i| unsafe { *place.add(i * WARP as usize) = acc.word(i) });
}

/// The first warp of a team.
#[derive(Clone, Copy)]
pub(super) struct Team {
    /// The buffer of this warp, behind which those of the other warps of the team lie.
    pub tiles: *mut u8,
    pub lane: u32,
    pub stack: tree::Stack,
    pub slots: *mut u64,
    /// The number of the team among those of its group.
    pub number: u32,
}

impl Team {
    /// Combines the accumulators of the team, and passes on what its rows have become.
    ///
    /// # Safety
    /// The whole warp calls this with the last tile of its task, after a barrier behind which all
    /// warps of the team have left their accumulators. The launch keeps
    /// [its contract](super#the-launchs-contract).
    #[inline(always)]
    pub(super) unsafe fn finish<R: Reduction>(
        self,
        source: R::Source,
        output: *mut R::Raw,
        here: Tile,
        plan: &Plan,
    ) {
        let row = (self.lane * plan.lane_share) >> SHARE;
        let is_row = row < here.rows(plan);
        let teams = (plan.tasks + (1 << plan.team) - 1) >> plan.team;
        let count = (1 << plan.team).min(plan.tasks - here.task);
        let mut acc = R::identity();
        // SAFETY: the caller's contract.
        unsafe {
            let mut i = 0;
            while i < count {
                let buffer = buffer(R::Source::ARRAYS);
                let place =
                    place(self.tiles.add(((WARPS >> plan.team) * i) as usize * buffer), self.lane);
                let left = R::Acc::from_words(&|word| *place.add(word * WARP as usize));
                i += 1;
                acc = self.stack.push::<R>(left, i - 1, i == count);
            }
            let mut is_whole = teams == 1;
            if !is_whole {
                let base = u64::from(here.group) * u64::from(teams);
                let first = base * u64::from(plan.tile_rows) + u64::from(row);
                let meeting = finish::Meeting {
                    slots: self.slots,
                    tasks: teams,
                    lanes: plan.lanes,
                    words: self.tiles.cast(),
                    stack: self.stack,
                    lane: self.lane,
                    is_row,
                };
                let slot_of = |team: u32| first + u64::from(team) * u64::from(plan.tile_rows);
                (acc, is_whole) = meeting.combine::<R>(acc, self.number, slot_of, |_| false);
            }
            if is_whole && self.lane & (plan.lanes - 1) == 0 && is_row {
                let row = here.row(plan) + u64::from(row);
                R::write(acc, output, row, index, source, self.slots);
            }
        }
    }
}
