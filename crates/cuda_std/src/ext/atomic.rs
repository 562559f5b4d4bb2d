//! Atomic operations on global memory, relaxed, and of one device unless the name says otherwise:
//! PTX `atom.global`, CUDA's `atomicAdd` and others, and relaxed loads and stores.
//!
//! They order no other access. If other memory has to be visible after one of them, put a
//! [`device_fence`](crate::thread::device_fence) on each side. (PTX ISA, "atom", "Memory
//! Consistency Model".)

use crate::gpu_only;

/// A number that [`add`] takes: any 32-bit or 64-bit number.
pub trait AtomicAdd: Copy {
    /// See [`add`].
    ///
    /// # Safety
    /// Those of [`add`].
    #[doc(hidden)]
    unsafe fn atomic_add(target: *mut Self, value: Self) -> Self;
}

/// An integer that [`min`] and [`max`] take: any 32-bit or 64-bit integer.
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

/// Implements a trait by functions that `cuda_builder` defines: LLVM's `atomicrmw` at the scope of
/// the device, which no atomic of Rust can express.
macro_rules! atomics {
    ($($name:ident for $t:ty { $($function:ident = $definition:ident;)* })*) => {$(
        impl $name for $t {$(
            #[gpu_only]
            #[inline(always)]
            unsafe fn $function(target: *mut Self, value: Self) -> Self {
                unsafe extern "C" {
                    fn $definition(target: *mut $t, value: $t) -> $t;
                }
                // SAFETY: the caller keeps this function's contract.
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

/// Adds `value` to `*target` and returns the number that was there before. Integers wrap. The
/// addition of an `f32` in global memory flushes subnormals to zero.
///
/// # Safety
/// `target` is aligned and initialised, and during the launch only atomics use it.
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn add<T: AtomicAdd>(target: *mut T, value: T) -> T {
    // SAFETY: the caller keeps this function's contract.
    unsafe { T::atomic_add(target, value) }
}

/// Replaces `*target` by the lesser of it and `value`, and returns the number that was there
/// before.
///
/// # Safety
/// As [`add`].
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn min<T: AtomicExtreme>(target: *mut T, value: T) -> T {
    // SAFETY: the caller keeps this function's contract.
    unsafe { T::atomic_min(target, value) }
}

/// Replaces `*target` by the greater of it and `value`, and returns the number that was there
/// before.
///
/// # Safety
/// As [`add`].
///
/// # Panics
/// On the host, always.
#[inline(always)]
pub unsafe fn max<T: AtomicExtreme>(target: *mut T, value: T) -> T {
    // SAFETY: the caller keeps this function's contract.
    unsafe { T::atomic_max(target, value) }
}

/// Counts in a circle: adds 1 to `*target`, or makes it 0 if it is `last` or more, and returns the
/// number that was there before. This is CUDA's `atomicInc`.
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
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_atomic_inc_u32(target, last) }
}

/// Reads `source` in one access that the compiler neither drops nor repeats: PTX `ld.relaxed.gpu`.
///
/// # Safety
/// `source` is global memory, aligned and initialised, and threads that write it meanwhile do so
/// atomically.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_relaxed(source: *const u64) -> u64 {
    unsafe extern "C" {
        fn __cuda_std_load_relaxed(source: *const u64) -> u64;
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_relaxed(source) }
}

/// Reads two neighbours in one access: PTX `ld.relaxed.gpu.v2`. Neither of the two is torn, but
/// another thread's store may come between them.
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
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_relaxed_pair(pair.as_mut_ptr(), source) };
    pair
}

/// Writes `value` to `target` in one access: PTX `st.relaxed.gpu`.
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
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_store_relaxed(target, value) }
}

/// Writes two neighbours in one access: PTX `st.relaxed.gpu.v2`. Neither of the two is torn, but a
/// reader may see one of them before the other.
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
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_store_relaxed_pair(target, pair[0], pair[1]) }
}

/// Reads `source`, which other devices or the host may write, in one access that the compiler
/// neither drops nor repeats: PTX `ld.relaxed.sys`.
///
/// # Safety
/// `source` is global memory, aligned and initialised, and whoever writes it meanwhile does so
/// atomically, with the scope of the system.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_relaxed_system(source: *const u64) -> u64 {
    unsafe extern "C" {
        fn __cuda_std_load_relaxed_system(source: *const u64) -> u64;
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_load_relaxed_system(source) }
}

/// Writes `value` to `target`, which other devices or the host may read, in one access: PTX
/// `st.relaxed.sys`.
///
/// # Safety
/// `target` is global memory of this device, or of a peer whose memory this device may use, and is
/// aligned. Whoever uses it meanwhile does so atomically, with the scope of the system.
///
/// # Panics
/// On the host, always.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_relaxed_system(target: *mut u64, value: u64) {
    unsafe extern "C" {
        fn __cuda_std_store_relaxed_system(target: *mut u64, value: u64);
    }
    // SAFETY: the caller keeps this function's contract.
    unsafe { __cuda_std_store_relaxed_system(target, value) }
}
