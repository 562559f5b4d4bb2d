//! All launches of one reduction, and what follows from them.

use super::{
    request::{Finish, Problem},
    shape::{Stage, atomics},
};
use crate::variant::Results;

/// The counter of a rung that combines its partial results itself.
const COUNTER_BYTES: u128 = 4;

/// All launches of one reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is reduced.
    pub problem: Problem,
    /// Name of the kernel, the same for all stages.
    pub kernel: String,
    /// Threads of a block.
    pub block: u32,
    /// How the partial results become one.
    pub finish: Finish,
    /// The launches in order; none if there is nothing to reduce.
    pub stages: Vec<Stage>,
}

impl Plan {
    /// Values that the stages leave: one, or as many as the host then combines.
    pub fn partials(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.outputs)
    }

    /// Depth of the whole tree: the longest chain of operations from an element to the result,
    /// those of the host included.
    pub fn depth(&self) -> u64 {
        self.stages.iter().map(|stage| stage.depth).sum::<u64>() + self.partials().saturating_sub(1)
    }

    /// Atomic operations by which results are combined.
    pub fn atomics(&self) -> u64 {
        let Problem { variant, .. } = self.problem;
        let blocks = self.stages.iter().map(|stage| stage.shape.grid.count() as u64).sum::<u64>();
        if variant.facts().results == Results::Atomic {
            blocks * u64::from(atomics(variant, self.block))
        } else {
            0
        }
    }

    /// Bytes of device memory: the input, a second copy of it if the kernel overwrites it, the
    /// partial results of the first two stages (later stages use these two in turn), and what the
    /// first stage works with beside them.
    pub fn device_bytes(&self) -> u128 {
        let facts = self.problem.variant.facts();
        let copies = if facts.destroys_input { 2 } else { 1 };
        let (workspace, counter) = match (facts.results, self.stages.first()) {
            (Results::Combined, Some(stage)) => (stage.workspace, COUNTER_BYTES),
            // A copy of the identity.
            (Results::Atomic, Some(_)) => (1, 0),
            _ => (0, 0),
        };
        let elements = copies * u128::from(self.problem.n)
            + self.stages.iter().take(2).map(|stage| u128::from(stage.outputs)).sum::<u128>()
            + u128::from(workspace);
        elements * u128::from(self.problem.element.size()) + counter
    }
}
