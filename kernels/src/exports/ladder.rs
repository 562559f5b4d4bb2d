//! The kernels of the ladder: each rung with each operation and each type that it supports, named
//! `<family><rung>_<op>_<type>[_b<block>]`.

use crate::ladder::global::global;
use crate::ladder::naive::reduce0;
use crate::ladder::reduce1::reduce1;
use crate::ladder::reduce2::reduce2;
use crate::ladder::reduce3::reduce3;
use crate::ladder::reduce4::reduce4;
use crate::ladder::reduce5::reduce5;
use crate::ladder::reduce6::reduce6;
use crate::ladder::reduce7::reduce7;
use crate::ladder::reduce8::reduce8;
use crate::ladder::reduce9::reduce9;
use crate::op::{Max, Min, Product as Prod, Sum};

/// Stamps out a kernel for each combination in `parameters: [rungs] x [operations] x [types];`. One
/// more list may follow, `x [64 128]`, with block sizes, which become part of the kernels' names;
/// or one constant may follow, `with 4`.
macro_rules! kernels {
    ($($form:tt: $rungs:tt x $ops:tt x $types:tt $(x $sizes:tt)? $(with $constant:literal)?;)*) => {$(
        kernels!(@rungs $form $rungs $ops $types ($($sizes)? $(($constant))?));
    )*};
    (@rungs $form:tt [$($rung:ident)*] $ops:tt $types:tt $rest:tt) => {$(
        kernels!(@ops $form $rung $ops $types $rest);
    )*};
    (@ops $form:tt $rung:ident [$($op:ident)*] $types:tt $rest:tt) => {$(
        kernels!(@types $form $rung $op $types $rest);
    )*};
    (@types $form:tt $rung:ident $op:ident [$($t:ident)*] $rest:tt) => {$(
        kernels!(@sizes $form $rung $op $t $rest);
    )*};
    (@sizes $form:tt $rung:ident $op:ident $t:ident ()) => {
        pastey::paste! { kernel! { $form [<$rung _ $op _ $t>] = $rung<$t, [<$op:camel>]> } }
    };
    (@sizes $form:tt $rung:ident $op:ident $t:ident (($constant:literal))) => {
        pastey::paste! { kernel! { $form [<$rung _ $op _ $t>] = $rung<$t, [<$op:camel>], $constant> } }
    };
    (@sizes $form:tt $rung:ident $op:ident $t:ident ([$($size:literal)*])) => {$(
        pastey::paste! { kernel! { $form [<$rung _ $op _ $t _b $size>] = $rung<$t, [<$op:camel>], $size> } }
    )*};
}

/// Defines one kernel: `(parameters) name = function<type, operation[, block size or stages]>`. The
/// parameter `workspace` stands for two: space for the partial results of all blocks, and a
/// counter.
macro_rules! kernel {
    (($first:ident: *$mutability:ident) $name:ident = $function:ident<$t:ty, $op:ty $(, $constant:literal)?>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for [`", stringify!($t), "`] and [`", stringify!($op), "`]."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`ladder`](crate::ladder)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name($first: *$mutability $t, output: *mut $t, n: usize) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $op $(, $constant)?>($first, output, n) }
        }
    };
    ((input: *const, workspace) $name:ident = $function:ident<$t:ty, $op:ty>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for [`", stringify!($t), "`] and [`", stringify!($op), "`]."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`ladder`](crate::ladder)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, n: usize, partials: *mut $t, counter: *mut u32) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $op>(input, output, n, partials, counter) }
        }
    };
}

kernels! {
    (data: *mut): [global] x [sum min max prod] x [i32 u32 i64 u64 f32 f64];
    (input: *const): [reduce0 reduce1 reduce2 reduce3 reduce4 reduce5 reduce8 reduce9]
        x [sum min max prod] x [i32 u32 i64 u64 f32 f64];
    (input: *const): [reduce6 reduce7]
        x [sum min max prod] x [i32 u32 i64 u64 f32 f64] x [64 128 256 512 1024];
}

#[cfg(feature = "ext")]
pub mod ext;
