//! Helpers for tests: [planned failures](Faults), the simulator's [instruments](Instrument), the
//! number of live allocations ([`Device::live_allocations`](crate::Device::live_allocations)), and
//! other kernels in place of the embedded ones.
//!
//! This module exists only with the feature `testing`.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::ptx;

pub use crate::{
    device::faults::Faults,
    ptx::EmbeddedKernel,
    reducer::shapes::{Extent, KernelClass, Machine, Shape, shape},
};

#[cfg(feature = "simulator")]
pub use crate::device::instrument::{Instrument, Observation, Seen};

static KERNEL_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Lets every device of this process load the production kernels from the files of a folder, such
/// as `reduce_sum_f32.sm_90.ptx`, instead of the embedded ones. Kernels that are already loaded
/// stay in use.
///
/// Returns `false`, and changes nothing, if another folder was set before.
///
/// # Safety
///
/// Each file holds a kernel that does what the embedded one of the same name does, because the safe
/// functions of this crate trust it with addresses.
pub unsafe fn use_kernels_of(folder: &Path) -> bool {
    KERNEL_FOLDER.get_or_init(|| folder.to_owned()) == folder
}

pub(crate) fn kernel_folder() -> Option<&'static Path> {
    KERNEL_FOLDER.get().map(PathBuf::as_path)
}

/// All production kernels, in the order of their names.
///
/// ```
/// let mut kernels = warpfold::testing::kernels();
/// let sum = kernels.find(|kernel| kernel.name() == "reduce_sum_f32").unwrap();
/// assert!(sum.text((9, 0)).unwrap().contains(".target sm_90"));
/// ```
pub fn kernels() -> impl Iterator<Item = &'static EmbeddedKernel> {
    ptx::ALL.iter().copied()
}
