//! Which launch suits an input: the one place where block sizes and chunk lengths are chosen.
//!
//! A kernel gives each block `span` packs of 16 bytes, one after another, and the last block combines what the blocks found.
//! So the grid follows from the input, and what is chosen is the block and the span.

use super::MOST_WORDS;

/// Bytes of a pack, which a thread loads in one instruction.
pub const PACK_BYTES: u64 = 16;
/// The most blocks of a launch: each of them writes a result that the last one reads.
pub const MOST_BLOCKS: u64 = 8192;

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
    /// Packs that a thread takes at least.
    packs: u32,
}

const fn row(up_to: u64, block: u32, packs: u32) -> Row {
    Row { up_to, block, packs }
}

/// The kernels keep eight loads of a thread under way.
const STREAMING: &[Row] = &[row(1 << 16, 256, 8), row(u64::MAX, 512, 8)];
/// Blocks that clear and merge a table in shared memory should be few.
const EXACT: &[Row] = &[row(u64::MAX, 256, 16)];

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
    let mut span = u64::from(row.block) * u64::from(row.packs);
    while packs.div_ceil(span) > most_blocks(multiprocessors) {
        span *= 2;
    }
    Shape { grid: packs.div_ceil(span).max(1) as u32, block: row.block, span }
}

fn most_blocks(_multiprocessors: u32) -> u64 {
    MOST_BLOCKS
}
