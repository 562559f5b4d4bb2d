//! What each kind of device does itself. The types of the parent module check what they are given and then call these.

use std::{
    any::Any,
    ffi::c_void,
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

#[cfg(all(feature = "simulator", feature = "testing"))]
use super::instrument::Observation;
use super::{Arg, DeviceError, DeviceInfo, LaunchShape};

/// What a stream is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Work, ordered with the plain copies of [`Backend`].
    Work,
    /// Recording a graph, beside whatever other threads do meanwhile.
    Capture,
}

/// What a kind of device does, in bytes and addresses. Addresses come from `alloc`, and ranges lie within one
/// allocation: [`Buffer`](super::Buffer) and [`View`](super::View) see to that.
pub(super) trait Backend: fmt::Debug + Send + Sync {
    fn info(&self) -> DeviceInfo;
    fn free_memory(&self) -> Result<u64, DeviceError>;
    /// `bytes` is at least 1; `None` if there is not that much memory.
    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError>;
    /// Waits for the work that uses the memory.
    fn free(&self, address: u64);
    /// The plain copies come after all earlier work of every stream, and before all later work.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError>;
    fn load(self: Arc<Self>, name: &str, image: &[u8]) -> Result<Arc<dyn LoadedModule>, DeviceError>;
    /// Waits for all streams.
    fn synchronize(self: Arc<Self>) -> Result<(), DeviceError>;
    /// What is to end a launch once it is true; a device that cannot end one goes on.
    fn interrupt_by(&self, _interrupt: &'static AtomicBool) {}
    /// `bytes` is at least 1. All of them are 0.
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;
    /// What `alloc_pinned` gave for so many bytes.
    fn free_pinned(&self, memory: *mut u8, bytes: usize);
    fn open_stream(self: Arc<Self>, purpose: Purpose) -> Result<Box<dyn BackendStream>, DeviceError>;
    /// # Safety
    ///
    /// `stream` is a `CUstream` that outlives the result.
    unsafe fn adopt_stream(self: Arc<Self>, _stream: *mut c_void) -> Result<Box<dyn BackendStream>, DeviceError> {
        Err(DeviceError::NotCuda("adopt a CUDA stream"))
    }
    /// Whether the address lies in memory that kernels of this device may use.
    fn holds(&self, address: u64) -> bool;
    /// Whether this `CUcontext`, which lives, is the one that all of this device's work is in.
    #[cfg(feature = "cudarc")]
    fn is_context(&self, _context: *mut c_void) -> bool {
        false
    }
    #[cfg(all(feature = "simulator", feature = "testing"))]
    /// What instruments saw since the last call; a device without instruments saw nothing.
    fn take_observations(&self) -> Vec<Observation> {
        Vec::new()
    }
}

/// Work in order, beside that of other streams. All that it is given comes from the same backend.
pub(super) trait BackendStream: Any + fmt::Debug + Send + Sync {
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and are not written.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and nobody reads or writes them.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError>;
    /// The shape is one that the device allows, the arguments fit the parameters.
    ///
    /// # Safety
    ///
    /// As [`Device::launch`](super::Device::launch).
    unsafe fn launch(
        &self,
        kernel: &Arc<dyn LoadedKernel>,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError>;
    fn synchronize(&self) -> Result<(), DeviceError>;
    /// An event that was not recorded yet.
    fn new_event(&self) -> Result<Box<dyn BackendEvent>, DeviceError>;
    fn record(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError>;
    /// What is given to this stream from now on waits for the event.
    fn wait(&self, event: &dyn BackendEvent) -> Result<(), DeviceError>;
    /// Copies within the device, fills and launches are recorded from now on, and nothing else is asked for. On a stream
    /// that was opened for it.
    fn begin_capture(&self) -> Result<(), DeviceError>;
    /// What was recorded.
    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, DeviceError>;
    fn launch_graph(&self, graph: &dyn BackendGraph) -> Result<(), DeviceError>;
    /// Whether other code has begun a capture on this stream.
    #[cfg(feature = "cudarc")]
    fn is_capturing(&self) -> Result<bool, DeviceError> {
        Ok(false)
    }
    /// The `CUstream`, where there is one.
    fn raw(&self) -> Option<*mut c_void> {
        None
    }
}

/// A moment in a stream's work, once it was recorded.
pub(super) trait BackendEvent: Any + fmt::Debug + Send + Sync {
    /// Waits for it.
    fn synchronize(&self) -> Result<(), DeviceError>;
    /// Waits for both.
    fn elapsed_since(&self, earlier: &dyn BackendEvent) -> Result<Duration, DeviceError>;
}

/// Recorded work. Its launches come one after another, on whichever streams they are.
pub(super) trait BackendGraph: Any + fmt::Debug + Send + Sync {}

pub(super) trait LoadedModule: fmt::Debug + Send + Sync {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError>;
}

pub(super) trait LoadedKernel: Any + fmt::Debug + Send + Sync {
    /// Size of each parameter, in bytes.
    fn parameters(&self) -> &[usize];
    /// Blocks of so many threads and bytes of dynamic shared memory that one multiprocessor holds at once.
    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError>;
    /// Whether launches of such a shape are possible at all, whatever their size.
    fn check_launch(&self, shape: LaunchShape) -> Result<(), DeviceError>;
}
