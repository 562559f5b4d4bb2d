//! Reductions over a warp in one instruction, for 32-bit integers: PTX `redux.sync`. They need
//! sm_80.

use crate::gpu_only;

macro_rules! redux {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $intrinsic:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The mask's contract (see [`warp`](crate::warp)). The device is of compute capability 8.0
        /// at least.
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name(mask: u32, value: $t) -> $t {
            unsafe extern "C" {
                #[link_name = $intrinsic]
                fn redux(value: i32, mask: u32) -> i32;
            }
            // Both types share one signature, because the sum is the same intrinsic for both.
            // SAFETY: the caller keeps the mask's contract.
            unsafe { redux(value as i32, mask) as $t }
        }
    )*};
}

redux! {
    /// The wrapping sum over the lanes of `mask`, in each of them: CUDA's `__reduce_add_sync`.
    add_i32: i32 = "llvm.nvvm.redux.sync.add";
    /// The wrapping sum over the lanes of `mask`, in each of them: CUDA's `__reduce_add_sync`.
    add_u32: u32 = "llvm.nvvm.redux.sync.add";
    /// The minimum over the lanes of `mask`, in each of them: CUDA's `__reduce_min_sync`.
    min_i32: i32 = "llvm.nvvm.redux.sync.min";
    /// The minimum over the lanes of `mask`, in each of them: CUDA's `__reduce_min_sync`.
    min_u32: u32 = "llvm.nvvm.redux.sync.umin";
    /// The maximum over the lanes of `mask`, in each of them: CUDA's `__reduce_max_sync`.
    max_i32: i32 = "llvm.nvvm.redux.sync.max";
    /// The maximum over the lanes of `mask`, in each of them: CUDA's `__reduce_max_sync`.
    max_u32: u32 = "llvm.nvvm.redux.sync.umax";
    /// The bits that are set in all lanes of `mask`, in each of them: CUDA's `__reduce_and_sync`.
    and_u32: u32 = "llvm.nvvm.redux.sync.and";
    /// The bits that are set in any lane of `mask`, in each of them: CUDA's `__reduce_or_sync`.
    or_u32: u32 = "llvm.nvvm.redux.sync.or";
    /// The bits that are set in an odd number of lanes of `mask`, in each of them: CUDA's
    /// `__reduce_xor_sync`.
    xor_u32: u32 = "llvm.nvvm.redux.sync.xor";
}
