//! A process with a stand-in driver: the trampolines reach it with all their arguments.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::{
    env,
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use cuda_driver::Version;

mod fake_cuda;

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_uint;
    fn cuDeviceGetCount(count: *mut c_int) -> c_uint;
    fn cuCtxSynchronize() -> c_uint;
    fn cuModuleUnload(module: *mut c_void) -> c_uint;
    fn cuLaunchKernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: *mut c_void,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> c_uint;
}

#[test]
fn calls_reach_the_loaded_library() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = fake_cuda::build(folder.path(), 13_010, 0, 2, false) else {
        return;
    };
    // SAFETY: the only test of this process, before any thread of ours reads the environment.
    unsafe { env::set_var(cuda_driver::LIBRARY_VARIABLE, &library) };

    let driver = cuda_driver::status().unwrap();
    assert_eq!(driver.library, library);
    assert_eq!(driver.version, Version(13_010));
    assert_eq!(driver.version.to_string(), "13.1");
    assert_eq!(driver.devices, 2);

    let mut count = 0;
    // SAFETY: the signatures are those of cuda.h; the stand-in reads no pointer but `count`.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuInit(1), 1);
        assert_eq!(cuDeviceGetCount(&raw mut count), 0);
        assert_eq!(count, 2);
        assert_eq!(cuModuleUnload(ptr::null_mut()), 801);
        let [function, stream] = [1, 9].map(ptr::without_provenance_mut);
        let [params, extra] = [10, 11].map(ptr::without_provenance_mut);
        assert_eq!(cuLaunchKernel(function, 2, 3, 4, 5, 6, 7, 8, stream, params, extra), 0);
        assert_eq!(cuLaunchKernel(function, 2, 3, 4, 5, 6, 7, 8, stream, extra, params), 1);
        assert_eq!(cuCtxSynchronize(), 100, "a function that this library lacks");
    }

    let known = cuda_driver::error_text(803);
    assert_eq!(known.name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
    let unknown = cuda_driver::error_text(4711);
    assert_eq!(unknown.to_string(), "error 4711 (the driver has no text for it)");
}
