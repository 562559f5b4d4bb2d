//! Reductions of segments, of runs of keys, and into bins.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyTuple,
};

use crate::{
    array::{ArrayRef, Family, RawStream, TypeInfo, allocate, type_info},
    axes::Axes,
    device::{self, Binned, Failure, Laid, Room, Segmented, Target},
    dtype::{Dtype, Kind},
    error::raise,
    host::{self, Counted, Value},
    op::Op,
};

use super::{
    along::write,
    outputs::Result as Array,
    run::{Runner, stream},
    running::{keep, sweep},
};

/// An array of one axis, which a call named so needs.
fn vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<(ArrayRef, TypeInfo)> {
    let info = type_info(object)?;
    let array = ArrayRef::new(object, &info)?;
    if array.rank() != 1 {
        return Err(PyValueError::new_err(format!(
            "{what} are an array of one axis, and not of {}",
            array.rank()
        )));
    }
    Ok((array, info))
}

fn check_integers(array: &ArrayRef, what: &str) -> PyResult<()> {
    match array.dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(()),
        _ => Err(PyTypeError::new_err(format!(
            "{what} are integers, and not {}: cast them to int64",
            array.dtype.name()
        ))),
    }
}

fn check_place(first: &ArrayRef, second: &ArrayRef) -> PyResult<()> {
    if first.place == second.place {
        Ok(())
    } else {
        Err(PyValueError::new_err("the arrays are on different devices"))
    }
}

/// The operation with this name, if segments and runs have it.
fn operation(name: &str, names: &[&str]) -> PyResult<Op> {
    let number = Op::number(name).filter(|_| names.contains(&name));
    let number = number.ok_or_else(|| {
        PyValueError::new_err(format!("there is no {name:?} here: the reductions are {names:?}"))
    })?;
    Op::of_number(number)
}

/// Arrays on a device: those of the caller, or copies.
struct OnDevice {
    laid: Vec<Laid>,
    _copies: Vec<device::Copied>,
}

impl OnDevice {
    /// # Safety
    ///
    /// The elements of the arrays are there.
    unsafe fn new(target: &Target, runner: Runner, arrays: &[&ArrayRef]) -> Result<Self, Failure> {
        let mut all = Self { laid: Vec::new(), _copies: Vec::new() };
        for array in arrays {
            if let Runner::Gpu(_) = runner {
                let laid = Laid::new(array)?;
                if !laid.is_contiguous() {
                    return Err(Failure::Value(
                        "the elements are not one behind the other: pass a contiguous copy"
                            .to_owned(),
                    ));
                }
                all.laid.push(laid);
            } else {
                // SAFETY: the caller's contract.
                let copied = unsafe { target.copy(array, false)? };
                all.laid.push(copied.laid.clone());
                all._copies.push(copied);
            }
        }
        Ok(all)
    }
}

/// The stream of a call on a device.
fn stream_of(
    py: Python<'_>,
    runner: Runner,
    info: &TypeInfo,
    array: &ArrayRef,
) -> PyResult<RawStream> {
    match runner {
        Runner::Gpu(ordinal) => {
            sweep();
            stream(py, info, array, ordinal)
        }
        // The device's own stream.
        _ => Ok(RawStream(usize::MAX)),
    }
}

/// Runs `work` on a device with an address for each result, and copies results back if the arrays
/// are copies.
fn on_device(
    py: Python<'_>,
    (runner, stream): (Runner, RawStream),
    target: &'static Target,
    arrays: &[&ArrayRef],
    results: &[(u64, usize)],
    work: impl FnOnce(&mut device::Locked<'_>, &[Laid], &[u64]) -> Result<(), Failure> + Send,
) -> PyResult<()> {
    let lent: Vec<ArrayRef> = arrays.iter().map(|array| array.lent()).collect();
    py.detach(|| {
        device::with_context(|| -> Result<(), Failure> {
            let lent: Vec<&ArrayRef> = lent.iter().collect();
            // SAFETY: the caller lends the arrays for the call.
            let arrays = unsafe { OnDevice::new(target, runner, &lent)? };
            let session = target.session(stream)?;
            if let Runner::Gpu(_) = runner {
                let addresses: Vec<u64> = results.iter().map(|result| result.0).collect();
                return work(&mut session.lock(), &arrays.laid, &addresses);
            }
            let mut buffers = Vec::new();
            for &(_, bytes) in results {
                buffers.push(target.alloc(bytes.div_ceil(8).max(1))?);
            }
            let addresses: Vec<u64> = buffers.iter().map(|buffer| buffer.address()).collect();
            work(&mut session.lock(), &arrays.laid, &addresses)?;
            for (buffer, &(address, bytes)) in buffers.iter().zip(results) {
                // SAFETY: the result has room for so many bytes.
                unsafe { write(address, bytes, &buffer.copy_to_host()?) };
            }
            Ok(())
        })
    })
    .map_err(raise)
}

/// Keeps arrays that were handed over until the GPU has read them.
fn keep_all(runner: Runner, stream: RawStream, arrays: Vec<ArrayRef>) -> PyResult<()> {
    let Runner::Gpu(ordinal) = runner else { return Ok(()) };
    let kept = device::with_context(|| {
        let session = device::of(ordinal)?.session(stream)?;
        keep(ordinal, &session.lock(), arrays);
        Ok(())
    });
    kept.map_err(raise)
}

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
    let result = Array::new(values, info.family, &[&array, &bounds], (result, shape), out)?;
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
                // SAFETY: both arrays are on the device, and the output has a place for each segment.
                unsafe { device::segments(target, session, job) }
            },
        )?;
        let result = result.deliver(values, info.family, &array)?;
        keep_all(runner, stream, vec![array, bounds])?;
        return Ok(result);
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

const OF_KEYS: [&str; 5] = ["sum", "prod", "min", "max", "mean"];

/// Reduces runs of equal neighbouring keys.
#[pyfunction]
pub(crate) fn reduce_by_key<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    op: &str,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let op = operation(op, &OF_KEYS)?;
    let (key_array, key_info) = vector(keys, "keys")?;
    let (array, info) = vector(values, "values")?;
    check_place(&key_array, &array)?;
    if key_array.shape[0] != array.shape[0] {
        return Err(PyValueError::new_err(format!(
            "there are {} keys and {} values",
            key_array.shape[0], array.shape[0]
        )));
    }
    let [result, _] = op.result(array.dtype);
    let runner = Runner::new(py, &array, device)?;
    let families = [key_info.family, info.family, info.family];
    let likes = [keys, values, values];
    let dtypes = [key_array.dtype, result, Dtype::I64];
    let outputs = |runs: i64| -> PyResult<[Array<'py>; 3]> {
        let make = |of: usize| {
            let shape = [runs].into_iter().collect();
            Array::new(likes[of], families[of], &[&array], (dtypes[of], shape), None)
        };
        Ok([make(0)?, make(1)?, make(2)?])
    };
    let deliver = |outputs: [Array<'py>; 3]| -> PyResult<Bound<'py, PyAny>> {
        let mut delivered = Vec::new();
        for (output, (like, family)) in outputs.into_iter().zip(likes.into_iter().zip(families)) {
            delivered.push(output.deliver(like, family, &array)?);
        }
        Ok(PyTuple::new(py, delivered)?.into_any())
    };
    let Some(target) = runner.target()? else {
        let (lent_keys, lent) = (key_array.lent(), array.lent());
        // SAFETY: the caller lends the keys for the call.
        let ends = py.detach(|| unsafe { host::run_ends(&lent_keys) });
        let outputs = outputs(ends.len() as i64)?;
        let [unique, results, counts] = outputs.each_ref().map(Array::output);
        py.detach(|| {
            // SAFETY: the caller lends the arrays for the call, and each output has a place for
            // each run.
            unsafe { host::take_runs(op, (&lent_keys, &lent), &ends, [&unique, &results, &counts]) }
        });
        return deliver(outputs);
    };
    let n = array.shape[0];
    let raw_bytes = device::by_key_bytes(op, array.dtype, result).map_err(raise)? as i64;
    // Room that the caller's library allocates, and that it frees in the order of the stream.
    let room = |bytes: i64| match runner {
        Runner::Gpu(_) => {
            let family = if info.family == Family::Other { Family::Own } else { info.family };
            allocate(values, family, array.place, Dtype::U8, &[bytes.max(1)]).map(Some)
        }
        _ => Ok(None),
    };
    let bytes = [n * key_array.dtype.bytes() as i64, n * raw_bytes, 8 * (n + 1)];
    let rooms = [room(bytes[0])?, room(bytes[1])?, room(bytes[2])?];
    let theirs = rooms.each_ref().map(|room| room.as_ref().map(|room| room.address));
    let stream = stream_of(py, runner, &info, &array)?;
    let mut own = Vec::new();
    let mut found = None;
    let (mut copies, buffers, result_type) = (None, &mut own, result);
    let lent = [key_array.lent(), array.lent()];
    py.detach(|| {
        device::with_context(|| -> Result<(), Failure> {
            // SAFETY: the caller lends the arrays for the call.
            let arrays = unsafe { OnDevice::new(target, runner, &[&lent[0], &lent[1]])? };
            let mut addresses = [0; 3];
            for ((address, theirs), bytes) in addresses.iter_mut().zip(theirs).zip(bytes) {
                *address = match theirs {
                    Some(theirs) => theirs,
                    None => {
                        buffers.push(target.alloc((bytes as usize).div_ceil(8).max(1))?);
                        buffers.last().map_or(0, |buffer| buffer.address())
                    }
                };
            }
            let room = Room { unique: addresses[0], raw: addresses[1], offsets: addresses[2] };
            let [keys, values] = &arrays.laid[..] else { unreachable!("there are two arrays") };
            let runs = device::by_key(op, keys.clone(), values.clone(), result_type)?;
            let session = target.session(stream)?;
            // SAFETY: keys and values are on the device, and there is room for as many runs.
            let count = unsafe { runs.find(target, &mut session.lock(), room)? };
            copies = Some(arrays);
            found = Some((runs, room, count));
            Ok(())
        })
    })
    .map_err(raise)?;
    let (runs, room, count) = found.ok_or_else(|| PyValueError::new_err("no runs were found"))?;
    let outputs = outputs(count as i64)?;
    let places = outputs.each_ref().map(|output| (output.address, output.bytes()));
    on_device(py, (runner, stream), target, &[], &places, |session, _, out| {
        let [keys, results, counts] = out else { unreachable!("there are three outputs") };
        // SAFETY: the room is that of the runs, and the outputs have places for all of them.
        unsafe { runs.take(target, session, (room, count), [*keys, *results, *counts]) }
    })?;
    drop((copies, own));
    deliver(outputs)
}

/// Counts keys, or sums the weights of each key.
#[pyfunction]
#[pyo3(signature = (keys, weights, minlength, bins, check, device))]
pub(crate) fn bincount<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    minlength: i64,
    bins: Option<i64>,
    check: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (array, info) = vector(keys, "keys")?;
    check_integers(&array, "keys")?;
    if minlength < 0 || bins.is_some_and(|bins| bins < 0) {
        return Err(PyValueError::new_err("the number of bins is negative"));
    }
    let weighed = match weights {
        None => None,
        Some(weights) => Some(vector(weights, "weights")?.0),
    };
    if let Some(weights) = &weighed {
        check_place(&array, weights)?;
        if weights.shape[0] != array.shape[0] {
            return Err(PyValueError::new_err(format!(
                "there are {} keys and {} weights",
                array.shape[0], weights.shape[0]
            )));
        }
    }
    let result = weighed
        .as_ref()
        .map_or(Dtype::I64, |w| Op::Sum(crate::op::Method::Fast).result(w.dtype)[0]);
    let runner = Runner::new(py, &array, device)?;
    let target = runner.target()?;
    let found = match (bins, target) {
        (Some(_), Some(_)) => None,
        (_, None) => Some(on_host(py, &array, minlength)?),
        (None, Some(target)) => Some(greatest(py, runner, target, &info, &array)?.max(minlength)),
    };
    let bins = match (bins, found) {
        (Some(bins), Some(found)) if found > bins => {
            return Err(PyValueError::new_err(format!(
                "key {} is not below the number of bins, {bins}",
                found - 1
            )));
        }
        (Some(bins), _) => bins,
        (None, found) => found.unwrap_or(0),
    };
    const MOST: i64 = 1 << 31;
    if bins > MOST {
        return Err(PyValueError::new_err(format!(
            "{bins} bins are too many: {MOST} are possible"
        )));
    }
    let shape = [bins].into_iter().collect();
    let inputs: Vec<&ArrayRef> = [&array].into_iter().chain(&weighed).collect();
    let result = Array::new(keys, info.family, &inputs, (result, shape), None)?;
    if bins == 0 {
        if array.len() > 0 {
            return Err(PyValueError::new_err("there are keys and no bins"));
        }
        return result.deliver(keys, info.family, &array);
    }
    let Some(target) = target else {
        let output = result.output();
        let (lent, weights) = (array.lent(), weighed.as_ref().map(ArrayRef::lent));
        // SAFETY: the caller lends the arrays for the call, and no key is too large or negative.
        py.detach(|| unsafe { host::sums(&lent, weights.as_ref(), &output) });
        return result.deliver(keys, info.family, &array);
    };
    let stream = stream_of(py, runner, &info, &array)?;
    let (dtype, places) = (result.dtype, [(result.address, result.bytes())]);
    on_device(py, (runner, stream), target, &inputs, &places, |session, laid, out| {
        let (keys, weights) = (&laid[0], laid.get(1));
        let output = (out[0], dtype);
        let job = Binned { keys, weights, bins: bins as u64, output, is_checked: check };
        // SAFETY: the arrays are on the device, and the output has a place for each bin.
        unsafe { device::bins(target, session, &job) }
    })?;
    let delivered = result.deliver(keys, info.family, &array)?;
    keep_all(runner, stream, [array].into_iter().chain(weighed).collect())?;
    Ok(delivered)
}

/// The number of bins of keys on the host.
fn on_host(py: Python<'_>, keys: &ArrayRef, least: i64) -> PyResult<i64> {
    let lent = keys.lent();
    // SAFETY: the caller lends the keys for the call.
    match py.detach(|| unsafe { host::count(&lent, least as usize) }) {
        Counted::Bins(bins) => Ok(i64::try_from(bins).unwrap_or(i64::MAX)),
        Counted::Negative { position, key } => {
            Err(PyValueError::new_err(format!("key {position} is {key}, which is negative")))
        }
    }
}

/// One more than the greatest key on a device. This waits for the device.
fn greatest(
    py: Python<'_>,
    runner: Runner,
    target: &'static Target,
    info: &TypeInfo,
    keys: &ArrayRef,
) -> PyResult<i64> {
    if keys.len() == 0 {
        return Ok(0);
    }
    let stream = stream_of(py, runner, info, keys)?;
    let lent = keys.lent();
    let words = py
        .detach(|| {
            device::with_context(|| -> Result<u64, Failure> {
                // SAFETY: the caller lends the keys for the call.
                let arrays = unsafe { OnDevice::new(target, runner, &[&lent])? };
                let session = target.session(stream)?;
                let mut session = session.lock();
                let axes = Axes::all(1);
                let results = [lent.dtype; 2];
                let job = device::Job { op: Op::Max, correction: 0.0, axes: &axes, results };
                // SAFETY: the keys are on the device.
                unsafe { device::first_word(target, &mut session, job, (&lent, &arrays.laid[0])) }
            })
        })
        .map_err(raise)?;
    let bits = 64 - 8 * keys.dtype.bytes() as u32;
    let greatest = if keys.dtype.kind() == Kind::Signed {
        (words << bits) as i64 >> bits
    } else {
        i64::try_from(words << bits >> bits).unwrap_or(i64::MAX - 1)
    };
    if greatest < 0 {
        return Err(overflow_key(greatest));
    }
    Ok(greatest.saturating_add(1))
}

fn overflow_key(key: i64) -> PyErr {
    PyValueError::new_err(format!("the greatest key is {key}, which is negative"))
}
