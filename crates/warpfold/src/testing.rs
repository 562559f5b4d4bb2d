//! Helpers for tests: [planned failures](Faults), the simulator's [instruments](Instrument), the
//! number of live allocations ([`Device::live_allocations`](crate::Device::live_allocations)), and
//! the use of [other kernels](use_kernels_of) in place of the embedded ones.
//!
//! This module exists only with the feature `testing`.

pub use crate::{
    device::faults::Faults,
    ptx::{EmbeddedKernel, kernels, use_kernels_of},
    reducer::shapes::{Extent, KernelClass, Machine, Shape, shape},
};

#[cfg(feature = "simulator")]
pub use crate::device::instrument::{Instrument, Observation, Seen};
