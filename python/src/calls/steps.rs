//! A reduction along axes as its steps: complex numbers are reduced by their parts.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    array::{ArrayRef, Dims, Place, TypeInfo, type_info},
    axes::Axes,
    device::Target,
    dtype::Dtype,
    op::{Method, Op, Order},
};

use super::{
    along::{Call, deliver},
    outputs::Result as Array,
    run::Runner,
};

/// Reduces an array along some of its axes: `op` is the number of the operation.
#[pyfunction]
#[pyo3(signature = (op, x, axis, dtype, keepdims, out, correction, method, device))]
#[expect(clippy::too_many_arguments, reason = "they are those of the functions in Python")]
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    op: usize,
    x: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    out: Option<&Bound<'py, PyAny>>,
    correction: f64,
    method: Option<&str>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let prepared = Prepared::new(op, x, axis, dtype, keepdims, correction, method)?;
    prepared.run(x, out, |call, x, info, array, shape, out| {
        call.run(py, x, info, array, shape, out, device)
    })
}

/// An array, and what is known of its type.
fn read(object: &Bound<'_, PyAny>) -> PyResult<(TypeInfo, ArrayRef)> {
    let info = type_info(object)?;
    let array = ArrayRef::new(object, &info)?;
    Ok((info, array))
}

/// A reduction of an array along axes that is possible.
pub(super) struct Prepared {
    /// What makes one real number of each complex element, and the shape of these numbers, which
    /// the call reduces then.
    before: Option<Box<(Call, Dims)>>,
    call: Call,
    /// The complex type of the results, if these are real numbers.
    widened: Option<Dtype>,
    info: TypeInfo,
    array: ArrayRef,
    /// The shape of the results.
    shape: Dims,
}

impl Prepared {
    pub(super) fn new(
        op: usize,
        x: &Bound<'_, PyAny>,
        axis: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
        keepdims: bool,
        correction: f64,
        method: Option<&str>,
    ) -> PyResult<Self> {
        let op = with_method(Op::of_number(op)?, method)?;
        let (info, array) = read(x)?;
        let axes = Axes::new(axis, array.rank())?;
        if matches!(op, Op::ArgMin | Op::ArgMax) && axis.is_some() && axes.reduced().len() != 1 {
            return Err(PyTypeError::new_err(format!("{} takes one axis or None", op.name())));
        }
        let op = op.for_dtype(array.dtype)?;
        let results = op.result_as(array.dtype, dtype.map(Dtype::parse).transpose()?)?;
        let shape = axes.shape(&array.shape, keepdims);
        let own = array.dtype;
        let widened = (!own.is_complex() && results[0].is_complex()).then_some(results[0]);
        let results = if widened.is_some() { results.map(Dtype::part) } else { results };
        let call = Call { op, correction, axes, own, results };
        let mut this = Self { before: None, call, widened, info, array, shape };
        if own.is_complex() {
            this.take_parts();
        }
        Ok(this)
    }

    /// Makes the reduction of a complex array one of its parts.
    fn take_parts(&mut self) {
        let call = &mut self.call;
        let first = match call.op {
            // The parts of a product depend on both parts of each element.
            Op::Prod => return,
            Op::Norm(Order::Two) | Op::Any => {
                call.axes = call.axes.with_last(true);
                None
            }
            Op::Norm(_) => Some(Op::Norm(Order::Two)),
            Op::All | Op::CountNonzero => Some(Op::Any),
            _ => {
                call.axes = call.axes.with_last(false);
                None
            }
        };
        if let Some(op) = first {
            let axes = Axes::none(self.array.rank()).with_last(true);
            let (own, results) = (call.own, op.result(call.own));
            call.own = results[0];
            let before = Call { op, correction: 0.0, axes, own, results };
            self.before = Some(Box::new((before, self.array.shape.clone())));
        }
        self.array.take_parts();
    }

    /// Does one reduction after the other, each by `reduce`.
    pub(super) fn run<'py>(
        self,
        x: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        reduce: impl Fn(
            &Call,
            &Bound<'py, PyAny>,
            &TypeInfo,
            ArrayRef,
            &Dims,
            Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Self { before, call, widened, info, array, shape } = self;
        if let Some(dtype) = widened {
            let made = (dtype, shape.clone());
            let result = Array::new(x, (info.family, call.own), &[&array], made, out)?;
            let lent = array.lent();
            result.widen(&reduce(&call, x, &info, array, &shape, None)?)?;
            return result.deliver(x, info.family, &lent);
        }
        let Some(before) = before else {
            return reduce(&call, x, &info, array, &shape, out);
        };
        let (first, kept) = *before;
        let stream = array.stream;
        let numbers = reduce(&first, x, &info, array, &kept, None)?;
        let (info, mut array) = read(&numbers)?;
        // The second reduction goes to the stream that the caller's array names, if it does.
        array.stream = stream.or(array.stream);
        reduce(&call, &numbers, &info, array, &shape, out)
    }

    /// Reduces the array on a simulator, to which it is copied.
    pub(super) fn on_simulator<'py>(
        self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        target: &'static Target,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Place::Cuda(ordinal) = self.array.place {
            return Err(PyValueError::new_err(format!(
                "the array is on the GPU {ordinal}, and the simulator takes arrays of the host: \
                 copy it there first"
            )));
        }
        self.run(x, None, |call, x, info, array, shape, out| {
            call.check(&array, shape, Runner::Simulator)?;
            let results = call.results(x, info, &array, shape, out)?;
            call.on_copies(py, target, &array, &results)?;
            deliver(py, results, x, info, &array)
        })
    }
}

/// The operation, if this method is asked for.
fn with_method(op: Op, method: Option<&str>) -> PyResult<Op> {
    let Some(method) = method else { return Ok(op) };
    if op != Op::Sum(Method::Fast) {
        return Err(PyTypeError::new_err(format!("{} takes no method", op.name())));
    }
    Ok(Op::Sum(match method {
        "fast" => Method::Fast,
        "reproducible" => Method::Reproducible,
        "compensated" => Method::Compensated,
        "wide" => Method::Wide,
        "checked" => Method::Checked,
        method => {
            return Err(PyValueError::new_err(format!(
                "method is {method:?}: it is \"fast\", \"reproducible\", \"compensated\", \"wide\" \
                 or \"checked\""
            )));
        }
    }))
}
