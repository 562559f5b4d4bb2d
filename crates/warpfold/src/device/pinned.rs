//! Page-locked memory of the host.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    slice,
    sync::Arc,
};

use super::{Core, DeviceError, Pod};

/// A fixed number of values in page-locked ("pinned") host memory. A GPU can copy to and from such
/// memory while the host goes on. [`Device::alloc_pinned`](super::Device::alloc_pinned) makes it,
/// and it dereferences to a slice. On the simulator it is ordinary memory.
///
/// ```
/// use warpfold::Device;
///
/// let device = Device::auto()?;
/// let mut pinned = device.alloc_pinned::<u32>(3)?;
/// assert_eq!(*pinned, [0; 3]);
/// pinned.copy_from_slice(&[1, 2, 3]);
/// assert_eq!(device.upload(&pinned)?.copy_to_host()?, [1, 2, 3]);
/// # Ok::<(), warpfold::device::DeviceError>(())
/// ```
pub struct PinnedBuffer<T> {
    core: Arc<Core>,
    /// The address of the first value; dangling if the buffer has no values.
    values: *mut T,
    len: usize,
}

// SAFETY: the buffer owns its memory, as a `Vec<T>` does.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `values` points to `len` values that `alloc_pinned` zeroed, and every byte
        // pattern is a value of a `Pod` type.
        unsafe { slice::from_raw_parts(self.values, self.len) }
    }
}

impl<T> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self` is the only borrow.
        unsafe { slice::from_raw_parts_mut(self.values, self.len) }
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        let bytes = self.len * size_of::<T>();
        if bytes > 0 {
            self.core.free_pinned(self.values.cast(), bytes);
        }
    }
}

impl<T: Pod> PinnedBuffer<T> {
    pub(super) fn new(core: &Arc<Core>, len: usize) -> Result<Self, DeviceError> {
        // Page-locked memory begins on a page, and a page has at least 4096 bytes.
        const { assert!(align_of::<T>() <= 4096, "page-locked memory is not aligned so far") };
        let requested = len as u128 * size_of::<T>() as u128;
        let bytes = isize::try_from(requested)
            .map_err(|_| DeviceError::OutOfHostMemory { requested })? as usize;
        let values =
            if bytes == 0 { std::ptr::dangling_mut() } else { core.alloc_pinned(bytes)?.cast() };
        Ok(Self { core: Arc::clone(core), values, len })
    }
}
