//! The production kernels: what the `warpfold` library launches.

#[cfg(feature = "ext")]
pub mod exact;
