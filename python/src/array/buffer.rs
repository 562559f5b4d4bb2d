//! Objects with Python's buffer protocol, such as `array.array`, `memoryview` and `bytes`.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
    ptr, slice,
};

use pyo3::{ffi, prelude::*};

use crate::dtype::{Dtype, unsupported};

use super::{ArrayRef, Dims, Holder, Place};

/// `Py_buffer`. It belongs to the stable ABI from Python 3.11 on, and is the same in 3.10, where
/// the interpreter has these functions too.
#[repr(C)]
struct PyBuffer {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: isize,
    itemsize: isize,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

/// `PyBUF_STRIDES | PyBUF_FORMAT`: a buffer that need not be writable, with its shape, strides and
/// type.
const FLAGS: c_int = 0x18 | 0x4;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut PyBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut PyBuffer);
}

/// A view of a buffer, which its object may not move or free meanwhile.
pub(crate) struct View(Box<PyBuffer>);

// SAFETY: the view is released only when this thread is attached to the interpreter.
unsafe impl Send for View {}
// SAFETY: nothing is read or written through a shared reference.
unsafe impl Sync for View {}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: `PyObject_GetBuffer` has filled the view, which is released once, by a thread
        // that is attached to the interpreter.
        Python::attach(|_| unsafe { PyBuffer_Release(&raw mut *self.0) });
    }
}

/// The array of an object with a buffer. `None` if it has none.
pub(super) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let mut view = Box::new(MaybeUninit::<PyBuffer>::zeroed());
    // SAFETY: the view is there to be filled, and this thread is attached to the interpreter.
    if unsafe { PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), FLAGS) } != 0 {
        drop(PyErr::take(object.py()));
        return Ok(None);
    }
    // SAFETY: the function has filled the view, as it has told.
    let view = View(unsafe { view.assume_init() });
    let PyBuffer { buf, itemsize, readonly, ndim, format, shape, strides, .. } = *view.0;
    let format = if format.is_null() {
        "B".to_owned()
    } else {
        // SAFETY: the format is a C string that lives as long as the view.
        unsafe { CStr::from_ptr(format) }.to_string_lossy().into_owned()
    };
    let dtype = dtype(&format, itemsize.max(0) as usize)?;
    let rank = ndim.max(0) as usize;
    let numbers = |pointer: *mut isize| -> Dims {
        if rank == 0 || ptr::eq(pointer, ptr::null_mut()) {
            return Dims::new();
        }
        // SAFETY: the buffer protocol: there are as many numbers as axes.
        unsafe { slice::from_raw_parts(pointer, rank) }.iter().map(|&size| size as i64).collect()
    };
    let shape = numbers(shape);
    let strides = if strides.is_null() {
        ArrayRef::c_strides(&shape, dtype.bytes())
    } else {
        numbers(strides)
    };
    let (address, is_read_only) = (buf.addr() as u64, readonly != 0);
    let (place, holder) = (Place::Host, Holder::Buffer(view));
    ArrayRef { address, dtype, shape, strides, place, is_read_only, stream: None, holder }
        .checked()
        .map(Some)
}

/// The type of elements of this format of the module `struct`.
fn dtype(format: &str, bytes: usize) -> PyResult<Dtype> {
    let refused = || unsupported(&format!("the format {format:?}"));
    let (order, letters) = match format.as_bytes() {
        [order @ (b'@' | b'=' | b'<' | b'>' | b'!'), letters @ ..] => (*order, letters),
        letters => (b'@', letters),
    };
    let kind = match letters {
        // NumPy's spelling of complex numbers, and that of the newest versions of Python.
        [b'Z', b'f' | b'd'] | [b'F' | b'D'] => b'c',
        [letter] => kind(*letter),
        _ => return Err(refused()),
    };
    if matches!(order, b'>' | b'!') && bytes > 1 {
        return Err(super::interface::swapped());
    }
    Dtype::of_letter(kind, bytes).ok_or_else(refused)
}

/// The letter of array interfaces for a letter of the module `struct`, or 0.
fn kind(letter: u8) -> u8 {
    match letter {
        b'?' => b'b',
        b'b' | b'h' | b'i' | b'l' | b'q' | b'n' => b'i',
        b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' | b'c' => b'u',
        b'e' | b'f' | b'd' => b'f',
        _ => 0,
    }
}
