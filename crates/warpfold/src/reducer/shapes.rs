//! Which launch suits an input: the one place where block sizes and chunk lengths are chosen.
//!
//! A kernel gives each block `chunk` packs of 16 bytes, one after another, and the last block combines what the blocks found.
//! So the grid follows from the input, and what is chosen is the block and the chunk.

#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "public for tests alone"))]

use crate::device::{Device, DeviceClass, WORKSPACE_BYTES};

/// Bytes of a pack, which a thread loads in one instruction.
pub(crate) const PACK_BYTES: u64 = 16;
/// Bytes of a line of the caches.
pub(crate) const LINE_BYTES: u64 = 128;
/// The most blocks of a launch: each of them writes a result that the last one reads.
pub(crate) const MOST_BLOCKS: u64 = 1 << 16;
/// The most 32-bit words of a block's result, each of which takes a 64-bit word of the workspace.
const MOST_WORDS: u64 = 8;
const _: () = assert!(MOST_BLOCKS * MOST_WORDS * 8 <= WORKSPACE_BYTES);

/// What the inner loop of a kernel is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelClass {
    /// A few instructions for each element, such as an addition or a comparison.
    Plain,
    /// A comparison that keeps an index.
    Indexed,
    /// The smallest and the largest element at once.
    Extremes,
    /// Two inputs.
    Pair,
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

    /// Packs between the last address that is a multiple of [`LINE_BYTES`] and the first pack: by so many the first block has
    /// fewer than its chunk, and the others begin with a line.
    pub fn skew(&self) -> u64 {
        self.address.div_ceil(PACK_BYTES) % (LINE_BYTES / PACK_BYTES)
    }
}

/// The properties of a device that decide the launch shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// What decides grid, block and chunk, and with them the order of the operations.
    pub class: DeviceClass,
    /// Bytes of the L2 cache, on which no bit of a result depends.
    pub l2_bytes: u64,
}

impl Machine {
    /// An H100's L2, for drivers that do not tell the size.
    const USUAL_L2_BYTES: u64 = 50 << 20;

    /// Of a handle of a device.
    pub fn new(device: &Device) -> Self {
        Self { class: device.class(), l2_bytes: device.info().l2_bytes.unwrap_or(Self::USUAL_L2_BYTES) }
    }
}

/// The launch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Number of blocks, at least 1.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Packs of 16 bytes that a block takes.
    pub chunk: u64,
    /// The part of the input that is to stay in the L2 cache.
    pub keep: f32,
}

impl Shape {
    /// An upper bound on the number of operations between an element and the result, for elements of so many bytes, in whatever
    /// order the kernel combines them.
    ///
    /// ```
    /// use warpfold::testing::Shape;
    ///
    /// let shape = Shape { grid: 132, block: 256, chunk: 2048, keep: 1.0 };
    /// // 8 packs of 4 elements and two at the edges for a thread, its block, and the last block over all of them.
    /// assert!((34..80).contains(&shape.depth(4)));
    /// ```
    pub fn depth(&self, element_bytes: u64) -> u64 {
        let tree = |leaves: u64| u64::from(leaves.next_power_of_two().ilog2());
        let block = u64::from(self.block);
        let in_thread = self.chunk.div_ceil(block).saturating_mul(PACK_BYTES / element_bytes) + 2;
        let of_blocks = u64::from(self.grid).div_ceil(block) + 1;
        in_thread.saturating_add(2 * (tree(block) + 1) + of_blocks)
    }
}

/// What is chosen for inputs up to a size.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Packs of all inputs together.
    up_to: u64,
    cut: Cut,
    /// Whether the last block has no packs and only combines.
    extra: bool,
}

/// How an input is cut into blocks.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// So many threads, and packs for each of them.
    PacksEach(Threads, u32),
    /// Blocks of so many threads, one for each multiprocessor. None is left over then: the blocks of the next launch, which are
    /// given out while these are busy, would gather there, two or more on one multiprocessor, and all would wait for them.
    OneBlockEach(u32),
}

/// Threads of a block.
#[derive(Clone, Copy, Debug)]
enum Threads {
    Fixed(u32),
    /// As many as one block needs for all, if each takes four packs: the power of two above, at least 128 and at most 512.
    OneBlock,
    /// As many as give each multiprocessor one block: the power of two above, at least 128 and at most 1024.
    OneBlockEach,
}

const fn row(up_to: u64, threads: Threads, each: u32, extra: bool) -> Row {
    Row { up_to, cut: Cut::PacksEach(threads, each), extra }
}

const fn one_each(up_to: u64, threads: u32) -> Row {
    Row { up_to, cut: Cut::OneBlockEach(threads), extra: false }
}

/// Up to 2 MiB, whatever is done with them. A single block has nothing to combine with others; else about as many blocks as there
/// are multiprocessors are best, or half as many. All tables are from the measurements in bench/NOTEBOOK.md (attempts 11, 23, 24,
/// 28, 33 and 38).
const SMALL: [Row; 5] = [
    row(1 << 12, Threads::OneBlock, 8, false),
    row(1 << 14, Threads::Fixed(128), 2, false),
    row(1 << 15, Threads::Fixed(128), 4, false),
    row(1 << 16, Threads::OneBlockEach, 4, false),
    row(1 << 17, Threads::OneBlockEach, 8, false),
];

/// Up to 16 or 32 MiB, and up to 64 where there is more to do for an element: a block for each multiprocessor.
const MIDDLE: [Row; 1] = [one_each(1 << 21, 512)];
const MIDDLE_PLAIN_FAST: [Row; 1] = [one_each(1 << 20, 512)];
const MIDDLE_DOUBLE: [Row; 2] = [one_each(1 << 20, 512), one_each(1 << 21, 1024)];
const MIDDLE_DOUBLE_FAST: [Row; 2] = [one_each(1 << 20, 512), one_each(1 << 22, 1024)];

/// Both extremes of 64 bits, and whatever is done with 128: so much arithmetic wants all the warps there are, and the last one to
/// read no more than 128 results, which are long.
const MIDDLE_WIDE: [Row; 4] = [
    row(1 << 18, Threads::OneBlockEach, 8, false),
    row(1 << 19, Threads::OneBlockEach, 4, false),
    row(1 << 20, Threads::OneBlockEach, 8, false),
    one_each(1 << 22, 1024),
];

/// More than that: the more blocks there are, the larger they should be.
const PLAIN: [Row; 3] = [
    row(1 << 22, Threads::Fixed(256), 8, false),
    row(1 << 25, Threads::Fixed(512), 8, true),
    row(u64::MAX, Threads::Fixed(1024), 8, true),
];

/// The same where the memory is faster (an H200): blocks that stay for some rounds spare their beginnings and ends.
const PLAIN_FAST: [Row; 4] = [
    row(1 << 22, Threads::Fixed(256), 8, false),
    row(1 << 23, Threads::Fixed(512), 8, true),
    row(1 << 26, Threads::Fixed(512), 16, true),
    row(u64::MAX, Threads::Fixed(512), 32, true),
];

/// What has more to do for an element, and more at its end, should stay longer.
const DOUBLE: [Row; 2] = [row(1 << 24, Threads::Fixed(512), 8, true), row(u64::MAX, Threads::Fixed(1024), 16, true)];

/// The same where the memory is faster.
const DOUBLE_FAST: [Row; 1] = [row(u64::MAX, Threads::Fixed(512), 32, true)];

/// Blocks that clear and merge a table in shared memory should be few.
const EXACT: [Row; 5] = [
    row(1 << 11, Threads::Fixed(256), 8, false),
    row(1 << 16, Threads::Fixed(256), 4, false),
    row(1 << 18, Threads::Fixed(256), 8, false),
    row(1 << 21, Threads::Fixed(256), 16, false),
    row(u64::MAX, Threads::Fixed(512), 32, false),
];

/// The tables for a kernel, one behind the other.
const fn tables(class: KernelClass, element_bytes: u64, is_fast: bool) -> [&'static [Row]; 3] {
    let is_wide = element_bytes >= if matches!(class, KernelClass::Extremes) { 8 } else { 16 };
    match (class, is_fast) {
        (KernelClass::Exact, _) => [&[], &[], &EXACT],
        (_, false) if is_wide => [&SMALL, &MIDDLE_WIDE, &DOUBLE],
        (_, true) if is_wide => [&SMALL, &MIDDLE_WIDE, &DOUBLE_FAST],
        (KernelClass::Plain | KernelClass::Pair, false) => [&SMALL, &MIDDLE, &PLAIN],
        (KernelClass::Plain, true) => [&SMALL, &MIDDLE_PLAIN_FAST, &PLAIN_FAST],
        (KernelClass::Pair, true) => [&SMALL, &MIDDLE, &PLAIN_FAST],
        (KernelClass::Indexed | KernelClass::Extremes, false) => [&SMALL, &MIDDLE_DOUBLE, &DOUBLE],
        (KernelClass::Indexed | KernelClass::Extremes, true) => [&SMALL, &MIDDLE_DOUBLE_FAST, &DOUBLE_FAST],
    }
}

/// The launch for an input.
///
/// ```
/// use warpfold::{device::DeviceClass, testing::{Extent, KernelClass, Machine, shape}};
///
/// let h100 = Machine { class: DeviceClass::H100, l2_bytes: 50 << 20 };
/// let shape = shape(Extent { address: 4, element_bytes: 4, n: 1 << 20 }, KernelClass::Plain, &h100);
/// assert!(u64::from(shape.grid) * shape.chunk >= (1 << 18) - 1);
/// ```
pub fn shape(input: Extent, class: KernelClass, machine: &Machine) -> Shape {
    let packs = input.packs();
    let all_packs = packs.saturating_mul(if class == KernelClass::Pair { 2 } else { 1 });
    let tables @ [.., large] = tables(class, input.element_bytes, machine.class.has_fast_memory());
    let row = tables.into_iter().flatten().find(|row| all_packs <= row.up_to).unwrap_or(&large[large.len() - 1]);

    let reach = packs.saturating_add(input.skew());
    let multiprocessors = u64::from(machine.class.multiprocessors());
    let (block, mut chunk) = match row.cut {
        Cut::PacksEach(threads, each) => {
            let above = |threads: u64, least, most| threads.next_power_of_two().clamp(least, most) as u32;
            let block = match threads {
                Threads::Fixed(threads) => threads,
                Threads::OneBlock => above(packs.div_ceil(4), 128, 512),
                Threads::OneBlockEach => above(packs.div_ceil(u64::from(each) * multiprocessors), 128, 1024),
            };
            (block, u64::from(block) * u64::from(each))
        }
        Cut::OneBlockEach(block) => (block, reach.div_ceil(multiprocessors).next_multiple_of(LINE_BYTES / PACK_BYTES)),
    };
    while reach.div_ceil(chunk) >= MOST_BLOCKS {
        chunk *= 2;
    }
    let grid = reach.div_ceil(chunk).max(1) as u32 + u32::from(row.extra);
    Shape { grid, block, chunk, keep: keep(all_packs.saturating_mul(PACK_BYTES), machine.l2_bytes) }
}

/// The part of an input of so many bytes that is to stay in L2. Of an input that is larger than L2 the rest is marked to go first:
/// otherwise it would evict its own beginning before it is read again, or what a kernel has just written of its end. GPUs know
/// sixteenths, and round up. (bench/NOTEBOOK.md, attempts 13 and 14.)
fn keep(bytes: u64, l2_bytes: u64) -> f32 {
    if bytes / 4 <= l2_bytes / 5 {
        return 1.0;
    }
    let sixteenths = u128::from(l2_bytes / 3) * 16 / u128::from(bytes);
    sixteenths.max(1) as f32 / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [KernelClass; 5] =
        [KernelClass::Plain, KernelClass::Indexed, KernelClass::Extremes, KernelClass::Pair, KernelClass::Exact];

    const H100: Machine = Machine { class: DeviceClass::H100, l2_bytes: 50 << 20 };

    /// Each size near a power of two, and those between.
    fn sizes() -> impl Iterator<Item = u64> {
        let near = |power: u64| [power - 1, power, power.saturating_add(1), power.saturating_add(power / 3)];
        (0..64).flat_map(move |bits| near(1 << bits)).chain([u64::MAX - 1, u64::MAX])
    }

    fn extents() -> impl Iterator<Item = Extent> {
        [1u64, 2, 4, 8, 16].into_iter().flat_map(|element_bytes| {
            let offsets = (0..LINE_BYTES).step_by(element_bytes as usize);
            offsets.flat_map(move |offset| sizes().map(move |n| Extent { address: 256 + offset, element_bytes, n }))
        })
    }

    #[test]
    fn every_element_is_in_one_part() {
        for extent in extents() {
            let Extent { address, element_bytes, n } = extent;
            let (n, size) = (u128::from(n), u128::from(element_bytes));
            let packs = u128::from(extent.packs());
            // The first element of the first pack is the first on a multiple of 16 bytes, and so many packs behind one of 128.
            assert!((u128::from(address).next_multiple_of(16) - 16 * u128::from(extent.skew())) % 128 == 0);
            let before = (0..16).find(|i| (u128::from(address) + i * size) % 16 == 0).unwrap().min(n);
            let behind = n - before - packs * 16 / size;
            assert!(behind < 16 / size, "{extent:?}: {behind} elements behind {packs} packs");
            for class in CLASSES {
                let Shape { grid, block, chunk, .. } = shape(extent, class, &H100);
                let (grid, chunk) = (u128::from(grid), u128::from(chunk));
                // Block b takes packs b * chunk - skew up to (b + 1) * chunk - skew: all of them, and no block but the last is
                // without any.
                let reach = (packs + u128::from(extent.skew())).min(u64::MAX.into());
                assert!(grid * chunk >= reach, "{extent:?} {class:?}");
                assert!(grid <= 2 || (grid - 2) * chunk < reach, "{extent:?} {class:?}");
                assert!(block.is_multiple_of(32) && (32..=1024).contains(&block));
            }
        }
    }

    #[test]
    fn grids_fit_the_workspace() {
        for (extent, class) in extents().flat_map(|extent| CLASSES.map(|class| (extent, class))) {
            for multiprocessors in [1, 16, 132, 1000] {
                for has_fast_memory in [false, true] {
                    let of = DeviceClass::new(multiprocessors, has_fast_memory, (9, 0));
                    let shape = shape(extent, class, &Machine { class: of, ..H100 });
                    assert!((1..=MOST_BLOCKS).contains(&u64::from(shape.grid)), "{extent:?} {class:?}: {shape:?}");
                }
            }
        }
    }

    #[test]
    fn tables_are_in_order_and_end_with_everything() {
        for class in CLASSES {
            for (element_bytes, is_fast) in [4, 8, 16].into_iter().flat_map(|bytes| [(bytes, false), (bytes, true)]) {
                let rows = tables(class, element_bytes, is_fast).concat();
                assert!(
                    rows.windows(2).all(|rows| rows[0].up_to < rows[1].up_to),
                    "{class:?} {element_bytes} {is_fast}"
                );
                assert_eq!(rows.last().unwrap().up_to, u64::MAX);
            }
        }
    }

    #[test]
    fn a_small_input_is_one_block() {
        for n in [0, 1, 31, 1024, 4096, 16_384] {
            let shape = shape(Extent { address: 0, element_bytes: 4, n }, KernelClass::Plain, &H100);
            assert_eq!(shape.grid, 1, "{n}: {shape:?}");
        }
        assert!(shape(Extent { address: 0, element_bytes: 4, n: 16_388 }, KernelClass::Plain, &H100).grid > 1);
    }

    #[test]
    fn a_middling_input_gives_each_multiprocessor_a_block() {
        for n in [600_000, 1 << 20, 1_234_567, 1 << 22] {
            for (class, address) in [
                (KernelClass::Plain, 256),
                (KernelClass::Indexed, 260),
                (KernelClass::Extremes, 380),
                (KernelClass::Pair, 256),
            ] {
                let shape = shape(Extent { address, element_bytes: 4, n }, class, &H100);
                assert!((128..=132).contains(&shape.grid), "{n}: {shape:?}");
                // All blocks but the first begin with a line.
                assert!(shape.chunk.is_multiple_of(LINE_BYTES / PACK_BYTES));
            }
        }
    }

    #[test]
    fn what_is_larger_than_l2_keeps_a_third_of_it() {
        let sixteenths = |bytes: u64| (keep(bytes, 50 << 20) * 16.0) as u32;
        assert_eq!([0, 40 << 20].map(sixteenths), [16, 16]);
        assert_eq!([64 << 20, 128 << 20, 256 << 20].map(sixteenths), [4, 2, 1]);
        // At least one: the fraction must be more than 0.
        assert_eq!([1 << 30, u64::MAX].map(sixteenths), [1, 1]);
    }

    #[test]
    fn the_depth_is_that_of_the_longest_way() {
        // A thread of one block takes 8 packs of 4 elements, the block has 5 levels within a warp and 5 beyond.
        let shape = Shape { grid: 1, block: 1024, chunk: 8192, keep: 1.0 };
        assert!(shape.depth(4) >= 8 * 4 + 10);
        // Each thread of the last block takes 8 results of blocks more.
        let shape = Shape { grid: 8192, block: 1024, chunk: 8192, keep: 1.0 };
        assert!(shape.depth(4) >= 8 * 4 + 10 + 8 + 10);
        assert!(Shape { grid: 8192, block: 32, chunk: u64::MAX, keep: 1.0 }.depth(1) > 1 << 60);
    }
}
