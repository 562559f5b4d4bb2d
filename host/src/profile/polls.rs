//! Rungs that poll, of which some of the simulator's counters say little.

use crate::variant::Variant;

/// Sentences on the counters of a rung that polls; see
/// [`Variant::polls`](crate::variant::Variant::polls).
pub fn on_polls(variant: Variant) -> String {
    format!(
        "The blocks of rung {variant} wait for each other by polling. The order in which the simulator runs blocks decides how often \
         they poll. So the counters that hold polls are not those of hardware, and no verdict and no ratio is drawn from them."
    )
}

/// Whether a figure of a rung that polls holds its polls, which are loads from global memory in a
/// loop.
pub(super) fn holds_polls(figure: &str) -> bool {
    figure.starts_with("global.load.")
        || [
            "warp_instructions",
            "thread_instructions",
            "branches",
            "divergent_branches",
            "bytes_moved",
            "active_lane_efficiency",
            "warp_instructions_per_32_elements",
        ]
        .contains(&figure)
}
