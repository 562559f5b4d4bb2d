//! Reductions of rows and axes, on every available device.

// The tests compare exact results.
#![allow(clippy::float_cmp)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/best.rs"]
mod best;

#[path = "../support/seed.rs"]
mod seed;

#[path = "../support/tree.rs"]
mod tree;

mod axes;
mod bits;
mod calls;
mod checks;
mod operations;
mod order;
mod pairs;
mod strided;
mod top;
mod whole;

/// Lengths of rows at which something changes: parts of 8, 16, 32, 64 and 128 elements, tiles of
/// 4096 bytes, and rows of several tasks.
const LENGTHS: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 511,
    513, 1000, 1023, 1025, 4097, 9000,
];
