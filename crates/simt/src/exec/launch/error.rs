//! The reasons for which a launch is refused or stopped.

use thiserror::Error;

use crate::dim::Dim3;
use crate::exec::memory::MemoryError;
use crate::fault::Fault;
use crate::limits::{MAX_BLOCK, MAX_CLUSTER, MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::lower::Refusal;

/// The reason for which a launch was refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no kernel of this name.
    #[error("module `{module}` has no kernel `{kernel}`")]
    UnknownKernel {
        /// The module's name.
        module: String,
        /// The name asked for.
        kernel: String,
    },
    /// A kernel that uses instructions that are not simulated, itself or through functions that it
    /// calls.
    #[error("kernel `{kernel}` cannot be run: {module}:{first}{}", more(*others))]
    Unsupported {
        /// The module's name, usually its file.
        module: String,
        /// The kernel.
        kernel: String,
        /// The first reason of [`Kernel::refusals`](crate::Kernel::refusals).
        first: Box<Refusal>,
        /// How many other reasons there are.
        others: usize,
    },
    /// A grid with a zero dimension or beyond the limits.
    #[error("grid {grid} is not allowed: each dimension must be at least 1 and at most {MAX_GRID}")]
    Grid {
        /// The grid asked for.
        grid: Dim3,
    },
    /// A block with a zero dimension or beyond the limits.
    #[error(
        "block {block} is not allowed: each dimension must be at least 1 and at most {MAX_BLOCK}, with at most {MAX_THREADS_PER_BLOCK} threads in all"
    )]
    Block {
        /// The block asked for.
        block: Dim3,
    },
    /// A block that the kernel's `.maxntid` or `.reqntid` does not allow.
    #[error("block {block} is not allowed: kernel `{kernel}` was compiled for {rule}")]
    BlockForKernel {
        /// The block asked for.
        block: Dim3,
        /// The kernel.
        kernel: String,
        /// The kernel's directive, in words.
        rule: String,
    },
    /// The wrong number of arguments.
    #[error("kernel `{kernel}` takes {expected} arguments and got {given}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// How many parameters the kernel has.
        expected: usize,
        /// How many arguments were given.
        given: usize,
    },
    /// An argument that is not as large as its parameter.
    #[error(
        "argument {index} of kernel `{kernel}` has {given} bytes and its parameter `{param}` has {expected}"
    )]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The position of the argument, from 0.
        index: usize,
        /// The parameter's name.
        param: String,
        /// The parameter's size in bytes.
        expected: u64,
        /// The argument's size in bytes.
        given: usize,
    },
    /// More shared memory than a block can have.
    #[error(
        "kernel `{kernel}` would need {asked} bytes of shared memory in each block and at most {MAX_SHARED_BYTES} are allowed"
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// The static and dynamic bytes together.
        asked: u64,
    },
    /// A cluster of no blocks or of too many.
    #[error("a cluster of {cluster} blocks is not allowed: it must have 1 to {MAX_CLUSTER}")]
    ClusterSize {
        /// The number of blocks asked for.
        cluster: u32,
    },
    /// A grid that does not consist of whole clusters.
    #[error(
        "grid {grid} is not allowed: its x must be a multiple of the {cluster} blocks of a cluster"
    )]
    ClusterGrid {
        /// The grid asked for.
        grid: Dim3,
        /// How many blocks a cluster has.
        cluster: u32,
    },
    /// A cluster that the kernel's `.reqnctapercluster` or `.maxclusterrank` does not allow.
    #[error(
        "a cluster of {cluster} blocks is not allowed: kernel `{kernel}` was compiled for {rule}"
    )]
    ClusterForKernel {
        /// The number of blocks asked for.
        cluster: u32,
        /// The kernel.
        kernel: String,
        /// The kernel's directive, in words.
        rule: String,
    },
    /// A cooperative launch whose blocks cannot all be resident at once.
    #[error(
        "a cooperative launch of {blocks} blocks is too large: at most {resident} can be resident at once"
    )]
    CooperativeTooLarge {
        /// How many blocks the grid has.
        blocks: u64,
        /// How many blocks the device holds at once.
        resident: u32,
    },
    /// The launch was given `workers: Some(0)`.
    #[error("a launch needs at least 1 worker")]
    NoWorkers,
    /// Device memory has no space for the module's own variables.
    #[error("the variables of module `{module}` could not be placed: {source}")]
    Variables {
        /// The module's name.
        module: String,
        /// The reason.
        source: MemoryError,
    },
    /// A range whose bytes [`trace`](crate::trace()) should keep is not allocated.
    #[error("a range to trace cannot be read: {0}")]
    TraceRange(MemoryError),
    /// The kernel faulted. Memory keeps everything that its blocks had written before.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// The end of a sentence about the first of several reasons.
fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and 1 more instruction".to_owned(),
        others => format!(", and {others} more instructions"),
    }
}
