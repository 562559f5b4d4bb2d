//! The request of a caller, and the limits of a device.

use std::{fmt, str::FromStr};

use crate::{device::DeviceInfo, element::ElementType, op::Op, variant::Variant};

/// What to reduce, and by which rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rung.
    pub variant: Variant,
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// The number of elements.
    pub n: u64,
}

/// How the partial results of the blocks become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The same kernel runs again and again until one value is left.
    #[default]
    Relaunch,
    /// The host combines them from the first to the last, in the order of the blocks.
    Host,
    /// One more block combines them; it must be able to take them all.
    Single,
}

impl Finish {
    /// All ways to finish.
    pub const ALL: [Self; 3] = [Self::Relaunch, Self::Host, Self::Single];

    /// The name of the way, as the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relaunch => "relaunch",
            Self::Host => "host",
            Self::Single => "single",
        }
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a text that is not the name of a way to finish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown finish '{0}': it is one of relaunch, host, single")]
pub struct UnknownFinish(pub String);

impl FromStr for Finish {
    type Err = UnknownFinish;

    fn from_str(text: &str) -> Result<Self, UnknownFinish> {
        Self::ALL
            .into_iter()
            .find(|finish| finish.name() == text)
            .ok_or_else(|| UnknownFinish(text.to_owned()))
    }
}

/// The caller's choices. A field that is `None` is chosen by the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The number of threads in one block.
    pub block: Option<u64>,
    /// The number of blocks of the first stage.
    pub grid: Option<u64>,
    /// How the partial results become one.
    pub finish: Finish,
}

/// The limits of a device that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The most threads that one block can have.
    pub max_threads_per_block: u32,
    /// The most shared memory that one block gets, in bytes.
    pub shared_bytes_per_block: u32,
    /// The global memory that is free, in bytes.
    pub memory_bytes: u64,
    /// The compute capability: its major and its minor number.
    pub compute_capability: (u32, u32),
    /// How many blocks of the kernel one multiprocessor holds at once, which bounds a cooperative
    /// grid: see [`Runner::limits`](crate::reduce::Runner::limits). If it is `None`, planning
    /// assumes one block, because one block of any kernel fits.
    pub resident_blocks: Option<u32>,
}

impl DeviceLimits {
    /// The limits of a device that has this much free memory.
    pub fn new(info: &DeviceInfo, free_memory: u64) -> Self {
        Self {
            multiprocessors: info.multiprocessors,
            max_threads_per_block: info.max_threads_per_block,
            shared_bytes_per_block: info.shared_bytes_per_block,
            memory_bytes: free_memory,
            compute_capability: info.compute_capability,
            resident_blocks: None,
        }
    }

    /// The largest cooperative grid that the device can hold at once.
    pub(super) fn largest_cooperative_grid(&self) -> u64 {
        u64::from(self.resident_blocks.unwrap_or(1)) * u64::from(self.multiprocessors.max(1))
    }
}
