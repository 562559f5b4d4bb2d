//! Loads of global memory that is read once. The compiler keeps them in the order of the source, so
//! that many are under way before the first value is used. They put nothing into the first-level
//! cache, and a [`Policy`] tells the second-level cache which lines to keep.
//!
//! A load named `…_if` is made only if `valid` is true, by a predicate and not by a branch. If it
//! is not made, it returns an arbitrary value, and `source` may be any address.

use crate::gpu_only;

/// Tells the second-level cache which of the loaded lines to keep.
///
/// Without a policy, an array that is larger than that cache and is read again and again would
/// evict itself each time. Below sm_90 a policy has no effect.
#[derive(Clone, Copy)]
pub struct Policy(
    #[cfg_attr(not(target_os = "cuda"), expect(dead_code, reason = "its users are stand-ins"))] u64,
);

impl Policy {
    /// Keeps lines as usual with the probability `fraction`, which is more than 0 and at most 1,
    /// and marks the others to be evicted first: PTX
    /// `createpolicy.fractional.L2::evict_normal.L2::evict_first`.
    ///
    /// # Panics
    /// On the host, always.
    ///
    /// Source: PTX ISA, "createpolicy".
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub fn keep(fraction: f32) -> Self {
        unsafe extern "C" {
            fn __cuda_std_create_policy(keep: f32) -> u64;
        }
        // SAFETY: no precondition; a policy is a hint.
        Self(unsafe { __cuda_std_create_policy(fraction) })
    }
}

/// Asks for the line that contains `source` to be brought into the second-level cache, if `valid`:
/// PTX `prefetch.global.L2`.
///
/// It returns no value. So a later load still sees what other threads and grids have written in
/// between.
///
/// # Safety
/// If `valid`, `source` is global memory.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn prefetch_if<T>(source: *const T, valid: bool) {
    unsafe extern "C" {
        fn __cuda_std_prefetch_if(source: *const u8, valid: bool);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_prefetch_if(source.cast(), valid) }
}

/// Loads 128 bits: PTX `ld.global.L1::no_allocate.L2::cache_hint.v4.b32` (below sm_90
/// `ld.global.v4.b32`).
///
/// # Safety
/// `source` is global memory, initialised and aligned to 16 bytes.
///
/// # Panics
/// On the host, always.
///
/// Source: PTX ISA, "ld", "Cache Eviction Priority Hints".
#[gpu_only]
#[inline(always)]
pub unsafe fn load_pack(source: *const [u32; 4], policy: Policy) -> [u32; 4] {
    unsafe extern "C" {
        fn __cuda_std_load_pack(pack: *mut u32, source: *const u8, policy: u64);
    }
    let mut pack = [0; 4];
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_pack(pack.as_mut_ptr(), source.cast(), policy.0) };
    pack
}

/// As [`load_pack`], if `valid`.
///
/// # Safety
/// If `valid`, that of [`load_pack`].
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_pack_if(source: *const [u32; 4], policy: Policy, valid: bool) -> [u32; 4] {
    unsafe extern "C" {
        fn __cuda_std_load_pack_if(pack: *mut u32, source: *const u8, policy: u64, valid: bool);
    }
    let mut pack = [0; 4];
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_pack_if(pack.as_mut_ptr(), source.cast(), policy.0, valid) };
    pack
}

/// Loads 128 bits if `valid`, and leaves the second-level cache to its usual policy: PTX
/// `ld.global.L1::no_allocate.v4.b32` (below sm_90 `ld.global.v4.b32`).
///
/// # Safety
/// If `valid`, that of [`load_pack`].
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_unhinted_pack_if(source: *const [u32; 4], valid: bool) -> [u32; 4] {
    unsafe extern "C" {
        fn __cuda_std_load_unhinted_pack_if(pack: *mut u32, source: *const u8, valid: bool);
    }
    let mut pack = [0; 4];
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_unhinted_pack_if(pack.as_mut_ptr(), source.cast(), valid) };
    pack
}

macro_rules! near_loads {
    ($($(#[$doc:meta])* $name:ident -> $t:ty = $definition:ident;)*) => {$(
        $(#[$doc])*
        /// It asks for the 128 bytes around to be brought into the second-level cache, because they
        /// will be needed soon (below sm_80 it is a plain load).
        ///
        /// # Safety
        /// `source` is global memory, initialised and aligned.
        ///
        /// # Panics
        /// On the host, always.
        ///
        /// Source: PTX ISA, "ld", "Cache Eviction Priority Hints" and `.level::prefetch_size`.
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub unsafe fn $name(source: *const $t) -> $t {
            unsafe extern "C" {
                fn $definition(source: *const $t) -> $t;
            }
            // SAFETY: the caller keeps this function's contract.
            unsafe { $definition(source) }
        }
    )*};
}

near_loads! {
    /// Loads 32 bits: PTX `ld.global.L1::no_allocate.L2::128B.u32`.
    load_near_u32 -> u32 = __cuda_std_load_near_u32;
    /// Loads 64 bits: PTX `ld.global.L1::no_allocate.L2::128B.u64`.
    load_near_u64 -> u64 = __cuda_std_load_near_u64;
}

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident -> $t:ty = $definition:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// If `valid`, `source` is global memory, initialised and aligned.
        ///
        /// # Panics
        /// On the host, always.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name(source: *const $t, valid: bool) -> $t {
            unsafe extern "C" {
                fn $definition(source: *const $t, valid: bool) -> $t;
            }
            // SAFETY: the caller keeps this function's contract.
            unsafe { $definition(source, valid) }
        }
    )*};
}

loads! {
    /// Loads 8 bits: PTX `ld.global.u8`.
    load_u8_if -> u8 = __cuda_std_load_u8_if;
    /// Loads 16 bits: PTX `ld.global.u16`.
    load_u16_if -> u16 = __cuda_std_load_u16_if;
    /// Loads 32 bits: PTX `ld.global.u32`.
    load_u32_if -> u32 = __cuda_std_load_u32_if;
    /// Loads 64 bits: PTX `ld.global.u64`.
    load_u64_if -> u64 = __cuda_std_load_u64_if;
}
