//! Allocations without an owner.

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

/// Bytes of `count` values, of which there is at least one.
fn bytes_of<T>(count: usize) -> CudaResult<usize> {
    match count.checked_mul(size_of::<T>()) {
        None | Some(0) => Err(CudaError::InvalidMemoryAllocation),
        Some(bytes) => Ok(bytes),
    }
}

/// Allocates memory of the device for `count` values, which are whatever was there.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] for no bytes or more than can be counted,
/// [`CudaError::OutOfMemory`], the driver's.
///
/// # Safety
///
/// The values are not read before they are written, and [`cuda_free`] is called once.
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

/// As [`cuda_malloc`], when the stream comes to it.
///
/// # Errors
///
/// As [`cuda_malloc`].
///
/// # Safety
///
/// The memory is used on this stream, or elsewhere once the stream has come to it; else as
/// [`cuda_malloc`].
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

/// Frees memory of the device when the stream comes to it.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] for values without bytes, the driver's.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_async`] or [`cuda_malloc`], is freed once, and nobody uses it
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

/// Allocates memory that host and device share, for `count` values, which are whatever was there.
///
/// # Errors
///
/// As [`cuda_malloc`]; [`CudaError::MisalignedAddress`] if the memory is not aligned for a `T`.
///
/// # Safety
///
/// The values are not read before they are written, and [`cuda_free_unified`] is called once.
pub unsafe fn cuda_malloc_unified<T: DeviceCopy>(count: usize) -> CudaResult<UnifiedPointer<T>> {
    let bytes = bytes_of::<T>(count)?;
    let mut address: CUdeviceptr = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe { call!(cuMemAllocManaged(&raw mut address, bytes, CU_MEM_ATTACH_GLOBAL)) }?;
    let memory = ptr::with_exposed_provenance_mut::<T>(address as usize);
    if !memory.is_aligned() {
        // SAFETY: allocated above, and used by nobody.
        let _ = unsafe { call!(cuMemFree_v2(address)) };
        return Err(CudaError::MisalignedAddress);
    }
    // SAFETY: unified memory.
    Ok(unsafe { UnifiedPointer::wrap(memory) })
}

/// Allocates `height` rows of `width` values. The number that comes with the address is the bytes
/// from one row to the next.
///
/// # Errors
///
/// As [`cuda_malloc`].
///
/// # Safety
///
/// As for [`cuda_malloc`].
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

/// Frees memory of the device, once the work that uses it is done.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, the driver's.
///
/// # Safety
///
/// The memory came from [`cuda_malloc`] or a function beside it, is freed once, and nobody uses it
/// any more.
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
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, the driver's.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_unified`], is freed once, and nobody uses it any more.
pub unsafe fn cuda_free_unified<T: DeviceCopy>(p: UnifiedPointer<T>) -> CudaResult<()> {
    if p.is_null() {
        return Err(CudaError::InvalidMemoryAllocation);
    }
    // SAFETY: the caller's promise.
    unsafe { call!(cuMemFree_v2(p.as_raw().addr() as CUdeviceptr)) }
}

/// Allocates page-locked memory of the host for `count` values, which are whatever was there.
///
/// # Errors
///
/// As [`cuda_malloc`]; [`CudaError::MisalignedAddress`] if the memory is not aligned for a `T`.
///
/// # Safety
///
/// The values are not read before they are written, and [`cuda_free_locked`] is called once.
pub unsafe fn cuda_malloc_locked<T>(count: usize) -> CudaResult<*mut T> {
    let bytes = bytes_of::<T>(count)?;
    let mut memory: *mut c_void = ptr::null_mut();
    // SAFETY: the pointer is to a live variable.
    unsafe { call!(cuMemAllocHost_v2(&raw mut memory, bytes)) }?;
    let values = memory.cast::<T>();
    if !values.is_aligned() {
        // SAFETY: allocated above, and used by nobody.
        let _ = unsafe { call!(cuMemFreeHost(memory)) };
        return Err(CudaError::MisalignedAddress);
    }
    Ok(values)
}

/// Frees page-locked memory of the host.
///
/// # Errors
///
/// [`CudaError::InvalidMemoryAllocation`] for a null pointer, the driver's.
///
/// # Safety
///
/// The memory came from [`cuda_malloc_locked`], is freed once, and nobody uses it any more.
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
        // SAFETY: nothing is allocated.
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
