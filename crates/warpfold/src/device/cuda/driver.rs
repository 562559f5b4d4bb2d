//! The driver's functions that are called directly, and what their results mean.

use std::ffi::{c_int, c_uint, c_void};

use cust::error::CudaError;

use super::super::{DeviceError, ErrorText};

/// `CUlaunchConfig`.
#[repr(C)]
pub(super) struct LaunchConfig {
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared_bytes: c_uint,
    pub(super) stream: *mut c_void,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) attribute_count: c_uint,
}

/// `CUlaunchAttribute`, of which the values that are used here are words.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LaunchAttribute {
    id: c_uint,
    pad: c_uint,
    value: [c_uint; 16],
}

// cuda.h: the value is a union of 64 bytes, 8 bytes from the beginning.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);

impl LaunchAttribute {
    pub(super) const IGNORE: c_uint = 0;
    pub(super) const COOPERATIVE: c_uint = 2;
    pub(super) const CLUSTER_DIMENSION: c_uint = 4;
    pub(super) const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;

    pub(super) const fn new(id: c_uint, [x, y, z]: [c_uint; 3]) -> Self {
        Self { id, pad: 0, value: [x, y, z, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }
    }
}

// As in cuda.h. Not as in `cust::sys`, whose results are an enum: a code that it does not know must not become one.
unsafe extern "C" {
    pub(super) fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_uint;
    pub(super) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> c_uint;
    pub(super) fn cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: u64) -> c_uint;

    pub(super) fn cuModuleLoadDataEx(
        module: *mut *mut c_void,
        image: *const c_void,
        option_count: c_uint,
        options: *const c_uint,
        values: *const *mut c_void,
    ) -> c_uint;
    pub(super) fn cuModuleUnload(module: *mut c_void) -> c_uint;
    pub(super) fn cuFuncGetParamInfo(
        function: *mut c_void,
        index: usize,
        offset: *mut usize,
        size: *mut usize,
    ) -> c_uint;
    pub(super) fn cuFuncSetAttribute(function: *mut c_void, attribute: c_uint, value: c_int) -> c_uint;
    pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: *mut c_void,
        threads: c_int,
        shared_bytes: usize,
    ) -> c_uint;

    pub(super) fn cuLaunchKernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: *mut c_void,
        parameters: *const *mut c_void,
        extra: *const *mut c_void,
    ) -> c_uint;
    pub(super) fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: *mut c_void,
        parameters: *const *mut c_void,
        extra: *const *mut c_void,
    ) -> c_uint;

    pub(super) fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: c_uint, priority: c_int) -> c_uint;
    pub(super) fn cuStreamDestroy_v2(stream: *mut c_void) -> c_uint;
    pub(super) fn cuStreamSynchronize(stream: *mut c_void) -> c_uint;
    pub(super) fn cuStreamGetCtx(stream: *mut c_void, context: *mut *mut c_void) -> c_uint;
    pub(super) fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint) -> c_uint;
    pub(super) fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> c_uint;
    pub(super) fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void) -> c_uint;
    pub(super) fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut c_void) -> c_uint;
    pub(super) fn cuMemsetD8Async(address: u64, byte: u8, bytes: usize, stream: *mut c_void) -> c_uint;

    pub(super) fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> c_uint;
    pub(super) fn cuEventDestroy_v2(event: *mut c_void) -> c_uint;
    pub(super) fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> c_uint;
    pub(super) fn cuEventSynchronize(event: *mut c_void) -> c_uint;
    pub(super) fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) -> c_uint;

    pub(super) fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_uint) -> c_uint;
    pub(super) fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_uint;
    pub(super) fn cuGraphInstantiateWithFlags(exec: *mut *mut c_void, graph: *mut c_void, flags: u64) -> c_uint;
    pub(super) fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> c_uint;
    pub(super) fn cuGraphExecDestroy(exec: *mut c_void) -> c_uint;
    pub(super) fn cuGraphDestroy(graph: *mut c_void) -> c_uint;
}

/// The driver's name and text for an error code.
pub(super) fn error_text(code: u32) -> ErrorText {
    let cuda_driver::ErrorText { name, text } = cuda_driver::error_text(code);
    ErrorText { name, text }
}

/// The error of a code that is not 0. `action` completes the sentence "cannot …".
pub(super) fn error(action: String, code: u32) -> DeviceError {
    let text = error_text(code);
    if ends_context(code) {
        DeviceError::Lost { action, code, text }
    } else {
        DeviceError::Driver { action, code, text }
    }
}

/// Whether cuda.h says of an error that all further work returns it as well, or that the context or the device is gone.
fn ends_context(code: u32) -> bool {
    matches!(
        code,
        214 // CUDA_ERROR_ECC_UNCORRECTABLE
        | 220 // CUDA_ERROR_NVLINK_UNCORRECTABLE
        | 226 // CUDA_ERROR_CONTAINED
        | 700 // CUDA_ERROR_ILLEGAL_ADDRESS
        | 702 // CUDA_ERROR_LAUNCH_TIMEOUT
        | 709 // CUDA_ERROR_CONTEXT_IS_DESTROYED
        | 710 // CUDA_ERROR_ASSERT
        | 714 // CUDA_ERROR_HARDWARE_STACK_ERROR
        | 715 // CUDA_ERROR_ILLEGAL_INSTRUCTION
        | 716 // CUDA_ERROR_MISALIGNED_ADDRESS
        | 717 // CUDA_ERROR_INVALID_ADDRESS_SPACE
        | 718 // CUDA_ERROR_INVALID_PC
        | 719 // CUDA_ERROR_LAUNCH_FAILED
        | 721 // CUDA_ERROR_TENSOR_MEMORY_LEAK
        | 911 // CUDA_ERROR_EXTERNAL_DEVICE
    )
}

/// The error of a function's result, if it is one.
pub(super) fn check(code: u32, action: &str) -> Result<(), DeviceError> {
    check_with(code, || action.to_owned())
}

/// The same for an action that takes words to say.
pub(super) fn check_with(code: u32, action: impl FnOnce() -> String) -> Result<(), DeviceError> {
    if code == 0 { Ok(()) } else { Err(error(action(), code)) }
}

/// Turns the error of `cust` into ours.
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(CudaError) -> DeviceError {
    move |cause| error(action.into(), cause as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_end_the_context_are_told_apart() {
        for code in [700, 702, 714, 715, 716, 717, 718, 719, 709, 710] {
            let error = error("copy".to_owned(), code);
            assert!(matches!(error, DeviceError::Lost { code: of, .. } if of == code), "{error:?}");
        }
        for code in [1, 2, 201, 400, 701, 720, 801, 900, 901, 999] {
            let error = error("copy".to_owned(), code);
            assert!(matches!(error, DeviceError::Driver { code: of, .. } if of == code), "{error:?}");
        }
        assert!(check(0, "copy").is_ok());
    }
}
