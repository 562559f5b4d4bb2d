//! Contexts: what a process has of a device. This crate uses the primary context, as CUDA's runtime
//! and all libraries on it do.

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

/// Anything that has a context.
pub trait ContextHandle: Sealed {
    /// The context.
    fn get_inner(&self) -> CUcontext;
}

/// A choice that is a number of the driver.
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
            /// The choice of this number, if this crate knows it.
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
    /// What the memory that shared memory and the L1 cache divide is preferred for.
    CacheConfig {
        /// Nothing.
        PreferNone = 0,
        /// More shared memory.
        PreferShared = 1,
        /// More L1 cache.
        PreferL1 = 2,
        /// As much of one as of the other.
        PreferEqual = 3,
    }
}

choice! {
    /// A limit of a context.
    ResourceLimit {
        /// Bytes of a thread's stack.
        StackSize = 0,
        /// Bytes of the buffer for `printf` on the device.
        PrintfFifoSize = 1,
        /// Bytes of the heap for `malloc` on the device.
        MallocHeapSize = 2,
        /// How deep launches from the device may be nested and still be waited for.
        DeviceRuntimeSynchronizeDepth = 3,
        /// How many launches from the device may wait.
        DeviceRuntimePendingLaunchCount = 4,
        /// Bytes that the L2 cache fetches at a time; a hint.
        MaxL2FetchGranularity = 5,
    }
}

choice! {
    /// How wide the banks of shared memory are, on devices that let a program choose.
    SharedMemoryConfig {
        /// As the device has them.
        DefaultBankSize = 0,
        /// Four bytes.
        FourByteBankSize = 1,
        /// Eight bytes.
        EightByteBankSize = 2,
    }
}

bitflags::bitflags! {
    /// How a context waits, and what else it does.
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
        /// Page-locked memory may be mapped for the device. Always so in today's drivers.
        const MAP_HOST = 0x08;
        /// Memory for the stacks of threads is kept from one launch to the next.
        const LMEM_RESIZE_TO_MAX = 0x10;
    }
}

/// The primary context of a device. All of a process share it; it lives as long as anybody in the
/// process holds it.
///
/// ```no_run
/// use cust::{context::{Context, CurrentContext}, device::Device};
///
/// cust::init(cust::CudaFlags::empty())?;
/// let context = Context::new(Device::get_device(0)?)?;
/// # let context: &'static Context = Box::leak(Box::new(context));
/// std::thread::spawn(move || {
///     // Each thread says which context it uses.
///     CurrentContext::set_current(context)
/// }).join().unwrap()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Context {
    inner: CUcontext,
    device: CUdevice,
}

// SAFETY: any thread may use a context, and several may at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Sealed for Context {}
impl ContextHandle for Context {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

/// One more holder of the context, which becomes that of this thread.
///
/// # Panics
///
/// If the driver refuses, which it has no reason to do while the context is held.
impl Clone for Context {
    fn clone(&self) -> Self {
        Self::new(Device { device: self.device })
            .expect("a primary context that is held can be held once more")
    }
}

impl Context {
    /// Holds the primary context of a device, and makes it the context of this thread.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(device: Device) -> CudaResult<Self> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDevicePrimaryCtxRetain(&raw mut inner, device.as_raw())) }?;
        // It is released if it cannot be made current.
        let context = Self { inner, device: device.as_raw() };
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// Destroys all that the process has on the device.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// Nothing of the device is used any more, whoever in the process has made it.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(cuDevicePrimaryCtxReset_v2(device.as_raw())) }
    }

    /// Sets the flags of the primary context.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        // SAFETY: the driver refuses flags that it does not know.
        unsafe { call!(cuDevicePrimaryCtxSetFlags_v2(self.device, flags.bits())) }
    }

    /// The driver's handle, which is good as long as the context is held.
    pub fn as_raw(&self) -> CUcontext {
        self.inner
    }

    /// The version of CUDA that the context was made for.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        let mut version = 0;
        // SAFETY: the context is held, and the pointer is to a live variable.
        unsafe { call!(cuCtxGetApiVersion(self.inner, &raw mut version)) }?;
        Ok(CudaApiVersion { version: version as i32 })
    }

    /// Releases the context, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the context.
    pub fn drop(ctx: Context) -> DropResult<Context> {
        let ctx = ManuallyDrop::new(ctx);
        // SAFETY: held by this object, which gives it back only if it was not released.
        unsafe { call!(cuDevicePrimaryCtxRelease_v2(ctx.device)) }
            .map_err(|error| (error, ManuallyDrop::into_inner(ctx)))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: held by this object.
        let _ = unsafe { call!(cuDevicePrimaryCtxRelease_v2(self.device)) };
    }
}

/// The context of the thread that calls.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// What shared memory and L1 cache prefer.
    ///
    /// # Errors
    ///
    /// The driver's.
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
    /// The driver's; [`CudaError::InvalidContext`] if the thread has no context.
    pub fn get_device() -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetDevice(&raw mut device)) }?;
        Ok(Device { device })
    }

    /// The flags of the context, as far as this crate knows them.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        let mut flags = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetFlags(&raw mut flags)) }?;
        Ok(ContextFlags::from_bits_truncate(flags))
    }

    /// A limit, in its own unit.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        let mut limit = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxGetLimit(&raw mut limit, resource as u32)) }?;
        Ok(limit)
    }

    /// How wide the banks of shared memory are.
    ///
    /// # Errors
    ///
    /// The driver's.
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
    /// The driver's.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        let mut range = StreamPriorityRange { least: 0, greatest: 0 };
        // SAFETY: the pointers are to live variables.
        unsafe {
            call!(cuCtxGetStreamPriorityRange(&raw mut range.least, &raw mut range.greatest))
        }?;
        Ok(range)
    }

    /// Sets what shared memory and L1 cache prefer.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_cache_config(cfg: CacheConfig) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { call!(cuCtxSetCacheConfig(cfg as u32)) }
    }

    /// Sets a limit, in its own unit.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::UnsupportedLimit`] where the device has no such limit.
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { call!(cuCtxSetLimit(resource as u32, limit)) }
    }

    /// Sets how wide the banks of shared memory are.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_shared_memory_config(cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: no pointers.
        unsafe { call!(cuCtxSetSharedMemConfig(cfg as u32)) }
    }

    /// Makes a context that of this thread.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_current<C: ContextHandle>(c: &C) -> CudaResult<()> {
        // SAFETY: the context is held by `c`.
        unsafe { call!(cuCtxSetCurrent(c.get_inner())) }
    }

    /// Waits for all work of the context.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: no arguments.
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
