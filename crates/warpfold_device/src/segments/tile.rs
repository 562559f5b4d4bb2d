//! Tiles: which elements they have, and how these get to shared memory.

use crate::item::{Item, Pack};
use crate::rows::stage::piece;
use crate::rows::{self, LINE, PACK, TILE_BYTES, padded};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::copy;

/// Bytes of shared memory for one tile.
pub(super) const BUFFER: usize = rows::BUFFER;

/// A tile of a warp: short segments, or a piece of a long one.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The number of the first segment among those of the warp.
    pub first: u32,
    /// The number of short segments, or [`LONG`].
    pub segments: u32,
    /// The boundary where the first segment begins.
    pub begin: u64,
    /// The number of elements of all segments.
    pub length: u64,
    /// The number of the task in its segment, if that is long.
    pub task: u32,
    /// The number of the tile in its task.
    pub number: u32,
}

/// In place of the number of segments: the tile is a piece of one segment.
const LONG: u32 = u32::MAX;

impl Tile {
    #[inline(always)]
    pub(super) fn short(first: u32, segments: u32, begin: u64, length: u64) -> Self {
        Self { first, segments, begin, length, task: 0, number: 0 }
    }
    /// The first tile of a task of a long segment.
    #[inline(always)]
    pub(super) fn long(first: u32, begin: u64, length: u64, task: u32) -> Self {
        Self { first, segments: LONG, begin, length, task, number: 0 }
    }
    #[inline(always)]
    pub(super) fn is_long(self) -> bool {
        self.segments == LONG
    }
    /// The number of elements before the tile in its long segment, and of those in the tile. A task
    /// has `task` tiles.
    #[inline(always)]
    pub(super) fn extent<T>(self, task: u32) -> (u64, u32) {
        let number = u64::from(self.task) * u64::from(task) + u64::from(self.number);
        let before = if self.is_long() { number * most::<T>() } else { 0 };
        (before, (self.length - before).min(most::<T>()) as u32)
    }
    /// The number of tasks of a long segment.
    #[inline(always)]
    pub(super) fn tasks<T>(self, task: u32) -> u32 {
        let tiles = self.length.div_ceil(most::<T>());
        ((tiles + u64::from(task) - 1) >> task.trailing_zeros()) as u32
    }
    /// The next tile of the same task, if there is one.
    #[inline(always)]
    pub(super) fn next<T>(self, task: u32) -> Option<Self> {
        let (before, count) = self.extent::<T>(task);
        let has_next =
            self.is_long() && self.number + 1 < task && before + u64::from(count) < self.length;
        has_next.then_some(Self { number: self.number + 1, ..self })
    }
}

/// The most elements of a tile.
#[inline(always)]
pub(super) const fn most<T>() -> u64 {
    TILE_BYTES as u64 / size_of::<T>() as u64
}

impl Tile {
    /// Starts the copy of the tile to `buffer`, and returns where it will be. A task has `task`
    /// tiles, and the first element of the tile's first segment is number `first` of the array at
    /// `input`.
    ///
    /// # Safety
    /// The whole warp calls this, and no lane uses `buffer` until the copies have arrived. The
    /// elements of the tile are some of the array.
    #[inline(always)]
    pub(super) unsafe fn stage<T: Item>(
        self,
        first: u64,
        input: *const T,
        task: u32,
        buffer: *mut u8,
        lane: u32,
    ) -> Staged {
        let (before, count) = self.extent::<T>(task);
        let bytes = count * size_of::<T>() as u32;
        let source = input.wrapping_add((first + before) as usize).addr() as u64;
        let mut begin = 0;
        if bytes > 0 {
            // SAFETY: the caller's contract.
            begin = unsafe { piece::in_packs::<T, WARP, false>(buffer, source, bytes, lane) };
        }
        Staged { buffer, begin, end: begin + bytes }
    }
}

/// Where a tile lies in its buffer. Behind each line of 128 bytes is a copy of the pack that
/// follows the line, so that the bytes of a pack are neighbours wherever it begins.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub buffer: *mut u8,
    /// The bytes before the first element.
    pub begin: u32,
    /// The bytes up to the end of the last element.
    pub end: u32,
}

impl Staged {
    /// Whether element number `at` begins at a pack of shared memory.
    #[inline(always)]
    pub(super) fn is_pack<T>(self, at: u32) -> bool {
        (self.begin + at * size_of::<T>() as u32).is_multiple_of(PACK)
    }

    /// Copies the first pack of each line to the place behind the line before. Each lane does this
    /// for the line that has its number, so a lane whose pack begins in that line need not wait for
    /// other lanes.
    ///
    /// # Safety
    /// All lanes of the warp call this, after the tile has arrived.
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "lines begin at packs")]
    pub(super) unsafe fn close<T>(self, lane: u32) {
        let line = (lane + 1) * LINE;
        // Elements of a pack are not divided.
        if size_of::<T>() as u32 >= PACK || line >= self.end {
            return;
        }
        // SAFETY: the last pack has been written to its end, and a line has room for one more.
        unsafe {
            let first = self.buffer.wrapping_add(padded(line) as usize).cast::<Pack>();
            let pack = copy::read_pack(first);
            each(4, |i| *first.wrapping_sub(1).cast::<u32>().wrapping_add(i) = pack[i]);
        }
    }
}
