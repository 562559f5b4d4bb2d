//! How two arrays are cut into tiles of the same rows and steps.

use super::{
    layout::Layout,
    plan::{PART_BYTES, TILE_BYTES, Tile, WARP, in_lines, in_units, piece, resident},
};

/// The tiles for layouts of elements of `bytes` bytes whose first elements are at `addresses`. Both
/// have the same rows, steps and lanes. A tile and a part have half of the bytes that they have
/// for one array. If a row has several tiles, a tile has at most `most_rows` rows.
pub(super) fn tiles(
    layouts: [&Layout; 2],
    bytes: u64,
    addresses: [u64; 2],
    most_rows: u64,
    multiprocessors: u32,
) -> [Tile; 2] {
    let length = layouts[0].length();
    let (in_part, in_tile) = (PART_BYTES / 2 / bytes, TILE_BYTES / 2 / bytes);
    let lanes = length.div_ceil(in_part).max(1);
    let at_once = (WARP / lanes).max(1);
    let share = layouts[0].rows().div_ceil(resident(multiprocessors)).max(at_once);
    let padded = length.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
    let (rows, steps, lanes) = if length <= in_tile {
        // Whole rows: as many as lie in one piece of both arrays, or else a power of two.
        let packed = (in_tile / length.max(1)).min(share.next_multiple_of(at_once));
        let is_piece = |layout| as_piece(layout, bytes, packed, length).is_some();
        let rows = if layouts.into_iter().all(is_piece) {
            packed
        } else {
            (in_tile / padded).min(share.next_power_of_two())
        };
        (rows.max(1), length, lanes)
    } else {
        let rows = if layouts.into_iter().any(is_by_rows) {
            layouts[0].kept[0].size.min(most_rows).next_power_of_two()
        } else {
            1
        };
        (rows, WARP / rows * in_part, WARP / rows)
    };
    let tile = |array: usize| {
        let (layout, address) = (layouts[array], addresses[array]);
        let Some((row_step, step)) = as_piece(layout, bytes, rows, steps) else {
            return in_pieces(layout, bytes, address, (rows, steps, lanes));
        };
        piece(layout.clone(), rows, steps, (row_step, step), lanes)
    };
    [tile(0), tile(1)]
}

/// Whether neighbouring rows are nearer to each other than neighbouring steps.
fn is_by_rows(layout: &Layout) -> bool {
    let (row, step) = (layout.kept[0], layout.reduced[0]);
    row.size > 1
        && row.stride != 0
        && (step.size == 1
            || step.stride == 0
            || row.stride.unsigned_abs() < step.stride.unsigned_abs())
}

/// The bytes from a row to the next and from a step to the next, if each tile of so many rows and
/// steps is one piece of memory without a gap.
fn as_piece(layout: &Layout, bytes: u64, rows: u64, steps: u64) -> Option<(u64, u64)> {
    let (row, step) = (layout.kept[0], layout.reduced[0]);
    let is_one = |count: u64, dims: usize| dims == 1 || count == 1;
    if layout.reduced.len() > 1 || !is_one(rows, layout.kept.len()) {
        return None;
    }
    let strides = [(rows, row.stride), (steps, step.stride)]
        .map(|(count, stride)| if count <= 1 { 0 } else { stride });
    let [row_step, step] = strides.map(|stride| u64::try_from(stride).ok());
    let (row_step, step) = (row_step?, step?);
    let next_steps = step == bytes || steps <= 1;
    let are_steps = next_steps && (row_step == 0 || row_step == steps * bytes);
    // A step of fewer rows would leave gaps.
    let are_rows = rows == layout.kept[0].size && row_step == bytes && step == rows * bytes;
    let is_single = step == 0 && row_step == 0;
    (are_steps || are_rows || is_single).then_some((row_step, step))
}

/// A tile that is copied unit by unit.
fn in_pieces(
    layout: &Layout,
    bytes: u64,
    address: u64,
    (rows, steps, lanes): (u64, u64, u64),
) -> Tile {
    let by_rows = is_by_rows(layout);
    let (along, across, all) =
        if by_rows { (rows, steps, layout.rows()) } else { (steps, rows, layout.length()) };
    let room = TILE_BYTES / 2 / bytes;
    // Each tile begins and ends at a unit, and there is room for whole units.
    let extent = |unit: u64| along.next_power_of_two().max(unit / bytes);
    let fits = |unit: u64| {
        (along >= all || (along * bytes).is_multiple_of(unit)) && extent(unit) * across <= room
    };
    let in_units = in_units(layout, bytes, address, by_rows, fits);
    let extent = extent(in_units.0.unwrap_or(bytes));
    in_lines(in_units, bytes, by_rows, extent, (rows, steps, lanes))
}
