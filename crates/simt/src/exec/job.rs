//! One launch, as each of its blocks sees it.

use std::sync::Arc;

use crate::exec::config::LaunchConfig;
use crate::exec::launch::Together;
use crate::exec::memory::MemoryView;
use crate::exec::print::Printed;
use crate::module::Kernel;

/// The facts of a launch that are fixed before its blocks run. None of them changes while the
/// blocks run.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// All launches that run together, and the number of this one.
    pub(crate) launches: &'a [Together<'a>],
    pub(crate) launch: usize,
    /// The number of the device: that of the first launch with the same memory.
    pub(crate) device: u32,
    pub(crate) kernel: &'a Kernel,
    pub(crate) config: &'a LaunchConfig,
    /// The bytes of the kernel's parameters.
    pub(crate) params: Vec<u8>,
    /// The seed of the launch's order. It differs from the configuration's seed if several launches
    /// run together, because blocks of the same number would take the same turns.
    pub(crate) seed: Option<u64>,
    /// The device addresses of the module's variables.
    pub(crate) variables: Arc<[u64]>,
    pub(crate) memory: MemoryView,
    /// How many blocks a cluster has; 1 if the launch has no clusters.
    pub(crate) cluster: u32,
    /// Whether the kernel is launched in clusters. It can be, even if a cluster has one block.
    pub(crate) has_clusters: bool,
    /// The address of the grid's barrier, which a cooperative launch passes to the kernel in
    /// `%envreg1` (the high word) and `%envreg2` (the low word).
    pub(crate) workspace: u64,
    pub(crate) printed: Printed,
}

impl Job<'_> {
    /// How many clusters the grid has.
    pub(crate) fn clusters(&self) -> u64 {
        self.config.grid.count() as u64 / u64::from(self.cluster)
    }
}
