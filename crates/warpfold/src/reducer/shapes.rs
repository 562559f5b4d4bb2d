//! The launch shape for an input: the only place where block sizes and chunk lengths are chosen.
//!
//! A kernel gives each block a chunk of `chunk` consecutive packs of 16 bytes, and the last block
//! combines the results of all blocks. So this module chooses the block and the chunk, and the grid
//! follows from the input.

#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "public for tests alone"))]

use crate::device::{Device, DeviceClass, LaunchShape, Overlap, WORKSPACE_BYTES};

/// Bytes of a pack, which a thread loads in one instruction.
pub(crate) const PACK_BYTES: u64 = 16;
/// Bytes of a cache line.
pub(crate) const LINE_BYTES: u64 = 128;
/// The most blocks of a launch. There is a limit because each block writes its result to the
/// workspace, where the last block reads it.
pub(crate) const MOST_BLOCKS: u64 = 1 << 16;
/// The most 32-bit words of a block's result. Each of them takes a 64-bit word of the workspace.
const MOST_WORDS: u64 = 8;
const _: () = assert!(MOST_BLOCKS * MOST_WORDS * 8 <= WORKSPACE_BYTES);

/// The kind of a kernel's inner loop, which decides the launch shape.
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
    /// Means and sums of squared deviations, which are merged by divisions.
    Moments,
    /// Sums of exponentials.
    Exponentials,
    /// Exact sums of floats, in integers.
    Exact,
}

/// The place of an input in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Address of the first element; for a pair, of the first input's first element.
    pub address: u64,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub element_bytes: u64,
    /// Number of elements.
    pub n: u64,
}

impl Extent {
    /// The number of whole packs, beginning at the first address that is a multiple of 16 bytes.
    /// The elements before the packs belong to the first block, those behind them to the last.
    pub fn packs(&self) -> u64 {
        let in_pack = PACK_BYTES / self.element_bytes;
        let before = self.bytes_before_packs() / self.element_bytes;
        self.n.saturating_sub(before) / in_pack
    }

    /// The bytes from the first element to the first pack.
    pub fn bytes_before_packs(&self) -> u64 {
        self.address.wrapping_neg() % PACK_BYTES
    }

    /// The bytes from the first element to the line in which the first pack begins. The line may
    /// begin before the input.
    pub fn bytes_before_lines(&self) -> i64 {
        self.bytes_before_packs() as i64 - (self.skew() * PACK_BYTES) as i64
    }

    /// How the input is cut into chunks of `chunk` packs, as kernels take it: the number of blocks
    /// with a whole chunk, the number of packs of the block after them, both counted from the line
    /// in which the first pack begins, and the edges.
    ///
    /// The edges are, from the lowest bit on, the [skew](Self::skew) and the elements before the
    /// first pack's boundary in 4 bits each, the elements of the input before that pack and those
    /// after the last pack in 8 bits each, and whether indices may have more than 32 bits.
    pub fn cut(&self, chunk: u64) -> [u32; 3] {
        let in_pack = PACK_BYTES / self.element_bytes;
        let to_boundary = self.bytes_before_packs() / self.element_bytes;
        let head = to_boundary.min(self.n);
        let tail = (self.n - head) % in_pack;
        let is_long = u64::from(self.n > u64::from(u32::MAX));
        let edges = self.skew() | to_boundary << 4 | head << 8 | tail << 16 | is_long << 24;
        let reach = self.skew() + self.packs();
        [reach / chunk, reach % chunk, edges].map(|number| number as u32)
    }

    /// The number of packs between the last multiple of 128 bytes and the first pack. The first
    /// block takes that many packs fewer than its chunk, so that the other blocks begin at a cache
    /// line.
    pub fn skew(&self) -> u64 {
        self.address.div_ceil(PACK_BYTES) % (LINE_BYTES / PACK_BYTES)
    }
}

/// The properties of a device that decide the launch shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// The class, which decides grid, block and chunk, and with them the order of the operations.
    pub class: DeviceClass,
    /// Bytes of the L2 cache, on which no bit of a result depends.
    pub l2_bytes: u64,
}

impl Machine {
    /// The size of an H100's L2, for drivers that do not report a size.
    const USUAL_L2_BYTES: u64 = 50 << 20;

    /// The properties of a handle of a device.
    pub fn new(device: &Device) -> Self {
        Self {
            class: device.class(),
            l2_bytes: device.info().l2_bytes.unwrap_or(Self::USUAL_L2_BYTES),
        }
    }
}

/// The launch shape of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Number of blocks, at least 1.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Packs of 16 bytes in the chunk of a block.
    pub chunk: u64,
    /// The fraction of the input, from 0 to 1, that should stay in the L2 cache.
    pub keep: f32,
    /// Whether the launch may begin early.
    pub overlap: Overlap,
}

impl Shape {
    /// The launch in this shape.
    pub fn launch(&self) -> LaunchShape {
        LaunchShape { overlap: self.overlap, ..LaunchShape::linear(self.grid, self.block, 0) }
    }

    /// Whether a kernel for small inputs can reduce an input of `packs` packs in this shape: it has
    /// one block, whose threads take at most four packs of each array (`warpfold_device::single`).
    /// The kernels for pairs and for exponentials are compiled for 512 threads at most.
    pub fn is_single(&self, packs: u64, class: KernelClass) -> bool {
        const LOADS: u64 = 4;
        let most_threads = match class {
            KernelClass::Pair | KernelClass::Exponentials => 512,
            _ => 1024,
        };
        self.grid == 1 && self.block <= most_threads && packs <= LOADS * u64::from(self.block)
    }

    /// An upper bound on the number of operations between an element and the result, for elements
    /// of `element_bytes` bytes, in whatever order the kernel combines them.
    ///
    /// ```
    /// use warpfold::{device::Overlap, testing::Shape};
    ///
    /// let overlap = Overlap::InSequence;
    /// let shape = Shape { grid: 132, block: 256, chunk: 2048, keep: 1.0, overlap };
    /// // A thread has 8 packs of 4 elements and two more at the edges; then its block and the last
    /// // block combine.
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

/// The choice for inputs up to a size.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The most packs, of all inputs together, for which the row is used.
    up_to: u64,
    cut: Cut,
    /// Whether the grid has one more block, which has no packs and only combines.
    extra: bool,
}

/// How an input is cut into blocks.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Blocks of this number of threads, with this number of packs for each thread.
    PacksEach(Threads, u32),
    /// Blocks of this number of threads, one for each multiprocessor. No multiprocessor stays free,
    /// because the GPU would place blocks of the next launch there early: two or more on one
    /// multiprocessor, and the whole launch would wait for them (bench/NOTEBOOK.md, 38).
    OneBlockEach(u32),
}

/// Threads of a block.
#[derive(Clone, Copy, Debug)]
enum Threads {
    Fixed(u32),
    /// The number with which one block covers the input, rounded up to whole warps.
    OneBlock,
    /// The number that gives each multiprocessor at most one block, rounded up to a power of two,
    /// at least 128 and at most 1024.
    OneBlockEach,
}

/// Packs of a MiB.
const MEBIBYTE: u64 = (1 << 20) / PACK_BYTES;

const fn row(up_to: u64, threads: Threads, each: u32, extra: bool) -> Row {
    Row { up_to, cut: Cut::PacksEach(threads, each), extra }
}

const fn one_each(up_to: u64, threads: u32) -> Row {
    Row { up_to, cut: Cut::OneBlockEach(threads), extra: false }
}

// The tables of launch shapes. Each row names the device, the size and the times in microseconds
// that chose it, with the number of the attempt in bench/NOTEBOOK.md. Sizes are powers of two of
// packs: 2^16 packs are 1 MiB, and so are 2^18 elements of 32 bits. "a to b" means that the row's
// shape took b and the shape before it a. A row without times in the notebook continues its
// neighbours.

/// Up to 1 MiB, for every class of kernel. In place, each instruction of each warp counts, and so
/// do the barrier and the trip of a block's result through L2 (46, 47). So a small input is one
/// block with four packs for each thread, and above that there are few and small blocks.
const SMALL: [Row; 6] = [
    // H100, in place, f32: 2^12 elements with 128, 256 and 512 threads 1.35, 1.29, 1.37; 10000 with
    // 320, 512 and 640 threads 1.79, 1.76, 1.59, before 1.82 (47).
    row(3 << 10, Threads::OneBlock, 4, false),
    // H100, in place, 2^14 f32: 1024 threads of 4 packs 1.85, 512 of 8 1.72 (47).
    row(1 << 12, Threads::OneBlock, 8, false),
    // H100, in place, 30000 f32: blocks of 32, 64 and 128 threads 1.75, 1.86, 1.86, one block 2.2,
    // before 2.6 (47).
    row(1 << 13, Threads::Fixed(32), 4, false),
    // H100, in place, 2^16 f32: 64 blocks of 128 threads 1.79, 128 blocks 1.8 to 1.87 (47).
    row(1 << 14, Threads::Fixed(128), 2, false),
    // H100, in place, 100000 f32: blocks of 128 threads 1.76, of 256 1.78 (47).
    row(1 << 15, Threads::Fixed(128), 4, false),
    // H100, in place, 200000 f32: 49 blocks of 256 threads 1.87, 98 of 128 1.95; before 2.1 (47).
    row(1 << 16, Threads::Fixed(256), 4, false),
];

/// The same for pairs. Threads take as many packs of each array, so half as many of each array as
/// above give as many blocks.
const SMALL_PAIR: [Row; 5] = [
    // H100, dot f64 of 2^12, which is 64 KiB in all: 256 threads of 8 packs 1.85, 512 of 4 1.73
    // (47).
    row(1 << 12, Threads::OneBlock, 4, false),
    // H100, in place, 30000 f32: 15 blocks 2.7, 59 blocks 2.17, before 2.48; 200003 f32 2.86 to 2.4
    // (47).
    row(1 << 13, Threads::Fixed(32), 2, false),
    row(1 << 14, Threads::Fixed(128), 1, false),
    row(1 << 15, Threads::Fixed(128), 2, false),
    // H100, dot f64 of 2^16: 32 blocks 3.2, 64 blocks 2.27, 128 blocks 2.2 (47).
    row(1 << 16, Threads::Fixed(256), 2, false),
];

/// The same for all kernels of 128-bit elements and for both extremes of 64 bits.
const SMALL_WIDE: [Row; 5] = [
    SMALL[0],
    SMALL[1],
    row(1 << 14, Threads::Fixed(128), 2, false),
    row(1 << 15, Threads::Fixed(128), 4, false),
    // H100, sum u128 of 2^16: 64 blocks of 256 threads 2.48, 128 of 128 2.37 (47).
    row(1 << 16, Threads::OneBlockEach, 4, false),
];

/// Up to 2 MiB, if the arithmetic takes no longer than the loads.
const TWO_MEBIBYTES: [Row; 1] = [
    // H100, in place, 400000 f32: 132 blocks of 256 threads 1.98, of 512 2.04, 98 of 128 2.06 (47).
    one_each(1 << 17, 256),
];

/// The same for all other kernels, except moments.
const TWO_MEBIBYTES_MORE: [Row; 1] = [
    // 1.5 MiB, in place and back to back, with at most one block for each multiprocessor and with
    // this row: H100, argmin f64 3.14 and 2.65, 2.80 and 2.50; minmax f32 2.68 and 2.21, 2.43 and
    // 2.16; minmax f64 3.00 and 2.62, 2.76 and 2.54; sum f16 2.68 and 2.23, 2.61 and 2.25 (54).
    row(1 << 17, Threads::Fixed(256), 4, false),
];

/// Above that, for plain kernels. One block for each multiprocessor is best up to 24 MiB. So it is
/// again from the size on at which L2 no longer holds what the kernel before has written.
const MIDDLE_PLAIN: [Row; 4] = [
    // H100, 132 blocks instead of 128 of the best size, at 4, 8 and 16 MiB: sum u64 2.48 to 2.41,
    // 3.12 to 2.99, 4.21 to 4.16. 126 blocks gain nothing (38). With 1024 threads f64 takes 3.5
    // instead of 3.24 at 8 MiB (47). In place and back to back, f32 of 19 MiB: 132 blocks 5.09 and
    // 4.6, 611 blocks of 256 threads 5.12 and 4.79 (47).
    one_each(24 * MEBIBYTE, 512),
    // H100, in place and back to back, 26 MiB f32: 256 threads of 8 packs 7.48 and 5.86, of 4 packs
    // 6.92 and 6.21; CUB 7.38 and 7.67 (54).
    row(30 * MEBIBYTE, Threads::Fixed(256), 4, false),
    row(36 * MEBIBYTE, Threads::Fixed(256), 8, false),
    // H100, in place and back to back, with 256 threads of 8 packs and with this row: 45 MiB f32
    // 16.33 and 11.67, 14.21 and 12.02; 64 MiB f32 24.97 and 17.37, 21.81 and 18.80; 80 MiB f64
    // 31.76 and 23.00, 29.17 and 25.18. At 120 MiB 45.4 and 35.8, 43.0 and 38.9 (54).
    one_each(100 * MEBIBYTE, 512),
];

/// The same where the memory is faster and L2 is larger.
const MIDDLE_PLAIN_FAST: [Row; 4] = [
    // H200, sum i32 at 16 MiB: 4.09 to 3.85 (38). In place and back to back at 20 MiB, with 256
    // threads of 8 packs and with this row: f32 5.45 and 4.56, 5.34 and 4.41; f64 5.60 and 4.76,
    // 5.52 and 4.63 (54).
    one_each(24 * MEBIBYTE, 512),
    // H200, in place and back to back, 32 MiB f32: 256 threads of 8 packs 8.40 and 6.14, of 4 packs
    // 7.56 and 6.57; CUB 8.31 and 8.16 (54).
    row(34 * MEBIBYTE, Threads::Fixed(256), 4, false),
    row(42 * MEBIBYTE, Threads::Fixed(256), 8, false),
    // H200, in place and back to back, with 256 threads of 8 packs and with this row: 64 MiB f32
    // 19.28 and 13.91, 17.16 and 14.37; 64 MiB i8 19.72 and 14.39, 17.04 and 14.10 (54). At 128 MiB
    // f32 with cold caches, this row took 32.8 on one H200 and 35.2 on another, CUB 33.8 and 33.4
    // (55).
    one_each(84 * MEBIBYTE, 512),
];

/// The same for pairs.
const MIDDLE_PAIR: [Row; 2] = [
    // In place and back to back, 3 MiB f32, blocks of 512 threads and this row: H100 3.14 and 2.57,
    // 2.81 and 2.45; H200 3.19 and 2.44, 2.72 and 2.31 (54).
    one_each(4 * MEBIBYTE, 256),
    // H200, dot f32 at 8 MiB, 132 blocks instead of 128: 3.01 to 2.91 (38). H100, in place and back
    // to back, 38 MiB f32, 256 threads of 8 packs and this row: 11.14 and 9.65, 10.65 and 9.21
    // (54).
    one_each(48 * MEBIBYTE, 512),
];

/// The same for kernels with more work for each element.
const MIDDLE_DOUBLE: [Row; 2] = [
    // H100, at 4, 8 and 16 MiB: argmin i64 2.96 to 2.84, 3.57 to 3.37, 4.66 to 4.48; argmin f64
    // 3.07 to 2.85, 3.75 to 3.53, 4.90 to 4.67 (38). In place and back to back at 20 MiB, 1024
    // threads and this row: argmin f64 6.65 and 5.70, 6.42 and 5.34; minmax f32 6.34 and 5.32, 5.96
    // and 4.95 (54).
    one_each(24 * MEBIBYTE, 512),
    // H100, 32 MiB: argmin f64 8.79 to 7.98 (38). In place and back to back, with 512 threads of 8
    // packs and with this row: 38 MiB argmin f64 13.67 and 11.57, 11.72 and 9.93; 64 MiB argmin f64
    // 25.40 and 18.84, 21.65 and 19.48; 120 MiB argmin f32 45.55 and 36.62, 42.78 and 38.58 (54).
    one_each(128 * MEBIBYTE, 1024),
];

/// The same for kernels with more work for each element where the memory is faster.
const MIDDLE_DOUBLE_FAST: [Row; 3] = [
    // H200, in place and back to back at 20 MiB, 1024 threads and this row: argmin f32 6.11 and
    // 5.00, 5.81 and 4.74; minmax f32 6.11 and 4.98, 5.57 and 4.54 (54).
    one_each(28 * MEBIBYTE, 512),
    // H200: argmin f64 at 32 MiB 7.63 to 6.69, minmax f64 at 64 MiB 17.1 to 14.6 (38).
    one_each(56 * MEBIBYTE, 1024),
    // H200, in place and back to back, 64 MiB, 1024 threads and this row: argmin f32 17.21 and
    // 16.47, 17.40 and 14.44; minmax f32 16.95 and 16.05, 16.73 and 13.84. 120 MiB, 512 threads of
    // 32 packs and this row: argmin f32 35.30 and 27.95, 32.09 and 27.97 (54).
    one_each(128 * MEBIBYTE, 512),
];

/// For moments, from 1 MiB on. Up to 8 MiB, all blocks but the last have whole rounds, because
/// these need no predicates. Larger inputs have few blocks, because each of them ends with
/// divisions.
const MOMENTS: [Row; 5] = [
    // In place and back to back, 3 MiB f32, 132 blocks and this row: H100 7.38 and 7.02, 6.38 and
    // 6.04; H200 7.24 and 6.84, 6.25 and 5.90 (54).
    row(4 * MEBIBYTE, Threads::Fixed(128), 8, false),
    // 6 MiB f32: H100 8.07 and 7.56, 7.50 and 7.07; H200 7.98 and 7.38, 7.42 and 6.96 (54).
    row(8 * MEBIBYTE, Threads::Fixed(256), 16, false),
    // 26 MiB f32, 256 threads of 8 packs and this row: H100 13.81 and 12.68, 12.61 and 10.76; H200
    // 13.08 and 12.31, 11.05 and 10.06 (54).
    one_each(28 * MEBIBYTE, 512),
    // 120 MiB f32, 512 threads of 8 packs and this row: H100 56.88 and 51.80, 47.25 and 42.91; H200
    // 53.67 and 48.53, 36.16 and 33.21 (54).
    one_each(128 * MEBIBYTE, 1024),
    // No times in the notebook: the longest rounds of the other tables.
    row(u64::MAX, Threads::Fixed(512), 32, true),
];

/// For both extremes of 64 bits, and for all kernels of 128-bit elements. They have so much
/// arithmetic that they need all warps of a multiprocessor, and their results are so long that the
/// last block should read no more than 128 of them.
const MIDDLE_WIDE: [Row; 4] = [
    // No times in the notebook: 128 blocks as in the rows below.
    row(1 << 18, Threads::OneBlockEach, 8, false),
    // H100, 2^20 f64 with 1024 threads of 4 packs: 3.65 to 3.35 (23). 132 blocks of 512 threads are
    // slower for both extremes of f64: 3.7 instead of 3.49 (38).
    row(1 << 19, Threads::OneBlockEach, 4, false),
    // No times in the notebook: 128 blocks as in the row above.
    row(1 << 20, Threads::OneBlockEach, 8, false),
    // Minmax f64 at 64 MiB: H100 21 to 19, H200 17.1 to 14.6 (38). In place and back to back at 80
    // MiB, 512 threads of 8 or 32 packs and this row: H100 32.28 and 23.79, 29.00 and 24.61; H200
    // 26.02 and 22.11, 22.30 and 20.74 (54).
    one_each(128 * MEBIBYTE, 1024),
];

/// For larger inputs of plain kernels. More blocks should be larger blocks. From 64 MiB on, the
/// last block has no packs, because its wait for the other blocks is then hidden.
const PLAIN: [Row; 2] = [
    // H100, the extra block: i8 at 256 MiB 82.3 to 81.3, i16 at 512 MiB 172 to 170.5 (24).
    row(1 << 25, Threads::Fixed(512), 8, true),
    // H100, the extra block: i32 at 1 GiB 338.9 to 337.8, at 4 GiB 1345 to 1340 (6). 1024 threads
    // are best from 1 GiB on (11).
    row(u64::MAX, Threads::Fixed(1024), 8, true),
];

/// The same where the memory is faster. Blocks of several rounds save the start and the end of the
/// blocks that they replace.
const PLAIN_FAST: [Row; 3] = [
    // H200, 128 MiB f32, back to back, with warm and with cold caches: 29.3 and 33.5 (55).
    row(1 << 23, Threads::Fixed(512), 8, true),
    // H200, two rounds: f64 at 512 MiB 122.6 to 118.9, f16 at 512 MiB 121 to 118.6 (24).
    row(1 << 26, Threads::Fixed(512), 16, true),
    // H200, 2^30 elements of 4 bytes (4 GiB), 4 to 8 rounds: 916 to 912.5, which is 4707 GB/s (11).
    row(u64::MAX, Threads::Fixed(512), 32, true),
];

/// For larger inputs of pairs.
const PAIR: [Row; 3] = [
    // H100, in place and back to back, 54 MiB f32: 17.45 and 14.34; 512 threads of 4 packs 17.38
    // and 14.12 (54).
    row(1 << 22, Threads::Fixed(256), 8, false),
    PLAIN[0],
    PLAIN[1],
];

/// The same where the memory is faster.
const PAIR_FAST: [Row; 4] = [
    // H200, in place and back to back, 54 MiB f32: 14.00 and 11.46; 132 blocks of 512 threads 13.99
    // and 11.61 (54).
    row(1 << 22, Threads::Fixed(256), 8, false),
    PLAIN_FAST[0],
    PLAIN_FAST[1],
    PLAIN_FAST[2],
];

/// For kernels with more work for each element and at the end of a block: blocks of more rounds.
const DOUBLE: [Row; 2] = [
    // H100, 512 threads of 8 packs: argmin f32 at 64 MiB 18.65 to 17.65 (28).
    row(1 << 24, Threads::Fixed(512), 8, true),
    // H100, two rounds: argmin f32 at 1 GiB 348 to 340 (CUB 355), f64 at 2 GiB 698 to 681 (CUB 695)
    // (24).
    row(u64::MAX, Threads::Fixed(1024), 16, true),
];

/// The same where the memory is faster.
const DOUBLE_FAST: [Row; 1] = [
    // H200, more rounds: argmin f32 at 1 GiB 245 to 240 (24). 32 packs were not compared with 16.
    row(u64::MAX, Threads::Fixed(512), 32, true),
];

/// Exact sums. Each block clears and merges a table in shared memory, so there should be few
/// blocks.
const EXACT: [Row; 5] = [
    // H100, one block up to 32 KiB: f64 2^12 7.1 to 5.6 (24).
    row(1 << 11, Threads::Fixed(256), 8, false),
    // The notebook has no times for this row and the two below.
    row(1 << 16, Threads::Fixed(256), 4, false),
    row(1 << 18, Threads::Fixed(256), 8, false),
    row(1 << 21, Threads::Fixed(256), 16, false),
    // 512 threads of 32 packs: H100, f32 at 64 MiB 26.0 to 22.6; H200, f32 at 1 GiB 281 to 263
    // (24).
    row(u64::MAX, Threads::Fixed(512), 32, false),
];

/// For sums of exponentials. No block has more than 512 threads, because the kernel of f64 needs
/// more registers than the 64 that a thread has in a block of 1024. No times in the notebook: these
/// are the rows of `SMALL` with that bound, and then those of `MOMENTS`, whose kernels have about
/// as much arithmetic.
const EXPONENTIALS: [Row; 8] = [
    row((1 << 11) - 8, Threads::OneBlock, 4, false),
    row((1 << 12) - 8, Threads::OneBlock, 8, false),
    SMALL[2],
    SMALL[3],
    SMALL[4],
    SMALL[5],
    one_each(128 * MEBIBYTE, 512),
    row(u64::MAX, Threads::Fixed(512), 32, true),
];

/// The tables for a kernel, which are searched one after another.
const fn tables(class: KernelClass, element_bytes: u64, is_fast: bool) -> [&'static [Row]; 4] {
    let is_wide = element_bytes >= if matches!(class, KernelClass::Extremes) { 8 } else { 16 };
    let double: &[Row] = if is_fast { &DOUBLE_FAST } else { &DOUBLE };
    let two_mebibytes: &[Row] =
        if element_bytes >= 4 { &TWO_MEBIBYTES } else { &TWO_MEBIBYTES_MORE };
    match (class, is_fast) {
        (KernelClass::Exact, _) => [&[], &[], &[], &EXACT],
        (KernelClass::Exponentials, _) => [&[], &[], &[], &EXPONENTIALS],
        _ if is_wide => [&SMALL_WIDE, &TWO_MEBIBYTES_MORE, &MIDDLE_WIDE, double],
        (KernelClass::Plain, false) => [&SMALL, two_mebibytes, &MIDDLE_PLAIN, &PLAIN],
        (KernelClass::Plain, true) => [&SMALL, two_mebibytes, &MIDDLE_PLAIN_FAST, &PLAIN_FAST],
        (KernelClass::Pair, false) => [&SMALL_PAIR, two_mebibytes, &MIDDLE_PAIR, &PAIR],
        (KernelClass::Pair, true) => [&SMALL_PAIR, two_mebibytes, &MIDDLE_PAIR, &PAIR_FAST],
        (KernelClass::Moments, _) => [&SMALL, &[], &[], &MOMENTS],
        (KernelClass::Indexed | KernelClass::Extremes, false) => {
            [&SMALL, &TWO_MEBIBYTES_MORE, &MIDDLE_DOUBLE, double]
        }
        (KernelClass::Indexed | KernelClass::Extremes, true) => {
            [&SMALL, &TWO_MEBIBYTES_MORE, &MIDDLE_DOUBLE_FAST, double]
        }
    }
}

/// The launch shape for an input.
///
/// ```
/// use warpfold::{device::DeviceClass, testing::{Extent, KernelClass, Machine, shape}};
///
/// let h100 = Machine { class: DeviceClass::H100, l2_bytes: 50 << 20 };
/// let input = Extent { address: 4, element_bytes: 4, n: 1 << 20 };
/// let shape = shape(input, KernelClass::Plain, &h100);
/// assert!(u64::from(shape.grid) * shape.chunk >= (1 << 18) - 1);
/// ```
pub fn shape(input: Extent, class: KernelClass, machine: &Machine) -> Shape {
    let packs = input.packs();
    let all_packs = packs.saturating_mul(if class == KernelClass::Pair { 2 } else { 1 });
    let tables @ [.., large] = tables(class, input.element_bytes, machine.class.has_fast_memory());
    let row = tables
        .into_iter()
        .flatten()
        .find(|row| all_packs <= row.up_to)
        .unwrap_or(&large[large.len() - 1]);

    let reach = packs.saturating_add(input.skew());
    let multiprocessors = u64::from(machine.class.multiprocessors());
    let (block, mut chunk) = match row.cut {
        Cut::PacksEach(threads, each) => {
            let above =
                |threads: u64, least, most| threads.next_power_of_two().clamp(least, most) as u32;
            let block = match threads {
                Threads::Fixed(threads) => threads,
                Threads::OneBlock => {
                    reach.div_ceil(each.into()).next_multiple_of(32).clamp(32, 1024) as u32
                }
                Threads::OneBlockEach => {
                    above(packs.div_ceil(u64::from(each) * multiprocessors), 128, 1024)
                }
            };
            (block, u64::from(block) * u64::from(each))
        }
        Cut::OneBlockEach(block) => {
            (block, reach.div_ceil(multiprocessors).next_multiple_of(LINE_BYTES / PACK_BYTES))
        }
    };
    while reach.div_ceil(chunk) >= MOST_BLOCKS {
        chunk *= 2;
    }
    let grid = reach.div_ceil(chunk).max(1) as u32 + u32::from(row.extra);
    let bytes = all_packs.saturating_mul(PACK_BYTES);
    let overlap = overlap(bytes, machine.class.has_fast_memory());
    Shape { grid, block, chunk, keep: keep(bytes, machine.l2_bytes), overlap }
}

/// Whether a launch for an input of `bytes` bytes may begin early.
///
/// In a graph, in place behind a kernel of another library, us, as [`Overlap::Always`] and as
/// [`Overlap::InSequence`], sum of f32: H100, 2^12 1.63 and 1.46, 30000 2.23 and 2.13, 2^16 2.16
/// and 2.30, 400000 2.31 and 2.46, 10^6 2.73 and 2.90, 3000017 4.50 and 4.33, 10^7 11.35 and 10.86.
/// H200, 2^12 1.60 and 1.41, 2^16 2.34 and 2.18, 400000 2.52 and 2.46, 10^6 2.87 and 2.92, 3000017
/// 4.27 and 4.11, 10^7 9.39 and 8.94. Sum of f64, 10^6: H100 4.04 and 3.83, H200 3.99 and 3.83
/// (bench/NOTEBOOK.md, 55).
fn overlap(bytes: u64, is_fast: bool) -> Overlap {
    let least = if is_fast { 3 << 20 } else { 256 << 10 };
    if (least..=6 << 20).contains(&bytes) { Overlap::Always } else { Overlap::InSequence }
}

/// The fraction of an input of `bytes` bytes that should stay in L2: all of it up to 55 % of L2,
/// and above that 43 % of L2. The kernel marks the rest to be evicted first, because a large input
/// would otherwise evict its own beginning before the next call reads it. GPUs use sixteenths and
/// round up, so the fraction is rounded down to sixteenths here, but to one at least.
///
/// H100 (50 MiB), us, back to back, f32, with all of it kept, with the best number of sixteenths,
/// and with the number that this rule gives: 27 MiB 5.77, 5.75 and 5.77; 32 MiB 7.58, 6.53 and
/// 6.57; 38 MiB 11.5, 8.74 and 8.78; 45 MiB 16.9, 10.84 and 10.84; 54 MiB 19.9, 13.56 and 13.61; 64
/// MiB 23.2, 17.0 and 17.0. i32 of 64 MiB takes 21.9 with all loads evict-first. H200, 1 GiB: 235;
/// with an eighth kept 248 (bench/NOTEBOOK.md, 13, 14, 18, 34 and 48).
fn keep(bytes: u64, l2_bytes: u64) -> f32 {
    if bytes / 11 <= l2_bytes / 20 {
        return 1.0;
    }
    let sixteenths = u128::from(l2_bytes) * 43 * 16 / 100 / u128::from(bytes);
    sixteenths.clamp(1, 16) as f32 / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [KernelClass; 7] = [
        KernelClass::Plain,
        KernelClass::Indexed,
        KernelClass::Extremes,
        KernelClass::Pair,
        KernelClass::Moments,
        KernelClass::Exponentials,
        KernelClass::Exact,
    ];

    const H100: Machine = Machine { class: DeviceClass::H100, l2_bytes: 50 << 20 };

    /// Sizes at and near each power of two, and between them.
    fn sizes() -> impl Iterator<Item = u64> {
        let near = |power: u64| {
            [power - 1, power, power.saturating_add(1), power.saturating_add(power / 3)]
        };
        (0..64).flat_map(move |bits| near(1 << bits)).chain([u64::MAX - 1, u64::MAX])
    }

    fn extents() -> impl Iterator<Item = Extent> {
        [1u64, 2, 4, 8, 16].into_iter().flat_map(|element_bytes| {
            let offsets = (0..LINE_BYTES).step_by(element_bytes as usize);
            offsets.flat_map(move |offset| {
                sizes().map(move |n| Extent { address: 256 + offset, element_bytes, n })
            })
        })
    }

    #[test]
    fn every_element_is_in_one_part() {
        for extent in extents() {
            let Extent { address, element_bytes, n } = extent;
            let (n, size) = (u128::from(n), u128::from(element_bytes));
            let packs = u128::from(extent.packs());
            // The first pack begins at the first multiple of 16 bytes, `skew` packs behind a
            // multiple of 128.
            assert!(
                (u128::from(address).next_multiple_of(16) - 16 * u128::from(extent.skew())) % 128
                    == 0
            );
            let before =
                (0..16).find(|i| (u128::from(address) + i * size) % 16 == 0).unwrap().min(n);
            let behind = n - before - packs * 16 / size;
            assert!(behind < 16 / size, "{extent:?}: {behind} elements behind {packs} packs");
            for class in CLASSES {
                let Shape { grid, block, chunk, .. } = shape(extent, class, &H100);
                let (grid, chunk) = (u128::from(grid), u128::from(chunk));
                // Block b takes the packs from b * chunk - skew up to (b + 1) * chunk - skew. So
                // the blocks cover all packs, and only the last block may have none.
                let reach = (packs + u128::from(extent.skew())).min(u64::MAX.into());
                assert!(grid * chunk >= reach, "{extent:?} {class:?}");
                assert!(grid <= 2 || (grid - 2) * chunk < reach, "{extent:?} {class:?}");
                assert!(block.is_multiple_of(32) && (32..=1024).contains(&block));
            }
        }
    }

    #[test]
    fn blocks_of_exponentials_have_at_most_512_threads() {
        for extent in extents() {
            let Shape { block, .. } = shape(extent, KernelClass::Exponentials, &H100);
            assert!(block <= 512, "{extent:?}: {block}");
        }
    }

    #[test]
    fn grids_fit_the_workspace() {
        for (extent, class) in extents().flat_map(|extent| CLASSES.map(|class| (extent, class))) {
            for multiprocessors in [1, 16, 132, 1000] {
                for has_fast_memory in [false, true] {
                    let of = DeviceClass::new(multiprocessors, has_fast_memory, (9, 0));
                    let shape = shape(extent, class, &Machine { class: of, ..H100 });
                    assert!(
                        (1..=MOST_BLOCKS).contains(&u64::from(shape.grid)),
                        "{extent:?} {class:?}: {shape:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn tables_are_in_order_and_end_with_everything() {
        for class in CLASSES {
            for (element_bytes, is_fast) in
                [4, 8, 16].into_iter().flat_map(|bytes| [(bytes, false), (bytes, true)])
            {
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
        for (n, address) in
            [0, 1, 31, 1024, 4096, 12_288, 16_384].map(|n| [(n, 0), (n, 20)]).concat()
        {
            let extent = Extent { address, element_bytes: 4, n };
            let shape = shape(extent, KernelClass::Plain, &H100);
            assert_eq!(shape.grid, 1, "{n}: {shape:?}");
        }
        assert!(
            shape(Extent { address: 0, element_bytes: 4, n: 16_388 }, KernelClass::Plain, &H100)
                .grid
                > 1
        );
    }

    #[test]
    fn a_middling_input_gives_each_multiprocessor_a_block() {
        for n in [600_000, 1 << 20, 1_234_567, 3 << 20] {
            for (class, address) in [
                (KernelClass::Plain, 256),
                (KernelClass::Indexed, 260),
                (KernelClass::Extremes, 380),
                (KernelClass::Pair, 256),
            ] {
                let shape = shape(Extent { address, element_bytes: 4, n }, class, &H100);
                assert!((128..=132).contains(&shape.grid), "{n}: {shape:?}");
                // All blocks but the first begin at a cache line.
                assert!(shape.chunk.is_multiple_of(LINE_BYTES / PACK_BYTES));
            }
        }
    }

    #[test]
    fn what_is_larger_than_half_of_l2_keeps_less_than_half_of_it() {
        let sixteenths = |bytes: u64| (keep(bytes, 50 << 20) * 16.0) as u32;
        assert_eq!([0, 27 << 20].map(sixteenths), [16, 16]);
        let mebibytes = [28, 32, 38, 45, 54, 64, 128, 256];
        assert_eq!(mebibytes.map(|n| sixteenths(n << 20)), [12, 10, 9, 7, 6, 5, 2, 1]);
        // One sixteenth is the least, because the fraction must be more than 0.
        assert_eq!([1 << 30, u64::MAX].map(sixteenths), [1, 1]);
    }

    #[test]
    fn the_depth_is_that_of_the_longest_way() {
        // Each thread of the block takes 8 packs of 4 elements. The block has 5 levels within a
        // warp and 5 above.
        let overlap = Overlap::InSequence;
        let shape = Shape { grid: 1, block: 1024, chunk: 8192, keep: 1.0, overlap };
        assert!(shape.depth(4) >= 8 * 4 + 10);
        // Each thread of the last block takes 8 results of blocks in addition.
        let shape = Shape { grid: 8192, block: 1024, chunk: 8192, keep: 1.0, overlap };
        assert!(shape.depth(4) >= 8 * 4 + 10 + 8 + 10);
        assert!(
            Shape { grid: 8192, block: 32, chunk: u64::MAX, keep: 1.0, overlap }.depth(1) > 1 << 60
        );
    }
}
