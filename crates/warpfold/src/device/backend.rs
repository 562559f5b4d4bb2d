//! The traits that each backend implements. The types of the parent module check their arguments
//! before they call a backend.

use std::{
    any::Any,
    ffi::c_void,
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

#[cfg(all(feature = "simulator", feature = "testing"))]
use super::instrument::Observation;
use super::{
    Arg, DeviceError, DeviceInfo, LaunchShape,
    ipc::HANDLE_BYTES,
    peers::{FailedAt, Link},
};

/// The purpose for which a stream is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Work that is ordered with the plain copies of [`Backend`].
    Work,
    /// Recording a graph. Other threads may go on using the device meanwhile.
    Capture,
}

/// One of several launches of [`BackendStream::launch_together`].
pub(super) struct BackendLaunch<'a> {
    pub(super) stream: &'a dyn BackendStream,
    pub(super) kernel: &'a Arc<dyn LoadedKernel>,
    pub(super) shape: LaunchShape,
    pub(super) args: &'a [Arg],
}

/// The operations of one kind of device, in bytes and addresses. Every address comes from `alloc`,
/// and every range lies within one allocation, because [`Buffer`](super::Buffer) and
/// [`View`](super::View) check it.
pub(super) trait Backend: Any + fmt::Debug + Send + Sync {
    fn info(&self) -> DeviceInfo;
    fn free_memory(&self) -> Result<u64, DeviceError>;
    /// Allocates `bytes`, at least 1, and returns the address; `None` if there is too little
    /// memory.
    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError>;
    /// Lets the kernels of this device use the memory of `peer`, if the machine can do so, and
    /// returns how they reach it.
    fn reach(&self, peer: &dyn Backend) -> Result<Link, DeviceError>;
    /// As [`alloc`](Self::alloc), for memory that kernels of `peers` use too. These devices reach
    /// this one.
    fn alloc_for_peers(
        &self,
        peers: &[&dyn Backend],
        bytes: u64,
    ) -> Result<Option<u64>, DeviceError>;
    /// Frees the memory, after the work that uses it has ended.
    fn free(&self, address: u64);
    /// Copies `bytes` from the host to `address`. This function and the three below are the plain
    /// copies: each runs after all earlier work of every stream, and before all later work.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError>;
    fn load(
        self: Arc<Self>,
        name: &str,
        image: &[u8],
    ) -> Result<Arc<dyn LoadedModule>, DeviceError>;
    /// Waits for all streams.
    fn synchronize(self: Arc<Self>) -> Result<(), DeviceError>;
    /// Registers a flag that ends a running launch once it is true. A device that cannot end a
    /// launch ignores the flag.
    fn interrupt_by(&self, _interrupt: &'static AtomicBool) {}
    /// Allocates `bytes` of page-locked host memory, at least 1; every byte is 0.
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;
    /// Frees `memory`, which `alloc_pinned` returned for this number of bytes.
    fn free_pinned(&self, memory: *mut u8, bytes: usize);
    fn open_stream(
        self: Arc<Self>,
        purpose: Purpose,
    ) -> Result<Box<dyn BackendStream>, DeviceError>;
    /// Wraps a `CUstream` that other code has made. Dropping the result does not destroy it.
    ///
    /// # Safety
    ///
    /// `stream` is a `CUstream` that outlives the result.
    unsafe fn adopt_stream(
        self: Arc<Self>,
        _stream: *mut c_void,
    ) -> Result<Box<dyn BackendStream>, DeviceError> {
        Err(DeviceError::NotCuda("adopt a CUDA stream"))
    }
    /// Whether the address lies in memory that kernels of this device may use.
    fn holds(&self, address: u64) -> bool;
    /// Makes the context of the device current in this thread, for a library that uses it.
    #[cfg(feature = "cuda")]
    fn make_current(&self) -> Result<(), DeviceError> {
        Ok(())
    }
    /// A handle by which other processes open memory that `alloc` has returned.
    fn export(&self, _address: u64) -> Result<[u8; HANDLE_BYTES], DeviceError> {
        Err(DeviceError::NotCuda("share memory with other processes"))
    }
    /// Opens memory of another process to the kernels of this device, and returns its address.
    fn open_exported(&self, _handle: [u8; HANDLE_BYTES]) -> Result<u64, DeviceError> {
        Err(DeviceError::NotCuda("open memory of another process"))
    }
    /// Closes memory at an address that `open_exported` has returned, which no work uses any more.
    fn close_exported(&self, _address: u64) {}
    /// The identity of a GPU; `None` for other devices.
    fn uuid(&self) -> Option<[u8; 16]> {
        None
    }
    /// Whether `_context`, which is a live `CUcontext`, is the context of this device's work.
    #[cfg(feature = "cudarc")]
    fn is_context(&self, _context: *mut c_void) -> bool {
        false
    }
    #[cfg(all(feature = "simulator", feature = "testing"))]
    /// The observations of the instruments since the last call; empty for a device without
    /// instruments.
    fn take_observations(&self) -> Vec<Observation> {
        Vec::new()
    }
}

/// A queue of work. Its work runs in order, and may run at the same time as the work of other
/// streams. Every kernel, event and graph that it gets comes from the same backend.
pub(super) trait BackendStream: Any + fmt::Debug + Send + Sync {
    /// Adds a copy of `bytes` from the host to `address`.
    ///
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and nobody writes
    /// them.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Adds a copy from `address` to `bytes` on the host.
    ///
    /// # Safety
    ///
    /// Until the next `synchronize` has returned, the bytes stay where they are and nobody reads or
    /// writes them.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;
    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError>;
    /// Launches a kernel. The caller has checked that the device allows the shape and that the
    /// arguments fit the parameters.
    ///
    /// # Safety
    ///
    /// The contract is that of [`Device::launch`](super::Device::launch).
    unsafe fn launch(
        &self,
        kernel: &Arc<dyn LoadedKernel>,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError>;
    /// Launches kernels of different devices of one kind, which may wait for each other. `self` is
    /// the stream of the first launch. An error names the launch that failed.
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch), with the memory of all these devices.
    unsafe fn launch_together(&self, launches: &[BackendLaunch<'_>]) -> Result<(), FailedAt>;
    fn synchronize(&self) -> Result<(), DeviceError>;
    /// Makes an event that is not recorded yet.
    fn new_event(&self) -> Result<Box<dyn BackendEvent>, DeviceError>;
    fn record(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError>;
    /// Makes all later work of this stream wait for the event.
    fn wait(&self, event: &dyn BackendEvent) -> Result<(), DeviceError>;
    /// Begins to record copies within the device, fills and launches, on a stream that was opened
    /// for [`Purpose::Capture`]. Until `end_capture`, the caller calls only `copy`, `fill` and
    /// `launch`.
    fn begin_capture(&self) -> Result<(), DeviceError>;
    /// Ends the capture and returns the recorded work.
    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, DeviceError>;
    fn launch_graph(&self, graph: &dyn BackendGraph) -> Result<(), DeviceError>;
    /// Whether other code has begun a capture on this stream.
    fn is_capturing(&self) -> Result<bool, DeviceError> {
        Ok(false)
    }
    /// The `CUstream`; `None` on a backend without CUDA.
    fn raw(&self) -> Option<*mut c_void> {
        None
    }
}

/// A point in the work of a stream, fixed by recording the event.
pub(super) trait BackendEvent: Any + fmt::Debug + Send + Sync {
    /// Waits until the work before the event has ended.
    fn synchronize(&self) -> Result<(), DeviceError>;
    /// Whether the work before the event has ended.
    #[cfg(feature = "cuda")]
    fn is_over(&self) -> Result<bool, DeviceError>;
    /// Waits for both events and returns the time from `earlier` to this event.
    fn elapsed_since(&self, earlier: &dyn BackendEvent) -> Result<Duration, DeviceError>;
}

/// Recorded work. Its launches run one after another, even on different streams.
pub(super) trait BackendGraph: Any + fmt::Debug + Send + Sync {}

pub(super) trait LoadedModule: fmt::Debug + Send + Sync {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError>;
}

pub(super) trait LoadedKernel: Any + fmt::Debug + Send + Sync {
    /// The size of each parameter, in bytes.
    fn parameters(&self) -> &[usize];
    /// The bytes of shared memory that each block has apart from dynamic shared memory.
    fn static_shared_bytes(&self) -> u32;
    /// The number of blocks that one multiprocessor holds at once, if each block has `threads`
    /// threads and `shared_bytes` bytes of dynamic shared memory.
    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError>;
    /// Refuses a kind of launch (with clusters, or cooperative) that the device cannot do at any
    /// size.
    fn check_launch(&self, shape: LaunchShape) -> Result<(), DeviceError>;
}
