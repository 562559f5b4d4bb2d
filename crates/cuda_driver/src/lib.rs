//! The CUDA driver, found at run time, so that one binary runs with and without a GPU.
//!
//! `cust` is linked against `libcuda`, which exists only where NVIDIA's driver is installed. This crate defines the
//! functions that `cust` needs itself: trampolines through a table, which [`status`] fills from `libcuda.so.1`. Until
//! then, and where there is no driver, each of them returns `CUDA_ERROR_NO_DEVICE`. For the linker's `-lcuda`, the
//! folder `link` holds an empty archive of that name; `.cargo/config.toml` points `CUDA_LIBRARY_PATH` there.
//!
//! A program that uses `cust` calls [`status`] first:
//!
//! ```
//! match cuda_driver::status() {
//!     Ok(driver) => println!("CUDA {} from {}: {} device(s)", driver.version, driver.library, driver.devices),
//!     Err(why) => println!("no CUDA: {why}"),
//! }
//! ```
//!
//! x86-64 Linux is tested. AArch64 Linux has its trampolines, never run. On every other host there is no table, `cust`
//! must not be linked, and [`status`] is [`DriverError::UnsupportedHost`].

use std::fmt;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod load;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod table;

/// The environment variable that names another file than [`LIBRARY`] to be loaded as the driver.
pub const LIBRARY_VARIABLE: &str = "WARPFOLD_LIBCUDA";

/// The driver's library, as the system's loader knows it.
pub const LIBRARY: &str = "libcuda.so.1";

/// The oldest driver that is taken: the first with `cuFuncGetParamInfo`, by which the arguments of a launch are
/// checked. Such drivers exist for every GPU from compute capability 5.0 on.
pub const OLDEST: Version = Version(12_040);

/// A version of CUDA, as `cuDriverGetVersion` encodes it: 1000 × major + 10 × minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// A driver that is loaded, initialised, and has a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The file, as it was asked for.
    pub library: String,
    /// The newest CUDA that it supports.
    pub version: Version,
    /// Number of devices, at least 1.
    pub devices: u32,
}

/// Why there is no usable CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// Neither x86-64 nor AArch64 Linux.
    #[error("this build has no CUDA: it exists for Linux on x86-64 and AArch64")]
    UnsupportedHost,
    /// The library could not be opened.
    #[error("the driver's library {library} cannot be opened ({reason})")]
    LibraryNotFound {
        /// Name or path that was tried.
        library: String,
        /// The loader's own words.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}: it is not a complete CUDA driver")]
    SymbolMissing {
        /// Name or path of the library.
        library: String,
        /// The first function that was missed.
        symbol: String,
    },
    /// The driver is older than [`OLDEST`].
    #[error("the driver {library} is too old: it supports CUDA {version}, and {OLDEST} is the least")]
    TooOld {
        /// Name or path of the library.
        library: String,
        /// The newest CUDA that it supports.
        version: Version,
    },
    /// The driver works and sees no device.
    #[error("the driver {library} finds no device")]
    NoDevice {
        /// Name or path of the library.
        library: String,
    },
    /// The driver refused one of the first calls.
    #[error("the driver {library} does not work: {call} returned {code}, {text}")]
    Broken {
        /// Name or path of the library.
        library: String,
        /// The function.
        call: &'static str,
        /// Its result.
        code: u32,
        /// The driver's name and text for it.
        text: ErrorText,
    },
}

/// How the driver calls and explains one of its error codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// Such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// Such as `out of memory`.
    pub text: String,
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.text)
    }
}

/// Loads the driver on the first call, and says what became of it on every call.
///
/// The library is [`LIBRARY`], or the file that the environment variable [`LIBRARY_VARIABLE`] names. It stays loaded
/// until the process ends.
///
/// # Errors
///
/// Why there is no usable driver; the same on every call.
pub fn status() -> Result<Driver, DriverError> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        load::status()
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        Err(DriverError::UnsupportedHost)
    }
}

/// Whether the driver that [`status`] has loaded has a function that not every driver has. `false` before it is loaded,
/// where there is none, and for a name that the table does not know.
///
/// ```
/// assert!(!cuda_driver::has("cuMakeCoffee"));
/// ```
pub fn has(function: &str) -> bool {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        table::has(function)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = function;
        false
    }
}

/// The driver's name and text for an error code.
///
/// ```
/// let unknown = cuda_driver::error_text(123_456);
/// assert!(!unknown.name.is_empty() && !unknown.text.is_empty());
/// ```
pub fn error_text(code: u32) -> ErrorText {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        load::error_text(code)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        ErrorText { name: format!("error {code}"), text: DriverError::UnsupportedHost.to_string() }
    }
}
