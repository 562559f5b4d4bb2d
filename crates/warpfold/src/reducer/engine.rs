//! The part of a reducer that does not depend on types: a loaded kernel, and outputs for its
//! results.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    device::{Buffer, Device, Kernel, Stream},
    ptx::EmbeddedKernel,
};

use super::{Error, staging::Staging};

/// The name of a kernel, the compute capability (major, minor) that its PTX is compiled for, and
/// the bytes of a raw result, which differ if the host says how much a kernel writes.
type Key = (&'static str, (u32, u32), usize);

/// The engines that a device has made. Each is found by its [`Key`].
#[derive(Debug, Default)]
pub(super) struct Cache {
    engines: Mutex<HashMap<Key, Arc<Engine>>>,
}

impl Cache {
    /// The engine for a kernel whose raw results take `result_bytes` bytes. The first call inflates
    /// and loads the kernel.
    pub(super) fn engine(
        &self,
        device: &Device,
        kernel: &'static EmbeddedKernel,
        result_bytes: usize,
    ) -> Result<Arc<Engine>, Error> {
        let generation = device.class().capability();
        let mut engines = lock(&self.engines);
        let key = (kernel.name(), generation, result_bytes);
        if let Some(engine) = engines.get(&key) {
            return Ok(Arc::clone(engine));
        }
        let capability = device.info().compute_capability;
        let known = generation.min(capability);
        let Some(text) = kernel.text(known) else {
            return Err(Error::DeviceTooOld { capability, least: kernel.least_capability() });
        };
        let module = device.load(kernel.name(), &text)?;
        let loaded = module.kernel(kernel.name())?;
        let single = kernel.single(known).map(|name| module.kernel(name)).transpose()?;
        let engine = Arc::new(Engine::new(device, loaded, single, result_bytes)?);
        engines.insert(key, Arc::clone(&engine));
        Ok(engine)
    }
}

/// A kernel on a device. An engine must not hold the [`Device`], because the device holds the
/// engine.
#[derive(Debug)]
pub(super) struct Engine {
    kernel: Kernel,
    /// The same reduction for small inputs, or for rows of which each warp has a single tile.
    single: Option<Kernel>,
    /// The device's own stream.
    stream: Stream,
    /// The size of a raw result, which is the same for all operations that share the kernel.
    result_bytes: usize,
    /// Outputs that no call is using, each for one raw result.
    outputs: Mutex<Vec<Buffer<u8>>>,
    /// The streams and page-locked memory for copies from the host, while no call is using them.
    staging: Mutex<Option<Staging>>,
}

impl Engine {
    fn new(
        device: &Device,
        kernel: Kernel,
        single: Option<Kernel>,
        result_bytes: usize,
    ) -> Result<Self, Error> {
        Ok(Self {
            kernel,
            single,
            stream: device.own_stream()?,
            result_bytes,
            outputs: Mutex::new(vec![device.alloc(result_bytes)?]),
            staging: Mutex::default(),
        })
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn single(&self) -> Option<&Kernel> {
        self.single.as_ref()
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn result_bytes(&self) -> usize {
        self.result_bytes
    }

    /// Calls `launch` with the address of an output, waits for the raw result, and passes its bytes
    /// to `read`.
    pub(super) fn with_output<R>(
        &self,
        device: &Device,
        launch: &dyn Fn(u64) -> Result<(), Error>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let output = self.begin(device, launch)?;
        self.end(output, read)
    }

    /// Calls `launch` with the address of an output, and returns the output without waiting.
    pub(super) fn begin(
        &self,
        device: &Device,
        launch: &dyn Fn(u64) -> Result<(), Error>,
    ) -> Result<Buffer<u8>, Error> {
        let output = lock(&self.outputs).pop();
        let output = match output {
            Some(output) => output,
            None => device.alloc(self.result_bytes)?,
        };
        launch(output.address())?;
        Ok(output)
    }

    /// Waits for the raw result that a launch leaves in `output`, and passes its bytes to `read`.
    pub(super) fn end<R>(
        &self,
        output: Buffer<u8>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let bytes = output.copy_to_host()?;
        // After an error the output is dropped instead, and the drop waits for work that may still
        // write to the output.
        lock(&self.outputs).push(output);
        Ok(read(&bytes))
    }

    /// Like [`end`](Self::end), for a launch on `stream`, without waiting for other streams.
    pub(super) fn end_on<R>(
        &self,
        output: Buffer<u8>,
        stream: &Stream,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let mut bytes = vec![0; output.len()];
        // SAFETY: the launch writes the whole output.
        unsafe { stream.read_waiting(output.address(), &mut bytes)? };
        lock(&self.outputs).push(output);
        Ok(read(&bytes))
    }

    /// The streams and page-locked memory for copies from the host: those of an earlier call, or
    /// new ones.
    pub(super) fn take_staging(&self, device: &Device) -> Result<Staging, Error> {
        let staging = lock(&self.staging).take();
        staging.map_or_else(|| Staging::new(device), Ok)
    }

    /// Keeps `staging` for a later call.
    pub(super) fn keep_staging(&self, staging: Staging) {
        *lock(&self.staging) = Some(staging);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
