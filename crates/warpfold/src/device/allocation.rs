//! Allocations of a device's memory, which several owners can share.

use std::sync::Arc;

use super::{Core, DeviceError};

/// Memory of a device, freed when the last owner is gone. A buffer owns its allocation, and so does
/// each [`Graph`](super::Graph) in which a safe call has recorded the allocation's address.
#[derive(Debug)]
pub(super) struct Allocation {
    core: Arc<Core>,
    /// The address is a multiple of 256 bytes, or 0 if the allocation has no bytes.
    address: u64,
}

impl Allocation {
    pub(super) fn new(core: &Arc<Core>, bytes: u128) -> Result<Arc<Self>, DeviceError> {
        let address = core.alloc(bytes)?;
        Ok(Arc::new(Self { core: Arc::clone(core), address }))
    }

    /// As [`new`](Self::new), for memory that kernels of `peers` use too.
    pub(super) fn for_peers(
        core: &Arc<Core>,
        peers: &[&Arc<Core>],
        bytes: u64,
    ) -> Result<Arc<Self>, DeviceError> {
        let address = core.alloc_for_peers(peers, bytes)?;
        Ok(Arc::new(Self { core: Arc::clone(core), address }))
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.core.free(self.address);
    }
}
