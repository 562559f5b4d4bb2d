//! Tiles of short columns: many rows that are neighbours in memory, of a part each.
//!
//! Sums over a few arrays of the same size are like that. A lane takes one row after the other, and
//! no lane waits for another. All operations come in the same order as in the general way, which
//! takes several times as many instructions for a row.

use super::source::RowSource;
use super::{LINE, Plan, Staging, Tile, index, padded, reader};
use crate::warp::WARP;
use crate::{Position, Reduction};
use cuda_std::ext::control;

/// Whether this is the way for a tile that has been staged.
#[inline(always)]
pub(super) fn is_known<S: RowSource, R: Reduction<Source = S>>(plan: &Plan) -> bool {
    let is = |staging: Staging| plan.staging == staging as u32;
    S::ARRAYS == 1
        && !R::IN_ANY_ORDER
        && (is(Staging::RowUnits) || is(Staging::RowElements))
        && plan.lanes == 1
        && plan.tiles == 1
        && plan.step.is_multiple_of(LINE)
}

/// Reduces the rows of a tile that lies at `tile`.
///
/// # Safety
/// This is [the way](is_known) for the tile, which has arrived. The rest is that of
/// [`rows`](super::rows).
#[inline(always)]
pub(super) unsafe fn rows<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    output: *mut R::Raw,
    slots: *mut u64,
    tile: *const u8,
    lane: u32,
    here: Tile,
    plan: &Plan,
) {
    let (first, rows, count) = (here.row(plan), here.rows(plan), here.steps(plan));
    let in_pack = S::PER_PACK as u32;
    // The compiler would compute what follows from this before the first copy, and keep it in
    // registers that it does not have.
    let step = padded(control::anew(plan.step)) as usize;
    let position = |number: u32| Position { block: 0, number };
    let mut row = lane;
    while row < rows {
        control::keep_rolled();
        let at = padded(row * size_of::<S::Element>() as u32);
        let mut from = tile.wrapping_add(at as usize);
        // SAFETY: the caller's contract. Only elements below `count` are read.
        unsafe {
            let (mut kept, mut place) = (R::start(), 0);
            while (place + 1) * in_pack <= count {
                control::keep_rolled();
                let pack = reader::apart::<S::Element>(from, step);
                kept = R::pack(kept, source.packs([pack; 2]), place);
                from = from.wrapping_add(S::PER_PACK * step);
                place += 1;
            }
            let mut acc = R::finish(kept, position(0));
            let mut item = place * in_pack;
            while item < count {
                control::keep_rolled();
                let element = reader::alone::<S::Element>(from);
                acc = R::append_item(acc, source.items([element; 2]), position(item));
                from = from.wrapping_add(step);
                item += 1;
            }
            R::write(acc, output, first + u64::from(row), index, source, slots);
        }
        row += WARP;
    }
}
