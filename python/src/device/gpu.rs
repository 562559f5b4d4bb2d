//! Devices that are open, and what is kept for each of them.

use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use smallvec::SmallVec;
use warpfold::{
    Buffer, Device, Stream,
    device::{DeviceError, DeviceInfo, Kernel},
};

use crate::{
    array::RawStream,
    dtype::{ALL, Dtype},
    error::raise,
};

use super::{
    Failure,
    calls::{MadeRows, MadeWhole, Rows, Segments, Whole},
    context::{beside_captures, with_context},
    finish,
    kernels::{self, KERNELS, Reduction},
    pairs::{self, Pairs},
    session::{Key, Session},
};

/// A device that is open, with the kernels and streams that were used.
pub(crate) struct Target {
    pub(super) device: Device,
    /// The number of the GPU; `None` for the simulator.
    pub(crate) ordinal: Option<u32>,
    finish: OnceLock<Kernel>,
    guard: OnceLock<Kernel>,
    wholes: Table<Box<dyn Whole>>,
    rows: Table<Box<dyn Rows>>,
    made_wholes: Table<Option<Box<dyn MadeWhole>>>,
    made_rows: Table<Option<Box<dyn MadeRows>>>,
    segments: Table<Box<dyn Segments>>,
    pairs: Vec<OnceLock<Box<dyn Pairs>>>,
    sessions: Mutex<SmallVec<[(Key, &'static Session); 4]>>,
}

/// The GPUs by their numbers.
const MOST: usize = 64;
static GPUS: [OnceLock<Target>; MOST] = [const { OnceLock::new() }; MOST];
static SIMULATOR: OnceLock<Target> = OnceLock::new();

/// The value of a cell, which `make` makes if there is none, even while the caller captures a
/// graph. Two threads may both make one.
fn get_or_make<T, E>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let made = beside_captures(make)?;
    Ok(cell.get_or_init(|| made))
}

/// A reducer of each operation for each type of elements, made when it is first wanted.
struct Table<R> {
    cells: Vec<OnceLock<R>>,
    make: fn(&Device, Reduction, Dtype) -> Result<R, Failure>,
}

impl<R> Table<R> {
    fn new(make: fn(&Device, Reduction, Dtype) -> Result<R, Failure>) -> Self {
        Self { cells: (0..KERNELS * ALL.len()).map(|_| OnceLock::new()).collect(), make }
    }

    fn get(&self, device: &Device, kernel: Reduction, dtype: Dtype) -> Result<&R, Failure> {
        let cell = &self.cells[kernel as usize * ALL.len() + dtype as usize];
        get_or_make(cell, || (self.make)(device, kernel, dtype))
    }
}

/// The GPU with this number.
pub(crate) fn of(ordinal: u32) -> Result<&'static Target, DeviceError> {
    let Some(cell) = GPUS.get(ordinal as usize) else {
        return Err(DeviceError::NoCuda { reason: format!("there is no GPU {ordinal}") });
    };
    get_or_make(cell, || Ok(Target::new(Device::cuda(ordinal)?)))
}

/// The simulator, which all calls of the process share.
pub(crate) fn simulator() -> &'static Target {
    SIMULATOR.get_or_init(|| Target::new(Device::simulator()))
}

impl Target {
    pub(super) fn new(device: Device) -> Self {
        Self {
            ordinal: device.info().ordinal,
            device,
            finish: OnceLock::new(),
            guard: OnceLock::new(),
            wholes: Table::new(kernels::whole),
            rows: Table::new(kernels::rows),
            made_wholes: Table::new(kernels::made_whole),
            made_rows: Table::new(kernels::made_rows),
            segments: Table::new(kernels::segments),
            pairs: ALL.iter().map(|_| OnceLock::new()).collect(),
            sessions: Mutex::new(SmallVec::new()),
        }
    }

    /// The kernel that makes results of raw results.
    pub(super) fn finish(&self) -> Result<&Kernel, Failure> {
        Ok(get_or_make(&self.finish, || {
            let text = finish::results(self.device.info().compute_capability);
            self.device.load("finish_results", text)?.kernel("finish_results")
        })?)
    }

    /// The kernel that zeroes a workspace which wrong segments may have left dirty.
    pub(super) fn guard(&self) -> Result<&Kernel, Failure> {
        Ok(get_or_make(&self.guard, || {
            self.device.load("finish_error", finish::ERROR)?.kernel("finish_error")
        })?)
    }

    pub(super) fn whole(&self, kernel: Reduction, dtype: Dtype) -> Result<&dyn Whole, Failure> {
        Ok(&**self.wholes.get(&self.device, kernel, dtype)?)
    }

    pub(super) fn rows(&self, kernel: Reduction, dtype: Dtype) -> Result<&dyn Rows, Failure> {
        Ok(&**self.rows.get(&self.device, kernel, dtype)?)
    }

    /// The reducer whose kernel makes results, if the library has one.
    pub(super) fn made_whole(
        &self,
        kernel: Reduction,
        dtype: Dtype,
    ) -> Result<Option<&dyn MadeWhole>, Failure> {
        Ok(self.made_wholes.get(&self.device, kernel, dtype)?.as_deref())
    }

    /// As [`made_whole`](Self::made_whole), for rows.
    pub(super) fn made_rows(
        &self,
        kernel: Reduction,
        dtype: Dtype,
    ) -> Result<Option<&dyn MadeRows>, Failure> {
        Ok(self.made_rows.get(&self.device, kernel, dtype)?.as_deref())
    }

    /// What is kept for a stream of the caller.
    pub(crate) fn session(&self, stream: RawStream) -> Result<&'static Session, Failure> {
        let key = Key::new(stream);
        let lock = || self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().iter().find(|entry| entry.0 == key) {
            return Ok(found.1);
        }
        let made = Session::new(self, key)?;
        let mut sessions = lock();
        // Another thread may have been faster.
        if let Some(found) = sessions.iter().find(|entry| entry.0 == key) {
            return Ok(found.1);
        }
        let kept = &*Box::leak(Box::new(made));
        sessions.push((key, kept));
        Ok(kept)
    }

    /// The device's own stream, for arrays that are copied there.
    pub(crate) fn own_session(&self) -> Result<&'static Session, Failure> {
        self.session(RawStream(usize::MAX))
    }

    pub(super) fn segments(
        &self,
        kernel: Reduction,
        dtype: Dtype,
    ) -> Result<&dyn Segments, Failure> {
        Ok(&**self.segments.get(&self.device, kernel, dtype)?)
    }

    pub(super) fn pairs(&self, dtype: Dtype) -> Result<&dyn Pairs, Failure> {
        let cell = &self.pairs[dtype as usize];
        Ok(&**get_or_make(cell, || pairs::make(&self.device, dtype))?)
    }

    pub(super) fn own_stream(&self) -> Result<Stream, DeviceError> {
        self.device.own_stream()
    }

    /// The facts about the device.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Waits for all work of the device.
    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        self.device.synchronize()
    }

    /// Copies bytes to the device.
    pub(crate) fn upload(&self, words: &[u64]) -> Result<Buffer<u64>, DeviceError> {
        self.device.upload(words)
    }

    /// Allocates memory for so many words.
    pub(crate) fn alloc(&self, words: usize) -> Result<Buffer<u64>, DeviceError> {
        self.device.alloc(words)
    }
}

/// Memory of a GPU for an array of this package.
pub(crate) fn buffer(ordinal: u32, words: usize) -> PyResult<Buffer<u64>> {
    with_context(|| of(ordinal)?.device.alloc(words)).map_err(|error| raise(error.into()))
}

/// Copies the words of a buffer to the host, after all work of the GPU.
pub(crate) fn read(ordinal: u32, buffer: &Buffer<u64>) -> PyResult<Vec<u64>> {
    with_context(|| {
        of(ordinal)?.device.synchronize()?;
        buffer.copy_to_host()
    })
    .map_err(|error| raise(error.into()))
}

/// Lets all later work of one stream wait for all earlier work of another one.
pub(crate) fn order(ordinal: u32, first: RawStream, second: RawStream) -> PyResult<()> {
    with_context(|| {
        let target = of(ordinal)?;
        let [first, second] = [target.session(first)?, target.session(second)?];
        Ok(second.wait_for(first)?)
    })
    .map_err(raise)
}
