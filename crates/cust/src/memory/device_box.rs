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

/// One value in the memory of a device. A value without bytes takes none.
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

// SAFETY: it owns its value.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBox<T> {}
// SAFETY: a shared one only reads.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBox<T> {}

impl<T: DeviceCopy> DeviceBox<T> {
    /// A copy of the value.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: written below before it is read.
        let mut new = unsafe { Self::uninitialized()? };
        new.copy_from(val)?;
        Ok(new)
    }

    /// A copy of the value, made when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The value stays where it is until then, and the box is used on this stream, or elsewhere
    /// after that.
    pub unsafe fn new_async(val: &T, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written below before it is read, on the same stream; the rest is the caller's
        // promise.
        unsafe {
            let mut new = Self::uninitialized_async(stream)?;
            new.async_copy_from(val, stream)?;
            Ok(new)
        }
    }

    /// Frees it when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's; then the memory is leaked.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is gone.
        unsafe { cuda_free_async(stream, this.ptr) }
    }

    /// The value, copied to the host.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: a `T` is there and fits here; for one without bytes there is nothing to write.
        unsafe {
            copy_to_host(value.as_mut_ptr(), self.ptr.as_raw(), 1)?;
            Ok(value.assume_init())
        }
    }

    /// Room for a value, which is whatever was there.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The value is not read before it is written.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: DevicePointer::null() });
        }
        // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
        Ok(Self { ptr: unsafe { cuda_malloc(1)? } })
    }

    /// As [`uninitialized`](Self::uninitialized), when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The value is not read before it is written, and is used on this stream, or elsewhere once
    /// the stream has come to it.
    pub unsafe fn uninitialized_async(stream: &Stream) -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: DevicePointer::null() });
        }
        // SAFETY: as above.
        Ok(Self { ptr: unsafe { cuda_malloc_async(stream, 1)? } })
    }

    /// The box of a value at this address.
    ///
    /// # Safety
    ///
    /// It came from [`into_device`](Self::into_device) or [`cuda_malloc`], and nobody else frees
    /// it. A `T` is there.
    pub unsafe fn from_raw(ptr: CUdeviceptr) -> Self {
        Self { ptr: DevicePointer::from_raw(ptr) }
    }

    /// The box of a value at this address.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    pub unsafe fn from_device(ptr: DevicePointer<T>) -> Self {
        Self { ptr }
    }

    /// The address of a value that is not freed with the box.
    pub fn into_device(b: DeviceBox<T>) -> DevicePointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// The address.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.ptr
    }

    /// Frees it, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the box.
    pub fn drop(dev_box: DeviceBox<T>) -> DropResult<DeviceBox<T>> {
        let dev_box = ManuallyDrop::new(dev_box);
        if dev_box.ptr.is_null() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is given back only if it was not freed.
        unsafe { cuda_free(dev_box.ptr) }
            .map_err(|error| (error, ManuallyDrop::into_inner(dev_box)))
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBox<T> {
    /// A value all of whose bytes are 0.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn zeroed() -> CudaResult<Self> {
        // SAFETY: written below before it is read.
        let new = unsafe { Self::uninitialized()? };
        if size_of::<T>() != 0 {
            // SAFETY: so many bytes are there.
            unsafe { call!(cuMemsetD8_v2(new.ptr.as_raw(), 0, size_of::<T>())) }?;
        }
        Ok(new)
    }

    /// As [`zeroed`](Self::zeroed), when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// It is used on this stream, or elsewhere once the stream has come to it.
    pub unsafe fn zeroed_async(stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written below before it is read, on the same stream.
        let new = unsafe { Self::uninitialized_async(stream)? };
        if size_of::<T>() != 0 {
            // SAFETY: so many bytes are there.
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
            // SAFETY: allocated by this object.
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
        // SAFETY: a `T` fits there.
        unsafe { copy_to_device(self.ptr.as_raw(), source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        // SAFETY: a `T` is there.
        unsafe { copy_to_host(ptr::from_mut(dest), self.ptr.as_raw(), 1) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, source: &DeviceBox<T>) -> CudaResult<()> {
        // SAFETY: a `T` is at both addresses.
        unsafe { copy_on_device(self.ptr.as_raw(), source.ptr.as_raw(), size_of::<T>()) }
    }

    fn copy_to(&self, dest: &mut DeviceBox<T>) -> CudaResult<()> {
        dest.copy_from(self)
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<T> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, source: &T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: a `T` fits there; the rest is the caller's promise.
        unsafe { copy_to_device_async(self.ptr.as_raw(), source, 1, stream) }
    }

    unsafe fn async_copy_to(&self, dest: &mut T, stream: &Stream) -> CudaResult<()> {
        // SAFETY: a `T` is there; the rest is the caller's promise.
        unsafe { copy_to_host_async(dest, self.ptr.as_raw(), 1, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBox<T>> for DeviceBox<T> {
    unsafe fn async_copy_from(&mut self, source: &DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: a `T` is at both addresses; the rest is the caller's promise.
        unsafe {
            copy_on_device_async(self.ptr.as_raw(), source.ptr.as_raw(), size_of::<T>(), stream)
        }
    }

    unsafe fn async_copy_to(&self, dest: &mut DeviceBox<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { dest.async_copy_from(self, stream) }
    }
}
