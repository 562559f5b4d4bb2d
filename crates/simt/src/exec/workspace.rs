//! The memory that a cooperative launch lends the kernel for the barrier of the whole grid.

use crate::exec::config::LaunchConfig;
use crate::exec::memory::{Memory, MemoryError};
use crate::module::Kernel;

/// What a cooperative launch gives `cooperative_groups::grid_group`: the words of the grid's barrier.
pub(crate) struct Workspace<'a>(Option<(&'a Memory, u64)>);

impl<'a> Workspace<'a> {
    /// A structure that begins with its size; the barrier's word follows.
    const BYTES: u32 = 8;

    /// None if the kernel does not ask for it.
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

    /// The address, or 0.
    pub(crate) fn address(&self) -> u64 {
        self.0.map_or(0, |(_, address)| address)
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        if let Some((memory, address)) = self.0 {
            // It is there: nobody else knows the address.
            let _ = memory.free(address);
        }
    }
}
