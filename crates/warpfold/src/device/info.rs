//! Which device to open, and what is known about it.

use std::{fmt, str::FromStr};

/// Which device to open.
///
/// ```
/// use warpfold::device::{Device, DeviceChoice, DeviceKind};
///
/// let device = Device::open("sim".parse::<DeviceChoice>()?)?;
/// assert_eq!((device.info().kind, device.info().max_threads_per_block), (DeviceKind::Simulator, 1024));
/// assert_eq!(DeviceChoice::default(), DeviceChoice::Auto);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device, or the simulator where there is none that works.
    #[default]
    Auto,
    /// The first CUDA device, or an error.
    Cuda,
    /// The simulator.
    Simulator,
}

/// Neither `auto`, nor `cuda`, nor `sim`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device '{0}': it is one of auto, cuda, sim")]
pub struct UnknownDevice(pub String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda),
            "sim" => Ok(Self::Simulator),
            _ => Err(UnknownDevice(text.to_owned())),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Simulator => "sim",
        })
    }
}

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
