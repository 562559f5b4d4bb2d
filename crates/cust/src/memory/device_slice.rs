//! Slices of values in the memory of a device.

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
/// `&mut DeviceSlice<T>` exist. Indexing gives a part of a slice, for example `&slice[3..7]`.
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
// A reference to a slice holds the address on the device and the number of values. It is a
// reference to units, which have no bytes, so no code of the host can read or write through it.
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    values: PhantomData<T>,
    units: [()],
}

/// The address in a reference to an empty slice at the null pointer. A reference must not be null,
/// and no allocation lies at this address.
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
    /// The number of values.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether the slice has no values.
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

    /// Copies the values to the host.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values = Vec::with_capacity(self.len());
        // SAFETY: the slice has `len` values, and they fit into the vector.
        unsafe {
            copy_to_host(values.as_mut_ptr(), self.as_raw_ptr(), self.len())?;
            values.set_len(self.len());
        }
        Ok(values)
    }

    /// The slice of the `len` values at this address.
    ///
    /// # Safety
    ///
    /// As long as the slice is used, `len` values lie at the address, and nobody writes to them.
    pub unsafe fn from_raw_parts<'a>(ptr: DevicePointer<T>, len: usize) -> &'a DeviceSlice<T> {
        let units = ptr::slice_from_raw_parts(ptr::without_provenance::<()>(address_of(ptr)), len);
        // SAFETY: the address is not null, and units have no bytes and need no alignment. The type
        // is transparent.
        unsafe { &*(units as *const DeviceSlice<T>) }
    }

    /// The slice of the `len` values at this address.
    ///
    /// # Safety
    ///
    /// As long as the slice is used, `len` values lie at the address, and nobody else uses them.
    pub unsafe fn from_raw_parts_mut<'a>(
        ptr: DevicePointer<T>,
        len: usize,
    ) -> &'a mut DeviceSlice<T> {
        let units =
            ptr::slice_from_raw_parts_mut(ptr::without_provenance_mut::<()>(address_of(ptr)), len);
        // SAFETY: as above.
        unsafe { &mut *(units as *mut DeviceSlice<T>) }
    }

    /// Overwrites the values of the slice with those of `source`, which lie on the host.
    pub(super) fn write(&mut self, source: &[T]) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: the lengths are equal, so both addresses have that many values.
        unsafe { copy_to_device(self.as_raw_ptr(), source.as_ptr(), source.len()) }
    }

    /// Like [`write`](Self::write), but the copy is work of the stream.
    ///
    /// # Safety
    ///
    /// The contract is that of [`AsyncCopyDestination::async_copy_from`].
    pub(super) unsafe fn write_async(&mut self, source: &[T], stream: &Stream) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: the lengths are equal, so both addresses have that many values. The rest is the
        // caller's promise.
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
    /// Sets each byte of the slice to `value`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_8(&mut self, value: u8) -> CudaResult<()> {
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: the slice has that many bytes, and any bytes are a valid `Pod`.
            bytes => unsafe { call!(cuMemsetD8_v2(self.as_raw_ptr(), value, bytes)) },
        }
    }

    /// Like [`set_8`](Self::set_8), but as work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, the memory stays allocated and nobody else uses it.
    pub unsafe fn set_8_async(&mut self, value: u8, stream: &Stream) -> CudaResult<()> {
        match self.size_in_bytes() {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            bytes => unsafe {
                call!(cuMemsetD8Async(self.as_raw_ptr(), value, bytes, stream.as_inner()))
            },
        }
    }

    /// Sets each word of two bytes of the slice to `value`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Panics
    ///
    /// If the bytes of the slice are not a whole number of words, or if its address is not aligned
    /// for such words.
    pub fn set_16(&mut self, value: u16) -> CudaResult<()> {
        match self.words(2) {
            0 => Ok(()),
            // SAFETY: the slice has that many words, they are aligned, and any bytes are a valid
            // `Pod`.
            count => unsafe { call!(cuMemsetD16_v2(self.as_raw_ptr(), value, count)) },
        }
    }

    /// Like [`set_16`](Self::set_16), but as work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Panics
    ///
    /// The panics of [`set_16`](Self::set_16).
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, the memory stays allocated and nobody else uses it.
    pub unsafe fn set_16_async(&mut self, value: u16, stream: &Stream) -> CudaResult<()> {
        match self.words(2) {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            count => unsafe {
                call!(cuMemsetD16Async(self.as_raw_ptr(), value, count, stream.as_inner()))
            },
        }
    }

    /// Sets each word of four bytes of the slice to `value`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Panics
    ///
    /// If the bytes of the slice are not a whole number of words, or if its address is not aligned
    /// for such words.
    pub fn set_32(&mut self, value: u32) -> CudaResult<()> {
        match self.words(4) {
            0 => Ok(()),
            // SAFETY: the slice has that many words, they are aligned, and any bytes are a valid
            // `Pod`.
            count => unsafe { call!(cuMemsetD32_v2(self.as_raw_ptr(), value, count)) },
        }
    }

    /// Like [`set_32`](Self::set_32), but as work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Panics
    ///
    /// The panics of [`set_32`](Self::set_32).
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, the memory stays allocated and nobody else uses it.
    pub unsafe fn set_32_async(&mut self, value: u32, stream: &Stream) -> CudaResult<()> {
        match self.words(4) {
            0 => Ok(()),
            // SAFETY: as above, and the caller's promise.
            count => unsafe {
                call!(cuMemsetD32Async(self.as_raw_ptr(), value, count, stream.as_inner()))
            },
        }
    }

    /// The number of words of `word` bytes in the slice. Panics if it is not a whole number, or if
    /// the address is not aligned for such words.
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
    /// Sets each byte of the slice to 0.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        self.as_bytes_mut().set_8(0)
    }

    /// Like [`set_zero`](Self::set_zero), but as work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    ///
    /// # Safety
    ///
    /// Until the stream has done this work, the memory stays allocated and nobody else uses it.
    pub unsafe fn set_zero_async(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.as_bytes_mut().set_8_async(0, stream) }
    }

    /// The bytes of the slice. Only 0 may be written to them.
    fn as_bytes_mut(&mut self) -> &mut DeviceSlice<u8> {
        // SAFETY: the slice has that many bytes, and the result borrows `self`.
        unsafe {
            DeviceSlice::from_raw_parts_mut(self.as_device_ptr().cast(), self.size_in_bytes())
        }
    }
}

/// A type that can index a [`DeviceSlice`]: a number or a range. A number gives a slice of one
/// value.
pub trait DeviceSliceIndex<T: DeviceCopy> {
    /// The part of `slice` that the index names.
    ///
    /// # Safety
    ///
    /// The part lies within the slice.
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// The part of `slice` that the index names.
    ///
    /// # Panics
    ///
    /// If the part does not lie within the slice.
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// The part of `slice` that the index names.
    ///
    /// # Safety
    ///
    /// The part lies within the slice.
    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;

    /// The part of `slice` that the index names.
    ///
    /// # Panics
    ///
    /// If the part does not lie within the slice.
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;
}

/// The start and the end of `range` within `len` values. Panics if it does not lie within them.
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
                // SAFETY: the part lies within the slice and borrows it.
                unsafe { DeviceSlice::from_raw_parts(slice.as_device_ptr().add(start), end - start) }
            }

            #[track_caller]
            fn index($self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                let Range { start, end } = within(&$range, slice.len());
                // SAFETY: the part lies within the slice and borrows it.
                unsafe { DeviceSlice::from_raw_parts(slice.as_device_ptr().add(start), end - start) }
            }

            unsafe fn get_unchecked_mut($self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                DeviceSliceIndex::index_mut($self, slice)
            }

            #[track_caller]
            fn index_mut($self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                let Range { start, end } = within(&$range, slice.len());
                // SAFETY: the part lies within the slice and borrows it.
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
        // SAFETY: the lengths are equal, so both addresses have that many values.
        unsafe { copy_to_host(dest.as_mut_ptr(), self.as_raw_ptr(), dest.len()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &DeviceSlice<T>) -> CudaResult<()> {
        self.check_len(source.len());
        // SAFETY: the lengths are equal, so both addresses have that many values.
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
        // SAFETY: the lengths are equal, so both addresses have that many values. The rest is the
        // caller's promise.
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
        // SAFETY: the lengths are equal, so both addresses have that many values. The rest is the
        // caller's promise.
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

    /// A slice whose values nobody may read, because no memory lies at its address.
    fn slice(address: u64, len: usize) -> &'static mut DeviceSlice<u32> {
        // SAFETY: the tests use only the address and the length.
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
        // SAFETY: the range lies within the slice.
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
