//! What a lane makes of its part of a row.

use super::reader::{self, PACKS, Reader, WINDOW};
use super::source::RowSource;
use super::{LINE, PACK, PART_BYTES, Plan, SHARE, Tile, Tiles, WORD};
use crate::item::Pack;
use crate::unroll::each;
use crate::warp::WARP;
use crate::{Position, Reduction};
use cuda_std::ext::{control, target};

/// What a lane takes of the rows that a warp takes at a time.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The number of the row among them.
    pub row: u32,
    /// The number of the part in the row.
    pub number: u32,
    /// Whether the lane takes any.
    pub is_taken: bool,
}

impl Share {
    #[inline(always)]
    pub(super) fn new(lane: u32, plan: &Plan) -> Self {
        let row = (lane * plan.lane_share) >> SHARE;
        Self { row, number: lane - row * plan.lanes, is_taken: row < plan.rows_of_pass() }
    }
}

/// The accumulator of this lane's part of row number `row` of a tile, if there is such a row. If
/// the order does not matter, `before` is the accumulator of this lane's parts of the tiles before,
/// and becomes part of the result.
///
/// # Safety
/// The tile of each array has been copied to `tiles`, and all copies have arrived.
#[inline(always)]
pub(super) unsafe fn part<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    tiles: Tiles,
    share: Share,
    row: Option<u32>,
    before: R::Acc,
    here: Tile,
    [plan, second]: [&Plan; 2],
) -> R::Acc {
    let Tiles { start: [tile, second_tile], shift: [shift, second_shift] } = tiles;
    let is_pair = S::ARRAYS == 2;
    let most = PART_BYTES / S::ARRAYS as u32 / size_of::<S::Element>() as u32;
    let first = share.number * most;
    let there = if row.is_some() { here.steps(plan) } else { 0 };
    let row = row.unwrap_or(0);
    let count = there.saturating_sub(first).min(most);
    let packs = count / S::PER_PACK as u32;
    let at = shift + plan.row_at(row) + first * plan.step;
    let second_at = second_shift + row * second.row_step + first * second.step;
    // No closure has the plan, because LLVM may make a function of a long one.
    let index = here.step(plan) + u64::from(first);
    // A lane that reads several packs at once waits for shared memory once. Older devices have too
    // few registers for that, and packs of many narrow elements gain nothing, because their
    // arithmetic takes longer than the wait. Nor is there a gain if a thread goes on with a list.
    let is_wide = !is_pair
        && target::arch() >= 900
        && size_of::<S::Element>() >= WORD as usize
        && !R::IN_ANY_ORDER;
    // Most parts are whole.
    let is_full = is_wide && count == most;
    let size = size_of::<S::Element>() as u32;
    let begin = shift | plan.row_step;
    let are_packs = begin.is_multiple_of(PACK);
    // SAFETY: the elements below `count` are in the tile.
    unsafe {
        if is_full && plan.step == size && are_packs {
            let packs = if begin.is_multiple_of(LINE) {
                reader::line(tile, at)
            } else {
                reader::packs(tile, at)
            };
            return whole::<S, R>(source, packs, index);
        }
        if is_full && plan.step == WARP * size {
            return whole::<S, R>(source, reader::column::<S::Element>(tile, at), index);
        }
        let mut kept =
            if R::IN_ANY_ORDER { R::resume(before, position(index, 0)) } else { R::start() };
        let mut place = 0;
        if is_wide && plan.step == size && !are_packs {
            // All packs and the words beside them would need too many registers.
            while place + WINDOW as u32 <= packs {
                control::keep_rolled();
                let window = reader::window(tile, at + place * PACK);
                each(WINDOW, |k| {
                    kept = R::pack(kept, source.packs([window[k]; 2]), place + k as u32);
                });
                place += WINDOW as u32;
            }
        }
        let done = place * S::PER_PACK as u32;
        let reader = |tile: *const u8, at: u32, begin: u32, step: u32| {
            let are_packs = step == size && begin.is_multiple_of(PACK);
            Reader::new::<S::Element>(tile, at + done * step, step, count - done, are_packs)
        };
        let mut readers = [reader(tile, at, begin, plan.step); 2];
        let second_step = second.step;
        if is_pair {
            readers[1] =
                reader(second_tile, second_at, second_shift | second.row_step, second_step);
        }
        let step = plan.step;
        elements::<S, R>(
            source,
            (kept, place),
            (count, index),
            |_| {
                let mut both = [readers[0].pack::<S::Element>(), [0; 4]];
                if is_pair {
                    both[1] = readers[1].pack::<S::Element>();
                }
                both
            },
            |item| {
                let mut both = [reader::element::<S::Element>(tile, at + item * step), [0; 4]];
                if is_pair {
                    let at = second_at + item * second_step;
                    both[1] = reader::element::<S::Element>(second_tile, at);
                }
                both
            },
        )
    }
}

/// The accumulator of a part of `count` elements, of which the first has the number `index` in its
/// row. `kept` has the first `place` packs. `pack` reads the packs behind these in order, by their
/// numbers, and `item` the elements behind the last whole pack.
#[inline(always)]
pub(super) fn elements<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    (kept, place): (R::Thread, u32),
    (count, index): (u32, u64),
    mut pack: impl FnMut(u32) -> [Pack; 2],
    item: impl Fn(u32) -> [Pack; 2],
) -> R::Acc {
    let (mut kept, mut place) = (kept, place);
    let packs = count / S::PER_PACK as u32;
    // Without packs, the compiler may know what the accumulator is.
    let mut acc = if place < packs {
        while place < packs {
            control::keep_rolled();
            kept = R::pack(kept, source.packs(pack(place)), place);
            place += 1;
        }
        R::finish(kept, position(index, 0))
    } else {
        R::finish(kept, position(index, 0))
    };
    let mut number = packs * S::PER_PACK as u32;
    while number < count {
        control::keep_rolled();
        acc = R::append_item(acc, source.items(item(number)), position(index, number));
        number += 1;
    }
    acc
}

/// The accumulator of a part of whole packs, whose first element has this number in its row.
#[inline(always)]
pub(super) fn whole<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    packs: [Pack; PACKS],
    index: u64,
) -> R::Acc {
    let mut kept = R::start();
    each(PACKS, |i| kept = R::pack(kept, source.packs([packs[i]; 2]), i as u32));
    R::finish(kept, position(index, 0))
}

/// The position of the element that is so many places behind the one with the number `index`.
#[inline(always)]
fn position(index: u64, further: u32) -> Position {
    let index = index + u64::from(further);
    Position { block: (index >> 32) as u32, number: index as u32 }
}
