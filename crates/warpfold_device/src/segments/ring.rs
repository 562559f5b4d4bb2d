//! The boundaries that a warp needs next, in shared memory.

use super::boundaries::Boundaries;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{control, copy};

/// The least words of a ring.
pub const LEAST_RING: u32 = 256;

/// How many copies of a lane follow each other without a branch: as many as the smallest ring has
/// room for.
const COPIES: u32 = LEAST_RING / 2 / WARP;

/// A ring of boundaries. Boundary `i` of a warp is at place `i`, modulo the size of the ring.
///
/// The ring has room for the ends of the segments of the tile that is worked on and of the next
/// one. The begin of the first segment of a tile is not kept, because the warp knows it.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub words: *mut u32,
    /// The number of words.
    pub size: u32,
    /// 2 to this number are the words of a boundary: 1 or 2.
    pub log: u32,
    pub lane: u32,
}

/// What a warp has not made into tiles yet.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// The next segment.
    pub segment: u32,
    /// The number of its first element.
    pub begin: u64,
    /// The first boundary that was not brought.
    pub brought: u32,
}

impl Ring {
    /// The most boundaries that are brought at a time, and so the most segments of a tile.
    #[inline(always)]
    pub(super) fn capacity(self) -> u32 {
        (self.size / 2) >> self.log
    }

    /// Starts copies of the ends of the segments of the next tile. Segment 0 of the warp is number
    /// `base` of the array, and `count` is the number of its last boundary.
    ///
    /// # Safety
    /// The whole warp calls this. The ends of no more than [`capacity`](Self::capacity) segments
    /// before the next one are still needed.
    #[inline(always)]
    pub(super) unsafe fn bring(
        self,
        next: &mut Next,
        boundaries: &Boundaries,
        base: u64,
        count: u32,
    ) {
        let first = next.brought;
        let end = (next.segment + self.capacity()).min(count) + 1;
        if end <= first {
            return;
        }
        next.brought = end;
        let words = (end - first) << self.log;
        let number = base.wrapping_add(first.into());
        let source = boundaries.source.wrapping_add((number << self.log) as usize);
        let mut done = 0;
        while done < words {
            control::keep_rolled();
            each(COPIES as usize, |i| {
                let word = done + i as u32 * WARP + self.lane;
                let to = self.word((first << self.log) + word);
                // SAFETY: the boundaries up to number `count` of the warp are there.
                unsafe { copy::word_if(to, source.wrapping_add(word as usize), word < words) }
            });
            done += COPIES * WARP;
        }
    }

    /// The place of word number `i`.
    #[inline(always)]
    fn word(self, i: u32) -> *mut u32 {
        self.words.wrapping_add((i & (self.size - 1)) as usize)
    }

    /// Where boundary number `i` of the warp is.
    #[inline(always)]
    fn place(self, i: u32) -> *const u32 {
        self.word(i << self.log)
    }

    /// Boundary number `i` of the warp.
    ///
    /// # Safety
    /// It has been brought, and has arrived.
    #[inline(always)]
    pub(super) unsafe fn boundary(self, i: u32) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { u64::from(self.high(i)) << 32 | u64::from(self.low(i)) }
    }

    /// The lower word of boundary number `i` of the warp.
    ///
    /// # Safety
    /// That of [`boundary`](Self::boundary).
    #[inline(always)]
    pub(super) unsafe fn low(self, i: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { *self.place(i) }
    }

    /// The upper word of boundary number `i` of the warp, which is 0 if boundaries have one word.
    ///
    /// # Safety
    /// That of [`boundary`](Self::boundary).
    #[inline(always)]
    pub(super) unsafe fn high(self, i: u32) -> u32 {
        // SAFETY: the caller's contract. The two words of a boundary are neighbours.
        if self.has_high() { unsafe { *self.place(i).wrapping_add(1) } } else { 0 }
    }

    /// Whether boundaries have two words.
    #[inline(always)]
    pub(super) fn has_high(self) -> bool {
        self.log == 1
    }
}
