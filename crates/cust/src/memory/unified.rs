//! Values in memory that host and device share (unified memory).
//!
//! The driver moves the pages of this memory to the host or to the device that uses them. The host
//! must not use the values while a kernel uses them. The caller of a launch is responsible for
//! this, because launching a kernel is `unsafe`.

use std::{
    borrow::{Borrow, BorrowMut},
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
    ptr::{self, NonNull},
    slice,
};

use super::{DeviceCopy, UnifiedPointer, cuda_free_unified, cuda_malloc_unified};
use crate::error::{CudaResult, DropResult};

/// A dangling address, for values without bytes.
fn nowhere<T: DeviceCopy>() -> UnifiedPointer<T> {
    // SAFETY: values without bytes are never read or written at the address.
    unsafe { UnifiedPointer::wrap(NonNull::dangling().as_ptr()) }
}

/// One value in memory that host and device share.
///
/// ```no_run
/// use cust::memory::UnifiedBox;
///
/// let _context = cust::quick_init()?;
/// let mut value = UnifiedBox::new(5u64)?;
/// *value += 1;
/// let address = value.as_unified_ptr();
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct UnifiedBox<T: DeviceCopy> {
    ptr: UnifiedPointer<T>,
}

// SAFETY: the object owns its value.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBox<T> {}
// SAFETY: a shared reference to the object gives only a shared reference to the value.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBox<T> {}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// Moves a value into new unified memory.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_unified`].
    pub fn new(val: T) -> CudaResult<Self> {
        // SAFETY: the memory is written before any other use.
        unsafe {
            let mut new = Self::uninitialized()?;
            new.ptr.as_raw_mut().write(val);
            Ok(new)
        }
    }

    /// Allocates memory for a value without initialising it.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_unified`].
    ///
    /// # Safety
    ///
    /// The value is written, through [`as_unified_ptr`](Self::as_unified_ptr), before it is used in
    /// any other way.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: nowhere() });
        }
        // SAFETY: the memory is freed once, when this object is dropped. The rest is the caller's
        // promise.
        Ok(Self { ptr: unsafe { cuda_malloc_unified(1)? } })
    }

    /// Makes a box of the value at this address.
    ///
    /// # Safety
    ///
    /// The address came from [`into_unified`](Self::into_unified), or from [`cuda_malloc_unified`]
    /// and a value was written there. Nobody else frees the memory.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        // SAFETY: the caller's promise.
        Self { ptr: unsafe { UnifiedPointer::wrap(ptr) } }
    }

    /// Makes a box of the value at this address.
    ///
    /// # Safety
    ///
    /// The contract is that of [`from_raw`](Self::from_raw).
    pub unsafe fn from_unified(ptr: UnifiedPointer<T>) -> Self {
        Self { ptr }
    }

    /// Gives up the box without freeing its memory, and returns the address of the value.
    pub fn into_unified(b: UnifiedBox<T>) -> UnifiedPointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// The address of the value.
    pub fn as_unified_ptr(&self) -> UnifiedPointer<T> {
        self.ptr
    }

    /// Gives up the box, and returns the value, whose memory is never freed.
    pub fn leak<'a>(b: UnifiedBox<T>) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: the memory holds a value, and nobody else uses it.
        unsafe { &mut *UnifiedBox::into_unified(b).as_raw_mut() }
    }

    /// Frees the memory and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the box, which still lives.
    pub fn drop(uni_box: UnifiedBox<T>) -> DropResult<UnifiedBox<T>> {
        let uni_box = ManuallyDrop::new(uni_box);
        if size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory. It is returned only if the memory was not
        // freed.
        unsafe { cuda_free_unified(uni_box.ptr) }
            .map_err(|error| (error, ManuallyDrop::into_inner(uni_box)))
    }
}

impl<T: DeviceCopy> Drop for UnifiedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: this object has allocated the memory, and frees it once.
            let _ = unsafe { cuda_free_unified(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for UnifiedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the memory holds a value.
        unsafe { &*self.ptr.as_raw() }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the memory holds a value, and nobody else uses it.
        unsafe { &mut *self.ptr.as_raw_mut() }
    }
}

impl<T: DeviceCopy> Borrow<T> for UnifiedBox<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> BorrowMut<T> for UnifiedBox<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy> AsRef<T> for UnifiedBox<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: DeviceCopy> AsMut<T> for UnifiedBox<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: DeviceCopy + fmt::Display> fmt::Display for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: DeviceCopy> fmt::Pointer for UnifiedBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.ptr, f)
    }
}

impl<T: DeviceCopy + PartialEq> PartialEq for UnifiedBox<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: DeviceCopy + Eq> Eq for UnifiedBox<T> {}

impl<T: DeviceCopy + PartialOrd> PartialOrd for UnifiedBox<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: DeviceCopy + Ord> Ord for UnifiedBox<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: DeviceCopy + Hash> Hash for UnifiedBox<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// A fixed number of values in memory that host and device share.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let mut numbers = UnifiedBuffer::new(&0u32, 4)?;
/// numbers[2] = 7;
/// assert_eq!(numbers.as_slice(), [0, 0, 7, 0]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct UnifiedBuffer<T: DeviceCopy> {
    buf: UnifiedPointer<T>,
    capacity: usize,
}

// SAFETY: the object owns its values.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBuffer<T> {}
// SAFETY: a shared reference to the object gives only a shared reference to the values.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBuffer<T> {}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// Makes a buffer of `size` copies of `value`.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_unified`].
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: the memory is written before any other use.
        unsafe {
            let mut new = Self::uninitialized(size)?;
            let first = new.buf.as_raw_mut();
            (0..size).for_each(|i| first.add(i).write(*value));
            Ok(new)
        }
    }

    /// Makes a buffer with a copy of the values of `slice`.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_unified`].
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the new memory has as many values as the slice, and they are written before any
        // other use.
        unsafe {
            let mut new = Self::uninitialized(slice.len())?;
            ptr::copy_nonoverlapping(slice.as_ptr(), new.buf.as_raw_mut(), slice.len());
            Ok(new)
        }
    }

    /// Allocates memory for `size` values without initialising them.
    ///
    /// # Errors
    ///
    /// The errors of [`cuda_malloc_unified`].
    ///
    /// # Safety
    ///
    /// Each value is written before it is used in any other way.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: the memory is freed once, when this object is dropped. The rest is the
            // caller's promise.
            unsafe { cuda_malloc_unified(size)? }
        } else {
            nowhere()
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

    /// The address of the first value.
    pub fn as_unified_ptr(&mut self) -> UnifiedPointer<T> {
        self.buf
    }

    /// Makes a buffer of the `capacity` values at this address.
    ///
    /// # Safety
    ///
    /// The memory came from [`cuda_malloc_unified`] and the values were written there. If the
    /// values have no bytes, the address need only be aligned and not null. Nobody else frees the
    /// memory.
    pub unsafe fn from_raw_parts(ptr: UnifiedPointer<T>, capacity: usize) -> UnifiedBuffer<T> {
        Self { buf: ptr, capacity }
    }

    /// Frees the memory and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the buffer, which still lives.
    pub fn drop(uni_buf: UnifiedBuffer<T>) -> DropResult<UnifiedBuffer<T>> {
        let uni_buf = ManuallyDrop::new(uni_buf);
        if !uni_buf.has_bytes() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory. It is returned only if the memory was not
        // freed.
        unsafe { cuda_free_unified(uni_buf.buf) }
            .map_err(|error| (error, ManuallyDrop::into_inner(uni_buf)))
    }

    fn has_bytes(&self) -> bool {
        self.capacity > 0 && size_of::<T>() > 0
    }
}

impl<T: DeviceCopy> AsRef<[T]> for UnifiedBuffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: DeviceCopy> AsMut<[T]> for UnifiedBuffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: DeviceCopy> Deref for UnifiedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory holds that many values.
        unsafe { slice::from_raw_parts(self.buf.as_raw(), self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory holds that many values, and nobody else uses them.
        unsafe { slice::from_raw_parts_mut(self.buf.as_raw_mut(), self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for UnifiedBuffer<T> {
    fn drop(&mut self) {
        if self.has_bytes() {
            // SAFETY: this object has allocated the memory, and frees it once.
            let _ = unsafe { cuda_free_unified(self.buf) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_bytes_need_no_device() {
        let none = UnifiedBuffer::<u64>::from_slice(&[]).unwrap();
        assert!(none.is_empty() && UnifiedBuffer::drop(none).is_ok());
        assert_eq!(UnifiedBuffer::new(&(), 3).unwrap().len(), 3);
        let unit = UnifiedBox::new(()).unwrap();
        assert!(UnifiedBox::drop(unit).is_ok());
    }
}
