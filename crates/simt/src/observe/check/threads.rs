//! The warps and lanes of a block's threads.

use crate::registers::{LANES, lanes_of};

/// A block has at most this many warps.
pub(super) const WARPS: usize = 32;

pub(super) const fn warp_of(thread: u32) -> usize {
    thread as usize / LANES
}

pub(super) const fn lane_of(thread: u32) -> usize {
    thread as usize % LANES
}

pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    lanes_of(mask).map(|lane| lane as u32)
}
