//! The library's errors as exceptions of Python.

use pyo3::{
    exceptions::{
        PyMemoryError, PyNotImplementedError, PyOverflowError, PyRuntimeError, PyTypeError,
        PyValueError,
    },
    prelude::*,
};
use warpfold::{device::DeviceError, reducer::Error};

use crate::device::Failure;

/// The exception for a failure.
pub(crate) fn raise(failure: Failure) -> PyErr {
    match failure {
        Failure::Library(Error::Device(error)) => match error {
            DeviceError::OutOfMemory { .. } | DeviceError::OutOfHostMemory { .. } => {
                PyMemoryError::new_err(error.to_string())
            }
            DeviceError::DriverLacks { .. } | DeviceError::KernelNotSimulated { .. } => {
                PyNotImplementedError::new_err(error.to_string())
            }
            DeviceError::OtherDevice(what) => {
                PyValueError::new_err(format!("the {what} belongs to another device"))
            }
            error => PyRuntimeError::new_err(error.to_string()),
        },
        Failure::Library(error) => match error {
            Error::Overflow { .. } => PyOverflowError::new_err(error.to_string()),
            Error::DeviceTooOld { .. } => PyRuntimeError::new_err(error.to_string()),
            error => PyValueError::new_err(error.to_string()),
        },
        Failure::NoKernel { op, dtype, cast } => PyTypeError::new_err(format!(
            "there is no {op} of {dtype} on a GPU: cast the array to {cast}"
        )),
        Failure::Overflow(exact) => overflow(exact, None),
        Failure::Value(text) => PyValueError::new_err(text),
    }
}

/// The exception for a sum that does not fit.
pub(crate) fn overflow(exact: i128, dtype: Option<&str>) -> PyErr {
    let dtype = dtype.map_or_else(|| "the type of the result".to_owned(), str::to_owned);
    PyOverflowError::new_err(format!("the sum is {exact}, which {dtype} does not hold"))
}
