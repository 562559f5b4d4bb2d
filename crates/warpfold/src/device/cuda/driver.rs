//! Functions that turn the results of the driver's functions into errors.

use cust::error::CudaError;

use super::super::{DeviceError, ErrorText};

/// The driver's name and explanation of an error code.
pub(super) fn error_text(code: u32) -> ErrorText {
    let cuda_driver::ErrorText { name, text } = cuda_driver::error_text(code);
    ErrorText { name, text }
}

/// The error for a code other than 0. The text of `action` completes the sentence "cannot …".
pub(super) fn error(action: String, code: u32) -> DeviceError {
    let text = error_text(code);
    if ends_context(code) {
        DeviceError::Lost { action, code, text }
    } else {
        DeviceError::Driver { action, code, text }
    }
}

/// Whether the error is final: according to cuda.h, either all later calls return it too, or the
/// context or the device is gone.
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

/// Turns the result `code` of a function of the driver into an error, unless it is 0.
pub(in super::super) fn check(code: u32, action: &str) -> Result<(), DeviceError> {
    check_with(code, || action.to_owned())
}

/// Like [`check`], for an action whose text is made only if there is an error.
pub(super) fn check_with(code: u32, action: impl FnOnce() -> String) -> Result<(), DeviceError> {
    if code == 0 { Ok(()) } else { Err(error(action(), code)) }
}

/// Turns an error of `cust` into a [`DeviceError`].
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(CudaError) -> DeviceError {
    move |cause| error(action.into(), cause.as_raw())
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
            assert!(
                matches!(error, DeviceError::Driver { code: of, .. } if of == code),
                "{error:?}"
            );
        }
        assert!(check(0, "copy").is_ok());
    }
}
