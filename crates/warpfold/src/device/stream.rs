//! Streams. The work of one stream runs in order; the work of different streams may run at the same
//! time.

use std::{
    any::Any,
    ffi::c_void,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use super::{
    Arg, Core, DeviceError, Event, Kernel, LaunchShape, Pod, View, ViewMut,
    allocation::Allocation,
    backend::{BackendEvent, BackendGraph, BackendStream, LoadedKernel, Purpose},
    clean::CleanMark,
    faults::Call,
    view::check_len,
};

/// Bytes of a [stream's workspace](Stream::workspace).
pub const WORKSPACE_BYTES: u64 = 4 << 20;

/// A queue of work. Its work runs in the order of the calls, and may run at the same time as the
/// work of other streams. [`Device::stream`](super::Device::stream) makes one. A stream is `Send`
/// and `Sync`, and keeps its device alive.
///
/// # The order of work
///
/// The launches and copies of one stream run one after another. Those of two streams may run at the
/// same time, unless one stream [waits](Self::wait_for) for the other. The plain copies of
/// [`Buffer`](super::Buffer)s run after all earlier work and before all later work of every stream,
/// so no buffer is read or freed too early. A stream that was
/// [adopted](super::Device::adopt_stream) lacks this order if it was made with
/// `CU_STREAM_NON_BLOCKING`.
///
/// Dropping a stream waits for its work. On the simulator, each call that adds work runs it before
/// the call returns.
///
/// ```
/// use warpfold::device::{Arg, Device, DeviceError, LaunchShape};
/// # const FILL: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/device/fill.ptx"));
///
/// let device = Device::auto()?;
/// let data = device.alloc::<u32>(256)?;
/// let kernel = device.load("fill.ptx", FILL)?.kernel("fill")?;
/// let stream = device.stream()?;
/// let args = [Arg::Pointer(data.address()), Arg::U32(7)];
/// // SAFETY: each of the 256 threads writes one of the 256 values of a live buffer.
/// unsafe { stream.launch(&kernel, LaunchShape::linear(1, 256, 0), &args)? };
/// stream.synchronize()?;
/// assert_eq!(data.copy_to_host()?, [7; 256]);
/// # Ok::<(), DeviceError>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    pub(super) queue: Arc<Queue>,
    workspace: u64,
}

/// The queue of work behind a [`Stream`]. Several streams can be handles of one queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: Box<dyn BackendStream>,
    pub(super) core: Arc<Core>,
    /// The address of the workspace, which is allocated when the queue first needs it.
    workspace: OnceLock<u64>,
    clean: CleanMark,
    /// The objects that the recorded work needs; `None` for a queue that does not record.
    recorded: Option<Mutex<Needs>>,
    /// The cudarc stream that this queue has adopted, if any. The queue keeps it alive. Other code
    /// may begin a capture on it without telling this crate.
    #[cfg(feature = "cudarc")]
    pub(super) lender: Option<Arc<cudarc::driver::CudaStream>>,
}

/// The objects that recorded work needs to be launched again: its kernels, and the memory whose
/// addresses safe calls have recorded.
#[derive(Debug, Default)]
pub(super) struct Needs {
    kernels: Vec<Arc<dyn LoadedKernel>>,
    allocations: Vec<Arc<Allocation>>,
    /// What else must live as long, because it keeps memory of other processes open.
    others: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Dropping the stream waits, because its work still uses the workspace, and because later
        // work must not overtake work of a destroyed stream. An error here belongs to an earlier
        // launch, and the next call of the device reports it too.
        let _ = self.stream.synchronize();
        if let Some(&workspace) = self.workspace.get() {
            self.core.free(workspace);
        }
    }
}

impl Queue {
    /// Makes a queue without a workspace. [`Stream::new`] adds the workspace.
    pub(super) fn new(core: &Arc<Core>, stream: Box<dyn BackendStream>, purpose: Purpose) -> Self {
        Self {
            stream,
            core: Arc::clone(core),
            workspace: OnceLock::new(),
            clean: CleanMark::default(),
            recorded: (purpose == Purpose::Capture).then(Mutex::default),
            #[cfg(feature = "cudarc")]
            lender: None,
        }
    }

    /// Opens a stream of the device and makes a queue of it.
    pub(super) fn open(core: &Arc<Core>, purpose: Purpose) -> Result<Self, DeviceError> {
        const ACTION: &str = "open a stream";
        core.refuse_in_capture(ACTION)?;
        core.enter(Call::Other, || ACTION.to_owned())?;
        Ok(Self::new(core, Arc::clone(&core.backend).open_stream(purpose)?, purpose))
    }

    /// The address of the workspace. The first call allocates it and gives the stream the work of
    /// zeroing it. If other code captures the stream, another stream zeroes the workspace, because
    /// work that is captured does not run now.
    fn prepare_workspace(&self) -> Result<u64, DeviceError> {
        if let Some(&address) = self.workspace.get() {
            return Ok(address);
        }
        let address = self.core.alloc(WORKSPACE_BYTES.into())?;
        if let Err(error) = self.zero_first(address) {
            self.core.free(address);
            return Err(error);
        }
        let first = *self.workspace.get_or_init(|| address);
        if first != address {
            // Another thread has set the address first, so this allocation is not needed.
            self.core.free(address);
        }
        Ok(first)
    }

    /// Zeroes a workspace that no launch has used, by work of this stream or of another one.
    fn zero_first(&self, workspace: u64) -> Result<(), DeviceError> {
        #[cfg(feature = "cudarc")]
        self.refuse_foreign_capture("allocate a workspace")?;
        if !self.stream.is_capturing()? {
            return self.fill(workspace, WORKSPACE_BYTES, 0);
        }
        let other = Self::open(&self.core, Purpose::Work)?;
        other.fill(workspace, WORKSPACE_BYTES, 0)?;
        other.stream.synchronize()
    }

    /// Zeroes the workspace of `owner`, which is this queue or the queue of a graph, and waits
    /// until it is zeroed. Before that, it waits for all earlier work, because a launch on another
    /// stream may still use the workspace. This function is called only after a failed launch, so
    /// it may be slow.
    fn zero_workspace(&self, owner: &Self) -> Result<(), DeviceError> {
        let Some(&workspace) = owner.workspace.get() else { return Ok(()) };
        if self.recorded.is_some() {
            // A queue that records has run no launch, so its workspace is still as clean as when it
            // was made.
            return Ok(());
        }
        Arc::clone(&self.core.backend).synchronize()?;
        self.stream.synchronize()?;
        self.fill(workspace, WORKSPACE_BYTES, 0)?;
        self.stream.synchronize()
    }

    /// Launches a kernel, whose shape and arguments the caller has checked, on a clean workspace.
    ///
    /// # Safety
    ///
    /// The contract is that of [`Stream::launch`].
    pub(super) unsafe fn launch(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        #[cfg(feature = "cudarc")]
        self.refuse_foreign_capture("launch a kernel")?;
        self.core.enter(Call::Launch, || format!("launch {}", kernel.name()))?;
        self.note_kernel(kernel);
        // SAFETY: the caller's promise.
        self.on_clean_workspace(
            |error| error,
            || unsafe { self.stream.launch(&kernel.loaded, shape, args) },
        )
    }

    /// Calls `launch`, before which the workspace is zeroed if an earlier launch may have left it
    /// dirty. `failed` makes an error of that of zeroing.
    pub(super) fn on_clean_workspace<E>(
        &self,
        failed: impl FnOnce(DeviceError) -> E,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.clean.launch(|| self.zero_workspace(self).map_err(failed), launch)
    }

    /// Launches a graph on this queue. The graph's workspace belongs to `owner`.
    pub(super) fn launch_graph(
        &self,
        graph: &dyn BackendGraph,
        owner: &Self,
    ) -> Result<(), DeviceError> {
        const ACTION: &str = "launch a graph";
        self.refuse_if_captured(ACTION)?;
        self.core.enter(Call::Launch, || ACTION.to_owned())?;
        owner.clean.launch(|| self.zero_workspace(owner), || self.stream.launch_graph(graph))
    }

    /// If this queue records a graph, lets the graph keep the kernel alive.
    pub(super) fn note_kernel(&self, kernel: &Kernel) {
        if let Some(mut needs) = self.needs() {
            needs.kernels.push(Arc::clone(&kernel.loaded));
        }
    }

    /// If this queue records a graph, lets the graph keep `allocation` alive.
    pub(super) fn retain(&self, allocation: &Arc<Allocation>) {
        if let Some(mut needs) = self.needs() {
            needs.allocations.push(Arc::clone(allocation));
        }
    }

    /// If this queue records a graph, lets the graph keep something else alive.
    pub(super) fn retain_other(&self, other: Arc<dyn Any + Send + Sync>) {
        if let Some(mut needs) = self.needs() {
            needs.others.push(other);
        }
    }

    fn needs(&self) -> Option<MutexGuard<'_, Needs>> {
        self.recorded.as_ref().map(|needs| needs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        #[cfg(feature = "cudarc")]
        self.refuse_foreign_capture("fill memory of the device")?;
        self.core.enter(Call::Copy, || "fill memory of the device".to_owned())?;
        if bytes == 0 { Ok(()) } else { self.stream.fill(address, bytes, byte) }
    }

    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        const ACTION: &str = "wait for a stream";
        self.refuse_if_captured(ACTION)?;
        self.core.refuse_in_capture(ACTION)?;
        self.core.enter(Call::Other, || ACTION.to_owned())?;
        self.stream.synchronize()
    }

    pub(super) fn record(&self) -> Result<Event, DeviceError> {
        let mut event = self.stream.new_event()?;
        self.record_in(&mut *event)?;
        Ok(Event { event, core: Arc::clone(&self.core) })
    }

    fn record_in(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError> {
        const ACTION: &str = "record an event";
        self.refuse_if_captured(ACTION)?;
        self.core.enter(Call::Other, || ACTION.to_owned())?;
        self.stream.record(event)
    }

    /// Calls `work` and returns the time from the start to the end of the work that it gives to
    /// this stream.
    pub(super) fn time<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<Duration, E> {
        // Both events are made before the measurement, because making one may take as long as a
        // short kernel on a GPU.
        let [mut start, mut end] = [self.stream.new_event()?, self.stream.new_event()?];
        self.record_in(&mut *start)?;
        work()?;
        self.record_in(&mut *end)?;
        Ok(end.elapsed_since(&*start)?)
    }

    /// Refuses an action that cannot be recorded if this queue records, whichever thread calls.
    pub(super) fn refuse_if_captured(&self, action: &'static str) -> Result<(), DeviceError> {
        #[cfg(feature = "cudarc")]
        self.refuse_foreign_capture(action)?;
        if self.recorded.is_some() { Err(DeviceError::Capturing { action }) } else { Ok(()) }
    }

    /// Takes the objects that the recorded work needs.
    pub(super) fn take_needs(&self) -> Needs {
        self.needs().map(|mut needs| std::mem::take(&mut *needs)).unwrap_or_default()
    }
}

impl Stream {
    /// Makes a handle of `queue`, and gives the queue a workspace if it has none.
    pub(super) fn new(queue: Arc<Queue>) -> Result<Self, DeviceError> {
        let workspace = queue.prepare_workspace()?;
        Ok(Self { queue, workspace })
    }

    /// The device address of this stream's own workspace, which has [`WORKSPACE_BYTES`] bytes. The
    /// stream zeroes the workspace before the first launch. A kernel that uses the workspace must
    /// leave it zeroed. After a launch that failed or was interrupted, the stream zeroes the
    /// workspace again before the next launch.
    ///
    /// No other stream and no graph has the same workspace, so kernels that run at the same time on
    /// different streams never share one.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let (one, other) = (device.stream()?, device.stream()?);
    /// assert_ne!(one.workspace(), other.workspace());
    /// assert_eq!(device.own_stream()?.workspace(), device.own_stream()?.workspace());
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn workspace(&self) -> u64 {
        self.workspace
    }

    /// Adds a launch to the stream, as [`Device::launch`](super::Device::launch) adds one to the
    /// device's own stream. The host does not wait, and it allocates nothing for a kernel of up to
    /// 64 parameters.
    ///
    /// # Safety
    ///
    /// The contract is that of [`Device::launch`](super::Device::launch). If the stream captures,
    /// the contract holds for each launch of the graph: the memory that the kernel reads and writes
    /// must live as long as the graph is launched, because a graph does not know which memory
    /// belongs to a raw address.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::launch`](super::Device::launch).
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        self.queue.core.check_launchable(kernel, shape, args)?;
        // SAFETY: the caller's promise.
        unsafe { self.queue.launch(kernel, shape, args) }
    }

    /// Refuses `action` if this stream records a graph, because the graph could not keep the memory
    /// of the action alive.
    #[cfg(feature = "cuda")]
    pub(crate) fn refuse_in_capture(&self, action: &'static str) -> Result<(), DeviceError> {
        self.queue.refuse_if_captured(action)
    }

    /// Has the workspace zeroed before the next launch, because a kernel may have left words in it.
    pub(crate) fn distrust_workspace(&self) {
        self.queue.clean.distrust();
    }

    /// Lets the graph that this stream records, if any, keep the memory of a view alive.
    pub(crate) fn retain<T: Pod>(&self, view: View<'_, T>) {
        self.queue.retain(view.allocation());
    }

    /// Adds a copy within the device, from a buffer or view to another one.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the lengths differ; [`DeviceError::OtherDevice`] if a buffer
    /// belongs to another device; or an error of the driver.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let stream = device.stream()?;
    /// let source = device.upload(&[1u32, 2, 3])?;
    /// let mut target = device.alloc::<u32>(2)?;
    /// stream.copy(source.view(1..), &mut target)?;
    /// assert_eq!(target.copy_to_host()?, [2, 3]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn copy<'a, 'b, T: Pod>(
        &self,
        source: impl Into<View<'a, T>>,
        target: impl Into<ViewMut<'b, T>>,
    ) -> Result<(), DeviceError> {
        let (source, target) = (source.into(), target.into());
        check_len(source.len(), target.len())?;
        let core = &self.queue.core;
        core.check_own(source.core(), "buffer")?;
        core.check_own(target.core(), "buffer")?;
        #[cfg(feature = "cudarc")]
        self.queue.refuse_foreign_capture("copy on the device")?;
        core.enter(Call::Copy, || "copy on the device".to_owned())?;
        match source.bytes() {
            0 => Ok(()),
            bytes => {
                self.queue.retain(source.allocation());
                self.queue.retain(target.allocation());
                self.queue.stream.copy(source.address(), target.address(), bytes)
            }
        }
    }

    /// Adds the work of setting every byte of a buffer or a view to `byte`.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if the buffer belongs to another device; or an error of the
    /// driver.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let stream = device.stream()?;
    /// let mut buffer = device.alloc::<u8>(3)?;
    /// let time = stream.time(|| stream.fill_bytes(&mut buffer, 7))?;
    /// println!("{time:?}");
    /// assert_eq!(buffer.copy_to_host()?, [7; 3]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn fill_bytes<'a, T: Pod>(
        &self,
        target: impl Into<ViewMut<'a, T>>,
        byte: u8,
    ) -> Result<(), DeviceError> {
        let target = target.into();
        self.queue.core.check_own(target.core(), "buffer")?;
        self.queue.retain(target.allocation());
        self.queue.fill(target.address(), target.as_view().bytes(), byte)
    }

    /// Adds a copy of `values` from the host. If they lie in page-locked memory (a
    /// [`PinnedBuffer`](super::PinnedBuffer)), they are copied while the host goes on. For other
    /// memory, the driver first copies them to page-locked memory.
    ///
    /// # Safety
    ///
    /// Until [`synchronize`](Self::synchronize) has returned, or until a [wait for an
    /// event](Event::synchronize) that was recorded after this call has returned, the values stay
    /// where they are and nobody overwrites them.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Length`] if the lengths differ; [`DeviceError::OtherDevice`] if the buffer
    /// belongs to another device; [`DeviceError::Capturing`] if this stream captures; or an error
    /// of the driver.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let stream = device.stream()?;
    /// let mut pinned = device.alloc_pinned::<u32>(2)?;
    /// pinned.copy_from_slice(&[1, 2]);
    /// let mut buffer = device.alloc::<u32>(3)?;
    /// // SAFETY: the values live, unchanged, until the stream is done.
    /// unsafe { stream.copy_from_host(&pinned, buffer.view_mut(1..))? };
    /// stream.synchronize()?;
    /// assert_eq!(buffer.view(1..).copy_to_host()?, [1, 2]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub unsafe fn copy_from_host<'a, T: Pod>(
        &self,
        values: &[T],
        target: impl Into<ViewMut<'a, T>>,
    ) -> Result<(), DeviceError> {
        let target = target.into();
        check_len(values.len(), target.len())?;
        self.queue.core.check_own(target.core(), "buffer")?;
        // SAFETY: the caller's promise.
        unsafe { self.queue.write(target.address(), bytemuck::cast_slice(values)) }
    }

    /// Adds a copy to `values` on the host. If they lie in page-locked memory (a
    /// [`PinnedBuffer`](super::PinnedBuffer)), they are written while the host goes on. For other
    /// memory, the driver may wait.
    ///
    /// # Safety
    ///
    /// Until [`synchronize`](Self::synchronize) has returned, or until a [wait for an
    /// event](Event::synchronize) that was recorded after this call has returned, the memory of
    /// `values` stays where it is and nobody else reads or writes it.
    ///
    /// # Errors
    ///
    /// The errors of [`copy_from_host`](Self::copy_from_host).
    pub unsafe fn copy_to_host<'a, T: Pod>(
        &self,
        source: impl Into<View<'a, T>>,
        values: &mut [T],
    ) -> Result<(), DeviceError> {
        let source = source.into();
        check_len(source.len(), values.len())?;
        self.queue.core.check_own(source.core(), "buffer")?;
        // SAFETY: the caller's promise.
        unsafe { self.queue.read(source.address(), bytemuck::cast_slice_mut(values)) }
    }

    /// Waits for all work of this stream.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch; [`DeviceError::Capturing`] if this stream captures, or if this
    /// thread captures a graph on any stream of the device; or an error of the driver.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.queue.synchronize()
    }

    /// Makes all later work of this stream wait for all earlier work of `other`. The host does not
    /// wait.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if `other` belongs to another device;
    /// [`DeviceError::Capturing`] if one of the streams captures; or an error of the driver.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let (producer, consumer) = (device.stream()?, device.stream()?);
    /// let (mut buffer, mut copy) = (device.alloc::<u8>(4)?, device.alloc::<u8>(4)?);
    /// producer.fill_bytes(&mut buffer, 7)?;
    /// consumer.wait_for(&producer)?;
    /// consumer.copy(&buffer, &mut copy)?;
    /// assert_eq!(copy.copy_to_host()?, [7; 4]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn wait_for(&self, other: &Self) -> Result<(), DeviceError> {
        self.queue.core.check_own(&other.queue.core, "stream")?;
        self.wait_for_event(&other.record()?)
    }

    /// Makes all later work of this stream wait for the event. The host does not wait.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if the event belongs to another device;
    /// [`DeviceError::Capturing`] if this stream captures; or an error of the driver.
    pub fn wait_for_event(&self, event: &Event) -> Result<(), DeviceError> {
        const ACTION: &str = "wait for another stream";
        self.queue.refuse_if_captured(ACTION)?;
        self.queue.core.check_own(&event.core, "event")?;
        self.queue.core.enter(Call::Other, || ACTION.to_owned())?;
        self.queue.stream.wait(&*event.event)
    }

    /// Records an event: the end of all work that was added to this stream so far.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Capturing`] if this stream captures; or an error of the driver.
    pub fn record(&self) -> Result<Event, DeviceError> {
        self.queue.record()
    }

    /// Calls `work` and returns the time from the start to the end of the work that it adds to this
    /// stream. A GPU measures the time by events, and the simulator by the wall clock. The call
    /// waits for the end of the work.
    ///
    /// # Errors
    ///
    /// The error that `work` returns, or an error of the driver.
    pub fn time<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<Duration, E> {
        self.queue.time(work)
    }

    /// The `CUstream` of this stream, to which other code can add work; `None` on the simulator.
    /// The pointer is valid as long as this stream lives.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// assert!(Device::simulator().stream()?.raw().is_none());
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn raw(&self) -> Option<*mut c_void> {
        self.queue.stream.raw()
    }
}

impl Queue {
    /// Adds a copy of `bytes` from the host to `address`.
    ///
    /// # Safety
    ///
    /// The contract is that of [`BackendStream::write`].
    pub(super) unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        const ACTION: &str = "copy to the device";
        self.refuse_if_captured(ACTION)?;
        self.core.enter(Call::Copy, || ACTION.to_owned())?;
        // SAFETY: the caller's promise.
        if bytes.is_empty() { Ok(()) } else { unsafe { self.stream.write(address, bytes) } }
    }

    /// Adds a copy from `address` to `bytes` on the host.
    ///
    /// # Safety
    ///
    /// The contract is that of [`BackendStream::read`].
    pub(super) unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        const ACTION: &str = "copy from the device";
        self.refuse_if_captured(ACTION)?;
        self.core.enter(Call::Copy, || ACTION.to_owned())?;
        // SAFETY: the caller's promise.
        if bytes.is_empty() { Ok(()) } else { unsafe { self.stream.read(address, bytes) } }
    }
}
