//! Asynchronous copies that have begun and have not ended.

use std::collections::{BTreeMap, VecDeque};

/// A place in the shared memory of a block of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SharedCell {
    pub(crate) rank: u32,
    pub(crate) offset: u32,
}

/// One end of a copy: its source or its destination.
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
    /// The block (by its rank) whose thread began the copy, the thread, and the instruction.
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) to: End,
    pub(crate) from: End,
    /// How many bytes are written at the destination.
    pub(crate) bytes: u32,
    /// How many bytes are read from the source; the rest of the destination becomes zero.
    pub(crate) read: u32,
    /// The mbarrier that the copy signals when it ends.
    pub(crate) mbarrier: Option<SharedCell>,
    /// Whether this is a bulk copy (`cp.async.bulk`), and not a `cp.async` of a few bytes.
    pub(crate) bulk: bool,
    /// The bytes, if they have been read and not yet written.
    pub(super) data: Option<Vec<u8>>,
}

/// The copies of one thread that belong to its groups.
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

/// All copies in flight in a cluster.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// The copies that signal an mbarrier.
    pub(super) told: Vec<Copy>,
    /// The groups of each thread, by rank, thread, and whether they hold bulk copies.
    pub(super) groups: BTreeMap<(u32, u32, bool), Groups>,
}

impl Copies {
    /// A copy that still needs the shared memory of the block of rank `rank`, which has ended. A
    /// copy whose source was already read does not need the source any more.
    pub(crate) fn of_ended(&self, rank: u32) -> Option<&Copy> {
        let touches = |copy: &&Copy| {
            let source = copy.data.is_none() && copy.from.rank() == Some(rank);
            source
                || copy.to.rank() == Some(rank)
                || copy.mbarrier.is_some_and(|cell| cell.rank == rank)
        };
        self.told.iter().chain(self.groups.values().flat_map(Groups::all)).find(touches)
    }
}
