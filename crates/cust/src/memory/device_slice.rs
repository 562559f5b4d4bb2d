//! Borrowed values in the memory of a device.

use std::{
    fmt,
    marker::PhantomData,
    ops::{
        Bound, Index, IndexMut, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo,
        RangeToInclusive,
    },
    ptr,
};

use bytemuck::{Pod, Zeroable};

use super::{
    AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceCopy, DeviceMemory as _,
    DevicePointer, copy_on_device, copy_on_device_async, copy_to_device, copy_to_device_async,
    copy_to_host, copy_to_host_async,
};
use crate::{error::CudaResult, stream::Stream, sys::CUdeviceptr};

/// Values in the memory of a device, borrowed from a [`DeviceBuffer`]: only `&DeviceSlice<T>` and
/// `&mut DeviceSlice<T>` exist. A part of one is `&slice[3..7]`.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let mut numbers = [1u32, 2, 3, 4].as_dbuf()?;
/// let part: &mut DeviceSlice<u32> = &mut numbers[1..3];
/// part.copy_from(&[8, 9])?;
/// assert_eq!(numbers.as_host_vec()?, [1, 8, 9, 4]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
// A reference to it is the address on the device and the number of values. It covers no memory of
// the host, because units have no bytes, so that nothing can follow it.
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    values: PhantomData<T>,
    units: [()],
}

/// The address of no values at the null pointer, because references are not null. No allocation is
/// there.
const NOWHERE: usize = 1;

impl<T: DeviceCopy> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlice")
            .field("ptr", &self.as_device_ptr().as_ptr())
            .field("len", &self.len())
            .finish()
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the first value.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        match self.units.as_ptr().addr() {
            NOWHERE => DevicePointer::null(),
            address => DevicePointer::from_raw(address as CUdeviceptr),
        }
    }

    /// The values, copied to the host.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values = Vec::with_capacity(self.len());
        // SAFETY: so many values are on the device and fit into the vector.
        unsafe {
            copy_to_host(values.as_mut_ptr(), self.as_raw_ptr(), self.len())?;
            values.set_len(self.len());
        }
        Ok(values)
    }

    /// `len` values at this address.
    ///
    /// # Safety
    ///
    /// So many values are there as long as the slice is used, and nobody writes to them.
    pub unsafe fn from_raw_parts<'a>(ptr: DevicePointer<T>, len: usize) -> &'a DeviceSlice<T> {
        let units = ptr::slice_from_raw_parts(ptr::without_provenance::<()>(address_of(ptr)), len);
        // SAFETY: not null, and units have neither bytes nor alignment; the type is transparent.
        unsafe { &*(units as *const DeviceSlice<T>) }
    }

    /// `len` values at this address.
    ///
    /// # Safety
    ///
    /// So many values are there as long as the slice is used, and nobody else uses them.
    pub unsafe fn from_raw_parts_mut<'a>(
        ptr: DevicePointer<T>,
        len: usize,
    ) -> &'a mut DeviceSlice<T> {
        let units =
            ptr::slice_from_raw_parts_mut(ptr::without_provenance_mut::<()>(address_of(ptr)), len);
        // SAFETY: as above.
        unsafe { &mut *(units as *mut DeviceSlice<T>) }
    }

    /// The values of the host become those of the slice.
    pub(super) fn write(&mut self, source: &[T]) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: as many values here as there.
        unsafe { copy_to_device(self.as_raw_ptr(), source.as_ptr(), source.len()) }
    }

    /// # Safety
    ///
    /// As for [`AsyncCopyDestination::async_copy_from`].
    pub(super) unsafe fn write_async(&mut self, source: &[T], stream: &Stream) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: as many values here as there; the rest is the caller's promise.
        unsafe { copy_to_device_async(self.as_raw_ptr(), source.as_ptr(), source.len(), stream) }
    }

    #[track_caller]
    fn check_len(&self, other: usize) {
        assert!(self.len() == other, "cannot copy between {} values and {other}", self.len());
    }
}

fn address_of<T: DeviceCopy>(ptr: DevicePointer<T>) -> usize {
    if ptr.is_null() { NOWHERE } else { ptr.as_raw() as usize }
}

impl<T: DeviceCopy + Pod> DeviceSlice<T> {
    /// Sets each byte.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_8(&mut self, value: u8) -> CudaResult<()> {
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: so many bytes are there, and any byte is part of a `Pod`.
            bytes => unsafe { call!(cuMemsetD8_v2(self.as_raw_ptr(), value, bytes)) },
        }
    }

    /// Sets each byte when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// Until then the memory stays and nobody uses it.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            bytes => unsafe {
                call!(cuMemsetD8Async(self.as_raw_ptr(), value, bytes, stream.as_inner()))
            },
        }
    }

    /// Sets each word of two bytes.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Panics
    ///
    /// If the bytes are not a whole number of words, or not aligned for them.
    pub fn set_16(&mut self, value: u16) -> CudaResult<()> {
        match self.words(2) {
            0 => Ok(()),
            // SAFETY: so many words are there, aligned, and any bytes are a `Pod`.
            count => unsafe { call!(cuMemsetD16_v2(self.as_raw_ptr(), value, count)) },
        }
    }

    /// Sets each word of two bytes when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Panics
    ///
    /// As [`set_16`](Self::set_16).
    ///
    /// # Safety
    ///
    /// Until then the memory stays and nobody uses it.
    pub unsafe fn set_16_async(&mut self, value: u16, stream: &Stream) -> CudaResult<()> {
        match self.words(2) {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            count => unsafe {
                call!(cuMemsetD16Async(self.as_raw_ptr(), value, count, stream.as_inner()))
            },
        }
    }

    /// Sets each word of four bytes.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Panics
    ///
    /// If the bytes are not a whole number of words, or not aligned for them.
    pub fn set_32(&mut self, value: u32) -> CudaResult<()> {
        match self.words(4) {
            0 => Ok(()),
            // SAFETY: so many words are there, aligned, and any bytes are a `Pod`.
            count => unsafe { call!(cuMemsetD32_v2(self.as_raw_ptr(), value, count)) },
        }
    }

    /// Sets each word of four bytes when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Panics
    ///
    /// As [`set_32`](Self::set_32).
    ///
    /// # Safety
    ///
    /// Until then the memory stays and nobody uses it.
    pub unsafe fn set_32_async(&mut self, value: u32, stream: &Stream) -> CudaResult<()> {
        match self.words(4) {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            count => unsafe {
                call!(cuMemsetD32Async(self.as_raw_ptr(), value, count, stream.as_inner()))
            },
        }
    }

    /// How many words of so many bytes there are.
    #[track_caller]
    fn words(&self, word: usize) -> usize {
        let (bytes, address) = (self.size_in_bytes(), self.as_raw_ptr());
        assert!(
            bytes.is_multiple_of(word),
            "{bytes} bytes are not a whole number of words of {word}"
        );
        assert!(
            address.is_multiple_of(word as u64),
            "the address {address:#x} is not aligned for words of {word} bytes"
        );
        bytes / word
    }
}

impl<T: DeviceCopy + Zeroable> DeviceSlice<T> {
    /// Sets each byte to 0.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        self.as_bytes_mut().set_8(0)
    }

    /// Sets each byte to 0 when the stream comes to it.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// Until then the memory stays and nobody uses it.
    pub unsafe fn set_zero_async(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.as_bytes_mut().set_8_async(0, stream) }
    }

    /// Its bytes, to which only 0 may be written.
    fn as_bytes_mut(&mut self) -> &mut DeviceSlice<u8> {
        // SAFETY: so many bytes are there, borrowed as `self` is.
        unsafe {
            DeviceSlice::from_raw_parts_mut(self.as_device_ptr().cast(), self.size_in_bytes())
        }
    }
}

/// What a [`DeviceSlice`] can be indexed with: a number or a range. A number gives a slice of one
/// value.
pub trait DeviceSliceIndex<T: DeviceCopy> {
    /// The part.
    ///
    /// # Safety
    ///
    /// It lies within the slice.
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// The part.
    ///
    /// # Panics
    ///
    /// If it does not lie within the slice.
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// The part.
    ///
    /// # Safety
    ///
    /// It lies within the slice.
    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;

    /// The part.
    ///
    /// # Panics
    ///
    /// If it does not lie within the slice.
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;
}

/// The range within so many values.
#[track_caller]
fn within(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let after =
        |index: usize| index.checked_add(1).expect("a range that ends before the largest number");
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => after(start),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => after(end),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end, "the range starts at {start} and ends at {end}");
    assert!(end <= len, "the range ends at {end}, and there are {len} values");
    start..end
}

macro_rules! slice_index {
    ($($index:ty, $self:ident => $range:expr;)*) => {
        $(impl<T: DeviceCopy> DeviceSliceIndex<T> for $index {
            unsafe fn get_unchecked($self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                let Range { start, end } = within(&$range, slice.len());
                // SAFETY: within the slice, and borrowed as it is.
                unsafe { DeviceSlice::from_raw_parts(slice.as_device_ptr().add(start), end - start) }
            }

            #[track_caller]
            fn index($self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                let Range { start, end } = within(&$range, slice.len());
                // SAFETY: within the slice, and borrowed as it is.
                unsafe { DeviceSlice::from_raw_parts(slice.as_device_ptr().add(start), end - start) }
            }

            unsafe fn get_unchecked_mut($self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                DeviceSliceIndex::index_mut($self, slice)
            }

            #[track_caller]
            fn index_mut($self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                let Range { start, end } = within(&$range, slice.len());
                // SAFETY: within the slice, and borrowed as it is.
                unsafe { DeviceSlice::from_raw_parts_mut(slice.as_device_ptr().add(start), end - start) }
            }
        })*
    };
}

slice_index! {
    usize, self => self..=self;
    Range<usize>, self => self;
    RangeFrom<usize>, self => self;
    RangeFull, self => self;
    RangeInclusive<usize>, self => self;
    RangeTo<usize>, self => self;
    RangeToInclusive<usize>, self => self;
}

impl<T: DeviceCopy, Idx: DeviceSliceIndex<T>> Index<Idx> for DeviceSlice<T> {
    type Output = DeviceSlice<T>;

    #[track_caller]
    fn index(&self, index: Idx) -> &DeviceSlice<T> {
        index.index(self)
    }
}

impl<T: DeviceCopy, Idx: DeviceSliceIndex<T>> IndexMut<Idx> for DeviceSlice<T> {
    #[track_caller]
    fn index_mut(&mut self, index: Idx) -> &mut DeviceSlice<T> {
        index.index_mut(self)
    }
}

impl<T: DeviceCopy> crate::private::Sealed for DeviceSlice<T> {}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &I) -> CudaResult<()> {
        self.write(source.as_ref())
    }

    fn copy_to(&self, dest: &mut I) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        // SAFETY: as many values here as there.
        unsafe { copy_to_host(dest.as_mut_ptr(), self.as_raw_ptr(), dest.len()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &DeviceSlice<T>) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: as many values here as there.
        unsafe { copy_on_device(self.as_raw_ptr(), source.as_raw_ptr(), self.size_in_bytes()) }
    }

    fn copy_to(&self, dest: &mut DeviceSlice<T>) -> CudaResult<()> {
        dest.copy_from(self)
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &DeviceBuffer<T>) -> CudaResult<()> {
        self.copy_from(source.as_slice())
    }

    fn copy_to(&self, dest: &mut DeviceBuffer<T>) -> CudaResult<()> {
        (**dest).copy_from(self)
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<I>
    for DeviceSlice<T>
{
    unsafe fn async_copy_from(&mut self, source: &I, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.write_async(source.as_ref(), stream) }
    }

    unsafe fn async_copy_to(&self, dest: &mut I, stream: &Stream) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.check_len(dest.len());
        // SAFETY: as many values here as there; the rest is the caller's promise.
        unsafe { copy_to_host_async(dest.as_mut_ptr(), self.as_raw_ptr(), dest.len(), stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(
        &mut self,
        source: &DeviceSlice<T>,
        stream: &Stream,
    ) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: as many values here as there; the rest is the caller's promise.
        unsafe {
            copy_on_device_async(
                self.as_raw_ptr(),
                source.as_raw_ptr(),
                self.size_in_bytes(),
                stream,
            )
        }
    }

    unsafe fn async_copy_to(&self, dest: &mut DeviceSlice<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { dest.async_copy_from(self, stream) }
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    unsafe fn async_copy_from(
        &mut self,
        source: &DeviceBuffer<T>,
        stream: &Stream,
    ) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.async_copy_from(source.as_slice(), stream) }
    }

    unsafe fn async_copy_to(&self, dest: &mut DeviceBuffer<T>, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { (**dest).async_copy_from(self, stream) }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// Values that nobody may read, because there are none.
    fn slice(address: u64, len: usize) -> &'static mut DeviceSlice<u32> {
        // SAFETY: only addresses and lengths are asked for.
        unsafe { DeviceSlice::from_raw_parts_mut(DevicePointer::from_raw(address), len) }
    }

    fn place(slice: &DeviceSlice<u32>) -> (u64, usize) {
        (slice.as_device_ptr().as_raw(), slice.len())
    }

    #[test]
    fn parts_are_where_they_are_in_arrays() {
        let all = slice(0x7000, 10);
        assert_eq!(place(&all[..]), (0x7000, 10));
        assert_eq!(place(&all[3..7]), (0x700c, 4));
        assert_eq!(place(&all[3..=7]), (0x700c, 5));
        assert_eq!(place(&all[3..]), (0x700c, 7));
        assert_eq!(place(&all[..3]), (0x7000, 3));
        assert_eq!(place(&all[..=3]), (0x7000, 4));
        assert_eq!(place(&all[9]), (0x7024, 1));
        assert_eq!(place(&all[10..]), (0x7028, 0));
        let part = &mut all[2..8];
        assert_eq!(place(&part[1..2]), (0x700c, 1));
        assert_eq!(all.size_in_bytes(), 40);
        assert_eq!(format!("{all:?}"), "DeviceSlice { ptr: 0x7000, len: 10 }");
        // SAFETY: within the slice.
        assert_eq!(place(unsafe { (1..2).get_unchecked(all) }), (0x7004, 1));
    }

    #[test]
    fn parts_that_are_not_there_are_refused() {
        #[allow(clippy::reversed_empty_ranges, reason = "it is what must be refused")]
        for (start, end) in [(0, 11), (11, 11), (5, 4), (usize::MAX, usize::MAX)] {
            assert!(
                catch_unwind(|| place(&slice(0x7000, 10)[start..end])).is_err(),
                "{start}..{end}"
            );
        }
        assert!(catch_unwind(|| place(&slice(0x7000, 10)[10])).is_err());
        assert!(catch_unwind(|| place(&slice(0x7000, 10)[..=usize::MAX])).is_err());
        assert!(catch_unwind(|| place(&slice(0x7000, 10)[11..])).is_err());
    }

    #[test]
    fn no_values_at_null_stay_there() {
        let none = slice(0, 0);
        assert_eq!(place(none), (0, 0));
        assert_eq!(place(&none[0..0]), (0, 0));
        assert!(none.copy_from(&[]).is_ok());
        assert!(none.set_32(7).is_ok());
    }

    #[test]
    fn words_that_do_not_fit_and_other_lengths_are_refused() {
        // SAFETY: nothing reads the values.
        let bytes = |address, len| unsafe {
            DeviceSlice::<u8>::from_raw_parts(DevicePointer::from_raw(address), len)
        };
        assert_eq!(bytes(0x7000, 12).words(4), 3);
        assert!(catch_unwind(|| bytes(0x7000, 11).words(4)).is_err());
        assert!(catch_unwind(|| bytes(0x7002, 12).words(4)).is_err());
        assert!(catch_unwind(|| slice(0x7000, 10).copy_from(&[1, 2])).is_err());
        assert!(catch_unwind(|| slice(0x7000, 10).copy_from(&*slice(0x8000, 11))).is_err());
    }
}
