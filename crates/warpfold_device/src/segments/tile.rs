//! Tiles: which elements they have, and how these get to shared memory.

use crate::item::Item;
use crate::rows::TILE_BYTES;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{control, copy};

/// Bytes of a word.
pub(super) const WORD: u32 = 4;

/// Words of shared memory for one tile, and for one word more, because a tile need not begin at a
/// word.
pub(super) const BUFFER: usize = padded(TILE_BYTES / WORD) as usize + 1;

/// Where word number `i` of a tile is in its buffer. A word is left out behind each 32, so that
/// lanes whose parts lie 128 bytes apart read different banks.
#[inline(always)]
pub(super) const fn padded(i: u32) -> u32 {
    i + i / WARP
}

/// A tile of a warp: short segments, or a piece of a long one.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The number of the first segment in the warp's range.
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

/// How many bytes behind the first word of its buffer the first element of a tile is, if the first
/// element of its first segment is number `first` of the array.
#[inline(always)]
pub(super) fn shift<T: Item>(input: *const T, first: u64) -> u32 {
    let size = size_of::<T>() as u32;
    if size < WORD { (input as u32).wrapping_add(first as u32 * size) % WORD } else { 0 }
}

impl Tile {
    /// Starts the copy of the tile to `buffer`. A task has `task` tiles, and the array at `input`
    /// has `elements` elements, of which number `first` is the first one of the tile's first
    /// segment.
    ///
    /// # Safety
    /// The whole warp calls this, and no lane uses `buffer` until the copies have arrived. The
    /// elements of the tile are some of the array.
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "words are copied to their boundaries")]
    pub(super) unsafe fn stage<T: Item>(
        self,
        first: u64,
        input: *const T,
        elements: u64,
        task: u32,
        buffer: *mut u32,
        lane: u32,
    ) {
        let size = size_of::<T>() as u32;
        let (before, count) = self.extent::<T>(task);
        if count == 0 {
            return;
        }
        let (begin, shift) = (first + before, shift(input, first));
        let from = input.wrapping_add(begin as usize).cast::<u8>().wrapping_sub(shift as usize);
        let end = shift + count * size;
        let words = end.div_ceil(WORD);
        // An edge of the array may be within a word.
        let is_first_cut = size < WORD && begin * u64::from(size) < shift.into();
        let behind = (elements - begin - u64::from(count)) * u64::from(size);
        let is_last_cut = size < WORD && u64::from(words * WORD - end) > behind;
        let (first, last) = (u32::from(is_first_cut), words - u32::from(is_last_cut));
        // Below sm_80 each copy needs registers.
        let at_once = if cuda_std::ext::target::arch() >= 800 { 8 } else { 1 };
        // SAFETY: words from `first` to `last` lie within the array.
        unsafe {
            let mut word = lane;
            while word - lane < last {
                control::keep_rolled();
                let to = buffer.wrapping_add(padded(word) as usize);
                let from = from.cast::<u32>().wrapping_add(word as usize);
                each(at_once, |i| {
                    let further = i as u32 * WARP;
                    let is_there = first <= word + further && word + further < last;
                    let to = to.wrapping_add(padded(further) as usize);
                    copy::word_if(to, from.wrapping_add(further as usize), is_there);
                });
                word += at_once as u32 * WARP;
            }
            // Lane 0 takes a first word that is cut, and lane 1 a last one.
            let is_only = words == 1 && is_first_cut;
            if lane == 0 && is_first_cut || lane == 1 && is_last_cut && !is_only {
                let word = if lane == 0 { 0 } else { words - 1 };
                let mut bits = 0;
                each((WORD / size.min(WORD)) as usize, |i| {
                    let at = word * WORD + i as u32 * size;
                    if size < WORD && shift <= at && at < end {
                        let element = T::load_if(from.wrapping_add(at as usize).cast(), true);
                        let element = &raw const element;
                        bits |= match size {
                            1 => u32::from(element.cast::<u8>().read()),
                            _ => u32::from(element.cast::<u16>().read()),
                        } << (8 * i as u32 * size);
                    }
                });
                buffer.wrapping_add(padded(word) as usize).write(bits);
            }
        }
    }
}
