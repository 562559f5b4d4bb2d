//! Atomic operations on global memory, relaxed and for the whole device: PTX `atom.global`, CUDA's `atomicAdd` and others,
//! and loads and stores of that kind.
//!
//! They order nothing but themselves: where other memory is to be seen behind them, put a
//! [`device_fence`](crate::thread::device_fence) on each side. (PTX ISA, "atom", "Memory Consistency Model".)

use crate::gpu_only;

/// A number that global memory adds to atomically: any 32-bit or 64-bit one.
pub trait AtomicAdd: Copy {
    /// See [`add`].
    ///
    /// # Safety
    /// Those of [`add`].
    #[doc(hidden)]
    unsafe fn atomic_add(target: *mut Self, value: Self) -> Self;
}

/// An integer that global memory takes the minimum and maximum of atomically: any 32-bit or 64-bit one.
pub trait AtomicExtreme: Copy {
    /// See [`min`].
    ///
    /// # Safety
    /// Those of [`min`].
    #[doc(hidden)]
    unsafe fn atomic_min(target: *mut Self, value: Self) -> Self;
    /// See [`max`].
    ///
    /// # Safety
    /// Those of [`max`].
    #[doc(hidden)]
    unsafe fn atomic_max(target: *mut Self, value: Self) -> Self;
}

/// Implements a trait's functions by definitions of `cuda_builder`: LLVM's `atomicrmw` at the scope of the device, which no
/// Rust atomic spells.
macro_rules! atomics {
    ($($name:ident for $t:ty { $($function:ident = $definition:ident;)* })*) => {$(
        impl $name for $t {$(
            #[gpu_only]
            #[inline(always)]
            unsafe fn $function(target: *mut Self, value: Self) -> Self {
                unsafe extern "C" {
                    fn $definition(target: *mut $t, value: $t) -> $t;
                }
                // SAFETY: the caller's word.
                unsafe { $definition(target, value) }
            }
        )*}
    )*};
}

atomics! {
    AtomicAdd for i32 { atomic_add = __cuda_std_atomic_add_i32; }
    AtomicAdd for u32 { atomic_add = __cuda_std_atomic_add_u32; }
    AtomicAdd for i64 { atomic_add = __cuda_std_atomic_add_i64; }
    AtomicAdd for u64 { atomic_add = __cuda_std_atomic_add_u64; }
    AtomicAdd for f32 { atomic_add = __cuda_std_atomic_add_f32; }
    AtomicAdd for f64 { atomic_add = __cuda_std_atomic_add_f64; }
    AtomicExtreme for i32 { atomic_min = __cuda_std_atomic_min_i32; atomic_max = __cuda_std_atomic_max_i32; }
    AtomicExtreme for u32 { atomic_min = __cuda_std_atomic_min_u32; atomic_max = __cuda_std_atomic_max_u32; }
    AtomicExtreme for i64 { atomic_min = __cuda_std_atomic_min_i64; atomic_max = __cuda_std_atomic_max_i64; }
    AtomicExtreme for u64 { atomic_min = __cuda_std_atomic_min_u64; atomic_max = __cuda_std_atomic_max_u64; }
}

/// `*target += value`, and what was there before. Integers wrap; an `f32` in global memory loses subnormals.
///
/// # Safety
/// `target` is aligned and initialised, and during the launch only atomics use it.
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn add<T: AtomicAdd>(target: *mut T, value: T) -> T {
    // SAFETY: the caller's word.
    unsafe { T::atomic_add(target, value) }
}

/// `*target = min(*target, value)`, and what was there before.
///
/// # Safety
/// As [`add`].
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn min<T: AtomicExtreme>(target: *mut T, value: T) -> T {
    // SAFETY: the caller's word.
    unsafe { T::atomic_min(target, value) }
}

/// `*target = max(*target, value)`, and what was there before.
///
/// # Safety
/// As [`add`].
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn max<T: AtomicExtreme>(target: *mut T, value: T) -> T {
    // SAFETY: the caller's word.
    unsafe { T::atomic_max(target, value) }
}

/// Counts in a circle: `*target += 1`, or 0 after `last`; and what was there before. CUDA's `atomicInc`.
///
/// # Safety
/// As [`add`].
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn inc(target: *mut u32, last: u32) -> u32 {
    unsafe extern "C" {
        fn __cuda_std_atomic_inc_u32(target: *mut u32, last: u32) -> u32;
    }
    // SAFETY: the caller's word.
    unsafe { __cuda_std_atomic_inc_u32(target, last) }
}

/// What is at `source`, read at once and anew at each call: PTX `ld.relaxed.gpu`.
///
/// # Safety
/// `source` is global memory, aligned and initialised; threads that write it meanwhile do so atomically.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_relaxed(source: *const u64) -> u64 {
    unsafe extern "C" {
        fn __cuda_std_load_relaxed(source: *const u64) -> u64;
    }
    // SAFETY: the caller's word.
    unsafe { __cuda_std_load_relaxed(source) }
}

/// Two neighbours in one access: PTX `ld.relaxed.gpu.v2`. Each is read at once; the two may be of different times.
///
/// # Safety
/// As [`load_relaxed`], for both; `source` is aligned to 16 bytes.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_relaxed_pair(source: *const u64) -> [u64; 2] {
    unsafe extern "C" {
        fn __cuda_std_load_relaxed_pair(pair: *mut u64, source: *const u64);
    }
    let mut pair = [0; 2];
    // SAFETY: the caller's word.
    unsafe { __cuda_std_load_relaxed_pair(pair.as_mut_ptr(), source) };
    pair
}

/// Writes `value` to `target` at once: PTX `st.relaxed.gpu`.
///
/// # Safety
/// `target` is global memory, aligned; threads that use it meanwhile do so atomically.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_relaxed(target: *mut u64, value: u64) {
    unsafe extern "C" {
        fn __cuda_std_store_relaxed(target: *mut u64, value: u64);
    }
    // SAFETY: the caller's word.
    unsafe { __cuda_std_store_relaxed(target, value) }
}

/// Two neighbours in one access: PTX `st.relaxed.gpu.v2`. Each is written at once; who reads may see one before the other.
///
/// # Safety
/// As [`store_relaxed`], for both; `target` is aligned to 16 bytes.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_relaxed_pair(target: *mut u64, pair: [u64; 2]) {
    unsafe extern "C" {
        fn __cuda_std_store_relaxed_pair(target: *mut u64, low: u64, high: u64);
    }
    // SAFETY: the caller's word.
    unsafe { __cuda_std_store_relaxed_pair(target, pair[0], pair[1]) }
}
