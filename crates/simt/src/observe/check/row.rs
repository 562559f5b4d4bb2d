//! The knowledge that a thread had of its block at one moment.

use std::sync::Arc;

use super::known::Known;
use super::threads::{WARPS, lane_of, warp_of};
use crate::registers::LANES;

/// The knowledge that a thread had of its block at one moment.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) thread: u32,
    /// The thread's own accesses up to this stamp are included.
    pub(super) stamp: u32,
    pub(super) floor: u32,
    pub(super) warp_floor: u32,
    /// The stamps for each warp and for each lane of the thread's own warp, if only parts of the
    /// block or of the warp took part in a sync.
    pub(super) finer: Option<Arc<([u32; WARPS], [u32; LANES])>>,
    /// The stamp at which the bytes of an asynchronous copy arrived that the thread began.
    pub(super) copied: Option<u32>,
    /// The releases that the thread knew: those that all threads of its block knew, and those that
    /// it knew alone.
    pub(super) known: [Arc<Vec<Known>>; 2],
}

impl Row {
    /// Whether both rows are of the same thread at the same moment.
    pub(super) fn is_moment_of(&self, other: &Row) -> bool {
        (self.thread, self.stamp, self.copied) == (other.thread, other.stamp, other.copied)
    }

    /// Whether the row includes the access of `thread` at `stamp`.
    pub(super) fn covers(&self, thread: u32, stamp: u32) -> bool {
        let (warp, lane) = (warp_of(thread), lane_of(thread));
        let same_warp = warp == warp_of(self.thread);
        stamp <= self.floor
            || (thread == self.thread && (stamp <= self.stamp || self.copied == Some(stamp)))
            || (same_warp && stamp <= self.warp_floor)
            || self.finer.as_ref().is_some_and(|finer| {
                stamp <= finer.0[warp] && !same_warp || same_warp && stamp <= finer.1[lane]
            })
    }
}

impl Row {
    /// This row, with the bytes of a copy added, which arrived at `stamp`.
    pub(super) fn with_copy(self, stamp: u32) -> Row {
        Row { copied: Some(stamp), ..self }
    }
}
