//! Arrays that describe themselves in a dictionary: `__cuda_array_interface__` (versions 2 and 3)
//! and `__array_interface__`.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
};

use crate::{
    device::ordinal_of,
    dtype::{Dtype, unsupported},
};

use super::{ArrayRef, Holder, Place, RawStream, attributes::numbers};

/// The array of an object with `__cuda_array_interface__`.
pub(super) fn cuda(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let py = object.py();
    let Some(interface) = object.getattr_opt(intern!(py, "__cuda_array_interface__"))? else {
        return Ok(None);
    };
    let mut array = read(object, &interface)?;
    let stream = interface.call_method1(intern!(py, "get"), (intern!(py, "stream"),))?;
    array.stream = match stream.extract::<Option<usize>>()? {
        // The array needs no order: work on it goes to the legacy default stream.
        None | Some(1) => Some(RawStream::LEGACY),
        Some(0) => {
            return Err(PyValueError::new_err(
                "__cuda_array_interface__ names the stream 0, which its protocol does not allow",
            ));
        }
        Some(stream) => Some(RawStream(stream)),
    };
    array.place = Place::Cuda(if array.len() == 0 { 0 } else { ordinal_of(array.address)? });
    Ok(Some(array))
}

/// The array of an object with `__array_interface__`.
pub(super) fn host(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let name = intern!(object.py(), "__array_interface__");
    match object.getattr_opt(name)? {
        Some(interface) => read(object, &interface).map(Some),
        None => Ok(None),
    }
}

fn read(object: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = object.py();
    let get = |key| interface.call_method1(intern!(py, "get"), (key,));
    if !get("mask")?.is_none() {
        return Err(PyTypeError::new_err("an array with a mask cannot be reduced"));
    }
    let text: String = interface.get_item("typestr")?.extract()?;
    let dtype = dtype(&text)?;
    let shape = numbers(&interface.get_item("shape")?)?;
    let strides = get("strides")?;
    let strides = if strides.is_none() {
        ArrayRef::c_strides(&shape, dtype.bytes())
    } else {
        numbers(&strides)?
    };
    if strides.len() != shape.len() {
        return Err(PyValueError::new_err("the array has not as many strides as axes"));
    }
    let data = get("data")?;
    if data.is_none() {
        return Err(PyTypeError::new_err("the array's interface names no address"));
    }
    let (address, is_read_only): (u64, bool) = data.extract()?;
    let (place, holder) = (Place::Host, Holder::Object);
    ArrayRef { address, dtype, shape, strides, place, is_read_only, stream: None, holder }.checked()
}

/// The type that an interface spells like `<f4`.
pub(super) fn dtype(text: &str) -> PyResult<Dtype> {
    let mut bytes = text.bytes();
    let (order, letter) = (bytes.next(), bytes.next());
    let size = text.get(2..).and_then(|size| size.parse::<usize>().ok());
    let (Some(order), Some(letter), Some(size)) = (order, letter, size) else {
        return Err(unsupported(text));
    };
    if order == b'>' && size > 1 {
        return Err(swapped());
    }
    Dtype::of_letter(letter, size).ok_or_else(|| match letter {
        b'c' => unsupported(&format!("complex{}", 8 * size)),
        b'f' => unsupported(&format!("float{}", 8 * size)),
        b'O' => unsupported("object"),
        b'M' => unsupported("datetime64"),
        b'm' => unsupported("timedelta64"),
        _ => unsupported(text),
    })
}

/// The error for an array whose bytes are in the order of other machines.
pub(super) fn swapped() -> PyErr {
    PyTypeError::new_err(
        "the bytes of the array's elements are in the order of other machines: pass \
         array.astype(array.dtype.newbyteorder('='))",
    )
}
