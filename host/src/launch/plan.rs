//! The plan of one reduction: all its launches, and the figures that follow from them.

use super::{
    request::{Finish, Problem},
    shape::{Stage, atomics},
};
use crate::variant::Results;

/// The bytes of the counter, which a rung needs if it combines its partial results itself.
const COUNTER_BYTES: u128 = 4;

/// All launches of one reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The problem that the plan solves.
    pub problem: Problem,
    /// The name of the kernel, which is the same for all stages.
    pub kernel: String,
    /// The number of threads in one block.
    pub block: u32,
    /// How the partial results become one.
    pub finish: Finish,
    /// The launches in order; none if there is nothing to reduce.
    pub stages: Vec<Stage>,
}

impl Plan {
    /// The number of values that the stages leave. If there are several, the host combines them.
    pub fn partials(&self) -> u64 {
        self.stages.last().map_or(0, |stage| stage.outputs)
    }

    /// The depth of the whole tree: the longest chain of operations from an element to the result.
    /// The operations of the host count too.
    pub fn depth(&self) -> u64 {
        self.stages.iter().map(|stage| stage.depth).sum::<u64>() + self.partials().saturating_sub(1)
    }

    /// The number of atomic operations that combine results.
    pub fn atomics(&self) -> u64 {
        let Problem { variant, .. } = self.problem;
        let blocks = self.stages.iter().map(|stage| stage.shape.grid.count() as u64).sum::<u64>();
        if variant.facts().results == Results::Atomic {
            blocks * u64::from(atomics(variant, self.block))
        } else {
            0
        }
    }

    /// The bytes of device memory that the plan needs: the input, a second copy of the input if the
    /// kernel overwrites it, the partial results of the first two stages (later stages use the same
    /// memory in turn), and the workspace of the first stage.
    pub fn device_bytes(&self) -> u128 {
        let facts = self.problem.variant.facts();
        let copies = if facts.destroys_input { 2 } else { 1 };
        let (workspace, counter) = match (facts.results, self.stages.first()) {
            (Results::Combined, Some(stage)) => (stage.workspace, COUNTER_BYTES),
            // The workspace is one copy of the identity.
            (Results::Atomic, Some(_)) => (1, 0),
            _ => (0, 0),
        };
        let elements = copies * u128::from(self.problem.n)
            + self.stages.iter().take(2).map(|stage| u128::from(stage.outputs)).sum::<u128>()
            + u128::from(workspace);
        elements * u128::from(self.problem.element.size()) + counter
    }
}
