//! What of a reducer does not depend on types: a loaded kernel, and room for results.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use crate::{
    device::{Buffer, Device, Kernel, Stream},
    ptx::PtxLibrary,
};

use super::{Error, host::Staging, shapes::Machine};

/// The engines that a device has made, by the name of their kernel.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    library: OnceLock<PtxLibrary>,
    engines: Mutex<HashMap<&'static str, Arc<Engine>>>,
}

impl Cache {
    /// The engine for a kernel whose results take so many bytes; the kernel is loaded the first time.
    pub(super) fn engine(
        &self,
        device: &Device,
        kernel: &'static str,
        result_bytes: usize,
    ) -> Result<Arc<Engine>, Error> {
        let mut engines = lock(&self.engines);
        if let Some(engine) = engines.get(kernel) {
            return Ok(Arc::clone(engine));
        }
        let library = if let Some(library) = self.library.get() {
            library
        } else {
            let library = PtxLibrary::open(None)?;
            self.library.get_or_init(|| library)
        };
        let ptx = library.find(kernel, device.info().compute_capability)?;
        let loaded = device.load(&ptx.file, &ptx.text)?.kernel(kernel)?;
        let engine = Arc::new(Engine::new(device, loaded, result_bytes)?);
        engines.insert(kernel, Arc::clone(&engine));
        Ok(engine)
    }
}

/// A kernel on a device. It must not hold the [`Device`], which holds it.
#[derive(Debug)]
pub(super) struct Engine {
    kernel: Kernel,
    /// The device's own.
    stream: Stream,
    machine: Machine,
    /// Operations with the same kernel have results of the same size.
    result_bytes: usize,
    /// Room for results that no call is using.
    rooms: Mutex<Vec<Buffer<u8>>>,
    /// What copies from the host need, if no call is using it.
    staging: Mutex<Option<Staging>>,
}

impl Engine {
    fn new(device: &Device, kernel: Kernel, result_bytes: usize) -> Result<Self, Error> {
        Ok(Self {
            kernel,
            stream: device.own_stream()?,
            machine: Machine::new(device.info()),
            result_bytes,
            rooms: Mutex::new(vec![device.alloc(result_bytes)?]),
            staging: Mutex::default(),
        })
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(super) fn result_bytes(&self) -> usize {
        self.result_bytes
    }

    /// Lets `launch` leave a result at an address of the device, waits for it, and passes its bytes to `read`.
    pub(super) fn with_room<R>(
        &self,
        device: &Device,
        launch: &dyn Fn(u64) -> Result<(), Error>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let room = lock(&self.rooms).pop();
        let room = match room {
            Some(room) => room,
            None => device.alloc(self.result_bytes)?,
        };
        launch(room.address())?;
        let bytes = room.copy_to_host()?;
        // After an error it is dropped instead, which waits for what may still write to it.
        lock(&self.rooms).push(room);
        Ok(read(&bytes))
    }

    /// What copies from the host need: that of an earlier call, or new.
    pub(super) fn take_staging(&self, device: &Device) -> Result<Staging, Error> {
        let staging = lock(&self.staging).take();
        staging.map_or_else(|| Staging::new(device), Ok)
    }

    /// Keeps it for a later call.
    pub(super) fn keep_staging(&self, staging: Staging) {
        *lock(&self.staging) = Some(staging);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
