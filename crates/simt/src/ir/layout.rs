//! What the code that lowering emits and the memory that it runs on have to agree on.

/// Where shared memory, local memory and parameters appear among the generic addresses: 4 GiB each, above all device
/// memory. Everything else is device memory, whose generic addresses are its own.
pub(crate) const SHARED_WINDOW: u64 = 0x7fff_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7ffe_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x7ffd_0000_0000;

/// Bits of a count of arrivals, and where that of the pending ones begins, which a state tells too.
pub(crate) const COUNT_BITS: u32 = 20;
pub(crate) const PENDING_SHIFT: u32 = 20;
/// Bytes of an mbarrier.
pub(crate) const MBARRIER_BYTES: u32 = 8;
