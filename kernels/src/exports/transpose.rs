//! The transpositions, named `transpose_<variant>_b<bytes of an element>_t<tile>`.

use core::mem::MaybeUninit;

use crate::transpose::best::best;
use crate::transpose::copy::copy;
use crate::transpose::diagonal::diagonal;
use crate::transpose::in_place::in_place;
use crate::transpose::naive_load::naive_load;
use crate::transpose::naive_store::naive_store;
use crate::transpose::padded::padded;
use crate::transpose::shared_copy::shared_copy;
use crate::transpose::strided_copy::strided_copy;
use crate::transpose::swizzled::swizzled;
use crate::transpose::tiled::tiled;

/// Stamps out a kernel for each combination in `form: [functions] x [types] x [sides of a tile];`.
/// The names have the bytes of an element instead of its type.
macro_rules! kernels {
    ($($form:ident: $functions:tt x $types:tt x $tiles:tt;)*) => {$(
        kernels!(@functions $form $functions $types $tiles);
    )*};
    (@functions $form:ident [$($function:ident)*] $types:tt $tiles:tt) => {$(
        kernels!(@types $form $function $types $tiles);
    )*};
    (@types $form:ident $function:ident [$($t:ident = $bytes:literal)*] $tiles:tt) => {$(
        kernels!(@tiles $form $function $t $bytes $tiles);
    )*};
    (@tiles $form:ident $function:ident $t:ident $bytes:literal [$($tile:literal)*]) => {$(
        pastey::paste! { $form! { [<transpose_ $function _b $bytes _t $tile>] = $function<$t, $tile> } }
    )*};
}

/// Defines a kernel without shared memory: `name = function<element, tile>`.
macro_rules! direct {
    ($name:ident = $function:ident<$t:ty, $tile:literal>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`transpose`](crate::transpose)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: u32, cols: u32) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile>(input, output, rows, cols) }
        }
    };
}

/// Defines a kernel with a tile in shared memory: `name = function<element, tile>`.
macro_rules! tile {
    ($name:ident = $function:ident<$t:ty, $tile:literal>) => {
        tile! { $name = $function<$t, $tile, { $tile }> }
    };
    ($name:ident = $function:ident<$t:ty, $tile:literal, $pitch:block>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size."
        )]
        ///
        /// # Safety
        /// The launch's contract (see [`transpose`](crate::transpose)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: u32, cols: u32) {
            const PITCH: u32 = $pitch;
            const ELEMENTS: usize = ($tile * PITCH) as usize;
            #[cuda_std::address_space(shared)]
            static mut TILE: [MaybeUninit<$t>; ELEMENTS] = [const { MaybeUninit::uninit() }; ELEMENTS];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile, PITCH>(input, output, rows, cols, (&raw mut TILE).cast()) }
        }
    };
}

/// As `tile!`, but with padded rows.
macro_rules! padded_tile {
    ($name:ident = $function:ident<$t:ty, $tile:literal>) => {
        tile! { $name = $function<$t, $tile, { padded_pitch::<$t>($tile) }> }
    };
}

/// Defines a kernel with two padded tiles, for a square matrix in place:
/// `name = function<element, tile>`.
macro_rules! square {
    ($name:ident = $function:ident<$t:ty, $tile:literal>) => {
        #[doc = concat!(
            "[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size."
        )]
        ///
        /// # Safety
        #[doc = concat!("That of [`", stringify!($function), "`].")]
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(data: *mut $t, n: u32) {
            const PITCH: u32 = padded_pitch::<$t>($tile);
            const ELEMENTS: usize = (2 * $tile * PITCH) as usize;
            #[cuda_std::address_space(shared)]
            static mut TILES: [MaybeUninit<$t>; ELEMENTS] = [const { MaybeUninit::uninit() }; ELEMENTS];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile, PITCH>(data, n, (&raw mut TILES).cast()) }
        }
    };
}

/// The number of elements in a padded row of a tile. The padding is at least one element and at
/// least one bank of shared memory, which is 4 bytes, so that the elements of a column lie in
/// different banks.
const fn padded_pitch<T>(tile: u32) -> u32 {
    tile + 4u32.div_ceil(size_of::<T>() as u32)
}

/// Stamps out kernels that use vectors:
/// `name = best<element, vector, elements of a vector, side, rows>;`.
macro_rules! vectors {
    ($($name:ident = $function:ident<$t:ty, $vector:ty, $width:literal, $side:literal, $rows:literal>;)*) => {$(
        #[doc = concat!(
            "[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size."
        )]
        ///
        /// # Safety
        #[doc = concat!("The contract of [`", stringify!($function), "`].")]
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: u32, cols: u32) {
            #[cuda_std::address_space(shared)]
            static mut TILE: [MaybeUninit<$vector>; $width * $side * ($side + 1)] =
                [const { MaybeUninit::uninit() }; $width * $side * ($side + 1)];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $vector, $width, $side, $rows>(input, output, rows, cols, (&raw mut TILE).cast()) }
        }
    )*};
}

kernels! {
    direct: [copy strided_copy naive_store naive_load] x [u8=1 u16=2 u32=4 u64=8 u128=16] x [16 32];
    tile: [shared_copy tiled swizzled] x [u8=1 u16=2 u32=4 u64=8 u128=16] x [16 32];
    padded_tile: [padded diagonal] x [u8=1 u16=2 u32=4 u64=8 u128=16] x [16 32];
    square: [in_place] x [u8=1 u16=2 u32=4 u64=8 u128=16] x [16 32];
}

vectors! {
    transpose_best_b1_t128 = best<u8, u64, 8, 16, 16>;
    transpose_best_b2_t128 = best<u16, u128, 8, 16, 16>;
    transpose_best_b4_t64 = best<u32, u128, 4, 16, 16>;
    transpose_best_b8_t32 = best<u64, u128, 2, 16, 16>;
    transpose_best_b16_t16 = best<u128, u128, 1, 16, 16>;
}
