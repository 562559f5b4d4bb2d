//! Opening a library, and the first calls: its version and its devices.

use std::{
    ffi::{CStr, OsStr, c_void},
    mem,
};

use libloading::Library;

use crate::{
    CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS, CUresult, Driver, DriverError, ErrorText, OLDEST, Version,
    error_text_of,
};

/// Opens the library and asks it for its version and its devices.
pub(crate) fn open(file: &OsStr) -> Result<Driver, DriverError> {
    let name = &*file.to_string_lossy();
    let not_found =
        |reason: String| DriverError::LibraryNotFound { library: name.to_owned(), reason };
    // A loader on Unix would take an empty name for this program itself.
    if file.is_empty() {
        return Err(not_found("its name is empty".to_owned()));
    }
    let library = load(file).map_err(|error| not_found(error.to_string()))?;
    let find = |symbol: &CStr| look_up(&library, symbol);
    // An old driver lacks some functions, so its version is checked before they are looked up.
    let version = version(name, find)?;
    // SAFETY: functions of these names have cuda.h's signatures in every library that is a CUDA
    // driver, and cuda.h gives a new name to a function whose signature changes.
    let mut driver = unsafe { Driver::new(name, find)? };
    driver.version = version;
    driver.devices = devices(&driver)?;
    // The library must stay loaded, because the functions are used for the rest of the process.
    mem::forget(library);
    Ok(driver)
}

/// The address of a function, if the library has it.
pub(crate) fn look_up(library: &Library, symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: a look-up runs no code of the library, and the type fits every address.
    let found = unsafe { library.get::<*mut c_void>(symbol.to_bytes_with_nul()) };
    found.ok().map(|address| *address).filter(|address| !address.is_null())
}

#[cfg(not(windows))]
pub(crate) fn load(file: &OsStr) -> Result<Library, libloading::Error> {
    // SAFETY: this runs the library's initialisers. It is a library of the system, or a file that
    // the caller named.
    unsafe { Library::new(file) }
}

/// Loads a library. A name without a folder is looked for only in the folder where Windows keeps
/// its own libraries.
#[cfg(windows)]
pub(crate) fn load(file: &OsStr) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library as WindowsLibrary};

    if std::path::Path::new(file).components().count() > 1 {
        // SAFETY: as for other systems, this runs the initialisers of a file that the caller named.
        return unsafe { Library::new(file) };
    }
    // SAFETY: as for other systems, this runs the initialisers of the system's driver.
    unsafe { WindowsLibrary::load_with_flags(file, LOAD_LIBRARY_SEARCH_SYSTEM32) }
        .map(Library::from)
}

/// The version that the library supports, if it is not too old.
fn version(
    library: &str,
    find: impl Fn(&CStr) -> Option<*mut c_void>,
) -> Result<Version, DriverError> {
    type GetVersion = unsafe extern "system" fn(*mut std::ffi::c_int) -> CUresult;

    let Some(function) = find(c"cuDriverGetVersion") else {
        let symbol = "cuDriverGetVersion".to_owned();
        return Err(DriverError::SymbolMissing { library: library.to_owned(), symbol });
    };
    // SAFETY: this is the function's signature in cuda.h.
    let get_version = unsafe { mem::transmute::<*mut c_void, GetVersion>(function) };
    let mut version = 0;
    // SAFETY: the function writes one int, and does not need `cuInit` before it.
    let code = unsafe { get_version(&raw mut version) };
    if code != CUDA_SUCCESS {
        let text = ErrorText::unknown(code);
        return Err(DriverError::Broken {
            library: library.to_owned(),
            call: "cuDriverGetVersion",
            code,
            text,
        });
    }
    let version = Version(version.unsigned_abs());
    if version < OLDEST {
        return Err(DriverError::TooOld { library: library.to_owned(), version });
    }
    Ok(version)
}

/// Initialises the driver and counts its devices.
fn devices(driver: &Driver) -> Result<u32, DriverError> {
    let library = || driver.library.clone();
    let broken = |call, code| {
        Err(DriverError::Broken {
            library: library(),
            call,
            code,
            text: error_text_of(driver, code),
        })
    };
    // SAFETY: the flags are 0, as the function requires.
    match unsafe { driver.cuInit(0) } {
        CUDA_SUCCESS => {}
        CUDA_ERROR_NO_DEVICE => return Err(DriverError::NoDevice { library: library() }),
        code => return broken("cuInit", code),
    }
    let mut devices = 0;
    // SAFETY: the function writes one int.
    let code = unsafe { driver.cuDeviceGetCount(&raw mut devices) };
    if code != CUDA_SUCCESS {
        return broken("cuDeviceGetCount", code);
    }
    match u32::try_from(devices) {
        Ok(devices @ 1..) => Ok(devices),
        _ => Err(DriverError::NoDevice { library: library() }),
    }
}
