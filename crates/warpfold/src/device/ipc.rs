//! Memory that kernels of other processes use.

use std::{any::Any, sync::Arc};

use super::{Buffer, Core, Device, DeviceError, Stream, faults::Call};

/// How many bytes a handle has.
pub(crate) const HANDLE_BYTES: usize = 64;

/// Memory of which other processes see no other memory beside it has a size that is a multiple of
/// this one, because CUDA opens whole blocks of this size to them.
const BLOCK_BYTES: usize = 2 << 20;

/// Memory of another process, open to the kernels of this device. It is closed when it is dropped;
/// the owner must not free it before.
#[derive(Debug)]
pub(crate) struct Opened {
    core: Arc<Core>,
    address: u64,
}

impl Opened {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.core.backend.close_exported(self.address);
    }
}

impl Stream {
    /// Lets the graph that this stream records, if any, keep this alive, which keeps memory of
    /// other processes open.
    pub(crate) fn retain_opened(&self, opened: Arc<dyn Any + Send + Sync>) {
        self.queue.retain_other(opened);
    }
}

impl Device {
    /// Allocates at least `bytes` that other processes can open by the handle. Every byte is 0.
    pub(crate) fn alloc_exported(
        &self,
        bytes: usize,
    ) -> Result<(Buffer<u8>, [u8; HANDLE_BYTES]), DeviceError> {
        const ACTION: &str = "share memory with other processes";
        let mut buffer = self.alloc(bytes.next_multiple_of(BLOCK_BYTES))?;
        buffer.fill_bytes(0)?;
        // Others may write as soon as they have the handle.
        self.synchronize()?;
        let core = &self.shared.core;
        core.enter(Call::Other, || ACTION.to_owned())?;
        let handle = core.backend.export(buffer.address())?;
        Ok((buffer, handle))
    }

    /// Waits for all work of all streams, also if this thread captures a graph, because memory that
    /// the work may use is closed now.
    pub(crate) fn finish_work(&self) {
        // An error belongs to an earlier launch, and the next call of the device reports it too.
        let _ = Arc::clone(&self.shared.core.backend).synchronize();
    }

    /// Opens memory that another process has [allocated](Self::alloc_exported) to the kernels of
    /// this device.
    pub(crate) fn open_exported(&self, handle: [u8; HANDLE_BYTES]) -> Result<Opened, DeviceError> {
        const ACTION: &str = "open memory of another process";
        let core = &self.shared.core;
        core.refuse_in_capture(ACTION)?;
        core.enter(Call::Other, || ACTION.to_owned())?;
        let address = core.backend.open_exported(handle)?;
        Ok(Opened { core: Arc::clone(core), address })
    }
}
