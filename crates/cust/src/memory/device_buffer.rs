//! Buffers of many values in the memory of a device.

use std::{
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
};

use bytemuck::{Pod, PodCastError, Zeroable};

use super::{
    DeviceCopy, DevicePointer, DeviceSlice, cuda_free, cuda_free_async, cuda_malloc,
    cuda_malloc_async,
};
use crate::{
    error::{CudaResult, DropResult},
    stream::Stream,
};

/// A fixed number of values in the memory of a device. A buffer dereferences to a [`DeviceSlice`]
/// and owns its memory. A buffer without bytes takes no memory, and its address is null.
///
/// ```no_run
/// use cust::memory::{CopyDestination, DeviceBuffer};
///
/// let _context = cust::quick_init()?;
/// let numbers = DeviceBuffer::from_slice(&[1u32, 2, 3, 4])?;
/// assert_eq!(numbers[1..3].as_host_vec()?, [2, 3]);
/// let mut zeros = DeviceBuffer::<u32>::zeroed(4)?;
/// zeros.copy_from(&numbers)?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct DeviceBuffer<T: DeviceCopy> {
    /// The address of the first value; null if the buffer has no bytes.
    buf: DevicePointer<T>,
    len: usize,
}

// SAFETY: the object owns its values.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: a shared reference to the object only reads.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates memory for `size` values without initialising them.
    ///
    /// # Errors
    ///
    /// [`InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation) if the number
    /// of bytes does not fit into a `usize`; or an error of the driver.
    ///
    /// # Safety
    ///
    /// The values are not read before they are written.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: the memory is freed once, when this object is dropped. The rest is the
            // caller's promise.
            unsafe { cuda_malloc(size)? }
        } else {
            DevicePointer::null()
        };
        Ok(Self { buf, len: size })
    }

    /// Like [`uninitialized`](Self::uninitialized), but the allocation is work of the stream.
    ///
    /// # Errors
    ///
    /// The errors of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// The values are not read before they are written. Until the stream has made the allocation,
    /// only work of this stream uses the buffer.
    pub unsafe fn uninitialized_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: as above.
            unsafe { cuda_malloc_async(stream, size)? }
        } else {
            DevicePointer::null()
        };
        Ok(Self { buf, len: size })
    }

    /// Adds the freeing of the memory to the work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver. The memory is then leaked.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.buf.is_null() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory, and its own drop does not run.
        unsafe { cuda_free_async(stream, this.buf) }
    }

    /// Makes a buffer of the `capacity` values at this address.
    ///
    /// # Safety
    ///
    /// `capacity` values lie at the address, and nobody else frees them. Their memory was allocated
    /// by [`cuda_malloc`] or another function of this module for memory of the device. If they have
    /// no bytes, the pointer is null.
    pub unsafe fn from_raw_parts(ptr: DevicePointer<T>, capacity: usize) -> DeviceBuffer<T> {
        Self { buf: ptr, len: capacity }
    }

    /// Frees the memory and returns the driver's result. An ordinary drop ignores an error.
    ///
    /// # Errors
    ///
    /// An error of the driver, together with the buffer, which still lives.
    pub fn drop(dev_buf: DeviceBuffer<T>) -> DropResult<DeviceBuffer<T>> {
        let dev_buf = ManuallyDrop::new(dev_buf);
        if dev_buf.buf.is_null() {
            return Ok(());
        }
        // SAFETY: this object has allocated the memory. It is returned only if the memory was not
        // freed.
        unsafe { cuda_free(dev_buf.buf) }
            .map_err(|error| (error, ManuallyDrop::into_inner(dev_buf)))
    }

    /// Makes a buffer with a copy of the values of `slice`.
    ///
    /// # Errors
    ///
    /// The errors of [`uninitialized`](Self::uninitialized).
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: the values are written below before they are read.
        let mut new = unsafe { Self::uninitialized(slice.len())? };
        new.write(slice)?;
        Ok(new)
    }

    /// Like [`from_slice`](Self::from_slice), but the allocation and the copy are work of the
    /// stream.
    ///
    /// # Errors
    ///
    /// The errors of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// The values stay where they are until the stream has copied them. Until then, only work of
    /// this stream uses the buffer.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the values are written below before they are read, on the same stream. The rest
        // is the caller's promise.
        unsafe {
            let mut new = Self::uninitialized_async(slice.len(), stream)?;
            new.write_async(slice, stream)?;
            Ok(new)
        }
    }

    /// A slice of all values.
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// Makes a buffer of `size` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// The errors of [`uninitialized`](Self::uninitialized).
    pub fn zeroed(size: usize) -> CudaResult<Self> {
        // SAFETY: the values are written below before they are read.
        let mut new = unsafe { Self::uninitialized(size)? };
        new.set_zero()?;
        Ok(new)
    }

    /// Like [`zeroed`](Self::zeroed), but the allocation and the zeroing are work of the stream.
    ///
    /// # Errors
    ///
    /// The errors of [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, only work of this stream uses the buffer.
    pub unsafe fn zeroed_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: the values are written below before they are read, on the same stream. The rest
        // is the caller's promise.
        unsafe {
            let mut new = Self::uninitialized_async(size, stream)?;
            new.set_zero_async(stream)?;
            Ok(new)
        }
    }
}

impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// Turns the buffer into a buffer of the same bytes with values of another type.
    ///
    /// # Panics
    ///
    /// If [`try_cast`](Self::try_cast) would return an error.
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        Self::try_cast(self).unwrap_or_else(|error| panic!("cannot cast the buffer: {error}"))
    }

    /// Turns the buffer into a buffer of the same bytes with values of another type.
    ///
    /// # Errors
    ///
    /// A [`PodCastError`] if the address is not aligned for the new type, or if the bytes are not a
    /// whole number of its values.
    pub fn try_cast<B: Pod + DeviceCopy>(self) -> Result<DeviceBuffer<B>, PodCastError> {
        let len = cast_len::<A, B>(self.buf.as_raw(), self.len)?;
        let this = ManuallyDrop::new(self);
        Ok(DeviceBuffer { buf: this.buf.cast(), len })
    }
}

/// The number of values of type `B` in the bytes of `len` values of type `A` at `address`.
fn cast_len<A, B>(address: u64, len: usize) -> Result<usize, PodCastError> {
    let (a, b) = (size_of::<A>(), size_of::<B>());
    if !address.is_multiple_of(align_of::<B>() as u64) {
        Err(PodCastError::TargetAlignmentGreaterAndInputNotAligned)
    } else if a == b {
        Ok(len)
    } else if a == 0 || b == 0 {
        Err(PodCastError::SizeMismatch)
    } else if (a * len).is_multiple_of(b) {
        Ok(a * len / b)
    } else {
        Err(PodCastError::OutputSliceWouldHaveSlop)
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        // SAFETY: the memory holds `len` values as long as the buffer is borrowed.
        unsafe { DeviceSlice::from_raw_parts(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        // SAFETY: as above, and nobody else uses them.
        unsafe { DeviceSlice::from_raw_parts_mut(self.buf, self.len) }
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if !self.buf.is_null() {
            // SAFETY: this object has allocated the memory, and frees it once.
            let _ = unsafe { cuda_free(self.buf) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_a_whole_number_of_values() {
        assert_eq!(cast_len::<u32, u8>(256, 3), Ok(12));
        assert_eq!(cast_len::<u8, u32>(256, 12), Ok(3));
        assert_eq!(cast_len::<u8, u32>(256, 13), Err(PodCastError::OutputSliceWouldHaveSlop));
        assert_eq!(
            cast_len::<u8, u32>(257, 12),
            Err(PodCastError::TargetAlignmentGreaterAndInputNotAligned)
        );
        assert_eq!(cast_len::<(), u32>(256, 12), Err(PodCastError::SizeMismatch));
        assert_eq!(cast_len::<u32, f32>(256, 5), Ok(5));
    }

    #[test]
    fn a_buffer_without_bytes_needs_no_device() {
        // SAFETY: a buffer without values has nothing to read.
        let empty = unsafe { DeviceBuffer::<u64>::uninitialized(0) }.unwrap();
        assert!(empty.is_empty() && empty.as_device_ptr().is_null());
        assert_eq!(empty.as_host_vec(), Ok(vec![]));
        assert_eq!(empty[0..0].len(), 0);
        let cast = empty.cast::<u8>();
        assert!(DeviceBuffer::drop(cast).is_ok());
        let units = DeviceBuffer::from_slice(&[(); 5]).unwrap();
        assert_eq!((units.len(), units.as_host_vec().unwrap().len()), (5, 5));
        assert_eq!(DeviceBuffer::<u32>::zeroed(0).unwrap().len(), 0);
    }
}
