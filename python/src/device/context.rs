//! The CUDA context of the calling thread, which belongs to the caller.

use std::{ffi::c_int, ptr};

use cuda_driver::{
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUcontext,
    CUstreamCaptureMode,
};
use pyo3::{exceptions::PyValueError, prelude::*};

/// The context that a thread has, to be set again.
struct Restored(CUcontext);

impl Drop for Restored {
    fn drop(&mut self) {
        let Some(driver) = cuda_driver::loaded() else { return };
        let mut now = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, and the context is one that this thread had.
        unsafe {
            if driver.cuCtxGetCurrent(&raw mut now) == 0 && now != self.0 && !self.0.is_null() {
                driver.cuCtxSetCurrent(self.0);
            }
        }
    }
}

/// Calls `work`, which may make another context current, and makes the thread's own one current
/// again.
///
/// Other libraries take the current context for the device that their caller has chosen. A thread
/// that had no context keeps the new one.
pub(crate) fn with_context<R>(work: impl FnOnce() -> R) -> R {
    let _restored = cuda_driver::loaded().and_then(|driver| {
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        (unsafe { driver.cuCtxGetCurrent(&raw mut context) } == 0).then_some(Restored(context))
    });
    work()
}

/// The mode in which a thread captures, to be set again.
struct Mode(CUstreamCaptureMode);

impl Mode {
    /// Sets the mode of this thread, and returns the one that it had.
    fn exchange(mut self) -> Option<Self> {
        let exchange = cuda_driver::loaded()?.cuThreadExchangeStreamCaptureMode?;
        // SAFETY: the pointer is to a live variable.
        (unsafe { exchange(&raw mut self.0) } == 0).then_some(self)
    }
}

/// Calls `work`, which may allocate, load kernels and wait for streams that do not capture, while
/// this thread captures a stream. The driver refuses that unless the thread says that it knows.
pub(super) fn beside_captures<R>(work: impl FnOnce() -> R) -> R {
    /// Sets the mode when it is dropped.
    struct Restored(Option<Mode>);

    impl Drop for Restored {
        fn drop(&mut self) {
            self.0.take().and_then(Mode::exchange);
        }
    }

    let _restored = Restored(Mode(CU_STREAM_CAPTURE_MODE_RELAXED).exchange());
    work()
}

/// The number of the GPU whose memory has this address.
pub(crate) fn ordinal_of(address: u64) -> PyResult<u32> {
    let driver = cuda_driver::load()
        .map_err(|error| PyValueError::new_err(format!("an array on a GPU: {error}")))?;
    let mut ordinal: c_int = -1;
    // SAFETY: the attribute is an int, and the variable is live.
    let code = unsafe {
        driver.cuPointerGetAttribute(
            (&raw mut ordinal).cast(),
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            address,
        )
    };
    u32::try_from(ordinal).ok().filter(|_| code == 0).ok_or_else(|| {
        PyValueError::new_err(format!("the address {address:#x} is no memory of a GPU"))
    })
}
