//! Asynchronous copies that have begun and not ended.

use std::collections::{BTreeMap, VecDeque};

/// A place in the shared memory of a block of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SharedCell {
    pub(crate) rank: u32,
    pub(crate) offset: u32,
}

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Global(u64),
    Shared(SharedCell),
}

impl End {
    fn rank(self) -> Option<u32> {
        match self {
            End::Shared(cell) => Some(cell.rank),
            End::Global(_) => None,
        }
    }
}

/// A copy in flight.
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    /// Who began it: rank, thread in the block and instruction.
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) to: End,
    pub(crate) from: End,
    /// Bytes at the destination.
    pub(crate) bytes: u32,
    /// Bytes that are read; the others become zero.
    pub(crate) read: u32,
    /// Where its end is told.
    pub(crate) mbarrier: Option<SharedCell>,
    /// Whether it is a bulk copy, not a `cp.async` of a thread's few bytes.
    pub(crate) bulk: bool,
    /// Its bytes, once they have been read before they are written.
    pub(super) data: Option<Vec<u8>>,
}

/// The copies of a thread that it waits for in groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) open: Vec<Copy>,
    pub(super) committed: VecDeque<Vec<Copy>>,
}

impl Groups {
    pub(super) fn all(&self) -> impl Iterator<Item = &Copy> {
        self.committed.iter().flatten().chain(&self.open)
    }
}

/// What is in flight in a cluster.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Those that tell an mbarrier.
    pub(super) told: Vec<Copy>,
    /// By rank, thread, and whether they are bulk copies.
    pub(super) groups: BTreeMap<(u32, u32, bool), Groups>,
}

impl Copies {
    /// A copy that needs shared memory of the block of rank `rank`, which has ended. One whose source has been read needs
    /// none.
    pub(crate) fn of_ended(&self, rank: u32) -> Option<&Copy> {
        let touches = |copy: &&Copy| {
            let source = copy.data.is_none() && copy.from.rank() == Some(rank);
            source || copy.to.rank() == Some(rank) || copy.mbarrier.is_some_and(|cell| cell.rank == rank)
        };
        self.told.iter().chain(self.groups.values().flat_map(Groups::all)).find(touches)
    }
}
