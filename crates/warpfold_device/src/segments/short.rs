//! How a warp reduces a tile of short segments.
//!
//! A lane takes a segment, or a part of one if any is longer than a part. Then all lanes wait for
//! the one with the longest. So where segments have less than two packs on average, the warp first
//! reduces those that have less, and lists the others. Then it reduces the others together.
//!
//! The code for the shorter ones is a third copy of the code that reads a part. Kernels in which it
//! would be long do not have it: those of elements of less than a word, and those of accumulators
//! of more than two words.

use super::Warp;
use super::reader;
use super::share::{self, Share};
use super::tile::{Staged, Tile};
use crate::Reduction;
use crate::rows::{PACK, PART_BYTES, TILE_BYTES, tree};
use crate::source::OneArray;
use crate::warp::WARP;
use cuda_std::ext::control;
use cuda_std::warp;

/// The places of the list: the most segments of two packs that a tile has.
pub(super) const LONGER: usize = (TILE_BYTES / (2 * PACK)) as usize;

impl Warp {
    /// Reduces a tile of short segments, and writes their results.
    ///
    /// # Safety
    /// The whole warp calls this. The tile has arrived, and all lanes [closed](Staged::close) it.
    #[inline(always)]
    pub(super) unsafe fn work_short<S: OneArray, R: Reduction<Source = S>>(
        &self,
        source: S,
        tile: Tile,
        staged: Staged,
        output: *mut R::Raw,
    ) {
        let in_part = PART_BYTES / size_of::<S::Element>() as u32;
        let in_pack = S::PER_PACK as u32;
        // Whether the segments have less than two packs on average, in a kernel that has code for
        // that.
        let are_shorter =
            reader::is_brief::<R>() && tile.segments * 2 * in_pack > tile.length as u32;
        let (mut done, mut segments) = (0, tile.segments);
        // SAFETY: the caller's contract. A segment whose offsets rise within the elements of the
        // tile lies in them.
        unsafe {
            if are_shorter {
                segments = self.work_shorter::<S, R>(source, tile, staged, output);
                warp::sync_warp(u32::MAX);
            }
            while done < segments {
                control::keep_rolled();
                let left = segments - done;
                let is_there = self.lane < left;
                let mut number = done + self.lane.min(left - 1);
                if are_shorter {
                    number = self.longer.add(number as usize).read().into();
                }
                let segment = tile.first + number;
                let (offset, until) = self.place_of(tile, segment);
                let length = if is_there { until.wrapping_sub(offset) } else { 0 };
                let share = Share { segment, offset, length, number: 0, is_there };
                let (share, taken, most) = if warp::warp_vote_any(u32::MAX, length > in_part) {
                    let (share, taken) = share.divided(in_part, self.lane, left);
                    (share, taken, share::most(share.parts(in_part)))
                } else {
                    (share, left.min(WARP), 1)
                };
                let skipped = share.number * in_part;
                let count = share.length.saturating_sub(skipped).min(in_part);
                let at = share.offset + skipped;
                let (first, none) = (skipped.into(), R::identity());
                let is_apart = count >= in_pack && !staged.is_pack::<S::Element>(at);
                let are_packs = !warp::warp_vote_any(u32::MAX, is_apart);
                let acc = reader::part::<S, R>(source, staged, at, count, are_packs, first, none);
                let count = share.parts(in_part);
                let parts = tree::Parts::Uneven { number: share.number, count };
                let acc = tree::lanes::<R>(acc, parts, most);
                if share.is_there && share.number == 0 {
                    self.write::<R>(source, share.segment, acc, output);
                }
                done += taken;
            }
        }
    }

    /// Reduces the segments of a tile that have less than two packs, and writes their results.
    /// Leaves the numbers of the longer ones in the list, and returns how many these are.
    ///
    /// # Safety
    /// That of [`work_short`](Self::work_short).
    #[inline(always)]
    unsafe fn work_shorter<S: OneArray, R: Reduction<Source = S>>(
        &self,
        source: S,
        tile: Tile,
        staged: Staged,
        output: *mut R::Raw,
    ) -> u32 {
        let lower = (1 << self.lane) - 1;
        let (mut done, mut longer) = (0, 0);
        // SAFETY: the caller's contract. All branches around collective calls are the same in all
        // lanes. Only places of the list are written.
        unsafe {
            while done < tile.segments {
                control::keep_rolled();
                let number = done + self.lane;
                let is_there = number < tile.segments;
                let segment = tile.first + number.min(tile.segments - 1);
                let (offset, until) = self.place_of(tile, segment);
                let length = until.wrapping_sub(offset);
                let is_longer = is_there && length >= 2 * S::PER_PACK as u32;
                let is_shorter = is_there && !is_longer;
                let count = if is_shorter { length } else { 0 };
                let acc = reader::shorter::<S, R>(source, staged, offset, count);
                if is_shorter {
                    self.write::<R>(source, segment, acc, output);
                }
                // If boundaries decrease, there may be more longer segments than places. Such
                // segments may have any results, so those without a place are left out.
                let are_longer = warp::warp_vote_ballot(u32::MAX, is_longer);
                let place = (longer + (are_longer & lower).count_ones()) as usize;
                if is_longer && place < LONGER {
                    self.longer.add(place).write(number as u16);
                }
                longer = (longer + are_longer.count_ones()).min(LONGER as u32);
                done += WARP;
            }
        }
        longer
    }
}
