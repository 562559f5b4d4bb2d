//! The time, as all multiprocessors of a device see it.

use crate::gpu_only;

/// The time in nanoseconds, counted from a start that the device chooses: PTX `%globaltimer`. The
/// hardware advances it in steps, which are about a microsecond on many devices. On the simulator
/// it counts the steps of the warp.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "Special Registers: %globaltimer".
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn nanoseconds() -> u64 {
    unsafe extern "C" {
        fn __cuda_std_global_time() -> u64;
    }
    // SAFETY: it only reads a register.
    unsafe { __cuda_std_global_time() }
}
