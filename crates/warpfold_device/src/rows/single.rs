//! Kernels whose warps have a single tile each.
//!
//! Most rows in use have few tiles, and their elements are neighbours. Then nothing is kept from
//! one tile to the next, and no block waits for another one. A kernel that has only such tiles
//! needs fewer registers and less shared memory than the one for all rows, so that a multiprocessor
//! has room for more warps, and more bytes are on their way.
//!
//! A tile has whole rows, or a row has up to [`MOST_TILES`] tiles, which neighbouring warps of a
//! block take. All operations come in the same order as in the other kernel, so the bits of the
//! results are the same.

use super::part::{self, Share};
use super::source::RowSource;
use super::{BUFFER, Plan, SHARE, Staging, TILE_BYTES, Tile, Tiles, index};
use super::{plain, short, tree};
use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy, grid};
use cuda_std::{address_space, thread, warp};

/// The most threads of a block. With twice as many warps as the other kernel's blocks have, a block
/// reads a longer stretch of memory at a time, which takes up to 4 % less beyond the cache (H200,
/// attempt 128 of `bench/NOTEBOOK.md`).
pub const THREADS: u32 = 256;

/// The most tiles of a row: one for each warp of a block.
pub const MOST_TILES: u32 = THREADS / WARP;

/// A tile for each warp.
#[address_space(shared)]
static mut TILES: [MaybeUninit<u128>; MOST_TILES as usize * BUFFER / 16] =
    [const { MaybeUninit::uninit() }; MOST_TILES as usize * BUFFER / 16];

/// The rows of a launch whose warps have a single tile each. What has the name of a field of
/// [`Plan`] is the same.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the documentation of most fields is that of the fields of `Plan`")]
pub struct Rows {
    pub first: u64,
    pub rows: u64,
    /// Elements of a row.
    pub length: u32,
    pub tile_rows: u32,
    pub row_step: u32,
    /// The tiles of a row.
    pub tiles: u32,
    /// 2 to the power of [`SHARE`] divided by `tiles`, rounded up.
    pub tile_share: u32,
    pub lanes: u32,
    pub lane_share: u32,
    /// [`Staging::PlainPiece`] or [`Staging::ShortRows`].
    pub staging: u32,
    /// Bytes from a row to the next.
    pub stride: i64,
}

impl Rows {
    /// The plan of such rows, for elements of `size` bytes. What the compiler knows here is not
    /// computed.
    #[inline(always)]
    fn plan(self, size: u32) -> Plan {
        Plan {
            first: self.first,
            rows: self.rows,
            length: self.length.into(),
            tile_rows: self.tile_rows,
            tile_steps: TILE_BYTES / size,
            row_step: self.row_step,
            step: size,
            tiles: self.tiles,
            task: 1,
            tasks: self.tiles,
            groups: 1,
            team: 0,
            lanes: self.lanes,
            lane_share: self.lane_share,
            bundle_share: 0,
            bundle_gap: 0,
            staging: self.staging,
            unit: size,
            fast: 0,
            kept: 1,
            reduced: 1,
        }
    }

    /// The number of the row in the block, and of the tile in the row, of warp number `warp`.
    #[inline(always)]
    fn place(self, warp: u32) -> (u32, u32) {
        let row = (warp * self.tile_share) >> SHARE;
        (row, warp - row * self.tiles)
    }

    /// The number of a row of this block among all, if a row has as many warps as tiles.
    #[inline(always)]
    fn group(self, warps: u32, row: u32) -> u32 {
        thread::block_idx_x() * self.place(warps).0 + row
    }

    /// The steps of tile number `number` of a row, for elements of `size` bytes.
    #[inline(always)]
    fn steps(self, number: u32, size: u32) -> u32 {
        let in_tile = TILE_BYTES / size;
        (self.length - number * in_tile).min(in_tile)
    }
}

/// A tile, and what a warp needs to reduce it.
#[derive(Clone, Copy)]
pub(super) struct Single<'a, S, Raw> {
    pub source: S,
    pub output: *mut Raw,
    pub slots: *mut u64,
    /// Where the first row lies in global memory.
    pub from: u64,
    /// The buffer of the warp.
    pub tile: *mut u8,
    pub lane: u32,
    /// The number of the first row among all.
    pub first: u64,
    /// The number of rows.
    pub rows: u32,
    pub plan: &'a Plan,
}

/// Reduces rows of which each warp has a single tile. This is the whole body of a kernel that
/// [`single_rows!`](crate::single_rows!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](super#the-launchs-contract).
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "a buffer begins at a pack")]
pub unsafe fn rows<S: RowSource, R: Reduction<Source = S>>(
    source: S,
    output: *mut R::Raw,
    slots: *mut u64,
    rows: Rows,
) {
    const { assert!(S::ARRAYS == 1 && !R::IN_ANY_ORDER) };
    grid::launch_dependents();
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = (tid / WARP, tid % WARP);
    let warps = thread::block_dim_x() / WARP;
    let tile_of = |warp: u32| (&raw mut TILES).cast::<u8>().wrapping_add(warp as usize * BUFFER);
    let size = size_of::<S::Element>() as u32;
    let plan = &rows.plan(size);
    // Most rows have one tile, of which less must be known.
    let (group, number, steps) = if rows.tiles == 1 {
        (thread::block_idx_x() * warps + warp_of_block, 0, rows.length)
    } else {
        let (group, number) = rows.place(warp_of_block);
        (rows.group(warps, group), number, rows.steps(number, size))
    };
    let first = plan.first + u64::from(group) * u64::from(plan.tile_rows);
    let count = plan.rows.saturating_sub(first).min(plan.tile_rows.into()) as u32;
    let from = source.addresses()[0].wrapping_add(first.wrapping_mul(rows.stride as u64));
    let tile = tile_of(warp_of_block);
    let single = Single { source, output, slots, from, tile, lane, first, rows: count, plan };
    // SAFETY: the launch's contract. Each warp has a tile of its own, and all lanes of a warp take
    // the same branches around collective calls. All warps come to the barrier.
    unsafe {
        if plan.staging == Staging::ShortRows as u32 {
            short::rows::<S, R>(single);
            return;
        }
        single.parts::<R>(number, steps);
        if rows.tiles > 1 {
            thread::sync_threads();
            if warp_of_block == 0 {
                let (group, number) = rows.place(lane);
                let row = plan.first + u64::from(rows.group(warps, group));
                let is_there = lane < warps && row < plan.rows;
                let words = tile_of(if is_there { lane } else { 0 }).cast::<u32>();
                let acc = R::Acc::from_words(&|i| {
                    if is_there { *words.add(i) } else { R::identity().word(i) }
                });
                let parts = tree::Parts::Uneven { number, count: rows.tiles };
                let acc = tree::lanes::<R>(acc, parts, rows.tiles);
                if is_there && number == 0 {
                    R::write(acc, output, row, index, source, slots);
                }
            }
        }
    }
}

impl<S: RowSource, Raw> Single<'_, S, Raw> {
    /// Copies tile number `number` of its rows, which has `steps` steps, and reduces it. Each row
    /// has as many lanes as the tile has parts of it. Of a row that has several tiles, the
    /// accumulator is left at the beginning of the buffer.
    ///
    /// # Safety
    /// The whole warp calls this before it has waited for the launch before. The launch keeps
    /// [its contract](super#the-launchs-contract).
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "a buffer begins at a pack")]
    unsafe fn parts<R: Reduction<Source = S, Raw = Raw>>(self, number: u32, steps: u32) {
        let Self { source, output, slots, from, tile, lane, first, rows, plan } = self;
        let here = Tile { group: 0, task: number, number: 0 };
        let size = size_of::<S::Element>() as u32;
        let bytes = (rows.max(1) - 1) * plan.row_step + steps * size;
        grid::wait_for_dependencies();
        if rows == 0 {
            return;
        }
        // SAFETY: a tile of `rows` rows has so many bytes. All lanes take the same branches, except
        // the one that has a result.
        unsafe {
            let from = from.wrapping_add((number * TILE_BYTES).into());
            let shift = plain::stage::<S::Element>(tile, from, bytes, lane);
            // This is computed while the copies are under way.
            let share = Share::new(control::anew(lane), plan);
            copy::wait();
            warp::sync_warp(u32::MAX);
            let tiles = Tiles { start: [tile; 2], shift: [shift; 2] };
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
                if plan.tiles > 1 {
                    // The tile is not read any more.
                    warp::sync_warp(u32::MAX);
                    if lane == 0 {
                        let words = tile.cast::<u32>();
                        each(R::Acc::COUNT, |i| *words.add(i) = acc.word(i));
                    }
                } else if is_row && share.number == 0 {
                    R::write(acc, output, first + u64::from(row), index, source, slots);
                }
                pass += plan.rows_of_pass();
            }
        }
    }
}
