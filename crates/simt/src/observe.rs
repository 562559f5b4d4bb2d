//! What an interpreter loop may tell while it runs. Chosen at compile time, so that plain running pays nothing.

/// Is told what a block does. The defaults do nothing.
pub(crate) trait Observer {
    /// The instruction at `pc` runs in the lanes of `active`.
    #[inline(always)]
    fn instruction(&mut self, _pc: u32, _active: u32) {}
}

/// Runs, and tells nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Observer for Plain {}
