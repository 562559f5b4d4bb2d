//! The shape of a launch, and how it is run.

use std::sync::atomic::AtomicBool;

use crate::dim::Dim3;

/// The shape of a launch, and how to run it.
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of each block.
    pub dynamic_shared_bytes: u32,
    /// Blocks of a thread-block cluster, along x; 1 for none, or for what the kernel's `.reqnctapercluster` says. At most
    /// [`MAX_CLUSTER`], which is what all GPUs with clusters take, and the grid's x must be a multiple.
    pub cluster: u32,
    /// A cooperative launch: all blocks are resident at once, so that any of them may wait for any other.
    pub cooperative: bool,
    /// Blocks that the device holds at once: a cooperative launch of more is refused, as a driver does
    /// (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`). `None` takes what an H100 holds by threads and shared memory; how
    /// many registers ptxas would give a thread is not known here.
    pub resident_blocks: Option<u32>,
    /// Host threads to run on; `None` takes one for each core. The result does not depend on it.
    pub workers: Option<usize>,
    /// `Some` varies the order in which the warps of a block advance, and how far blocks come before others have their turn: up
    /// to 8 of them advance side by side on a worker, and the last of these may end first. Each seed stands for one order.
    pub seed: Option<u64>,
    /// Warp instructions that the whole launch may run before it is stopped by [`FaultKind::Budget`](crate::FaultKind::Budget); `None` for no
    /// end. It is looked at between turns of a block, so that a launch may run some more.
    pub budget: Option<u64>,
    /// Stops the launch by [`FaultKind::Interrupted`](crate::FaultKind::Interrupted) once it is true: for a handler of Ctrl-C.
    pub interrupt: Option<&'static AtomicBool>,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads, without dynamic shared memory, on all cores, in the plain order.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            dynamic_shared_bytes: 0,
            cluster: 1,
            cooperative: false,
            resident_blocks: None,
            workers: None,
            seed: None,
            budget: None,
            interrupt: None,
        }
    }
}
