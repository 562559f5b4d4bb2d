//! Tiles that are one piece of a matrix whose elements are neighbours along the rows.
//!
//! Most rows in use are like that. A warp then needs to know little before it starts the first
//! copy, because the compiler knows most of the plan. The general way takes twice as many
//! instructions for a tile, most of them before its first copy. Where an array lies in the cache,
//! that is a large part of the time.
//!
//! All operations come in the same order as in the general way, so the bits of the results are the
//! same.

use super::part::{self, Share};
use super::source::RowSource;
use super::stage::piece;
use super::{PACK, Plan, Staging, TILE_BYTES, Tile, Tiles, columns, index, padded, team, tree};
use crate::Reduction;
use crate::item::Item;
use crate::warp::WARP;
use cuda_std::ext::{copy, target};
use cuda_std::warp;

/// Whether the kernel has a way for such tiles: if it has one for [`columns`]. The host decides in
/// the same way.
#[inline(always)]
pub(super) fn is_known<S: RowSource, R: Reduction<Source = S>>() -> bool {
    target::arch() >= 900 && columns::columns::<S, R>() > 0
}

/// What a warp needs to reduce such tiles.
#[derive(Clone, Copy)]
pub(super) struct Worker {
    /// Bytes from a row to the next.
    pub stride: u64,
    /// The buffer of the warp.
    pub tile: *mut u8,
    pub lane: u32,
}

impl Worker {
    /// Reduces a tile of a row that has several tiles.
    ///
    /// # Safety
    /// The whole warp calls this, for each tile of a task in order. The launch keeps
    /// [its contract](super#the-launchs-contract), with [`Staging::PlainPiece`].
    #[inline(always)]
    pub(super) unsafe fn part_of_row<S: RowSource, R: Reduction<Source = S>>(
        self,
        source: S,
        output: *mut R::Raw,
        slots: *mut u64,
        stack: tree::Stack,
        here: Tile,
        plan: &Plan,
    ) {
        let size = size_of::<S::Element>() as u32;
        // What the compiler knows here is not computed.
        let plan = &Plan {
            tile_rows: 1,
            tile_steps: TILE_BYTES / size,
            row_step: 0,
            step: size,
            lanes: WARP,
            bundle_share: 0,
            bundle_gap: 0,
            staging: Staging::PlainPiece as u32,
            unit: size,
            fast: 0,
            kept: 1,
            reduced: 1,
            ..*plan
        };
        let row = here.row(plan);
        let from = row.wrapping_mul(self.stride).wrapping_add(here.step(plan) * u64::from(size));
        let share = Share { row: 0, number: self.lane, is_taken: true };
        // SAFETY: the tile has so many bytes. All lanes take the same branches around the shuffles.
        unsafe {
            let from = source.addresses()[0].wrapping_add(from);
            let bytes = here.steps(plan) * size;
            let shift = stage::<S::Element>(self.tile, from, bytes, self.lane);
            copy::wait();
            warp::sync_warp(u32::MAX);
            let tiles = Tiles { start: [self.tile; 2], shift: [shift; 2] };
            let none = R::identity();
            let acc = part::part::<S, R>(source, tiles, share, Some(0), none, here, [plan; 2]);
            let acc = tree::lanes::<R>(acc, tree::Parts::Even, WARP);
            let is_last = here.is_last(plan);
            let acc = stack.push::<R>(acc, here.number, is_last);
            // The tile is not read any more.
            warp::sync_warp(u32::MAX);
            if is_last && plan.tasks > 1 {
                team::leave(acc, self.tile, self.lane);
            } else if is_last && self.lane == 0 {
                R::write(acc, output, row, index, source, slots);
            }
        }
    }
}

/// Starts the copy of `bytes` bytes from `from` on to the buffer `tile` of the warp, and returns
/// how far behind the beginning of the buffer the first of them will be.
///
/// # Safety
/// The whole warp calls this, and no lane uses the buffer until the copies have arrived. So many
/// bytes of elements are there, and no more than those of a tile.
#[inline(always)]
pub(super) unsafe fn stage<T: Item>(tile: *mut u8, from: u64, bytes: u32, lane: u32) -> u32 {
    // SAFETY: the caller's contract.
    unsafe {
        // Most tiles begin at a pack, for which fewer things have to be computed.
        if !from.is_multiple_of(PACK.into()) {
            return piece::copy::<T>(tile, from, bytes, lane);
        }
        piece::whole_packs(tile, from, bytes / PACK * PACK, lane, padded);
        if !bytes.is_multiple_of(PACK) {
            piece::cut::<T>(tile, from, (0, bytes), lane, padded);
        }
    }
    0
}
