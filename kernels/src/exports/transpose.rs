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

/// Stamps out kernels without shared memory: `name = function<element, tile>;`.
macro_rules! direct {
    ($($name:ident = $function:ident<$t:ty, $tile:literal>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size.")]
        ///
        /// # Safety
        /// The launch's contract (see [`transpose`](crate::transpose)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: u32, cols: u32) {
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile>(input, output, rows, cols) }
        }
    )*};
}

/// Stamps out kernels with a tile: `name = function<element, tile, pitch>;`.
macro_rules! tiles {
    ($($name:ident = $function:ident<$t:ty, $tile:literal, $pitch:literal>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size.")]
        ///
        /// # Safety
        /// The launch's contract (see [`transpose`](crate::transpose)).
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(input: *const $t, output: *mut $t, rows: u32, cols: u32) {
            #[cuda_std::address_space(shared)]
            static mut TILE: [MaybeUninit<$t>; $tile * $pitch] = [const { MaybeUninit::uninit() }; $tile * $pitch];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile, $pitch>(input, output, rows, cols, (&raw mut TILE).cast()) }
        }
    )*};
}

/// Stamps out kernels with two tiles: `name = function<element, tile, pitch>;`.
macro_rules! squares {
    ($($name:ident = $function:ident<$t:ty, $tile:literal, $pitch:literal>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size.")]
        ///
        /// # Safety
        #[doc = concat!("That of [`", stringify!($function), "`].")]
        #[cuda_std::kernel]
        #[allow(improper_ctypes_definitions)]
        pub unsafe fn $name(data: *mut $t, n: u32) {
            #[cuda_std::address_space(shared)]
            static mut TILES: [MaybeUninit<$t>; 2 * $tile * $pitch] = [const { MaybeUninit::uninit() }; 2 * $tile * $pitch];
            // SAFETY: the caller's contract is the callee's.
            unsafe { $function::<$t, $tile, $pitch>(data, n, (&raw mut TILES).cast()) }
        }
    )*};
}

/// Stamps out kernels with vectors: `name = best<element, vector, elements of a vector, side, rows>;`.
macro_rules! vectors {
    ($($name:ident = $function:ident<$t:ty, $vector:ty, $width:literal, $side:literal, $rows:literal>;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`] for elements of [`", stringify!($t), "`]'s size.")]
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

#[rustfmt::skip]
direct! {
    transpose_copy_b1_t16 = copy<u8, 16>;
    transpose_copy_b1_t32 = copy<u8, 32>;
    transpose_copy_b2_t16 = copy<u16, 16>;
    transpose_copy_b2_t32 = copy<u16, 32>;
    transpose_copy_b4_t16 = copy<u32, 16>;
    transpose_copy_b4_t32 = copy<u32, 32>;
    transpose_copy_b8_t16 = copy<u64, 16>;
    transpose_copy_b8_t32 = copy<u64, 32>;
    transpose_copy_b16_t16 = copy<u128, 16>;
    transpose_copy_b16_t32 = copy<u128, 32>;
    transpose_strided_copy_b1_t16 = strided_copy<u8, 16>;
    transpose_strided_copy_b1_t32 = strided_copy<u8, 32>;
    transpose_strided_copy_b2_t16 = strided_copy<u16, 16>;
    transpose_strided_copy_b2_t32 = strided_copy<u16, 32>;
    transpose_strided_copy_b4_t16 = strided_copy<u32, 16>;
    transpose_strided_copy_b4_t32 = strided_copy<u32, 32>;
    transpose_strided_copy_b8_t16 = strided_copy<u64, 16>;
    transpose_strided_copy_b8_t32 = strided_copy<u64, 32>;
    transpose_strided_copy_b16_t16 = strided_copy<u128, 16>;
    transpose_strided_copy_b16_t32 = strided_copy<u128, 32>;
    transpose_naive_store_b1_t16 = naive_store<u8, 16>;
    transpose_naive_store_b1_t32 = naive_store<u8, 32>;
    transpose_naive_store_b2_t16 = naive_store<u16, 16>;
    transpose_naive_store_b2_t32 = naive_store<u16, 32>;
    transpose_naive_store_b4_t16 = naive_store<u32, 16>;
    transpose_naive_store_b4_t32 = naive_store<u32, 32>;
    transpose_naive_store_b8_t16 = naive_store<u64, 16>;
    transpose_naive_store_b8_t32 = naive_store<u64, 32>;
    transpose_naive_store_b16_t16 = naive_store<u128, 16>;
    transpose_naive_store_b16_t32 = naive_store<u128, 32>;
    transpose_naive_load_b1_t16 = naive_load<u8, 16>;
    transpose_naive_load_b1_t32 = naive_load<u8, 32>;
    transpose_naive_load_b2_t16 = naive_load<u16, 16>;
    transpose_naive_load_b2_t32 = naive_load<u16, 32>;
    transpose_naive_load_b4_t16 = naive_load<u32, 16>;
    transpose_naive_load_b4_t32 = naive_load<u32, 32>;
    transpose_naive_load_b8_t16 = naive_load<u64, 16>;
    transpose_naive_load_b8_t32 = naive_load<u64, 32>;
    transpose_naive_load_b16_t16 = naive_load<u128, 16>;
    transpose_naive_load_b16_t32 = naive_load<u128, 32>;
}

#[rustfmt::skip]
tiles! {
    transpose_shared_copy_b1_t16 = shared_copy<u8, 16, 16>;
    transpose_shared_copy_b1_t32 = shared_copy<u8, 32, 32>;
    transpose_shared_copy_b2_t16 = shared_copy<u16, 16, 16>;
    transpose_shared_copy_b2_t32 = shared_copy<u16, 32, 32>;
    transpose_shared_copy_b4_t16 = shared_copy<u32, 16, 16>;
    transpose_shared_copy_b4_t32 = shared_copy<u32, 32, 32>;
    transpose_shared_copy_b8_t16 = shared_copy<u64, 16, 16>;
    transpose_shared_copy_b8_t32 = shared_copy<u64, 32, 32>;
    transpose_shared_copy_b16_t16 = shared_copy<u128, 16, 16>;
    transpose_shared_copy_b16_t32 = shared_copy<u128, 32, 32>;
    transpose_tiled_b1_t16 = tiled<u8, 16, 16>;
    transpose_tiled_b1_t32 = tiled<u8, 32, 32>;
    transpose_tiled_b2_t16 = tiled<u16, 16, 16>;
    transpose_tiled_b2_t32 = tiled<u16, 32, 32>;
    transpose_tiled_b4_t16 = tiled<u32, 16, 16>;
    transpose_tiled_b4_t32 = tiled<u32, 32, 32>;
    transpose_tiled_b8_t16 = tiled<u64, 16, 16>;
    transpose_tiled_b8_t32 = tiled<u64, 32, 32>;
    transpose_tiled_b16_t16 = tiled<u128, 16, 16>;
    transpose_tiled_b16_t32 = tiled<u128, 32, 32>;
    transpose_padded_b1_t16 = padded<u8, 16, 20>;
    transpose_padded_b1_t32 = padded<u8, 32, 36>;
    transpose_padded_b2_t16 = padded<u16, 16, 18>;
    transpose_padded_b2_t32 = padded<u16, 32, 34>;
    transpose_padded_b4_t16 = padded<u32, 16, 17>;
    transpose_padded_b4_t32 = padded<u32, 32, 33>;
    transpose_padded_b8_t16 = padded<u64, 16, 17>;
    transpose_padded_b8_t32 = padded<u64, 32, 33>;
    transpose_padded_b16_t16 = padded<u128, 16, 17>;
    transpose_padded_b16_t32 = padded<u128, 32, 33>;
    transpose_swizzled_b1_t16 = swizzled<u8, 16, 16>;
    transpose_swizzled_b1_t32 = swizzled<u8, 32, 32>;
    transpose_swizzled_b2_t16 = swizzled<u16, 16, 16>;
    transpose_swizzled_b2_t32 = swizzled<u16, 32, 32>;
    transpose_swizzled_b4_t16 = swizzled<u32, 16, 16>;
    transpose_swizzled_b4_t32 = swizzled<u32, 32, 32>;
    transpose_swizzled_b8_t16 = swizzled<u64, 16, 16>;
    transpose_swizzled_b8_t32 = swizzled<u64, 32, 32>;
    transpose_swizzled_b16_t16 = swizzled<u128, 16, 16>;
    transpose_swizzled_b16_t32 = swizzled<u128, 32, 32>;
    transpose_diagonal_b1_t16 = diagonal<u8, 16, 20>;
    transpose_diagonal_b1_t32 = diagonal<u8, 32, 36>;
    transpose_diagonal_b2_t16 = diagonal<u16, 16, 18>;
    transpose_diagonal_b2_t32 = diagonal<u16, 32, 34>;
    transpose_diagonal_b4_t16 = diagonal<u32, 16, 17>;
    transpose_diagonal_b4_t32 = diagonal<u32, 32, 33>;
    transpose_diagonal_b8_t16 = diagonal<u64, 16, 17>;
    transpose_diagonal_b8_t32 = diagonal<u64, 32, 33>;
    transpose_diagonal_b16_t16 = diagonal<u128, 16, 17>;
    transpose_diagonal_b16_t32 = diagonal<u128, 32, 33>;
}

#[rustfmt::skip]
squares! {
    transpose_in_place_b1_t16 = in_place<u8, 16, 20>;
    transpose_in_place_b1_t32 = in_place<u8, 32, 36>;
    transpose_in_place_b2_t16 = in_place<u16, 16, 18>;
    transpose_in_place_b2_t32 = in_place<u16, 32, 34>;
    transpose_in_place_b4_t16 = in_place<u32, 16, 17>;
    transpose_in_place_b4_t32 = in_place<u32, 32, 33>;
    transpose_in_place_b8_t16 = in_place<u64, 16, 17>;
    transpose_in_place_b8_t32 = in_place<u64, 32, 33>;
    transpose_in_place_b16_t16 = in_place<u128, 16, 17>;
    transpose_in_place_b16_t32 = in_place<u128, 32, 33>;
}

#[rustfmt::skip]
vectors! {
    transpose_best_b1_t128 = best<u8, u64, 8, 16, 16>;
    transpose_best_b2_t128 = best<u16, u128, 8, 16, 16>;
    transpose_best_b4_t64 = best<u32, u128, 4, 16, 16>;
    transpose_best_b8_t32 = best<u64, u128, 2, 16, 16>;
    transpose_best_b16_t16 = best<u128, u128, 1, 16, 16>;
}
