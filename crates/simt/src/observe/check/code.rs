//! What the detector knows of one launch: its kernel's instructions, and its view of memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::detector::Shared;
use super::shadows::Shadows;
use crate::exec::memory::MemoryView;

/// What the detector knows of one launch.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// By program counter: the number of the instruction's site, or
    /// [`UNWATCHED`](super::sites::UNWATCHED).
    pub(super) site_of: Arc<Vec<u16>>,
    /// Whether blocks are launched in clusters.
    pub(super) clusters: bool,
    /// The shadows of blocks that have ended, to be used again.
    pub(super) spare: Vec<Shared>,
    /// The index of the shadow of each allocation, by the allocation's index; empty before the
    /// launch first accesses global memory.
    pub(super) shadows: Vec<usize>,
    /// The index of the allocation that the last global access found.
    pub(super) hint: usize,
    /// For pairs of a load and a compare-and-swap: whether the value of the load is the one that is
    /// expected.
    pub(super) expected: HashMap<(u32, u32), bool>,
    /// For pairs of a load and a store: the shuffles and votes that take the loaded value before
    /// the store.
    pub(super) gathers: HashMap<(u32, u32), Vec<u32>>,
    /// The shuffles and votes that some lanes of a warp have left out.
    pub(super) partial: HashSet<u32>,
    /// For pairs of barriers: whether each thread passes at most one of the two.
    pub(super) alternatives: HashMap<(u32, u32), bool>,
    /// By barrier: the instructions behind it.
    pub(super) behind: HashMap<u32, Arc<HashSet<u32>>>,
}

impl Code {
    /// Finds the shadows of the launch's allocations when it first accesses global memory.
    #[inline]
    pub(super) fn find_shadows(&mut self, view: &MemoryView, shadows: &mut Shadows) {
        if self.shadows.is_empty() {
            self.shadows = shadows.of(view);
        }
    }
}
