//! Rungs that poll, of which some of the simulator's counters say little.

/// A sentence on the counters of a rung that polls; see
/// [`Variant::polls`](crate::variant::Variant::polls).
pub const POLLS: &str = "Its blocks wait for each other by polling, and the order in which the simulator runs blocks decides how often they poll, so \
     the counters that hold polls are not those of hardware, and no verdict and no ratio is drawn from them.";

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
