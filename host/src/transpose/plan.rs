//! Turns a matrix into a launch with a grid and a block. The functions are pure and need no device.

use super::{ElementType, Grid, Moves, Variant};
use crate::{
    device::{Dim3, LaunchShape, Overlap},
    launch::bytes,
};

/// The largest number of rows or columns. The kernels compute with 32 bits.
pub const MAX_EXTENT: u64 = i32::MAX as u64;

/// The largest grid that CUDA allows in the second dimension.
const MAX_GRID_Y: u64 = 65_535;

/// What to transpose, and by which variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The variant.
    pub variant: Variant,
    /// The type of the elements.
    pub element: ElementType,
    /// The number of rows of the input.
    pub rows: u64,
    /// The number of columns of the input.
    pub cols: u64,
}

impl Problem {
    /// The number of bytes of the matrix.
    pub fn bytes(&self) -> u128 {
        u128::from(self.rows) * u128::from(self.cols) * u128::from(self.element.size())
    }

    /// The number of rows and of columns of the output.
    pub fn output_extent(&self) -> (u64, u64) {
        match self.variant.facts().moves {
            Moves::Copies => (self.rows, self.cols),
            Moves::Transposes | Moves::TransposesInPlace => (self.cols, self.rows),
        }
    }
}

/// The plan of one transposition, which is a single launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The problem that the plan solves.
    pub problem: Problem,
    /// The number of elements on each side of a tile.
    pub tile: u32,
    /// The name of the kernel.
    pub kernel: String,
    /// The grid and the block; `None` if there is nothing to transpose.
    pub shape: Option<LaunchShape>,
}

/// Why a transposition cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is no kernel for a tile of this size.
    #[error(
        "tile {tile}: variant {variant} works in tiles of {allowed} with elements of {element}"
    )]
    Tile {
        /// The number of elements on each side of the tile that was asked for.
        tile: u64,
        /// The variant.
        variant: Variant,
        /// The sizes for which there are kernels.
        allowed: String,
        /// The type of the elements.
        element: ElementType,
    },
    /// The matrix is not a square, so it cannot be transposed in place.
    #[error("{rows} x {cols}: variant in-place needs as many rows as columns")]
    NotSquare {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
    },
    /// The matrix has more rows or columns than a kernel can count.
    #[error("{rows} x {cols}: at most {MAX_EXTENT} rows and columns are possible")]
    Extent {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
    },
    /// The input and the output do not fit in the device's memory.
    #[error(
        "{rows} x {cols} {element} elements need {} of device memory for input and output; the device has {} free",
        bytes(*.needed), bytes((*.available).into())
    )]
    Memory {
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
        /// The type of the elements.
        element: ElementType,
        /// The bytes that the input and the output take.
        needed: u128,
        /// The bytes that are free on the device.
        available: u64,
    },
}

/// Refuses a problem that no device could run, and chooses the tile.
///
/// # Errors
///
/// [`PlanError::Tile`], [`PlanError::NotSquare`], [`PlanError::Extent`].
pub fn check(problem: &Problem, tile: Option<u64>) -> Result<u32, PlanError> {
    let Problem { variant, element, rows, cols } = *problem;
    let tiles = variant.tiles(element);
    let largest = tiles.iter().copied().max().unwrap_or_default();
    let asked = tile.unwrap_or(largest.into());
    let Some(tile) = tiles.iter().copied().find(|&tile| u64::from(tile) == asked) else {
        let allowed = tiles.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        return Err(PlanError::Tile { tile: asked, variant, allowed, element });
    };
    if variant.facts().moves == Moves::TransposesInPlace && rows != cols {
        return Err(PlanError::NotSquare { rows, cols });
    }
    if rows.max(cols) > MAX_EXTENT {
        return Err(PlanError::Extent { rows, cols });
    }
    Ok(tile)
}

/// Plans a transposition, or says why there is none. `tile` is the side of the tiles; if it is
/// `None`, they are the largest that the variant has. `memory` is the number of bytes that are free
/// on the device.
///
/// ```
/// use warpfold_lab::transpose::*;
///
/// let (variant, element) = (Variant::SharedCopy, ElementType::F32);
/// let problem = Problem { variant, element, rows: 4000, cols: 4096 };
/// let plan = plan(&problem, None, 80 << 30)?;
/// let shape = plan.shape.expect("there is something to transpose");
/// assert_eq!((shape.grid.x, shape.grid.y), (128, 125));
/// assert_eq!((shape.block.x, shape.block.y), (32, 8));
/// # Ok::<(), PlanError>(())
/// ```
///
/// # Errors
///
/// See [`PlanError`].
pub fn plan(problem: &Problem, tile: Option<u64>, memory: u64) -> Result<Plan, PlanError> {
    let Problem { variant, element, rows, cols } = *problem;
    let tile = check(problem, tile)?;
    // A transposition in place needs two matrices as well, because each run starts from a fresh
    // copy of the input.
    let needed = 2 * problem.bytes();
    if needed > memory.into() {
        return Err(PlanError::Memory { rows, cols, element, needed, available: memory });
    }
    Ok(Plan {
        problem: *problem,
        tile,
        kernel: variant.kernel(element, tile),
        shape: shape(problem, tile),
    })
}

/// A launch with one block for each tile. If the second dimension of the grid has no room for all
/// tiles, the third dimension takes the rest.
fn shape(problem: &Problem, tile: u32) -> Option<LaunchShape> {
    let Problem { variant, element, rows, cols } = *problem;
    let (tile_rows, tile_cols) = (rows.div_ceil(tile.into()), cols.div_ceil(tile.into()));
    let (along_x, along_y) = match variant.facts().grid {
        Grid::Input => (tile_cols, tile_rows),
        Grid::Output => (tile_rows, tile_cols),
        Grid::ColumnPairs => (2 * tile_rows, tile_cols.div_ceil(2)),
    };
    if along_x == 0 || along_y == 0 {
        return None;
    }
    let layers = along_y.div_ceil(MAX_GRID_Y);
    let grid = [along_x, along_y.div_ceil(layers), layers].map(|extent| extent as u32);
    let (x, y) = variant.block(element, tile);
    Some(LaunchShape {
        grid: Dim3 { x: grid[0], y: grid[1], z: grid[2] },
        block: Dim3 { x, y, z: 1 },
        shared_bytes: 0,
        cluster: 1,
        cooperative: false,
        overlap: Overlap::Never,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(variant: Variant, rows: u64, cols: u64) -> Problem {
        Problem { variant, element: ElementType::F32, rows, cols }
    }

    fn grid(variant: Variant, rows: u64, cols: u64, tile: u64) -> Option<(u32, u32, u32)> {
        let plan = plan(&problem(variant, rows, cols), Some(tile), u64::MAX).unwrap();
        plan.shape.map(|shape| (shape.grid.x, shape.grid.y, shape.grid.z))
    }

    #[test]
    fn the_grid_has_a_block_for_each_tile() {
        assert_eq!(grid(Variant::SharedCopy, 33, 64, 32), Some((2, 2, 1)));
        assert_eq!(grid(Variant::Diagonal, 1, 17, 16), Some((2, 1, 1)));
        assert_eq!(grid(Variant::Padded, 97, 33, 32), Some((8, 1, 1)));
        assert_eq!(grid(Variant::Swizzled, 1, 33, 16), Some((2, 2, 1)));
        assert_eq!(grid(Variant::Best, 65, 128, 64), Some((2, 2, 1)));
        assert_eq!(grid(Variant::NaiveLoad, 100, 10, 16), Some((7, 1, 1)));
        assert_eq!(grid(Variant::StridedCopy, 100, 10, 16), Some((7, 1, 1)));
        for (rows, cols) in [(0, 5), (5, 0), (0, 0)] {
            assert_eq!(grid(Variant::Copy, rows, cols, 32), None);
        }
    }

    #[test]
    fn rows_beyond_the_second_dimension_go_to_the_third() {
        assert_eq!(grid(Variant::Copy, 65_535 * 16, 1, 16), Some((1, 65_535, 1)));
        assert_eq!(grid(Variant::Copy, 65_535 * 16 + 1, 1, 16), Some((1, 32_768, 2)));
        assert_eq!(grid(Variant::Copy, MAX_EXTENT, 1, 16), Some((1, 65_505, 2049)));
        assert_eq!(grid(Variant::Padded, 1, 65_535 * 32 + 1, 16), Some((2, 32_768, 2)));
        assert_eq!(grid(Variant::Padded, MAX_EXTENT, 1, 16), Some((1 << 28, 1, 1)));
    }

    #[test]
    fn the_largest_tile_is_the_default() {
        assert_eq!(check(&problem(Variant::Padded, 1, 1), None), Ok(32));
        assert_eq!(check(&problem(Variant::Best, 1, 1), None), Ok(64));
    }

    #[test]
    fn what_is_refused_is_named() {
        let refused = |variant, rows, cols, tile| {
            plan(&problem(variant, rows, cols), tile, 1000).unwrap_err().to_string()
        };
        assert_eq!(
            refused(Variant::Padded, 1, 1, Some(48)),
            "tile 48: variant padded works in tiles of 16 or 32 with elements of f32"
        );
        assert_eq!(
            refused(Variant::Best, 1, 1, Some(32)),
            "tile 32: variant best works in tiles of 64 with elements of f32"
        );
        assert_eq!(
            refused(Variant::InPlace, 2, 3, None),
            "2 x 3: variant in-place needs as many rows as columns"
        );
        assert_eq!(
            refused(Variant::Copy, MAX_EXTENT + 1, 1, None),
            "2147483648 x 1: at most 2147483647 rows and columns are possible"
        );
        assert_eq!(
            refused(Variant::Copy, 10, 100, None),
            "10 x 100 f32 elements need 8.0 kB of device memory for input and output; the device has 1.0 kB free"
        );
    }

    #[test]
    fn a_square_may_be_as_large_as_the_memory() {
        assert!(plan(&problem(Variant::InPlace, 10, 10), None, 800).is_ok());
        assert!(plan(&problem(Variant::InPlace, 10, 10), None, 799).is_err());
    }
}
