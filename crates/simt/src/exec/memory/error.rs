//! The reasons for which device memory refuses an operation.

use thiserror::Error;

/// The reason for which an operation of [`Memory`](crate::Memory) was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The memory has too few free bytes.
    #[error("out of device memory: {asked} bytes were asked for and {free} of {capacity} are free")]
    OutOfMemory {
        /// How many bytes were asked for.
        asked: u64,
        /// How many bytes are free.
        free: u64,
        /// The memory's capacity in bytes.
        capacity: u64,
    },
    /// The host has too little memory to back the allocation.
    #[error("the host has no memory for a device allocation of {asked} bytes")]
    HostOutOfMemory {
        /// How many bytes were asked for.
        asked: u64,
    },
    /// An allocation of zero bytes.
    #[error("an allocation must have at least 1 byte")]
    ZeroBytes,
    /// [`Memory::alloc_shared`](crate::Memory::alloc_shared) got no memory.
    #[error("a shared allocation needs at least 1 memory")]
    NoMemory,
    /// [`Memory::free`](crate::Memory::free) got an address that is not the start of a live
    /// allocation.
    #[error("{address:#x} is not the start of a live allocation")]
    NotAnAllocation {
        /// The address given.
        address: u64,
    },
    /// A host copy that does not lie inside one live allocation.
    #[error("a host copy of {bytes} bytes at {address:#x} does not lie inside a live allocation")]
    OutOfBounds {
        /// The first address of the copy.
        address: u64,
        /// The length of the copy in bytes.
        bytes: u64,
    },
}
