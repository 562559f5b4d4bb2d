//! A process whose driver cannot be loaded: every function answers, and `status` says what is wrong with the file.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::{
    env,
    ffi::{CStr, c_char, c_int, c_uint},
    fs, ptr,
};

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_uint;
    fn cuDeviceGetCount(count: *mut c_int) -> c_uint;
    fn cuGetErrorString(code: c_uint, text: *mut *const c_char) -> c_uint;
}

#[test]
fn a_nonsense_file_is_named_and_the_functions_report_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libcuda.so.1");
    fs::write(&file, "not a library at all, but long enough to hold the header of one, were it one").unwrap();
    // SAFETY: the only test of this process, before any thread of ours reads the environment.
    unsafe { env::set_var(cuda_driver::LIBRARY_VARIABLE, &file) };

    let error = cuda_driver::status().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the driver's library {0} cannot be opened ({0}: invalid ELF header)", file.display())
    );
    assert_eq!(cuda_driver::status(), Err(error), "the second call says the same");

    let mut count = 77;
    let mut text = ptr::null();
    // SAFETY: the signatures are those of cuda.h, and the pointers are to live variables.
    unsafe {
        assert_eq!(cuInit(0), 100);
        assert_eq!(cuDeviceGetCount(&raw mut count), 100);
        assert_eq!(cuGetErrorString(100, &raw mut text), 0);
        assert_eq!(CStr::from_ptr(text), c"the CUDA driver is not loaded");
    }
    assert_eq!(count, 77);
}
