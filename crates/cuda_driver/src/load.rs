//! Opening the library and asking it the first questions.

use std::{
    env,
    ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void},
    mem,
    sync::OnceLock,
};

use libloading::os::unix::{Library, Symbol};

use crate::{Driver, DriverError, ErrorText, LIBRARY, LIBRARY_VARIABLE, OLDEST, Version, table};

type GetText = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;

pub(crate) fn status() -> Result<Driver, DriverError> {
    static STATUS: OnceLock<Result<Driver, DriverError>> = OnceLock::new();
    STATUS
        .get_or_init(|| {
            // An empty name would be this program itself to the loader.
            let named = env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty());
            let (library, driver) = open(&named.unwrap_or_else(|| LIBRARY.into()))?;
            table::fill(|symbol| find::<*mut ()>(&library, symbol).map(|function| *function));
            // The table points into the library for the rest of the process.
            mem::forget(library);
            Ok(driver)
        })
        .clone()
}

pub(crate) fn error_text(code: u32) -> ErrorText {
    unsafe extern "C" {
        fn cuGetErrorName(code: c_uint, text: *mut *const c_char) -> c_uint;
        fn cuGetErrorString(code: c_uint, text: *mut *const c_char) -> c_uint;
    }
    text_of(code, cuGetErrorName, cuGetErrorString)
}

fn text_of(code: u32, name: GetText, text: GetText) -> ErrorText {
    let ask = |get: GetText| {
        let mut text = std::ptr::null();
        // SAFETY: both functions write a pointer to a static, NUL-terminated text, or null for a code they do not know.
        let known = unsafe { get(code, &raw mut text) } == 0 && !text.is_null();
        // SAFETY: not null, hence as above.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    ErrorText {
        name: ask(name).unwrap_or_else(|| format!("error {code}")),
        text: ask(text).unwrap_or_else(|| "the driver has no text for it".to_owned()),
    }
}

/// A symbol of the library, to be used as a `T`.
fn find<T>(library: &Library, name: &CStr) -> Option<Symbol<T>> {
    // SAFETY: looking up runs no code of ours; each caller says why the symbol is a `T`.
    unsafe { library.get_singlethreaded(name.to_bytes_with_nul()) }.ok()
}

/// Opens the library and asks it for its version and its devices. The table is not touched.
fn open(name: &OsStr) -> Result<(Library, Driver), DriverError> {
    let file = name;
    let name = &*file.to_string_lossy();
    // SAFETY: this runs the library's initialisers. It is the system's driver, or a file that the user named.
    let library = unsafe { Library::new(file) }
        .map_err(|error| DriverError::LibraryNotFound { library: name.to_owned(), reason: error.to_string() })?;
    let missing = |symbol: &str| DriverError::SymbolMissing { library: name.to_owned(), symbol: symbol.to_owned() };
    // SAFETY of the types below: they are the signatures in cuda.h.
    macro_rules! function {
        ($symbol:literal as $type:ty) => {
            find::<$type>(&library, $symbol).ok_or_else(|| missing(&$symbol.to_string_lossy()))?
        };
    }

    let get_name = function!(c"cuGetErrorName" as GetText);
    let get_text = function!(c"cuGetErrorString" as GetText);
    let broken = |call, code| DriverError::Broken {
        library: name.to_owned(),
        call,
        code,
        text: text_of(code, *get_name, *get_text),
    };

    let get_version = function!(c"cuDriverGetVersion" as unsafe extern "C" fn(*mut c_int) -> c_uint);
    let mut version = 0;
    // SAFETY: it writes one int, and needs no `cuInit`.
    let code = unsafe { get_version(&raw mut version) };
    if code != 0 {
        return Err(broken("cuDriverGetVersion", code));
    }
    let version = Version(version.unsigned_abs());
    // Before the other functions are looked for: an old driver lacks some.
    if version < OLDEST {
        return Err(DriverError::TooOld { library: name.to_owned(), version });
    }
    for symbol in table::REQUIRED {
        let c_name = CString::new(*symbol).expect("names have no NUL");
        find::<*mut c_void>(&library, &c_name).ok_or_else(|| missing(symbol))?;
    }

    let init = function!(c"cuInit" as unsafe extern "C" fn(c_uint) -> c_uint);
    // SAFETY: flags must be 0.
    match unsafe { init(0) } {
        0 => {}
        table::NO_DEVICE => {
            return Err(DriverError::NoDevice { library: name.to_owned() });
        }
        code => return Err(broken("cuInit", code)),
    }
    let count = function!(c"cuDeviceGetCount" as unsafe extern "C" fn(*mut c_int) -> c_uint);
    let mut devices = 0;
    // SAFETY: it writes one int.
    let code = unsafe { count(&raw mut devices) };
    if code != 0 {
        return Err(broken("cuDeviceGetCount", code));
    }
    match u32::try_from(devices) {
        Ok(devices @ 1..) => Ok((library, Driver { library: name.to_owned(), version, devices })),
        _ => Err(DriverError::NoDevice { library: name.to_owned() }),
    }
}

#[cfg(test)]
#[path = "../tests/fake_cuda/mod.rs"]
mod fake_cuda;

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for a stand-in driver that answers as told, its path replaced by `LIB`.
    fn message(version: u32, init: u32, devices: u32, omit_module_unload: bool) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let library = fake_cuda::build(folder.path(), version, init, devices, omit_module_unload)?;
        let Err(error) = open(library.as_ref()) else { panic!("this driver is usable") };
        Some(error.to_string().replace(&library, "LIB"))
    }

    #[test]
    fn every_way_to_fail_has_its_sentence() {
        for ((version, init, devices, omit), expected) in [
            ((12_030, 0, 1, false), "the driver LIB is too old: it supports CUDA 12.3, and 12.4 is the least"),
            // The version is judged before functions that an old driver cannot have.
            ((11_080, 0, 1, true), "the driver LIB is too old: it supports CUDA 11.8, and 12.4 is the least"),
            ((13_000, 0, 1, true), "LIB has no function cuModuleUnload: it is not a complete CUDA driver"),
            ((13_000, 100, 1, false), "the driver LIB finds no device"),
            ((13_000, 0, 0, false), "the driver LIB finds no device"),
            (
                (13_000, 803, 1, false),
                "the driver LIB does not work: cuInit returned 803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has \
                 unsupported display driver / cuda driver combination)",
            ),
            (
                (13_000, 999, 1, false),
                "the driver LIB does not work: cuInit returned 999, error 999 (the driver has no text for it)",
            ),
        ] {
            let Some(message) = message(version, init, devices, omit) else {
                return;
            };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_missing_library_is_named() {
        let message = open("libcuda-that-is-not-there.so.1".as_ref()).err().unwrap().to_string();
        assert_eq!(
            message,
            "the driver's library libcuda-that-is-not-there.so.1 cannot be opened (libcuda-that-is-not-there.so.1: \
             cannot open shared object file: No such file or directory)"
        );
    }

    #[test]
    fn a_library_that_is_no_driver_is_named() {
        let message = open("libc.so.6".as_ref()).err().unwrap().to_string();
        assert_eq!(message, "libc.so.6 has no function cuGetErrorName: it is not a complete CUDA driver");
    }
}
