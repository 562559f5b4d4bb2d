//! Reductions of runs of equal neighbouring keys.

use pyo3::{exceptions::PyValueError, prelude::*, types::PyTuple};
use warpfold::Buffer;

use crate::{
    array::{Family, allocate},
    device::{self, Failure, Room},
    dtype::Dtype,
    error::raise,
    host,
};

use super::{
    outputs::Result as Array,
    ragged::{OnDevice, check_place, end, on_device, operation, stream_of, vector},
    run::Runner,
};

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
    let own = [key_array.dtype, array.dtype, array.dtype];
    let dtypes = [key_array.dtype, result, Dtype::I64];
    let outputs = |runs: i64| -> PyResult<[Array<'py>; 3]> {
        let make = |of: usize| {
            let shape = [runs].into_iter().collect();
            Array::new(likes[of], (families[of], own[of]), &[&array], (dtypes[of], shape), None)
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
            allocate(values, (family, array.dtype), array.place, Dtype::U8, &[bytes.max(1)])
                .map(Some)
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
                if let Some(theirs) = theirs {
                    *address = theirs;
                } else {
                    buffers.push(target.alloc((bytes as usize).div_ceil(8).max(1))?);
                    *address = buffers.last().map_or(0, Buffer::address);
                }
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
    end((runner, stream), &info, Vec::new())?;
    deliver(outputs)
}
