//! Contexts. A context holds all objects that a process has on a device. This crate uses the
//! primary context of each device, as CUDA's runtime and the libraries that build on it do.

use std::{ffi::c_uint, mem::ManuallyDrop, ptr};

use crate::{
    CudaApiVersion,
    device::Device,
    error::{CudaError, CudaResult, DropResult},
    private::Sealed,
    sys::{CUcontext, CUdevice},
};

pub mod legacy;

use legacy::StreamPriorityRange;

/// A value that stands for a context.
pub trait ContextHandle: Sealed {
    /// The driver's handle of the context.
    fn get_inner(&self) -> CUcontext;
}

/// Defines an enum whose variants are numbers of the driver.
macro_rules! choice {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$attribute])*
        #[repr(u32)]
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)*
        }

        impl $name {
            /// The variant with this number; [`CudaError::NotSupported`] if this crate does not
            /// know it.
            #[allow(dead_code, reason = "a limit is never read")]
            fn from_number(number: c_uint) -> CudaResult<Self> {
                match number {
                    $($number => Ok(Self::$variant),)*
                    _ => Err(CudaError::NotSupported),
                }
            }
        }
    };
}

choice! {
    /// The preferred division of on-chip memory between shared memory and the L1 cache.
    CacheConfig {
        /// No preference.
        PreferNone = 0,
        /// More shared memory than L1 cache.
        PreferShared = 1,
        /// More L1 cache than shared memory.
        PreferL1 = 2,
        /// As much shared memory as L1 cache.
        PreferEqual = 3,
    }
}

choice! {
    /// A limit of a context.
    ResourceLimit {
        /// The stack of each thread, in bytes.
        StackSize = 0,
        /// The buffer for `printf` on the device, in bytes.
        PrintfFifoSize = 1,
        /// The heap for `malloc` on the device, in bytes.
        MallocHeapSize = 2,
        /// The greatest depth of nested launches from the device at which a thread can still wait
        /// for a launch.
        DeviceRuntimeSynchronizeDepth = 3,
        /// The greatest number of launches from the device that may be pending.
        DeviceRuntimePendingLaunchCount = 4,
        /// The number of bytes that the L2 cache fetches at a time. The device takes it as a hint.
        MaxL2FetchGranularity = 5,
    }
}

choice! {
    /// The width of the banks of shared memory, on devices that let a program choose it.
    SharedMemoryConfig {
        /// The default width of the device.
        DefaultBankSize = 0,
        /// A width of four bytes.
        FourByteBankSize = 1,
        /// A width of eight bytes.
        EightByteBankSize = 2,
    }
}

bitflags::bitflags! {
    /// The way in which threads wait for a context, and further properties of the context.
    ///
    /// ```
    /// use cust::context::ContextFlags;
    ///
    /// assert_eq!((ContextFlags::SCHED_SPIN | ContextFlags::MAP_HOST).bits(), 9);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct ContextFlags: u32 {
        /// A thread that waits for the device spins.
        const SCHED_SPIN = 0x01;
        /// A thread that waits for the device yields.
        const SCHED_YIELD = 0x02;
        /// A thread that waits for the device sleeps.
        const SCHED_BLOCKING_SYNC = 0x04;
        /// The driver decides how a thread waits.
        const SCHED_AUTO = 0x00;
        /// Page-locked memory may be mapped for the device. Today's drivers always allow it.
        const MAP_HOST = 0x08;
        /// The memory for the stacks of threads is kept from one launch to the next.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// A hold on the primary context of a device. All parts of a process share the primary context, and
/// it lives as long as one of them holds it.
///
/// ```no_run
/// use cust::{context::{Context, CurrentContext}, device::Device};
///
/// cust::init(cust::CudaFlags::empty())?;
/// let context = Context::new(Device::get_device(0)?)?;
/// # let context: &'static Context = Box::leak(Box::new(context));
/// std::thread::spawn(move || {
///     // Each thread must choose the context that it uses.
///     CurrentContext::set_current(context)
/// }).join().unwrap()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
    device: CUdevice,
}

// SAFETY: any thread may use a context, and several may do so at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

/// Makes one more hold on the context, which also becomes the current context of this thread.
///
/// # Panics
///
/// If the driver refuses. It has no reason to do so while the context is held.
impl Clone for Context {
    fn clone(&self) -> Self {
        Self::new(Device { device: self.device })
            .expect("a primary context that is held can be held once more")
    }
}

impl Context {
    /// Holds the primary context of a device, and makes it the current context of this thread.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDevicePrimaryCtxRetain(&raw mut inner, device.as_raw())) }?;
        // If the context cannot be made current, dropping this value releases it.
        let context = Self { inner, device: device.as_raw() };
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Resets the primary context of a device, which destroys all objects that the process has
    /// there.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// Nobody uses an object of this device any more, whichever part of the process has made it.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(cuDevicePrimaryCtxReset_v2(device.as_raw())) }
    }

    /// Sets the flags of the primary context.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: the driver refuses flags that it does not know.
        unsafe { call!(cuDevicePrimaryCtxSetFlags_v2(self.device, flags.bits())) }
    }

    /// The driver's handle, which is valid as long as the context is held.
    pub fn as_raw(&self) -> CUcontext {
        self.inner
    }

    /// The version of CUDA for which the context was made.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        let mut version = 0;
        // SAFETY: the context is held, and the pointer is to a live variable.
        unsafe { call!(cuCtxGetApiVersion(self.inner, &raw mut version)) }?;
        Ok(CudaApiVersion { version: version as i32 })
    }

    /// Releases the context and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the context, which still lives.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        let ctx = ManuallyDrop::new(ctx);
        // SAFETY: this object holds the context. It is returned only if the context was not
        // released.
        unsafe { call!(cuDevicePrimaryCtxRelease_v2(ctx.device)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(ctx)))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this object holds the context.
        let _ = unsafe { call!(cuDevicePrimaryCtxRelease_v2(self.device)) };
    }
}

/// The current context of the calling thread.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// The preferred division of on-chip memory between shared memory and L1 cache.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_cache_config() -> CudaResult<CacheConfig> {
        let mut config = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetCacheConfig(&raw mut config)) }?;
        CacheConfig::from_number(config)
    }

    /// The device of the context.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidContext`] if the thread has no current context; or another error of the
    /// driver.
    pub fn get_device() -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetDevice(&raw mut device)) }?;
        Ok(Device { device })
    }

    /// The flags of the context that this crate knows.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        let mut flags = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetFlags(&raw mut flags)) }?;
        Ok(ContextFlags::from_bits_truncate(flags))
    }

    /// The value of a limit, in the unit that the limit's documentation states.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        let mut limit = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetLimit(&raw mut limit, resource as u32)) }?;
        Ok(limit)
    }

    /// The width of the banks of shared memory.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_shared_memory_config() -> CudaResult<SharedMemoryConfig> {
        let mut config = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetSharedMemConfig(&raw mut config)) }?;
        SharedMemoryConfig::from_number(config)
    }

    /// The priorities that streams may have.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange { least: 0, greatest: 0 };
        // SAFETY: the pointers are to live variables.
        unsafe {
            call!(cuCtxGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest))
        }?;
        Ok(range)
    }

    /// Sets the preferred division of on-chip memory between shared memory and L1 cache.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_cache_config(cfg: CacheConfig) -> CudaResult<()> {
        // SAFETY: the call gets no pointers.
        unsafe { call!(cuCtxSetCacheConfig(cfg as u32)) }
    }

    /// Sets a limit, in the unit that the limit's documentation states.
    ///
    /// # Errors
    ///
    /// [`CudaError::UnsupportedLimit`] if the device has no such limit; or another error of the
    /// driver.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: the call gets no pointers.
        unsafe { call!(cuCtxSetLimit(resource as u32, limit)) }
    }

    /// Sets the width of the banks of shared memory.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_shared_memory_config(cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the call gets no pointers.
        unsafe { call!(cuCtxSetSharedMemConfig(cfg as u32)) }
    }

    /// Makes `c` the current context of this thread.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_current<C: ContextHandle>(c: &C) -> CudaResult<()> {
        // SAFETY: `c` holds the context.
        unsafe { call!(cuCtxSetCurrent(c.get_inner())) }
    }

    /// Waits for all work of the current context.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: the call has no arguments.
        unsafe { call!(cuCtxSynchronize()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_choice_has_is_an_error() {
        assert_eq!(CacheConfig::from_number(3), Ok(CacheConfig::PreferEqual));
        assert_eq!(SharedMemoryConfig::from_number(2), Ok(SharedMemoryConfig::EightByteBankSize));
        assert_eq!(CacheConfig::from_number(4), Err(CudaError::NotSupported));
    }
}
