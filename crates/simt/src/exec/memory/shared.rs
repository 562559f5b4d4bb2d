//! Allocations that several memories share, as devices map the memory of their peers.
//!
//! These allocations have a range of addresses of their own, which one counter of the process hands
//! out. No allocation of a single memory can therefore lie at such an address, whichever memories
//! share it later.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::{Allocation, END_ADDRESS, FIRST_SHARED_ADDRESS, Memory, MemoryError, end_of};

/// The address of the next shared allocation.
static NEXT: AtomicU64 = AtomicU64::new(FIRST_SHARED_ADDRESS);

/// Whether only an allocation that several memories share can have this address.
pub(crate) const fn is_shared(address: u64) -> bool {
    address >= FIRST_SHARED_ADDRESS
}

impl Memory {
    /// Allocates `bytes` bytes of zeros that all `memories` reach at one address, which is returned
    /// and is a multiple of 256. This is how kernels on one device reach the memory of another
    /// ("peer access" in CUDA). The address depends on what the process has shared before, and is
    /// not used again.
    ///
    /// The first memory owns the allocation: it counts for [`Memory::used`] there, and in no other
    /// memory. Each memory frees its own view of the allocation by [`Memory::free`], the owner
    /// too, and the others keep theirs. An access through a memory that has freed its view is a use
    /// after free. If one of the memories was made by [`Memory::checked`], all of them record which
    /// bytes of the allocation are written.
    ///
    /// # Errors
    /// [`MemoryError::NoMemory`] if the list is empty, [`MemoryError::OutOfMemory`] beyond the
    /// owner's capacity, [`MemoryError::ZeroBytes`], [`MemoryError::HostOutOfMemory`].
    ///
    /// ```
    /// use simt::Memory;
    ///
    /// let [first, second] = [Memory::new(1 << 20), Memory::new(1 << 20)];
    /// let address = Memory::alloc_shared(&[&first, &second], 8)?;
    /// first.write(address, &[1, 2, 3])?;
    /// let mut back = [0; 4];
    /// second.read(address, &mut back)?;
    /// assert_eq!(back, [1, 2, 3, 0]);
    /// assert_eq!((first.used(), second.used()), (8, 0));
    /// first.free(address)?;
    /// assert!(first.read(address, &mut back).is_err());
    /// second.read(address, &mut back)?;
    /// # Ok::<(), simt::MemoryError>(())
    /// ```
    pub fn alloc_shared(memories: &[&Memory], bytes: u64) -> Result<u64, MemoryError> {
        let [owner, others @ ..] = memories else { return Err(MemoryError::NoMemory) };
        if bytes == 0 {
            return Err(MemoryError::ZeroBytes);
        }
        let notes_writes = memories.iter().any(|memory| memory.notes_writes);
        let mut state = owner.state.write().unwrap_or_else(PoisonError::into_inner);
        let free = state.room(bytes, owner.capacity)?;
        let base =
            NEXT.fetch_update(Relaxed, Relaxed, |base| end_of(base, bytes, END_ADDRESS)).map_err(
                |_| MemoryError::OutOfMemory { asked: bytes, free, capacity: owner.capacity },
            )?;
        let allocation = Arc::new(Allocation::new(base, bytes, notes_writes)?);
        state.used += bytes;
        state.live.insert(base, Arc::clone(&allocation));
        // No two memories are locked at a time, so that no order of locks has to be kept.
        drop(state);
        for other in others.iter().filter(|other| !std::ptr::eq(**other, *owner)) {
            let mut state = other.state.write().unwrap_or_else(PoisonError::into_inner);
            state.live.insert(base, Arc::clone(&allocation));
            state.borrowed.insert(base);
        }
        Ok(base)
    }
}
