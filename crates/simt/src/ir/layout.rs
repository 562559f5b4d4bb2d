//! Layouts on which lowered code and the simulated memory must agree.

/// The windows of shared memory, local memory and parameters among the generic addresses. Each is 4
/// GiB and lies above all device memory. Every other generic address is a device address.
pub(crate) const SHARED_WINDOW: u64 = 0x7fff_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7ffe_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x7ffd_0000_0000;

/// The addresses of functions lie in a window of their own, below the others. No data lies there.
const FUNCTION_WINDOW: u64 = 0x7ffc_0000_0000;
const FUNCTION_BYTES: u64 = 16;

/// The address of a function, by its index in the module.
pub(crate) const fn function_address(index: u32) -> u64 {
    FUNCTION_WINDOW + (index as u64 + 1) * FUNCTION_BYTES
}

/// In the state of an mbarrier, a count of arrivals has `COUNT_BITS` bits, and the count of pending
/// arrivals begins at bit `PENDING_SHIFT`.
pub(crate) const COUNT_BITS: u32 = 20;
pub(crate) const PENDING_SHIFT: u32 = 20;
/// An mbarrier has this many bytes.
pub(crate) const MBARRIER_BYTES: u32 = 8;
