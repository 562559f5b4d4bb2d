//! Typed addresses of device memory and of unified memory.

use std::{ffi::c_void, fmt, marker::PhantomData, ptr};

use super::DeviceCopy;
use crate::sys::CUdeviceptr;

/// An address of device memory. Only the device can use it. It has the size of a kernel's pointer,
/// so it is passed to kernels as a pointer.
///
/// ```
/// use cust::memory::DevicePointer;
///
/// let first = DevicePointer::<u32>::from_raw(0x1000);
/// assert_eq!(first.wrapping_add(3).as_raw(), 0x100c);
/// assert!(DevicePointer::<u32>::null().is_null());
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePointer<T: DeviceCopy> {
    ptr: CUdeviceptr,
    marker: PhantomData<*mut T>,
}

// SAFETY: an address is a number.
unsafe impl<T: DeviceCopy> DeviceCopy for DevicePointer<T> {}

impl<T: DeviceCopy> fmt::Pointer for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&ptr::without_provenance::<c_void>(self.ptr as usize), f)
    }
}

impl<T: DeviceCopy> DevicePointer<T> {
    /// The address as a pointer, through which the host must not read or write.
    pub fn as_ptr(&self) -> *const T {
        ptr::with_exposed_provenance(self.ptr as usize)
    }

    /// The address as a pointer, through which the host must not read or write.
    pub fn as_mut_ptr(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.ptr as usize)
    }

    /// The address, as a number.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.ptr
    }

    /// The pointer with this address.
    pub fn from_raw(ptr: CUdeviceptr) -> Self {
        Self { ptr, marker: PhantomData }
    }

    /// Whether the address is 0.
    pub fn is_null(self) -> bool {
        self.ptr == 0
    }

    /// The null pointer, whose address is 0.
    pub fn null() -> Self {
        Self::from_raw(0)
    }

    /// The address `count` values further on. A negative `count` goes back.
    ///
    /// # Safety
    ///
    /// The result lies within the same allocation, or just behind it.
    #[must_use]
    pub unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// The address `count` values further on, even if it lies in no allocation. A negative `count`
    /// goes back. The addition wraps around.
    #[must_use]
    pub fn wrapping_offset(self, count: isize) -> Self {
        let bytes = (count as i64).wrapping_mul(size_of::<T>() as i64);
        Self::from_raw(self.ptr.wrapping_add_signed(bytes))
    }

    /// The address `count` values further on.
    ///
    /// # Safety
    ///
    /// The contract is that of [`offset`](Self::offset).
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name, as for pointers")]
    pub unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// The address `count` values back.
    ///
    /// # Safety
    ///
    /// The contract is that of [`offset`](Self::offset).
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name, as for pointers")]
    pub unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// The address `count` values further on, even if it lies in no allocation. The addition wraps
    /// around.
    #[must_use]
    pub fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// The address `count` values back, even if it lies in no allocation. The subtraction wraps
    /// around.
    #[must_use]
    pub fn wrapping_sub(self, count: usize) -> Self {
        self.wrapping_offset((count as isize).wrapping_neg())
    }

    /// The same address, as a pointer to values of another type.
    pub fn cast<U: DeviceCopy>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.ptr)
    }
}

/// An address of unified memory, which host and device can use.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnifiedPointer<T: DeviceCopy>(*mut T);

// SAFETY: an address is a plain value.
unsafe impl<T: DeviceCopy> DeviceCopy for UnifiedPointer<T> {}

impl<T: DeviceCopy> fmt::Pointer for UnifiedPointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}

impl<T: DeviceCopy> UnifiedPointer<T> {
    /// The pointer with this address.
    ///
    /// # Safety
    ///
    /// The pointer is null or an address of unified memory.
    pub unsafe fn wrap(ptr: *mut T) -> Self {
        UnifiedPointer(ptr)
    }

    /// The address, as a pointer of the host.
    pub fn as_raw(self) -> *const T {
        self.0
    }

    /// The address, as a pointer of the host.
    pub fn as_raw_mut(&mut self) -> *mut T {
        self.0
    }

    /// Whether the address is 0.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The null pointer, whose address is 0.
    pub fn null() -> Self {
        UnifiedPointer(ptr::null_mut())
    }

    /// The address `count` values further on. A negative `count` goes back.
    ///
    /// # Safety
    ///
    /// The result lies within the same allocation, or just behind it.
    #[must_use]
    pub unsafe fn offset(self, count: isize) -> Self {
        // SAFETY: the caller's promise.
        UnifiedPointer(unsafe { self.0.offset(count) })
    }

    /// The address `count` values further on, even if it lies in no allocation. A negative `count`
    /// goes back. The addition wraps around.
    #[must_use]
    pub fn wrapping_offset(self, count: isize) -> Self {
        UnifiedPointer(self.0.wrapping_offset(count))
    }

    /// The address `count` values further on.
    ///
    /// # Safety
    ///
    /// The contract is that of [`offset`](Self::offset).
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name, as for pointers")]
    pub unsafe fn add(self, count: usize) -> Self {
        // SAFETY: the caller's promise.
        UnifiedPointer(unsafe { self.0.add(count) })
    }

    /// The address `count` values back.
    ///
    /// # Safety
    ///
    /// The contract is that of [`offset`](Self::offset).
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "rust-cuda's name, as for pointers")]
    pub unsafe fn sub(self, count: usize) -> Self {
        // SAFETY: the caller's promise.
        UnifiedPointer(unsafe { self.0.sub(count) })
    }

    /// The address `count` values further on, even if it lies in no allocation. The addition wraps
    /// around.
    #[must_use]
    pub fn wrapping_add(self, count: usize) -> Self {
        UnifiedPointer(self.0.wrapping_add(count))
    }

    /// The address `count` values back, even if it lies in no allocation. The subtraction wraps
    /// around.
    #[must_use]
    pub fn wrapping_sub(self, count: usize) -> Self {
        UnifiedPointer(self.0.wrapping_sub(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_counted_in_values() {
        let first = DevicePointer::<[u16; 3]>::from_raw(0x7000);
        assert_eq!(first.wrapping_offset(-2).as_raw(), 0x7000 - 12);
        assert_eq!(first.wrapping_add(5).wrapping_sub(5), first);
        assert_eq!(DevicePointer::<u64>::null().wrapping_sub(1).as_raw(), u64::MAX - 7);
        assert_eq!(first.cast::<u8>().wrapping_add(1).as_raw(), 0x7001);
        assert_eq!(format!("{first:p}"), "0x7000");
    }
}
