//! Which launch suits an input: the one place where block sizes and chunk lengths are chosen.
//!
//! A kernel gives each block `span` packs of 16 bytes, one after another, and the last block combines what the blocks found.
//! So the grid follows from the input, and what is chosen is the block and the span.

use crate::device::WORKSPACE_BYTES;

/// Bytes of a pack, which a thread loads in one instruction.
pub const PACK_BYTES: u64 = 16;
/// The most blocks of a launch: each of them writes a result that the last one reads.
pub const MOST_BLOCKS: u64 = 8192;
/// The most 32-bit words of a block's result, each of which takes a 64-bit word of the workspace.
const MOST_WORDS: u64 = 64;
const _: () = assert!(MOST_BLOCKS * MOST_WORDS * 8 <= WORKSPACE_BYTES);

/// What the inner loop of a kernel is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// An addition, multiplication or bit operation for each element.
    Sum,
    /// A comparison.
    Extreme,
    /// A comparison that keeps an index.
    Indexed,
    /// Two inputs.
    Pair,
    /// Several additions for each element, such as an addition with its rounding error.
    Compensated,
    /// Several values of state, in `f64`.
    Moments,
    /// Exact sums of floats, in integers.
    Exact,
}

/// Where an input lies in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Address of the first element; of the first input of a pair.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub element_bytes: u64,
    /// Number of elements.
    pub n: u64,
}

impl Extent {
    /// Whole packs from the first address on that is a multiple of [`PACK_BYTES`]. The elements before and behind them belong to
    /// the first and the last block.
    pub fn packs(&self) -> u64 {
        let in_pack = PACK_BYTES / self.element_bytes;
        let before = self.address.wrapping_neg() % PACK_BYTES / self.element_bytes;
        self.n.saturating_sub(before) / in_pack
    }
}

/// The launch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of blocks, at least 1.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Packs of 16 bytes that a block takes.
    pub span: u64,
}

impl Shape {
    /// An upper bound on the number of operations between an element and the result, for elements of so many bytes, in whatever
    /// order the kernel combines them.
    ///
    /// ```
    /// use warpfold::reducer::shapes::Shape;
    ///
    /// let shape = Shape { grid: 132, block: 256, span: 2048 };
    /// // 8 packs of 4 elements and two at the edges for a thread, its block, and the last block over all of them.
    /// assert!((34..80).contains(&shape.depth(4)));
    /// ```
    pub fn depth(&self, element_bytes: u64) -> u64 {
        let tree = |leaves: u64| u64::from(leaves.next_power_of_two().ilog2());
        let block = u64::from(self.block);
        let in_thread = self.span.div_ceil(block).saturating_mul(PACK_BYTES / element_bytes) + 2;
        let of_blocks = u64::from(self.grid).div_ceil(block) + 1;
        in_thread.saturating_add(2 * (tree(block) + 1) + of_blocks)
    }
}

/// What is chosen for inputs up to a size.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// In bytes, of all inputs together.
    up_to: u64,
    /// Threads of a block.
    block: u32,
    /// Packs for a thread, of which a power of two is left as long as not every multiprocessor has a block.
    packs: u32,
    /// The fewest that are left.
    fewest: u32,
}

/// A single block needs to combine nothing with others; beyond, the kernels keep eight loads of a thread under way.
const STREAMING: &[Row] = &[
    Row { up_to: 1 << 15, block: 256, packs: 8, fewest: 8 },
    Row { up_to: u64::MAX, block: 512, packs: 8, fewest: 2 },
];

/// Blocks that clear and merge a table in shared memory should be few.
const EXACT: &[Row] = &[Row { up_to: u64::MAX, block: 256, packs: 16, fewest: 4 }];

const fn rows(class: Class) -> &'static [Row] {
    match class {
        Class::Exact => EXACT,
        Class::Sum | Class::Extreme | Class::Indexed | Class::Pair | Class::Compensated | Class::Moments => STREAMING,
    }
}

/// The launch for an input.
///
/// ```
/// use warpfold::reducer::shapes::{Class, Extent, shape};
///
/// let shape = shape(Extent { address: 4, element_bytes: 4, n: 1 << 20 }, Class::Sum, 132);
/// assert!(u64::from(shape.grid) * shape.span >= (1 << 18) - 1);
/// ```
pub fn shape(input: Extent, class: Class, multiprocessors: u32) -> Shape {
    let packs = input.packs();
    let inputs = if class == Class::Pair { 2 } else { 1 };
    let bytes = packs.saturating_mul(PACK_BYTES * inputs);
    let rows = rows(class);
    let row = rows.iter().find(|row| bytes <= row.up_to).unwrap_or(&rows[rows.len() - 1]);

    let blocks = |span: u64| packs.div_ceil(span).max(1);
    let (mut span, fewest) = (u64::from(row.block * row.packs), u64::from(row.block * row.fewest));
    while span > fewest && blocks(span) < u64::from(multiprocessors) {
        span /= 2;
    }
    while blocks(span) > MOST_BLOCKS {
        span *= 2;
    }
    Shape { grid: blocks(span) as u32, block: row.block, span }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [Class; 7] =
        [Class::Sum, Class::Extreme, Class::Indexed, Class::Pair, Class::Compensated, Class::Moments, Class::Exact];

    /// Each size near a power of two, and those between.
    fn sizes() -> impl Iterator<Item = u64> {
        let near = |power: u64| [power - 1, power, power.saturating_add(1), power.saturating_add(power / 3)];
        (0..64).flat_map(move |bits| near(1 << bits)).chain([u64::MAX - 1, u64::MAX])
    }

    fn extents() -> impl Iterator<Item = Extent> {
        [1u64, 2, 4, 8, 16].into_iter().flat_map(|element_bytes| {
            let offsets = (0..PACK_BYTES).step_by(element_bytes as usize);
            offsets.flat_map(move |offset| sizes().map(move |n| Extent { address: 256 + offset, element_bytes, n }))
        })
    }

    #[test]
    fn every_element_is_in_one_part() {
        for extent in extents() {
            let Extent { address, element_bytes, n } = extent;
            let (n, size) = (u128::from(n), u128::from(element_bytes));
            let packs = u128::from(extent.packs());
            // The first element of the first pack is the first on a multiple of 16 bytes.
            let before = (0..).find(|i| (u128::from(address) + i * size) % 16 == 0).unwrap().min(n);
            let behind = n - before - packs * 16 / size;
            assert!(behind < 16 / size, "{extent:?}: {behind} elements behind {packs} packs");
            for class in CLASSES {
                let Shape { grid, block, span } = shape(extent, class, 132);
                let (grid, span) = (u128::from(grid), u128::from(span));
                // Block b takes packs b * span up to (b + 1) * span: all of them, and no block is without any.
                assert!(grid * span >= packs, "{extent:?} {class:?}");
                assert!(grid == 1 || (grid - 1) * span < packs, "{extent:?} {class:?}");
                assert!(block.is_multiple_of(32) && (32..=1024).contains(&block));
            }
        }
    }

    #[test]
    fn grids_fit_the_workspace() {
        for (extent, class) in extents().flat_map(|extent| CLASSES.map(|class| (extent, class))) {
            for multiprocessors in [1, 16, 132, 1000] {
                let shape = shape(extent, class, multiprocessors);
                assert!((1..=MOST_BLOCKS).contains(&u64::from(shape.grid)), "{extent:?} {class:?}: {shape:?}");
            }
        }
    }

    #[test]
    fn tables_are_in_order_and_end_with_everything() {
        for rows in CLASSES.map(rows) {
            assert!(rows.windows(2).all(|rows| rows[0].up_to < rows[1].up_to));
            assert_eq!(rows.last().unwrap().up_to, u64::MAX);
            for row in rows {
                assert!(0 < row.fewest && row.fewest <= row.packs, "{row:?}");
            }
        }
    }

    #[test]
    fn the_depth_is_that_of_the_longest_way() {
        // A thread of one block takes 8 packs of 4 elements, the block has 5 levels within a warp and 5 beyond.
        let shape = Shape { grid: 1, block: 1024, span: 8192 };
        assert!(shape.depth(4) >= 8 * 4 + 10);
        // Each thread of the last block takes 8 results of blocks more.
        let shape = Shape { grid: 8192, block: 1024, span: 8192 };
        assert!(shape.depth(4) >= 8 * 4 + 10 + 8 + 10);
        assert!(Shape { grid: 8192, block: 32, span: u64::MAX }.depth(1) > 1 << 60);
    }
}
