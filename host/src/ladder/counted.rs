//! What a rung did, in the few counters that tell the rungs apart, and the model's ideal of them.

use crate::{
    device::{Observation, Seen},
    launch::Plan,
    profile::{
        Profiled, Registers, Target, ideal_cost, ideal_sectors, instructions_per_32_elements,
        sectors,
    },
};

/// The counters of all launches of a reduction; their [`ideal`](Self::ideal) is that of
/// [`profile`](crate::profile).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Sectors of global memory, 32 bytes each, loads and stores.
    pub sectors: u64,
    /// Wavefronts of shared memory beyond those without conflicts.
    pub bank_conflicts: u64,
    /// Branches that split their warp, in the PTX.
    pub divergent_branches: u64,
    /// Warp instructions of the PTX for each 32 elements.
    pub instructions_per_32_elements: f64,
    /// The estimated cost in issue slots; see [`Wastes`](crate::profile::Wastes).
    pub cost: u64,
}

impl Counted {
    /// `None` if nothing was launched, or nothing counted.
    pub(super) fn new(plan: &Plan, observations: Vec<Observation>) -> Option<Self> {
        let counted =
            observations.iter().any(|observation| matches!(observation.seen, Seen::Counted(_)));
        // What a GPU would make of the kernel is no matter here.
        let gpu = "h100".parse().ok().filter(|_| counted)?;
        let target =
            Target { gpu, registers: Registers::Unknown(String::new()), static_shared_bytes: 0 };
        let profiled = Profiled::new(plan.clone(), String::new(), target, observations)?;
        let counters = &profiled.counters;
        Some(Self {
            sectors: sectors(counters),
            bank_conflicts: counters.bank_conflicts(),
            divergent_branches: counters.divergent_branches,
            instructions_per_32_elements: instructions_per_32_elements(plan, counters),
            cost: profiled.wastes().cost,
        })
    }

    /// What a reduction of this size would do that wastes nothing: its input is read once and one
    /// result written, and each 32 elements take a load and an operation.
    pub fn ideal(plan: &Plan) -> Self {
        Self {
            sectors: ideal_sectors(plan),
            bank_conflicts: 0,
            divergent_branches: 0,
            instructions_per_32_elements: 2.0,
            cost: ideal_cost(plan),
        }
    }
}
