//! DLPack's structures, and the functions of C by which a library lends its arrays.

use std::{
    ffi::{c_char, c_int, c_void},
    ptr, slice,
};

use pyo3::{exceptions::PyTypeError, ffi, prelude::*, types::PyCapsule};

use crate::dtype::Dtype;

use super::{ArrayRef, Dims, Holder, Place, RawStream};

/// The codes of DLPack's devices.
pub(crate) mod device {
    pub(crate) const CPU: i32 = 1;
    pub(crate) const CUDA: i32 = 2;
    /// Page-locked memory of the host.
    pub(crate) const CUDA_HOST: i32 = 3;
    pub(crate) const CUDA_MANAGED: i32 = 13;
}

/// `DLDevice`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Device {
    pub(super) kind: i32,
    pub(super) id: i32,
}

/// `DLDataType`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct DataType {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

/// `DLTensor`.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tensor {
    pub(super) data: *mut c_void,
    pub(super) device: Device,
    pub(super) ndim: i32,
    pub(super) dtype: DataType,
    pub(super) shape: *mut i64,
    /// Strides in elements, or null for C order.
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

/// `DLPackVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
}

/// `DLPackExchangeAPI` of DLPack 1.3: the functions by which a library lends arrays. It lives as
/// long as the process.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ExchangeApi {
    version: Version,
    previous: *const ExchangeApi,
    /// These are there, and nothing here calls them.
    _allocate: *const c_void,
    _managed_from_object: *const c_void,
    _managed_to_object: *const c_void,
    tensor_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

// SAFETY: nothing changes the structure once its library has published it.
unsafe impl Sync for ExchangeApi {}

const NAME: *const c_char = c"dlpack_exchange_api".as_ptr();

/// The functions in a capsule that a type has published, if this crate knows their version.
pub(super) fn api(capsule: &Bound<'_, PyAny>) -> Option<&'static ExchangeApi> {
    let capsule = capsule.cast::<PyCapsule>().ok()?;
    // SAFETY: the object is a capsule, and the name is a C string.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME) } == 0 {
        return None;
    }
    // SAFETY: as above. The capsule is valid for that name, so this raises no error.
    let mut api =
        unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME) }.cast::<ExchangeApi>();
    // SAFETY: DLPack's protocol: a capsule of that name has such a structure, which lives as long
    // as the process. The head of it, which has the version, is the same in every version.
    unsafe {
        while !api.is_null() && (*api).version.major != 1 {
            api = (*api).previous.cast_mut();
        }
        api.as_ref()
    }
}

impl ExchangeApi {
    /// The stream on which the library puts its work for this GPU now.
    pub(crate) fn stream(&self, ordinal: u32) -> Option<RawStream> {
        let current = self.current_stream?;
        let mut stream = ptr::null_mut();
        // SAFETY: DLPack's protocol; the pointer is to a live variable.
        let code = unsafe { current(device::CUDA, ordinal as i32, &raw mut stream) };
        if code != 0 {
            // The function may have set an error of Python.
            // SAFETY: this thread is attached to the interpreter, as the library's function needs.
            unsafe { ffi::PyErr_Clear() };
            return None;
        }
        Some(RawStream(stream.addr()))
    }
}

/// The array that `object` lends. `None` if its library cannot lend it without handing it over.
pub(super) fn array(
    api: &'static ExchangeApi,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<ArrayRef>> {
    let Some(lend) = api.tensor_from_object else { return Ok(None) };
    let mut tensor = Tensor {
        data: ptr::null_mut(),
        device: Device { kind: 0, id: 0 },
        ndim: 0,
        dtype: DataType { code: 0, bits: 0, lanes: 0 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    // SAFETY: DLPack's protocol; the object is of the type that has published the function.
    let code = unsafe { lend(object.as_ptr().cast(), &raw mut tensor) };
    if code != 0 {
        let py = object.py();
        return Err(PyErr::take(py)
            .unwrap_or_else(|| PyTypeError::new_err("the array's library cannot lend it")));
    }
    // SAFETY: the library has filled the structure, and shape and strides live as long as the
    // object.
    unsafe { read(&tensor, false, Holder::Object) }.map(Some)
}

/// Reads a tensor.
///
/// # Safety
///
/// The tensor is as DLPack describes it: shape and strides have as many numbers as there are axes.
pub(super) unsafe fn read(
    tensor: &Tensor,
    is_read_only: bool,
    holder: Holder,
) -> PyResult<ArrayRef> {
    let DataType { code, bits, lanes } = tensor.dtype;
    let dtype = Dtype::of_dlpack(code, bits, lanes)?;
    let place = place(tensor.device.kind, tensor.device.id)?;
    let rank = usize::try_from(tensor.ndim).unwrap_or(0);
    let numbers = |pointer: *mut i64| {
        // SAFETY: the caller's contract.
        if rank == 0 { &[][..] } else { unsafe { slice::from_raw_parts(pointer, rank) } }
    };
    let shape: Dims = numbers(tensor.shape).into();
    let bytes = dtype.bytes() as i64;
    let strides = if tensor.strides.is_null() {
        ArrayRef::c_strides(&shape, dtype.bytes())
    } else {
        numbers(tensor.strides).iter().map(|stride| stride.wrapping_mul(bytes)).collect()
    };
    let address = tensor.data.addr() as u64 + tensor.byte_offset;
    ArrayRef { address, dtype, shape, strides, place, is_read_only, stream: None, holder }.checked()
}

/// Where a device of DLPack has its memory.
pub(super) fn place(kind: i32, id: i32) -> PyResult<Place> {
    match kind {
        device::CPU | device::CUDA_HOST => Ok(Place::Host),
        device::CUDA | device::CUDA_MANAGED => Ok(Place::Cuda(id.max(0) as u32)),
        kind => Err(PyTypeError::new_err(format!(
            "an array on a device of DLPack's type {kind} cannot be reduced: the devices are the \
             host and CUDA GPUs; copy it to one of them"
        ))),
    }
}
