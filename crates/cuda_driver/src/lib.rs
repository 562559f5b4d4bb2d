//! The CUDA driver, found at run time, so that one binary runs with and without a GPU.
//!
//! [`load`] opens the system's library, `libcuda.so.1` or `nvcuda.dll`, and gives its functions as
//! the methods of a [`Driver`], each by its name and with its signature in cuda.h. Nothing is
//! linked, nothing needs a CUDA toolkit, and this crate defines no C symbol, so that other users of
//! the driver in the same process are left alone. It reads no environment variable.
//!
//! ```
//! match cuda_driver::load() {
//!     Ok(driver) => println!("CUDA {} with {} device(s)", driver.version, driver.devices),
//!     Err(why) => println!("no CUDA: {why}"),
//! }
//! ```
//!
//! Results are [numbers](CUresult) and never a Rust enum, because a driver may return codes that no
//! version of this crate knows; [`error_text`] asks the driver what it calls them.
//!
//! x86-64 Linux is tested on GPUs. On AArch64 Linux and Windows this crate has been compiled and
//! never been run with a driver. For other hosts NVIDIA has no driver: there [`load`] is
//! [`DriverError::UnsupportedHost`].

#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "functions, types and fields have their names in cuda.h"
)]

use std::{
    ffi::{CStr, OsStr, OsString, c_char},
    fmt,
    sync::OnceLock,
};

mod functions;
mod open;
mod types;

pub use functions::Driver;
pub use types::*;

/// The driver's library, as the system's loader knows it.
pub const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The oldest driver that is taken: the first with `cuFuncGetParamInfo`, by which the arguments of
/// a launch are checked. Such drivers exist for every GPU from compute capability 5.0 on.
pub const OLDEST: Version = Version(12_040);

/// A version of CUDA, as `cuDriverGetVersion` encodes it: 1000 × major + 10 × minor.
///
/// ```
/// assert_eq!(cuda_driver::Version(12_040).to_string(), "12.4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Why there is no usable CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// Neither Linux nor Windows, or not of 64 bits.
    #[error("this build has no CUDA: NVIDIA's driver exists for 64-bit Linux and Windows")]
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
    #[error(
        "the driver {library} is too old: it supports CUDA {version}, and {OLDEST} is the least"
    )]
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
    /// [`load_from`] came after the process had tried another library.
    #[error(
        "the driver {library} cannot be loaded: this process has tried {first} before, and keeps to it"
    )]
    AnotherWasFirst {
        /// Name or path of the library that was asked for.
        library: String,
        /// Name or path of the library that was tried first.
        first: String,
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

impl ErrorText {
    /// For a code that nobody explains.
    fn unknown(code: u32) -> Self {
        Self { name: format!("error {code}"), text: "the driver has no text for it".to_owned() }
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.text)
    }
}

/// The first attempt to load a driver. There is no second.
#[derive(Debug)]
struct Attempt {
    library: OsString,
    outcome: Result<Driver, DriverError>,
}

static FIRST: OnceLock<Attempt> = OnceLock::new();

/// The attempt with this library, unless there was one before.
fn first_attempt(library: &OsStr) -> &'static Attempt {
    FIRST.get_or_init(|| {
        let supported = cfg!(all(target_pointer_width = "64", any(target_os = "linux", windows)));
        let outcome =
            if supported { open::open(library) } else { Err(DriverError::UnsupportedHost) };
        Attempt { library: library.to_owned(), outcome }
    })
}

impl Attempt {
    #[inline]
    fn outcome(&'static self) -> Result<&'static Driver, DriverError> {
        match &self.outcome {
            Ok(driver) => Ok(driver),
            Err(error) => Err(error.clone()),
        }
    }
}

/// The driver of this process. The first call opens the system's library ([`LIBRARY`]) unless
/// [`load_from`] has opened another one; every later call says the same as the first. The library
/// stays loaded until the process ends.
///
/// # Errors
///
/// Why there is no usable driver or device; the same on every call.
///
/// # Examples
///
/// ```
/// let first = cuda_driver::load().map(|driver| driver.devices);
/// assert_eq!(cuda_driver::load().map(|driver| driver.devices), first);
/// ```
pub fn load() -> Result<&'static Driver, DriverError> {
    first_attempt(LIBRARY.as_ref()).outcome()
}

/// As [`load`], with another file than the system's library: for tools that let their users choose
/// one.
///
/// The first attempt of a process, successful or not, is its only one. So a tool calls this before
/// anything else asks for the driver, and may ignore an error, which every later [`load`] repeats.
///
/// # Errors
///
/// Those of [`load`], and [`DriverError::AnotherWasFirst`] if the process has tried a library of
/// another name or path.
///
/// # Examples
///
/// ```
/// let why = cuda_driver::load_from("no/such/driver.so").unwrap_err();
/// assert_eq!(cuda_driver::load().unwrap_err(), why);
/// ```
pub fn load_from(library: impl AsRef<OsStr>) -> Result<&'static Driver, DriverError> {
    let library = library.as_ref();
    let attempt = first_attempt(library);
    if attempt.library != library && !matches!(attempt.outcome, Err(DriverError::UnsupportedHost)) {
        return Err(DriverError::AnotherWasFirst {
            library: library.to_string_lossy().into_owned(),
            first: attempt.library.to_string_lossy().into_owned(),
        });
    }
    attempt.outcome()
}

/// The driver, if [`load`] or [`load_from`] has been called with success. It loads nothing, and
/// costs less than they do.
///
/// ```
/// if let Some(driver) = cuda_driver::loaded() {
///     println!("CUDA {}", driver.version);
/// }
/// ```
#[inline]
pub fn loaded() -> Option<&'static Driver> {
    FIRST.get()?.outcome.as_ref().ok()
}

/// Why [`load`] or [`load_from`] has failed; `None` if neither was called, or with success. It
/// loads nothing.
///
/// ```
/// if let Some(why) = cuda_driver::failure() {
///     println!("no CUDA: {why}");
/// }
/// ```
pub fn failure() -> Option<&'static DriverError> {
    FIRST.get()?.outcome.as_ref().err()
}

/// The [`loaded`] driver's name and text for an error code. It loads nothing.
///
/// ```
/// let unknown = cuda_driver::error_text(123_456);
/// assert_eq!(unknown.to_string(), "error 123456 (the driver has no text for it)");
/// ```
pub fn error_text(code: CUresult) -> ErrorText {
    loaded().map_or_else(|| ErrorText::unknown(code), |driver| error_text_of(driver, code))
}

fn error_text_of(driver: &Driver, code: CUresult) -> ErrorText {
    let ask = |get: &dyn Fn(*mut *const c_char) -> CUresult| {
        let mut text = std::ptr::null();
        let known = get(&raw mut text) == CUDA_SUCCESS && !text.is_null();
        // SAFETY: the driver has written a pointer to a static text that ends with a NUL.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let ErrorText { name, text } = ErrorText::unknown(code);
    ErrorText {
        // SAFETY: both functions write one pointer, null for a code that they do not know.
        name: ask(&|text| unsafe { driver.cuGetErrorName(code, text) }).unwrap_or(name),
        // SAFETY: as above.
        text: ask(&|text| unsafe { driver.cuGetErrorString(code, text) }).unwrap_or(text),
    }
}

#[cfg(test)]
#[path = "../tests/fake_cuda/mod.rs"]
mod fake_cuda;

#[cfg(test)]
mod tests;
