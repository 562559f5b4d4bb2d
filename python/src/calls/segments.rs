//! Reductions of segments.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    device::{self, Segmented},
    host::{self, Value},
};

use super::{
    outputs::Result as Array,
    ragged::{check_integers, check_place, end, on_device, operation, stream_of, vector},
    run::Runner,
};

const OF_SEGMENTS: [&str; 11] =
    ["sum", "prod", "min", "max", "mean", "var", "std", "argmin", "argmax", "all", "any"];

/// Reduces segments of an array.
#[pyfunction]
#[pyo3(signature = (values, offsets, op, correction, check, out, device))]
#[expect(clippy::too_many_arguments, reason = "they are those of the function in Python")]
pub(crate) fn segment_reduce<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    op: &str,
    correction: f64,
    check: bool,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = operation(op, &OF_SEGMENTS)?;
    let (array, info) = vector(values, "values")?;
    let (bounds, _) = vector(offsets, "offsets")?;
    check_place(&array, &bounds)?;
    check_integers(&bounds, "offsets")?;
    if bounds.shape[0] == 0 {
        return Err(PyValueError::new_err("there are no offsets: n segments have n + 1 of them"));
    }
    let op = op.for_dtype(array.dtype)?;
    let [result, _] = op.result(array.dtype);
    let shape = [bounds.shape[0] - 1].into_iter().collect();
    let runner = Runner::new(py, &array, device)?;
    let result =
        Array::new(values, (info.family, array.dtype), &[&array, &bounds], (result, shape), out)?;
    if let Some(target) = runner.target()? {
        if bounds.dtype.bytes() < 4 {
            return Err(PyTypeError::new_err(format!(
                "there are no offsets of {} on a GPU: cast them to int32",
                bounds.dtype.name()
            )));
        }
        let stream = stream_of(py, runner, &info, &array)?;
        let dtype = result.dtype;
        let places = [(result.address, result.bytes())];
        on_device(
            py,
            (runner, stream),
            target,
            &[&array, &bounds],
            &places,
            |session, laid, out| {
                let [values, offsets] = laid else { unreachable!("there are two arrays") };
                let output = (out[0], dtype);
                let job = Segmented { op, correction, values, offsets, output, is_checked: check };
                // SAFETY: both arrays are on the device, and there is a place for each segment.
                unsafe { device::segments(target, session, job) }
            },
        )?;
        let lent = array.lent();
        end((runner, stream), &info, vec![array, bounds])?;
        return result.deliver(values, info.family, &lent);
    }
    let output = result.output();
    let empty = Value::of_empty_segment(op, array.dtype);
    let (lent, lent_bounds) = (array.lent(), bounds.lent());
    let reduced = py.detach(|| {
        // SAFETY: the caller lends the arrays for the call, and the output has a place for each
        // segment.
        unsafe { host::segments((op, correction), &lent, &lent_bounds, &output, empty) }
    });
    if let Err(host::WrongSegment(segment)) = reduced {
        return Err(PyValueError::new_err(format!(
            "segment {segment} does not lie within the {} elements: offsets must not decrease, and \
             none may be negative or greater than the number of elements",
            array.len()
        )));
    }
    result.deliver(values, info.family, &array)
}
