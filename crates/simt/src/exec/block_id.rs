//! The identity of a block among the blocks of all launches that run together.

use crate::exec::env::Env;

/// A block of one of the launches that run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockId {
    /// The number of the device: that of the first launch with the same memory.
    pub(crate) device: u32,
    /// The number of the launch.
    pub(crate) launch: u32,
    /// The linear index of the block in the launch.
    pub(crate) ticket: u64,
}

impl Env<'_> {
    /// The block that runs.
    pub(crate) fn id(&self) -> BlockId {
        let (device, launch) = (self.job.device, self.job.launch as u32);
        BlockId { device, launch, ticket: self.ticket }
    }

    /// The block of this rank in the cluster of the block that runs.
    pub(crate) fn id_of(&self, rank: u32) -> BlockId {
        BlockId { ticket: self.ticket_of(rank), ..self.id() }
    }
}
