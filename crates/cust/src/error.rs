//! Errors, which are the numbers that the driver returns.

use std::{error::Error, fmt};

use crate::sys::{self, CUresult, DriverError};

/// An error of the driver, or of this crate.
///
/// An error holds the driver's own number. The codes that rust-cuda knows are constants with
/// rust-cuda's names, and any other code is kept unchanged. `Display` shows the driver's name and
/// text for the code.
///
/// ```
/// use cust::error::CudaError;
///
/// let error = CudaError::from_raw(2);
/// assert!(matches!(error, CudaError::OutOfMemory));
/// // CUDA_ERROR_DEVICE_UNAVAILABLE, which rust-cuda does not name.
/// assert_eq!(CudaError::from_raw(46).as_raw(), 46);
/// assert_eq!(format!("{error:?} {:?}", CudaError::from_raw(46)), "OutOfMemory CudaError(46)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct CudaError(u32);

macro_rules! errors {
    ($($name:ident = $code:literal is $text:literal;)*) => {
        #[allow(
            non_upper_case_globals,
            reason = "they are used as the variants of rust-cuda's enum"
        )]
        impl CudaError {
            $(
                #[doc = concat!($text, ": ", $code, ".")]
                pub const $name: CudaError = CudaError($code);
            )*
        }

        /// The known codes, each with rust-cuda's name and with the text for the case that no
        /// driver is loaded.
        const KNOWN: &[(u32, &str, &str)] = &[$(($code, stringify!($name), $text)),*];
    };
}

errors! {
    InvalidValue = 1 is "CUDA_ERROR_INVALID_VALUE";
    OutOfMemory = 2 is "CUDA_ERROR_OUT_OF_MEMORY";
    NotInitialized = 3 is "CUDA_ERROR_NOT_INITIALIZED";
    Deinitialized = 4 is "CUDA_ERROR_DEINITIALIZED";
    ProfilerDisabled = 5 is "CUDA_ERROR_PROFILER_DISABLED";
    ProfilerNotInitialized = 6 is "CUDA_ERROR_PROFILER_NOT_INITIALIZED";
    ProfilerAlreadyStarted = 7 is "CUDA_ERROR_PROFILER_ALREADY_STARTED";
    ProfilerAlreadyStopped = 8 is "CUDA_ERROR_PROFILER_ALREADY_STOPPED";
    NoDevice = 100 is "CUDA_ERROR_NO_DEVICE";
    InvalidDevice = 101 is "CUDA_ERROR_INVALID_DEVICE";
    InvalidImage = 200 is "CUDA_ERROR_INVALID_IMAGE";
    InvalidContext = 201 is "CUDA_ERROR_INVALID_CONTEXT";
    ContextAlreadyCurrent = 202 is "CUDA_ERROR_CONTEXT_ALREADY_CURRENT";
    MapFailed = 205 is "CUDA_ERROR_MAP_FAILED";
    UnmapFailed = 206 is "CUDA_ERROR_UNMAP_FAILED";
    ArrayIsMapped = 207 is "CUDA_ERROR_ARRAY_IS_MAPPED";
    AlreadyMapped = 208 is "CUDA_ERROR_ALREADY_MAPPED";
    NoBinaryForGpu = 209 is "CUDA_ERROR_NO_BINARY_FOR_GPU";
    AlreadyAcquired = 210 is "CUDA_ERROR_ALREADY_ACQUIRED";
    NotMapped = 211 is "CUDA_ERROR_NOT_MAPPED";
    NotMappedAsArray = 212 is "CUDA_ERROR_NOT_MAPPED_AS_ARRAY";
    NotMappedAsPointer = 213 is "CUDA_ERROR_NOT_MAPPED_AS_POINTER";
    EccUncorrectable = 214 is "CUDA_ERROR_ECC_UNCORRECTABLE";
    UnsupportedLimit = 215 is "CUDA_ERROR_UNSUPPORTED_LIMIT";
    ContextAlreadyInUse = 216 is "CUDA_ERROR_CONTEXT_ALREADY_IN_USE";
    PeerAccessUnsupported = 217 is "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED";
    InvalidPtx = 218 is "CUDA_ERROR_INVALID_PTX";
    InvalidGraphicsContext = 219 is "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT";
    NvlinkUncorrectable = 220 is "CUDA_ERROR_NVLINK_UNCORRECTABLE";
    UnsupportedPtxVersion = 222 is "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    InvalidSource = 300 is "CUDA_ERROR_INVALID_SOURCE";
    FileNotFound = 301 is "CUDA_ERROR_FILE_NOT_FOUND";
    SharedObjectSymbolNotFound = 302 is "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND";
    SharedObjectInitFailed = 303 is "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED";
    OperatingSystemError = 304 is "CUDA_ERROR_OPERATING_SYSTEM";
    InvalidHandle = 400 is "CUDA_ERROR_INVALID_HANDLE";
    NotFound = 500 is "CUDA_ERROR_NOT_FOUND";
    NotReady = 600 is "CUDA_ERROR_NOT_READY";
    IllegalAddress = 700 is "CUDA_ERROR_ILLEGAL_ADDRESS";
    LaunchOutOfResources = 701 is "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    LaunchTimeout = 702 is "CUDA_ERROR_LAUNCH_TIMEOUT";
    LaunchIncompatibleTexturing = 703 is "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING";
    PeerAccessAlreadyEnabled = 704 is "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
    PeerAccessNotEnabled = 705 is "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED";
    PrimaryContextActive = 708 is "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE";
    ContextIsDestroyed = 709 is "CUDA_ERROR_CONTEXT_IS_DESTROYED";
    AssertError = 710 is "CUDA_ERROR_ASSERT";
    TooManyPeers = 711 is "CUDA_ERROR_TOO_MANY_PEERS";
    HostMemoryAlreadyRegistered = 712 is "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
    HostMemoryNotRegistered = 713 is "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
    HardwareStackError = 714 is "CUDA_ERROR_HARDWARE_STACK_ERROR";
    IllegalInstruction = 715 is "CUDA_ERROR_ILLEGAL_INSTRUCTION";
    MisalignedAddress = 716 is "CUDA_ERROR_MISALIGNED_ADDRESS";
    InvalidAddressSpace = 717 is "CUDA_ERROR_INVALID_ADDRESS_SPACE";
    InvalidProgramCounter = 718 is "CUDA_ERROR_INVALID_PC";
    LaunchFailed = 719 is "CUDA_ERROR_LAUNCH_FAILED";
    NotPermitted = 800 is "CUDA_ERROR_NOT_PERMITTED";
    NotSupported = 801 is "CUDA_ERROR_NOT_SUPPORTED";
    CallRequiresNewerDriver = 36 is "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER";
    UnknownError = 999 is "CUDA_ERROR_UNKNOWN";
    InvalidMemoryAllocation = 100_100 is "an allocation of no bytes, or of more than can be counted";
    OptixError = 100_101 is "an error of OptiX";
}

impl CudaError {
    /// The error with this number of the driver.
    pub const fn from_raw(code: u32) -> Self {
        Self(code)
    }

    /// The driver's number.
    pub const fn as_raw(self) -> u32 {
        self.0
    }

    fn known(self) -> Option<&'static (u32, &'static str, &'static str)> {
        KNOWN.iter().find(|(code, ..)| *code == self.0)
    }
}

impl fmt::Debug for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some((_, name, _)) => f.write_str(name),
            None => f.debug_tuple("CudaError").field(&self.0).finish(),
        }
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The codes that only this crate uses begin with this number.
        let own = self.0 >= 100_100;
        match self.known() {
            Some((.., text)) if own => f.write_str(text),
            _ if sys::loaded().is_some() => sys::error_text(self.0).fmt(f),
            Some((.., text)) => match sys::failure() {
                Some(why) => write!(f, "{text} ({why})"),
                None => f.write_str(text),
            },
            None => write!(f, "CUDA error {}", self.0),
        }
    }
}

impl Error for CudaError {}

/// The code for a failure to load the driver. If there is no driver, every call returns
/// [`CudaError::NoDevice`].
impl From<&DriverError> for CudaError {
    fn from(error: &DriverError) -> Self {
        match error {
            DriverError::Broken { code, .. } => CudaError(*code),
            DriverError::TooOld { .. } => CudaError::CallRequiresNewerDriver,
            DriverError::SymbolMissing { .. } => CudaError::SharedObjectSymbolNotFound,
            _ => CudaError::NoDevice,
        }
    }
}

/// The result of almost every function of this crate.
pub type CudaResult<T> = Result<T, CudaError>;

/// The result of the `drop` functions. With the error, they return the object, which still lives.
pub type DropResult<T> = Result<(), (CudaError, T)>;

/// The conversion of a code of the driver into a [`CudaResult`].
///
/// ```
/// use cust::error::{CudaError, ToResult};
///
/// assert_eq!(0u32.to_result(), Ok(()));
/// assert_eq!(2u32.to_result(), Err(CudaError::OutOfMemory));
/// ```
pub trait ToResult {
    /// Returns `Ok` for the code 0.
    ///
    /// # Errors
    ///
    /// The error with this code, for every other code.
    fn to_result(self) -> CudaResult<()>;
}

impl ToResult for CUresult {
    #[inline]
    fn to_result(self) -> CudaResult<()> {
        if self == sys::CUDA_SUCCESS { Ok(()) } else { Err(CudaError(self)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_rust_cuda_does_not_know_are_carried() {
        for code in [46, 226, 721, 810, 4_000_000_000] {
            assert_eq!(code.to_result(), Err(CudaError::from_raw(code)));
            assert_eq!(format!("{:?}", CudaError::from_raw(code)), format!("CudaError({code})"));
        }
    }

    #[test]
    fn no_two_names_have_one_code() {
        for (i, (code, name, _)) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..i].iter().all(|(other, ..)| other != code), "{name}");
        }
        assert_eq!(KNOWN.len(), 62);
    }

    #[test]
    fn errors_of_loading_have_a_code() {
        let library = || "LIB".to_owned();
        let (symbol, text) =
            ("cuInit".to_owned(), sys::ErrorText { name: String::new(), text: String::new() });
        for (error, expected) in [
            (DriverError::UnsupportedHost, CudaError::NoDevice),
            (DriverError::NoDevice { library: library() }, CudaError::NoDevice),
            (
                DriverError::LibraryNotFound { library: library(), reason: String::new() },
                CudaError::NoDevice,
            ),
            (
                DriverError::SymbolMissing { library: library(), symbol },
                CudaError::SharedObjectSymbolNotFound,
            ),
            (
                DriverError::TooOld { library: library(), version: sys::Version(11_000) },
                CudaError::CallRequiresNewerDriver,
            ),
            (
                DriverError::Broken { library: library(), call: "cuInit", code: 803, text },
                CudaError(803),
            ),
        ] {
            assert_eq!(CudaError::from(&error), expected, "{error}");
        }
    }
}
