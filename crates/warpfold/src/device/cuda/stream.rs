//! Streams, events and graphs, and launches on streams.

use std::{
    any::Any,
    ffi::{c_uint, c_void},
    ptr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use smallvec::SmallVec;

use super::{
    super::{
        Arg, DeviceError, LaunchShape,
        backend::{BackendEvent, BackendGraph, BackendStream, LoadedKernel, Purpose},
    },
    Gpu,
    driver::{self, LaunchAttribute, LaunchConfig, check, check_with},
    module::GpuKernel,
};

/// Arguments of a launch for which nothing is allocated.
const INLINE_ARGS: usize = 16;

/// The stream of the plain copies, which waits for all that is not `CU_STREAM_NON_BLOCKING` and is waited for by it.
pub(super) const LEGACY_STREAM: *mut c_void = ptr::null_mut();

#[derive(Debug)]
pub(super) struct GpuStream {
    raw: *mut c_void,
    /// Whether it is destroyed with this.
    owned: bool,
    gpu: Arc<Gpu>,
}

// SAFETY: cuda.h's handles of streams may be used by any thread, and by several at once.
unsafe impl Send for GpuStream {}
// SAFETY: as above.
unsafe impl Sync for GpuStream {}

impl Drop for GpuStream {
    fn drop(&mut self) {
        if self.owned && self.gpu.make_current().is_ok() {
            // SAFETY: made by `open`, and used by nobody any more.
            let _ = unsafe { driver::cuStreamDestroy_v2(self.raw) };
        }
    }
}

impl GpuStream {
    pub(super) fn open(gpu: Arc<Gpu>, purpose: Purpose) -> Result<Self, DeviceError> {
        /// `CU_STREAM_DEFAULT` and `CU_STREAM_NON_BLOCKING`.
        const FLAGS: [c_uint; 2] = [0, 1];

        // A stream that captures must have nothing to do with the legacy stream, or the plain copies of other threads
        // would end the capture.
        let flags = FLAGS[usize::from(purpose == Purpose::Capture)];
        gpu.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        check(unsafe { driver::cuStreamCreateWithPriority(&raw mut raw, flags, 0) }, "open a stream")?;
        Ok(Self { raw, owned: true, gpu })
    }

    /// # Safety
    ///
    /// `raw` is a stream that outlives the result.
    pub(super) unsafe fn adopt(gpu: Arc<Gpu>, raw: *mut c_void) -> Result<Self, DeviceError> {
        gpu.make_current()?;
        let mut context = ptr::null_mut();
        // SAFETY: the caller's promise; the pointer is to a live variable.
        check(unsafe { driver::cuStreamGetCtx(raw, &raw mut context) }, "adopt a CUDA stream")?;
        if context != gpu.context.as_raw().cast() {
            return Err(DeviceError::OtherDevice("stream"));
        }
        Ok(Self { raw, owned: false, gpu })
    }

    /// A launch that is more than a grid of blocks.
    fn launch_with_attributes(&self, kernel: &GpuKernel, shape: LaunchShape, parameters: &[*mut c_void]) -> c_uint {
        let attribute =
            |wanted, id, words| LaunchAttribute::new(if wanted { id } else { LaunchAttribute::IGNORE }, words);
        let attributes = [
            attribute(shape.cooperative, LaunchAttribute::COOPERATIVE, [1, 0, 0]),
            attribute(shape.cluster > 1, LaunchAttribute::CLUSTER_DIMENSION, [shape.cluster, 1, 1]),
            attribute(shape.overlap, LaunchAttribute::PROGRAMMATIC_STREAM_SERIALIZATION, [1, 0, 0]),
        ];
        let config = LaunchConfig {
            grid: [shape.grid.x, shape.grid.y, shape.grid.z],
            block: [shape.block.x, shape.block.y, shape.block.z],
            shared_bytes: shape.shared_bytes,
            stream: self.raw,
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as c_uint,
        };
        // SAFETY: as for a plain launch; the configuration and its attributes outlive the call.
        unsafe { driver::cuLaunchKernelEx(&raw const config, kernel.function(), parameters.as_ptr(), ptr::null()) }
    }
}

impl BackendStream for GpuStream {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for the range, and the caller's for the bytes.
        let code = unsafe { driver::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.raw) };
        check(code, "copy to the device")
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: as above.
        let code = unsafe { driver::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, bytes.len(), self.raw) };
        check(code, "copy from the device")
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for both ranges.
        let code = unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.raw) };
        check(code, "copy on the device")
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for the range.
        let code = unsafe { driver::cuMemsetD8Async(address, byte, bytes as usize, self.raw) };
        check(code, "fill memory of the device")
    }

    unsafe fn launch(
        &self,
        kernel: &Arc<dyn LoadedKernel>,
        mut shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let kernel: &GpuKernel = (&**kernel as &dyn Any).downcast_ref().expect("the kernels of a GPU are its own");
        self.gpu.make_current()?;
        // Little-endian, as every host with CUDA: a narrower value is the first bytes of the wider one.
        let mut values: SmallVec<[u64; INLINE_ARGS]> = args.iter().map(|arg| arg.bits()).collect();
        let pointers: SmallVec<[*mut c_void; INLINE_ARGS]> =
            values.iter_mut().map(|value| ptr::from_mut(value).cast()).collect();
        kernel.allow_shared(shape.shared_bytes)?;
        shape.overlap &= self.gpu.overlaps();
        let code = if shape.cooperative || shape.cluster > 1 || shape.overlap {
            self.launch_with_attributes(kernel, shape, &pointers)
        } else {
            let LaunchShape { grid, block, shared_bytes, .. } = shape;
            // SAFETY: there is one pointer for each parameter, to at least as many bytes as it takes (`Device` has checked
            // both), and the driver reads them before it returns. What the kernel does with addresses stays within the
            // memory of the GPU.
            unsafe {
                driver::cuLaunchKernel(
                    kernel.function(),
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    self.raw,
                    pointers.as_ptr(),
                    ptr::null(),
                )
            }
        };
        check_with(code, || format!("launch {}", kernel.name))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: the stream lives.
        check(unsafe { driver::cuStreamSynchronize(self.raw) }, "finish the work on the device")
    }

    fn new_event(&self) -> Result<Box<dyn BackendEvent>, DeviceError> {
        Ok(Box::new(GpuEvent::new(&self.gpu)?))
    }

    fn record(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError> {
        let event: &GpuEvent = (&*event as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        event.record(self.raw)
    }

    fn wait(&self, event: &dyn BackendEvent) -> Result<(), DeviceError> {
        let event: &GpuEvent = (event as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        self.gpu.make_current()?;
        // SAFETY: both live.
        check(unsafe { driver::cuStreamWaitEvent(self.raw, event.raw, 0) }, "wait for another stream")
    }

    fn begin_capture(&self) -> Result<(), DeviceError> {
        /// `CU_STREAM_CAPTURE_MODE_RELAXED`: the driver refuses nothing else meanwhile. What cannot be recorded is refused
        /// before it comes here, and what is dropped meanwhile must be freed.
        const RELAXED: c_uint = 2;
        const FUNCTIONS: [&str; 4] =
            ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"];

        if let Some(function) = FUNCTIONS.into_iter().find(|function| !cuda_driver::has(function)) {
            let action = "capture a graph".to_owned();
            return Err(DeviceError::DriverLacks { action, what: "CUDA graphs", function });
        }
        self.gpu.make_current()?;
        // SAFETY: the stream lives.
        check(unsafe { driver::cuStreamBeginCapture_v2(self.raw, RELAXED) }, "capture a graph")
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, DeviceError> {
        self.gpu.make_current()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream captures; the pointer is to a live variable.
        check(unsafe { driver::cuStreamEndCapture(self.raw, &raw mut graph) }, "capture a graph")?;
        let mut exec = ptr::null_mut();
        // SAFETY: the graph was made by the call above; the pointer is to a live variable.
        let code = unsafe { driver::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) };
        // SAFETY: made above, and used by nobody: what was instantiated has a copy.
        let _ = unsafe { driver::cuGraphDestroy(graph) };
        check(code, "instantiate a graph")?;
        Ok(Box::new(GpuGraph { exec: Mutex::new(Exec(exec)), gpu: Arc::clone(&self.gpu) }))
    }

    fn launch_graph(&self, graph: &dyn BackendGraph) -> Result<(), DeviceError> {
        let graph: &GpuGraph = (graph as &dyn Any).downcast_ref().expect("the graphs of a GPU are its own");
        self.gpu.make_current()?;
        let exec = graph.exec.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both live, and no other thread uses the graph.
        check(unsafe { driver::cuGraphLaunch(exec.0, self.raw) }, "launch a graph")
    }

    fn raw(&self) -> Option<*mut c_void> {
        Some(self.raw)
    }
}

/// A `CUevent` that nobody uses.
#[derive(Debug)]
pub(super) struct SpareEvent(pub(super) *mut c_void);

// SAFETY: as for streams.
unsafe impl Send for SpareEvent {}

#[derive(Debug)]
pub(super) struct GpuEvent {
    raw: *mut c_void,
    gpu: Arc<Gpu>,
}

// SAFETY: as for streams.
unsafe impl Send for GpuEvent {}
// SAFETY: as above.
unsafe impl Sync for GpuEvent {}

impl Drop for GpuEvent {
    fn drop(&mut self) {
        // Its next use may come before what was recorded with it has happened: the driver then forgets that.
        self.gpu.events().push(SpareEvent(self.raw));
    }
}

impl GpuEvent {
    /// A new one, or one that was dropped before: making one may take as long as a short kernel.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self, DeviceError> {
        let mut raw = ptr::null_mut();
        if let Some(SpareEvent(spare)) = gpu.events().pop() {
            raw = spare;
        } else {
            gpu.make_current()?;
            // SAFETY: the pointer is to a live variable.
            check(unsafe { driver::cuEventCreate(&raw mut raw, 0) }, "make an event")?;
        }
        Ok(Self { raw, gpu: Arc::clone(gpu) })
    }

    pub(super) fn record(&self, stream: *mut c_void) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: both live, and belong to the same context.
        check(unsafe { driver::cuEventRecord(self.raw, stream) }, "record an event")
    }
}

impl BackendEvent for GpuEvent {
    fn synchronize(&self) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: it lives.
        check(unsafe { driver::cuEventSynchronize(self.raw) }, "finish the work on the device")
    }

    fn elapsed_since(&self, earlier: &dyn BackendEvent) -> Result<Duration, DeviceError> {
        let earlier: &Self = (earlier as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both live and have been recorded with their times; the pointer is to a live variable.
        let code = unsafe { driver::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) };
        check(code, "read the clock of the device")?;
        // Negative for an event that came before.
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

/// A `CUgraphExec`.
#[derive(Debug)]
struct Exec(*mut c_void);

// SAFETY: any thread may use one, though not two at once: it is behind a mutex.
unsafe impl Send for Exec {}

#[derive(Debug)]
pub(super) struct GpuGraph {
    exec: Mutex<Exec>,
    gpu: Arc<Gpu>,
}

impl BackendGraph for GpuGraph {}

impl Drop for GpuGraph {
    fn drop(&mut self) {
        if self.gpu.make_current().is_ok() {
            let exec = self.exec.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: made by `end_capture`, and used by nobody any more. Launches that are under way end first.
            let _ = unsafe { driver::cuGraphExecDestroy(exec.0) };
        }
    }
}
