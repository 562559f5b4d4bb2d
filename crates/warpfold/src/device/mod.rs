//! One interface to the machine that runs the kernels, with two backends: a CUDA GPU, reached
//! through `cust`, and the built-in SIMT simulator.
//!
//! A [`Device`] allocates [`Buffer`]s, loads PTX into [`Module`]s, launches their [`Kernel`]s and
//! measures times. Its calls are ordered as on one CUDA stream: each call sees the effects of all
//! earlier ones. A launch may return before the kernel has ended; a copy to the host waits for the
//! kernel. The work of different [`Stream`]s may run at the same time. A [`Graph`] is recorded work
//! of one stream, which can be launched any number of times.
//!
//! All objects of this module are `Send` and `Sync`. Each of them keeps the device open as long as
//! it lives.
//!
//! ```
//! use warpfold::device::{Arg, Device, DeviceError, LaunchShape};
//!
//! const FILL: &str = "
//!     .version 7.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry fill(.param .u64 data, .param .u32 value) {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         cvta.to.global.u64 %rd1, %rd1;
//!         ld.param.u32 %r1, [value];
//!         mov.u32 %r2, %tid.x;
//!         mul.wide.u32 %rd2, %r2, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         st.global.u32 [%rd3], %r1;
//!         ret;
//!     }";
//!
//! let device = Device::auto()?;
//! let data = device.alloc::<u32>(256)?;
//! let kernel = device.load("fill.ptx", FILL)?.kernel("fill")?;
//! let args = [Arg::Pointer(data.address()), Arg::U32(7)];
//! // SAFETY: each of the 256 threads writes one of the 256 values of a live buffer.
//! unsafe { device.launch(&kernel, LaunchShape::linear(1, 256, 0), &args)? };
//! assert_eq!(data.copy_to_host()?, [7; 256]);
//! # Ok::<(), DeviceError>(())
//! ```

use std::{
    any::Any,
    ffi::c_void,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use self::{
    backend::{Backend, BackendStream, Purpose},
    core::Core,
    faults::{Call, Injector},
    stream::Queue,
};

pub use bytemuck::Pod;

mod allocation;
mod backend;
mod buffer;
mod class;
mod clean;
mod core;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cudarc")]
mod cudarc;
mod error;
mod event;
pub(crate) mod faults;
mod graph;
mod info;
#[cfg(all(feature = "simulator", feature = "testing"))]
pub(crate) mod instrument;
pub(crate) mod ipc;
mod module;
#[cfg_attr(not(feature = "cuda"), path = "no_nccl.rs")]
pub(crate) mod nccl;
pub(crate) mod peers;
mod pinned;
mod scope;
#[cfg(feature = "simulator")]
mod simulator;
mod stream;
mod sync;
#[cfg(feature = "testing")]
mod testing;
mod view;
mod waited;

#[cfg(feature = "cudarc")]
pub(crate) use self::cudarc::Borrowed;
pub use buffer::Buffer;
pub use class::DeviceClass;
#[cfg(feature = "simulator")]
pub use error::SimulatorFault;
pub use error::{DeviceError, ErrorText};
pub use event::Event;
pub use graph::Graph;
pub use info::{DeviceInfo, DeviceKind};
pub use module::{Arg, Dim3, Kernel, LaunchShape, Module, Overlap};
pub use peers::Link;
pub use pinned::PinnedBuffer;
pub use scope::Streams;
pub use stream::{Stream, WORKSPACE_BYTES};
pub use view::{RawSlice, RawSliceMut, View, ViewMut};

/// A GPU or the simulator, ready to work. A device is `Send` and `Sync`. A clone is another handle
/// of the same device.
///
/// Streams, graphs, events, buffers, modules and kernels keep the device open, even if every handle
/// is dropped before them. When the last handle and the last of these objects are dropped, a GPU's
/// primary context is given back to the driver.
#[derive(Clone)]
pub struct Device {
    shared: Arc<Shared>,
    class: DeviceClass,
}

/// The state that all handles of a device share.
struct Shared {
    core: Arc<Core>,
    /// The device's own stream.
    queue: Arc<Queue>,
    /// A value that another module of this crate keeps with the device; see [`Device::attached`].
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
    fallback_note: Option<String>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("info", self.info()).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens the first GPU, or the simulator if there is no GPU. If it opens the simulator,
    /// [`fallback_note`](Self::fallback_note) says why.
    ///
    /// The simulator is used if there is no CUDA driver, if the driver finds no GPU, or if this
    /// crate was built without the feature `cuda`. A driver or a GPU that exists and does not work
    /// is an error instead, because a program that silently runs a thousand times slower helps
    /// nobody.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::auto()?;
    /// assert_eq!(device.upload(&[1, 2, 3])?.copy_to_host()?, [1, 2, 3]);
    /// # Ok::<(), warpfold::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`DeviceError::DriverUnusable`] if there is a driver that cannot be used;
    /// - an error of the driver if the GPU cannot be set up, for example because another process
    ///   uses it exclusively;
    /// - [`DeviceError::NoCuda`] if there is no GPU and this crate was built without the feature
    ///   `simulator`.
    pub fn auto() -> Result<Self, DeviceError> {
        match Self::cuda(0) {
            #[cfg(feature = "simulator")]
            Err(DeviceError::NoCuda { reason }) => Ok(Self::simulated(
                simulator::Simulator::new(),
                Some(format!("using the simulator, because {reason}")),
            )),
            opened => opened,
        }
    }

    /// Opens the GPU number `ordinal`, in the order of the driver, which counts from 0.
    ///
    /// All devices of one ordinal share the GPU's primary context, with each other and with other
    /// libraries of the process that use it.
    ///
    /// ```no_run
    /// use warpfold::Device;
    ///
    /// let second = Device::cuda(1)?;
    /// println!("{}", second.info().name);
    /// # Ok::<(), warpfold::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`DeviceError::NoCuda`] if there is no driver or no such GPU, or if this crate was built
    ///   without the feature `cuda`;
    /// - [`DeviceError::DriverUnusable`] if there is a driver that cannot be used;
    /// - an error of the driver if the GPU cannot be set up.
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        #[cfg(feature = "cuda")]
        {
            let backend = cuda::open(ordinal)?;
            let own = Arc::clone(&backend).open_stream(Purpose::Work)?;
            Ok(Self::new(backend, own, None, None))
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = ordinal;
            Err(DeviceError::NoCuda {
                reason: "this program was built without the feature `cuda` of warpfold".into(),
            })
        }
    }

    /// Opens the simulator. Each call makes a new device with memory of its own.
    ///
    /// ```
    /// use warpfold::{Device, Sum};
    ///
    /// let device = Device::simulator();
    /// assert_eq!(device.reduce(&[1.5f32, 2.0], Sum)?, 3.5);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[cfg(feature = "simulator")]
    pub fn simulator() -> Self {
        Self::simulated(simulator::Simulator::new(), None)
    }

    /// Opens all GPUs of this host, in the order of their ordinals. The result is empty if there is
    /// no driver or no GPU, or if this crate was built without the feature `cuda`.
    ///
    /// ```
    /// use warpfold::{Device, device::DeviceKind};
    ///
    /// for device in Device::all()? {
    ///     println!("{:?}: {}", device.info().ordinal, device.info().name);
    ///     assert_eq!(device.info().kind, DeviceKind::Cuda);
    /// }
    /// # Ok::<(), warpfold::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Device::cuda`] for a driver or a device that exists and does not work.
    pub fn all() -> Result<Vec<Self>, DeviceError> {
        #[cfg(feature = "cuda")]
        match cuda::count() {
            Err(DeviceError::NoCuda { .. }) => Ok(Vec::new()),
            counted => (0..counted?).map(Self::cuda).collect(),
        }
        #[cfg(not(feature = "cuda"))]
        Ok(Vec::new())
    }

    /// Whether both are the same GPU or the same simulator, also if they were opened apart.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let [one, another] = [self, other].map(|device| &device.shared.core);
        let gpu = one.info.ordinal;
        Arc::ptr_eq(&one.backend, &another.backend) || gpu.is_some() && gpu == another.info.ordinal
    }

    #[cfg(feature = "simulator")]
    fn simulated(simulator: simulator::Simulator, fallback_note: Option<String>) -> Self {
        let backend = Arc::new(simulator);
        let own = backend.new_stream();
        Self::new(backend, own, None, fallback_note)
    }

    /// `own` is the device's own stream.
    fn new(
        backend: Arc<dyn Backend>,
        own: Box<dyn BackendStream>,
        injector: Option<Injector>,
        fallback_note: Option<String>,
    ) -> Self {
        let core = Core::new(backend, injector);
        let queue = Arc::new(Queue::new(&core, own, Purpose::Work));
        let class = DeviceClass::of(&core.info);
        Self {
            shared: Arc::new(Shared { core, queue, attached: OnceLock::new(), fallback_note }),
            class,
        }
    }

    /// Registers a flag that ends the work on this device; a handler of Ctrl-C, for example, may
    /// set it. Once the flag is true, the simulator stops in the middle of a launch, which then
    /// fails with [`DeviceError::Interrupted`]. A GPU finishes a launch that has begun.
    ///
    /// A device keeps the first flag and ignores later ones.
    pub fn interrupt_by(&self, interrupt: &'static AtomicBool) {
        let Core { backend, interrupt: first, .. } = &*self.shared.core;
        backend.interrupt_by(first.get_or_init(|| interrupt));
    }

    /// Whether the flag of [`Device::interrupt_by`] is true.
    pub fn is_interrupted(&self) -> bool {
        self.shared.core.interrupt.get().is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// The reason why [`Device::auto`] opened the simulator, in one line. `None` if it opened a
    /// GPU, or if this device was opened in another way.
    pub fn fallback_note(&self) -> Option<&str> {
        self.shared.fallback_note.as_deref()
    }

    /// The facts about this device.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.core.info
    }

    /// The class that decides the order in which the reductions of this handle combine floats.
    pub fn class(&self) -> DeviceClass {
        self.class
    }

    /// Another handle of the same device, whose reductions combine floats in the order of `class`:
    /// they give the bits that a device of that class gives. Both handles share buffers, streams
    /// and loaded kernels.
    ///
    /// A class other than the device's own may be slower, because launches are then shaped for
    /// another device.
    ///
    /// # Errors
    ///
    /// [`DeviceError::ClassTooNew`] if the device cannot run the kernels of the class.
    pub fn with_class(&self, class: DeviceClass) -> Result<Self, DeviceError> {
        let capability = self.info().compute_capability;
        if class.capability() > capability {
            return Err(DeviceError::ClassTooNew { least: class.capability(), capability });
        }
        Ok(Self { shared: Arc::clone(&self.shared), class })
    }

    /// The free global memory, in bytes.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        let core = &self.shared.core;
        core.enter(Call::Other, || "ask for the free memory".to_owned())?;
        core.backend.free_memory()
    }

    /// Allocates a buffer of `len` values without initializing them. The buffer holds the bytes
    /// that were in this memory before, which is valid because every byte pattern is a value of a
    /// `Pod` type. A buffer of length 0 takes no memory.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfMemory`], which says how many bytes were requested and how many are
    /// free; or another error of the driver.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        Buffer::new(&self.shared.core, len)
    }

    /// Waits for all earlier work, and copies `len` values from an address of the device.
    ///
    /// # Safety
    ///
    /// The values are there, and are initialised.
    pub(crate) unsafe fn read_at<T: Pod>(
        &self,
        address: u64,
        len: usize,
    ) -> Result<Vec<T>, DeviceError> {
        let mut values = vec![T::zeroed(); len];
        self.shared.core.read(address, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Allocates page-locked host memory for `len` values. All bytes are 0.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfHostMemory`] if the host cannot lock that much memory; or an error of
    /// the driver.
    pub fn alloc_pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        PinnedBuffer::new(&self.shared.core, len)
    }

    /// Allocates a buffer of the same length as `values` and copies them into it.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::alloc`], or an error of the driver during the copy.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.alloc(values.len())?;
        buffer.copy_from_host(values)?;
        Ok(buffer)
    }

    /// Loads PTX: the driver compiles it, or the simulator parses and validates it. `name` appears
    /// in error messages.
    ///
    /// # Errors
    ///
    /// [`DeviceError::ModuleRefused`] with the driver's JIT log, or [`DeviceError::NotSimulated`]
    /// with the simulator's diagnostic.
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module, DeviceError> {
        self.load_image(name, ptx.as_bytes())
    }

    /// Loads machine code (a cubin for this GPU) or PTX. The simulator loads only PTX. `name`
    /// appears in error messages.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::load`].
    pub fn load_image(&self, name: &str, image: &[u8]) -> Result<Module, DeviceError> {
        let core = &self.shared.core;
        core.enter(Call::Other, || format!("load module {name}"))?;
        let loaded = Arc::clone(&core.backend).load(name, image)?;
        Ok(Module { core: Arc::clone(core), loaded })
    }

    /// Starts a kernel after all earlier work of the device's own stream. On a GPU the call may
    /// return before the kernel ends; a later call, at the latest [`Device::synchronize`], then
    /// reports a fault of the kernel.
    ///
    /// `args` must fit the kernel's parameters in number and width.
    ///
    /// # Safety
    ///
    /// With these arguments and this shape, the kernel reads and writes only live memory of this
    /// device. Until the kernel has ended, nobody else writes the memory that it reads, and nobody
    /// else reads or writes the memory that it writes. The simulator reports an access outside of
    /// all allocations; a GPU may report it, or overwrite other memory of this process.
    ///
    /// # Errors
    ///
    /// - [`DeviceError::Shape`] if the device does not allow the shape;
    /// - [`DeviceError::Arguments`] if the arguments do not fit the parameters;
    /// - [`DeviceError::OtherDevice`] if the kernel belongs to another device;
    /// - [`DeviceError::DriverLacks`] if the driver cannot launch clusters or cooperative grids;
    /// - [`DeviceError::KernelNotSimulated`] if the device is the simulator, and the kernel uses
    ///   something that it does not support;
    /// - a fault of the kernel, or an error of the driver.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let Shared { core, queue, .. } = &*self.shared;
        core.refuse_in_capture("launch on another stream")?;
        core.check_launchable(kernel, shape, args)?;
        // SAFETY: the caller's promise.
        unsafe { queue.launch(kernel, shape, args) }
    }

    /// The number of blocks that one multiprocessor holds at once, if each block has `threads`
    /// threads and `shared_bytes` bytes of dynamic shared memory. This number times the number of
    /// multiprocessors is the largest grid of a cooperative launch. The simulator answers like an
    /// H100 with 32 registers for each thread.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn resident_blocks(
        &self,
        kernel: &Kernel,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32, DeviceError> {
        self.shared.core.check_own(&kernel.core, "kernel")?;
        kernel.loaded.resident_blocks(threads, shared_bytes)
    }

    /// Checks whether the driver has the function that this kind of launch needs, because old
    /// drivers lack the one for clusters and cooperative launches. The numbers of blocks and
    /// threads are not checked. The simulator launches every kind.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverLacks`] if the driver lacks the function for such a launch;
    /// [`DeviceError::OtherDevice`] if the kernel belongs to another device.
    pub fn check_launch(&self, kernel: &Kernel, shape: LaunchShape) -> Result<(), DeviceError> {
        self.shared.core.check_own(&kernel.core, "kernel")?;
        kernel.loaded.check_launch(shape)
    }

    /// Waits for all work of all streams of this device. This includes
    /// [adopted](Self::adopt_stream) streams, unless they were made with `CU_STREAM_NON_BLOCKING`.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch, or an error of the driver.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.shared.core.synchronize()
    }

    /// The identity of this GPU, which is the same in every process. `None` if the driver does not
    /// tell it, and on the simulator.
    pub(crate) fn uuid(&self) -> Option<[u8; 16]> {
        self.shared.core.backend.uuid()
    }

    /// Calls `work` and returns the time from the start to the end of the work that it gives to the
    /// device itself, which is launches, copies and fills. A GPU measures the time by events, and
    /// the simulator by the wall clock. The call waits for the end of the work. It makes no warm-up
    /// run; the caller makes one if the measurement needs it.
    ///
    /// # Errors
    ///
    /// The error that `work` returns, or an error of the driver.
    pub fn time<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<Duration, E> {
        self.shared.queue.time(work)
    }

    /// Opens a [`Stream`] that has a workspace of its own.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfMemory`] if there is no memory for the workspace; or an error of the
    /// driver.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(Arc::new(Queue::open(&self.shared.core, Purpose::Work)?))
    }

    /// The device's own stream, on which [`Device::launch`] works. The first call allocates its
    /// workspace.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::stream`].
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let mut buffer = device.alloc::<u8>(3)?;
    /// device.own_stream()?.fill_bytes(&mut buffer, 7)?;
    /// assert_eq!(buffer.copy_to_host()?, [7; 3]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn own_stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(Arc::clone(&self.shared.queue))
    }

    /// Wraps a `CUstream` that other code, such as `cust`, has made. The work of the returned
    /// [`Stream`] and the work that the other code adds to the `CUstream` run in the order in which
    /// they were added. The returned stream has a workspace of its own. Dropping it waits for its
    /// work but does not destroy the `CUstream`.
    ///
    /// # Safety
    ///
    /// `stream` is a `CUstream` of the device's primary context, or null for the legacy default
    /// stream. It lives until the returned stream is dropped. Other code may capture it: then that
    /// code keeps the memory and the kernels of the captured work, and the returned stream, as long
    /// as its graph. The thread needs the relaxed mode of captures
    /// (`cuThreadExchangeStreamCaptureMode`) until this function returns, because it allocates.
    ///
    /// # Errors
    ///
    /// - [`DeviceError::NotCuda`] if this device is the simulator;
    /// - [`DeviceError::OtherDevice`] if the `CUstream` belongs to another context;
    /// - the errors of [`Device::stream`].
    pub unsafe fn adopt_stream(&self, stream: *mut c_void) -> Result<Stream, DeviceError> {
        const ACTION: &str = "adopt a CUDA stream";
        let core = &self.shared.core;
        core.refuse_in_capture(ACTION)?;
        core.enter(Call::Other, || ACTION.to_owned())?;
        // SAFETY: the caller's promise.
        let stream = unsafe { Arc::clone(&core.backend).adopt_stream(stream)? };
        Stream::new(Arc::new(Queue::new(core, stream, Purpose::Work)))
    }

    /// Calls `work` with a stream that records, and returns the recorded work as a [`Graph`],
    /// together with the value that `work` returns. The recorded work does not run during the
    /// capture.
    ///
    /// Launches, copies within the device and fills can be recorded. Other actions would happen
    /// once and not in each replay of the graph, so while `work` runs, this thread and the
    /// recording stream refuse them with [`DeviceError::Capturing`]: allocations, plain copies,
    /// copies to and from the host, waits, events, launches by [`Device::launch`] and launches of
    /// graphs. Work of other kinds that this thread adds to other streams, and all work of other
    /// threads, runs as usual.
    ///
    /// # Errors
    ///
    /// The error that `work` returns; [`DeviceError::DriverLacks`] if the driver has no graphs; or
    /// an error of the driver. After an error, the capture is ended and the recorded work is
    /// discarded.
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceError};
    ///
    /// let device = Device::simulator();
    /// let mut buffer = device.upload(&[1u8; 3])?;
    /// let (graph, ()) = device.capture(|stream| {
    ///     assert!(matches!(device.synchronize(), Err(DeviceError::Capturing { .. })));
    ///     stream.fill_bytes(&mut buffer, 7)
    /// })?;
    /// assert_eq!(buffer.copy_to_host()?, [1; 3]);
    /// graph.launch(&device.stream()?)?;
    /// assert_eq!(buffer.copy_to_host()?, [7; 3]);
    /// # Ok::<(), DeviceError>(())
    /// ```
    pub fn capture<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce(&Stream) -> Result<R, E>,
    ) -> Result<(Graph, R), E> {
        Graph::capture(&self.shared.core, work)
    }

    /// Refuses an address that belongs to another device, to a context other than the primary one,
    /// or to no allocation.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`] if the address is refused.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let buffer = device.upload(&[1u8, 2, 3])?;
    /// device.check_address(buffer.address() + 2)?;
    /// assert!(device.check_address(buffer.address() + 3).is_err());
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn check_address(&self, address: u64) -> Result<(), DeviceError> {
        let core = &self.shared.core;
        if core.backend.holds(address) { Ok(()) } else { Err(DeviceError::OtherDevice("memory")) }
    }

    /// A value that another module attaches to this device, for all of its handles. The first call
    /// makes the value. The value may hold buffers, streams and kernels of the device, because
    /// these keep only the device's core alive. It must not hold a [`Device`], because the two
    /// would then keep each other alive.
    ///
    /// # Panics
    ///
    /// If a value of another type is attached already, because a device keeps only one.
    pub(crate) fn attached<T: Any + Default + Send + Sync>(&self) -> &T {
        let attached = self.shared.attached.get_or_init(|| Box::<T>::default());
        attached.downcast_ref().expect("one type is attached to devices")
    }

    /// Whether a buffer or a view belongs to this device.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::simulator();
    /// let other = Device::simulator();
    /// let buffer = device.upload(&[1, 2, 3])?;
    /// assert!(device.owns(&buffer) && device.clone().owns(&buffer) && !other.owns(&buffer));
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn owns<'a, T: Pod>(&self, view: impl Into<View<'a, T>>) -> bool {
        self.shared.core.is(view.into().core())
    }
}
