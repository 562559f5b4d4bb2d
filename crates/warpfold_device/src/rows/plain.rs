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
use cuda_std::ext::{control, copy, grid, target};
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
    /// Reduces the rows of tile number `number` of a launch whose tiles have whole rows, if there
    /// is such a tile.
    ///
    /// # Safety
    /// The whole warp calls this before it has waited for the launch before. The launch keeps
    /// [its contract](super#the-launchs-contract), with [`Staging::PlainPiece`].
    #[inline(always)]
    pub(super) unsafe fn rows<S: RowSource, R: Reduction<Source = S>>(
        self,
        source: S,
        output: *mut R::Raw,
        slots: *mut u64,
        number: u32,
        plan: &Plan,
    ) {
        let size = size_of::<S::Element>() as u32;
        // What the compiler knows here is not computed.
        let plan = &whole_rows(plan, size);
        let (first, rows) = tile(number, plan);
        let from = source.addresses()[0].wrapping_add(first.wrapping_mul(self.stride));
        let bytes = (rows.max(1) - 1) * plan.row_step + plan.tile_steps * size;
        grid::wait_for_dependencies();
        if rows == 0 {
            return;
        }
        let here = Tile { group: number, task: 0, number: 0 };
        // SAFETY: a tile of `rows` rows has so many bytes. All lanes take the same branches, except
        // the one that writes a result.
        unsafe {
            let shift = self.copy::<S::Element>(from, bytes);
            // This is computed while the copies are under way.
            let share = Share::new(control::anew(self.lane), plan);
            copy::wait();
            warp::sync_warp(u32::MAX);
            let tiles = Tiles { start: [self.tile; 2], shift: [shift; 2] };
            // Where rows have a power of two of lanes, nobody reads what a lane makes of a part of
            // another row. So such a lane need not choose, and all lanes take the same branches.
            let is_even = plan.lanes.is_power_of_two();
            let count = if is_even { u32::MAX } else { plan.lanes };
            let parts = tree::Parts::Uneven { number: share.number, count };
            let mut pass = 0;
            while pass < rows {
                control::keep_rolled();
                let row = pass + share.row;
                let is_row = share.is_taken && row < rows;
                let there = is_row.then_some(row);
                let none = R::identity();
                let acc = part::part::<S, R>(source, tiles, share, there, none, here, [plan; 2]);
                let acc = tree::lanes::<R>(acc, parts, plan.lanes);
                if is_row && share.number == 0 {
                    R::write(acc, output, first + u64::from(row), index, source, slots);
                }
                pass += plan.rows_of_pass();
            }
        }
    }

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
        let tile_steps = TILE_BYTES / size;
        let plan =
            &Plan { tile_rows: 1, tile_steps, row_step: 0, lanes: WARP, ..known(plan, size) };
        let row = here.row(plan);
        let from = row.wrapping_mul(self.stride).wrapping_add(here.step(plan) * u64::from(size));
        let share = Share { row: 0, number: self.lane, is_taken: true };
        // SAFETY: the tile has so many bytes. All lanes take the same branches around the shuffles.
        unsafe {
            let from = source.addresses()[0].wrapping_add(from);
            let bytes = here.steps(plan) * size;
            let shift = self.copy::<S::Element>(from, bytes);
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
    /// Starts the copy of `bytes` bytes from `from` on, and returns how far behind the beginning of
    /// the buffer the first of them will be.
    ///
    /// # Safety
    /// The whole warp calls this, and no lane uses the buffer until the copies have arrived. So
    /// many bytes of elements are there, and no more than those of a tile.
    #[inline(always)]
    unsafe fn copy<T: Item>(self, from: u64, bytes: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe {
            // Most tiles begin at a pack, for which fewer things have to be computed.
            if !from.is_multiple_of(PACK.into()) {
                return piece::copy::<T>(self.tile, from, bytes, self.lane);
            }
            piece::whole_packs(self.tile, from, bytes / PACK * PACK, self.lane, padded);
            if !bytes.is_multiple_of(PACK) {
                piece::cut::<T>(self.tile, from, (0, bytes), self.lane, padded);
            }
        }
        0
    }
}

/// The first row of tile number `number` of a launch whose tiles have whole rows, and how many rows
/// it has. There may be no such tile.
#[inline(always)]
pub(super) fn tile(number: u32, plan: &Plan) -> (u64, u32) {
    let first = plan.first + u64::from(number) * u64::from(plan.tile_rows);
    (first, plan.rows.saturating_sub(first).min(plan.tile_rows.into()) as u32)
}

/// What tiles of whole rows have in common, for elements of `size` bytes.
#[inline(always)]
pub(super) fn whole_rows(plan: &Plan, size: u32) -> Plan {
    Plan { tiles: 1, task: 1, tasks: 1, team: 0, ..known(plan, size) }
}

/// What such tiles have in common, for elements of `size` bytes.
#[inline(always)]
fn known(plan: &Plan, size: u32) -> Plan {
    let staging = Staging::PlainPiece as u32;
    Plan {
        bundle_share: 0,
        bundle_gap: 0,
        step: size,
        staging,
        unit: size,
        fast: 0,
        kept: 1,
        reduced: 1,
        ..*plan
    }
}
