//! The lanes of a warp that have the same value.

use crate::gpu_only;

/// The lanes of `mask` that have the same `value` as this one, one bit each: CUDA's
/// `__match_any_sync`, PTX `match.any.sync.b32`.
///
/// # Safety
/// The mask's contract (see [`warp`](crate::warp)).
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "match.sync".
#[gpu_only]
#[inline(always)]
pub unsafe fn any_u32(mask: u32, value: u32) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        fn match_any(mask: u32, value: u32) -> u32;
    }
    // SAFETY: the caller keeps the mask's contract.
    unsafe { match_any(mask, value) }
}
