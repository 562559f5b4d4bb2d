//! One value in the memory of a device.

use std::{
    fmt,
    mem::{ManuallyDrop, MaybeUninit},
    ptr,
};

use bytemuck::Zeroable;

use super::{
    AsyncCopyDestination, CopyDestination, DeviceCopy, DevicePointer, copy_on_device,
    copy_on_device_async, copy_to_device, copy_to_device_async, copy_to_host, copy_to_host_async,
    cuda_free, cuda_free_async, cuda_malloc, cuda_malloc_async,
};
use crate::{
    error::{CudaResult, DropResult},
    stream::Stream,
    sys::CUdeviceptr,
};

/// One value in the memory of a device. A value without bytes takes no memory.
///
/// ```no_run
/// use cust::memory::{CopyDestination, DeviceBox};
///
/// let _context = cust::quick_init()?;
/// let mut counter = DeviceBox::new(&5u64)?;
/// assert_eq!(counter.as_host_value()?, 5);
/// counter.copy_from(&6)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    ptr: DevicePointer<T>,
}

// SAFETY: the object owns its value.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: a shared reference to the object only reads.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Makes a box with a copy of `val`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: the value is written below before it is read.
        let mut new = unsafe { Self::uninitialized()? };
        new.copy_from(val)?;
        Ok(new)
    }

    /// Like [`new`](Self::new), but the allocation and the copy are work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// The value stays where it is until the stream has copied it. Until then, only work of this
    /// stream uses the box.
    pub unsafe fn new_async(val: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the value is written below before it is read, on the same stream. The rest is the
        // caller's promise.
        unsafe {
            let mut new = Self::uninitialized_async(stream)?;
            new.async_copy_from(val, stream)?;
            Ok(new)
        }
    }

    /// Adds the freeing of the memory to the work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver. The memory is then leaked.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory, and its own drop does not run.
        unsafe { cuda_free_async(stream, this.ptr) }
    }

    /// Copies the value to the host.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the box holds a `T`, which fits into the variable. If it has no bytes, nothing
        // need be written.
        unsafe {
            copy_to_host(value.as_mut_ptr(), self.ptr.as_raw(), 1)?;
            Ok(value.assume_init())
        }
    }

    /// Allocates memory for a value without initialising it.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// The value is not read before it is written.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: DevicePointer::null() });
        }
        // SAFETY: the memory is freed once, when this object is dropped. The rest is the caller's
        // promise.
        Ok(Self { ptr: unsafe { cuda_malloc(1)? } })
    }

    /// Like [`uninitialized`](Self::uninitialized), but the allocation is work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// The value is not read before it is written. Until the stream has made the allocation, only
    /// work of this stream uses the box.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: DevicePointer::null() });
        }
        // SAFETY: as above.
        Ok(Self { ptr: unsafe { cuda_malloc_async(stream, 1)? } })
    }

    /// Makes a box of the value at this address.
    ///
    /// # Safety
    ///
    /// The address came from [`into_device`](Self::into_device) or [`cuda_malloc`], and a `T` lies
    /// there. Nobody else frees the memory.
    pub unsafe fn from_raw(ptr: CUdeviceptr) -> Self {
        Self { ptr: DevicePointer::from_raw(ptr) }
    }

    /// Makes a box of the value at this address.
    ///
    /// # Safety
    ///
    /// The contract is that of [`from_raw`](Self::from_raw).
    pub unsafe fn from_device(ptr: DevicePointer<T>) -> Self {
        Self { ptr }
    }

    /// Gives up the box without freeing its memory, and returns the address of the value.
    pub fn into_device(b: DeviceBox<T>) -> DevicePointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// The address of the value.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }

    /// Frees the memory and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the box, which still lives.
    pub fn drop(dev_box: DeviceBox<T>) -> DropResult<DeviceBox<T>> {
        let dev_box = ManuallyDrop::new(dev_box);
        if dev_box.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory. It is returned only if the memory was not
        // freed.
        unsafe { cuda_free(dev_box.ptr) }
            .map_err(|error| (error, ManuallyDrop::into_inner(dev_box)))
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBox<T> {
    /// Makes a box with a value whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: the value is written below before it is read.
        let new = unsafe { Self::uninitialized()? };
        if size_of::<T>() != 0 {
            // SAFETY: the memory has that many bytes.
            unsafe { call!(cuMemsetD8_v2(new.ptr.as_raw(), 0, size_of::<T>())) }?;
        }
        Ok(new)
    }

    /// Like [`zeroed`](Self::zeroed), but the allocation and the zeroing are work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, only work of this stream uses the box.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the value is written below before it is read, on the same stream. The rest is the
        // caller's promise.
        let new = unsafe { Self::uninitialized_async(stream)? };
        if size_of::<T>() != 0 {
            // SAFETY: the memory has that many bytes.
            unsafe {
                call!(cuMemsetD8Async(new.ptr.as_raw(), 0, size_of::<T>(), stream.as_inner()))
            }?;
        }
        Ok(new)
    }
}

impl<T: DeviceCopy> Drop for DeviceBox<T> {
    fn drop(&mut self) {
        if !self.ptr.is_null() {
            // SAFETY: this object has allocated the memory, and frees it once.
            let _ = unsafe { cuda_free(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> fmt::Pointer for DeviceBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceBox<T> {}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: the memory has the size of a `T`.
        unsafe { copy_to_device(self.ptr.as_raw(), source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        // SAFETY: the memory holds a `T`.
        unsafe { copy_to_host(ptr::from_mut(dest), self.ptr.as_raw(), 1) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, source: &DeviceBox<T>) -> CudaResult<()> {
        // SAFETY: both addresses hold a `T`.
        unsafe { copy_on_device(self.ptr.as_raw(), source.ptr.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, dest: &mut DeviceBox<T>) -> CudaResult<()> {
        dest.copy_from(self)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, source: &T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the memory has the size of a `T`. The rest is the caller's promise.
        unsafe { copy_to_device_async(self.ptr.as_raw(), source, 1, stream) }
    }

    unsafe fn async_copy_to(&self, dest: &mut T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the memory holds a `T`. The rest is the caller's promise.
        unsafe { copy_to_host_async(dest, self.ptr.as_raw(), 1, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBox<T>> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, source: &DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both addresses hold a `T`. The rest is the caller's promise.
        unsafe {
            copy_on_device_async(self.ptr.as_raw(), source.ptr.as_raw(), size_of::<T>(), stream)
        }
    }

    unsafe fn async_copy_to(&self, dest: &mut DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { dest.async_copy_from(self, stream) }
    }
}
