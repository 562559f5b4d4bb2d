//! Memory of devices, and memory of the host that devices reach.
//!
//! | type | is | where |
//! |---|---|---|
//! | [`DeviceBox`], [`DeviceVariable`] | one value | device |
//! | [`DeviceBuffer`], [`DeviceSlice`] | many values | device |
//! | [`LockedBox`], [`LockedBuffer`] | one value, many values | host, page-locked for asynchronous copies |
//! | [`UnifiedBox`], [`UnifiedBuffer`] | one value, many values | both: the driver moves them |
//!
//! Values are copied by [`CopyDestination`], or on a stream by [`AsyncCopyDestination`].

use std::ffi::c_void;

use crate::{
    error::{CudaError, CudaResult},
    stream::Stream,
    sys::{self, CUdeviceptr},
};

mod device_box;
mod device_buffer;
mod device_copy;
mod device_slice;
mod device_variable;
mod locked;
mod malloc;
mod pointer;
mod unified;

pub use bytemuck;
pub use device_box::DeviceBox;
pub use device_buffer::DeviceBuffer;
pub use device_copy::DeviceCopy;
pub use device_slice::{DeviceSlice, DeviceSliceIndex};
pub use device_variable::DeviceVariable;
pub use locked::{LockedBox, LockedBuffer};
pub use malloc::*;
pub use pointer::{DevicePointer, UnifiedPointer};
pub use unified::{UnifiedBox, UnifiedBuffer};

pub use crate::DeviceCopy;

/// A destination and source of copies, which are done when a function returns.
///
/// ```no_run
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let mut numbers = DeviceBuffer::from_slice(&[0; 3])?;
/// numbers.copy_from(&[1, 2, 3])?;
/// let mut back = [0; 3];
/// numbers.copy_to(&mut back)?;
/// assert_eq!(back, [1, 2, 3]);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait CopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Copies `source` to this.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies this to `dest`.
    ///
    /// # Errors
    ///
    /// As for [`copy_from`](Self::copy_from).
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// A destination and source of copies that are done when a stream comes to them.
///
/// ```no_run
/// use cust::memory::{AsyncCopyDestination, LockedBuffer};
/// use cust::prelude::*;
///
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let host = LockedBuffer::from_slice(&[1, 2, 3])?;
/// let mut numbers = DeviceBuffer::from_slice(&[0; 3])?;
/// // SAFETY: both live until the stream has copied, and nothing else uses them.
/// unsafe { numbers.async_copy_from(&host, &stream)? };
/// stream.synchronize()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub trait AsyncCopyDestination<O: ?Sized>: crate::private::Sealed {
    /// Lets the stream copy `source` to this.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// # Safety
    ///
    /// Until the stream has copied, both stay where they are, nobody writes to the source, and
    /// nobody uses the destination.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Lets the stream copy this to `dest`.
    ///
    /// # Errors
    ///
    /// As for [`async_copy_from`](Self::async_copy_from).
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// # Safety
    ///
    /// As for [`async_copy_from`](Self::async_copy_from).
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}

/// Many values at an address of the device.
#[allow(clippy::len_without_is_empty, reason = "rust-cuda's trait")]
pub trait GpuBuffer<T: DeviceCopy>: private::Sealed {
    /// The address.
    fn as_device_ptr(&self) -> DevicePointer<T>;
    /// Number of values.
    fn len(&self) -> usize;
}

impl<T: DeviceCopy> GpuBuffer<T> for DeviceBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        self.as_slice().as_device_ptr()
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

impl<T: DeviceCopy> GpuBuffer<T> for UnifiedBuffer<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.as_slice().as_ptr().addr() as CUdeviceptr)
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }
}

/// One value at an address of the device.
pub trait GpuBox<T: DeviceCopy>: private::Sealed {
    /// The address.
    fn as_device_ptr(&self) -> DevicePointer<T>;
}

impl<T: DeviceCopy> GpuBox<T> for DeviceBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DeviceBox::as_device_ptr(self)
    }
}

impl<T: DeviceCopy> GpuBox<T> for UnifiedBox<T> {
    fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.as_unified_ptr().as_raw().addr() as CUdeviceptr)
    }
}

/// Memory of a device, whatever is in it.
pub trait DeviceMemory {
    /// Its address.
    fn as_raw_ptr(&self) -> CUdeviceptr;
    /// Its length, in bytes.
    fn size_in_bytes(&self) -> usize;
}

impl<T: DeviceCopy> DeviceMemory for DeviceBox<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceVariable<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceBuffer<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_slice().as_raw_ptr()
    }

    fn size_in_bytes(&self) -> usize {
        self.as_slice().size_in_bytes()
    }
}

impl<T: DeviceCopy> DeviceMemory for DeviceSlice<T> {
    fn as_raw_ptr(&self) -> CUdeviceptr {
        self.as_device_ptr().as_raw()
    }

    fn size_in_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
}

mod private {
    use super::{DeviceBox, DeviceBuffer, DeviceCopy, UnifiedBox, UnifiedBuffer};

    /// Keeps other crates from implementing the traits of this module.
    pub trait Sealed {}
    impl<T: DeviceCopy> Sealed for DeviceBox<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBuffer<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBox<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBuffer<T> {}
}

/// Copies `count` values to the device; nothing if they have no bytes.
///
/// # Safety
///
/// So many values are at `from` and fit at `to`.
pub(crate) unsafe fn copy_to_device<T>(
    to: CUdeviceptr,
    from: *const T,
    count: usize,
) -> CudaResult<()> {
    match count * size_of::<T>() {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { memcpy_htod(to, from.cast(), bytes) },
    }
}

/// Copies `count` values from the device; nothing if they have no bytes.
///
/// # Safety
///
/// So many values are at `from` and fit at `to`.
pub(crate) unsafe fn copy_to_host<T>(
    to: *mut T,
    from: CUdeviceptr,
    count: usize,
) -> CudaResult<()> {
    match count * size_of::<T>() {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { memcpy_dtoh(to.cast(), from, bytes) },
    }
}

/// Copies bytes on the device.
///
/// # Safety
///
/// So many bytes are at both addresses.
unsafe fn copy_on_device(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    match bytes {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { call!(cuMemcpyDtoD_v2(to, from, bytes)) },
    }
}

/// As [`copy_to_device`], when the stream comes to it.
///
/// # Safety
///
/// So many values are at `from` and fit at `to`, until then.
unsafe fn copy_to_device_async<T>(
    to: CUdeviceptr,
    from: *const T,
    count: usize,
    stream: &Stream,
) -> CudaResult<()> {
    match count * size_of::<T>() {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { call!(cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.as_inner())) },
    }
}

/// As [`copy_to_host`], when the stream comes to it.
///
/// # Safety
///
/// So many values are at `from` and fit at `to`, until then.
unsafe fn copy_to_host_async<T>(
    to: *mut T,
    from: CUdeviceptr,
    count: usize,
    stream: &Stream,
) -> CudaResult<()> {
    match count * size_of::<T>() {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { call!(cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream.as_inner())) },
    }
}

/// As [`copy_on_device`], when the stream comes to it.
///
/// # Safety
///
/// So many bytes are at both addresses, until then.
unsafe fn copy_on_device_async(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    match bytes {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { call!(cuMemcpyDtoDAsync_v2(to, from, bytes, stream.as_inner())) },
    }
}

/// Copies `size` bytes from the host to the device.
///
/// # Errors
///
/// The driver's, also that of work which has failed.
///
/// # Safety
///
/// So many bytes are at both addresses.
pub unsafe fn memcpy_htod(
    d_ptr: CUdeviceptr,
    src_ptr: *const c_void,
    size: usize,
) -> CudaResult<()> {
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemcpyHtoD_v2(d_ptr, src_ptr, size)) }
}

/// Copies `size` bytes from the device to the host.
///
/// # Errors
///
/// The driver's, also that of work which has failed.
///
/// # Safety
///
/// So many bytes are at both addresses.
pub unsafe fn memcpy_dtoh(d_ptr: *mut c_void, src_ptr: CUdeviceptr, size: usize) -> CudaResult<()> {
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemcpyDtoH_v2(d_ptr, src_ptr, size)) }
}

/// Nothing and nowhere: what a description of a copy starts from.
const NO_COPY: sys::CUDA_MEMCPY2D = sys::CUDA_MEMCPY2D {
    srcXInBytes: 0,
    srcY: 0,
    srcMemoryType: 0,
    srcHost: std::ptr::null(),
    srcDevice: 0,
    srcArray: std::ptr::null_mut(),
    srcPitch: 0,
    dstXInBytes: 0,
    dstY: 0,
    dstMemoryType: 0,
    dstHost: std::ptr::null_mut(),
    dstDevice: 0,
    dstArray: std::ptr::null_mut(),
    dstPitch: 0,
    WidthInBytes: 0,
    Height: 0,
};

fn width_in_bytes<T>(width: usize) -> CudaResult<usize> {
    width.checked_mul(size_of::<T>()).ok_or(CudaError::InvalidMemoryAllocation)
}

/// Copies `height` rows of `width` values from the host to the device. A pitch is the bytes from
/// one row to the next.
///
/// # Errors
///
/// The driver's, also that of work which has failed.
///
/// # Safety
///
/// So many rows, each of so many values, are at both addresses.
pub unsafe fn memcpy_2d_htod<T: DeviceCopy>(
    dst: DevicePointer<T>,
    dpitch: usize,
    src: *const T,
    spitch: usize,
    width: usize,
    height: usize,
) -> CudaResult<()> {
    let copy = sys::CUDA_MEMCPY2D {
        srcMemoryType: sys::CU_MEMORYTYPE_HOST,
        srcHost: src.cast(),
        srcPitch: spitch,
        dstMemoryType: sys::CU_MEMORYTYPE_DEVICE,
        dstDevice: dst.as_raw(),
        dstPitch: dpitch,
        WidthInBytes: width_in_bytes::<T>(width)?,
        Height: height,
        ..NO_COPY
    };
    // SAFETY: the caller's promise; the description outlives the call.
    unsafe { call!(cuMemcpy2D_v2(&raw const copy)) }
}

/// Copies `height` rows of `width` values from the device to the host. A pitch is the bytes from
/// one row to the next.
///
/// # Errors
///
/// The driver's, also that of work which has failed.
///
/// # Safety
///
/// So many rows, each of so many values, are at both addresses.
pub unsafe fn memcpy_2d_dtoh<T: DeviceCopy>(
    dst: *mut T,
    dpitch: usize,
    src: DevicePointer<T>,
    spitch: usize,
    width: usize,
    height: usize,
) -> CudaResult<()> {
    let copy = sys::CUDA_MEMCPY2D {
        srcMemoryType: sys::CU_MEMORYTYPE_DEVICE,
        srcDevice: src.as_raw(),
        srcPitch: spitch,
        dstMemoryType: sys::CU_MEMORYTYPE_HOST,
        dstHost: dst.cast(),
        dstPitch: dpitch,
        WidthInBytes: width_in_bytes::<T>(width)?,
        Height: height,
        ..NO_COPY
    };
    // SAFETY: the caller's promise; the description outlives the call.
    unsafe { call!(cuMemcpy2D_v2(&raw const copy)) }
}

/// Bytes of the device's memory that are free, and all of them.
///
/// # Errors
///
/// The driver's.
///
/// # Examples
///
/// ```no_run
/// let _context = cust::quick_init()?;
/// let (free, total) = cust::memory::mem_get_info()?;
/// assert!(free <= total);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are to live variables.
    unsafe { call!(cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
    Ok((free, total))
}
