//! Many values in the memory of a device.

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

/// Many values in the memory of a device, of a fixed number. It is a [`DeviceSlice`] that owns its
/// memory; without bytes it takes none, and its address is null.
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
    /// Null if there are no bytes.
    buf: DevicePointer<T>,
    len: usize,
}

// SAFETY: it owns its values.
unsafe impl<T: Send + DeviceCopy> Send for DeviceBuffer<T> {}
// SAFETY: a shared one only reads.
unsafe impl<T: Sync + DeviceCopy> Sync for DeviceBuffer<T> {}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Room for `size` values, which are whatever was there.
    ///
    /// # Errors
    ///
    /// The driver's; [`InvalidMemoryAllocation`](crate::error::CudaError::InvalidMemoryAllocation)
    /// if the bytes cannot be counted.
    ///
    /// # Safety
    ///
    /// The values are not read before they are written.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: freed once, when this object is dropped; the rest is the caller's promise.
            unsafe { cuda_malloc(size)? }
        } else {
            DevicePointer::null()
        };
        Ok(Self { buf, len: size })
    }

    /// As [`uninitialized`](Self::uninitialized), when the stream comes to it.
    ///
    /// # Errors
    ///
    /// As [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// The values are not read before they are written, and are used on this stream, or elsewhere
    /// once the stream has come to it.
    pub unsafe fn uninitialized_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        let buf = if size > 0 && size_of::<T>() > 0 {
            // SAFETY: as above.
            unsafe { cuda_malloc_async(stream, size)? }
        } else {
            DevicePointer::null()
        };
        Ok(Self { buf, len: size })
    }

    /// Frees it when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's; then the memory is leaked.
    pub fn drop_async(self, stream: &Stream) -> CudaResult<()> {
        let this = ManuallyDrop::new(self);
        if this.buf.is_null() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is gone.
        unsafe { cuda_free_async(stream, this.buf) }
    }

    /// The buffer of `capacity` values at this address.
    ///
    /// # Safety
    ///
    /// So many values are there, and nobody else frees them. They were allocated by [`cuda_malloc`]
    /// or a function beside it; values without bytes are at the null pointer.
    pub unsafe fn from_raw_parts(ptr: DevicePointer<T>, capacity: usize) -> DeviceBuffer<T> {
        Self { buf: ptr, len: capacity }
    }

    /// Frees it, and says how that went.
    ///
    /// # Errors
    ///
    /// The driver's, with the buffer.
    pub fn drop(dev_buf: DeviceBuffer<T>) -> DropResult<DeviceBuffer<T>> {
        let dev_buf = ManuallyDrop::new(dev_buf);
        if dev_buf.buf.is_null() {
            return Ok(());
        }
        // SAFETY: allocated by this object, which is given back only if it was not freed.
        unsafe { cuda_free(dev_buf.buf) }
            .map_err(|error| (error, ManuallyDrop::into_inner(dev_buf)))
    }

    /// A copy of the values.
    ///
    /// # Errors
    ///
    /// As [`uninitialized`](Self::uninitialized).
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written below before they are read.
        let mut new = unsafe { Self::uninitialized(slice.len())? };
        new.write(slice)?;
        Ok(new)
    }

    /// A copy of the values, made when the stream comes to it.
    ///
    /// # Errors
    ///
    /// As [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// The values stay where they are until then, and the buffer is used on this stream, or
    /// elsewhere after that.
    pub unsafe fn from_slice_async(slice: &[T], stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written below before they are read, on the same stream; the rest is the caller's
        // promise.
        unsafe {
            let mut new = Self::uninitialized_async(slice.len(), stream)?;
            new.write_async(slice, stream)?;
            Ok(new)
        }
    }

    /// All of its values.
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// `size` values all of whose bytes are 0.
    ///
    /// # Errors
    ///
    /// As [`uninitialized`](Self::uninitialized).
    pub fn zeroed(size: usize) -> CudaResult<Self> {
        // SAFETY: written below before they are read.
        let mut new = unsafe { Self::uninitialized(size)? };
        new.set_zero()?;
        Ok(new)
    }

    /// As [`zeroed`](Self::zeroed), when the stream comes to it.
    ///
    /// # Errors
    ///
    /// As [`uninitialized`](Self::uninitialized).
    ///
    /// # Safety
    ///
    /// The buffer is used on this stream, or elsewhere once the stream has come to it.
    pub unsafe fn zeroed_async(size: usize, stream: &Stream) -> CudaResult<Self> {
        // SAFETY: written below before they are read, on the same stream; the rest is the caller's
        // promise.
        unsafe {
            let mut new = Self::uninitialized_async(size, stream)?;
            new.set_zero_async(stream)?;
            Ok(new)
        }
    }
}

impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// The same bytes as values of another type.
    ///
    /// # Panics
    ///
    /// Where [`try_cast`](Self::try_cast) returns an error.
    pub fn cast<B: Pod + DeviceCopy>(self) -> DeviceBuffer<B> {
        Self::try_cast(self).unwrap_or_else(|error| panic!("cannot cast the buffer: {error}"))
    }

    /// The same bytes as values of another type.
    ///
    /// # Errors
    ///
    /// The values would not be aligned, or their bytes would not be those of a whole number of
    /// values.
    pub fn try_cast<B: Pod + DeviceCopy>(self) -> Result<DeviceBuffer<B>, PodCastError> {
        let len = cast_len::<A, B>(self.buf.as_raw(), self.len)?;
        let this = ManuallyDrop::new(self);
        Ok(DeviceBuffer { buf: this.buf.cast(), len })
    }
}

/// How many values of type `B` are in the bytes of `len` values of type `A` at `address`.
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
        // SAFETY: so many values are there as long as this is borrowed.
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
            // SAFETY: allocated by this object.
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
        // SAFETY: there is nothing to read.
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
