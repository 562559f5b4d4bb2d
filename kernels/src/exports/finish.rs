//! The kernels behind reductions, which make results of raw results on the device. The Python
//! package launches them.

use cuda_std::kernel;
use warpfold_device::finish::{Raw, Recipe, finish, zero_after_error};

/// Makes results of raw results ([`finish`]). The parameters are the fields of [`Raw`] and
/// [`Recipe`].
///
/// # Safety
/// Those of [`finish`].
#[kernel]
#[allow(clippy::too_many_arguments)]
pub unsafe fn finish_results(
    input: *const u8,
    output: *mut u8,
    n: u64,
    inner: u32,
    inner_stride: u32,
    stride: u64,
    load: u32,
    step: u32,
    store: u32,
    first: u32,
    second: u32,
    a: f64,
    count: u64,
    boundaries: *const u8,
    log: u32,
    fill: u64,
) {
    let raw = Raw { input, inner, inner_stride, stride, count, boundaries, log, fill };
    let recipe = Recipe { load, step, store, first, second, a };
    // SAFETY: the caller's contract is the callee's.
    unsafe { finish(raw, recipe, output, n) }
}

/// Zeroes words and the status, unless the status is 0 ([`zero_after_error`]).
///
/// # Safety
/// Those of [`zero_after_error`].
#[kernel]
pub unsafe fn finish_error(status: *mut u64, words: *mut u64, n: u64) {
    // SAFETY: the caller's contract is the callee's.
    unsafe { zero_after_error(status, words, n) }
}
