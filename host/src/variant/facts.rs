//! The facts that the table holds about each rung.

use std::ops::RangeInclusive;

use super::rung::Variant;
use crate::{element::ElementType, op::Op};

/// How much of the input one block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Each thread combines two neighbours and writes one result. The block reduces no further.
    Pairs,
    /// Each thread takes this many elements, and each block leaves one result.
    PerThread(u64),
    /// The blocks together stride over the input, and this says how much they take at each step. A
    /// grid of any size works.
    GridStride(Step),
}

impl Coverage {
    /// Whether any grid covers any input.
    pub const fn takes_any_grid(self) -> bool {
        matches!(self, Self::GridStride(_))
    }
}

/// The part of the input that is taken at each step of a grid-stride loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This many elements for each thread.
    Elements(u64),
    /// This many 128-bit loads for each thread.
    Loads(u64),
    /// A tile of this many bytes for each block.
    Tile(u64),
}

impl Step {
    /// The number of elements that a block takes at each step.
    pub const fn elements_of_block(self, element: ElementType, block: u32) -> u64 {
        match self {
            Self::Elements(elements) => elements * block as u64,
            Self::Loads(loads) => loads * LOAD_BYTES / element.size() as u64 * block as u64,
            Self::Tile(bytes) => bytes / element.size() as u64,
        }
    }
}

/// The number of bytes in a 128-bit load.
pub(crate) const LOAD_BYTES: u64 = 16;

/// The dynamic shared memory that a block needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// A block needs none.
    None,
    /// One element for each thread.
    PerThread,
    /// One element for each warp.
    PerWarp,
    /// This many bytes, and one element for each warp.
    AndPerWarp(u32),
}

/// The output of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// One partial result for each block. Rung 0 leaves one for each pair, and a rung with clusters
    /// leaves one for each cluster.
    Partials,
    /// The result itself. The launch needs memory for the partial results, and a counter that is 0
    /// before the first launch.
    Combined,
    /// The result itself. The output must hold the identity before the launch, because the blocks
    /// combine their values with it atomically.
    Atomic,
}

/// The operations and types that a rung exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All operations and types.
    All,
    /// The operations and types of `redux.sync`.
    Redux,
    /// The operations and types of atomics in global memory.
    Atomic,
}

impl Operands {
    /// Whether the rung has a kernel for this operation and type.
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

    /// Why the rung has no kernel for the other operations and types.
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
    /// The blocks share nothing else.
    Apart,
    /// The blocks share a barrier for the whole grid, which takes a cooperative launch.
    Grid,
    /// The blocks of a cluster share each other's shared memory. The size of a cluster is the
    /// largest power of two that divides the grid, but at most this many blocks.
    Clusters(u32),
}

/// A parameter of a rung's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address of the elements.
    Input,
    /// The address of the output of the launch.
    Output,
    /// The number of elements, as 64 bits.
    Count,
    /// The address of memory that has room for one partial result of each block.
    Partials,
    /// The address of a 32-bit counter.
    Counter,
}

/// The facts about a rung that do not depend on the problem.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The rung itself.
    pub variant: Variant,
    /// The label that `--variant` takes and `--list` prints: a number, or a word such as `global`.
    pub label: &'static str,
    /// A longer name, which `--variant` takes as well.
    pub name: &'static str,
    /// A description of the rung in one sentence.
    pub sentence: &'static str,
    /// The lecture or other source that the rung comes from.
    pub lecture: &'static str,
    /// The name of the same kernel in NVIDIA's `reduction` sample, if the sample has it.
    pub nvidia: Option<&'static str>,
    /// The first part of the names of its kernels, which are `<family>_<op>_<type>`.
    pub family: &'static str,
    /// The block sizes that it works for. Only the powers of two among them are used.
    pub blocks: RangeBounds,
    /// The number of threads in one block if the request does not choose it.
    pub default_block: u32,
    /// How many elements a block takes.
    pub coverage: Coverage,
    /// The dynamic shared memory of a block.
    pub shared: Shared,
    /// Whether there is a separate kernel for each block size, with `_b<block>` in its name.
    pub block_in_name: bool,
    /// Whether the kernel overwrites its input.
    pub destroys_input: bool,
    /// Whether the lanes of a warp combine their values in registers. Accesses to memory do not
    /// show these operations.
    pub shuffles: bool,
    /// The output of a launch.
    pub results: Results,
    /// The operations and types that the rung has kernels for.
    pub operands: Operands,
    /// What its blocks share beside global memory. This decides how they are launched.
    pub together: Together,
    /// If the rung takes a grid of any size: how many blocks each multiprocessor gets if the
    /// request does not choose the grid.
    pub blocks_per_multiprocessor: u32,
    /// The oldest compute capability that has the instructions of the rung.
    pub capability: (u32, u32),
}

/// The least and the greatest value of a range, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeBounds {
    /// The least value.
    pub min: u32,
    /// The greatest value.
    pub max: u32,
}

impl RangeBounds {
    /// The same range as a [`RangeInclusive`].
    pub fn range(self) -> RangeInclusive<u32> {
        self.min..=self.max
    }
}
