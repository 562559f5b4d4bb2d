//! Where a call runs: on the device of its arrays, or on the one that is asked for.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::{
    exceptions::{PyRuntimeWarning, PyTypeError, PyValueError},
    intern,
    prelude::*,
    sync::PyOnceLock,
};

use crate::{
    array::{ArrayRef, Family, Place, RawStream, TypeInfo, cupy_stream, torch_stream},
    device::{self, Target},
    error::raise,
};

/// Where a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// The CPU, for arrays of the host.
    Host,
    /// The simulator, for copies of arrays of the host.
    Simulator,
    /// A GPU, for copies of arrays of the host.
    Copies(u32),
    /// The GPU of the arrays.
    Gpu(u32),
}

/// Elements from which on a call on the simulator warns, once.
const SLOW: u64 = 1_000_000;

impl Runner {
    /// Where a call of `array` runs, if it asks for this device.
    pub(super) fn new(
        py: Python<'_>,
        array: &ArrayRef,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Place::Cuda(ordinal) = array.place {
            load_driver();
            return match device {
                None => Ok(Self::Gpu(ordinal)),
                Some(device) => match named(device)? {
                    Self::Copies(asked) if asked == ordinal => Ok(Self::Gpu(ordinal)),
                    _ => Err(PyValueError::new_err(format!(
                        "the array is on the GPU {ordinal} and is reduced there: move it to \
                         another device first"
                    ))),
                },
            };
        }
        let runner = match device {
            Some(device) => named(device)?,
            None => match chosen(py)? {
                Some(device) => named(&device)?,
                None => Self::Host,
            },
        };
        if let Self::Copies(_) = runner {
            load_driver();
        }
        if runner == Self::Simulator && array.len() > SLOW {
            warn_once(py, array.len())?;
        }
        Ok(runner)
    }

    /// The device, if it is one of the library's.
    pub(super) fn target(self) -> PyResult<Option<&'static Target>> {
        match self {
            Self::Host => Ok(None),
            Self::Simulator => Ok(Some(device::simulator())),
            Self::Copies(ordinal) | Self::Gpu(ordinal) => {
                device::with_context(|| device::of(ordinal))
                    .map(Some)
                    .map_err(|error| raise(error.into()))
            }
        }
    }
}

/// Loads the driver before anything else, so that the caller's context can be found out. What is
/// wrong with the driver is told by the device.
fn load_driver() {
    let _ = cuda_driver::load();
}

/// Orders the results of a call before later work on the legacy default stream, if no library has
/// allocated them, because that is the stream on which they are handed over.
pub(super) fn settle(info: &TypeInfo, ordinal: u32, stream: RawStream) -> PyResult<()> {
    match info.family {
        Family::Own | Family::Other if stream != RawStream::LEGACY => {
            device::order(ordinal, stream, RawStream::LEGACY)
        }
        _ => Ok(()),
    }
}

/// The device that `warpfold.use` has chosen.
fn chosen(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    static CHOSEN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let chosen = CHOSEN.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("warpfold._use")?.getattr("chosen")?.unbind())
    })?;
    let device = chosen.bind(py).call_method0(intern!(py, "get"))?;
    Ok((!device.is_none()).then_some(device))
}

/// The device with this name.
fn named(device: &Bound<'_, PyAny>) -> PyResult<Runner> {
    let refused = || {
        PyValueError::new_err(format!(
            "{device} is no device: they are \"cpu\", \"simulator\", \"cuda\" and \"cuda:N\""
        ))
    };
    let name: String = device.extract().map_err(|_| {
        PyTypeError::new_err(format!("a device is named by a string, and not by {device}"))
    })?;
    match name.as_str() {
        "cpu" => Ok(Runner::Host),
        "simulator" => Ok(Runner::Simulator),
        "cuda" => Ok(Runner::Copies(0)),
        name => {
            let ordinal = name.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok());
            ordinal.map(Runner::Copies).ok_or_else(refused)
        }
    }
}

/// Checks the name of a device.
#[pyfunction]
pub(crate) fn check_device(device: &Bound<'_, PyAny>) -> PyResult<()> {
    named(device).map(drop)
}

fn warn_once(py: Python<'_>, len: u64) -> PyResult<()> {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);
    if HAS_WARNED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let text = format!(
        "{len} elements are many for the simulator, which is thousands of times slower than a GPU; \
         device=\"cpu\" reduces them on the CPU. This is told once."
    );
    let text = std::ffi::CString::new(text)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)
}

/// The stream on which the library of an array puts its work for a GPU now.
pub(super) fn stream(
    py: Python<'_>,
    info: &TypeInfo,
    array: &ArrayRef,
    ordinal: u32,
) -> PyResult<RawStream> {
    if let Some(stream) = array.stream {
        return Ok(stream);
    }
    if let Some(stream) = info.exchange.and_then(|api| api.stream(ordinal)) {
        return Ok(stream);
    }
    Ok(match info.family {
        Family::Torch => RawStream(torch_stream(py, ordinal)?),
        Family::Cupy => RawStream(cupy_stream(py, ordinal)?),
        _ => RawStream::LEGACY,
    })
}
