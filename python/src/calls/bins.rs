//! Counts of keys, and sums of their weights.

use pyo3::{
    exceptions::{PyMemoryError, PyValueError},
    prelude::*,
};

use crate::{
    array::{ArrayRef, TypeInfo},
    axes::Axes,
    device::{self, Binned, Failure, Job, Target},
    dtype::{Dtype, Kind},
    error::raise,
    host::{self, Counted},
    op::{Method, Op},
};

use super::{
    outputs::Result as Array,
    ragged::{OnDevice, check_integers, check_place, end, on_device, stream_of, vector},
    run::Runner,
};

/// The most bins.
const MOST: i64 = 1 << 31;

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
    let result = weighed.as_ref().map_or(Dtype::I64, |w| Op::Sum(Method::Fast).result(w.dtype)[0]);
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
    if bins > MOST {
        return Err(PyValueError::new_err(format!(
            "{bins} bins are too many: {MOST} are possible"
        )));
    }
    let shape = [bins].into_iter().collect();
    let inputs: Vec<&ArrayRef> = [&array].into_iter().chain(&weighed).collect();
    let result = Array::new(keys, (info.family, array.dtype), &inputs, (result, shape), None)?;
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
        let summed = py.detach(|| unsafe { host::sums(&lent, weights.as_ref(), &output) });
        summed.map_err(|_| PyMemoryError::new_err(format!("no memory for {bins} bins")))?;
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
    let lent = array.lent();
    end((runner, stream), &info, [array].into_iter().chain(weighed).collect())?;
    result.deliver(keys, info.family, &lent)
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
                let job = Job { op: Op::Max, correction: 0.0, axes: &axes, results };
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
