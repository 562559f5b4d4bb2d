//! Why there is no plan.

use crate::{element::ElementType, op::Op, variant::Variant};

/// The largest grid that CUDA allows in the first dimension.
pub const MAX_GRID: u64 = i32::MAX as u64;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The least or greatest of nothing.
    #[error("n = 0: there is no {op} of no elements")]
    Nothing {
        /// The operation.
        op: Op,
    },
    /// An operation or type that the rung has no kernel for.
    #[error("variant {variant} has no {op} of {element}: {}", .variant.facts().operands.reason())]
    Operands {
        /// The rung.
        variant: Variant,
        /// The operation.
        op: Op,
        /// The type of the elements.
        element: ElementType,
    },
    /// Instructions that the device lacks.
    #[error("variant {variant} needs compute capability {}.{}; the device has {}.{}", .needed.0, .needed.1, .device.0, .device.1)]
    Capability {
        /// The rung.
        variant: Variant,
        /// What it needs.
        needed: (u32, u32),
        /// What the device has.
        device: (u32, u32),
    },
    /// More blocks than can wait for each other.
    #[error(
        "grid {grid}: the blocks of variant {variant} wait for each other, and the device holds {most} of {block} threads at once"
    )]
    Resident {
        /// What was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// The most that are resident.
        most: u64,
        /// Threads of a block.
        block: u32,
    },
    /// A block size that the kernel is not made for.
    #[error(
        "block {block}: variant {variant} works with blocks of a power of two from {min} to {max} threads"
    )]
    Block {
        /// What was asked for.
        block: u64,
        /// The rung.
        variant: Variant,
        /// Its smallest block.
        min: u32,
        /// Its largest block, or the device's.
        max: u32,
    },
    /// More shared memory than a block gets.
    #[error(
        "block {block}: {element} needs {bytes} bytes of shared memory, and the device gives a block {available}"
    )]
    Shared {
        /// Threads of a block.
        block: u32,
        /// The type of the elements.
        element: ElementType,
        /// What a block needs.
        bytes: u32,
        /// What it gets.
        available: u32,
    },
    /// A grid of nothing.
    #[error("grid 0: a launch needs at least one block")]
    EmptyGrid,
    /// More blocks than can be launched.
    #[error("a grid of {grid} blocks is too large: CUDA allows {MAX_GRID}")]
    GridTooLarge {
        /// Blocks.
        grid: u64,
    },
    /// A grid that does not cover the input exactly, for a rung whose blocks take a fixed part of
    /// it.
    #[error(
        "grid {grid}: variant {variant} needs exactly {needed} blocks of {block} threads for n = {n}"
    )]
    Grid {
        /// What was asked for.
        grid: u64,
        /// The rung.
        variant: Variant,
        /// What it needs.
        needed: u64,
        /// Threads of a block.
        block: u32,
        /// Number of elements.
        n: u64,
    },
    /// The partial results do not fit in one block.
    #[error(
        "finish single: {partials} partial results are left, and one block of {block} threads of variant {variant} takes {takes}"
    )]
    Single {
        /// How many there are.
        partials: u64,
        /// Threads of a block.
        block: u32,
        /// The rung.
        variant: Variant,
        /// How many one block takes.
        takes: u64,
    },
    /// More than the device's memory.
    #[error("n = {n} {element} elements need {} of device memory; the device has {} free", bytes(*.needed), bytes((*.available).into()))]
    Memory {
        /// Number of elements.
        n: u64,
        /// Their type.
        element: ElementType,
        /// Bytes for input and partial results.
        needed: u128,
        /// Bytes that are free.
        available: u64,
    },
}

impl PlanError {
    /// Whether another device would do as it is asked: no fault of the request's.
    pub const fn blames_device(&self) -> bool {
        matches!(self, Self::Capability { .. })
    }
}

/// A number of bytes as people read it, in powers of ten.
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
