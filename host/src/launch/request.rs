//! What is asked for, and what a device allows.

use std::{fmt, str::FromStr};

use crate::{device::DeviceInfo, element::ElementType, op::Op, variant::Variant};

/// What is to be reduced, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rung.
    pub variant: Variant,
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// Number of elements.
    pub n: u64,
}

/// How the partial results of the blocks become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The same kernel again and again until one value is left.
    #[default]
    Relaunch,
    /// The host combines them from the first to the last, in the order of the blocks.
    Host,
    /// One more block, which must be able to take them all.
    Single,
}

impl Finish {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Relaunch, Self::Host, Self::Single];

    /// As the command line spells it.
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

/// Not the name of a way to finish.
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

/// What the caller wants to choose; the rest is chosen for him.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Threads of a block.
    pub block: Option<u64>,
    /// Blocks of the first stage.
    pub grid: Option<u64>,
    /// How the partial results become one.
    pub finish: Finish,
}

/// What the device allows, as far as plans depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Largest block.
    pub max_threads_per_block: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes_per_block: u32,
    /// Global memory that is free, in bytes.
    pub memory_bytes: u64,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Blocks of the kernel in question that a multiprocessor holds at once, which bounds a
    /// cooperative grid: see [`Runner::limits`](crate::reduce::Runner::limits). Where nobody asked,
    /// one of any kernel fits.
    pub resident_blocks: Option<u32>,
}

impl DeviceLimits {
    /// The limits of a device with so much free memory.
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

    /// The largest cooperative grid.
    pub(super) fn largest_cooperative_grid(&self) -> u64 {
        u64::from(self.resident_blocks.unwrap_or(1)) * u64::from(self.multiprocessors.max(1))
    }
}
