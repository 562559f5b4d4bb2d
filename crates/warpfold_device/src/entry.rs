//! The macros that stamp out entry points.

/// Stamps out kernels that reduce one array: for each line one kernel for every input, and one with
/// `_single` at the end of its name, which is faster for [a small
/// input](crate#a-small-input).
///
/// Each line is `name: element = reduction => raw result, loads in flight;`. Two things may follow
/// the number of loads:
///
/// - The word `then` and the number of loads that are in flight after the whole rounds. It is at
///   most the first number; the default is 4. See [`grid`](crate::grid).
/// - A comma and the way in which blocks combine their results, which is a
///   [`GridReduction`](crate::grid_reduction::GridReduction). The default is
///   [`Polled`](crate::grid_reduction::Polled).
///
/// ```
/// use warpfold_device::op::sum::{Sum, Wrapping};
/// use warpfold_device::grid_reduction::Ticket;
///
/// warpfold_device::unary! {
///     sum_i32: i32 = Sum<i32> => i64, 8;
///     sum_f64: f64 = Sum<f64> => f64, 4 then 2;
///     wrapping_u32: u32 = Wrapping => u32, 8, Ticket;
/// }
/// ```
#[macro_export]
macro_rules! unary {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal $(then $rest:literal)? $(, $way:ty)?;)*) => {$(
        #[doc = concat!("`", stringify!($op), "`, with ", stringify!($loads), " loads in flight.")]
        ///
        /// # Safety
        /// The launch keeps [its contract](warpfold_device#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            lines: *const $t,
            chunk: u32,
            full: u32,
            rest: u32,
            edges: u32,
            keep: f32,
            output: *mut $raw,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::unary::<$t, $op, $crate::__way!($($way)?), $loads, { $crate::__rest!($($rest)?) }>(
                    lines, $crate::cut::Cut { chunk, full, rest, edges }, keep, output, slots,
                )
            }
        }

        $crate::pastey::paste! {
            #[doc = concat!("`", stringify!($op), "` of a small input.")]
            ///
            /// # Safety
            /// The launch keeps [its contract](warpfold_device#a-small-input).
            #[$crate::cuda_std::kernel]
            #[allow(improper_ctypes_definitions)]
            pub unsafe fn [<$name _single>](
                first: *const $t,
                packs: u32,
                edges: u32,
                output: *mut $raw,
            ) {
                // SAFETY: the caller's contract is the callee's.
                unsafe { $crate::single::unary::<$t, $op>(first, packs, edges, output) }
            }
        }
    )*};
}

/// Stamps out kernels that reduce the pairs of two arrays: two for each line, as
/// [`unary!`](crate::unary!) does.
///
/// Each line is `name: element = reduction => raw result, loads in flight of each array;`.
///
/// ```
/// use warpfold_device::op::pairs::Dot;
///
/// warpfold_device::pairs! {
///     dot_f32: f32 = Dot<f32> => f32, 4;
/// }
/// ```
#[macro_export]
macro_rules! pairs {
    ($($name:ident: $t:ty = $op:ty => $raw:ty, $loads:literal;)*) => {$(
        #[doc = concat!(
            "`", stringify!($op), "`, with ", stringify!($loads), " loads in flight of each array."
        )]
        ///
        /// # Safety
        /// The launch keeps [its contract](warpfold_device#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            left: *const $t,
            right: *const $t,
            chunk: u32,
            full: u32,
            rest: u32,
            edges: u32,
            keep: f32,
            output: *mut $raw,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe {
                $crate::grid::pairs::<$t, $op, $crate::grid_reduction::Polled, $loads>(
                    (left, right), $crate::cut::Cut { chunk, full, rest, edges }, keep, output, slots,
                )
            }
        }

        $crate::pastey::paste! {
            #[doc = concat!("`", stringify!($op), "` of a small input.")]
            ///
            /// # Safety
            /// The launch keeps [its contract](warpfold_device#a-small-input).
            #[$crate::cuda_std::kernel]
            #[allow(improper_ctypes_definitions)]
            pub unsafe fn [<$name _single>](
                left: *const $t,
                right: *const $t,
                packs: u32,
                edges: u32,
                output: *mut $raw,
            ) {
                // SAFETY: the caller's contract is the callee's.
                unsafe { $crate::single::pairs::<$t, $op>((left, right), packs, edges, output) }
            }
        }
    )*};
}

/// Stamps out kernels that sum exactly ([`exact`](mod@crate::exact)).
///
/// Each line is `name: element => Raw<type of the rounded sum, limbs>, loads in flight;`.
///
/// ```
/// use warpfold_device::exact::{Raw, WIDE_LIMBS};
///
/// warpfold_device::exact! {
///     exact_f64: f64 => Raw<f64, WIDE_LIMBS>, 8;
/// }
/// ```
#[macro_export]
macro_rules! exact {
    ($($name:ident: $t:ty => $raw:ident<$value:ty, $limbs:ident>, $loads:literal;)*) => {$(
        #[doc = concat!("The exact sum of [`", stringify!($t), "`].")]
        ///
        /// # Safety
        /// The launch keeps [its contract](mod@warpfold_device::exact#the-launchs-contract).
        #[$crate::cuda_std::kernel]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        pub unsafe fn $name(
            input: *const $t,
            n: usize,
            chunk: usize,
            keep: f32,
            output: *mut $raw<$value, $limbs>,
            slots: *mut u64,
        ) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $crate::exact::exact::<$t, $limbs, $loads>(input, n, chunk, keep, output, slots) }
        }
    )*};
}

/// Expands to the given way of combining blocks, or to the default if none is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __way {
    () => {
        $crate::grid_reduction::Polled
    };
    ($way:ty) => {
        $way
    };
}

/// Expands to the given number of loads after the whole rounds, or to the default if none is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __rest {
    () => {
        4
    };
    ($rest:literal) => {
        $rest
    };
}
