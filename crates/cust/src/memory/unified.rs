//! Values in memory that host and device share.
//!
//! The driver moves their pages to whoever uses them. Launching a kernel is `unsafe`, and who does
//! it sees to it that the host leaves the values alone until the kernel has ended.

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

/// An address for values without bytes.
fn nowhere<T: DeviceCopy>() -> UnifiedPointer<T> {
    // SAFETY: nothing is there, and nothing is asked for.
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

// SAFETY: it owns its value.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBox<T> {}
// SAFETY: as a shared reference to the value.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBox<T> {}

impl<T: DeviceCopy> UnifiedBox<T> {
    /// The value.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_unified`].
    pub fn new(val: T) -> CudaResult<Self> {
        // SAFETY: written before anything else.
        unsafe {
            let mut new = Self::uninitialized()?;
            new.ptr.as_raw_mut().write(val);
            Ok(new)
        }
    }

    /// Room for a value, which is whatever was there.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_unified`].
    ///
    /// # Safety
    ///
    /// The value is written, through [`as_unified_ptr`](Self::as_unified_ptr), before it is used in
    /// any other way.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        if size_of::<T>() == 0 {
            return Ok(Self { ptr: nowhere() });
        }
        // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
        Ok(Self { ptr: unsafe { cuda_malloc_unified(1)? } })
    }

    /// The box of a value at this address.
    ///
    /// # Safety
    ///
    /// It came from [`into_unified`](Self::into_unified), or from [`cuda_malloc_unified`] and was
    /// written; nobody else frees it.
    pub unsafe fn from_raw(ptr: *mut T) -> Self {
        // SAFETY: the caller's promise.
        Self { ptr: unsafe { UnifiedPointer::wrap(ptr) } }
    }

    /// The box of a value at this address.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    pub unsafe fn from_unified(ptr: UnifiedPointer<T>) -> Self {
        Self { ptr }
    }

    /// The address of a value that is not freed with the box.
    pub fn into_unified(b: UnifiedBox<T>) -> UnifiedPointer<T> {
        ManuallyDrop::new(b).ptr
    }

    /// The address.
    pub fn as_unified_ptr(&self) -> UnifiedPointer<T> {
        self.ptr
    }

    /// The value, which is never freed.
    pub fn leak<'a>(b: UnifiedBox<T>) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: a value is there, and nobody else uses it.
        unsafe { &mut *UnifiedBox::into_unified(b).as_raw_mut() }
    }

    /// Frees it, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the box.
    pub fn drop(uni_box: UnifiedBox<T>) -> DropResult<UnifiedBox<T>> {
        let uni_box = ManuallyDrop::new(uni_box);
        if size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is given back only if it was not freed.
        unsafe { cuda_free_unified(uni_box.ptr) }
            .map_err(|error| (error, ManuallyDrop::into_inner(uni_box)))
    }
}

impl<T: DeviceCopy> Drop for UnifiedBox<T> {
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: allocated by this object.
            let _ = unsafe { cuda_free_unified(self.ptr) };
        }
    }
}

impl<T: DeviceCopy> Deref for UnifiedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a value is there.
        unsafe { &*self.ptr.as_raw() }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: a value is there, and nobody else uses it.
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

/// Many values in memory that host and device share, of a fixed number.
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

// SAFETY: it owns its values.
unsafe impl<T: Send + DeviceCopy> Send for UnifiedBuffer<T> {}
// SAFETY: as a shared reference to the values.
unsafe impl<T: Sync + DeviceCopy> Sync for UnifiedBuffer<T> {}

impl<T: DeviceCopy> UnifiedBuffer<T> {
    /// `size` copies of a value.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_unified`].
    pub fn new(value: &T, size: usize) -> CudaResult<Self> {
        // SAFETY: written before anything else.
        unsafe {
            let mut new = Self::uninitialized(size)?;
            let first = new.buf.as_raw_mut();
            (0..size).for_each(|i| first.add(i).write(*value));
            Ok(new)
        }
    }

    /// A copy of the values.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_unified`].
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: as many values here as there, written before anything else.
        unsafe {
            let mut new = Self::uninitialized(slice.len())?;
            ptr::copy_nonoverlapping(slice.as_ptr(), new.buf.as_raw_mut(), slice.len());
            Ok(new)
        }
    }

    /// Room for `size` values, which are whatever was there.
    ///
    /// # Errors
    ///
    /// Those of [`cuda_malloc_unified`].
    ///
    /// # Safety
    ///
    /// Each value is written before it is used in any other way.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
            unsafe { cuda_malloc_unified(size)? }
        } else {
            nowhere()
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

    /// The address of the first value.
    pub fn as_unified_ptr(&mut self) -> UnifiedPointer<T> {
        self.buf
    }

    /// The buffer of `capacity` values at this address.
    ///
    /// # Safety
    ///
    /// They came from [`cuda_malloc_unified`] and were written, or have no bytes and are at an
    /// address that is not null and aligned. Nobody else frees them.
    pub unsafe fn from_raw_parts(ptr: UnifiedPointer<T>, capacity: usize) -> UnifiedBuffer<T> {
        Self { buf: ptr, capacity }
    }

    /// Frees it, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the buffer.
    pub fn drop(uni_buf: UnifiedBuffer<T>) -> DropResult<UnifiedBuffer<T>> {
        let uni_buf = ManuallyDrop::new(uni_buf);
        if !uni_buf.has_bytes() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is given back only if it was not freed.
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
        // SAFETY: so many values are there.
        unsafe { slice::from_raw_parts(self.buf.as_raw(), self.capacity) }
    }
}

impl<T: DeviceCopy> DerefMut for UnifiedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many values are there, and nobody else uses them.
        unsafe { slice::from_raw_parts_mut(self.buf.as_raw_mut(), self.capacity) }
    }
}

impl<T: DeviceCopy> Drop for UnifiedBuffer<T> {
    fn drop(&mut self) {
        if self.has_bytes() {
            // SAFETY: allocated by this object.
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
