//! The shape of a launch, and the way in which it is run.

use std::sync::atomic::AtomicBool;

use crate::dim::Dim3;

/// The shape of a launch, and the way in which it is run.
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    /// How many blocks the grid has along each axis.
    pub grid: Dim3,
    /// How many threads a block has along each axis.
    pub block: Dim3,
    /// How many bytes of dynamic shared memory each block has.
    pub dynamic_shared_bytes: u32,
    /// How many blocks a cluster has, along x. 1 means that there are no clusters, or that clusters
    /// have the size that the kernel's `.reqnctapercluster` requires. The number is at most
    /// [`MAX_CLUSTER`](crate::MAX_CLUSTER), which all GPUs with clusters allow, and the grid's x
    /// must be a multiple of it.
    pub cluster: u32,
    /// Whether the launch is cooperative: all blocks are resident at once, so that each may wait
    /// for any other.
    pub cooperative: bool,
    /// How many blocks the device holds at once. A larger cooperative launch is refused, as a
    /// driver refuses it (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`). `None` takes the number that
    /// an H100 holds by its limits on threads and shared memory. Registers are left out of that
    /// number, because ptxas decides how many a thread has.
    pub resident_blocks: Option<u32>,
    /// How many host threads run blocks; `None` takes one for each core. The result does not depend
    /// on the number.
    pub workers: Option<usize>,
    /// A seed that varies the order in which the warps of a block advance, and how far a block
    /// comes before another block has its turn: up to 8 blocks advance side by side on a worker,
    /// and any of them may end first. Each seed stands for one order; `None` stands for the plain
    /// order.
    pub seed: Option<u64>,
    /// How many warp instructions the whole launch may run before
    /// [`FaultKind::Budget`](crate::FaultKind::Budget) stops it; `None` for no limit. The count is
    /// compared between turns of a block, so a launch may run somewhat longer.
    pub budget: Option<u64>,
    /// A flag that stops the launch with [`FaultKind::Interrupted`](crate::FaultKind::Interrupted)
    /// once it is true. A handler of Ctrl-C can set it, for example.
    pub interrupt: Option<&'static AtomicBool>,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads, without dynamic shared memory, on all cores,
    /// in the plain order.
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
