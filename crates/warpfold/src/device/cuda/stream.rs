//! Streams, events and graphs of a GPU, and launches on its streams.

use std::{
    any::Any,
    ffi::{c_uint, c_void},
    mem::MaybeUninit,
    ptr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cuda_driver::{
    CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_NONE,
    CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING, CUDA_ERROR_NOT_READY, CUDA_KERNEL_NODE_PARAMS_v1,
    CUevent, CUfunction, CUgraphExec, CUgraphNode, CUlaunchAttribute, CUlaunchConfig, CUresult,
    CUstream,
};
use smallvec::SmallVec;

use super::{
    super::{
        Arg, DeviceError, LaunchShape, Overlap,
        backend::{
            BackendEvent, BackendGraph, BackendLaunch, BackendStream, LoadedKernel, Purpose,
        },
        peers::FailedAt,
    },
    Gpu,
    driver::{check, check_with},
    module::GpuKernel,
};

/// The greatest number of arguments with which a launch allocates nothing on the host.
const INLINE_ARGS: usize = 64;

/// The legacy default stream, on which the plain copies run. It waits for every stream that was not
/// made with `CU_STREAM_NON_BLOCKING`, and those streams wait for it.
pub(super) const LEGACY_STREAM: CUstream = ptr::null_mut();

#[derive(Debug)]
pub(super) struct GpuStream {
    raw: CUstream,
    /// Whether dropping this value destroys the stream.
    owned: bool,
    gpu: Arc<Gpu>,
}

// SAFETY: any thread may use a `CUstream`, and several threads at once.
unsafe impl Send for GpuStream {}
// SAFETY: as above.
unsafe impl Sync for GpuStream {}

impl Drop for GpuStream {
    fn drop(&mut self) {
        if self.owned && self.gpu.make_current().is_ok() {
            // SAFETY: `open` made the stream, and nobody uses it any more.
            let _ = unsafe { self.gpu.driver.cuStreamDestroy_v2(self.raw) };
        }
    }
}

impl GpuStream {
    pub(super) fn open(gpu: Arc<Gpu>, purpose: Purpose) -> Result<Self, DeviceError> {
        // A stream that captures must not be ordered with the legacy stream, because the plain
        // copies of other threads would then end the capture.
        let flags =
            if purpose == Purpose::Capture { CU_STREAM_NON_BLOCKING } else { CU_STREAM_DEFAULT };
        gpu.make_current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        let code = unsafe { gpu.driver.cuStreamCreateWithPriority(&raw mut raw, flags, 0) };
        check(code, "open a stream")?;
        Ok(Self { raw, owned: true, gpu })
    }

    /// Wraps a stream that other code has made. Dropping the result does not destroy the stream.
    ///
    /// # Safety
    ///
    /// `raw` is a stream that outlives the result.
    pub(super) unsafe fn adopt(gpu: Arc<Gpu>, raw: CUstream) -> Result<Self, DeviceError> {
        gpu.make_current()?;
        let mut context = ptr::null_mut();
        // SAFETY: the caller's promise; the pointer is to a live variable.
        check(unsafe { gpu.driver.cuStreamGetCtx(raw, &raw mut context) }, "adopt a CUDA stream")?;
        if context != gpu.context.as_raw() {
            return Err(DeviceError::OtherDevice("stream"));
        }
        Ok(Self { raw, owned: false, gpu })
    }

    /// Whether the next launch on this stream, which is one of `kernel`, may begin early.
    fn overlaps(&self, kernel: &GpuKernel, overlap: Overlap) -> bool {
        if overlap == Overlap::Never || !self.gpu.overlaps() {
            return false;
        }
        let Some(last) = self.last_captured() else { return true };
        let mut overlapping = self.gpu.overlapping();
        overlapping.insert(kernel.function().addr());
        overlap == Overlap::Always || overlapping.contains(&last.addr())
    }

    /// The kernel on which the next node will depend, if this stream captures. It is null if there
    /// is no such kernel, or not one alone. `None` if the stream does not capture, or if the driver
    /// cannot tell.
    fn last_captured(&self) -> Option<CUfunction> {
        let driver = self.gpu.driver;
        let (info, params) =
            (driver.cuStreamGetCaptureInfo_v2?, driver.cuGraphKernelNodeGetParams?);
        let (mut status, mut count) = (CU_STREAM_CAPTURE_STATUS_NONE, 0);
        let (mut id, mut graph) = (0, ptr::null_mut());
        let mut nodes: *const CUgraphNode = ptr::null();
        // SAFETY: the stream lives, and the pointers are to live variables.
        let code = unsafe {
            info(
                self.raw,
                &raw mut status,
                &raw mut id,
                &raw mut graph,
                &raw mut nodes,
                &raw mut count,
            )
        };
        if code != 0 || status != CU_STREAM_CAPTURE_STATUS_ACTIVE {
            return None;
        }
        if count != 1 {
            return Some(ptr::null_mut());
        }
        let mut last = MaybeUninit::<CUDA_KERNEL_NODE_PARAMS_v1>::uninit();
        // SAFETY: the driver has given an array of one node, which lives until the next call on
        // this stream. The pointer is to a live variable. The driver refuses nodes of other kinds.
        let code = unsafe { params(*nodes, last.as_mut_ptr()) };
        // SAFETY: the driver has filled the structure if it reports no error.
        Some(if code == 0 { unsafe { last.assume_init() }.func } else { ptr::null_mut() })
    }

    /// Launches a kernel with attributes: a cluster, a cooperative launch, or overlap.
    fn launch_with_attributes(
        &self,
        kernel: &GpuKernel,
        shape: LaunchShape,
        overlaps: bool,
        parameters: &mut [*mut c_void],
    ) -> CUresult {
        let attribute =
            |wanted, attribute| if wanted { attribute } else { CUlaunchAttribute::ignored() };
        let mut attributes = [
            attribute(shape.cooperative, CUlaunchAttribute::cooperative(true)),
            attribute(shape.cluster > 1, CUlaunchAttribute::cluster_dimension(shape.cluster, 1, 1)),
            attribute(overlaps, CUlaunchAttribute::programmatic_stream_serialization(true)),
        ];
        let config = CUlaunchConfig {
            gridDimX: shape.grid.x,
            gridDimY: shape.grid.y,
            gridDimZ: shape.grid.z,
            blockDimX: shape.block.x,
            blockDimY: shape.block.y,
            blockDimZ: shape.block.z,
            sharedMemBytes: shape.shared_bytes,
            hStream: self.raw,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        let (function, parameters) = (kernel.function(), parameters.as_mut_ptr());
        // SAFETY: the contract of a plain launch holds; the configuration and its attributes
        // outlive the call.
        unsafe {
            self.gpu.driver.cuLaunchKernelEx(
                &raw const config,
                function,
                parameters,
                ptr::null_mut(),
            )
        }
    }
}

impl BackendStream for GpuStream {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for the range, and the caller's for the bytes.
        let code = unsafe {
            self.gpu.driver.cuMemcpyHtoDAsync_v2(
                address,
                bytes.as_ptr().cast(),
                bytes.len(),
                self.raw,
            )
        };
        check(code, "copy to the device")
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: as above.
        let code = unsafe {
            self.gpu.driver.cuMemcpyDtoHAsync_v2(
                bytes.as_mut_ptr().cast(),
                address,
                bytes.len(),
                self.raw,
            )
        };
        check(code, "copy from the device")
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for both ranges.
        let code =
            unsafe { self.gpu.driver.cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.raw) };
        check(code, "copy on the device")
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: `Backend`'s contract for the range.
        let code =
            unsafe { self.gpu.driver.cuMemsetD8Async(address, byte, bytes as usize, self.raw) };
        check(code, "fill memory of the device")
    }

    unsafe fn launch(
        &self,
        kernel: &Arc<dyn LoadedKernel>,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let kernel: &GpuKernel =
            (&**kernel as &dyn Any).downcast_ref().expect("the kernels of a GPU are its own");
        self.gpu.make_current()?;
        // Every host with CUDA is little-endian, so the first bytes of a 64-bit word hold a
        // narrower value.
        let mut values: SmallVec<[u64; INLINE_ARGS]> = args.iter().map(|arg| arg.bits()).collect();
        let mut pointers: SmallVec<[*mut c_void; INLINE_ARGS]> =
            values.iter_mut().map(|value| ptr::from_mut(value).cast()).collect();
        kernel.allow_shared(shape.shared_bytes)?;
        let overlaps = self.overlaps(kernel, shape.overlap);
        let code = if shape.cooperative || shape.cluster > 1 || overlaps {
            self.launch_with_attributes(kernel, shape, overlaps, &mut pointers)
        } else {
            let LaunchShape { grid, block, shared_bytes, .. } = shape;
            // SAFETY: there is one pointer for each parameter, to at least as many bytes as the
            // parameter has (`Core` has checked both), and the driver reads them before it returns.
            // The caller promises that the kernel uses addresses correctly.
            unsafe {
                self.gpu.driver.cuLaunchKernel(
                    kernel.function(),
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    self.raw,
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
        };
        check_with(code, || format!("launch {}", kernel.name))
    }

    unsafe fn launch_together(&self, launches: &[BackendLaunch<'_>]) -> Result<(), FailedAt> {
        // The GPUs run the kernels at the same time, because no launch waits for a kernel.
        launches.iter().enumerate().try_for_each(|(number, launch)| {
            // SAFETY: the caller's promise.
            unsafe { launch.stream.launch(launch.kernel, launch.shape, launch.args) }
                .map_err(FailedAt::number(number))
        })
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: the stream lives.
        check(
            unsafe { self.gpu.driver.cuStreamSynchronize(self.raw) },
            "finish the work on the device",
        )
    }

    fn new_event(&self) -> Result<Box<dyn BackendEvent>, DeviceError> {
        Ok(Box::new(GpuEvent::new(&self.gpu)?))
    }

    fn record(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError> {
        let event: &GpuEvent =
            (&*event as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        event.record(self.raw)
    }

    fn wait(&self, event: &dyn BackendEvent) -> Result<(), DeviceError> {
        let event: &GpuEvent =
            (event as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        self.gpu.make_current()?;
        // SAFETY: both live.
        check(
            unsafe { self.gpu.driver.cuStreamWaitEvent(self.raw, event.raw, 0) },
            "wait for another stream",
        )
    }

    fn begin_capture(&self) -> Result<(), DeviceError> {
        let driver = self.gpu.driver;
        let functions = [
            ("cuStreamBeginCapture_v2", driver.cuStreamBeginCapture_v2.is_some()),
            ("cuStreamEndCapture", driver.cuStreamEndCapture.is_some()),
            ("cuGraphInstantiateWithFlags", driver.cuGraphInstantiateWithFlags.is_some()),
            ("cuGraphLaunch", driver.cuGraphLaunch.is_some()),
        ];
        if let Some((function, _)) = functions.into_iter().find(|(_, there)| !there) {
            let action = "capture a graph".to_owned();
            return Err(DeviceError::DriverLacks { action, what: "CUDA graphs", function });
        }
        self.gpu.make_current()?;
        // In relaxed mode the driver refuses nothing else during the capture. This crate itself
        // refuses the calls that cannot be recorded before they come here. Memory that is dropped
        // during the capture must still be freed, which a stricter mode could refuse.
        // SAFETY: the stream lives.
        let code =
            unsafe { driver.cuStreamBeginCapture_v2(self.raw, CU_STREAM_CAPTURE_MODE_RELAXED) };
        check(code, "capture a graph")
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, DeviceError> {
        self.gpu.make_current()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream captures; the pointer is to a live variable.
        let code = unsafe { self.gpu.driver.cuStreamEndCapture(self.raw, &raw mut graph) };
        check(code, "capture a graph")?;
        let mut exec = ptr::null_mut();
        // SAFETY: the graph was made by the call above; the pointer is to a live variable.
        let code = unsafe { self.gpu.driver.cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) };
        // SAFETY: the graph was made above and nobody uses it, because the instantiated graph has
        // its own copy.
        let _ = unsafe { self.gpu.driver.cuGraphDestroy(graph) };
        check(code, "instantiate a graph")?;
        Ok(Box::new(GpuGraph { exec: Mutex::new(Exec(exec)), gpu: Arc::clone(&self.gpu) }))
    }

    fn launch_graph(&self, graph: &dyn BackendGraph) -> Result<(), DeviceError> {
        let graph: &GpuGraph =
            (graph as &dyn Any).downcast_ref().expect("the graphs of a GPU are its own");
        self.gpu.make_current()?;
        let exec = graph.exec.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both live, and no other thread uses the graph.
        check(unsafe { self.gpu.driver.cuGraphLaunch(exec.0, self.raw) }, "launch a graph")
    }

    fn is_capturing(&self) -> Result<bool, DeviceError> {
        self.gpu.make_current()?;
        let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream lives; the pointer is to a live variable.
        let code = unsafe { self.gpu.driver.cuStreamIsCapturing(self.raw, &raw mut status) };
        check(code, "ask whether a stream captures")?;
        Ok(status != CU_STREAM_CAPTURE_STATUS_NONE)
    }

    fn raw(&self) -> Option<*mut c_void> {
        Some(self.raw.cast())
    }
}

/// A `CUevent` that nobody uses at the moment.
#[derive(Debug)]
pub(super) struct SpareEvent(pub(super) CUevent);

// SAFETY: as for `GpuStream`, any thread may use a `CUevent`.
unsafe impl Send for SpareEvent {}

#[derive(Debug)]
pub(super) struct GpuEvent {
    raw: CUevent,
    gpu: Arc<Gpu>,
}

// SAFETY: as for `GpuStream`, any thread may use a `CUevent`.
unsafe impl Send for GpuEvent {}
// SAFETY: as above.
unsafe impl Sync for GpuEvent {}

impl Drop for GpuEvent {
    fn drop(&mut self) {
        // The event may be recorded again before its last recording has completed; the driver then
        // replaces the old recording.
        self.gpu.events().push(SpareEvent(self.raw));
    }
}

impl GpuEvent {
    /// Reuses an event that was dropped, or makes a new one. Events are reused because making one
    /// may take as long as a short kernel.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self, DeviceError> {
        let mut raw = ptr::null_mut();
        if let Some(SpareEvent(spare)) = gpu.events().pop() {
            raw = spare;
        } else {
            gpu.make_current()?;
            // SAFETY: the pointer is to a live variable.
            check(unsafe { gpu.driver.cuEventCreate(&raw mut raw, 0) }, "make an event")?;
        }
        Ok(Self { raw, gpu: Arc::clone(gpu) })
    }

    pub(super) fn record(&self, stream: CUstream) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: the event and the stream live, and belong to the same context.
        check(unsafe { self.gpu.driver.cuEventRecord(self.raw, stream) }, "record an event")
    }
}

impl BackendEvent for GpuEvent {
    fn synchronize(&self) -> Result<(), DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: the event lives.
        check(
            unsafe { self.gpu.driver.cuEventSynchronize(self.raw) },
            "finish the work on the device",
        )
    }

    fn is_over(&self) -> Result<bool, DeviceError> {
        self.gpu.make_current()?;
        // SAFETY: the event lives.
        match unsafe { self.gpu.driver.cuEventQuery(self.raw) } {
            CUDA_ERROR_NOT_READY => Ok(false),
            code => check(code, "finish the work on the device").map(|()| true),
        }
    }

    fn elapsed_since(&self, earlier: &dyn BackendEvent) -> Result<Duration, DeviceError> {
        let earlier: &Self =
            (earlier as &dyn Any).downcast_ref().expect("the events of a GPU are its own");
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events live and have been recorded, and they measure times; the pointer is
        // to a live variable.
        let code = unsafe {
            self.gpu.driver.cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw)
        };
        check(code, "read the clock of the device")?;
        // The time is negative if `earlier` came later; it then counts as 0.
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

/// A `CUgraphExec`.
#[derive(Debug)]
struct Exec(CUgraphExec);

// SAFETY: any thread may use a `CUgraphExec`, but not two at once, so it is behind a mutex.
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
            // SAFETY: `end_capture` made it, and nobody uses it any more. The driver lets launches
            // in progress end first.
            let _ = unsafe { self.gpu.driver.cuGraphExecDestroy(exec.0) };
        }
    }
}
