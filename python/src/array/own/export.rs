//! An array of this package in a capsule of DLPack.

use std::{
    ffi::{CStr, c_void},
    ptr::{self, NonNull},
};

use pyo3::{ffi, prelude::*};

use super::{
    super::{
        ArrayRef, Dims,
        dlpack::{LEGACY, Legacy, VERSION, VERSIONED, Versioned},
        exchange::{DataType, Device, Tensor},
    },
    Array,
};

/// What a tensor in a capsule refers to: its shape and strides, and the array. The tensor itself,
/// of the version `M`, comes first, so that both have the same address.
#[repr(C)]
struct Exported<M> {
    managed: M,
    shape: Dims,
    strides: Dims,
    _array: Py<Array>,
}

/// A version of a managed tensor.
trait Version: Sized {
    const NAME: &'static CStr;
    fn new(tensor: Tensor) -> Self;
    fn tensor(&mut self) -> &mut Tensor;
    unsafe fn delete(this: *mut Self);
}

impl Version for Legacy {
    const NAME: &'static CStr = LEGACY;

    fn new(tensor: Tensor) -> Self {
        Self { tensor, context: ptr::null_mut(), deleter: Some(delete::<Self>) }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    unsafe fn delete(this: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe { delete(this) }
    }
}

impl Version for Versioned {
    const NAME: &'static CStr = VERSIONED;

    fn new(tensor: Tensor) -> Self {
        let (version, context) = (VERSION, ptr::null_mut());
        Self { version, context, deleter: Some(delete::<Self>), flags: 0, tensor }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    unsafe fn delete(this: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe { delete(this) }
    }
}

/// Frees an exported tensor.
///
/// # Safety
///
/// The pointer is that of an `Exported`, which nobody uses any more.
unsafe extern "C" fn delete<M: Version>(managed: *mut M) {
    Python::attach(|_| {
        // SAFETY: the caller's contract: `capsule` has made the box, and it is freed once.
        drop(unsafe { Box::from_raw(managed.cast::<Exported<M>>()) });
    });
}

/// Frees the tensor of a capsule that nobody has taken.
unsafe extern "C" fn destroy<M: Version>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this for the capsule that is freed. If it still has the name,
    // nobody has taken the tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            M::delete(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
        }
    }
}

/// A capsule with the array.
pub(super) fn capsule<'py>(
    array: &Bound<'py, Array>,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if is_versioned { of_version::<Versioned>(array) } else { of_version::<Legacy>(array) }
}

fn of_version<'py, M: Version>(array: &Bound<'py, Array>) -> PyResult<Bound<'py, PyAny>> {
    let own = array.get();
    let bytes = own.dtype.bytes();
    let (code, bits) = own.dtype.dlpack();
    let (kind, id) = own.__dlpack_device__();
    let strides = ArrayRef::c_strides(&own.shape, bytes);
    let strides: Dims = strides.iter().map(|stride| stride / bytes as i64).collect();
    let tensor = Tensor {
        data: ptr::without_provenance_mut::<c_void>(own.address() as usize),
        device: Device { kind, id },
        ndim: own.shape.len() as i32,
        dtype: DataType { code, bits, lanes: 1 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let (shape, managed, owner) = (own.shape.clone(), M::new(tensor), array.clone().unbind());
    let mut exported = Box::new(Exported { managed, shape, strides, _array: owner });
    // The numbers do not move any more, because they are in the box or on the heap.
    let (shape, strides) = (exported.shape.as_mut_ptr(), exported.strides.as_mut_ptr());
    let tensor = exported.managed.tensor();
    (tensor.shape, tensor.strides) = (shape, strides);
    let pointer = Box::into_raw(exported);
    // SAFETY: the pointer is not null, the name lives as long as the program, and the destructor
    // frees the tensor unless somebody has taken it.
    let capsule =
        unsafe { ffi::PyCapsule_New(pointer.cast(), M::NAME.as_ptr(), Some(destroy::<M>)) };
    if let Some(capsule) = NonNull::new(capsule) {
        // SAFETY: the function has returned a new reference.
        Ok(unsafe { Bound::from_owned_ptr(array.py(), capsule.as_ptr()) })
    } else {
        // SAFETY: no capsule refers to the tensor.
        drop(unsafe { Box::from_raw(pointer) });
        Err(PyErr::fetch(array.py()))
    }
}
