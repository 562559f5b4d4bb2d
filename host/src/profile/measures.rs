//! The quantities that both the figures and the wastes are computed from.

use simt::Counters;

use crate::launch::Plan;

/// Bytes of a sector of global memory.
pub(super) const SECTOR: u64 = 32;

/// The sectors of all accesses to global memory, with those of asynchronous copies, which move
/// their bytes without a load or a store.
pub(crate) fn sectors(counters: &Counters) -> u64 {
    counters.bytes_moved() / SECTOR
        + (counters.async_copy.bytes + counters.bulk.bytes).div_ceil(SECTOR)
}

/// Sectors of global memory (32 bytes) that hold the input and a result.
pub fn ideal_sectors(plan: &Plan) -> u64 {
    (plan.problem.n * u64::from(plan.problem.element.size())).div_ceil(SECTOR) + 1
}

/// The number of warp instructions for each 32 elements.
pub(crate) fn instructions_per_32_elements(plan: &Plan, counters: &Counters) -> f64 {
    counters.warp_instructions as f64 / (plan.problem.n as f64 / 32.0)
}

/// Whether a PTX instruction has a predicate.
pub(super) fn is_predicated(text: &str) -> bool {
    text.starts_with('@')
}

/// The opcode of a PTX instruction with its modifiers, such as `setp.lt.u32`.
pub(super) fn opcode(text: &str) -> &str {
    let opcode = text.split_whitespace().find(|word| !word.starts_with('@'));
    opcode.unwrap_or_default().trim_end_matches(';')
}
