//! Memory for results, which the caller's own library allocates.

use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyTuple},
};

use crate::dtype::{ALL, Dtype};

use super::{ArrayRef, Family, Place, exchange, family, numpy, own::Array};

/// An array that was allocated for a result.
pub(crate) struct Allocated<'py> {
    pub(crate) object: Bound<'py, PyAny>,
    pub(crate) address: u64,
}

/// Objects of other modules, each looked up once.
struct Cached(PyOnceLock<Py<PyAny>>);

impl Cached {
    const fn new() -> Self {
        Self(PyOnceLock::new())
    }

    fn get<'py>(
        &self,
        py: Python<'py>,
        find: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<&Bound<'py, PyAny>> {
        Ok(self.0.get_or_try_init(py, || Ok::<_, PyErr>(find()?.unbind()))?.bind(py))
    }
}

/// Allocates an array of the family of `like`, whose elements are of type `own`, at the same place.
/// It is not initialized.
pub(crate) fn allocate<'py>(
    like: &Bound<'py, PyAny>,
    (family, own): (Family, Dtype),
    place: Place,
    dtype: Dtype,
    shape: &[i64],
) -> PyResult<Allocated<'py>> {
    let py = like.py();
    match family {
        Family::Torch => torch(like, own, place, dtype, shape),
        Family::Cupy => cupy(py, place, dtype, shape),
        Family::Numpy => numpy_array(py, dtype, shape),
        Family::Own | Family::Other => {
            let array = Array::allocate(place, dtype, shape)?;
            let address = array.address();
            Ok(Allocated { object: Bound::new(py, array)?.into_any(), address })
        }
    }
}

/// A tensor on the device of `like`.
fn torch<'py>(
    like: &Bound<'py, PyAny>,
    own: Dtype,
    place: Place,
    dtype: Dtype,
    shape: &[i64],
) -> PyResult<Allocated<'py>> {
    static OPTIONS: [PyOnceLock<Py<PyDict>>; ALL.len()] = [const { PyOnceLock::new() }; ALL.len()];
    let py = like.py();
    if let Some(allocated) = torch_directly(like, place, dtype, shape)? {
        return Ok(allocated);
    }
    let method = like.getattr(intern!(py, "new_empty_strided"))?;
    let options = if own == dtype {
        None
    } else {
        let options = OPTIONS[dtype as usize].get_or_try_init(py, || -> PyResult<_> {
            let options = PyDict::new(py);
            options.set_item("dtype", torch_dtype(py, dtype)?)?;
            Ok(options.unbind())
        })?;
        Some(options.bind(py))
    };
    let object = method.call(strided(py, shape)?, options)?;
    let address = match family::type_info(&object)?.exchange {
        Some(api) => exchange::array(api, &object)?.map(|array| array.address),
        None => None,
    };
    let address = match address {
        Some(address) => address,
        None => object.call_method0(intern!(py, "data_ptr"))?.extract()?,
    };
    Ok(Allocated { object, address })
}

/// As [`torch`], by the function with which the code that `torch.compile` makes allocates its
/// results. It takes the host half as long as a method, but only allocates on the current GPU.
/// `None` if that is another GPU, if `like` is no plain tensor, or if torch lacks the function.
fn torch_directly<'py>(
    like: &Bound<'py, PyAny>,
    place: Place,
    dtype: Dtype,
    shape: &[i64],
) -> PyResult<Option<Allocated<'py>>> {
    static TENSOR: Cached = Cached::new();
    static ALLOCATE: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();
    static DTYPES: [Cached; ALL.len()] = [const { Cached::new() }; ALL.len()];
    let py = like.py();
    // Without a context, the thread has no GPU so far.
    if place == Place::Host || current_gpu() != Some(place) {
        return Ok(None);
    }
    let tensor = TENSOR.get(py, || py.import("torch")?.getattr("Tensor"))?;
    if !like.get_type().is(tensor) {
        return Ok(None);
    }
    let Some(api) = family::type_info(like)?.exchange else { return Ok(None) };
    let find = || {
        let guards = py.import("torch._C._dynamo.guards").ok()?;
        guards.getattr("_empty_strided_cuda").ok().map(Bound::unbind)
    };
    let Some(allocate) = ALLOCATE.get_or_init(py, find) else { return Ok(None) };
    let dtype = DTYPES[dtype as usize].get(py, || torch_dtype(py, dtype))?;
    let (sizes, strides) = strided(py, shape)?;
    let object = allocate.bind(py).call1((sizes, strides, dtype))?;
    // torch may have chosen a GPU without making its context current.
    let array = exchange::array(api, &object)?.filter(|array| array.place == place);
    Ok(array.map(|array| Allocated { object, address: array.address }))
}

/// The GPU whose context is the current one of this thread.
fn current_gpu() -> Option<Place> {
    let driver = cuda_driver::loaded()?;
    let mut ordinal = -1;
    // SAFETY: the pointer is to a live variable.
    let code = unsafe { driver.cuCtxGetDevice?(&raw mut ordinal) };
    u32::try_from(ordinal).ok().filter(|_| code == 0).map(Place::Cuda)
}

/// torch's object for a type.
fn torch_dtype(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    py.import("torch")?.getattr_opt(dtype.name())?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "this torch has no type {0}, which the result has: pass the argument dtype, such as \
             dtype=\"int64\"",
            dtype.name()
        ))
    })
}

/// The sizes and the strides, in elements, of an array in C order.
fn strided<'py>(
    py: Python<'py>,
    shape: &[i64],
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let strides = ArrayRef::c_strides(shape, 1);
    Ok((PyTuple::new(py, shape)?, PyTuple::new(py, strides)?))
}

fn cupy<'py>(
    py: Python<'py>,
    place: Place,
    dtype: Dtype,
    shape: &[i64],
) -> PyResult<Allocated<'py>> {
    static MAKE: Cached = Cached::new();
    static CURRENT: Cached = Cached::new();
    static DTYPES: [Cached; ALL.len()] = [const { Cached::new() }; ALL.len()];
    let Place::Cuda(ordinal) = place else {
        return Err(PyTypeError::new_err("arrays of CuPy are on a GPU"));
    };
    let make = MAKE.get(py, || py.import("cupy")?.getattr("ndarray"))?;
    let dtype = DTYPES[dtype as usize].get(py, || numpy_dtype(py, dtype))?;
    let current = CURRENT
        .get(py, || py.import("cupy")?.getattr("cuda")?.getattr("runtime")?.getattr("getDevice"))?;
    let shape = PyTuple::new(py, shape)?;
    let object = if current.call0()?.extract::<u32>()? == ordinal {
        make.call1((shape, dtype))?
    } else {
        let device = py.import("cupy")?.getattr("cuda")?.getattr("Device")?.call1((ordinal,))?;
        device.call_method0("__enter__")?;
        let made = make.call1((shape, dtype));
        device.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        made?
    };
    let address = object.getattr(intern!(py, "data"))?.getattr(intern!(py, "ptr"))?.extract()?;
    Ok(Allocated { object, address })
}

fn numpy_array<'py>(py: Python<'py>, dtype: Dtype, shape: &[i64]) -> PyResult<Allocated<'py>> {
    static EMPTY: Cached = Cached::new();
    static DTYPES: [Cached; ALL.len()] = [const { Cached::new() }; ALL.len()];
    let empty = EMPTY.get(py, || py.import("numpy")?.getattr("empty"))?;
    let dtype = DTYPES[dtype as usize].get(py, || numpy_dtype(py, dtype))?;
    let object = empty.call1((PyTuple::new(py, shape)?, dtype))?;
    let address = numpy::array(&object)?.address;
    Ok(Allocated { object, address })
}

/// NumPy's object for a type.
fn numpy_dtype(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    let make = py.import("numpy")?.getattr("dtype")?;
    if dtype == Dtype::Bf16 {
        let types = py.import("ml_dtypes").map_err(|_| {
            PyTypeError::new_err("NumPy has no type bfloat16 without the package ml_dtypes")
        })?;
        return make.call1((types.getattr("bfloat16")?,));
    }
    make.call1((dtype.name(),))
}

/// The stream on which CuPy puts its work now.
pub(crate) fn cupy_stream(py: Python<'_>, ordinal: u32) -> PyResult<usize> {
    static STREAM: Cached = Cached::new();
    let stream =
        STREAM.get(py, || py.import("cupy")?.getattr("cuda")?.getattr("get_current_stream"))?;
    // Older versions of CuPy have one current stream for all devices.
    let current = stream.call1((ordinal,)).or_else(|error| {
        if error.is_instance_of::<PyTypeError>(py) { stream.call0() } else { Err(error) }
    })?;
    current.getattr(intern!(py, "ptr"))?.extract()
}

/// The stream on which torch puts its work now, for a torch that does not tell it to C.
pub(crate) fn torch_stream(py: Python<'_>, ordinal: u32) -> PyResult<usize> {
    static STREAM: Cached = Cached::new();
    let stream = STREAM
        .get(py, || py.import("torch")?.getattr("_C")?.getattr("_cuda_getCurrentRawStream"))?;
    stream.call1((ordinal,))?.extract()
}

/// Copies `value` into `out`, by the library of `out`.
pub(crate) fn assign(
    out: &Bound<'_, PyAny>,
    family: Family,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = out.py();
    match family {
        Family::Torch => out.call_method1(intern!(py, "copy_"), (value,)).map(drop),
        _ => out.set_item(py.Ellipsis(), value),
    }
}

/// Hands a result of this package over to the library of `like`, if that is another one.
pub(crate) fn deliver<'py>(
    like: &Bound<'py, PyAny>,
    like_array: &ArrayRef,
    result: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    if let Some(namespace) = like.getattr_opt(intern!(py, "__array_namespace__"))?
        && let Some(from_dlpack) = namespace.call0()?.getattr_opt(intern!(py, "from_dlpack"))?
    {
        return from_dlpack.call1((result,));
    }
    let module = like.get_type().module()?.to_string_lossy().into_owned();
    let root = module.split('.').next().unwrap_or(&module);
    if root == "numba" && like_array.place != Place::Host {
        return py.import("numba.cuda")?.getattr("as_cuda_array")?.call1((result,));
    }
    if let Ok(Some(from_dlpack)) =
        py.import(root).and_then(|module| module.getattr_opt("from_dlpack"))
    {
        return from_dlpack.call1((result,));
    }
    Ok(result)
}
