//! Makes results of raw results on the device: roots, quotients, logarithms and conversions.
//!
//! A kernel leaves a raw result, such as the number, the mean and the squared deviations of
//! elements, and what a caller asks for, such as a variance in `f16`, is made of its fields. One
//! thread makes one result. All kinds of results have one kernel, because a launch with few threads
//! takes as long for each of them, and a kernel for each product of types would be many.
//!
//! All arithmetic is that of `f64`. It consists of operations that IEEE 754 defines to the last
//! bit, so the simulator and every device give the same bits.

use core::f64::consts::{LN_2, SQRT_2};

use crate::unroll::each;
use cuda_std::ext::streaming::{load_u8_if, load_u16_if, load_u32_if, load_u64_if};
use cuda_std::ext::{grid, math};
use cuda_std::thread;

/// The types of a field, as [`Recipe::load`] names them.
pub mod load {
    /// `f32`.
    pub const F32: u32 = 0;
    /// `f64`.
    pub const F64: u32 = 1;
    /// `u8`.
    pub const U8: u32 = 2;
    /// `u16`.
    pub const U16: u32 = 3;
    /// `u32`.
    pub const U32: u32 = 4;
    /// `u64`.
    pub const U64: u32 = 5;
    /// No field is read: each result is [`Raw::fill`](super::Raw::fill).
    pub const NOTHING: u32 = 6;
}

/// What is computed of the first field `x`, as [`Recipe::step`] names it.
pub mod step {
    /// `x`.
    pub const COPY: u32 = 0;
    /// `x / a`.
    pub const DIVIDE: u32 = 1;
    /// The root of `x`.
    pub const ROOT: u32 = 2;
    /// `x / max(second - a, 0)`, where the second field is a `u64`.
    pub const VARIANCE: u32 = 3;
    /// The root of that.
    pub const DEVIATION: u32 = 4;
    /// `x / second`, where the second field is a `u64`.
    pub const OF_COUNT: u32 = 5;
    /// `x + second`, or `x` if that is not finite.
    pub const CORRECT: u32 = 6;
    /// `x + ln(second)`, or `x` if that is not finite. The second field is a normal number.
    pub const LOGARITHM: u32 = 7;
    /// 1 if the integer `x` is not 0, and otherwise 0.
    pub const IS_ANY: u32 = 8;
    /// 1 if the integer `x` is the number of elements, and otherwise 0.
    pub const IS_ALL: u32 = 9;
    /// The signed integer `x` as a float.
    pub const SIGNED: u32 = 10;
    /// The unsigned integer `x` as a float.
    pub const UNSIGNED: u32 = 11;
    /// The number of elements.
    pub const COUNT: u32 = 12;
}

/// The types of a result, as [`Recipe::store`] names them.
pub mod store {
    /// `f32`.
    pub const F32: u32 = 0;
    /// `f64`.
    pub const F64: u32 = 1;
    /// `f16`.
    pub const F16: u32 = 2;
    /// `bf16`.
    pub const BF16: u32 = 3;
    /// An integer of 8 bits. It, as the other integers, takes the lowest bits.
    pub const U8: u32 = 4;
    /// An integer of 16 bits.
    pub const U16: u32 = 5;
    /// An integer of 32 bits.
    pub const U32: u32 = 6;
    /// An integer of 64 bits.
    pub const U64: u32 = 7;
}

/// How a result is made of the fields of a raw result.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The type of the first field, of [`load`].
    pub load: u32,
    /// What is computed, of [`step`].
    pub step: u32,
    /// The type of the result, of [`store`].
    pub store: u32,
    /// Where the first field is, in bytes from the beginning of the raw result.
    pub first: u32,
    /// Where the second field is, if the step has one.
    pub second: u32,
    /// A number that some steps take.
    pub a: f64,
}

/// Where raw results are, and of how many elements they are.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// The first raw result.
    pub input: *const u8,
    /// How many raw results lie beside each other, at least 1.
    pub inner: u32,
    /// Bytes from one of these to the next.
    pub inner_stride: u32,
    /// Bytes from the first of these to the first of the next ones.
    pub stride: u64,
    /// The number of elements of each raw result, if there are no boundaries.
    pub count: u64,
    /// The boundaries of segments, or null. There is one more than there are segments.
    pub boundaries: *const u8,
    /// 2 to this number are the bytes of a boundary: 4 or 8.
    pub log: u32,
    /// The bits of a result of no elements: those of an `f64` for floats, and otherwise of a `u64`.
    pub fill: u64,
}

/// A number before it is stored: the result is a float, or an integer.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The result if a float is stored.
    pub float: f64,
    /// The result if an integer is stored.
    pub integer: u64,
}

/// Makes `n` results. This is the whole body of a kernel.
///
/// # Safety
/// The grid and its blocks have one dimension, and there are at least `n` threads. The raw results
/// are there with the fields that `recipe` names, each where its type may be, and `output` has a
/// place for each result.
#[inline(always)]
pub unsafe fn finish(raw: Raw, recipe: Recipe, output: *mut u8, n: u64) {
    // The kernel may begin before the reduction has ended, because its start takes as long as
    // all that it does.
    grid::launch_dependents();
    grid::wait_for_dependencies();
    let first = u64::from(thread::block_idx_x()) * u64::from(thread::block_dim_x());
    let i = first + u64::from(thread::thread_idx_x());
    if i >= n {
        return;
    }
    // LLVM knows then that it is not 0.
    let inner = u64::from(raw.inner.max(1));
    let (row, column) = (i / inner, i % inner);
    let offset = row * raw.stride + column * u64::from(raw.inner_stride);
    let at = raw.input.wrapping_add(offset as usize);
    let is_segment = !raw.boundaries.is_null();
    // SAFETY: the caller's contract.
    unsafe {
        let count = if is_segment { length(raw.boundaries, raw.log, row) } else { raw.count };
        let value = if recipe.load == load::NOTHING || is_segment && count == 0 {
            Value { float: f64::from_bits(raw.fill), integer: raw.fill }
        } else {
            compute(recipe, at, count)
        };
        write(value, recipe.store, output, i as usize);
    }
}

/// The number of elements of a segment.
///
/// # Safety
/// The segment has its boundaries.
#[inline(always)]
unsafe fn length(boundaries: *const u8, log: u32, segment: u64) -> u64 {
    let at = boundaries.wrapping_add((segment << log) as usize);
    // SAFETY: the caller's contract.
    unsafe {
        if log == 2 {
            let [begin, end] = [at, at.wrapping_add(4)].map(|at| load_u32_if(at.cast(), true));
            u64::from(end).wrapping_sub(begin.into())
        } else {
            let [begin, end] = [at, at.wrapping_add(8)].map(|at| load_u64_if(at.cast(), true));
            end.wrapping_sub(begin)
        }
    }
}

/// What the recipe makes of the raw result at an address, which is one of `count` elements.
///
/// # Safety
/// The fields are there.
#[inline(always)]
unsafe fn compute(recipe: Recipe, at: *const u8, count: u64) -> Value {
    let Recipe { load, step, first, second, a, .. } = recipe;
    let (first, second) = (at.wrapping_add(first as usize), at.wrapping_add(second as usize));
    // SAFETY: the caller's contract.
    let float = |at: *const u8| unsafe {
        if load == load::F64 {
            f64::from_bits(load_u64_if(at.cast(), true))
        } else {
            f32::from_bits(load_u32_if(at.cast(), true)).into()
        }
    };
    // SAFETY: the caller's contract.
    let second_integer = || unsafe { load_u64_if(second.cast(), true) as f64 };
    if load <= load::F64 {
        let x = float(first);
        let float = match step {
            step::DIVIDE => x / a,
            step::ROOT => math::sqrt_f64(x),
            step::VARIANCE | step::DEVIATION => {
                let variance = variance(x, second_integer(), a);
                if step == step::VARIANCE { variance } else { math::sqrt_f64(variance) }
            }
            step::OF_COUNT => x / second_integer(),
            step::CORRECT if x.is_finite() => x + float(second),
            step::LOGARITHM if x.is_finite() => x + ln(float(second)),
            _ => x,
        };
        return Value { float, integer: if step == step::COUNT { count } else { 0 } };
    }
    // SAFETY: the caller's contract.
    let x = unsafe {
        match load {
            load::U8 => load_u8_if(first, true).into(),
            load::U16 => load_u16_if(first.cast(), true).into(),
            load::U32 => load_u32_if(first.cast(), true).into(),
            _ => load_u64_if(first.cast(), true),
        }
    };
    let integer = match step {
        step::IS_ANY => u64::from(x != 0),
        step::IS_ALL => u64::from(x == count),
        step::COUNT => count,
        _ => x,
    };
    let float = if step == step::SIGNED { x as i64 as f64 } else { x as f64 };
    Value { float, integer }
}

/// The variance of so many elements with these squared deviations from their mean. `correction` is
/// subtracted from the number.
#[inline(always)]
pub(crate) fn variance(m2: f64, count: f64, correction: f64) -> f64 {
    m2 / (count - correction).max(0.0)
}

/// Writes a result in the type of this code. Every NaN is written as the same one, which is quiet
/// and positive and has no payload. The writes are volatile, because the compiler may move others
/// before the wait for earlier kernels.
///
/// # Safety
/// There is a place for result number `i`.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "an output is where its type may be")]
pub(crate) unsafe fn write(value: Value, code: u32, output: *mut u8, i: usize) {
    let Value { float, integer } = value;
    let is_nan = float.is_nan();
    // SAFETY: the caller's contract.
    unsafe {
        match code {
            store::F32 => {
                let bits = (float as f32).to_bits();
                output.cast::<u32>().add(i).write_volatile(if is_nan { 0x7fc0_0000 } else { bits });
            }
            store::F64 => {
                let bits = if is_nan { 0x7ff8 << 48 } else { float.to_bits() };
                output.cast::<u64>().add(i).write_volatile(bits);
            }
            store::F16 => {
                let half = math::f32_to_f16(to_odd(float));
                output.cast::<u16>().add(i).write_volatile(if is_nan { 0x7e00 } else { half });
            }
            store::BF16 => {
                let bits = to_odd(float).to_bits();
                let half = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16;
                output.cast::<u16>().add(i).write_volatile(if is_nan { 0x7fc0 } else { half });
            }
            store::U8 => output.add(i).write_volatile(integer as u8),
            store::U16 => output.cast::<u16>().add(i).write_volatile(integer as u16),
            store::U32 => output.cast::<u32>().add(i).write_volatile(integer as u32),
            _ => output.cast::<u64>().add(i).write_volatile(integer),
        }
    }
}

/// The number in 24 bits, rounded to odd: towards zero, and with the last bit set if that was not
/// exact. A second rounding, to fewer than 23 bits, gives then what one rounding would. (S. Boldo
/// and G. Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on
/// Computers, 2008.)
#[inline(always)]
#[expect(clippy::float_cmp, reason = "the question is whether the rounding was exact")]
fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let mut bits = nearest.to_bits();
    if f64::from(nearest).abs() > x.abs() {
        bits -= 1;
    }
    if f64::from(f32::from_bits(bits)) != x {
        bits |= 1;
    }
    f32::from_bits(bits)
}

/// The natural logarithm of a normal number that is positive and finite.
///
/// The number is `2^n m` with `m` between the square roots of 1/2 and 2. Then
/// `ln m = 2 artanh((m - 1) / (m + 1))`, a series in the square of the quotient, which is at most
/// 0.0295.
#[inline(always)]
fn ln(x: f64) -> f64 {
    /// What `LN_2` lacks of ln 2.
    const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;
    /// The last denominator of the series.
    const LAST: i32 = 27;
    let bits = x.to_bits();
    let mut n = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > SQRT_2 {
        m *= 0.5;
        n += 1;
    }
    let quotient = (m - 1.0) / (m + 1.0);
    let square = quotient * quotient;
    let mut series = 1.0 / f64::from(LAST);
    each((LAST as usize - 3) / 2, |i| {
        series = math::fma_f64(series, square, 1.0 / f64::from(LAST - 2 - 2 * i as i32));
    });
    let twice = quotient + quotient;
    let ln = math::fma_f64(twice, series * square, twice);
    math::fma_f64(n.into(), LN_2_REST, math::fma_f64(n.into(), LN_2, ln))
}

/// Zeroes `n` words, unless the status is 0. This is the whole body of a kernel.
///
/// # Safety
/// The grid and its blocks have one dimension. The status and the words are there, and no other
/// work uses the words meanwhile.
#[inline(always)]
pub unsafe fn zero_after_error(status: *const u64, words: *mut u64, n: u64) {
    // SAFETY: the caller's contract. Each word is written by one thread.
    unsafe {
        if status.read() == 0 {
            return;
        }
        let threads = u64::from(thread::grid_dim_x()) * u64::from(thread::block_dim_x());
        let first = u64::from(thread::block_idx_x()) * u64::from(thread::block_dim_x());
        let mut i = first + u64::from(thread::thread_idx_x());
        while i < n {
            words.add(i as usize).write(0);
            i += threads;
        }
    }
}
