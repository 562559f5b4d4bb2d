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

// SAFETY: the object owns its value.
unsafe impl<T: Send + DeviceCopy> Send for LockedBox<T> {}
// SAFETY: a shared reference to the object gives only a shared reference to the value.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBox<T> {}

impl<T: DeviceCopy> LockedBox<T> {
    /// Allocates memory for a value without initialising it.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_locked`].
    ///
    /// # Safety
    ///
    /// The value is written, through [`as_raw`](Self::as_raw), before it is used in any other way.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: NonNull::dangling().as_ptr() });
        }
        // SAFETY: the memory is freed once, when this object is dropped. The rest is the caller's
        // promise.
        Ok(Self { ptr: unsafe { cuda_malloc_locked(1)? } })
    }

    /// Makes a box with a copy of `val`.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_locked`].
    pub fn new(val: &T) -> CudaResult<Self> {
        // SAFETY: the memory is written before any other use.
        unsafe {
            let new = Self::uninitialized()?;
            new.ptr.write(*val);
            Ok(new)
        }
    }

    /// Gives up the box without freeing its memory, and returns the address of the value.
    pub fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).ptr
    }

    /// Makes a box of the value at this address.
    ///
    /// # Safety
    ///
    /// The address came from [`into_raw`](Self::into_raw), or from [`cuda_malloc_locked`] and a
    /// value was written there. Nobody else frees the memory.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        Self { ptr }
    }

    /// The address of the value.
    pub fn as_raw(&self) -> *mut T {
        self.ptr
    }
}

impl<T: DeviceCopy> Drop for LockedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: this object has allocated the memory, and frees it once.
            let _ = unsafe { cuda_free_locked(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for LockedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the memory holds a value.
        unsafe { &*self.ptr }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the memory holds a value, and nobody else uses it.
        unsafe { &mut *self.ptr }
    }
}

/// A fixed number of values in page-locked memory of the host. Copies to and from such memory may
/// be asynchronous.
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

// SAFETY: the object owns its values.
unsafe impl<T: Send + DeviceCopy> Send for LockedBuffer<T> {}
// SAFETY: a shared reference to the object gives only a shared reference to the values.
unsafe impl<T: Sync + DeviceCopy> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// Makes a buffer of `size` copies of a value.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_locked`].
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: the memory is written before any other use.
        unsafe {
            let new = Self::uninitialized(size)?;
            (0..size).for_each(|i| new.buf.add(i).write(*value));
            Ok(new)
        }
    }

    /// Makes a buffer with a copy of the values of a slice.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_locked`].
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the new memory has as many values as the slice, and they are written before any
        // other use.
        unsafe {
            let new = Self::uninitialized(slice.len())?;
            ptr::copy_nonoverlapping(slice.as_ptr(), new.buf, slice.len());
            Ok(new)
        }
    }

    /// Allocates memory for `size` values without initialising them.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_locked`].
    ///
    /// # Safety
    ///
    /// Each value is written before it is used in any other way.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: the memory is freed once, when this object is dropped. The rest is the
            // caller's promise.
            unsafe { cuda_malloc_locked(size)? }
        } else {
            NonNull::dangling().as_ptr()
        };
        Ok(Self { buf, capacity: size })
    }

    /// The values of the buffer.
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// The values of the buffer.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Makes a buffer of the `size` values at this address.
    ///
    /// # Safety
    ///
    /// The memory came from [`cuda_malloc_locked`] and the values were written there. If the values
    /// have no bytes, the address need only be aligned and not null. Nobody else frees the memory.
    pub unsafe fn from_raw_parts(ptr: *mut T, size: usize) -> LockedBuffer<T> {
        Self { buf: ptr, capacity: size }
    }

    /// Frees the memory and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the buffer, which still lives.
    pub fn drop(buf: LockedBuffer<T>) -> DropResult<LockedBuffer<T>> {
        let buf = ManuallyDrop::new(buf);
        if !buf.has_bytes() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory. It is returned only if the memory was not
        // freed.
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
        // SAFETY: the memory holds that many values.
        unsafe { slice::from_raw_parts(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory holds that many values, and nobody else uses them.
        unsafe { slice::from_raw_parts_mut(self.buf, self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        if self.has_bytes() {
            // SAFETY: this object has allocated the memory, and frees it once.
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
