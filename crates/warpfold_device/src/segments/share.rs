//! How the lanes of a warp share short segments.

use crate::warp::{WARP, sum_up_to};
use cuda_std::ext::{control, redux, target};
use cuda_std::warp;

/// What a lane takes of a tile of short segments: a segment, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The number of the segment among those of the warp.
    pub segment: u32,
    /// The number of the segment's first element in the tile.
    pub offset: u32,
    /// The number of elements of the segment.
    pub length: u32,
    /// The number of the part in the segment.
    pub number: u32,
    /// Whether the lane has a part.
    pub is_there: bool,
}

impl Share {
    /// The number of parts of the segment, of `in_part` elements at most.
    #[inline(always)]
    pub(super) fn parts(self, in_part: u32) -> u32 {
        self.length.div_ceil(in_part).max(1)
    }

    /// Divides as many segments as have parts for a warp among its lanes, and returns how many
    /// these are. Before, lane `i` has the whole of segment `i` of `left` segments.
    ///
    /// # Safety
    /// The whole warp calls this. No segment has more parts than there are lanes.
    #[inline(always)]
    pub(super) unsafe fn divided(self, in_part: u32, lane: u32, left: u32) -> (Self, u32) {
        let own = self.parts(in_part);
        // SAFETY: the caller brings the whole warp.
        unsafe {
            // The parts up to this segment.
            let until = sum_up_to(own);
            let first = until - own;
            let is_taken = lane < left && until <= WARP;
            let taken = warp::warp_vote_ballot(u32::MAX, is_taken).trailing_ones();
            // The lanes that have a first part, and of these the ones up to this lane.
            let firsts = any(if is_taken { 1 << first } else { 0 });
            let firsts = firsts & (u32::MAX >> (WARP - 1 - lane));
            let from = firsts.count_ones() - 1;
            let number = lane - (WARP - 1 - firsts.leading_zeros());
            let of = |value: u32| warp::warp_shuffle_idx(u32::MAX, value, from, WARP).0;
            let (offset, length) = (of(self.offset), of(self.length));
            let share = Self { segment: of(self.segment), offset, length, number, is_there: true };
            (Self { is_there: number < share.parts(in_part), ..share }, taken)
        }
    }
}

/// The most parts that a lane's segment has, or the next power of two.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
pub(super) unsafe fn most(parts: u32) -> u32 {
    // SAFETY: the caller brings the whole warp, and the instruction is there.
    unsafe {
        if target::arch() >= 800 {
            return redux::max_u32(u32::MAX, parts);
        }
        let mut most = 1;
        while warp::warp_vote_any(u32::MAX, most < parts) {
            control::keep_rolled();
            most *= 2;
        }
        most
    }
}

/// The bits that are set in any lane.
///
/// # Safety
/// The whole warp calls this.
#[inline(always)]
unsafe fn any(bits: u32) -> u32 {
    // SAFETY: the caller brings the whole warp, and the instruction is there.
    unsafe {
        if target::arch() >= 800 {
            return redux::or_u32(u32::MAX, bits);
        }
        let mut bits = bits;
        let mut distance = 1;
        while distance < WARP {
            control::keep_rolled();
            bits |= warp::warp_shuffle_xor(u32::MAX, bits, distance, WARP).0;
            distance *= 2;
        }
        bits
    }
}
