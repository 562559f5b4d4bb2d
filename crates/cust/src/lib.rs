//! rust-cuda's host API, over a CUDA driver that is found at run time.
//!
//! Names and signatures are those of `cust` on the main branch of [rust-cuda], so that a program
//! for rust-cuda needs to change only one line of its `Cargo.toml`. The layer below differs:
//! [`sys`] looks up the driver's functions when a program first asks for them. So no CUDA toolkit
//! is needed to build, nothing is linked, and a program also starts on a machine without a GPU,
//! where [`init`] returns [`CudaError::NoDevice`](error::CudaError::NoDevice).
//!
//! ```no_run
//! use cust::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let _context = cust::quick_init()?;
//! let module = Module::from_ptx(std::fs::read_to_string("kernels.ptx")?, &[])?;
//! let stream = Stream::new(StreamFlags::DEFAULT, None)?;
//!
//! let numbers = DeviceBuffer::from_slice(&[1.0f32; 1024])?;
//! let doubled = DeviceBuffer::<f32>::zeroed(1024)?;
//! // SAFETY: the kernel takes two addresses and a length, and accesses that many numbers at each.
//! unsafe {
//!     launch!(module.double<<<4, 256, 0, stream>>>(
//!         numbers.as_device_ptr(),
//!         doubled.as_device_ptr(),
//!         numbers.len()
//!     ))?;
//! }
//! stream.synchronize()?;
//! assert_eq!(doubled.as_host_vec()?, [2.0; 1024]);
//! # Ok(())
//! # }
//! ```
//!
//! # Differences from rust-cuda's main branch
//!
//! - [`CudaError`] is a number with constants for the known codes and not an enum, because a driver
//!   may return codes that no crate knows. Matching `CudaError::OutOfMemory` works, and
//!   [`as_raw`](error::CudaError::as_raw) replaces `as u32`.
//! - A program need not call [`init`], because the first call of any function loads and initialises
//!   the driver.
//! - [`sys`] is the crate `cuda_driver`. Handles have their usual names, such as `sys::CUstream`,
//!   and functions are methods of a loaded driver.
//! - A reference to an empty [`DeviceSlice`](memory::DeviceSlice) is not null. A callback for
//!   [`Stream::add_callback`](stream::Stream::add_callback) must be `'static`. A name or PTX with a
//!   NUL inside gives an error and not a panic. Page-locked or unified memory that is not aligned
//!   for its type gives an error.
//! - [`Module::get_global`](module::Module::get_global) refuses a variable that is smaller than the
//!   type.
//! - The legacy part of [`context`] has the stack of contexts, but it makes no contexts. Textures,
//!   surfaces, arrays, external memory, the linker, hints for unified memory, the deprecated ways
//!   to load PTX, and the conversions for glam, vek, mint and num-complex are missing.
//! - [`graph`] is public. It has no kernel nodes, because graphs are captured from streams.
//!
//! [rust-cuda]: https://github.com/Rust-GPU/rust-cuda

use std::fmt;

use crate::{
    context::{Context, ContextFlags},
    device::Device,
    error::{CudaError, CudaResult},
};

/// Calls a function of the driver and turns its code into a [`CudaResult`]. The caller writes the
/// `unsafe` block.
macro_rules! call {
    ($function:ident($($arg:expr),* $(,)?)) => {
        match crate::driver() {
            Ok(driver) => crate::error::ToResult::to_result(driver.$function($($arg),*)),
            Err(error) => Err(error),
        }
    };
}

pub mod context;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod graph;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod util;

pub use cuda_driver as sys;
pub use cust_derive::DeviceCopy;

bitflags::bitflags! {
    /// The flags of [`init`]. CUDA defines none yet.
    ///
    /// ```
    /// assert!(cust::CudaFlags::empty().is_empty());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct CudaFlags: u32 {
        #[doc(hidden)]
        const _ZERO = 0;
    }
}

/// The driver of this process, which the first call loads.
#[inline]
pub(crate) fn driver() -> CudaResult<&'static sys::Driver> {
    match sys::loaded() {
        Some(driver) => Ok(driver),
        None => load(),
    }
}

#[cold]
fn load() -> CudaResult<&'static sys::Driver> {
    sys::load().map_err(|error| CudaError::from(&error))
}

/// Loads the driver and initialises it. Every other function does so too, if no earlier call has
/// done it.
///
/// # Errors
///
/// [`CudaError::NoDevice`] if there is no driver or no device; its text says which. If the driver
/// exists but does not work, the driver's own error.
///
/// # Examples
///
/// ```
/// use cust::{CudaFlags, error::CudaError};
///
/// match cust::init(CudaFlags::empty()) {
///     Ok(()) => println!("{} device(s)", cust::device::Device::num_devices()?),
///     Err(CudaError::NoDevice) => println!("no CUDA device"),
///     Err(error) => return Err(error),
/// }
/// # Ok::<(), CudaError>(())
/// ```
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    // SAFETY: the driver refuses flags that it does not know.
    unsafe { call!(cuInit(flags.bits())) }
}

/// Initialises the driver, and makes the primary context of the first device the current context of
/// this thread.
///
/// # Errors
///
/// The errors of [`init`], and an error of the driver if the context cannot be made.
///
/// # Examples
///
/// ```no_run
/// let context = cust::quick_init()?;
/// // All other calls come here, while the context lives.
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[must_use = "the context is released when the result is dropped, and every call of CUDA needs one"]
pub fn quick_init() -> CudaResult<Context> {
    init(CudaFlags::empty())?;
    let context = Context::new(Device::get_device(0)?)?;
    context.set_flags(ContextFlags::SCHED_AUTO)?;
    Ok(context)
}

/// A version of CUDA.
///
/// ```no_run
/// let version = cust::CudaApiVersion::get()?;
/// println!("the driver supports CUDA {}.{}", version.major(), version.minor());
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaApiVersion {
    version: i32,
}

impl CudaApiVersion {
    /// The newest version of CUDA that the driver supports.
    ///
    /// # Errors
    ///
    /// The errors of [`init`].
    pub fn get() -> CudaResult<CudaApiVersion> {
        let mut version = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDriverGetVersion(&raw mut version)) }?;
        Ok(CudaApiVersion { version })
    }

    /// The major version: the number before the dot.
    pub fn major(self) -> i32 {
        self.version / 1000
    }

    /// The minor version: the number behind the dot.
    pub fn minor(self) -> i32 {
        self.version % 1000 / 10
    }
}

impl fmt::Display for CudaApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

mod private {
    /// The supertrait that keeps other crates from implementing the traits of this crate.
    pub trait Sealed {}
}

#[cfg(test)]
mod tests {
    use super::CudaApiVersion;

    #[test]
    fn a_version_is_taken_apart() {
        let version = CudaApiVersion { version: 12_080 };
        assert_eq!(
            (version.major(), version.minor(), version.to_string()),
            (12, 8, "12.8".to_owned())
        );
    }
}
