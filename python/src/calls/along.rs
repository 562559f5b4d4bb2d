//! One reduction of one array along axes, and the greatest elements along an axis.

use pyo3::{
    IntoPyObjectExt as _,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyTuple,
};
use smallvec::SmallVec;
use warpfold::Buffer;

use crate::{
    array::{ArrayRef, Dims, Holder, RawStream, TypeInfo, type_info},
    axes::Axes,
    device::{self, Failure, Job, Laid, Target},
    dtype::Dtype,
    error::{overflow, raise},
    host,
    op::{Method, Op},
};

use super::{
    outputs::Result as Array,
    run::{Runner, settle, stream},
    running::{keep, sweep},
};

/// The greatest or the least few elements of an array along an axis, with their indices.
#[pyfunction]
pub(crate) fn topk<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    k: i64,
    axis: &Bound<'py, PyAny>,
    is_largest: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let info = type_info(x)?;
    let mut array = ArrayRef::real("topk", x, &info)?;
    let axes = Axes::new(Some(axis), array.rank())?;
    let [along] = axes.reduced()[..] else {
        return Err(PyTypeError::new_err("topk takes one axis"));
    };
    let along = along as usize;
    if k < 0 || k > array.shape[along] {
        return Err(PyValueError::new_err(format!(
            "k is {k}, and the axis has {} elements",
            array.shape[along]
        )));
    }
    if k > 8 && Runner::new(py, &array, device)? != Runner::Host {
        return Err(PyValueError::new_err(format!("k is {k}, and on a GPU it is at most 8")));
    }
    // The results of a row are neighbours, so that the axis comes last here, and goes back then.
    let last = array.rank() - 1;
    array.shape[along..].rotate_left(1);
    array.strides[along..].rotate_left(1);
    let mut shape = array.shape.clone();
    shape[last] = k;
    let k = u32::try_from(k).map_err(|_| PyValueError::new_err("k is too large"))?;
    let op = Op::Top { k, is_largest };
    let mut axes = SmallVec::<[bool; 6]>::from_elem(false, last + 1);
    axes[last] = true;
    let (own, results) = (array.dtype, op.result(array.dtype));
    let call = Call { op, correction: 0.0, axes: Axes::of(axes), own, results };
    let pair = call.run(py, x, &info, array, &shape, None, device)?;
    if along == last {
        return Ok(pair);
    }
    let moved = |item: usize| -> PyResult<Bound<'py, PyAny>> {
        let order = (0..=last as i64).map(|axis| match axis as usize {
            axis if axis < along => axis as i64,
            axis if axis == along => last as i64,
            axis => axis as i64 - 1,
        });
        let order: Vec<i64> = order.collect();
        let item = pair.get_item(item)?;
        // torch and NumPy call it by these names. The arrays of this package have neither.
        for name in ["permute", "transpose"] {
            if let Some(method) = item.getattr_opt(name)? {
                return method.call1((order,));
            }
        }
        Err(PyTypeError::new_err(
            "the result cannot be brought into this order: pass an array with the axis last",
        ))
    };
    (moved(0)?, moved(1)?).into_bound_py_any(py)
}

/// A reduction, with all but its arrays.
pub(super) struct Call {
    pub(super) op: Op,
    pub(super) correction: f64,
    pub(super) axes: Axes,
    /// The type of the elements of the array that is passed, whose parts may be what is reduced.
    pub(super) own: Dtype,
    pub(super) results: [Dtype; 2],
}

impl Call {
    #[expect(
        clippy::too_many_arguments,
        reason = "they are what the functions above have found out"
    )]
    pub(super) fn run<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        info: &TypeInfo,
        array: ArrayRef,
        shape: &Dims,
        out: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let runner = Runner::new(py, &array, device)?;
        self.check(&array, shape, runner)?;
        let results = self.results(x, info, &array, shape, out)?;
        match runner {
            Runner::Host => self.on_host(py, &array, &results)?,
            Runner::Gpu(ordinal) => {
                let stream = stream(py, info, &array, ordinal)?;
                self.on_gpu(py, ordinal, stream, &array, &results)?;
                settle(info, ordinal, stream)?;
            }
            Runner::Simulator | Runner::Copies(_) => {
                if let Some(target) = runner.target()? {
                    self.on_copies(py, target, &array, &results)?;
                }
            }
        }
        let delivered = deliver(py, results, x, info, &array)?;
        if let (Runner::Gpu(ordinal), Holder::Managed(_)) = (runner, &array.holder) {
            let stream = stream(py, info, &array, ordinal)?;
            let kept = device::with_context(|| {
                let session = device::of(ordinal)?.session(stream)?;
                keep(ordinal, &session.lock(), [array]);
                Ok(())
            });
            kept.map_err(raise)?;
        }
        Ok(delivered)
    }

    /// Refuses what has no result because there are no elements, or because there is no kernel.
    pub(super) fn check(&self, array: &ArrayRef, shape: &Dims, runner: Runner) -> PyResult<()> {
        let op = self.op;
        if array.dtype.is_complex() && runner != Runner::Host {
            return Err(PyTypeError::new_err(format!(
                "a {} of {} is computed on the CPU alone: copy the array to the host, and pass \
                 device=\"cpu\"",
                op.name(),
                array.dtype.name()
            )));
        }
        let length = self.axes.length(&array.shape);
        let is_top = matches!(op, Op::Top { .. });
        if length == 0 && op.of_nothing().is_none() && !is_top && !shape.contains(&0) {
            return Err(PyValueError::new_err(format!(
                "the {} of no elements is not defined",
                op.name()
            )));
        }
        Ok(())
    }

    /// Arrays for the results.
    pub(super) fn results<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        info: &TypeInfo,
        array: &ArrayRef,
        shape: &Dims,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<SmallVec<[Array<'py>; 2]>> {
        let mut results = SmallVec::new();
        for &dtype in &self.results[..self.op.outputs()] {
            let made = (dtype, shape.clone());
            results.push(Array::new(x, (info.family, self.own), &[array], made, out)?);
        }
        Ok(results)
    }

    fn job(&self) -> Job<'_> {
        let Self { op, correction, ref axes, results, .. } = *self;
        Job { op, correction, axes, results: results.map(Dtype::part) }
    }

    fn on_host(&self, py: Python<'_>, array: &ArrayRef, results: &[Array<'_>]) -> PyResult<()> {
        let outputs: SmallVec<[host::Output; 2]> = results.iter().map(Array::output).collect();
        let op = (self.op, self.correction);
        let lent = array.lent();
        // SAFETY: the caller lends the array for the call, and the outputs have the shape of the
        // results; they were allocated for them, or do not overlap the array.
        let reduced = py.detach(|| unsafe { host::reduce(op, &lent, &self.axes, &outputs) });
        reduced.map_err(|host::Overflow(exact)| overflow(exact, Some(self.results[0].name())))
    }

    fn on_gpu(
        &self,
        py: Python<'_>,
        ordinal: u32,
        stream: RawStream,
        array: &ArrayRef,
        results: &[Array<'_>],
    ) -> PyResult<()> {
        sweep();
        let outputs = addresses(results);
        let lent = array.lent();
        py.detach(|| {
            device::with_context(|| -> Result<(), Failure> {
                let target = device::of(ordinal)?;
                let laid = Laid::new(&lent)?;
                let session = target.session(stream)?;
                let mut session = session.lock();
                // SAFETY: the array is on the GPU, and its library and the order of the stream keep
                // it there; the outputs have the shape of the results.
                unsafe { self.launch(target, &mut session, (&lent, &laid), outputs) }
            })
        })
        .map_err(raise)
    }

    /// Reduces a copy of an array of the host, and copies the results back.
    pub(super) fn on_copies(
        &self,
        py: Python<'_>,
        target: &'static Target,
        array: &ArrayRef,
        results: &[Array<'_>],
    ) -> PyResult<()> {
        let lent = array.lent();
        let outputs: SmallVec<[(u64, usize); 2]> =
            results.iter().map(|result| (result.address, result.bytes())).collect();
        py.detach(|| {
            device::with_context(|| -> Result<(), Failure> {
                // SAFETY: the caller lends the array for the call.
                let copied = unsafe { target.copy(&lent, true)? };
                let mut buffers = SmallVec::<[_; 2]>::new();
                for &(_, bytes) in &outputs {
                    buffers.push(target.alloc(bytes.div_ceil(8).max(1))?);
                }
                let first = buffers[0].address();
                let addresses = [first, buffers.get(1).map_or(first, Buffer::address)];
                let session = target.own_session()?;
                {
                    let mut session = session.lock();
                    // SAFETY: the copy is on the device, and the buffers have room for the results.
                    unsafe {
                        self.launch(target, &mut session, (&lent, &copied.laid), addresses)?;
                    }
                }
                for (buffer, &(address, bytes)) in buffers.iter().zip(&outputs) {
                    // SAFETY: the output has room for so many bytes.
                    unsafe { write(address, bytes, &buffer.copy_to_host()?) };
                }
                Ok(())
            })
        })
        .map_err(raise)
    }

    unsafe fn launch(
        &self,
        target: &Target,
        session: &mut device::Locked<'_>,
        array: (&ArrayRef, &Laid),
        outputs: [u64; 2],
    ) -> Result<(), Failure> {
        // SAFETY: the caller's contract.
        unsafe {
            if self.op == Op::Sum(Method::Checked) {
                device::checked_sum(target, session, self.job(), array, outputs)
            } else {
                device::reduce(target, session, self.job(), array, outputs)
            }
        }
    }
}

/// The results for Python: one array, or a pair.
pub(super) fn deliver<'py>(
    py: Python<'py>,
    results: SmallVec<[Array<'py>; 2]>,
    x: &Bound<'py, PyAny>,
    info: &TypeInfo,
    array: &ArrayRef,
) -> PyResult<Bound<'py, PyAny>> {
    let mut delivered: SmallVec<[Bound<'py, PyAny>; 2]> = SmallVec::new();
    for result in results {
        delivered.push(result.deliver(x, info.family, array)?);
    }
    match delivered.len() {
        1 => Ok(delivered.swap_remove(0)),
        _ => Ok(PyTuple::new(py, delivered)?.into_any()),
    }
}

/// The addresses of one output, or two.
fn addresses(results: &[Array<'_>]) -> [u64; 2] {
    [results[0].address, results.get(1).map_or(0, |result| result.address)]
}

/// Writes bytes to an array of the host.
///
/// # Safety
///
/// The array has room for so many bytes, and nobody else accesses it meanwhile.
pub(super) unsafe fn write(address: u64, bytes: usize, words: &[u64]) {
    let source: &[u8] = bytemuck::cast_slice(words);
    let place = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: the caller's contract.
    unsafe { place.copy_from_nonoverlapping(source.as_ptr(), bytes.min(source.len())) };
}
