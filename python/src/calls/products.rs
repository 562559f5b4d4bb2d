//! Dot products of two arrays.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    array::{ArrayRef, Dims, type_info},
    axes::Axes,
    device::{self, Failure, Laid},
    dtype::Dtype,
    error::raise,
    host,
    op::Op,
};

use super::{
    along::write,
    outputs::Result as Array,
    run::{Runner, settle, stream},
    running::{keep, sweep},
};

/// The sum of the products of two arrays, which are broadcast, along some axes.
#[pyfunction]
#[pyo3(signature = (a, b, axis, dtype, keepdims, out, device))]
#[expect(clippy::too_many_arguments, reason = "they are those of the function in Python")]
pub(crate) fn dot<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (info, second_info) = (type_info(a)?, type_info(b)?);
    let mut arrays = [ArrayRef::real("dot", a, &info)?, ArrayRef::real("dot", b, &second_info)?];
    let [first, second] = &arrays;
    if first.place != second.place {
        return Err(PyValueError::new_err("the arrays are on different devices"));
    }
    if first.dtype != second.dtype {
        return Err(PyTypeError::new_err(format!(
            "the arrays have elements of {} and {}: cast one of them",
            first.dtype.name(),
            second.dtype.name()
        )));
    }
    let common = broadcast(&first.shape, &second.shape)?;
    for array in &mut arrays {
        stretch(array, &common);
    }
    let [first, second] = &arrays;
    let axes = Axes::new(axis, common.len())?;
    let [result, _] = Op::Dot.result_as(first.dtype, dtype.map(Dtype::parse).transpose()?)?;
    let shape = axes.shape(&common, keepdims);
    let runner = Runner::new(py, first, device)?;
    let result = Array::new(a, (info.family, first.dtype), &[first, second], (result, shape), out)?;
    let (output, to) = (result.output(), (result.address, result.dtype));
    let (first, second) = (first.lent(), second.lent());
    match runner {
        Runner::Host => {
            // SAFETY: the caller lends the arrays for the call, and the output has the shape of the
            // results.
            py.detach(|| unsafe { host::dot(&first, &second, &axes, &output) });
        }
        Runner::Gpu(ordinal) => {
            sweep();
            let stream = stream(py, &info, &first, ordinal)?;
            let launched = py.detach(|| {
                device::with_context(|| -> Result<(), Failure> {
                    let target = device::of(ordinal)?;
                    let (first, second) = (Laid::new(&first)?, Laid::new(&second)?);
                    let session = target.session(stream)?;
                    let mut session = session.lock();
                    // SAFETY: the arrays are on the GPU, and their library and the order of the
                    // stream keep them there; the output has the shape of the results.
                    unsafe { device::dot(target, &mut session, [&first, &second], &axes, to)? };
                    keep(ordinal, &session, arrays);
                    Ok(())
                })
            });
            launched.map_err(raise)?;
            settle(&info, ordinal, stream)?;
        }
        Runner::Simulator | Runner::Copies(_) => {
            let target = runner.target()?.ok_or_else(|| PyValueError::new_err("no device"))?;
            let bytes = result.bytes();
            let copied = py.detach(|| {
                device::with_context(|| -> Result<(), Failure> {
                    // SAFETY: the caller lends the arrays for the call.
                    let copies =
                        unsafe { [target.copy(&first, true)?, target.copy(&second, true)?] };
                    let buffer = target.alloc(bytes.div_ceil(8).max(1))?;
                    let [first, second] = copies.each_ref().map(|copy| &copy.laid);
                    let (session, to) = (target.own_session()?, (buffer.address(), to.1));
                    // SAFETY: the copies are on the device, and the buffer has room.
                    unsafe {
                        device::dot(target, &mut session.lock(), [first, second], &axes, to)?;
                        write(output.address, bytes, &buffer.copy_to_host()?);
                    }
                    Ok(())
                })
            });
            copied.map_err(raise)?;
        }
    }
    result.deliver(a, info.family, &first)
}

/// The shape that two arrays have together.
fn broadcast(first: &[i64], second: &[i64]) -> PyResult<Dims> {
    let rank = first.len().max(second.len());
    let size = |shape: &[i64], axis: usize| {
        (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis])
    };
    (0..rank)
        .map(|axis| match (size(first, axis), size(second, axis)) {
            (a, b) if a == b || b == 1 => Ok(a),
            (1, b) => Ok(b),
            _ => Err(PyValueError::new_err(format!(
                "arrays of the shapes {first:?} and {second:?} cannot be taken in pairs"
            ))),
        })
        .collect()
}

/// Repeats the elements of an array so that it has this shape.
fn stretch(array: &mut ArrayRef, shape: &Dims) {
    let missing = shape.len() - array.rank();
    array.strides = (0..shape.len())
        .map(|axis| match axis.checked_sub(missing) {
            Some(own) if array.shape[own] == shape[axis] => array.strides[own],
            _ => 0,
        })
        .collect();
    array.shape.clone_from(shape);
}
