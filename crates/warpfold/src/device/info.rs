//! The facts about a device.

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The SIMT simulator, on the cores of the host.
    Simulator,
}

impl DeviceKind {
    /// What a time measured there is: `"gpu"` or `"simulation"`.
    pub fn time_kind(self) -> &'static str {
        match self {
            Self::Cuda => "gpu",
            Self::Simulator => "simulation",
        }
    }
}

/// The facts about a device that planning and reports need.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// As the driver spells it, or `simulator (…)`.
    pub name: String,
    /// GPU or simulator.
    pub kind: DeviceKind,
    /// The number of the GPU, counted from 0 as the driver counts; `None` for the simulator.
    pub ordinal: Option<u32>,
    /// Major and minor; PTX for a higher target is refused.
    pub compute_capability: (u32, u32),
    /// Total global memory in bytes.
    pub memory_bytes: u64,
    /// Multiprocessors; on the simulator a fixed number, so that the same command is the same launch on every host.
    pub multiprocessors: u32,
    /// The largest block.
    pub max_threads_per_block: u32,
    /// Shared memory that a block gets without asking for more, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a block gets if it asks for it, in bytes; [`Device::launch`](super::Device::launch)
    /// asks.
    pub most_shared_bytes_per_block: u32,
    /// Size of the L2 cache in bytes. `None` where the driver does not tell, and on the simulator.
    pub l2_bytes: Option<u64>,
    /// Memory clock (double data rate) times bus width. `None` where the driver does not tell, and on the simulator.
    pub peak_bytes_per_second: Option<f64>,
}
