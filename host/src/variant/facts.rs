//! What can be said of a rung.

use std::ops::RangeInclusive;

use super::rung::Variant;
use crate::{element::ElementType, op::Op};

/// How much of the input one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Each thread combines two neighbours and writes one result; nothing is reduced beyond that.
    Pairs,
    /// Each thread takes this many elements; each block leaves one result.
    PerThread(u64),
    /// The blocks together stride over the input, so much at each step; any grid does.
    GridStride(Step),
}

impl Coverage {
    /// Whether any grid covers any input.
    pub const fn takes_any_grid(self) -> bool {
        matches!(self, Self::GridStride(_))
    }
}

/// What is taken at each step of a grid-stride loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many elements for each thread.
    Elements(u64),
    /// So many 128-bit loads for each thread.
    Loads(u64),
    /// A tile of so many bytes for each block.
    Tile(u64),
}

impl Step {
    /// The elements that a block takes.
    pub const fn elements_of_block(self, element: ElementType, block: u32) -> u64 {
        match self {
            Self::Elements(elements) => elements * block as u64,
            Self::Loads(loads) => loads * LOAD_BYTES / element.size() as u64 * block as u64,
            Self::Tile(bytes) => bytes / element.size() as u64,
        }
    }
}

/// Bytes of a 128-bit load.
pub(crate) const LOAD_BYTES: u64 = 16;

/// The dynamic shared memory that a block needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// None.
    None,
    /// One element for each thread.
    PerThread,
    /// One element for each warp.
    PerWarp,
    /// So many bytes, and one element for each warp.
    AndPerWarp(u32),
}

/// What a launch leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// A partial result of each block (or, for rung 0, of each pair; for a cluster, of each
    /// cluster).
    Partials,
    /// The result itself. The launch needs memory for the partial results, and a counter that is 0
    /// before the first launch.
    Combined,
    /// The result itself, combined atomically with the identity that must be there before.
    Atomic,
}

/// The operations and types that a rung exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All.
    All,
    /// What `redux.sync` does.
    Redux,
    /// What atomics in global memory do.
    Atomic,
}

impl Operands {
    /// Whether there is a kernel.
    pub const fn allow(self, op: Op, element: ElementType) -> bool {
        match self {
            Self::All => true,
            Self::Redux => {
                !matches!(op, Op::Prod) && matches!(element, ElementType::I32 | ElementType::U32)
            }
            Self::Atomic => match op {
                Op::Sum => true,
                Op::Min | Op::Max => !matches!(element, ElementType::F32 | ElementType::F64),
                Op::Prod => false,
            },
        }
    }

    /// Why there is none for the others.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::All => "every operation and type is there",
            Self::Redux => "redux.sync does sum, min and max of i32 and u32",
            Self::Atomic => {
                "atomics in global memory do the sum of every type, and min and max of integers"
            }
        }
    }
}

/// What the blocks of a launch share beside global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// Nothing.
    Apart,
    /// A barrier for the whole grid: a cooperative launch.
    Grid,
    /// Each other's shared memory, in clusters of so many blocks at most: the largest power of two
    /// that divides the grid.
    Clusters(u32),
}

/// A parameter of a rung's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address of the elements.
    Input,
    /// The address of what the launch leaves.
    Output,
    /// The number of elements, 64 bits.
    Count,
    /// The address of the memory for a partial result of each block.
    Partials,
    /// The address of a 32-bit counter.
    Counter,
}

/// What is fixed about a rung.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The rung itself.
    pub variant: Variant,
    /// What `--variant` takes and `--list` prints: a number, or `global`.
    pub label: &'static str,
    /// The name that `--variant` takes as well.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub sentence: &'static str,
    /// The lecture it comes from.
    pub lecture: &'static str,
    /// The same kernel in NVIDIA's `reduction` sample, where there is one.
    pub nvidia: Option<&'static str>,
    /// Kernels are named `<family>_<op>_<type>`.
    pub family: &'static str,
    /// The block sizes it works for, of which only powers of two are used.
    pub blocks: RangeBounds,
    /// Threads of a block where nothing is said.
    pub default_block: u32,
    /// Elements that a block takes.
    pub coverage: Coverage,
    /// The dynamic shared memory of a block.
    pub shared: Shared,
    /// Whether there is a kernel for each block size (`_b<block>` in its name).
    pub block_in_name: bool,
    /// Whether it overwrites its input.
    pub destroys_input: bool,
    /// Whether the lanes of a warp combine their values in registers, where memory shows nothing of
    /// it.
    pub shuffles: bool,
    /// What a launch writes to its output.
    pub results: Results,
    /// The operations and types that it exists for.
    pub operands: Operands,
    /// What its blocks share beside global memory, which decides how they are launched.
    pub together: Together,
    /// Blocks for each multiprocessor where nothing is said, if any grid does.
    pub blocks_per_multiprocessor: u32,
    /// The oldest compute capability that has its instructions.
    pub capability: (u32, u32),
}

/// Least and greatest, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeBounds {
    /// The least.
    pub min: u32,
    /// The greatest.
    pub max: u32,
}

impl RangeBounds {
    /// As a range.
    pub fn range(self) -> RangeInclusive<u32> {
        self.min..=self.max
    }
}
