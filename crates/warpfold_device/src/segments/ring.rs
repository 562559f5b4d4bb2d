//! The boundaries that a warp needs next, in shared memory.

use super::boundaries::Boundaries;
use super::tile::WORD;
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::copy;

/// Words of the ring.
pub(super) const WORDS: usize = 1024;

/// How many words are brought at a time, at most. The ring has room for the boundaries of the tile
/// that is worked on and of the next one. Half of it would be too little, because a tile has one
/// boundary more than segments.
const AT_ONCE: u32 = WORDS as u32 / 4;

/// A ring of boundaries. Boundary `i` of a warp is at place `i`, modulo the size of the ring.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub words: *mut u32,
    /// 2 to this number are the bytes of a boundary: 4 or 8.
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
        (AT_ONCE * WORD) >> self.log
    }

    /// Starts copies of the boundaries of the next tile. Segment 0 of the warp is number `base` of
    /// the array, and `count` is the number of its last boundary.
    ///
    /// # Safety
    /// The whole warp calls this. No more than [`capacity`](Self::capacity) segments before the
    /// next one are still needed.
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
        let words = ((end - first) << self.log) >> 2;
        let number = base.wrapping_add(first.into());
        let source = boundaries.source.wrapping_add(((number << self.log) >> 2) as usize);
        let place = (first << self.log) >> 2;
        // SAFETY: the boundaries up to number `count` of the warp are there.
        unsafe {
            each((AT_ONCE / WARP) as usize + 1, |i| {
                let word = i as u32 * WARP + self.lane;
                let to = self.words.wrapping_add(((place + word) as usize) % WORDS);
                copy::word_if(to, source.wrapping_add(word as usize), word < words);
            });
        }
    }

    /// Boundary number `i` of the warp.
    ///
    /// # Safety
    /// It has been brought, and has arrived.
    #[inline(always)]
    pub(super) unsafe fn boundary(self, i: u32) -> u64 {
        let place = ((i << self.log) >> 2) as usize;
        let word = self.words.wrapping_add(place % WORDS);
        // SAFETY: the caller's contract. The two words of a boundary are neighbours.
        unsafe {
            let high = if self.log == 3 { *word.wrapping_add(1) } else { 0 };
            u64::from(high) << 32 | u64::from(*word)
        }
    }
}
