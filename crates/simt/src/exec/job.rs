//! One launch, as each of its blocks sees it.

use crate::exec::config::LaunchConfig;
use crate::exec::memory::MemoryView;
use crate::module::Kernel;

/// What a launch fixes before its blocks run. Nothing in it changes while they do.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) config: &'a LaunchConfig,
    /// The bytes of the kernel's parameters.
    pub(crate) params: Vec<u8>,
    /// The device addresses of the module's variables.
    pub(crate) variables: &'a [u64],
    pub(crate) memory: MemoryView,
    /// How many blocks a cluster has; 1 if the launch has no clusters.
    pub(crate) cluster: u32,
    /// Whether the kernel is launched in clusters, be it of one block.
    pub(crate) has_clusters: bool,
    /// What `%envreg1` and `%envreg2` tell a cooperative launch: the address of the grid's barrier.
    pub(crate) workspace: u64,
}
