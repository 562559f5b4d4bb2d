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

use warpfold::{Device, device::DeviceClass};

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

/// Each available device, and beside it the same device as if it had one multiprocessor. For such a
/// device each array is large, so that few columns are read into registers, too.
fn all_devices() -> Vec<Device> {
    let small = DeviceClass::new(1, false, (9, 0));
    let both = |device: Device| {
        let pinned = device.with_class(small).ok();
        [Some(device), pinned].into_iter().flatten()
    };
    support::devices().into_iter().flat_map(both).collect()
}

/// Lengths of rows at which something changes: parts of 8, 16, 32, 64 and 128 elements, tiles of
/// 4096 bytes, and rows of several tasks.
const LENGTHS: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 511,
    513, 1000, 1023, 1025, 4097, 9000,
];
