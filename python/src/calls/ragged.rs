//! What reductions of segments, of runs of keys, and into bins have in common.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use warpfold::Buffer;

use crate::{
    array::{ArrayRef, RawStream, TypeInfo, type_info},
    device::{self, Failure, Laid, Target},
    dtype::Kind,
    error::raise,
    op::Op,
};

use super::{
    along::write,
    run::{Runner, settle, stream},
    running::{keep, sweep},
};

/// An array of one axis, which a call named so needs.
pub(super) fn vector(object: &Bound<'_, PyAny>, what: &str) -> PyResult<(ArrayRef, TypeInfo)> {
    let info = type_info(object)?;
    let array = ArrayRef::real("a reduction by offsets or keys", object, &info)?;
    if array.rank() != 1 {
        return Err(PyValueError::new_err(format!(
            "{what} are an array of one axis, and not of {}",
            array.rank()
        )));
    }
    Ok((array, info))
}

pub(super) fn check_integers(array: &ArrayRef, what: &str) -> PyResult<()> {
    match array.dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(()),
        _ => Err(PyTypeError::new_err(format!(
            "{what} are integers, and not {}: cast them to int64",
            array.dtype.name()
        ))),
    }
}

pub(super) fn check_place(first: &ArrayRef, second: &ArrayRef) -> PyResult<()> {
    if first.place == second.place {
        Ok(())
    } else {
        Err(PyValueError::new_err("the arrays are on different devices"))
    }
}

/// The operation with this name, if segments and runs have it.
pub(super) fn operation(name: &str, names: &[&str]) -> PyResult<Op> {
    let number = Op::number(name).filter(|_| names.contains(&name));
    let number = number.ok_or_else(|| {
        PyValueError::new_err(format!("there is no {name:?} here: the reductions are {names:?}"))
    })?;
    Op::of_number(number)
}

/// Arrays on a device: those of the caller, or copies.
pub(super) struct OnDevice {
    pub(super) laid: Vec<Laid>,
    copies: Vec<device::Copied>,
}

impl OnDevice {
    /// # Safety
    ///
    /// The elements of the arrays are there.
    pub(super) unsafe fn new(
        target: &Target,
        runner: Runner,
        arrays: &[&ArrayRef],
    ) -> Result<Self, Failure> {
        let mut all = Self { laid: Vec::new(), copies: Vec::new() };
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
                all.copies.push(copied);
            }
        }
        Ok(all)
    }
}

/// The stream of a call on a device.
pub(super) fn stream_of(
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
pub(super) fn on_device(
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
            let addresses: Vec<u64> = buffers.iter().map(Buffer::address).collect();
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

/// Hands the results of a GPU over, and keeps arrays that were handed over until the GPU has read
/// them.
pub(super) fn end(
    (runner, stream): (Runner, RawStream),
    info: &TypeInfo,
    arrays: Vec<ArrayRef>,
) -> PyResult<()> {
    let Runner::Gpu(ordinal) = runner else { return Ok(()) };
    settle(info, ordinal, stream)?;
    let kept = device::with_context(|| {
        let session = device::of(ordinal)?.session(stream)?;
        keep(ordinal, &session.lock(), arrays);
        Ok(())
    });
    kept.map_err(raise)
}
