//! One interface to the machine that runs the kernels, with two homes: a CUDA GPU, reached through `cust`, and the
//! built-in SIMT simulator.
//!
//! A [`Device`] allocates [`Buffer`]s, loads PTX into [`Module`]s, launches their [`Kernel`]s and times what it did.
//! Work is ordered as on one CUDA stream: each call sees the effects of all earlier ones, and a launch may return
//! before the kernel has ended. Copies to the host wait for it. [`Stream`]s are beside that: what they are given runs beside
//! each other, and a [`Graph`] is what one of them was given, launched again and again.
//!
//! All of this module's objects are `Send` and `Sync`, and keep what they need of the device alive.
//!
//! ```
//! use warpfold::device::{Arg, Device, DeviceChoice, LaunchShape};
//! use warpfold::ptx::PtxLibrary;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DeviceChoice::Auto)?;
//! let input = device.upload(&[1i32; 512])?;
//! let output = device.alloc::<i32>(1)?;
//! let ptx = PtxLibrary::open(None)?.find("reduce6_sum_i32_b256", device.info().compute_capability)?;
//! let kernel = device.load(&ptx.file, &ptx.text)?.kernel("reduce6_sum_i32_b256")?;
//! let shape = LaunchShape::linear(1, 256, 1024);
//! device.launch(&kernel, shape, &[Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)])?;
//! assert_eq!(output.copy_to_host()?, [512]);
//! # Ok(())
//! # }
//! ```

use std::{
    ffi::c_void,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use self::{
    core::Core,
    faults::{Call, Injector},
    home::{Home, HomeStream, Purpose},
    simulator::Simulator,
    stream::Lane,
};
use crate::reducer::Cache;

pub use bytemuck::Pod;
pub use simt::Dim3;

mod buffer;
mod core;
mod cuda;
mod error;
mod event;
mod faults;
mod graph;
mod home;
mod info;
mod instrument;
mod module;
mod pinned;
mod scope;
mod simulator;
mod stream;
mod view;

pub use buffer::Buffer;
pub use error::DeviceError;
pub use event::Event;
pub use faults::Faults;
pub use graph::Graph;
pub use info::{DeviceChoice, DeviceInfo, DeviceKind, UnknownDevice};
pub use instrument::{Instrument, Observation, Seen};
pub use module::{Arg, Kernel, LaunchShape, Module};
pub use pinned::PinnedBuffer;
pub use scope::Streams;
pub use stream::{Stream, WORKSPACE_BYTES};
pub use view::{RawSlice, View, ViewMut};

/// A GPU or the simulator, ready to work. `Send` and `Sync`; a clone is another handle of the same device.
///
/// Streams, graphs, buffers, modules and kernels keep what they need of it alive. When the last of them is dropped, a GPU's
/// primary context is given back.
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<Shared>,
}

/// What all handles of a device have in common.
#[derive(Debug)]
struct Shared {
    core: Arc<Core>,
    /// The device's own stream.
    lane: Arc<Lane>,
    /// It holds kernels and buffers, and these hold the core but nothing that is here.
    reducers: Cache,
    fallback_note: Option<String>,
}

impl Device {
    /// The GPU if there is one that works, else the simulator, which leaves a [note](Self::fallback_note).
    ///
    /// ```
    /// use warpfold::device::Device;
    ///
    /// let device = Device::auto()?;
    /// assert_eq!(device.upload(&[1, 2, 3])?.copy_to_host()?, [1, 2, 3]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Device::open`].
    pub fn auto() -> Result<Self, DeviceError> {
        Self::open(DeviceChoice::Auto)
    }

    /// Opens the chosen device. [`DeviceChoice::Auto`] never fails: without a GPU that works it takes the simulator and
    /// leaves a [note](Self::fallback_note).
    ///
    /// # Errors
    ///
    /// CUDA was demanded: [`DeviceError::NoCuda`] if there is no driver or device, the driver's error if the device cannot
    /// be set up.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        let cuda = || {
            let home = cuda::open()?;
            let own = Arc::clone(&home).open_stream(Purpose::Work)?;
            Ok(Self::new(home, own, None, None))
        };
        match choice {
            DeviceChoice::Simulator => Ok(Self::simulator(None, None)),
            DeviceChoice::Cuda => cuda(),
            DeviceChoice::Auto => Ok(cuda().unwrap_or_else(|error| {
                let why = match &error {
                    DeviceError::NoCuda(why) => why.to_string(),
                    error => error.to_string(),
                };
                Self::simulator(None, Some(format!("using the simulator, because {why}")))
            })),
        }
    }

    fn simulator(instrument: Option<Instrument>, fallback_note: Option<String>) -> Self {
        let home = Arc::new(Simulator::new(instrument));
        let own = home.new_stream();
        Self::new(home, own, None, fallback_note)
    }

    /// `own` is the device's own stream.
    fn new(
        home: Arc<dyn Home>,
        own: Box<dyn HomeStream>,
        injector: Option<Injector>,
        fallback_note: Option<String>,
    ) -> Self {
        let core = Core::new(home, injector);
        let lane = Arc::new(Lane::new(&core, own, Purpose::Work));
        Self { shared: Arc::new(Shared { core, lane, reducers: Cache::default(), fallback_note }) }
    }

    /// The same device with a plan of what is to fail ([`Faults`]), for tests. What the device made before is another
    /// device's to the new one.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn with_faults(self, faults: Faults) -> Result<Self, DeviceError> {
        let Shared { core, fallback_note, .. } = &*self.shared;
        let home = Arc::clone(&core.home);
        let own = Arc::clone(&home).open_stream(Purpose::Work)?;
        let device = Self::new(home, own, Some(Injector::new(faults)), fallback_note.clone());
        if let Some(interrupt) = core.interrupt.get() {
            device.interrupt_by(interrupt);
        }
        Ok(device)
    }

    /// The simulator, with an instrument that watches every launch; see [`Device::take_observations`]. GPUs have none.
    ///
    /// ```
    /// use warpfold::device::{Arg, Device, Instrument, LaunchShape, Seen};
    /// use warpfold::ptx::PtxLibrary;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::simulator_with(Instrument::Count);
    /// let (input, output) = (device.upload(&[1i32; 512])?, device.alloc::<i32>(1)?);
    /// let ptx = PtxLibrary::embedded()?.find("reduce6_sum_i32_b256", device.info().compute_capability)?;
    /// let kernel = device.load(&ptx.file, &ptx.text)?.kernel("reduce6_sum_i32_b256")?;
    /// let shape = LaunchShape::linear(1, 256, 1024);
    /// device.launch(&kernel, shape, &[Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(512)])?;
    /// let observations = device.take_observations();
    /// let Seen::Counted(profile) = &observations[0].seen else { panic!("it counts") };
    /// assert_eq!(profile.counters.global.load.sectors, 512 * 4 / 32);
    /// # Ok(())
    /// # }
    /// ```
    pub fn simulator_with(instrument: Instrument) -> Self {
        Self::simulator(Some(instrument), None)
    }

    /// What the instrument saw of each launch since the last call, in the order of the launches; nothing if there is no
    /// instrument.
    pub fn take_observations(&self) -> Vec<Observation> {
        self.shared.core.home.take_observations()
    }

    /// Lets a flag end the work on this device, such as one that Ctrl-C sets: once it is true, the simulator stops in the
    /// middle of a launch ([`DeviceError::Interrupted`]), and a [`Runner`](crate::reduce::Runner) begins no run more. A GPU
    /// ends what it has begun.
    ///
    /// The first flag stays.
    pub fn interrupt_by(&self, interrupt: &'static AtomicBool) {
        let Core { home, interrupt: first, .. } = &*self.shared.core;
        home.interrupt_by(first.get_or_init(|| interrupt));
    }

    /// Whether its flag is set; see [`Device::interrupt_by`].
    pub fn is_interrupted(&self) -> bool {
        self.shared.core.interrupt.get().is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// Why [`DeviceChoice::Auto`] took the simulator, in one line; `None` if it did not.
    pub fn fallback_note(&self) -> Option<&str> {
        self.shared.fallback_note.as_deref()
    }

    /// The facts about this device.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.core.info
    }

    /// Free global memory, in bytes.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn free_memory(&self) -> Result<u64, DeviceError> {
        let core = &self.shared.core;
        core.enter(Call::Other, || "ask for the free memory".to_owned())?;
        core.home.free_memory()
    }

    /// Allocates `len` values and leaves their bytes as they are (whatever was there; `T: Pod`, so any bytes are
    /// valid). A length of 0 allocates nothing.
    ///
    /// # Errors
    ///
    /// Out of memory, with the bytes that were asked for and those that are free.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        Buffer::new(&self.shared.core, len)
    }

    /// Allocates page-locked host memory for `len` values, all bytes 0.
    ///
    /// # Errors
    ///
    /// The driver's, also where the host has not that much memory to lock.
    pub fn alloc_pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        PinnedBuffer::new(&self.shared.core, len)
    }

    /// How many allocations are alive: buffers that are not empty, page-locked or on the device, and the workspaces of
    /// streams and graphs. For tests of what leaks.
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let buffer = device.upload(&[1, 2, 3])?;
    /// let stream = device.stream()?;
    /// assert_eq!(device.live_allocations(), 2);
    /// drop((buffer, stream));
    /// assert_eq!(device.live_allocations(), 0);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn live_allocations(&self) -> u64 {
        self.shared.core.live_allocations()
    }

    /// Allocates and fills a buffer.
    ///
    /// # Errors
    ///
    /// As [`Device::alloc`], and the driver's for the copy.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        let mut buffer = self.alloc(values.len())?;
        buffer.copy_from_host(values)?;
        Ok(buffer)
    }

    /// Loads PTX: the driver compiles it, or the simulator parses and validates it. `name` is for messages.
    ///
    /// # Errors
    ///
    /// PTX that is refused, with the driver's JIT log or the simulator's diagnostic.
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module, DeviceError> {
        self.load_image(name, ptx.as_bytes())
    }

    /// Loads machine code (a cubin made for this GPU), as another compiler writes it; or PTX. The simulator knows only PTX.
    ///
    /// # Errors
    ///
    /// As [`Device::load`].
    pub fn load_image(&self, name: &str, image: &[u8]) -> Result<Module, DeviceError> {
        let core = &self.shared.core;
        core.enter(Call::Other, || format!("load module {name}"))?;
        let loaded = Arc::clone(&core.home).load(name, image)?;
        Ok(Module { core: Arc::clone(core), loaded })
    }

    /// Starts a kernel after all earlier work. On a GPU it may return before the kernel ends, and a fault in the kernel
    /// then shows in a later call, at the latest in [`Device::synchronize`].
    ///
    /// `args` must fit the kernel's parameters in number and width. Pointers must be addresses of live [`Buffer`]s of
    /// this device, large enough for what the kernel does with them: the simulator reports an access outside as an
    /// error; the GPU may report it, or overwrite another buffer of this process.
    ///
    /// # Errors
    ///
    /// A shape that the device does not allow, arguments that do not fit, a fault of the kernel.
    pub fn launch(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        let Shared { core, lane, .. } = &*self.shared;
        core.refuse_in_capture("launch on another stream")?;
        core.check_launchable(kernel, shape, args)?;
        lane.launch(kernel, shape, args)
    }

    /// How many blocks of `threads` threads, with so much dynamic shared memory each, a multiprocessor holds at once; times
    /// the multiprocessors, that is the largest grid of a cooperative launch. On the simulator, as an H100 would with 32
    /// registers for each thread.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.shared.core.check_own(&kernel.core, "kernel")?;
        kernel.loaded.resident_blocks(threads, shared_bytes)
    }

    /// Whether the device can launch a kernel in this way at all: clusters and cooperative launches are not everywhere.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverLacks`].
    pub fn check_launch(&self, kernel: &Kernel, shape: LaunchShape) -> Result<(), DeviceError> {
        self.shared.core.check_own(&kernel.core, "kernel")?;
        kernel.loaded.check_launch(shape)
    }

    /// Waits for all work, of all streams; of [adopted](Self::adopt_stream) ones unless they were made with
    /// `CU_STREAM_NON_BLOCKING`.
    ///
    /// # Errors
    ///
    /// A fault of an earlier launch.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.shared.core.synchronize()
    }

    /// The time from the start to the end of the work that `work` gives to the device: by events on the GPU, by the
    /// wall clock on the simulator. It waits for the end. Nothing is warmed up here: that is the caller's.
    ///
    /// # Errors
    ///
    /// What `work` returns, and the driver's.
    pub fn time<E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
        self.shared.lane.time(work)
    }

    /// Opens a [`Stream`], with a workspace of its own.
    ///
    /// # Errors
    ///
    /// Out of memory; the driver's.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(Arc::new(Lane::open(&self.shared.core, Purpose::Work)?))
    }

    /// The device's own stream, on which [`Device::launch`] works. It gets its workspace when this is first called.
    ///
    /// # Errors
    ///
    /// As [`Device::stream`].
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let mut buffer = device.alloc::<u8>(3)?;
    /// device.own_stream()?.fill_bytes(&mut buffer, 7)?;
    /// assert_eq!(buffer.copy_to_host()?, [7; 3]);
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn own_stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(Arc::clone(&self.shared.lane))
    }

    /// Makes a stream of one that other code has made, such as `cust`: what is given to it is ordered with what that code
    /// gives it. The result has a workspace of its own, and leaves `stream` as it is when it is dropped.
    ///
    /// # Safety
    ///
    /// `stream` is a `CUstream` of the device's primary context, or null for the legacy default stream. It lives until the
    /// result is dropped, and is not capturing.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotCuda`] on the simulator; a stream of another context; as [`Device::stream`].
    pub unsafe fn adopt_stream(&self, stream: *mut c_void) -> Result<Stream, DeviceError> {
        const ACTION: &str = "adopt a CUDA stream";
        let core = &self.shared.core;
        core.refuse_in_capture(ACTION)?;
        core.enter(Call::Other, || ACTION.to_owned())?;
        // SAFETY: the caller's promise.
        let stream = unsafe { Arc::clone(&core.home).adopt_stream(stream)? };
        Stream::new(Arc::new(Lane::new(core, stream, Purpose::Work)))
    }

    /// Records what `work` gives to a stream of its own, for a [`Graph`]. Nothing runs meanwhile.
    ///
    /// Launches, copies within the device and fills can be recorded. What would happen once and not in each replay is
    /// refused while `work` runs, to this thread and on this stream ([`DeviceError::Capturing`]): allocations, plain copies,
    /// copies to and from the host, waits, events, launches by [`Device::launch`] and of graphs. What else this thread gives
    /// to other streams, and all that other threads do, happens as ever.
    ///
    /// # Errors
    ///
    /// What `work` returns; [`DeviceError::DriverLacks`]; the driver's. Nothing of the capture is left then.
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice, DeviceError};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let mut buffer = device.upload(&[1u8; 3])?;
    /// let graph = device.capture(|stream| {
    ///     assert!(matches!(device.synchronize(), Err(DeviceError::Capturing { .. })));
    ///     stream.fill_bytes(&mut buffer, 7)
    /// })?;
    /// assert_eq!(buffer.copy_to_host()?, [1; 3]);
    /// graph.launch(&device.stream()?)?;
    /// assert_eq!(buffer.copy_to_host()?, [7; 3]);
    /// # Ok::<(), DeviceError>(())
    /// ```
    pub fn capture<E: From<DeviceError>>(&self, work: impl FnOnce(&Stream) -> Result<(), E>) -> Result<Graph, E> {
        Graph::capture(&self.shared.core, work)
    }

    /// Refuses an address that is of another device, of another context than the primary one, or of nobody.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OtherDevice`].
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let buffer = device.upload(&[1u8, 2, 3])?;
    /// device.check_address(buffer.address() + 2)?;
    /// assert!(device.check_address(buffer.address() + 3).is_err());
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn check_address(&self, address: u64) -> Result<(), DeviceError> {
        let core = &self.shared.core;
        if core.home.holds(address) { Ok(()) } else { Err(DeviceError::OtherDevice("memory")) }
    }

    /// What its reducers have in common.
    pub(crate) fn reducers(&self) -> &Cache {
        &self.shared.reducers
    }

    /// Whether a buffer or a view is of this device.
    ///
    /// ```
    /// use warpfold::device::{Device, DeviceChoice};
    ///
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let other = Device::open(DeviceChoice::Simulator)?;
    /// let buffer = device.upload(&[1, 2, 3])?;
    /// assert!(device.owns(&buffer) && device.clone().owns(&buffer) && !other.owns(&buffer));
    /// # Ok::<(), warpfold::device::DeviceError>(())
    /// ```
    pub fn owns<'a, T: Pod>(&self, view: impl Into<View<'a, T>>) -> bool {
        self.shared.core.is(view.into().core())
    }
}
