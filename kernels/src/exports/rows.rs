//! The kernels that reduce rows and columns in the lectures' way, named
//! `<row or column><workers>_<op>_<type>`. The production kernels for rows are `rows_<op>_<type>`.

use crate::op::{Max, Min, Sum};
use crate::rows::block::row_block as rowblock;
use crate::rows::column::column_thread as columnthread;
use crate::rows::thread::row_thread as rowthread;
use crate::rows::warp::row_warp as rowwarp;

/// Stamps out a kernel for each combination in `[functions] x [operations] x [types]`.
macro_rules! kernels {
    ([$($function:ident)*] x $ops:tt x $types:tt) => {$(
        kernels!(@ops $function $ops $types);
    )*};
    (@ops $function:ident [$($op:ident)*] $types:tt) => {$(
        kernels!(@types $function $op $types);
    )*};
    (@types $function:ident $op:ident [$($t:ident)*]) => {$(
        pastey::paste! { kernel! { [<$function _ $op _ $t>] = $function<$t, [<$op:camel>]> } }
    )*};
}

/// Defines one kernel: `name = function<type, operation>`.
macro_rules! kernel {
    ($name:ident = $function:ident<$t:ty, $op:ty>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for [`", stringify!($t), "`] and [`", stringify!($op), "`]."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`rows`](crate::rows)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: usize, cols: usize) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $op>(input, output, rows, cols) }
        }
    };
}

kernels! { [rowthread rowwarp rowblock columnthread] x [sum min max] x [i32 f32] }
