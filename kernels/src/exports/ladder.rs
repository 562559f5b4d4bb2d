//! The ladder's kernels, named `<family><rung>_<op>_<type>[_b<block>]`.

/// Stamps out kernels: `name = function<type, operation[, block size or stages]>;`.
macro_rules! kernels {
    ($first:ident: *$mutability:ident; $($name:ident = $function:ident<$t:ty, $op:ty $(, $size:literal)?>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for [`", stringify!($t), "`] and [`", stringify!($op), "`].")]
        ///
        /// # Safety
        /// The launch's contract (see [`ladder`](crate::ladder)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name($first: *$mutability $t, output: *mut $t, n: usize) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $op $(, $size)?>($first, output, n) }
        }
    )*};
}

/// As `kernels!`, for those that need room for the partial results of all blocks, and a counter.
#[cfg(feature = "ext")]
macro_rules! kernels_with_workspace {
    ($($name:ident = $function:ident<$t:ty, $op:ty>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for [`", stringify!($t), "`] and [`", stringify!($op), "`].")]
        ///
        /// # Safety
        /// The launch's contract (see [`ladder`](crate::ladder)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, n: usize, partials: *mut $t, counter: *mut u32) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $op>(input, output, n, partials, counter) }
        }
    )*};
}

#[cfg(feature = "ext")]
pub mod ext;
pub mod modern;
pub mod seeds;
