//! Functions that allocate and free memory. No object owns this memory.

use std::{
    ffi::{c_uint, c_void},
    ptr,
};

use super::{DeviceCopy, DevicePointer, UnifiedPointer};
use crate::{
    error::{CudaError, CudaResult},
    stream::Stream,
    sys::{CU_MEM_ATTACH_GLOBAL, CUdeviceptr},
};

/// The number of bytes of `count` values. [`CudaError::InvalidMemoryAllocation`] if it is 0 or does
/// not fit into a `usize`.
fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    match count.checked_mul(size_of::<T>()) {
        None | Some(0) => Err(CudaError::InvalidMemoryAllocation),
        Some(bytes) => Ok(bytes),
    }
}

/// Allocates memory of the device for `count` values without initialising them.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] if the number of bytes is 0 or does not fit into a
/// `usize`; [`CudaError::OutOfMemory`]; or another error of the driver.
///
/// # Safety
///
/// The values are not read before they are written, and the memory is freed once, by [`cuda_free`].
///
/// # Examples
///
/// ```no_run
/// use cust::memory::{cuda_free, cuda_malloc};
///
/// let _context = cust::quick_init()?;
/// // SAFETY: nobody reads the values, and they are freed once.
/// unsafe {
///     let numbers = cuda_malloc::<u64>(5)?;
///     cuda_free(numbers)?;
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
pub unsafe fn cuda_malloc<T: DeviceCopy>(count: usize) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes)) }?;
    Ok(DevicePointer::from_raw(address))
}

/// Like [`cuda_malloc`], but the allocation is work of the stream.
///
/// # Errors
///
/// The errors of [`cuda_malloc`].
///
/// # Safety
///
/// The contract is that of [`cuda_malloc`]. In addition, until the stream has made the allocation,
/// only work of this stream uses the memory.
pub unsafe fn cuda_malloc_async<T: DeviceCopy>(
    stream: &Stream,
    count: usize,
) -> CudaResult<DevicePointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address = 0;
    // SAFETY: the pointer is to a live variable, and the stream lives.
    unsafe { call!(cuMemAllocAsync(&raw mut address, bytes, stream.as_inner())) }?;
    Ok(DevicePointer::from_raw(address))
}

/// Adds the freeing of device memory to the work of the stream.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] if `T` has no bytes; or an error of the driver.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_async`] or [`cuda_malloc`] and is freed once. Nobody uses it
/// any more.
pub unsafe fn cuda_free_async<T: DeviceCopy>(
    stream: &Stream,
    p: DevicePointer<T>,
) -> CudaResult<()> {
    if size_of::<T>() == 0 {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemFreeAsync(p.as_raw(), stream.as_inner())) }
}

/// Allocates memory that host and device share, for `count` values, without initialising them.
///
/// # Errors
///
/// The errors of [`cuda_malloc`]; [`CudaError::MisalignedAddress`] if the memory is not aligned for
/// a `T`.
///
/// # Safety
///
/// The values are not read before they are written, and the memory is freed once, by
/// [`cuda_free_unified`].
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address: CUdeviceptr = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe { call!(cuMemAllocManaged(&raw mut address, bytes, CU_MEM_ATTACH_GLOBAL)) }?;
    let memory = ptr::with_exposed_provenance_mut::<T>(address as usize);
    if !memory.is_aligned() {
        // SAFETY: the memory was allocated above, and nobody uses it.
        let _ = unsafe { call!(cuMemFree_v2(address)) };
        return Err(CudaError::MisalignedAddress);
    }
    // SAFETY: the address is that of unified memory.
    Ok(unsafe { UnifiedPointer::wrap(memory) })
}

/// Allocates memory of the device for `height` rows of `width` values each, without initialising
/// them. Returns the address, and the number of bytes from the start of one row to the start of the
/// next.
///
/// # Errors
///
/// The errors of [`cuda_malloc`].
///
/// # Safety
///
/// The contract is that of [`cuda_malloc`].
pub unsafe fn cuda_malloc_pitched<T: DeviceCopy>(
    width: usize,
    height: usize,
) -> CudaResult<(DevicePointer<T>, usize)> {
    let element_bytes =
        c_uint::try_from(size_of::<T>()).map_err(|_| CudaError::InvalidMemoryAllocation)?;
    let width_bytes = bytes_of::<T>(width)?;
    if height == 0 {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    let (mut address, mut pitch) = (0, 0);
    // SAFETY: the pointers are to live variables.
    unsafe {
        call!(cuMemAllocPitch_v2(
            &raw mut address,
            &raw mut pitch,
            width_bytes,
            height,
            element_bytes
        ))
    }?;
    Ok((DevicePointer::from_raw(address), pitch))
}

/// Frees memory of the device, after the work that uses the memory has ended.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] if the pointer is null; or an error of the driver.
///
/// # Safety
///
/// The memory came from [`cuda_malloc`], [`cuda_malloc_async`] or [`cuda_malloc_pitched`], and is
/// freed once. Nobody uses it any more.
pub unsafe fn cuda_free<T: DeviceCopy>(ptr: DevicePointer<T>) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemFree_v2(ptr.as_raw())) }
}

/// Frees memory that host and device share.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] if the pointer is null; or an error of the driver.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_unified`] and is freed once. Nobody uses it any more.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(p: UnifiedPointer<T>) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemFree_v2(p.as_raw().addr() as CUdeviceptr)) }
}

/// Allocates page-locked memory of the host for `count` values without initialising them.
///
/// # Errors
///
/// The errors of [`cuda_malloc`]; [`CudaError::MisalignedAddress`] if the memory is not aligned for
/// a `T`.
///
/// # Safety
///
/// The values are not read before they are written, and the memory is freed once, by
/// [`cuda_free_locked`].
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let bytes = bytes_of::<T>(count)?;
    let mut memory: *mut c_void = ptr::null_mut();
    // SAFETY: the pointer is to a live variable.
    unsafe { call!(cuMemAllocHost_v2(&raw mut memory, bytes)) }?;
    let values = memory.cast::<T>();
    if !values.is_aligned() {
        // SAFETY: the memory was allocated above, and nobody uses it.
        let _ = unsafe { call!(cuMemFreeHost(memory)) };
        return Err(CudaError::MisalignedAddress);
    }
    Ok(values)
}

/// Frees page-locked memory of the host.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] if the pointer is null; or an error of the driver.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_locked`] and is freed once. Nobody uses it any more.
pub unsafe fn cuda_free_locked<T>(ptr: *mut T) -> CudaResult<()> {
    if ptr.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemFreeHost(ptr.cast())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_and_too_many_are_refused_before_the_driver_is_asked() {
        assert_eq!(bytes_of::<u32>(5), Ok(20));
        // SAFETY: the calls allocate nothing.
        unsafe {
            for count in [0, usize::MAX, usize::MAX / 2] {
                assert_eq!(cuda_malloc::<u32>(count), Err(CudaError::InvalidMemoryAllocation));
                assert_eq!(
                    cuda_malloc_unified::<u32>(count),
                    Err(CudaError::InvalidMemoryAllocation)
                );
                assert_eq!(
                    cuda_malloc_locked::<u32>(count),
                    Err(CudaError::InvalidMemoryAllocation)
                );
            }
            assert_eq!(cuda_malloc::<()>(7), Err(CudaError::InvalidMemoryAllocation));
            assert_eq!(cuda_malloc_pitched::<u32>(3, 0), Err(CudaError::InvalidMemoryAllocation));
            assert_eq!(
                cuda_free(DevicePointer::<u32>::null()),
                Err(CudaError::InvalidMemoryAllocation)
            );
            assert_eq!(
                cuda_free_unified(UnifiedPointer::<u32>::null()),
                Err(CudaError::InvalidMemoryAllocation)
            );
            assert_eq!(
                cuda_free_locked(ptr::null_mut::<u32>()),
                Err(CudaError::InvalidMemoryAllocation)
            );
        }
    }
}
