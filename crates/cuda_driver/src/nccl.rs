//! NCCL, NVIDIA's library of collective operations, which is looked for at run time as the driver
//! is.
//!
//! [`load`] opens the system's library, `libnccl.so.2`. Its functions are the methods of an
//! [`Nccl`]; each has its name and its signature in nccl.h. Only those are there with which the
//! GPUs of one process, or one GPU of each of several processes, gather bytes.
//!
//! ```
//! match cuda_driver::nccl::load() {
//!     Ok(nccl) => println!("NCCL {}", nccl.version),
//!     Err(why) => println!("no NCCL: {why}"),
//! }
//! ```

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fmt, mem,
    sync::OnceLock,
};

use crate::{
    functions::as_c_str,
    open::{load as load_library, look_up},
};

/// The name of the library, in the form that the system's loader needs.
pub const LIBRARY: &str = "libnccl.so.2";

/// The oldest version that is accepted.
pub const OLDEST: Version = Version(21_800);

/// The code of success.
pub const NCCL_SUCCESS: ncclResult_t = 0;
/// The type of bytes.
pub const NCCL_UINT8: ncclDataType_t = 1;

/// The code of a call that goes on in the background.
pub const NCCL_IN_PROGRESS: ncclResult_t = 7;

/// What a function returns: 0, or the number of an error.
pub type ncclResult_t = c_int;
/// The number of a type of elements.
pub type ncclDataType_t = c_int;
/// A GPU's part of a communicator.
pub type ncclComm_t = *mut c_void;

/// What rank 0 tells the other ranks of a new communicator, so that they find each other.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ncclUniqueId {
    /// Bytes that only NCCL understands.
    pub internal: [c_char; 128],
}

/// Settings of a communicator, as they were in NCCL 2.18. Later versions accept them, because they
/// say their size and version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ncclConfig_t {
    size: usize,
    magic: c_uint,
    version: c_uint,
    /// 0 if calls return [`NCCL_IN_PROGRESS`] rather than wait for other ranks.
    pub blocking: c_int,
    cgaClusterSize: c_int,
    minCTAs: c_int,
    maxCTAs: c_int,
    netName: *const c_char,
    splitShare: c_int,
}

impl ncclConfig_t {
    /// Settings that leave all to NCCL, except whether calls wait.
    ///
    /// ```
    /// assert_eq!(cuda_driver::nccl::ncclConfig_t::new(false).blocking, 0);
    /// ```
    #[must_use]
    pub const fn new(blocking: bool) -> Self {
        /// `NCCL_CONFIG_UNDEF_INT`.
        const UNDEFINED: c_int = c_int::MIN;
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: OLDEST.0,
            blocking: blocking as c_int,
            cgaClusterSize: UNDEFINED,
            minCTAs: UNDEFINED,
            maxCTAs: UNDEFINED,
            netName: std::ptr::null(),
            splitShare: UNDEFINED,
        }
    }
}

// The layout of nccl.h 2.18 on 64-bit hosts.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<ncclUniqueId>() == 128 && align_of::<ncclUniqueId>() == 1);
    assert!(size_of::<ncclConfig_t>() == 48 && align_of::<ncclConfig_t>() == 8);
    assert!(mem::offset_of!(ncclConfig_t, blocking) == 16);
    assert!(mem::offset_of!(ncclConfig_t, netName) == 32);
    assert!(mem::offset_of!(ncclConfig_t, splitShare) == 40);
};

/// A version of NCCL, as `ncclGetVersion` encodes it: 10000 × major + 100 × minor + patch.
///
/// ```
/// assert_eq!(cuda_driver::nccl::Version(21_805).to_string(), "2.18.5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0 / 10_000, self.0 / 100 % 100, self.0 % 100)
    }
}

/// The reason for which there is no usable NCCL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NcclError {
    /// The library could not be opened.
    #[error("NCCL's library {library} cannot be opened ({reason})")]
    LibraryNotFound {
        /// The name that was tried.
        library: String,
        /// The reason in the loader's own words.
        reason: String,
    },
    /// The library lacks a function.
    #[error("{library} has no function {symbol}: it is not a complete NCCL")]
    SymbolMissing {
        /// The name of the library.
        library: String,
        /// The first function that was not found.
        symbol: &'static str,
    },
    /// The library is older than [`OLDEST`].
    #[error("{library} is NCCL {version}, and {OLDEST} is the least")]
    TooOld {
        /// The name of the library.
        library: String,
        /// Its version.
        version: Version,
    },
    /// The library does not tell its version.
    #[error("{library} does not work: ncclGetVersion returned {code}")]
    Broken {
        /// The name of the library.
        library: String,
        /// The error code.
        code: ncclResult_t,
    },
}

/// Defines [`Nccl`] and its methods from the functions' signatures.
macro_rules! table {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        /// NCCL's functions.
        #[derive(Clone, Debug)]
        pub struct Nccl {
            /// The version of the library.
            pub version: Version,
            $($name: unsafe extern "C" fn($($type),*) -> $result,)*
        }

        impl Nccl {
            fn new(
                library: &str,
                find: impl Fn(&CStr) -> Option<*mut c_void>,
            ) -> Result<Self, NcclError> {
                $(
                    let symbol = stringify!($name);
                    let name = const { as_c_str(concat!(stringify!($name), "\0")) };
                    let address = find(name)
                        .ok_or_else(|| NcclError::SymbolMissing { library: library.to_owned(), symbol })?;
                    // SAFETY: functions of this name have this signature in every version of
                    // nccl.h from the oldest accepted one on.
                    let $name = unsafe {
                        mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
                    };
                )*
                Ok(Self { version: Version(0), $($name,)* })
            }

            $(
                #[doc = concat!("Calls `", stringify!($name), "`.")]
                ///
                /// # Safety
                ///
                /// The contract is that of the function of this name in nccl.h.
                #[inline]
                pub unsafe fn $name(&self, $($arg: $type),*) -> $result {
                    // SAFETY: the caller's promise.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

table! {
    fn ncclGetVersion(version: *mut c_int) -> ncclResult_t;
    fn ncclGetErrorString(code: ncclResult_t) -> *const c_char;
    fn ncclCommInitAll(comms: *mut ncclComm_t, count: c_int, devices: *const c_int) -> ncclResult_t;
    fn ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t;
    fn ncclCommInitRankConfig(
        comm: *mut ncclComm_t,
        ranks: c_int,
        id: ncclUniqueId,
        rank: c_int,
        config: *mut ncclConfig_t,
    ) -> ncclResult_t;
    fn ncclCommGetAsyncError(comm: ncclComm_t, code: *mut ncclResult_t) -> ncclResult_t;
    fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;
    fn ncclGroupStart() -> ncclResult_t;
    fn ncclGroupEnd() -> ncclResult_t;
    fn ncclAllGather(
        send: *const c_void,
        receive: *mut c_void,
        count: usize,
        data_type: ncclDataType_t,
        comm: ncclComm_t,
        stream: *mut c_void,
    ) -> ncclResult_t;
}

impl Nccl {
    /// The library's explanation of an error code.
    pub fn error_text(&self, code: ncclResult_t) -> String {
        // SAFETY: the function takes any number and returns null or a static text.
        let text = unsafe { self.ncclGetErrorString(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: the text is static and ends with 0.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// NCCL in this process. The first call opens the system's library ([`LIBRARY`]), which stays
/// loaded until the process ends. Every later call returns the same result.
///
/// # Errors
///
/// Returns the reason for which there is no usable NCCL. Every call returns the same error.
pub fn load() -> Result<&'static Nccl, NcclError> {
    static FIRST: OnceLock<Result<Nccl, NcclError>> = OnceLock::new();
    FIRST.get_or_init(|| open(LIBRARY)).as_ref().map_err(Clone::clone)
}

/// Opens a library and asks it for its version.
pub(crate) fn open(name: &str) -> Result<Nccl, NcclError> {
    let library = || name.to_owned();
    let opened = load_library(name.as_ref()).map_err(|error| NcclError::LibraryNotFound {
        library: library(),
        reason: error.to_string(),
    })?;
    let mut nccl = Nccl::new(name, |symbol| look_up(&opened, symbol))?;
    // The functions are used for the rest of the process.
    mem::forget(opened);
    let mut version = 0;
    // SAFETY: the function writes one int.
    let code = unsafe { nccl.ncclGetVersion(&raw mut version) };
    if code != NCCL_SUCCESS {
        return Err(NcclError::Broken { library: library(), code });
    }
    nccl.version = Version(version.unsigned_abs());
    if nccl.version < OLDEST {
        return Err(NcclError::TooOld { library: library(), version: nccl.version });
    }
    Ok(nccl)
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, fs, process::Command};

    use super::*;

    /// The functions of the stand-in that have an answer. The settings are those of nccl.h 2.18.
    const STAND_IN: &str = r#"
        #include <limits.h>
        #include <stddef.h>

        const char *ncclGetErrorString(int code) { return code == 3 ? "why" : 0; }

        typedef struct { char internal[128]; } ncclUniqueId;
        typedef struct {
            size_t size;
            unsigned int magic;
            unsigned int version;
            int blocking;
            int cgaClusterSize;
            int minCTAs;
            int maxCTAs;
            const char *netName;
            int splitShare;
        } ncclConfig_t;

        int ncclGetUniqueId(ncclUniqueId *id) {
            for (int i = 0; i < 128; i++) id->internal[i] = (char)(i + 1);
            return 0;
        }

        static int checks;

        /* Returns which argument is wrong, or that the call goes on in the background. */
        int ncclCommInitRankConfig(void **comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
            if (ranks != 3 || rank != 2) return 1;
            for (int i = 0; i < 128; i++) if (id.internal[i] != (char)(i + 1)) return 2;
            if (config->size != sizeof *config || config->magic != 0xcafebeef) return 3;
            if (config->version != 21800 || config->blocking != 0 || config->netName) return 4;
            if (config->cgaClusterSize != INT_MIN || config->minCTAs != INT_MIN) return 5;
            if (config->maxCTAs != INT_MIN || config->splitShare != INT_MIN) return 6;
            *comm = &checks;
            return 7;
        }

        /* The call in the background ends when it was asked for twice. */
        int ncclCommGetAsyncError(void *comm, int *code) {
            if (comm != &checks) return 4;
            *code = ++checks < 2 ? 7 : 0;
            return 0;
        }
    "#;

    /// A stand-in library of this version, whose functions return 0, without some of them. `None`
    /// if there is no C compiler, which is said in one line.
    fn stand_in(version: u32, code: i32, omit: &[&str]) -> Option<Result<Nccl, NcclError>> {
        let mut source = STAND_IN.to_owned();
        for name in
            ["ncclCommInitAll", "ncclCommAbort", "ncclGroupStart", "ncclGroupEnd", "ncclAllGather"]
        {
            if !omit.contains(&name) {
                writeln!(source, "int {name}(void) {{ return 0; }}").unwrap();
            }
        }
        writeln!(
            source,
            "int ncclGetVersion(int *version) {{ *version = {version}; return {code}; }}"
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [file, library] = ["nccl.c", "nccl.so"].map(|name| folder.path().join(name));
        fs::write(&file, source).unwrap();
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).output();
        let built = match built {
            Ok(built) => built,
            Err(error) => {
                crate::fake_cuda::say_skipped("NCCL with a stand-in library", &error);
                return None;
            }
        };
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(open(library.to_str().unwrap()))
    }

    #[test]
    fn a_library_is_opened_or_refused_with_a_reason() {
        let error = open("libno-such-nccl.so.2").unwrap_err();
        assert!(matches!(error, NcclError::LibraryNotFound { .. }), "{error}");
        let Some(works) = stand_in(22_003, 0, &[]) else { return };
        let works = works.unwrap();
        assert_eq!(works.version.to_string(), "2.20.3");
        assert_eq!((works.error_text(3), works.error_text(4)), ("why".into(), "error 4".into()));
        let error = stand_in(21_799, 0, &[]).unwrap().unwrap_err();
        assert!(matches!(error, NcclError::TooOld { version: Version(21_799), .. }), "{error}");
        let error = stand_in(22_003, 5, &[]).unwrap().unwrap_err();
        assert!(matches!(error, NcclError::Broken { code: 5, .. }), "{error}");
        let error = stand_in(22_003, 0, &["ncclAllGather"]).unwrap().unwrap_err();
        assert!(
            matches!(error, NcclError::SymbolMissing { symbol: "ncclAllGather", .. }),
            "{error}"
        );
    }

    #[test]
    fn ranks_make_a_communicator_with_all_their_arguments() {
        let Some(nccl) = stand_in(21_800, 0, &[]) else { return };
        let nccl = nccl.unwrap();
        let mut id = ncclUniqueId { internal: [0; 128] };
        let mut comm = std::ptr::null_mut();
        let mut config = ncclConfig_t::new(false);
        let mut code = NCCL_SUCCESS;
        // SAFETY: the pointers are to live variables.
        unsafe {
            assert_eq!(nccl.ncclGetUniqueId(&raw mut id), NCCL_SUCCESS);
            let made = nccl.ncclCommInitRankConfig(&raw mut comm, 3, id, 2, &raw mut config);
            assert_eq!(made, NCCL_IN_PROGRESS);
            assert_eq!(nccl.ncclCommGetAsyncError(comm, &raw mut code), NCCL_SUCCESS);
            assert_eq!(code, NCCL_IN_PROGRESS);
            assert_eq!(nccl.ncclCommGetAsyncError(comm, &raw mut code), NCCL_SUCCESS);
            assert_eq!(code, NCCL_SUCCESS);
            // An argument that is not the one that the stand-in expects.
            let made = nccl.ncclCommInitRankConfig(&raw mut comm, 3, id, 1, &raw mut config);
            assert_eq!(made, 1);
        }
        let error = stand_in(21_800, 0, &["ncclCommAbort"]).unwrap().unwrap_err();
        assert!(
            matches!(error, NcclError::SymbolMissing { symbol: "ncclCommAbort", .. }),
            "{error}"
        );
    }
}
