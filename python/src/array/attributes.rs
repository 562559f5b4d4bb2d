//! Arrays of torch and CuPy, read by their attributes, which is cheaper than a capsule.

use std::sync::{Mutex, PoisonError};

use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError},
    intern,
    prelude::*,
    sync::PyOnceLock,
};

use crate::dtype::Dtype;

use super::{ArrayRef, Dims, Holder, Place};

/// The type that a library's object for it stands for. There are few such objects, and they live
/// as long as the library, so each is looked up once.
fn dtype_of(object: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    static SEEN: Mutex<Vec<(usize, Py<PyAny>, Dtype)>> = Mutex::new(Vec::new());
    const MOST: usize = 128;
    let address = object.as_ptr().addr();
    let find = |seen: &[(usize, Py<PyAny>, Dtype)]| {
        seen.iter().find(|entry| entry.0 == address).map(|entry| entry.2)
    };
    if let Some(dtype) = find(&SEEN.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(dtype);
    }
    let dtype = Dtype::parse(object)?;
    let kept = object.clone().unbind();
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < MOST {
        seen.push((address, kept, dtype));
    }
    Ok(dtype)
}

/// Refuses a tensor of torch whose memory does not tell its values, or whose gradient is asked for.
pub(super) fn check_torch(tensor: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<()> {
    static IS_GRAD_ENABLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = tensor.py();
    if tensor.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
        let is_enabled = IS_GRAD_ENABLED.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import("torch")?.getattr("is_grad_enabled")?.unbind())
        })?;
        if is_enabled.bind(py).call0()?.is_truthy()? {
            return Err(PyRuntimeError::new_err(
                "the tensor requires a gradient, which needs the operators of warpfold.torch: pass \
                 tensor.detach(), or call under torch.no_grad()",
            ));
        }
    }
    if tensor.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
        return Err(PyTypeError::new_err(
            "the tensor is a lazily negated view: pass tensor.resolve_neg()",
        ));
    }
    if dtype.is_complex() && tensor.call_method0(intern!(py, "is_conj"))?.is_truthy()? {
        return Err(PyTypeError::new_err(
            "the tensor is a lazily conjugated view: pass tensor.resolve_conj()",
        ));
    }
    Ok(())
}

/// A tensor of a torch that cannot lend it to C.
pub(super) fn torch(tensor: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = tensor.py();
    if tensor.getattr(intern!(py, "is_sparse"))?.is_truthy()? {
        return Err(PyTypeError::new_err("a sparse tensor: pass tensor.to_dense()"));
    }
    let dtype = dtype_of(&tensor.getattr(intern!(py, "dtype"))?)?;
    check_torch(tensor, dtype)?;
    let place = if tensor.getattr(intern!(py, "is_cuda"))?.is_truthy()? {
        let device = tensor.getattr(intern!(py, "device"))?;
        Place::Cuda(device.getattr(intern!(py, "index"))?.extract()?)
    } else {
        let device = tensor.getattr(intern!(py, "device"))?.getattr(intern!(py, "type"))?;
        if device.eq("cpu")? {
            Place::Host
        } else {
            return Err(PyTypeError::new_err(format!(
                "a tensor on the device {device}: the devices are the host and CUDA GPUs"
            )));
        }
    };
    let address: u64 = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
    let shape: Dims = numbers(&tensor.getattr(intern!(py, "shape"))?)?;
    let mut strides = numbers(&tensor.call_method0(intern!(py, "stride"))?)?;
    for stride in &mut strides {
        *stride *= dtype.bytes() as i64;
    }
    let holder = Holder::Object;
    ArrayRef { address, dtype, shape, strides, place, is_read_only: false, stream: None, holder }
        .checked()
}

/// An array of CuPy.
pub(super) fn cupy(array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = array.py();
    let dtype = dtype_of(&array.getattr(intern!(py, "dtype"))?)?;
    let data = array.getattr(intern!(py, "data"))?;
    let address: u64 = data.getattr(intern!(py, "ptr"))?.extract()?;
    let ordinal: u32 = data.getattr(intern!(py, "device_id"))?.extract()?;
    let shape = numbers(&array.getattr(intern!(py, "shape"))?)?;
    let strides = numbers(&array.getattr(intern!(py, "strides"))?)?;
    let (place, holder) = (Place::Cuda(ordinal), Holder::Object);
    ArrayRef { address, dtype, shape, strides, place, is_read_only: false, stream: None, holder }
        .checked()
}

/// The numbers of a tuple.
pub(super) fn numbers(tuple: &Bound<'_, PyAny>) -> PyResult<Dims> {
    tuple.try_iter()?.map(|number| number?.extract::<i64>()).collect()
}
