//! The few counters that tell the rungs apart, and their ideal values in the model.

use crate::{
    device::{Observation, Seen},
    launch::Plan,
    profile::{
        Profiled, Registers, Target, ideal_cost, ideal_sectors, instructions_per_32_elements,
        sectors,
    },
};

/// The counters of all launches of a reduction. Their [`ideal`](Self::ideal) is that of
/// [`profile`](crate::profile).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// The number of sectors of global memory, of 32 bytes each, that loads and stores access.
    pub sectors: u64,
    /// The number of wavefronts of shared memory that bank conflicts add.
    pub bank_conflicts: u64,
    /// The number of branches in the PTX that split their warp.
    pub divergent_branches: u64,
    /// The number of warp instructions of the PTX for each 32 elements.
    pub instructions_per_32_elements: f64,
    /// The estimated cost in issue slots; see [`Wastes`](crate::profile::Wastes).
    pub cost: u64,
}

impl Counted {
    /// The counters of a reduction; `None` if nothing was launched or nothing counted.
    pub(super) fn new(plan: &Plan, observations: Vec<Observation>) -> Option<Self> {
        let counted =
            observations.iter().any(|observation| matches!(observation.seen, Seen::Counted(_)));
        // A profile needs a target GPU. Which one does not matter, because these counters do not
        // depend on it.
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

    /// The counters of a reduction of this size that wastes nothing. It reads its input once and
    /// writes one result, and each 32 elements take a load and an operation.
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
