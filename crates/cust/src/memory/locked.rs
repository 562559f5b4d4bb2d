//! Values in page-locked memory of the host.

use std::{
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
    ptr::{self, NonNull},
    slice,
};

use super::{DeviceCopy, cuda_free_locked, cuda_malloc_locked};
use crate::error::{CudaResult, DropResult};

/// One value in page-locked memory of the host.
///
/// ```no_run
/// use cust::memory::LockedBox;
///
/// let _context = cust::quick_init()?;
/// let mut value = LockedBox::new(&5)?;
/// *value += 1;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct LockedBox<T: DeviceCopy> {
    ptr: *mut T,
}

// SAFETY: it owns its value.
unsafe impl<T: Send + DeviceCopy> Send for LockedBox<T> {}
// SAFETY: as a shared reference to the value.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBox<T> {}

impl<T: DeviceCopy> LockedBox<T> {
    /// Room for a value, which is whatever was there.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_locked`].
    ///
    /// # Safety
    ///
    /// The value is written, through [`as_raw`](Self::as_raw), before it is used in any other way.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: NonNull::dangling().as_ptr() });
        }
        // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
        Ok(Self { ptr: unsafe { cuda_malloc_locked(1)? } })
    }

    /// A copy of the value.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_locked`].
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: written before anything else.
        unsafe {
            let new = Self::uninitialized()?;
            new.ptr.write(*val);
            Ok(new)
        }
    }

    /// The address of a value that is not freed with the box.
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).ptr
    }

    /// The box of a value at this address.
    ///
    /// # Safety
    ///
    /// It came from [`into_raw`](Self::into_raw), or from [`cuda_malloc_locked`] and was written;
    /// nobody else frees it.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        Self { ptr }
    }

    /// The address.
    pub fn as_raw(&self) -> *mut T {
        self.ptr
    }
}

impl<T: DeviceCopy> Drop for LockedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: allocated by this object.
            let _ = unsafe { cuda_free_locked(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for LockedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a value is there.
        unsafe { &*self.ptr }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: a value is there, and nobody else uses it.
        unsafe { &mut *self.ptr }
    }
}

/// Many values in page-locked memory of the host, of a fixed number. Copies to and from it may be
/// asynchronous.
///
/// ```no_run
/// use cust::memory::{CopyDestination, DeviceBuffer, LockedBuffer};
///
/// let _context = cust::quick_init()?;
/// let mut host = LockedBuffer::new(&0u32, 4)?;
/// DeviceBuffer::from_slice(&[1, 2, 3, 4])?.copy_to(&mut host)?;
/// assert_eq!(host.as_slice(), [1, 2, 3, 4]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    buf: *mut T,
    capacity: usize,
}

// SAFETY: it owns its values.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: as a shared reference to the values.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// `size` copies of a value.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_locked`].
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: written before anything else.
        unsafe {
            let new = Self::uninitialized(size)?;
            (0..size).for_each(|i| new.buf.add(i).write(*value));
            Ok(new)
        }
    }

    /// A copy of the values.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_locked`].
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: as many values here as there, written before anything else.
        unsafe {
            let new = Self::uninitialized(slice.len())?;
            ptr::copy_nonoverlapping(slice.as_ptr(), new.buf, slice.len());
            Ok(new)
        }
    }

    /// Room for `size` values, which are whatever was there.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_locked`].
    ///
    /// # Safety
    ///
    /// Each value is written before it is used in any other way.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
            unsafe { cuda_malloc_locked(size)? }
        } else {
            NonNull::dangling().as_ptr()
        };
        Ok(Self { buf, capacity: size })
    }

    /// The values.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// The values.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// The buffer of `size` values at this address.
    ///
    /// # Safety
    ///
    /// They came from [`cuda_malloc_locked`] and were written, or have no bytes and are at an
    /// address that is not null and aligned. Nobody else frees them.
    pub unsafe fn from_raw_parts(ptr: *mut T, size: usize) -> LockedBuffer<T> {
        Self { buf: ptr, capacity: size }
    }

    /// Frees it, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the buffer.
    pub fn drop(buf: LockedBuffer<T>) -> DropResult<LockedBuffer<T>> {
        let buf = ManuallyDrop::new(buf);
        if !buf.has_bytes() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is given back only if it was not freed.
        unsafe { cuda_free_locked(buf.buf) }.map_err(|error| (error, ManuallyDrop::into_inner(buf)))
    }

    fn has_bytes(&self) -> bool {
        self.capacity > 0 && size_of::<T>() > 0
    }
}

impl<T: DeviceCopy> AsRef<[T]> for LockedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy> AsMut<[T]> for LockedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: DeviceCopy> Deref for LockedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many values are there.
        unsafe { slice::from_raw_parts(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many values are there, and nobody else uses them.
        unsafe { slice::from_raw_parts_mut(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        if self.has_bytes() {
            // SAFETY: allocated by this object.
            let _ = unsafe { cuda_free_locked(self.buf) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_bytes_need_no_device() {
        let mut none = LockedBuffer::<u64>::from_slice(&[]).unwrap();
        assert!(none.as_mut_slice().is_empty());
        assert!(LockedBuffer::drop(none).is_ok());
        assert_eq!(LockedBuffer::new(&(), 3).unwrap().len(), 3);
        let unit = LockedBox::new(&()).unwrap();
        assert_eq!(*unit, ());
    }
}
