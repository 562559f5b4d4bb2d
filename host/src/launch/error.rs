//! The reasons why a reduction cannot be planned.

use crate::{element::ElementType, op::Op, variant::Variant};

/// The largest grid that CUDA allows in the first dimension.
pub const MAX_GRID: u64 = i32::MAX as u64;

/// Why a reduction cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A minimum or maximum of no elements was asked for.
    #[error("n = 0: {op} needs at least one element")]
    Nothing {
        /// The operation.
        op: Op,
    },
    /// The rung has no kernel for this operation on this type.
    #[error("variant {variant} has no {op} of {element}: {}", .variant.facts().operands.reason())]
    Operands {
        /// The rung.
        variant: Variant,
        /// The operation.
        op: Op,
        /// The type of the elements.
        element: ElementType,
    },
    /// The rung uses instructions that the device lacks.
    #[error("variant {variant} needs compute capability {}.{}; the device has {}.{}", .needed.0, .needed.1, .device.0, .device.1)]
    Capability {
        /// The rung.
        variant: Variant,
        /// The compute capability that the rung needs.
        needed: (u32, u32),
        /// The compute capability of the device.
        device: (u32, u32),
    },
    /// The blocks of the rung wait for each other, and the device cannot hold so many at once.
    #[error(
        "grid {grid}: the blocks of variant {variant} wait for each other, and the device can hold only {most} blocks of {block} threads at once"
    )]
    Resident {
        /// The number of blocks that was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// The most blocks that are resident at once.
        most: u64,
        /// The number of threads in one block.
        block: u32,
    },
    /// The rung has no kernel for blocks of this size, or the device does not allow such blocks.
    #[error(
        "block {block}: variant {variant} works with blocks of a power of two from {min} to {max} threads"
    )]
    Block {
        /// The number of threads in one block that was asked for.
        block: u64,
        /// The rung.
        variant: Variant,
        /// The smallest block of the rung.
        min: u32,
        /// The largest block of the rung, or of the device if that is smaller.
        max: u32,
    },
    /// A block needs more shared memory than the device gives it.
    #[error(
        "block {block}: {element} needs {bytes} bytes of shared memory, and the device gives a block {available}"
    )]
    Shared {
        /// The number of threads in one block.
        block: u32,
        /// The type of the elements.
        element: ElementType,
        /// The bytes that a block needs.
        bytes: u32,
        /// The bytes that the device gives a block.
        available: u32,
    },
    /// A grid of no blocks was asked for.
    #[error("grid 0: a launch needs at least one block")]
    EmptyGrid,
    /// The grid has more blocks than CUDA can launch.
    #[error("a grid of {grid} blocks is too large: CUDA allows {MAX_GRID}")]
    GridTooLarge {
        /// The number of blocks.
        grid: u64,
    },
    /// The grid does not cover the input exactly, and each block of the rung takes a fixed part of
    /// the input.
    #[error(
        "grid {grid}: variant {variant} needs exactly {needed} blocks of {block} threads for n = {n}"
    )]
    Grid {
        /// The number of blocks that was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// The number of blocks that covers the input.
        needed: u64,
        /// The number of threads in one block.
        block: u32,
        /// The number of elements.
        n: u64,
    },
    /// One block was to combine the partial results, but they are too many for it.
    #[error(
        "finish single: {partials} partial results are left, and one block of {block} threads of variant {variant} can combine at most {takes}"
    )]
    Single {
        /// The number of partial results.
        partials: u64,
        /// The number of threads in one block.
        block: u32,
        /// The rung.
        variant: Variant,
        /// The number of partial results that one block takes.
        takes: u64,
    },
    /// The input and the partial results do not fit in the device's memory.
    #[error("n = {n} {element} elements need {} of device memory; the device has {} free", bytes(*.needed), bytes((*.available).into()))]
    Memory {
        /// The number of elements.
        n: u64,
        /// The type of the elements.
        element: ElementType,
        /// The bytes that the input and the partial results take.
        needed: u128,
        /// The bytes that are free on the device.
        available: u64,
    },
}

impl PlanError {
    /// Whether the same request would work on another device. If so, the request itself is not at
    /// fault.
    pub const fn blames_device(&self) -> bool {
        matches!(self, Self::Capability { .. })
    }
}

/// A number of bytes with a unit that people read easily. The units are powers of ten.
pub(crate) fn bytes(count: u128) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if count < 1000 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1e3;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}
