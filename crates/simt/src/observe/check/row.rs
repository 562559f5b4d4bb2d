//! What a thread knew of its block at some moment.

use std::sync::Arc;

use super::known::Known;
use super::threads::{WARPS, lane_of, warp_of};
use crate::registers::LANES;

/// What a thread knew of its block at some moment.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) thread: u32,
    /// Its own accesses up to here.
    pub(super) stamp: u32,
    pub(super) floor: u32,
    pub(super) warp_floor: u32,
    /// Of warps and of the lanes of its own, if there were syncs of parts.
    pub(super) finer: Option<Arc<([u32; WARPS], [u32; LANES])>>,
    /// The stamp of the bytes of an asynchronous copy of its thread.
    pub(super) copied: Option<u32>,
    /// Of other blocks, and of its own by other ways than barriers.
    pub(super) known: [Arc<Vec<Known>>; 2],
}

impl Row {
    /// Whether both are of one thread at one time.
    pub(super) fn is_moment_of(&self, other: &Row) -> bool {
        (self.thread, self.stamp, self.copied) == (other.thread, other.stamp, other.copied)
    }

    /// Whether it took in the access of `thread` at `stamp`.
    pub(super) fn covers(&self, thread: u32, stamp: u32) -> bool {
        let (warp, lane) = (warp_of(thread), lane_of(thread));
        let same_warp = warp == warp_of(self.thread);
        stamp <= self.floor
            || (thread == self.thread && (stamp <= self.stamp || self.copied == Some(stamp)))
            || (same_warp && stamp <= self.warp_floor)
            || self
                .finer
                .as_ref()
                .is_some_and(|finer| stamp <= finer.0[warp] && !same_warp || same_warp && stamp <= finer.1[lane])
    }
}

impl Row {
    /// It also takes in the bytes of a copy, which arrived at `stamp`.
    pub(super) fn with_copy(self, stamp: u32) -> Row {
        Row { copied: Some(stamp), ..self }
    }
}
