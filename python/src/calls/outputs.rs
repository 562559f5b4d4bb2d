//! The arrays that take results.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::{
    array::{Allocated, ArrayRef, Dims, Family, Place, allocate, assign, type_info},
    dtype::Dtype,
    host::Output,
};

/// An array for results, in C order.
pub(super) struct Result<'py> {
    object: Bound<'py, PyAny>,
    pub(super) address: u64,
    pub(super) dtype: Dtype,
    pub(super) shape: Dims,
    /// The argument `out`, to which the results are copied, if they could not be written there.
    copied_to: Option<(Bound<'py, PyAny>, Family)>,
    /// Whether the object is the argument `out`.
    is_given: bool,
}

impl<'py> Result<'py> {
    /// An array for results of the family of `like`, whose elements are of type `own`; or `out`.
    pub(super) fn new(
        like: &Bound<'py, PyAny>,
        (family, own): (Family, Dtype),
        inputs: &[&ArrayRef],
        (dtype, shape): (Dtype, Dims),
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let place = inputs[0].place;
        let Some(out) = out else {
            let Allocated { object, address } =
                allocate(like, (family, own), place, dtype, &shape)?;
            return Ok(Self { object, address, dtype, shape, copied_to: None, is_given: false });
        };
        let info = type_info(out)?;
        let array = ArrayRef::new(out, &info)?;
        check(&array, (dtype, &shape), place)?;
        let (first, end) = array.extent();
        for input in inputs {
            let (other, other_end) = input.extent();
            if input.place == place && first < other_end && other < end {
                return Err(PyValueError::new_err(
                    "out overlaps an array that is read: pass another array",
                ));
            }
        }
        if array.is_contiguous() && array.address.is_multiple_of(dtype.part().bytes() as u64) {
            let (object, address) = (out.clone(), array.address);
            return Ok(Self { object, address, dtype, shape, copied_to: None, is_given: true });
        }
        let Allocated { object, address } =
            allocate(out, (info.family, dtype), place, dtype, &shape)?;
        let copied_to = Some((out.clone(), info.family));
        Ok(Self { object, address, dtype, shape, copied_to, is_given: true })
    }

    /// The array as an output on the host. If it is complex, its parts are along one more axis.
    pub(super) fn output(&self) -> Output {
        let (address, dtype) = (self.address, self.dtype.part());
        let mut shape = self.shape.clone();
        if self.dtype.is_complex() {
            shape.push(2);
        }
        let strides = ArrayRef::c_strides(&shape, dtype.bytes());
        Output { address, dtype, shape, strides }
    }

    /// The number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.shape.iter().product::<i64>() as usize * self.dtype.bytes()
    }

    /// Writes real numbers, which are one behind the other, into this complex array.
    pub(super) fn widen(&self, numbers: &Bound<'py, PyAny>) -> PyResult<()> {
        let array = ArrayRef::new(numbers, &type_info(numbers)?)?;
        if array.place == Place::Host {
            let bytes = self.dtype.part().bytes();
            for number in 0..array.len() as usize {
                let from = array.address as usize + number * bytes;
                let to = self.address as usize + 2 * number * bytes;
                let from = std::ptr::with_exposed_provenance::<u8>(from);
                let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
                // SAFETY: there are as many complex numbers as real ones, each of which is half as
                // long. Both arrays were allocated for this call, or do not overlap.
                unsafe {
                    to.copy_from_nonoverlapping(from, bytes);
                    to.add(bytes).write_bytes(0, bytes);
                }
            }
            return Ok(());
        }
        match type_info(&self.object)?.family {
            family @ (Family::Torch | Family::Cupy) => assign(&self.object, family, numbers),
            _ => Err(PyTypeError::new_err(
                "on a GPU, real results become complex in arrays of torch and CuPy alone: cast the \
                 result",
            )),
        }
    }

    /// The results for Python.
    pub(super) fn deliver(
        self,
        like: &Bound<'py, PyAny>,
        family: Family,
        array: &ArrayRef,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some((out, family)) = self.copied_to {
            assign(&out, family, &self.object)?;
            return Ok(out);
        }
        if family == Family::Other && !self.is_given {
            return crate::array::deliver(like, array, self.object);
        }
        Ok(self.object)
    }
}

/// Refuses an argument `out` that cannot take the results.
fn check(out: &ArrayRef, (dtype, shape): (Dtype, &Dims), place: Place) -> PyResult<()> {
    if out.is_read_only {
        return Err(PyValueError::new_err("out is read-only"));
    }
    if out.place != place {
        return Err(PyValueError::new_err("out is not on the device of the array"));
    }
    if out.shape != *shape {
        return Err(PyValueError::new_err(format!(
            "out has the shape {:?}, and the results have {:?}",
            &out.shape[..],
            &shape[..]
        )));
    }
    if out.dtype != dtype {
        return Err(PyTypeError::new_err(format!(
            "out has elements of {}, and the results are {}",
            out.dtype.name(),
            dtype.name()
        )));
    }
    Ok(())
}
