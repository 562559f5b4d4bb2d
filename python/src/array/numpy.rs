//! Arrays of NumPy, read from the structure in `__array_struct__`.

use std::{
    ffi::{c_char, c_int, c_void},
    slice,
};

use pyo3::{exceptions::PyTypeError, ffi, intern, prelude::*, types::PyCapsule};

use crate::dtype::{Dtype, unsupported};

use super::{ArrayRef, Dims, Holder, Place, interface::swapped};

/// `PyArrayInterface`.
#[repr(C)]
struct Interface {
    /// The number 2, which tells that this is such a structure.
    two: c_int,
    rank: c_int,
    kind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
}

/// The bytes of elements are in the order of this machine.
const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// The array of a NumPy array or scalar.
pub(super) fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    array_of_other(object)?
        .ok_or_else(|| PyTypeError::new_err("the NumPy array has no __array_struct__"))
}

/// The array of any object with `__array_struct__`.
pub(super) fn array_of_other(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let py = object.py();
    let Some(capsule) = object.getattr_opt(intern!(py, "__array_struct__"))? else {
        return Ok(None);
    };
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("__array_struct__ is no capsule"))?;
    // SAFETY: the object is a capsule.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the protocol of `__array_struct__`: the capsule has such a structure, which lives as
    // long as the capsule.
    let interface = unsafe { &*pointer.cast::<Interface>() };
    if interface.two != 2 {
        return Err(PyTypeError::new_err("__array_struct__ has no array"));
    }
    let (kind, bytes) = (interface.kind.to_ne_bytes()[0], interface.itemsize.max(0) as usize);
    let dtype = match Dtype::of_letter(kind, bytes) {
        Some(dtype) => dtype,
        // NumPy's own types do not include it; packages add it as raw bytes.
        None => Dtype::parse(&object.getattr(intern!(py, "dtype"))?)
            .ok()
            .filter(|dtype| dtype.bytes() == bytes)
            .ok_or_else(|| refused(object))?,
    };
    if interface.flags & NOT_SWAPPED == 0 && bytes > 1 {
        return Err(swapped());
    }
    let rank = interface.rank.max(0) as usize;
    let numbers = |pointer: *mut isize| -> Dims {
        if rank == 0 || pointer.is_null() {
            return Dims::new();
        }
        // SAFETY: the protocol: there are as many numbers as axes.
        unsafe { slice::from_raw_parts(pointer, rank) }.iter().map(|&size| size as i64).collect()
    };
    let (shape, strides) = (numbers(interface.shape), numbers(interface.strides));
    // A scalar of NumPy has an array for its structure, which nothing else keeps alive.
    let address = interface.data.addr() as u64;
    let is_read_only = interface.flags & WRITEABLE == 0;
    let (place, holder) = (Place::Host, Holder::Capsule(capsule.unbind()));
    ArrayRef { address, dtype, shape, strides, place, is_read_only, stream: None, holder }
        .checked()
        .map(Some)
}

fn refused(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object
        .getattr("dtype")
        .and_then(|dtype| dtype.str().map(|name| name.to_string_lossy().into_owned()));
    unsupported(&name.unwrap_or_else(|_| "an unknown type".to_owned()))
}
