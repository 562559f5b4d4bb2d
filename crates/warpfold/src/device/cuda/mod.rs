//! The CUDA backend. `cust` finds the GPU, allocates, copies and loads modules. Streams, events,
//! graphs and launches call the driver's table directly, because `cust` lacks some of these
//! functions.
//!
//! The primary context is made current before each call, so that any thread may use a device.
//! Streams are ordered with the legacy default stream, on which the plain copies run.

use std::{
    any::Any,
    cell::Cell,
    collections::HashSet,
    ffi::{c_int, c_void},
    ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use cuda_driver::{
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_POINTER_ATTRIBUTE_CONTEXT,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CUcontext, CUdevice, CUuuid, Driver, DriverError,
};
use cust::{
    context::{Context, CurrentContext},
    device::{self, DeviceAttribute},
    error::CudaError,
    memory::{
        CopyDestination, DevicePointer, DeviceSlice, cuda_free, cuda_free_locked, cuda_malloc,
        cuda_malloc_locked, mem_get_info,
    },
};

use self::{
    driver::failed,
    stream::{GpuEvent, GpuStream, LEGACY_STREAM, SpareEvent},
};

use super::{
    DeviceError, DeviceInfo, DeviceKind,
    backend::{Backend, BackendEvent as _, BackendStream, LoadedModule, Purpose},
    ipc::HANDLE_BYTES,
    peers::Link,
};

#[cfg(not(feature = "cudarc"))]
use self::driver::check;
#[cfg(feature = "cudarc")]
pub(super) use self::driver::check;

mod driver;
mod ipc;
mod module;
mod stream;

pub(super) fn open(ordinal: u32) -> Result<Arc<dyn Backend>, DeviceError> {
    let driver = load()?;
    let devices = driver.devices;
    if ordinal >= devices {
        let reason = format!("there is no device {ordinal}: the driver counts {devices}, from 0");
        return Err(DeviceError::NoCuda { reason });
    }
    let gpu = Gpu::new(driver, ordinal).map_err(failed(format!("set up CUDA device {ordinal}")))?;
    Ok(Arc::new(gpu))
}

/// The number of GPUs that the driver finds, at least 1. If it finds none, the result is an error.
pub(super) fn count() -> Result<u32, DeviceError> {
    load().map(|driver| driver.devices)
}

/// The table of the driver's functions. The first call of the process loads the driver.
fn load() -> Result<&'static Driver, DeviceError> {
    cuda_driver::load().map_err(|error| {
        let reason = error.to_string();
        match error {
            DriverError::UnsupportedHost
            | DriverError::LibraryNotFound { .. }
            | DriverError::NoDevice { .. } => DeviceError::NoCuda { reason },
            _ => DeviceError::DriverUnusable { reason },
        }
    })
}

#[derive(Debug)]
struct Gpu {
    info: DeviceInfo,
    /// The table of the driver's functions. It is kept here so that a call does not have to look up
    /// the table of the process.
    driver: &'static Driver,
    /// A number that no other context of this process has. The address of the context is not
    /// enough, because a later context may get the address of an earlier one.
    generation: u64,
    /// Events for reuse. There are never more of them than were in use at one time.
    events: Mutex<Vec<SpareEvent>>,
    /// The addresses of the `CUfunction`s that were captured in graphs and may overlap. An address
    /// may belong to a module that was unloaded, so this must decide nothing but speed.
    overlapping: Mutex<HashSet<usize>>,
    /// The driver's handle of the GPU.
    device: CUdevice,
    context: Context,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.make_current().is_ok() {
            for SpareEvent(event) in self.events().drain(..) {
                // SAFETY: `GpuEvent` made the event, and nobody uses it any more.
                let _ = unsafe { self.driver.cuEventDestroy_v2(event) };
            }
        }
    }
}

impl Gpu {
    fn new(driver: &'static Driver, ordinal: u32) -> Result<Self, CudaError> {
        static GENERATIONS: AtomicU64 = AtomicU64::new(1);

        let device = device::Device::get_device(ordinal)?;
        let context = Context::new(device)?;
        CurrentContext::set_current(&context)?;
        Ok(Self {
            info: info(driver, ordinal, device)?,
            driver,
            generation: GENERATIONS.fetch_add(1, Relaxed),
            events: Mutex::default(),
            overlapping: Mutex::default(),
            device: device.as_raw(),
            context,
        })
    }

    /// Makes the context current in this thread. Asking for the current context first costs less
    /// than setting it again.
    fn make_current(&self) -> Result<(), DeviceError> {
        thread_local! {
            static LAST: Cell<u64> = const { Cell::new(0) };
        }
        // The generation is compared because the context that this thread set last may be destroyed
        // and its address reused. The driver is asked because other code may have set another
        // context since.
        if LAST.get() == self.generation {
            let mut current = ptr::null_mut();
            // SAFETY: the pointer is to a live variable.
            let code = unsafe { self.driver.cuCtxGetCurrent(&raw mut current) };
            if code == 0 && current == self.context.as_raw() {
                return Ok(());
            }
        }
        CurrentContext::set_current(&self.context).map_err(failed("select the CUDA device"))?;
        LAST.set(self.generation);
        Ok(())
    }

    fn events(&self) -> MutexGuard<'_, Vec<SpareEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overlapping(&self) -> MutexGuard<'_, HashSet<usize>> {
        self.overlapping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether launches may [overlap](super::LaunchShape::overlap).
    fn overlaps(&self) -> bool {
        self.driver.cuLaunchKernelEx.is_some() && self.info.compute_capability >= (9, 0)
    }

    /// The `len` bytes from `address` on, as a slice of `cust`.
    ///
    /// # Safety
    ///
    /// The bytes lie within one allocation, which lives as long as the slice is used.
    unsafe fn slice<'a>(address: u64, len: usize) -> &'a mut DeviceSlice<u8> {
        // SAFETY: the caller's promise; bytes have no alignment.
        unsafe { DeviceSlice::from_raw_parts_mut(DevicePointer::from_raw(address), len) }
    }
}

fn info(driver: &Driver, ordinal: u32, device: device::Device) -> Result<DeviceInfo, CudaError> {
    let attribute = |attribute| device.get_attribute(attribute).map(i32::unsigned_abs);
    let clock_khz = attribute(DeviceAttribute::MemoryClockRate).unwrap_or(0);
    let bus_bits = attribute(DeviceAttribute::GlobalMemoryBusWidth).unwrap_or(0);
    Ok(DeviceInfo {
        name: device.name()?,
        kind: DeviceKind::Cuda,
        ordinal: Some(ordinal),
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        memory_bytes: device.total_memory()? as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        max_threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
        shared_bytes_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?,
        most_shared_bytes_per_block: most_shared_bytes(driver, device)
            .unwrap_or(0)
            .max(attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?),
        l2_bytes: attribute(DeviceAttribute::L2CacheSize)
            .ok()
            .filter(|&bytes| bytes > 0)
            .map(u64::from),
        peak_bytes_per_second: peak(clock_khz, bus_bits),
    })
}

/// The shared memory that a block may have after opting in, in bytes; `cust` has no name for this
/// attribute.
fn most_shared_bytes(driver: &Driver, device: device::Device) -> Option<u32> {
    let mut bytes = 0;
    // SAFETY: the pointer is to a live variable.
    let code = unsafe {
        driver.cuDeviceGetAttribute(
            &raw mut bytes,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            device.as_raw(),
        )
    };
    (code == 0).then_some(bytes.unsigned_abs())
}

/// Peak bandwidth in bytes per second: two transfers per clock cycle, each `bus_bits` wide. `None`
/// if one of the numbers is 0, because a driver that does not know the memory clock reports 0.
fn peak(clock_khz: u32, bus_bits: u32) -> Option<f64> {
    (clock_khz > 0 && bus_bits > 0)
        .then(|| f64::from(clock_khz) * 1e3 * 2.0 * f64::from(bus_bits) / 8.0)
}

impl Backend for Gpu {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn free_memory(&self) -> Result<u64, DeviceError> {
        self.make_current()?;
        let (free, _total) = mem_get_info().map_err(failed("ask for the free memory"))?;
        Ok(free as u64)
    }

    fn alloc(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        self.make_current()?;
        // SAFETY: the memory is freed by `free` alone, which `Buffer` calls once.
        match unsafe { cuda_malloc::<u8>(bytes as usize) } {
            Ok(pointer) => Ok(Some(pointer.as_raw())),
            Err(CudaError::OutOfMemory) => Ok(None),
            Err(error) => Err(failed(format!("allocate {bytes} bytes"))(error)),
        }
    }

    fn reach(&self, peer: &dyn Backend) -> Result<Link, DeviceError> {
        /// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
        const ALREADY: u32 = 704;
        /// `CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED`.
        const NATIVE_ATOMICS: u32 = 3;
        let Some(peer) = (peer as &dyn Any).downcast_ref::<Self>() else {
            return Ok(Link::Apart);
        };
        self.make_current()?;
        let driver = self.driver;
        let [device, other] = [self, peer].map(|gpu| gpu.device);
        let mut can = 0;
        // SAFETY: the pointer is to a live variable.
        let code = unsafe { driver.cuDeviceCanAccessPeer(&raw mut can, device, other) };
        check(code, "ask whether GPUs are peers")?;
        if can == 0 {
            return Ok(Link::Apart);
        }
        // SAFETY: both contexts live as long as the two devices, which the caller borrows.
        let code = unsafe { driver.cuCtxEnablePeerAccess(peer.context.as_raw(), 0) };
        if code != ALREADY {
            check(code, "open the memory of a peer")?;
        }
        // PCIe has no atomic operations on the memory of another device, and NVLink has.
        let mut has_atomics = 0;
        if driver.cuDeviceGetP2PAttribute.is_some() {
            // SAFETY: the pointer is to a live variable.
            let code = unsafe {
                driver.cuDeviceGetP2PAttribute(&raw mut has_atomics, NATIVE_ATOMICS, device, other)
            };
            check(code, "ask how GPUs are connected")?;
        }
        Ok(if has_atomics == 0 { Link::Pcie } else { Link::NvLink })
    }

    fn alloc_for_peers(
        &self,
        _peers: &[&dyn Backend],
        bytes: u64,
    ) -> Result<Option<u64>, DeviceError> {
        // All memory of this device is open to the peers that reach it.
        self.alloc(bytes)
    }

    fn free(&self, address: u64) {
        if self.make_current().is_ok() {
            // SAFETY: `address` came from `alloc`, and `Buffer` frees it once. An error belongs to
            // an earlier launch, and the next call reports it too.
            let _ = unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) };
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: by `Backend`'s contract, the range lies within one live allocation.
        let slice = unsafe { Self::slice(address, bytes.len()) };
        slice.copy_from(bytes).map_err(failed("copy to the device"))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: by `Backend`'s contract, the range lies within one live allocation.
        let slice = unsafe { Self::slice(address, bytes.len()) };
        slice.copy_to(bytes).map_err(failed("copy from the device"))
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: by `Backend`'s contract, both ranges lie within live allocations.
        let (source, target) =
            unsafe { (Self::slice(from, bytes as usize), Self::slice(to, bytes as usize)) };
        target.copy_from(&*source).map_err(failed("copy on the device"))
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.make_current()?;
        // SAFETY: by `Backend`'s contract, the range lies within one live allocation.
        let slice = unsafe { Self::slice(address, bytes as usize) };
        slice.set_8(byte).map_err(failed("fill memory of the device"))
    }

    fn load(
        self: Arc<Self>,
        name: &str,
        image: &[u8],
    ) -> Result<Arc<dyn LoadedModule>, DeviceError> {
        module::load(self, name, image)
    }

    fn synchronize(self: Arc<Self>) -> Result<(), DeviceError> {
        // Work of the legacy stream waits for all other streams, so waiting for an event there is
        // enough. Waiting for the context would break a capture in another thread.
        let event = GpuEvent::new(&self)?;
        event.record(LEGACY_STREAM)?;
        event.synchronize()
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.make_current()?;
        // SAFETY: only `free_pinned` frees the memory, and `PinnedBuffer` calls it once; the memory
        // has `bytes` bytes.
        unsafe {
            let memory = match cuda_malloc_locked::<u8>(bytes) {
                Ok(memory) => memory,
                Err(CudaError::OutOfMemory) => {
                    return Err(DeviceError::OutOfHostMemory { requested: bytes as u128 });
                }
                Err(error) => {
                    return Err(failed(format!("lock {bytes} bytes of host memory"))(error));
                }
            };
            memory.write_bytes(0, bytes);
            Ok(memory)
        }
    }

    fn free_pinned(&self, memory: *mut u8, _bytes: usize) {
        if self.make_current().is_ok() {
            // SAFETY: `memory` came from `alloc_pinned`, and is freed once. An error is ignored for
            // the reason given in `free`.
            let _ = unsafe { cuda_free_locked(memory) };
        }
    }

    fn open_stream(
        self: Arc<Self>,
        purpose: Purpose,
    ) -> Result<Box<dyn BackendStream>, DeviceError> {
        Ok(Box::new(GpuStream::open(self, purpose)?))
    }

    unsafe fn adopt_stream(
        self: Arc<Self>,
        stream: *mut c_void,
    ) -> Result<Box<dyn BackendStream>, DeviceError> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { GpuStream::adopt(self, stream.cast())? }))
    }

    fn holds(&self, address: u64) -> bool {
        if self.make_current().is_err() {
            return false;
        }
        let (mut context, mut device): (CUcontext, c_int) = (ptr::null_mut(), -1);
        // SAFETY: the first attribute is a pointer, the second an int, and both variables are live.
        let codes = unsafe {
            [
                self.driver.cuPointerGetAttribute(
                    (&raw mut context).cast(),
                    CU_POINTER_ATTRIBUTE_CONTEXT,
                    address,
                ),
                self.driver.cuPointerGetAttribute(
                    (&raw mut device).cast(),
                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                    address,
                ),
            ]
        };
        // Memory of a pool belongs to no context, or the driver does not report one; such memory is
        // accepted.
        let ours = codes[0] != 0 || context.is_null() || context == self.context.as_raw();
        ours && codes[1] == 0 && u32::try_from(device).ok() == self.info.ordinal
    }

    fn make_current(&self) -> Result<(), DeviceError> {
        // The method of the type, which has the same name.
        Self::make_current(self)
    }

    fn export(&self, address: u64) -> Result<[u8; HANDLE_BYTES], DeviceError> {
        self.export_memory(address)
    }

    fn open_exported(&self, handle: [u8; HANDLE_BYTES]) -> Result<u64, DeviceError> {
        self.open_memory(handle)
    }

    fn close_exported(&self, address: u64) {
        self.close_memory(address);
    }

    fn uuid(&self) -> Option<[u8; 16]> {
        let mut uuid = CUuuid::default();
        // SAFETY: the pointer is to a live variable.
        let code = unsafe { self.driver.cuDeviceGetUuid_v2(&raw mut uuid, self.device) };
        (code == 0).then(|| uuid.bytes.map(|byte| byte as u8))
    }

    #[cfg(feature = "cudarc")]
    fn is_context(&self, context: *mut c_void) -> bool {
        context == self.context.as_raw().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::peak;

    #[test]
    fn the_peak_of_an_h100() {
        // H100 SXM5 80GB: HBM3 at 2619 MHz on a bus of 5120 bits; NVIDIA's data sheet says 3.35
        // TB/s.
        assert_eq!(peak(2_619_000, 5120), Some(3_352.32e9));
        assert_eq!(peak(0, 5120), None);
        assert_eq!(peak(2_619_000, 0), None);
    }
}
