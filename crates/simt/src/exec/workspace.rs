//! The memory that a cooperative launch lends the kernel for the barrier of the whole grid.

use crate::exec::config::LaunchConfig;
use crate::exec::memory::{Memory, MemoryError};
use crate::module::Kernel;

/// The words of the grid's barrier, which `cooperative_groups::grid_group` uses in a cooperative
/// launch.
pub(crate) struct Workspace<'a>(Option<(&'a Memory, u64)>);

impl<'a> Workspace<'a> {
    /// The size of the structure in bytes. It begins with its size, and the barrier's word follows.
    const BYTES: u32 = 8;

    /// Allocates the words if the launch is cooperative and the kernel reads their address.
    pub(crate) fn new(
        kernel: &Kernel,
        config: &LaunchConfig,
        memory: &'a Memory,
    ) -> Result<Workspace<'a>, MemoryError> {
        if !config.cooperative || !kernel.program().reads_environment() {
            return Ok(Workspace(None));
        }
        let address = memory.alloc(u64::from(Workspace::BYTES))?;
        memory.write(address, &Workspace::BYTES.to_le_bytes())?;
        memory.assume_written_at(address);
        Ok(Workspace(Some((memory, address))))
    }

    /// The device address, or 0 if nothing was allocated.
    pub(crate) fn address(&self) -> u64 {
        self.0.map_or(0, |(_, address)| address)
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        if let Some((memory, address)) = self.0 {
            // The allocation exists, because nobody else knows its address.
            let _ = memory.free(address);
        }
    }
}
