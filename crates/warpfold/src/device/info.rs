//! The facts about a device.

/// The kind of machine on which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The SIMT simulator, on the cores of the host.
    Simulator,
}

impl DeviceKind {
    /// The name, for reports, of the kind of time that such a device measures: `"gpu"` or
    /// `"simulation"`.
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
    /// The name as the driver spells it, or `simulator (…)`.
    pub name: String,
    /// Whether the device is a GPU or the simulator.
    pub kind: DeviceKind,
    /// The driver's number of the GPU, counted from 0; `None` for the simulator.
    pub ordinal: Option<u32>,
    /// Compute capability, major and minor. The device refuses PTX for a higher target.
    pub compute_capability: (u32, u32),
    /// Total global memory in bytes.
    pub memory_bytes: u64,
    /// The number of multiprocessors. The simulator has a fixed number, so that one command gives
    /// the same launch on every host.
    pub multiprocessors: u32,
    /// The most threads that one block may have.
    pub max_threads_per_block: u32,
    /// Shared memory that a block may have without opting in to more, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a block may have after opting in, in bytes.
    /// [`Device::launch`](super::Device::launch) opts in when a launch needs it.
    pub most_shared_bytes_per_block: u32,
    /// Size of the L2 cache in bytes. `None` if the driver does not report it, and on the
    /// simulator.
    pub l2_bytes: Option<u64>,
    /// Peak memory bandwidth in bytes per second: the memory clock, times two for the double data
    /// rate, times the width of the bus. `None` if the driver does not report it, and on the
    /// simulator.
    pub peak_bytes_per_second: Option<f64>,
}
