//! The part of a device that each of its objects keeps alive: the backend, the count of live
//! allocations, and the planned faults.

use std::{
    cell::Cell,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    Arg, DeviceError, DeviceInfo, Kernel, LaunchShape,
    backend::Backend,
    faults::{Call, Injector},
};

thread_local! {
    /// The core of the device on which this thread is capturing a graph; null if it captures none.
    static CAPTURING: Cell<*const Core> = const { Cell::new(std::ptr::null()) };
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) info: DeviceInfo,
    pub(super) interrupt: OnceLock<&'static AtomicBool>,
    injector: Option<Injector>,
    live: AtomicU64,
    pub(super) backend: Arc<dyn Backend>,
}

impl Core {
    pub(super) fn new(backend: Arc<dyn Backend>, injector: Option<Injector>) -> Arc<Self> {
        let info = backend.info();
        Arc::new(Self {
            info,
            interrupt: OnceLock::new(),
            injector,
            live: AtomicU64::new(0),
            backend,
        })
    }

    /// Counts a call, and refuses it if the plan of faults says so. The text of `action` completes
    /// the sentence "cannot …".
    pub(super) fn enter(
        &self,
        call: Call,
        action: impl FnOnce() -> String,
    ) -> Result<(), DeviceError> {
        match &self.injector {
            None => Ok(()),
            Some(injector) => injector.enter(call, action),
        }
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    pub(super) fn check_own(&self, other: &Self, what: &'static str) -> Result<(), DeviceError> {
        if self.is(other) { Ok(()) } else { Err(DeviceError::OtherDevice(what)) }
    }

    #[cfg(feature = "testing")]
    pub(super) fn live_allocations(&self) -> u64 {
        self.live.load(Relaxed)
    }

    /// Allocates memory and returns its address; 0 if no bytes are requested.
    pub(super) fn alloc(&self, requested: u128) -> Result<u64, DeviceError> {
        self.alloc_by(requested, |bytes| self.backend.alloc(bytes))
    }

    /// As [`alloc`](Self::alloc), for memory that kernels of `peers` use too.
    pub(super) fn alloc_for_peers(
        &self,
        peers: &[&Arc<Self>],
        bytes: u64,
    ) -> Result<u64, DeviceError> {
        let peers: Vec<_> = peers.iter().map(|peer| &*peer.backend).collect();
        self.alloc_by(bytes.into(), |bytes| self.backend.alloc_for_peers(&peers, bytes))
    }

    fn alloc_by(
        &self,
        requested: u128,
        alloc: impl FnOnce(u64) -> Result<Option<u64>, DeviceError>,
    ) -> Result<u64, DeviceError> {
        self.refuse_in_capture("allocate memory")?;
        if requested == 0 {
            return Ok(0);
        }
        let address = match u64::try_from(requested) {
            Ok(bytes) => match self.enter(Call::Alloc, || format!("allocate {bytes} bytes")) {
                Ok(()) => alloc(bytes)?,
                Err(DeviceError::OutOfMemory { .. }) => None,
                Err(error) => return Err(error),
            },
            Err(_) => None,
        };
        let Some(address) = address else {
            return Err(DeviceError::OutOfMemory { requested, free: self.backend.free_memory()? });
        };
        self.live.fetch_add(1, Relaxed);
        Ok(address)
    }

    /// Frees the memory at `address`, which `alloc` returned.
    pub(super) fn free(&self, address: u64) {
        if address != 0 {
            self.backend.free(address);
            self.live.fetch_sub(1, Relaxed);
        }
    }

    pub(super) fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.refuse_in_capture("allocate memory")?;
        self.enter(Call::Alloc, || format!("lock {bytes} bytes of host memory")).map_err(
            |error| match error {
                DeviceError::OutOfMemory { .. } => {
                    DeviceError::OutOfHostMemory { requested: bytes as u128 }
                }
                error => error,
            },
        )?;
        let memory = self.backend.alloc_pinned(bytes)?;
        self.live.fetch_add(1, Relaxed);
        Ok(memory)
    }

    pub(super) fn free_pinned(&self, memory: *mut u8, bytes: usize) {
        self.backend.free_pinned(memory, bytes);
        self.live.fetch_sub(1, Relaxed);
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.enter_copy("copy to the device")?;
        if bytes.is_empty() { Ok(()) } else { self.backend.write(address, bytes) }
    }

    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.enter_copy("copy from the device")?;
        if bytes.is_empty() { Ok(()) } else { self.backend.read(address, bytes) }
    }

    pub(super) fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.enter_copy("copy on the device")?;
        if bytes == 0 { Ok(()) } else { self.backend.copy(from, to, bytes) }
    }

    pub(super) fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.enter_copy("fill memory of the device")?;
        if bytes == 0 { Ok(()) } else { self.backend.fill(address, bytes, byte) }
    }

    fn enter_copy(&self, action: &'static str) -> Result<(), DeviceError> {
        self.refuse_in_capture(action)?;
        self.enter(Call::Copy, || action.to_owned())
    }

    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        const ACTION: &str = "wait for the device";
        self.refuse_in_capture(ACTION)?;
        self.enter(Call::Other, || ACTION.to_owned())?;
        Arc::clone(&self.backend).synchronize()
    }

    /// Refuses a shape that the device does not allow, and arguments that do not fit the kernel's
    /// parameters.
    pub(super) fn check_launchable(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        self.check_own(&kernel.core, "kernel")?;
        let check = |what, value, least, most| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(DeviceError::Shape { kernel: kernel.name().to_owned(), what, value, least, most })
        };
        // CUDA C++ Programming Guide, Technical Specifications per Compute Capability: "Maximum
        // x-dimension of a grid of thread blocks" and the rows that follow it.
        check("grid", shape.grid.x, 1, i32::MAX as u32)?;
        check("grid along y", shape.grid.y, 1, 65_535)?;
        check("grid along z", shape.grid.z, 1, 65_535)?;
        check("block along z", shape.block.z, 1, 64)?;
        let threads = shape.block.count().try_into().unwrap_or(u32::MAX);
        check("block", threads, 1, self.info.max_threads_per_block)?;
        check(
            "dynamic shared memory in bytes",
            shape.shared_bytes,
            0,
            self.info.most_shared_bytes_per_block,
        )?;
        let parameters = kernel.loaded.parameters();
        if !parameters.iter().copied().eq(args.iter().map(|arg| arg.size())) {
            return Err(DeviceError::Arguments {
                kernel: kernel.name().to_owned(),
                parameters: parameters.to_vec(),
                arguments: args.iter().map(|arg| arg.size()).collect(),
            });
        }
        kernel.loaded.check_launch(shape)
    }

    /// Refuses `action` while this thread captures a graph of this device, because the action would
    /// happen once and not in each replay.
    pub(super) fn refuse_in_capture(&self, action: &'static str) -> Result<(), DeviceError> {
        if CAPTURING.get() == std::ptr::from_ref(self) {
            Err(DeviceError::Capturing { action })
        } else {
            Ok(())
        }
    }

    /// Marks this thread as capturing until the returned value is dropped.
    pub(super) fn capturing(&self) -> Result<Capturing, DeviceError> {
        self.refuse_in_capture("capture another graph")?;
        Ok(Capturing { before: CAPTURING.replace(self) })
    }
}

/// The mark that [`Core::capturing`] sets; dropping it clears the mark.
pub(super) struct Capturing {
    before: *const Core,
}

impl Drop for Capturing {
    fn drop(&mut self) {
        CAPTURING.set(self.before);
    }
}
