//! Rungs that poll, of which the simulator's counters say little.

/// A sentence on the counters of a rung that polls; see
/// [`Variant::polls`](crate::variant::Variant::polls).
pub const POLLS: &str = "Its blocks wait for each other by polling, and the order in which the simulator runs blocks decides how often they poll, so \
     no verdict and no ratio is drawn from its counters, and they are not those of hardware.";
