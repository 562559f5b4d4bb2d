//! Memory of devices, and memory of the host that devices can access.
//!
//! | type | holds | place |
//! |---|---|---|
//! | [`DeviceBox`], [`DeviceVariable`] | one value | device |
//! | [`DeviceBuffer`], [`DeviceSlice`] | many values | device |
//! | [`LockedBox`] | one value | host, page-locked for asynchronous copies |
//! | [`LockedBuffer`] | many values | host, page-locked for asynchronous copies |
//! | [`UnifiedBox`] | one value | host and device; the driver moves its pages |
//! | [`UnifiedBuffer`] | many values | host and device; the driver moves its pages |
//!
//! [`CopyDestination`] copies values and waits for the copy. [`AsyncCopyDestination`] adds the copy
//! to the work of a stream.

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

/// A destination and source of copies that are complete when the function returns.
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
    /// Copies `source` to `self`.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies `self` to `dest`.
    ///
    /// # Errors
    ///
    /// The errors of [`copy_from`](Self::copy_from).
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// A destination and source of copies that are work of a stream.
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
    /// Adds a copy of `source` to `self` to the work of the stream.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// # Safety
    ///
    /// Until the stream has made the copy, source and destination stay where they are, nobody
    /// writes to the source, and nobody else uses the destination.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Adds a copy of `self` to `dest` to the work of the stream.
    ///
    /// # Errors
    ///
    /// The errors of [`async_copy_from`](Self::async_copy_from).
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    ///
    /// # Safety
    ///
    /// The contract is that of [`async_copy_from`](Self::async_copy_from).
    unsafe fn async_copy_to(&self, dest: &mut O, stream: &Stream) -> CudaResult<()>;
}

/// A buffer of many values that the device can access.
#[allow(clippy::len_without_is_empty, reason = "rust-cuda's trait")]
pub trait GpuBuffer<T: DeviceCopy>: private::Sealed {
    /// The address of the first value, for the device.
    fn as_device_ptr(&self) -> DevicePointer<T>;
    /// The number of values.
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

/// A box of one value that the device can access.
pub trait GpuBox<T: DeviceCopy>: private::Sealed {
    /// The address of the value, for the device.
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

/// Memory of a device, of any type of values.
pub trait DeviceMemory {
    /// The address of the memory.
    fn as_raw_ptr(&self) -> CUdeviceptr;
    /// The length of the memory, in bytes.
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

    /// The supertrait that keeps other crates from implementing the traits of this module.
    pub trait Sealed {}
    impl<T: DeviceCopy> Sealed for DeviceBox<T> {}
    impl<T: DeviceCopy> Sealed for DeviceBuffer<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBox<T> {}
    impl<T: DeviceCopy> Sealed for UnifiedBuffer<T> {}
}

/// Copies `count` values from the host to the device. If they have no bytes, it does nothing.
///
/// # Safety
///
/// `from` points to `count` values, and the memory at `to` has space for them.
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

/// Copies `count` values from the device to the host. If they have no bytes, it does nothing.
///
/// # Safety
///
/// `from` points to `count` values, and the memory at `to` has space for them.
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

/// Copies `bytes` bytes within the device. If there are none, it does nothing.
///
/// # Safety
///
/// Both addresses have that many bytes of memory.
unsafe fn copy_on_device(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CudaResult<()> {
    match bytes {
        0 => Ok(()),
        // SAFETY: the caller's promise.
        bytes => unsafe { call!(cuMemcpyDtoD_v2(to, from, bytes)) },
    }
}

/// Like [`copy_to_device`], but as work of the stream.
///
/// # Safety
///
/// Until the stream has made the copy, `from` points to `count` values, and the memory at `to` has
/// space for them.
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

/// Like [`copy_to_host`], but as work of the stream.
///
/// # Safety
///
/// Until the stream has made the copy, `from` points to `count` values, and the memory at `to` has
/// space for them.
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

/// Like [`copy_on_device`], but as work of the stream.
///
/// # Safety
///
/// Both addresses have that many bytes of memory until the stream has made the copy.
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
/// An error of the driver. It may come from earlier work that has failed.
///
/// # Safety
///
/// Both addresses have that many bytes of memory.
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
/// An error of the driver. It may come from earlier work that has failed.
///
/// # Safety
///
/// Both addresses have that many bytes of memory.
pub unsafe fn memcpy_dtoh(d_ptr: *mut c_void, src_ptr: CUdeviceptr, size: usize) -> CudaResult<()> {
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemcpyDtoH_v2(d_ptr, src_ptr, size)) }
}

/// A description of a copy of no bytes. The descriptions below begin with it and set their own
/// fields.
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

/// Copies `height` rows of `width` values from the host to the device. A pitch is the number of
/// bytes from the start of one row to the start of the next.
///
/// # Errors
///
/// An error of the driver. It may come from earlier work that has failed.
///
/// # Safety
///
/// Both addresses have memory for that many rows, each of that many values, at the given pitches.
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

/// Copies `height` rows of `width` values from the device to the host. A pitch is the number of
/// bytes from the start of one row to the start of the next.
///
/// # Errors
///
/// An error of the driver. It may come from earlier work that has failed.
///
/// # Safety
///
/// Both addresses have memory for that many rows, each of that many values, at the given pitches.
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

/// The free memory and the total memory of the current context's device, in bytes.
///
/// # Errors
///
/// An error of the driver.
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
