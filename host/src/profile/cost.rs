//! The currency in which the parts of a reduction are compared.

use simt::Counters;

use super::measures::{ideal_sectors, sectors};
use crate::launch::Plan;

// The weights below are the rounded result of a least-squares fit to an H100. The fitted times are
// those of all launches of the rungs at 2^28 elements of i32 (bench/results, 2026-11-22-h100). The
// fit leaves out rungs 0 and global, because their second accesses hit caches that the simulator
// does not have, and rung 12, because nobody knows how often its blocks poll on a GPU. For the
// other 15 rungs the estimate is off by 9 % (root mean square of the relative errors), and no
// weights reach less than 9 %. The worst rung is 5, whose estimate is 20 % too high. The weights
// 1, 4, 8 and 0, which follow from peak rates alone, are off by 20 %. `tests/cost.rs` does the fit
// anew and holds these numbers.

/// The issue slots of a wavefront of shared memory. In a cycle, a multiprocessor issues four warp
/// instructions, one from each of its schedulers, and serves one wavefront. The fit gives 3.4.
pub const WAVEFRONT: u64 = 4;
/// The issue slots of a sector of global memory. The fit gives 15. The peak rate of the memory
/// alone would give 8: on an H100, 3.35 TB/s over 132 multiprocessors are about 15 bytes a cycle.
/// But a kernel reaches at most 90 % of that, and ptxas removes some instructions of the PTX, so an
/// instruction of the PTX costs less than a slot of the machine.
pub const SECTOR: u64 = 14;
/// The issue slots that an integer remainder or division takes beside its own, if the divisor is
/// not a constant. It is one instruction in PTX and a sequence in the machine. The fit gives 22.
pub const REMAINDER: u64 = 20;

/// An explanation of the currency, for people.
pub const CURRENCY: &str = "The cost is an estimate in issue slots: 1 for a warp instruction, 20 more for an integer remainder, 4 for a wavefront of \
     shared memory, 14 for a sector of global memory; instructions and branches are counted at PTX level.";

/// The wavefronts of all accesses to shared memory.
pub(super) fn wavefronts(counters: &Counters) -> u64 {
    let shared = &counters.shared;
    shared.load.wavefronts + shared.store.wavefronts + shared.atomic.wavefronts
}

/// The estimated cost of everything that was counted, in issue slots. `remainders` counts the
/// integer remainders and divisions by a number that the compiler does not know.
pub(super) fn cost(counters: &Counters, remainders: u64) -> u64 {
    counters.warp_instructions
        + REMAINDER * remainders
        + WAVEFRONT * wavefronts(counters)
        + SECTOR * sectors(counters)
}

/// The cost of a reduction that wastes nothing, in the currency of
/// [`Wastes`](super::waste::Wastes): the sectors of its input and of one result, and a load and an
/// operation for each 32 elements.
pub fn ideal_cost(plan: &Plan) -> u64 {
    2 * plan.problem.n.div_ceil(32) + SECTOR * ideal_sectors(plan)
}
