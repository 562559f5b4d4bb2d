//! The CUDA driver, which is looked for at run time, so that one binary runs with and without a
//! GPU.
//!
//! [`load`] opens the system's library, `libcuda.so.1` or `nvcuda.dll`. Its functions are the
//! methods of a [`Driver`]; each has its name and its signature in cuda.h. Nothing is linked, and
//! no CUDA toolkit is needed. This crate defines no C symbol, so it does not disturb other users of
//! the driver in the same process. It reads no environment variable.
//!
//! ```
//! match cuda_driver::load() {
//!     Ok(driver) => println!("CUDA {} with {} device(s)", driver.version, driver.devices),
//!     Err(why) => println!("no CUDA: {why}"),
//! }
//! ```
//!
//! Results are [numbers](CUresult) and not a Rust enum, because a driver may return codes that no
//! version of this crate knows. [`error_text`] asks the driver for its name and its explanation of
//! a code.
//!
//! On x86-64 Linux, this crate is tested on GPUs. For AArch64 Linux and for Windows, it has been
//! compiled but never been run with a driver. NVIDIA has no driver for other hosts: there, [`load`]
//! returns [`DriverError::UnsupportedHost`].

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
pub mod nccl;
mod open;
mod types;

pub use functions::Driver;
pub use types::*;

/// The name of the driver's library, in the form that the system's loader needs.
pub const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The oldest driver that is accepted. It is the first with `cuFuncGetParamInfo`, which is used to
/// check the arguments of a launch. Such drivers exist for every GPU from compute capability 5.0
/// on.
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

/// The reason for which there is no usable CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The host is not a 64-bit host with Linux or Windows.
    #[error("this build has no CUDA: NVIDIA's driver exists for 64-bit Linux and Windows")]
    UnsupportedHost,
    /// The library could not be opened.
    #[error("the driver's library {library} cannot be opened ({reason})")]
    LibraryNotFound {
        /// The name or path that was tried.
        library: String,
        /// The reason in the loader's own words.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}: it is not a complete CUDA driver")]
    SymbolMissing {
        /// The name or path of the library.
        library: String,
        /// The first function that was not found.
        symbol: String,
    },
    /// The driver is older than [`OLDEST`].
    #[error(
        "the driver {library} is too old: it supports CUDA {version}, and {OLDEST} is the least"
    )]
    TooOld {
        /// The name or path of the library.
        library: String,
        /// The newest CUDA version that the driver supports.
        version: Version,
    },
    /// The driver works, but it finds no device.
    #[error("the driver {library} finds no device")]
    NoDevice {
        /// The name or path of the library.
        library: String,
    },
    /// The driver refused one of the first calls.
    #[error("the driver {library} does not work: {call} returned {code}, {text}")]
    Broken {
        /// The name or path of the library.
        library: String,
        /// The function that was called.
        call: &'static str,
        /// The error code that the function returned.
        code: u32,
        /// The driver's name and text for the code.
        text: ErrorText,
    },
    /// [`load_from`] was called after the process had tried another library.
    #[error(
        "the driver {library} cannot be loaded: this process has tried {first} before, and keeps to it"
    )]
    AnotherWasFirst {
        /// The name or path of the library that was asked for.
        library: String,
        /// The name or path of the library that was tried first.
        first: String,
    },
}

/// The driver's name and explanation of one of its error codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The explanation, such as `out of memory`.
    pub text: String,
}

impl ErrorText {
    /// The text for a code that no driver explains.
    fn unknown(code: u32) -> Self {
        Self { name: format!("error {code}"), text: "the driver has no text for it".to_owned() }
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.text)
    }
}

/// The first attempt to load a driver. A process makes no second attempt.
#[derive(Debug)]
struct Attempt {
    library: OsString,
    outcome: Result<Driver, DriverError>,
}

static FIRST: OnceLock<Attempt> = OnceLock::new();

/// The process's attempt to load a driver. If there was none before, this call tries `library`.
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

/// The driver of this process. The first call opens the system's library ([`LIBRARY`]), unless
/// [`load_from`] has opened another one. Every later call returns the same result as the first. The
/// library stays loaded until the process ends.
///
/// # Errors
///
/// Returns the reason for which there is no usable driver or device. Every call returns the same
/// error.
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

/// Like [`load`], but with another file than the system's library. It is meant for tools whose
/// users choose the file.
///
/// The first attempt of a process is its only one, whether it succeeds or not. A tool therefore
/// calls this function before any other code asks for the driver. The tool may ignore an error,
/// because every later [`load`] returns it again.
///
/// # Errors
///
/// The errors of [`load`], and [`DriverError::AnotherWasFirst`] if the process has tried a library
/// of another name or path.
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

/// The driver, if [`load`] or [`load_from`] has been called with success. This function loads
/// nothing, and costs less than those two.
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

/// The error with which [`load`] or [`load_from`] has failed; `None` if neither was called, or if
/// the call was successful. This function loads nothing.
///
/// ```
/// if let Some(why) = cuda_driver::failure() {
///     println!("no CUDA: {why}");
/// }
/// ```
pub fn failure() -> Option<&'static DriverError> {
    FIRST.get()?.outcome.as_ref().err()
}

/// The name and the text that the [`loaded`] driver has for an error code. This function loads
/// nothing.
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
        // SAFETY: both functions write one pointer, which is null for a code that they do not know.
        name: ask(&|text| unsafe { driver.cuGetErrorName(code, text) }).unwrap_or(name),
        // SAFETY: as for `cuGetErrorName`.
        text: ask(&|text| unsafe { driver.cuGetErrorString(code, text) }).unwrap_or(text),
    }
}

#[cfg(test)]
#[path = "../tests/fake_cuda/mod.rs"]
mod fake_cuda;

#[cfg(test)]
mod tests;
