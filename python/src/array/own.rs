//! The arrays of this package, in which results are that no library has asked to allocate.

use std::{cell::UnsafeCell, slice};

use bytemuck::cast_slice;
use half::{bf16, f16};
use pyo3::{
    IntoPyObjectExt as _,
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyComplex, PyDict, PyList, PyTuple},
};

use crate::{device, dtype::Dtype};

use super::{ArrayRef, Dims, Holder, Place, RawStream, exchange};

mod export;

/// An array that this package has allocated, in C order.
///
/// It is the result of a reduction of an object that is no array of a library that can allocate
/// one, such as a ``memoryview`` or an ``array.array``. Other libraries take it without a copy, by
/// DLPack, ``__array_interface__`` or ``__cuda_array_interface__``.
#[pyclass(frozen, module = "warpfold", name = "Array")]
#[derive(Debug)]
pub(crate) struct Array {
    memory: Memory,
    dtype: Dtype,
    shape: Dims,
}

#[derive(Debug)]
enum Memory {
    Host(Words),
    Device { ordinal: u32, buffer: warpfold::Buffer<u64> },
}

/// Words of the host, so that every type is aligned. Their addresses are given away, so that others
/// write them.
#[derive(Debug)]
struct Words(Box<[UnsafeCell<u64>]>);

// SAFETY: whoever gets an address of another library orders the accesses; so it is with all arrays
// that libraries of Python exchange.
unsafe impl Sync for Words {}

impl Words {
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| UnsafeCell::new(0)).collect())
    }

    fn bytes(&self) -> &[u8] {
        let (first, len) = (self.0.as_ptr().cast::<u8>(), 8 * self.0.len());
        // SAFETY: the words are there and initialized. A library that writes them while this
        // thread reads breaks the rule above.
        unsafe { slice::from_raw_parts(first, len) }
    }
}

impl Array {
    /// Allocates an array. Its elements are 0 on the host, and anything on a GPU.
    pub(super) fn allocate(place: Place, dtype: Dtype, shape: &[i64]) -> PyResult<Self> {
        let len = shape.iter().product::<i64>() as usize;
        let words = (len * dtype.bytes()).div_ceil(8).max(1);
        let memory = match place {
            Place::Host => Memory::Host(Words::new(words)),
            Place::Cuda(ordinal) => {
                Memory::Device { ordinal, buffer: device::buffer(ordinal, words)? }
            }
        };
        Ok(Self { memory, dtype, shape: shape.into() })
    }

    pub(super) fn address(&self) -> u64 {
        match &self.memory {
            Memory::Host(words) => words.0.as_ptr().addr() as u64,
            Memory::Device { buffer, .. } => buffer.address(),
        }
    }

    fn place(&self) -> Place {
        match self.memory {
            Memory::Host(_) => Place::Host,
            Memory::Device { ordinal, .. } => Place::Cuda(ordinal),
        }
    }

    fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }

    /// Calls `read` with the bytes of the elements, which are copied from a GPU behind its work.
    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> PyResult<R>) -> PyResult<R> {
        let bytes = self.len() * self.dtype.bytes();
        match &self.memory {
            Memory::Host(words) => read(&words.bytes()[..bytes]),
            Memory::Device { ordinal, buffer } => {
                read(&cast_slice(&device::read(*ordinal, buffer)?)[..bytes])
            }
        }
    }

    /// The only element, as a number of Python.
    fn only<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.len() != 1 {
            return Err(PyTypeError::new_err(format!(
                "an array of {} elements is no number",
                self.len()
            )));
        }
        self.with_bytes(|bytes| number(py, self.dtype, bytes))
    }
}

/// An element as a number of Python.
fn number<'py>(py: Python<'py>, dtype: Dtype, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    use bytemuck::pod_read_unaligned as read;
    match dtype {
        Dtype::Bool => (bytes[0] != 0).into_bound_py_any(py),
        Dtype::I8 => read::<i8>(bytes).into_bound_py_any(py),
        Dtype::U8 => read::<u8>(bytes).into_bound_py_any(py),
        Dtype::I16 => read::<i16>(bytes).into_bound_py_any(py),
        Dtype::U16 => read::<u16>(bytes).into_bound_py_any(py),
        Dtype::I32 => read::<i32>(bytes).into_bound_py_any(py),
        Dtype::U32 => read::<u32>(bytes).into_bound_py_any(py),
        Dtype::I64 => read::<i64>(bytes).into_bound_py_any(py),
        Dtype::U64 => read::<u64>(bytes).into_bound_py_any(py),
        Dtype::F16 => f64::from(read::<f16>(bytes)).into_bound_py_any(py),
        Dtype::Bf16 => f64::from(read::<bf16>(bytes)).into_bound_py_any(py),
        Dtype::F32 => f64::from(read::<f32>(bytes)).into_bound_py_any(py),
        Dtype::F64 => read::<f64>(bytes).into_bound_py_any(py),
        Dtype::C64 => {
            let [real, imaginary] = read::<[f32; 2]>(bytes).map(f64::from);
            Ok(PyComplex::from_doubles(py, real, imaginary).into_any())
        }
        Dtype::C128 => {
            let [real, imaginary] = read::<[f64; 2]>(bytes);
            Ok(PyComplex::from_doubles(py, real, imaginary).into_any())
        }
    }
}

/// Nested lists of the elements.
fn list<'py>(
    py: Python<'py>,
    dtype: Dtype,
    shape: &[i64],
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&size, rest)) = shape.split_first() else { return number(py, dtype, bytes) };
    let step = if size == 0 { 0 } else { bytes.len() / size as usize };
    let items: Vec<_> = (0..size as usize)
        .map(|index| list(py, dtype, rest, &bytes[index * step..(index + 1) * step]))
        .collect::<PyResult<_>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

/// An array of this package as an input.
pub(super) fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let array = object.cast::<Array>().map_err(PyErr::from)?.get();
    let stream = match array.place() {
        Place::Host => None,
        Place::Cuda(_) => Some(RawStream::LEGACY),
    };
    Ok(ArrayRef {
        address: array.address(),
        dtype: array.dtype,
        shape: array.shape.clone(),
        strides: ArrayRef::c_strides(&array.shape, array.dtype.bytes()),
        place: array.place(),
        is_read_only: false,
        stream,
        holder: Holder::Object,
    })
}

#[pymethods]
impl Array {
    /// The size of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The name of the type of the elements.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.len()
    }

    /// Where the elements are: ``"cpu"`` or ``"cuda:0"``.
    #[getter]
    fn device(&self) -> String {
        match self.place() {
            Place::Host => "cpu".to_owned(),
            Place::Cuda(ordinal) => format!("cuda:{ordinal}"),
        }
    }

    /// The only element as a number of Python. This waits for a GPU.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.only(py)
    }

    /// The elements in nested lists. This waits for a GPU.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with_bytes(|bytes| list(py, self.dtype, &self.shape, bytes))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.only(py)?.extract()
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyComplex>> {
        let number = self.only(py)?;
        match number.cast_into::<PyComplex>() {
            Ok(number) => Ok(number),
            Err(other) => Ok(PyComplex::from_doubles(py, other.into_inner().extract()?, 0.0)),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.dtype.is_complex() {
            return Err(PyTypeError::new_err("a complex number is no integer"));
        }
        self.only(py)?.call_method0("__int__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let is_integer = !self.dtype.is_float() && !self.dtype.is_complex();
        if !is_integer || !self.shape.is_empty() {
            return Err(PyTypeError::new_err("only an integer of 0 dimensions is an index"));
        }
        self.only(py)?.call_method0("__int__")
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.only(py)?.is_truthy()
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.shape.first() {
            Some(&size) => Ok(size as usize),
            None => Err(PyTypeError::new_err("an array of 0 dimensions has no length")),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let elements = self.tolist(py)?.repr()?.to_string_lossy().into_owned();
        let device = self.device();
        Ok(format!("warpfold.Array({elements}, dtype={}, device={device})", self.dtype.name()))
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.place() != Place::Host {
            return Err(pyo3::exceptions::PyAttributeError::new_err("the array is on a GPU"));
        }
        self.interface(py)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.place() == Place::Host {
            return Err(pyo3::exceptions::PyAttributeError::new_err("the array is on the host"));
        }
        let interface = self.interface(py)?;
        interface.set_item("stream", 1)?;
        Ok(interface)
    }

    /// DLPack's number of the device, and the number of the GPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.place() {
            Place::Host => (exchange::device::CPU, 0),
            Place::Cuda(ordinal) => (exchange::device::CUDA, ordinal as i32),
        }
    }

    /// A capsule with the array, for another library.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        this: &Bound<'py, Self>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = this.get();
        if copy == Some(true) {
            return Err(PyBufferError::new_err("a copy is not made: export without one"));
        }
        if dl_device.is_some_and(|device| device != array.__dlpack_device__()) {
            return Err(PyBufferError::new_err("the array is not copied to another device"));
        }
        match (array.place(), stream) {
            (Place::Host, None | Some(-1)) | (Place::Cuda(_), None | Some(-1 | 1)) => {}
            (Place::Host, Some(_)) => {
                return Err(PyValueError::new_err("an array on the host has no stream"));
            }
            (Place::Cuda(_), Some(0)) => {
                return Err(PyValueError::new_err("DLPack has no stream 0: 1 is the legacy one"));
            }
            (Place::Cuda(ordinal), Some(stream)) => {
                device::order(ordinal, RawStream::LEGACY, RawStream(stream as usize))?;
            }
        }
        export::capsule(this, max_version.is_some_and(|version| version.0 >= 1))
    }
}

impl Array {
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        let order = if self.dtype.bytes() == 1 { '|' } else { '<' };
        let (letter, bytes) = (self.dtype.letter(), self.dtype.bytes());
        interface.set_item("typestr", format!("{order}{letter}{bytes}"))?;
        interface.set_item("data", (self.address(), false))?;
        Ok(interface)
    }
}
