//! A plugin that another program loads. It has one function with C's calling convention, which sums
//! floats with warpfold.

use std::slice;

use warpfold::{Device, Sum};

/// Writes the sum of `count` floats to `sum`. Returns 0, or 1 if that failed.
///
/// # Safety
///
/// `values` points to `count` floats, and `sum` points to one float that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outside_sum_f32(values: *const f32, count: usize, sum: *mut f32) -> i32 {
    // SAFETY: the caller promises that `values` points to `count` floats.
    let values = unsafe { slice::from_raw_parts(values, count) };
    match Device::auto()
        .map_err(warpfold::Error::from)
        .and_then(|device| device.reduce(values, Sum))
    {
        Ok(total) => {
            // SAFETY: the caller promises that `sum` may be written.
            unsafe { sum.write(total) };
            0
        }
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}
