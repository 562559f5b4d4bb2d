//! Which library an array belongs to, found out once for each Python type.

use std::sync::{Mutex, PoisonError};

use pyo3::{exceptions::PyTypeError, intern, prelude::*, sync::PyOnceLock, types::PyType};

use super::{
    exchange::{self, ExchangeApi},
    own::Array,
};

/// The library that a result is allocated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Torch,
    Cupy,
    Numpy,
    /// Arrays of this package.
    Own,
    /// Another library. Its results are handed over by DLPack.
    Other,
}

/// What is known of a Python type of arrays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeInfo {
    pub(crate) family: Family,
    /// The functions by which its library lends arrays to C.
    pub(crate) exchange: Option<&'static ExchangeApi>,
}

/// Types that were seen, each with the address of its object. The list keeps the types alive, so
/// that no other type can get the same address.
static SEEN: Mutex<Vec<(usize, Py<PyType>, TypeInfo)>> = Mutex::new(Vec::new());

/// The most types that are kept, because a program may make types without end.
const MOST: usize = 256;

/// What is known of the type of `object`.
pub(crate) fn type_info(object: &Bound<'_, PyAny>) -> PyResult<TypeInfo> {
    let class = object.get_type();
    let address = class.as_ptr().addr();
    // The lock is never held while Python runs, because the interpreter could switch threads then.
    let seen = {
        let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().find(|entry| entry.0 == address).map(|entry| entry.2)
    };
    if let Some(info) = seen {
        return Ok(info);
    }
    let info = find_out(object, &class)?;
    let kept = class.unbind();
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < MOST {
        seen.push((address, kept, info));
    }
    Ok(info)
}

fn find_out(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<TypeInfo> {
    let py = object.py();
    let family = if object.is_instance_of::<Array>() {
        Family::Own
    } else if is_of(object, "torch", "Tensor")? {
        Family::Torch
    } else if is_of(object, "cupy", "ndarray")? {
        Family::Cupy
    } else if is_of(object, "numpy", "ndarray")? || is_of(object, "numpy", "generic")? {
        if is_of(object, "numpy.ma", "MaskedArray")? {
            return Err(PyTypeError::new_err(
                "a masked array cannot be reduced, because its mask would be ignored: pass \
                 array.compressed(), or array.filled(value)",
            ));
        }
        Family::Numpy
    } else {
        Family::Other
    };
    let exchange = match class.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? {
        Some(capsule) => exchange::api(&capsule),
        None => None,
    };
    Ok(TypeInfo { family, exchange })
}

/// Whether `object` is one of a class of a module, if that is imported.
fn is_of(object: &Bound<'_, PyAny>, module: &str, class: &str) -> PyResult<bool> {
    static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let modules = MODULES
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.unbind()))?;
    let Ok(module) = modules.bind(py).get_item(module) else { return Ok(false) };
    // A module that is being imported, or that takes the place of another one, may lack the class.
    let Some(class) = module.getattr_opt(class)? else { return Ok(false) };
    object.is_instance(&class)
}
