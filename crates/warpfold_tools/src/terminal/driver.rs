//! The choice of the file that is loaded as the CUDA driver's library.

use std::env;

/// The variable that names a file to load as the CUDA driver instead of the system's.
pub const DRIVER_VARIABLE: &str = "WARPFOLD_LIBCUDA";

/// Loads the file that [`DRIVER_VARIABLE`] names as the CUDA driver, before a device is opened.
/// Without the variable, or if it is empty, the system's driver is loaded when a device asks for
/// it.
///
/// If the file cannot be loaded, the error is reported when a GPU is opened, because a process
/// keeps the result of its first attempt.
pub fn choose_driver() {
    if let Some(library) = env::var_os(DRIVER_VARIABLE).filter(|library| !library.is_empty()) {
        let _ = cuda_driver::load_from(library);
    }
}
