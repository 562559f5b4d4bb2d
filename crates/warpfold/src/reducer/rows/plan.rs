//! How an array is cut into tiles and tasks: pure functions of its layout.
//!
//! No choice here changes a bit of a result, because the kernel combines the parts of a row in the
//! same tree however they are cut (`warpfold_device::rows`). So only speed decides.

use super::layout::{Dims, Layout};
use crate::device::WORKSPACE_BYTES;

/// Bytes of a tile, at most. `warpfold_device::rows::TILE_BYTES`.
pub(super) const TILE_BYTES: u64 = 4096;
/// Bytes of a part, at most: the share of a lane. `warpfold_device::rows::PART_BYTES`.
pub(super) const PART_BYTES: u64 = 128;
/// Lanes of a warp.
pub(super) const WARP: u64 = 32;
/// Bytes of a unit, in which tiles are copied that are no single piece.
pub(super) const UNITS: [u64; 3] = [PACK, 8, WORD];
/// Bytes of a pack.
const PACK: u64 = 16;
/// Bytes of a word.
pub(super) const WORD: u64 = 4;
/// Bytes of a sector, which is what a request to memory brings at least.
const SECTOR: u64 = 32;
/// Threads of a block. `warpfold_device::rows::THREADS`.
pub(super) const THREADS: u32 = 128;
/// Warps of a block.
const WARPS: u64 = THREADS as u64 / WARP;
/// The most warps of a block of which each has a single tile, and so the most tiles of a row there.
/// `warpfold_device::rows::single::MOST_TILES`.
pub(super) const MOST_SINGLE_TILES: u64 = 8;
/// Dimensions that the kernel takes. `warpfold_device::rows::DIMS`.
pub(super) const DIMS: usize = 9;
/// `warpfold_device::rows::SHARE`.
const SHARE: u32 = 16;
/// The most rows of a tile that has bundles. `warpfold_device::rows::BUNDLED`.
const BUNDLED: u64 = 1024;
/// The most tiles of a task. `warpfold_device::rows::LEVELS` is the logarithm.
pub(super) const MOST_TILES: u64 = 1 << 7;
/// The most rows of a tile if a row has several tiles.
pub(super) const MOST_ROWS: u64 = WARP;
/// Warps that a multiprocessor has room for at a time, in most kernels.
const RESIDENT: u64 = 24;

/// What stands for a divisor of up to 32 where a kernel multiplies instead:
/// `warpfold_device::rows::Plan::lane_share` and `bundle_share`.
pub(super) fn share_of(divisor: u64) -> u64 {
    (1u64 << SHARE).div_ceil(divisor)
}

/// The most elements of `bytes` bytes that a row may have, however it lies in memory, if a slot has
/// `words` words.
pub(super) const fn most_elements(bytes: u64, words: u64) -> u64 {
    WORKSPACE_BYTES / 8 / words * WARPS * MOST_TILES * (TILE_BYTES / bytes)
}

/// A dimension: its size, and the bytes from one index to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) size: u64,
    pub(super) stride: i64,
}

/// How a tile gets to shared memory: `warpfold_device::rows::Staging`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Staging {
    Piece = 0,
    RowUnits = 1,
    StepUnits = 2,
    RowElements = 3,
    StepElements = 4,
    Columns = 5,
    PlainPiece = 6,
    Fold = 7,
    ShortRows = 8,
}

/// The tile of a launch, and the dimensions as its staging counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) staging: Staging,
    /// Rows of a tile.
    pub(super) rows: u64,
    /// Steps of a tile.
    pub(super) steps: u64,
    /// Bytes from a row to the next in a tile.
    pub(super) row_step: u64,
    /// Bytes from a step to the next in a tile.
    pub(super) step: u64,
    /// The number of lanes of a row.
    pub(super) lanes: u64,
    /// The rows of a bundle, if the rows of a tile come in bundles.
    pub(super) bundle: Option<u64>,
    /// Bytes of a unit.
    pub(super) unit: u64,
    /// The logarithm of the extent along the faster index, in units or elements.
    pub(super) fast: u32,
    /// The most tiles of a task.
    pub(super) most_task: u64,
    pub(super) kept: Dims,
    pub(super) reduced: Dims,
}

impl Tile {
    /// Bytes in the tile from where the next row of a bundle would be to the next bundle.
    pub(super) fn bundle_gap(&self) -> u64 {
        self.bundle.map_or(0, |rows| self.steps * self.step - rows * self.row_step)
    }

    /// Whether the kernel takes it of which each warp has a single tile, if there are so many rows
    /// of `length` elements of `bytes` bytes.
    pub(super) fn is_single(&self, rows: u64, length: u64, bytes: u64) -> bool {
        let is_plain = matches!(self.staging, Staging::PlainPiece | Staging::ShortRows);
        let tiles = length.div_ceil(self.steps.max(1)).max(1);
        // Beyond a cache, warps must not have much smaller tiles than others: 65472 rows of 1025
        // take 63 us in the other kernel, and 69 us here (H200, attempt 128).
        let are_even = 2 * tiles * self.steps <= 3 * length;
        let is_cached = rows.saturating_mul(length.saturating_mul(bytes)) <= CACHED;
        is_plain && tiles <= MOST_SINGLE_TILES && (are_even || is_cached)
    }
}

/// How the tiles are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Groups of rows.
    pub(super) groups: u64,
    /// Tiles of a group.
    pub(super) tiles: u64,
    /// Tiles of a task, a power of two.
    pub(super) task: u64,
    /// Tasks of a group.
    pub(super) tasks: u64,
    /// Warps that combine their tasks of a group in shared memory, a power of two.
    pub(super) team: u64,
    /// Groups of a launch, at most.
    pub(super) at_once: u64,
}

/// The number of warps that a device with so many multiprocessors has room for at a time.
pub(super) fn resident(multiprocessors: u32) -> u64 {
    u64::from(multiprocessors) * RESIDENT
}

/// The least compute capability (major, minor) whose kernels have a way for columns.
pub(super) const LEAST_FOR_COLUMNS: (u32, u32) = (9, 0);

/// What the choice among the ways of such a kernel depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reducer) struct Ways {
    /// The most words of an accumulator.
    pub(in crate::reducer) words: u64,
    /// Whether two accumulators are combined by a few instructions.
    pub(in crate::reducer) is_light: bool,
}

/// Words of a warp's buffer that each lane has for itself. `warpfold_device::rows::columns::WORDS`.
const LANE_WORDS: u64 = 36;

/// How many neighbouring columns of elements of `bytes` bytes a lane takes, if an accumulator has
/// `words` words, or 0 if the kernel has no way for columns: `warpfold_device::rows::columns`.
pub(super) fn columns_of_lane(bytes: u64, words: u64) -> u64 {
    let mut count = (8 / bytes).max(1);
    if count * words > 16 {
        count /= 2;
    }
    if (count + 1) * words <= LANE_WORDS { count } else { 0 }
}

/// Bytes of an array that is likely to be in a cache: half of an H100's second-level cache. What is
/// gained below was measured on an H100 with 64 KiB to 16 MiB (`bench/NOTEBOOK.md`, attempt 123).
const CACHED: u64 = 24 << 20;

/// Bytes of a run of neighbouring columns that is narrow, but not too narrow for a cache: half as
/// many take a fourth to a half longer with 16 MiB.
const NARROW: u64 = 64;

/// A lane takes a whole row if that has at most so many parts: `warpfold_device::rows::Staging`.
/// Sums of exponentials of rows of 33 take 81 us instead of 145 then, because lanes do not combine
/// what they have (H200, attempt 127).
const SHORT_PARTS: u64 = 2;

/// If lanes combine what they have in a short time, a lane takes a whole row of an array beyond the
/// cache only if that has at most so many bytes. 2^22 rows of 1 take 8.5 us instead of 11.7, and
/// 2^26 elements in rows of 33 would take 76 us instead of 71 (H200, attempt 127).
const SHORT_LIGHT: u64 = 2 * PACK;

/// In a cache, a lane takes rows of one element only if an accumulator has at most so many words.
/// 10^6 indices take 5.8 us instead of 8.1 then. Moments, which have more words, would take 12.3
/// instead of 9.8 (H200, attempt 128).
const SHORT_WORDS: u64 = 4;

/// If a column in a cache has more tiles than this, the tiles become narrower. Four blocks have 16
/// tiles, and so few blocks meet soon: 1024 columns of 4096 take 7.7 us instead of 12.1.
const MOST_CACHED_TILES: u64 = 16;

/// With so many tiles, of which each column has so many, lanes read them as columns, also if not
/// each multiprocessor has a tile: 64 columns of 4096 take 4.8 us instead of 7.8. Columns of one
/// tile take longer in registers: 64x32x32 over axis 1 takes 2.7 us instead of 2.2.
const LEAST_TILES: u64 = 16;
const LEAST_TILES_OF_COLUMN: u64 = 4;

/// The most tiles of a task of such columns, for which there is room in the stacks:
/// `warpfold_device::rows::columns::levels`.
fn most_tiles_of_columns(columns: u64, words: u64) -> u64 {
    let (near, far) = (columns.div_ceil(2), columns / 2);
    let in_buffer = (LANE_WORDS / words - columns) / near;
    let levels = u64::from(MOST_TILES.ilog2());
    1 << in_buffer.min(levels / far.max(1))
}

/// The tile for a layout whose neighbouring rows are neighbours in memory, if lanes can read them
/// as columns, and if there are enough tiles. Without shared memory a lane goes through more steps,
/// so that few columns take longer. An accumulator has `words` words.
fn columns(
    layout: &Layout,
    bytes: u64,
    address: u64,
    words: u64,
    multiprocessors: u32,
) -> Option<Tile> {
    let columns = columns_of_lane(bytes, words);
    let in_part = PART_BYTES / bytes;
    let row_bytes = layout.length().saturating_mul(bytes);
    let step = layout.reduced[0];
    // Shorter rows have no part whose loads are under way together.
    let are_long = layout.length() >= in_part
        && (layout.reduced.len() == 1 || step.size.is_multiple_of(in_part));
    // Of a narrower run, a sector of memory would bring more than the lanes want.
    let is_run = layout.kept[0].stride == bytes as i64 && layout.kept[0].size * bytes >= SECTOR;
    if columns == 0 || !is_run || !are_long {
        return None;
    }
    let unit = columns * bytes;
    let in_units = with_unit(layout, bytes, address, true, unit)?;
    let units = layout.rows() / columns;
    let mut across = units.next_power_of_two().min(WARP);
    // In a cache, where narrow runs cost little, a tile has fewer columns and more steps, so that
    // fewer teams have to meet.
    let is_cached = layout.rows().saturating_mul(row_bytes) <= CACHED;
    while is_cached
        && across * unit > NARROW
        && layout.length().div_ceil(WARP / across * in_part) > MOST_CACHED_TILES
    {
        across /= 2;
    }
    let lanes = WARP / across;
    let (rows, steps) = (across * columns, lanes * in_part);
    let of_column = layout.length().div_ceil(steps);
    let tiles = layout.rows().div_ceil(rows).saturating_mul(of_column);
    let are_enough = tiles >= LEAST_TILES && of_column >= LEAST_TILES_OF_COLUMN;
    if !are_enough && tiles < multiprocessors.into() {
        return None;
    }
    Some(Tile {
        staging: Staging::Columns,
        unit,
        most_task: most_tiles_of_columns(columns, words),
        ..piece(in_units, rows, steps, (0, 0), lanes)
    })
}

/// The tile for a layout of elements of `bytes` bytes, whose first element is at `address`. `ways`
/// is there if the kernel has a way for columns and others. If a row of another layout has several
/// tiles, a tile has at most `most_rows` rows, a power of two.
pub(super) fn tile(
    layout: &Layout,
    bytes: u64,
    address: u64,
    ways: Option<Ways>,
    most_rows: u64,
    multiprocessors: u32,
) -> Tile {
    let (length, in_part) = (layout.length(), PART_BYTES / bytes);
    let (row, step) = (layout.kept[0], layout.reduced[0]);
    let is_single = |dims: &Dims| dims.len() == 1;
    let row_bytes = length.saturating_mul(bytes);
    let is_next = |dim: Dim| dim.stride == bytes as i64;
    // Few rows are shared out among as many warps as there is room for.
    let share = layout.rows().div_ceil(resident(multiprocessors));
    // The lanes of a row that lies within a tile, and how many such rows a warp takes at once.
    let whole_lanes = length.div_ceil(in_part).max(1);
    let at_once = (WARP / whole_lanes).max(1);

    // The kernel may have a short way for such tiles, which needs no more dimensions.
    let is_known = ways.is_some_and(|Ways { words, .. }| columns_of_lane(bytes, words) > 0);
    let plain = |tile: Tile| {
        let is_plain = is_known && is_single(&layout.kept);
        Tile { staging: if is_plain { Staging::PlainPiece } else { tile.staging }, ..tile }
    };
    // Rows in one piece: long ones each by itself, short ones several at a time.
    if is_single(&layout.reduced) && (is_next(step) || length <= 1) {
        let is_packed = is_single(&layout.kept) && row.stride == row_bytes as i64;
        if row_bytes > TILE_BYTES {
            return plain(piece(layout.clone(), 1, WARP * in_part, (0, bytes), WARP));
        }
        if is_packed || row_bytes > TILE_BYTES / 2 {
            let most = if is_packed { TILE_BYTES / row_bytes.max(1) } else { 1 };
            // Whole passes of the warp, unless these leave much of a tile empty and more rows leave
            // few lanes without work.
            let in_passes = most - most % at_once;
            let are_most = most * 10 >= most.div_ceil(at_once) * at_once * 9;
            let fill = in_passes == 0 || (in_passes * 4 < most * 3 && are_most);
            let whole = if fill { most } else { in_passes };
            let rows = whole.min(share.next_multiple_of(at_once));
            let short = ways
                .filter(|_| is_known && is_packed && address.is_multiple_of(PACK))
                .and_then(|ways| short_rows(layout, bytes, ways, (most, rows), share));
            if let Some(short) = short {
                return short;
            }
            // A row alone begins where the tile does.
            let row_step = if rows == 1 { 0 } else { row_bytes };
            return plain(piece(layout.clone(), rows, length, (row_step, bytes), whole_lanes));
        }
    }
    let columns =
        ways.and_then(|ways| columns(layout, bytes, address, ways.words, multiprocessors));
    if let Some(columns) = columns {
        return columns;
    }
    if let Some(bundles) = bundles(layout, bytes, most_rows, share) {
        return bundles;
    }

    let by_rows =
        row.size > 1 && (step.size == 1 || row.stride.unsigned_abs() < step.stride.unsigned_abs());
    let fold = if by_rows || ways.is_none() { None } else { fold_unit(layout, bytes) };
    let (unit, in_units) =
        in_units(layout, bytes, address, by_rows, |unit| fold.is_none_or(|most| unit <= most));
    let is_fold = fold.is_some() && unit.is_some_and(|unit| unit >= bytes);
    let least = (unit.unwrap_or(bytes) / bytes).max(1);
    let in_tile = TILE_BYTES / bytes;
    let padded = length.checked_next_power_of_two().unwrap_or(u64::MAX).max(least);
    let across = row.size.min(most_rows).next_power_of_two().max(least);
    let across = if by_rows { across } else { 1 };
    let (rows, steps, lanes, pitch) = if padded <= in_tile / across {
        // Whole rows, as many as there is room for.
        let share = share.max(at_once).next_power_of_two().max(across);
        ((in_tile / padded).min(share), length, whole_lanes, padded)
    } else {
        let lanes = WARP / across;
        (across, lanes * in_part, lanes, lanes * in_part)
    };
    let extent = if by_rows { rows } else { pitch };
    let tile = in_lines((unit, in_units), bytes, by_rows, extent, (rows, steps, lanes));
    Tile { staging: if is_fold { Staging::Fold } else { tile.staging }, ..tile }
}

/// The tile for short rows, of which a lane takes one after the other, if that is faster. The rows
/// lie one behind the other, and the first one begins at a pack. A tile has room for `most` rows,
/// the general way would take `rows` of them, and `share` is the number of rows of each warp.
fn short_rows(
    layout: &Layout,
    bytes: u64,
    ways: Ways,
    (most, rows): (u64, u64),
    share: u64,
) -> Option<Tile> {
    let length = layout.length();
    let (row_bytes, lanes) = (length * bytes, length.div_ceil(PART_BYTES / bytes));
    // Whole parts are faster in the general way. Empty rows are of that kind.
    if row_bytes.is_multiple_of(PART_BYTES) {
        return None;
    }
    let is_cached = layout.rows().saturating_mul(row_bytes) <= CACHED;
    let is_short = if ways.is_light {
        row_bytes <= SHORT_LIGHT || (is_cached && lanes <= SHORT_PARTS)
    } else {
        // A warp that writes many words for an element waits for the memory in any case.
        let is_written_soon = is_cached && ways.words <= SHORT_WORDS;
        (length > 1 || is_written_soon) && lanes <= SHORT_PARTS
    };
    // Rows that have lanes of their own at once are faster in the general way, too.
    let are_several = lanes == 1 || share > WARP / lanes;
    if !is_short || !are_several {
        return None;
    }
    // As many rows as fill whole packs, because each tile begins at a pack then.
    let in_packs = PACK >> row_bytes.trailing_zeros().min(PACK.ilog2());
    let rows = if lanes == 1 { rows } else { most.min(share) };
    let rows = rows.max(in_packs) / in_packs * in_packs;
    let row_step = if rows == 1 { 0 } else { row_bytes };
    let tile = piece(layout.clone(), rows, length, (row_step, bytes), lanes);
    (rows <= most).then_some(Tile { staging: Staging::ShortRows, ..tile })
}

/// The tile for a layout of few neighbouring columns without a gap between the steps, such as the
/// colours of images. All columns of such a *bundle* are in one tile, and so are several bundles if
/// there is no gap between them. A row has at most `most_rows` neighbours if it has several tiles,
/// and `share` is the number of rows of each warp.
fn bundles(layout: &Layout, bytes: u64, most_rows: u64, share: u64) -> Option<Tile> {
    let (across, step) = (layout.kept[0], layout.reduced[0]);
    let (rows, length) = (across.size, layout.length());
    let is_narrow = rows <= most_rows
        && length > 0
        && across.stride == bytes as i64
        && step.stride == (rows * bytes) as i64
        && layout.reduced.len() == 1
        && layout.kept.len() <= 2;
    if !is_narrow {
        return None;
    }
    let bundle = length.saturating_mul(rows * bytes);
    let mut stride = across.stride;
    if let Some(outer) = layout.kept.get(1) {
        // A tile begins at a bundle, so each row may count as an equal share of its bundle.
        if outer.stride % rows as i64 != 0 {
            return None;
        }
        stride = outer.stride / rows as i64;
    }
    let kept = Dims::from_slice(&[Dim { size: layout.rows(), stride }]);
    let layout = Layout { kept, reduced: layout.reduced.clone() };
    let in_part = PART_BYTES / bytes;
    let steps = (bytes, rows * bytes);
    let are_packed = stride.checked_mul(rows as i64) == Some(bundle as i64);
    if bundle > TILE_BYTES / 2 || (bundle == TILE_BYTES / 2 && !are_packed) {
        let lanes = WARP / rows.next_power_of_two();
        return Some(piece(layout, rows, lanes * in_part, steps, lanes));
    }
    if !are_packed {
        return None;
    }
    let most = (TILE_BYTES / bundle).min(BUNDLED / rows);
    let bundles = most.min(share.div_ceil(rows)).max(1);
    let lanes = length.div_ceil(in_part);
    let tile = piece(layout, bundles * rows, length, steps, lanes);
    Some(Tile { bundle: Some(rows), ..tile })
}

/// A tile that is one piece of memory, without bundles.
pub(super) fn piece(
    Layout { kept, reduced }: Layout,
    rows: u64,
    steps: u64,
    (row_step, step): (u64, u64),
    lanes: u64,
) -> Tile {
    let (staging, unit) = (Staging::Piece, WORD);
    let (fast, most_task) = (0, MOST_TILES);
    let bundle = None;
    Tile {
        staging,
        rows,
        steps,
        row_step,
        step,
        lanes,
        bundle,
        unit,
        fast,
        most_task,
        kept,
        reduced,
    }
}

/// The largest unit in which a tile of a fold may be copied: rows of two dimensions, of which the
/// first is a run that has a unit for each lane. `None` for other layouts.
fn fold_unit(layout: &Layout, bytes: u64) -> Option<u64> {
    let run = layout.reduced[0].size.saturating_mul(bytes);
    let is_fold = layout.kept.len() == 1
        && layout.reduced.len() == 2
        && layout.reduced[0].stride == bytes as i64
        // The kernel counts the units of a row in 32 bits.
        && layout.length().saturating_mul(bytes) <= u64::from(u32::MAX) * WORD;
    let fits = |unit: &u64| *unit >= bytes && run.is_multiple_of(*unit) && run / unit >= WARP;
    if is_fold { UNITS.into_iter().find(fits) } else { None }
}

/// The largest unit that `fits` and in which all elements can be copied, and the layout with its
/// faster index counted in such units. Without a unit, the layout is as it was.
pub(super) fn in_units(
    layout: &Layout,
    bytes: u64,
    address: u64,
    by_rows: bool,
    fits: impl Fn(u64) -> bool,
) -> (Option<u64>, Layout) {
    for unit in UNITS.into_iter().filter(|&unit| fits(unit)) {
        if let Some(in_units) = with_unit(layout, bytes, address, by_rows, unit) {
            return (Some(unit), in_units);
        }
    }
    (None, layout.clone())
}

/// The tile for a layout that [`in_units`] has made. A line of the tile, along the faster index,
/// has room for `extent` elements.
pub(super) fn in_lines(
    (unit, layout): (Option<u64>, Layout),
    bytes: u64,
    by_rows: bool,
    extent: u64,
    (rows, steps, lanes): (u64, u64, u64),
) -> Tile {
    let staging = match (unit, by_rows) {
        (Some(_), true) => Staging::RowUnits,
        (Some(_), false) => Staging::StepUnits,
        (None, true) => Staging::RowElements,
        (None, false) => Staging::StepElements,
    };
    let (unit, line) = (unit.unwrap_or(bytes), extent * bytes);
    let distances = if by_rows { (bytes, line) } else { (line, bytes) };
    let tile = piece(layout, rows, steps, distances, lanes);
    Tile { staging, unit, fast: (line / unit).ilog2(), ..tile }
}

/// The layout with its faster index counted in units of `unit` bytes, if all elements can be read
/// in such units.
fn with_unit(
    layout: &Layout,
    bytes: u64,
    address: u64,
    by_rows: bool,
    unit: u64,
) -> Option<Layout> {
    let Layout { mut kept, mut reduced } = layout.clone();
    let fast = if by_rows { &mut kept } else { &mut reduced };
    let run = fast[0].size * bytes;
    if fast[0].stride == bytes as i64 && run.is_multiple_of(unit) {
        fast[0] = Dim { size: run / unit, stride: unit as i64 };
        // With one dimension less, the kernel may need no table of them.
        if fast[0].size == 1 && fast.len() > 1 {
            fast.remove(0);
        }
    } else if bytes > unit {
        fast.insert(0, Dim { size: bytes / unit, stride: unit as i64 });
    } else if bytes != unit {
        return None;
    }
    let is_aligned = |dim: &Dim| dim.stride.unsigned_abs().is_multiple_of(unit);
    (address.is_multiple_of(unit) && kept.iter().chain(&reduced).all(is_aligned))
        .then_some(Layout { kept, reduced })
}

/// How the tiles of `rows` rows of `length` elements are shared out on a device with this number of
/// multiprocessors, if a slot has `words` words. `None` if a group has more tiles than a launch can
/// take.
pub(super) fn work(
    tile: &Tile,
    rows: u64,
    length: u64,
    words: u64,
    multiprocessors: u32,
) -> Option<Work> {
    let groups = rows.div_ceil(tile.rows);
    let tiles = length.div_ceil(tile.steps.max(1)).max(1);
    let mut task = if tiles <= 2 * WARPS {
        // One team, in which no task is a small rest of a tile, because that would keep a warp for
        // itself.
        let full = (length + tile.steps / 2) / tile.steps.max(1);
        let task = tiles.div_ceil(full.clamp(1, WARPS).next_power_of_two()).next_power_of_two();
        task.min(tile.most_task)
    } else {
        // Short tasks, because all warps then read one stretch of memory: one row of 2^28 elements
        // takes 351 us with tasks of a tile, and 358 with four (attempt 124). The lanes of columns
        // meet the lanes of other tasks one by one, so their tasks are longer.
        let uses = if tile.lanes == WARP { 64 } else { 4 };
        let share = groups.saturating_mul(tiles) / (uses * resident(multiprocessors));
        (1 << share.max(1).ilog2()).min(tile.most_task)
    };
    let teams = |task: u64| {
        let tasks = tiles.div_ceil(task);
        let team = tasks.next_power_of_two().min(WARPS);
        (tasks, team, tasks.div_ceil(team))
    };
    let most_slots = WORKSPACE_BYTES / 8 / words;
    let slots = |task: u64| match teams(task) {
        (_, _, 1) => 0,
        (_, _, teams) => teams.saturating_mul(tile.rows),
    };
    // One launch is better than several, and a group cannot be divided.
    while task < tile.most_task && slots(task).saturating_mul(groups) > most_slots {
        task *= 2;
    }
    if slots(task) > most_slots {
        return None;
    }
    let (tasks, team, _) = teams(task);
    let at_once = most_slots.checked_div(slots(task)).unwrap_or(1 << 30);
    Some(Work { groups, tiles, task, tasks, team, at_once })
}

impl Work {
    /// The blocks of a launch for so many groups.
    pub(super) fn blocks(&self, groups: u64) -> u64 {
        (groups * self.tasks.div_ceil(self.team)).div_ceil(WARPS / self.team)
    }
}

/// The blocks of a launch whose warps have a single tile each, and the threads of a block. There
/// are so many groups of rows, of which each has `tiles` tiles.
///
/// Few tiles are shared out among all multiprocessors: 256 rows of 64 take 1.24 us in blocks of two
/// warps, and 1.35 in blocks of eight. Blocks of one warp gain no more (H200, attempt 128).
pub(super) fn single_blocks(groups: u64, tiles: u64, multiprocessors: u32) -> [u64; 2] {
    let share = (groups * tiles).div_ceil(multiprocessors.max(1).into());
    let warps = share.next_power_of_two().clamp(2, MOST_SINGLE_TILES);
    let of_block = (warps / tiles).max(1);
    [groups.div_ceil(of_block), of_block * tiles * WARP]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIGHT: Ways = Ways { words: 2, is_light: true };

    /// A layout of some dimensions with strides of up to a few thousand elements.
    fn layouts() -> impl Strategy<Value = (Layout, u64, u64)> {
        let dims =
            |most| prop::collection::vec((1u64..most, -3000i64..3000), 1..3).prop_map(|dims| dims);
        (dims(3000), dims(100_000), 0u32..5, 0u64..64).prop_map(|(kept, reduced, log, address)| {
            let bytes = 1u64 << log;
            let list = |dims: Vec<(u64, i64)>| {
                dims.into_iter()
                    .map(|(size, stride)| Dim { size, stride: stride * bytes as i64 })
                    .collect()
            };
            let layout = Layout { kept: list(kept), reduced: list(reduced) };
            (layout, bytes, address * bytes)
        })
    }

    /// Layouts whose elements are neighbours along the rows or across them.
    fn usual() -> impl Strategy<Value = (Layout, u64, u64)> {
        (1u64..5000, 1u64..200_000, 0u64..20, any::<bool>(), 0u32..5, 0u64..64).prop_map(
            |(rows, length, gap, by_rows, log, address)| {
                let bytes = 1u64 << log;
                let pitch = (if by_rows { rows } else { length } + gap) * bytes;
                let (near, far) = (bytes as i64, pitch as i64);
                let (row, step) = if by_rows { (near, far) } else { (far, near) };
                let layout = Layout {
                    kept: Dims::from_slice(&[Dim { size: rows, stride: row }]),
                    reduced: Dims::from_slice(&[Dim { size: length, stride: step }]),
                };
                (layout, bytes, address * bytes)
            },
        )
    }

    /// Layouts of three dimensions, of which the first and the last, or the middle one, are
    /// reduced: channels of images, and coordinates of points.
    fn of_three() -> impl Strategy<Value = (Layout, u64, u64)> {
        (1u64..3000, 1u64..400, 1u64..300, 0u64..4, any::<bool>(), 0u32..5, 0u64..64).prop_map(
            |(outer, middle, inner, gap, is_middle, log, address)| {
                let bytes = 1u64 << log;
                let dim = |size, stride| Dim { size, stride: (stride * bytes) as i64 };
                let ends = [dim(inner, 1), dim(outer, middle * inner + gap)];
                let (ends, middle) =
                    (Dims::from_slice(&ends), Dims::from_slice(&[dim(middle, inner)]));
                let (kept, reduced) = if is_middle { (ends, middle) } else { (middle, ends) };
                (Layout { kept, reduced }, bytes, address * bytes)
            },
        )
    }

    /// What the kernel's documentation demands of columns.
    fn check_columns(tile: &Tile, bytes: u64, words: u64) {
        let columns = columns_of_lane(bytes, words);
        assert!(columns > 0 && tile.unit == columns * bytes, "{tile:?}");
        assert!([4, 8, 16].contains(&tile.unit), "{tile:?}");
        assert_eq!(tile.rows * tile.lanes, WARP * columns, "{tile:?}");
        assert_eq!(tile.steps, tile.lanes * PART_BYTES / bytes, "{tile:?}");
        assert!(tile.lanes.is_power_of_two() && tile.fast == 0, "{tile:?}");
        // The accumulators of a lane and the stacks of half of its columns fit into its share of a
        // buffer, and the other stacks into that of a thread.
        let levels = u64::from(tile.most_task.ilog2());
        let near = columns.div_ceil(2);
        assert!((columns + levels * near) * words <= LANE_WORDS, "{tile:?}");
        assert!(levels * (columns - near) <= MOST_TILES.ilog2().into(), "{tile:?}");
        let next = tile.reduced[0].size;
        assert!(tile.reduced.len() == 1 || next.is_multiple_of(PART_BYTES / bytes), "{tile:?}");
    }

    /// What the kernel's documentation demands of a plan.
    fn check((layout, bytes, address): &(Layout, u64, u64), multiprocessors: u32) {
        let (rows, length) = (layout.rows(), layout.length());
        let cases = [2, 4, 6, 8, 32].map(|words| {
            let ways = [true, false].map(|is_light| Some(Ways { words, is_light }));
            let cases = [(ways[0], MOST_ROWS), (ways[1], MOST_ROWS), (None, MOST_ROWS), (None, 1)];
            cases.map(|case| (words, case))
        });
        for (words, (ways, most_rows)) in cases.into_iter().flatten() {
            let tile = tile(layout, *bytes, *address, ways, most_rows, multiprocessors);
            let lanes = tile.lanes;
            let in_part = PART_BYTES / bytes;
            if tile.staging == Staging::Columns {
                check_columns(&tile, *bytes, words);
                continue;
            }
            if let Some(bundle) = tile.bundle {
                assert_eq!((tile.staging, tile.kept.len()), (Staging::Piece, 1), "{tile:?}");
                assert!(bundle <= WARP && tile.rows <= BUNDLED, "{tile:?}");
                assert!(tile.rows.is_multiple_of(bundle) && tile.steps == length, "{tile:?}");
            }
            if tile.staging == Staging::ShortRows {
                assert!(lanes <= 2 && tile.steps == length, "{tile:?}");
                assert!(address.is_multiple_of(PACK), "{tile:?}");
                assert_eq!(layout.kept[0].stride as u64, length * bytes, "{tile:?}");
                assert!((tile.rows * length * bytes).is_multiple_of(PACK), "{tile:?}");
                assert!(!(length * bytes).is_multiple_of(PART_BYTES), "{tile:?}");
            }
            if [Staging::PlainPiece, Staging::ShortRows].contains(&tile.staging) {
                assert!(ways.is_some() && tile.step == *bytes, "{tile:?}");
                assert_eq!((tile.kept.len(), tile.reduced.len()), (1, 1), "{tile:?}");
                // The kernel for all rows takes no such tile of whole rows.
                let is_whole = tile.steps == length;
                assert!(!is_whole || tile.is_single(rows, length, *bytes), "{tile:?}");
            }
            // A tile and its padding fit, and the lanes of a row hold its steps.
            let behind = tile.bundle.map_or(0, |rows| (tile.rows - 1) / rows * tile.bundle_gap());
            let extent =
                (tile.rows - 1) * tile.row_step + behind + (tile.steps - 1) * tile.step + bytes;
            assert!(extent <= TILE_BYTES, "{tile:?}");
            assert!((1..=WARP).contains(&lanes) && tile.steps <= lanes * in_part, "{tile:?}");
            assert!(tile.kept.len() + tile.reduced.len() <= DIMS);
            let Some(work) = work(&tile, rows, length, words, multiprocessors) else {
                assert!(most_rows > 1 || length > most_elements(*bytes, words));
                continue;
            };
            assert_eq!(work.tiles, length.div_ceil(tile.steps));
            if work.tiles > 1 {
                assert!(lanes.is_power_of_two());
                assert_eq!(tile.steps, lanes * in_part, "{tile:?}");
                assert!(tile.rows <= WARP / lanes && tile.rows <= most_rows.max(16), "{tile:?}");
            }
            assert!(work.task.is_power_of_two() && work.task <= MOST_TILES, "{work:?}");
            assert_eq!(work.tasks, work.tiles.div_ceil(work.task));
            assert!(work.at_once >= 1);
            assert!(work.team.is_power_of_two() && work.team <= WARPS.min(work.tasks * 2 - 1));
            if work.tasks > work.team {
                // Such a team is a block, whose warps meet the other teams together.
                assert_eq!(work.team, WARPS, "{work:?}");
                let slots = work.at_once * work.tasks.div_ceil(work.team) * tile.rows;
                assert!(slots * words * 8 <= WORKSPACE_BYTES, "{work:?}");
            }
            // A tile's extents fill it without a gap.
            let unit = tile.unit << tile.fast;
            match tile.staging {
                // Columns have been checked.
                Staging::Piece | Staging::PlainPiece | Staging::ShortRows | Staging::Columns => {}
                Staging::RowUnits | Staging::RowElements => {
                    assert_eq!((tile.rows * bytes, tile.step), (unit, unit));
                }
                Staging::StepUnits | Staging::StepElements => assert_eq!(tile.row_step, unit),
                Staging::Fold => {
                    assert_eq!(tile.row_step, unit);
                    assert_eq!((tile.kept.len(), tile.reduced.len()), (1, 2), "{tile:?}");
                    let run = tile.reduced[0];
                    assert!(run.size >= WARP && run.stride == tile.unit as i64, "{tile:?}");
                    assert!(length * bytes / tile.unit <= u32::MAX.into(), "{tile:?}");
                    assert!(1 << tile.fast > WARP, "{tile:?}");
                }
            }
        }
    }

    #[test]
    fn a_number_is_divided_by_the_lanes_or_the_rows_of_a_bundle() {
        for divisor in 1..=WARP {
            for number in 0..BUNDLED {
                assert_eq!((number * share_of(divisor)) >> SHARE, number / divisor);
            }
        }
    }

    /// The tile of a matrix of this shape, whose 32-bit elements begin at `address`, reduced along
    /// an axis, for a kernel that knows all ways.
    fn tile_of([height, width]: [u64; 2], axis: usize, address: u64) -> Tile {
        let across = Dims::from_slice(&[Dim { size: width, stride: 4 }]);
        let down = Dims::from_slice(&[Dim { size: height, stride: 4 * width as i64 }]);
        let (kept, reduced) = if axis == 1 { (down, across) } else { (across, down) };
        tile(&Layout { kept, reduced }, 4, address, Some(LIGHT), MOST_ROWS, 132)
    }

    #[test]
    fn neighbours_along_rows_take_the_short_way() {
        for shape in [[4096, 1024], [1, 4097], [3, 4097], [1 << 21, 34], [100_000, 32]] {
            for address in [256, 260] {
                assert_eq!(tile_of(shape, 1, address).staging, Staging::PlainPiece, "{shape:?}");
            }
        }
        // The neighbours of a column are elsewhere.
        assert_eq!(tile_of([1000, 3], 0, 256).staging, Staging::Piece);
        assert_eq!(tile_of([128, 128], 0, 256).staging, Staging::RowUnits);
    }

    #[test]
    fn rows_of_few_tiles_have_a_kernel_of_their_own() {
        let is_single = |rows, length| tile_of([rows, length], 1, 256).is_single(rows, length, 4);
        for length in [1, 64, 1024, 2000, 4096, 4097, 8192] {
            assert!(is_single(1 << 20, length), "{length}");
        }
        assert!(!is_single(1 << 20, 8193));
        // The second tile of such a row has one element.
        assert_eq!([1 << 20, 1 << 10].map(|rows| is_single(rows, 1025)), [false, true]);
        assert!(!tile_of([1024, 64], 0, 256).is_single(64, 1024, 4));
    }

    /// The lanes of a row, and the rows of a tile, if lanes take the rows of a matrix of `f32` one
    /// after the other.
    fn short(rows: u64, length: u64, address: u64, is_light: bool) -> Option<(u64, u64)> {
        let kept = Dims::from_slice(&[Dim { size: rows, stride: 4 * length as i64 }]);
        let reduced = Dims::from_slice(&[Dim { size: length, stride: 4 }]);
        let ways = Some(Ways { words: 2, is_light });
        let tile = tile(&Layout { kept, reduced }, 4, address, ways, MOST_ROWS, 132);
        (tile.staging == Staging::ShortRows).then_some((tile.lanes, tile.rows))
    }

    #[test]
    fn lanes_take_short_rows() {
        for is_light in [true, false] {
            // In the cache and beyond it, and in tiles that begin at packs.
            assert_eq!(short(1 << 18, 7, 256, is_light), Some((1, 96)));
            assert_eq!(short(1 << 25, 7, 256, is_light), Some((1, 128)));
            assert_eq!(short(1 << 17, 33, 256, is_light), Some((2, 28)));
            // Whole parts, rows of more than two parts, and arrays that do not begin at a pack.
            assert_eq!(short(1 << 18, 32, 256, is_light), None);
            assert_eq!(short(1 << 18, 64, 256, is_light), None);
            assert_eq!(short(1 << 18, 65, 256, is_light), None);
            assert_eq!(short(1 << 18, 7, 260, is_light), None);
        }
        // So few rows have lanes of their own at once.
        assert_eq!(short(1 << 10, 33, 256, false), None);
        assert_eq!(short(1 << 25, 33, 256, true), None);
        assert_eq!(short(1 << 25, 33, 256, false), Some((2, 28)));
        assert_eq!(short(1 << 25, 1, 256, true), Some((1, 1024)));
        assert_eq!(short(1 << 25, 1, 256, false), None);
        assert_eq!(short(1 << 20, 1, 256, false), Some((1, 352)));
        assert_eq!(short(1 << 10, 0, 256, true), None);
    }

    #[test]
    fn tiles_of_three_dimensions_are_bundles_and_folds() {
        let of = |[outer, middle, inner]: [u64; 3], bytes: u64, is_middle: bool| {
            let dim = |size, stride| Dim { size, stride: (stride * bytes) as i64 };
            let ends = Dims::from_slice(&[dim(inner, 1), dim(outer, middle * inner)]);
            let middle = Dims::from_slice(&[dim(middle, inner)]);
            let (kept, reduced) = if is_middle { (ends, middle) } else { (middle, ends) };
            let tile = tile(&Layout { kept, reduced }, bytes, 0, Some(LIGHT), MOST_ROWS, 132);
            (tile.staging, tile.unit, tile.rows, tile.bundle)
        };
        // Sixteen bundles of two rows, and one that has more than half of a tile.
        assert_eq!(of([1 << 20, 32, 2], 4, true), (Staging::Piece, 4, 32, Some(2)));
        assert_eq!(of([1 << 16, 1024, 3], 2, true), (Staging::Piece, 4, 3, None));
        // Images of 7 times 7 are copied by words, and larger ones by packs.
        assert_eq!(of([1000, 64, 49], 4, false), (Staging::Fold, 4, 1, None));
        assert_eq!(of([1000, 64, 196], 4, false), (Staging::Fold, 16, 1, None));
        assert_eq!(of([1000, 64, 64], 4, false), (Staging::Fold, 8, 1, None));
        assert_eq!(of([1000, 64, 25], 4, false).0, Staging::StepUnits);
    }

    #[test]
    fn few_tiles_are_shared_out_among_multiprocessors() {
        // Blocks, and threads of each.
        assert_eq!(single_blocks(1, 1, 132), [1, 64]);
        assert_eq!(single_blocks(256, 1, 132), [128, 64]);
        assert_eq!(single_blocks(4097, 1, 132), [513, 256]);
        // The warps of a row are in one block.
        assert_eq!(single_blocks(10, 5, 132), [10, 160]);
        assert_eq!(single_blocks(1001, 3, 132), [501, 192]);
        assert_eq!(single_blocks(1001, 8, 132), [1001, 256]);
        for tiles in 1..=MOST_SINGLE_TILES {
            for groups in 1..2000 {
                let [blocks, threads] = single_blocks(groups, tiles, 132);
                let of_block = threads / WARP / tiles;
                assert!(threads <= 256 && threads == of_block * tiles * WARP);
                assert_eq!(blocks, groups.div_ceil(of_block));
            }
        }
    }

    #[test]
    fn columns_in_a_cache_have_narrow_tiles() {
        let shape_of = |shape| {
            let tile = tile_of(shape, 0, 0);
            (tile.staging, tile.rows, tile.steps)
        };
        assert_eq!(shape_of([65536, 1024]), (Staging::Columns, 64, 32));
        assert_eq!(shape_of([4096, 1024]), (Staging::Columns, 16, 128));
        assert_eq!(shape_of([1024, 1024]), (Staging::Columns, 32, 64));
        assert_eq!(shape_of([256, 4096]), (Staging::Columns, 64, 32));
        assert_eq!(shape_of([128, 512]), (Staging::Columns, 64, 32));
        // There are 8 tiles.
        assert_eq!(shape_of([128, 128]).0, Staging::RowUnits);
    }

    proptest! {
        #[test]
        fn a_plan_keeps_the_contract_of_the_kernel(
            layout in layouts(), multiprocessors in 1u32..300
        ) {
            check(&layout, multiprocessors);
        }

        #[test]
        fn a_plan_of_three_dimensions_keeps_the_contract(
            layout in of_three(), multiprocessors in 1u32..300
        ) {
            check(&layout, multiprocessors);
        }

        #[test]
        fn a_plan_of_a_matrix_keeps_the_contract(
            layout in usual(), multiprocessors in 1u32..300
        ) {
            check(&layout, multiprocessors);
        }
    }

    #[test]
    fn the_largest_columns_find_a_plan() {
        // An array of 128 GiB.
        for columns in [1, 2, 32, 1000] {
            let length = (1u64 << 35) / columns;
            let layout = Layout {
                kept: Dims::from_slice(&[Dim { size: columns, stride: 4 }]),
                reduced: Dims::from_slice(&[Dim { size: length, stride: 4 * columns as i64 }]),
            };
            let plans = [MOST_ROWS, 1].map(|most_rows| {
                let tile = tile(&layout, 4, 0, None, most_rows, 132);
                work(&tile, columns, length, 2, 132)
            });
            assert!(plans.iter().any(Option::is_some), "{columns}: {plans:?}");
        }
    }
}
