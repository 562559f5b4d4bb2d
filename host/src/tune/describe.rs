//! Sentences about shapes that tuning chose.

use super::Entry;
use crate::launch::Plan;

impl Entry {
    /// The shape and where it is from, such as `block 128, 8 blocks for each multiprocessor, by
    /// reduce tune with n = 16777216`.
    pub fn describe(&self) -> String {
        let grid = match self.blocks_per_multiprocessor {
            None => String::new(),
            Some(1) => ", 1 block for each multiprocessor".to_owned(),
            Some(blocks) => format!(", {blocks} blocks for each multiprocessor"),
        };
        format!("block {}{grid}, by reduce tune with n = {}", self.block, self.n)
    }
}

/// A note on a rung whose shape tuning chose; `tuned_n` is the number of elements that it was found
/// with.
pub(crate) fn tuned_note(plan: &Plan, tuned_n: u64) -> String {
    let grid = plan.stages.first().map_or(0, |stage| stage.shape.grid.x);
    format!(
        "Variant {} has its tuned shape: grid {grid}, block {}, by reduce tune with n = {tuned_n}.",
        plan.problem.variant, plan.block
    )
}
