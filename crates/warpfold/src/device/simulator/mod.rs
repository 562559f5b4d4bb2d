//! The backend that runs kernels on the cores of the host, by the simulator `simt`.

use std::{
    alloc::{self, Layout, LayoutError},
    any::Any,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::AtomicBool},
    thread,
};

use simt::{
    FaultKind, LaunchConfig, LaunchError, Memory, MemoryError,
    occupancy::{Gpu, occupancy},
};

use crate::host_memory;

use self::stream::SimulatedStream;

#[cfg(feature = "testing")]
use super::instrument::{Instrument, Observation, Watch};
#[cfg(test)]
use super::ipc::HANDLE_BYTES;
use super::{
    Arg, DeviceError, DeviceInfo, DeviceKind, Dim3, LaunchShape,
    backend::{Backend, BackendLaunch, BackendStream, LoadedKernel, LoadedModule, Purpose},
    peers::{FailedAt, Link},
};

mod stream;

/// The most memory that a simulated device has, in bytes. A small host gives less. The host
/// provides pages of this memory only when they are written.
const MOST_MEMORY: u64 = 16 << 30;

/// The memory of a simulated device, in bytes, if the host does not report how much is free.
const UNKNOWN_MEMORY: u64 = 4 << 30;

/// The number of multiprocessors from which launch shapes follow. It does not depend on the cores
/// of the host, because the order of float additions, and with it the bits, would then differ
/// between hosts.
const MULTIPROCESSORS: u32 = 16;

/// The GPU and the registers per thread that decide how many blocks one simulated multiprocessor
/// holds.
const OCCUPANCY_OF: &str = "h100";
const REGISTERS: u32 = 32;

#[derive(Debug)]
pub(super) struct Simulator {
    memory: Arc<Memory>,
    /// The memories that each allocation for peers is shared with, by its address.
    sharers: Mutex<HashMap<u64, Vec<Weak<Memory>>>>,
    #[cfg(feature = "testing")]
    watch: Option<Watch>,
    interrupt: OnceLock<&'static AtomicBool>,
}

impl Simulator {
    pub(super) fn new() -> Self {
        Self::with_memory(Memory::new(capacity()))
    }

    fn with_memory(memory: Memory) -> Self {
        Self {
            memory: Arc::new(memory),
            sharers: Mutex::default(),
            #[cfg(feature = "testing")]
            watch: None,
            interrupt: OnceLock::new(),
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn with_instrument(instrument: Instrument) -> Self {
        let memory = match instrument {
            Instrument::Check => Memory::checked(capacity()),
            Instrument::Count => Memory::new(capacity()),
        };
        Self { watch: Some(Watch::new(instrument)), ..Self::with_memory(memory) }
    }

    fn sharers(&self) -> MutexGuard<'_, HashMap<u64, Vec<Weak<Memory>>>> {
        self.sharers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn new_stream(self: &Arc<Self>) -> Box<dyn BackendStream> {
        Box::new(SimulatedStream::new(Arc::clone(self)))
    }
}

/// The address of an allocation of `bytes`, or `None` if there is too little memory.
fn allocated(result: Result<u64, MemoryError>, bytes: u64) -> Result<Option<u64>, DeviceError> {
    match result {
        Ok(address) => Ok(Some(address)),
        Err(MemoryError::OutOfMemory { .. }) => Ok(None),
        Err(error) => Err(failed(&format!("allocate {bytes} bytes"))(error)),
    }
}

/// The memory of a simulated device, in bytes. It is two fifths of the memory that the host can
/// spare, because programs usually hold the same data on the host as well.
fn capacity() -> u64 {
    host_memory::available().map_or(UNKNOWN_MEMORY, |bytes| bytes / 5 * 2).min(MOST_MEMORY)
}

fn failed(action: &str) -> impl FnOnce(MemoryError) -> DeviceError {
    move |cause| DeviceError::SimulatedMemory {
        action: action.to_owned(),
        reason: cause.to_string(),
    }
}

impl Backend for Simulator {
    fn info(&self) -> DeviceInfo {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        DeviceInfo {
            name: format!(
                "simulator (32-lane warps, {cores} {})",
                if cores == 1 { "core" } else { "cores" }
            ),
            kind: DeviceKind::Simulator,
            ordinal: None,
            // The simulator runs PTX for any target. Programs choose the highest target that a
            // device accepts, so this is the highest target for which this crate has kernels.
            compute_capability: (9, 0),
            memory_bytes: self.memory.capacity(),
            multiprocessors: MULTIPROCESSORS,
            max_threads_per_block: 1024,
            shared_bytes_per_block: 48 << 10,
            // As a device of that compute capability. (CUDA C++ Programming Guide, "Technical
            // Specifications per Compute Capability".)
            most_shared_bytes_per_block: 227 << 10,
            l2_bytes: None,
            peak_bytes_per_second: None,
        }
    }

    fn free_memory(&self) -> Result<u64, DeviceError> {
        Ok(self.memory.capacity() - self.memory.used())
    }

    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        allocated(self.memory.alloc(bytes), bytes)
    }

    fn reach(&self, peer: &dyn Backend) -> Result<Link, DeviceError> {
        let is_simulator = (peer as &dyn Any).is::<Self>();
        Ok(if is_simulator { Link::Simulated } else { Link::Apart })
    }

    fn alloc_for_peers(
        &self,
        peers: &[&dyn Backend],
        bytes: u64,
    ) -> Result<Option<u64>, DeviceError> {
        let peers: Vec<_> = peers
            .iter()
            .map(|&peer| {
                let peer: &Self =
                    (peer as &dyn Any).downcast_ref().expect("a simulator reaches simulators");
                &peer.memory
            })
            .collect();
        let memories: Vec<&Memory> = [&self.memory]
            .into_iter()
            .chain(peers.iter().copied())
            .map(|memory| &**memory)
            .collect();
        let address = allocated(Memory::alloc_shared(&memories, bytes), bytes)?;
        if let Some(address) = address {
            self.sharers().insert(address, peers.into_iter().map(Arc::downgrade).collect());
        }
        Ok(address)
    }

    fn free(&self, address: u64) {
        const LIVE: &str = "a buffer's address is that of one live allocation";
        for peer in self.sharers().remove(&address).into_iter().flatten() {
            if let Some(peer) = peer.upgrade() {
                peer.free(address).expect(LIVE);
            }
        }
        self.memory.free(address).expect(LIVE);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.memory.write(address, bytes).map_err(failed("copy to the device"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.memory.read(address, bytes).map_err(failed("copy from the device"))
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        /// The number of bytes that one step of the copy moves through the host's memory.
        const CHUNK: u64 = 1 << 20;
        let mut chunk = vec![0; bytes.min(CHUNK) as usize];
        for start in (0..bytes).step_by(CHUNK as usize) {
            let chunk = &mut chunk[..(bytes - start).min(CHUNK) as usize];
            self.read(from + start, chunk)?;
            self.write(to + start, chunk)?;
        }
        Ok(())
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        const CHUNK: u64 = 1 << 20;
        let chunk = vec![byte; bytes.min(CHUNK) as usize];
        for start in (0..bytes).step_by(CHUNK as usize) {
            self.write(address + start, &chunk[..(bytes - start).min(CHUNK) as usize])?;
        }
        Ok(())
    }

    fn load(
        self: Arc<Self>,
        name: &str,
        image: &[u8],
    ) -> Result<Arc<dyn LoadedModule>, DeviceError> {
        let not_simulated =
            |reason: String| DeviceError::NotSimulated { module: name.to_owned(), reason };
        let ptx = std::str::from_utf8(image)
            .map_err(|_| not_simulated("it is not PTX, which is text".to_owned()))?;
        let module =
            simt::Module::from_ptx(name, ptx).map_err(|error| not_simulated(error.to_string()))?;
        Ok(Arc::new(SimulatedModule {
            name: name.to_owned(),
            module: Arc::new(module),
            simulator: self,
        }))
    }

    fn synchronize(self: Arc<Self>) -> Result<(), DeviceError> {
        Ok(())
    }

    fn interrupt_by(&self, interrupt: &'static AtomicBool) {
        self.interrupt.get_or_init(|| interrupt);
    }

    /// Lets tests go through the steps in which processes share memory. Nobody can use the address.
    #[cfg(test)]
    fn export(&self, address: u64) -> Result<[u8; HANDLE_BYTES], DeviceError> {
        let mut handle = [0; HANDLE_BYTES];
        handle[..8].copy_from_slice(&address.to_le_bytes());
        Ok(handle)
    }

    #[cfg(test)]
    fn open_exported(&self, handle: [u8; HANDLE_BYTES]) -> Result<u64, DeviceError> {
        Ok(u64::from_le_bytes(*handle.first_chunk().expect("8 bytes")))
    }

    fn holds(&self, address: u64) -> bool {
        self.memory.read(address, &mut [0]).is_ok()
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let out_of_memory = DeviceError::OutOfHostMemory { requested: bytes as u128 };
        let Ok(layout) = pinned_layout(bytes) else { return Err(out_of_memory) };
        // SAFETY: the layout has at least one byte.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        if memory.is_null() { Err(out_of_memory) } else { Ok(memory) }
    }

    fn free_pinned(&self, memory: *mut u8, bytes: usize) {
        let layout = pinned_layout(bytes).expect("it was allocated with this layout");
        // SAFETY: `alloc_pinned` returned the memory for the same number of bytes, and
        // `PinnedBuffer` frees it once.
        unsafe { alloc::dealloc(memory, layout) }
    }

    fn open_stream(
        self: Arc<Self>,
        _purpose: Purpose,
    ) -> Result<Box<dyn BackendStream>, DeviceError> {
        Ok(self.new_stream())
    }

    #[cfg(feature = "testing")]
    fn take_observations(&self) -> Vec<Observation> {
        self.watch.as_ref().map(Watch::take).unwrap_or_default()
    }
}

/// The layout of page-locked memory. It begins on a page, as on the host of a GPU.
fn pinned_layout(bytes: usize) -> Result<Layout, LayoutError> {
    Layout::from_size_align(bytes, 4096)
}

#[derive(Debug)]
struct SimulatedModule {
    name: String,
    module: Arc<simt::Module>,
    simulator: Arc<Simulator>,
}

impl LoadedModule for SimulatedModule {
    fn kernel(self: Arc<Self>, name: &str) -> Result<Arc<dyn LoadedKernel>, DeviceError> {
        let Some(kernel) = self.module.kernel(name) else {
            return Err(DeviceError::NoKernel {
                module: self.name.clone(),
                kernel: name.to_owned(),
            });
        };
        let parameters = kernel.params().iter().map(|param| param.size as usize).collect();
        Ok(Arc::new(SimulatedKernel { name: name.to_owned(), parameters, module: self }))
    }
}

#[derive(Debug)]
struct SimulatedKernel {
    name: String,
    parameters: Vec<usize>,
    module: Arc<SimulatedModule>,
}

impl LoadedKernel for SimulatedKernel {
    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn static_shared_bytes(&self) -> u32 {
        self.kernel().static_shared_bytes()
    }

    fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        let gpu: Gpu = OCCUPANCY_OF.parse().expect("simt knows this GPU");
        Ok(occupancy(&gpu, threads, shared_bytes, Some(REGISTERS)).blocks_per_sm)
    }

    fn check_launch(&self, _shape: LaunchShape) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl SimulatedKernel {
    fn kernel(&self) -> &simt::Kernel {
        self.module.module.kernel(&self.name).expect("it was found when this was made")
    }

    fn config(&self, shape: LaunchShape) -> LaunchConfig {
        LaunchConfig {
            dynamic_shared_bytes: shape.shared_bytes,
            cluster: shape.cluster,
            cooperative: shape.cooperative,
            interrupt: self.module.simulator.interrupt.get().copied(),
            ..LaunchConfig::new(dim3(shape.grid), dim3(shape.block))
        }
    }

    fn failed(&self, error: LaunchError) -> DeviceError {
        match error {
            LaunchError::Fault(fault) if matches!(fault.kind, FaultKind::Interrupted { .. }) => {
                DeviceError::Interrupted { kernel: self.name.clone() }
            }
            error => error.into(),
        }
    }

    /// Runs the kernel to its end.
    fn launch(&self, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        let (kernel, config) = (self.kernel(), self.config(shape));
        let simulator = &*self.module.simulator;
        let args: Vec<_> = args.iter().copied().map(simulated).collect();
        let failed = |error| self.failed(error);
        #[cfg(feature = "testing")]
        if let Some(watch) = &simulator.watch {
            return watch
                .launch((&self.name, shape), kernel, &config, &args, &simulator.memory)
                .map_err(failed);
        }
        simt::launch(kernel, &config, &args, &simulator.memory).map_err(failed)
    }

    /// Runs kernels of different devices side by side, until all have ended.
    fn launch_together(launches: &[BackendLaunch<'_>]) -> Result<(), FailedAt> {
        let kernels: Vec<&Self> = launches
            .iter()
            .map(|launch| {
                (&**launch.kernel as &dyn Any)
                    .downcast_ref()
                    .expect("the kernels of a simulator are its own")
            })
            .collect();
        let prepared: Vec<_> = launches
            .iter()
            .zip(&kernels)
            .map(|(launch, kernel)| {
                let args: Vec<_> = launch.args.iter().copied().map(simulated).collect();
                (kernel.config(launch.shape), args)
            })
            .collect();
        let together: Vec<_> = kernels
            .iter()
            .zip(&prepared)
            .map(|(kernel, (config, args))| simt::Together {
                kernel: kernel.kernel(),
                config,
                args,
                memory: &kernel.module.simulator.memory,
            })
            .collect();
        simt::launch_together(&together).map_err(|error| {
            FailedAt::number(error.launch)(kernels[error.launch].failed(error.error))
        })
    }
}

fn dim3(Dim3 { x, y, z }: Dim3) -> simt::Dim3 {
    simt::Dim3::new(x, y, z)
}

fn simulated(arg: Arg) -> simt::Arg {
    match arg {
        Arg::Pointer(address) => simt::Arg::Pointer(address),
        Arg::U8(value) => simt::Arg::U8(value),
        Arg::U16(value) => simt::Arg::U16(value),
        Arg::U32(value) => simt::Arg::U32(value),
        Arg::U64(value) => simt::Arg::U64(value),
        Arg::I8(value) => simt::Arg::I8(value),
        Arg::I16(value) => simt::Arg::I16(value),
        Arg::I32(value) => simt::Arg::I32(value),
        Arg::I64(value) => simt::Arg::I64(value),
        Arg::F16(value) => simt::Arg::U16(value.to_bits()),
        Arg::Bf16(value) => simt::Arg::U16(value.to_bits()),
        Arg::F32(value) => simt::Arg::F32(value),
        Arg::F64(value) => simt::Arg::F64(value),
    }
}
