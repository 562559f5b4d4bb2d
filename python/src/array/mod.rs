//! Arrays of other libraries, as this crate reads and writes them.

mod allocate;
mod attributes;
mod buffer;
mod dlpack;
mod exchange;
mod family;
mod interface;
mod numpy;
mod own;

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyCapsule,
};
use smallvec::SmallVec;

use crate::dtype::{Dtype, complex_refused};

pub(crate) use allocate::{Allocated, allocate, assign, cupy_stream, deliver, torch_stream};
pub(crate) use family::{Family, TypeInfo, type_info};
pub(crate) use own::Array;

/// One number for each axis.
pub(crate) type Dims = SmallVec<[i64; 6]>;

/// Where the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Host,
    /// The GPU with this number.
    Cuda(u32),
}

/// On which stream of a GPU work on an array is to be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub(crate) usize);

impl RawStream {
    /// The legacy default stream.
    pub(crate) const LEGACY: Self = Self(0);
    /// The default stream of each thread, by the number that CUDA gives it.
    pub(crate) const PER_THREAD: Self = Self(2);
}

/// What keeps the memory of an array alive, beside the Python object that was passed.
#[derive(Debug)]
pub(crate) enum Holder {
    /// The Python object alone. Its library frees memory in the order of the current stream.
    Object,
    /// A tensor that the producer has handed over, and that it gets back by the deleter.
    Managed(#[expect(dead_code, reason = "it is dropped")] dlpack::Managed),
    /// The capsule that lends the array's structure, and keeps the array alive.
    Capsule(#[expect(dead_code, reason = "it is dropped")] Py<PyCapsule>),
    /// A view of a buffer of Python.
    Buffer(#[expect(dead_code, reason = "it is dropped")] buffer::View),
}

/// An array that somebody has passed: where its elements are, and what they are.
#[derive(Debug)]
pub(crate) struct ArrayRef {
    /// The address of the element at which all indices are 0.
    pub(crate) address: u64,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Dims,
    /// The distance of neighbours along each axis, in bytes.
    pub(crate) strides: Dims,
    pub(crate) place: Place,
    pub(crate) is_read_only: bool,
    /// The stream that the array itself names, if it does.
    pub(crate) stream: Option<RawStream>,
    pub(crate) holder: Holder,
}

impl ArrayRef {
    /// The array that `object` is or offers, for a function that takes no complex elements.
    pub(crate) fn real(
        function: &str,
        object: &Bound<'_, PyAny>,
        info: &TypeInfo,
    ) -> PyResult<Self> {
        let array = Self::new(object, info)?;
        if array.dtype.is_complex() {
            return Err(complex_refused(function, array.dtype));
        }
        Ok(array)
    }

    /// The array that `object` is or offers.
    pub(crate) fn new(object: &Bound<'_, PyAny>, info: &TypeInfo) -> PyResult<Self> {
        let lent = info.exchange.map(|api| exchange::array(api, object)).transpose()?.flatten();
        if let Some(array) = lent {
            if info.family == Family::Torch {
                attributes::check_torch(object, array.dtype)?;
            }
            return Ok(array);
        }
        match info.family {
            Family::Torch => return attributes::torch(object),
            Family::Cupy => return attributes::cupy(object),
            Family::Numpy => return numpy::array(object),
            Family::Own => return own::array(object),
            Family::Other => {}
        }
        // DLPack tells the producer on which stream its work must be done.
        if let Some(array) = dlpack::array(object)? {
            return Ok(array);
        }
        if let Some(array) = interface::cuda(object)? {
            return Ok(array);
        }
        if let Some(array) = numpy::array_of_other(object)? {
            return Ok(array);
        }
        if let Some(array) = interface::host(object)? {
            return Ok(array);
        }
        if let Some(array) = buffer::array(object)? {
            return Ok(array);
        }
        Err(PyTypeError::new_err(format!(
            "an object of type {} is no array: pass an array of torch, CuPy, NumPy or JAX, or an \
             object with DLPack, __cuda_array_interface__, __array_interface__ or a buffer",
            object.get_type().name()?
        )))
    }

    /// Makes a complex array that of its real and imaginary parts, which are neighbours in memory,
    /// along one more axis, the last one.
    pub(crate) fn take_parts(&mut self) {
        self.dtype = self.dtype.part();
        self.shape.push(2);
        self.strides.push(self.dtype.bytes() as i64);
    }

    /// The same array without what keeps its memory alive, to be read while this one lives.
    pub(crate) fn lent(&self) -> Self {
        Self {
            address: self.address,
            dtype: self.dtype,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            place: self.place,
            is_read_only: self.is_read_only,
            stream: self.stream,
            holder: Holder::Object,
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.shape.iter().fold(1u64, |len, &size| len.saturating_mul(size as u64))
    }

    /// The addresses of the first byte of the array and of the one behind the last, in memory. They
    /// are equal if there are no elements.
    pub(crate) fn extent(&self) -> (u64, u64) {
        if self.shape.contains(&0) {
            return (self.address, self.address);
        }
        let (mut first, mut last) = (self.address, self.address);
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (size - 1).wrapping_mul(stride);
            if reach < 0 {
                first = first.wrapping_add_signed(reach);
            } else {
                last = last.wrapping_add_signed(reach);
            }
        }
        (first, last + self.dtype.bytes() as u64)
    }

    /// Whether the elements are one behind the other in C order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = self.dtype.bytes() as i64;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected && size != 0 {
                    return false;
                }
                expected = expected.wrapping_mul(size);
            }
        }
        true
    }

    /// Whether the elements fill their extent, in whichever order.
    pub(crate) fn is_dense(&self) -> bool {
        let mut axes: SmallVec<[(i64, i64); 6]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|axis| *axis.0 != 1)
            .map(|(&size, &stride)| (stride.abs(), size))
            .collect();
        axes.sort_unstable();
        let mut expected = self.dtype.bytes() as i64;
        for (stride, size) in axes {
            if stride != expected {
                return false;
            }
            expected = expected.wrapping_mul(size);
        }
        true
    }

    /// Strides in bytes of an array in C order.
    pub(crate) fn c_strides(shape: &[i64], bytes: usize) -> Dims {
        let mut strides: Dims = shape.iter().map(|_| 0).collect();
        let mut stride = bytes as i64;
        for (axis, &size) in shape.iter().enumerate().rev() {
            strides[axis] = stride;
            stride = stride.saturating_mul(size.max(1));
        }
        strides
    }

    /// Refuses a shape whose number of elements or bytes overflows, or with a negative size, and
    /// elements without memory, which tensors have that torch traces or wraps.
    pub(crate) fn checked(self) -> PyResult<Self> {
        if self.address == 0 && !self.shape.contains(&0) {
            return Err(PyTypeError::new_err(
                "the array has no memory: it only stands for another one, as a FakeTensor does",
            ));
        }
        let bytes = self.dtype.bytes() as i64;
        let refused = || PyValueError::new_err(format!("the shape {:?} is none", self.shape));
        let mut len = 1i64;
        for &size in &self.shape {
            if size < 0 {
                return Err(refused());
            }
            // Repeated elements take no memory, but they are counted.
            len = len.checked_mul(size.max(1)).ok_or_else(refused)?;
        }
        len.checked_mul(bytes).ok_or_else(refused)?;
        Ok(self)
    }
}
