//! Tensors that a library hands over in a capsule: DLPack 0.x and 1.x.

use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};

use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    ffi, intern,
    prelude::*,
    types::{PyCapsule, PyDict},
};

use super::{
    ArrayRef, Holder, Place, RawStream,
    exchange::{self, Tensor, Version},
};

/// The newest version that this crate understands.
pub(super) const VERSION: Version = Version { major: 1, minor: 1 };

/// The flag of a tensor that must not be written.
pub(super) const READ_ONLY: u64 = 1;

/// `DLManagedTensor`, of DLPack 0.x.
#[repr(C)]
pub(super) struct Legacy {
    pub(super) tensor: Tensor,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// `DLManagedTensorVersioned`, of DLPack 1.x.
#[repr(C)]
pub(super) struct Versioned {
    pub(super) version: Version,
    pub(super) context: *mut c_void,
    pub(super) deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub(super) flags: u64,
    pub(super) tensor: Tensor,
}

pub(super) const LEGACY: &CStr = c"dltensor";
pub(super) const USED_LEGACY: &CStr = c"used_dltensor";
pub(super) const VERSIONED: &CStr = c"dltensor_versioned";
pub(super) const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// A tensor that was taken out of its capsule. Dropping it gives it back, once.
#[derive(Debug)]
pub(crate) struct Managed(Tensors);

#[derive(Clone, Copy, Debug)]
enum Tensors {
    Legacy(NonNull<Legacy>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: DLPack lets any thread call the deleter, which takes the interpreter's lock itself if it
// needs that.
unsafe impl Send for Managed {}
// SAFETY: nothing is read or written through a shared reference.
unsafe impl Sync for Managed {}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken out of its capsule, which has another name since, so that
        // nobody else calls the deleter. Nothing refers to the tensor any more.
        unsafe {
            match self.0 {
                Tensors::Legacy(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
                Tensors::Versioned(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
            }
        }
    }
}

/// The array that `object` hands over. `None` if it knows no DLPack.
pub(super) fn array(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let py = object.py();
    let Some(export) = object.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
    let place = match object.getattr_opt(intern!(py, "__dlpack_device__"))? {
        Some(device) => {
            let device = device.call0()?;
            let kind = device.get_item(0)?.call_method0(intern!(py, "__int__"))?.extract()?;
            exchange::place(kind, device.get_item(1)?.extract()?)?
        }
        None => Place::Host,
    };
    let arguments = PyDict::new(py);
    // The producer orders its work before ours by the legacy default stream, whose number is 1.
    if let Place::Cuda(_) = place {
        arguments.set_item(intern!(py, "stream"), 1)?;
    }
    arguments.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    let capsule = match export.call((), Some(&arguments)) {
        // A producer of DLPack 0.x does not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            arguments.del_item(intern!(py, "max_version"))?;
            export.call((), Some(&arguments))?
        }
        capsule => capsule?,
    };
    let mut array = take(&capsule)?;
    if let Place::Cuda(_) = array.place {
        array.stream = Some(RawStream::LEGACY);
    }
    Ok(Some(array))
}

/// Takes the tensor out of a capsule.
fn take(capsule: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("__dlpack__ has returned no capsule"))?;
    let raw = capsule.as_ptr();
    let pointer = |name: &CStr| {
        // SAFETY: the object is a capsule, and the name is a C string. The pointer is asked for
        // only if the capsule has that name.
        unsafe {
            if ffi::PyCapsule_IsValid(raw, name.as_ptr()) == 0 {
                None
            } else {
                NonNull::new(ffi::PyCapsule_GetPointer(raw, name.as_ptr()))
            }
        }
    };
    let (managed, used) = if let Some(tensor) = pointer(VERSIONED) {
        (Managed(Tensors::Versioned(tensor.cast())), USED_VERSIONED)
    } else if let Some(tensor) = pointer(LEGACY) {
        (Managed(Tensors::Legacy(tensor.cast())), USED_LEGACY)
    } else {
        return Err(PyTypeError::new_err(
            "__dlpack__ has returned a capsule that was used already, or that is none of DLPack",
        ));
    };
    // SAFETY: the object is a capsule, and the name lives as long as the program.
    if unsafe { ffi::PyCapsule_SetName(raw, used.as_ptr()) } != 0 {
        // The capsule still owns the tensor.
        std::mem::forget(managed);
        return Err(PyErr::fetch(capsule.py()));
    }
    match managed.0 {
        Tensors::Legacy(tensor) => {
            // SAFETY: DLPack's protocol: the tensor is there until its deleter is called.
            let fields = unsafe { &tensor.as_ref().tensor };
            // SAFETY: as above.
            unsafe { exchange::read(fields, false, Holder::Managed(managed)) }
        }
        Tensors::Versioned(tensor) => {
            // SAFETY: as above. These fields are where they are in every version.
            let (version, flags) = unsafe { (tensor.as_ref().version, tensor.as_ref().flags) };
            if version.major != VERSION.major {
                return Err(PyBufferError::new_err(format!(
                    "the tensor is of DLPack {}.{}, and this package knows {}.x",
                    version.major, version.minor, VERSION.major
                )));
            }
            let is_read_only = flags & READ_ONLY != 0;
            // SAFETY: the tensor is of a version that has these fields.
            let fields = unsafe { &tensor.as_ref().tensor };
            // SAFETY: as above.
            unsafe { exchange::read(fields, is_read_only, Holder::Managed(managed)) }
        }
    }
}
