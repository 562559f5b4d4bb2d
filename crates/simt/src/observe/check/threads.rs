//! The warps and lanes of a block's threads.

use crate::registers::LANES;

/// A block has at most this many warps.
pub(super) const WARPS: usize = 32;

pub(super) const fn warp_of(thread: u32) -> usize {
    thread as usize / LANES
}

pub(super) const fn lane_of(thread: u32) -> usize {
    thread as usize % LANES
}

pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    (0..LANES as u32).filter(move |lane| mask >> lane & 1 == 1)
}
