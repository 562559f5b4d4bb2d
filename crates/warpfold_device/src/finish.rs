//! Makes results of raw results on the device: roots, quotients, logarithms and conversions.
//!
//! A kernel leaves a raw result, such as the number, the mean and the squared deviations of
//! elements, and what a caller asks for, such as a variance in `f16`, is made of its fields. A
//! thread makes one result after the other. All kinds of results have one kernel, because a launch
//! with few threads takes as long for each of them, and a kernel for each product of types would be
//! many. Fields that are copied take a shorter way, because there may be millions of them, such as
//! the keys of runs. (bench/NOTEBOOK.md, attempt 140.)
//!
//! All arithmetic is that of `f64`. It consists of operations that IEEE 754 defines to the last
//! bit, so the simulator and every device give the same bits.

use core::f64::consts::{LN_2, SQRT_2};

use crate::unroll::each;
use cuda_std::ext::streaming::{load_u8_if, load_u16_if, load_u32_if, load_u64_if};
use cuda_std::ext::{control, grid, math};
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

/// How many results a thread copies at a time, so that it waits once for the loads of all of them.
const AT_A_TIME: usize = 4;

/// Makes `n` results. This is the whole body of a kernel.
///
/// # Safety
/// The grid and its blocks have one dimension. The raw results are there with the fields that
/// `recipe` names, each where its type may be, and `output` has a place for each result.
#[inline(always)]
pub unsafe fn finish(raw: Raw, recipe: Recipe, output: *mut u8, n: u64) {
    // The kernel may begin before the reduction has ended, because its start takes as long as
    // all that it does.
    grid::launch_dependents();
    grid::wait_for_dependencies();
    let threads = u64::from(thread::grid_dim_x()) * u64::from(thread::block_dim_x());
    let first = u64::from(thread::block_idx_x()) * u64::from(thread::block_dim_x());
    let mut i = first + u64::from(thread::thread_idx_x());
    let is_copy = matches!(recipe.step, step::COPY | step::COUNT) && raw.inner == 1;
    let at_a_time = if is_copy { AT_A_TIME as u64 } else { 1 };
    while i < n {
        control::keep_rolled();
        // SAFETY: the caller's contract.
        unsafe {
            if is_copy {
                copy(raw, recipe, output, i, threads, n);
            } else {
                make(raw, recipe, output, i);
            }
        }
        i += at_a_time * threads;
    }
}

/// Makes result number `i`.
///
/// # Safety
/// That of [`finish`].
#[inline(always)]
unsafe fn make(raw: Raw, recipe: Recipe, output: *mut u8, i: u64) {
    // LLVM knows then that it is not 0.
    let inner = u64::from(raw.inner.max(1));
    let (row, column) = (i / inner, i % inner);
    let offset = row * raw.stride + column * u64::from(raw.inner_stride);
    let at = raw.input.wrapping_add(offset as usize);
    // SAFETY: the caller's contract.
    unsafe {
        let [count] = raw.counts(|_| row, |_| true);
        let value =
            if raw.is_filled(recipe, count) { raw.filled() } else { compute(recipe, at, count) };
        write(value, recipe.store, output, i as usize);
    }
}

/// Makes results `i`, `i + step` and so on, [`AT_A_TIME`] of them, but only those below `n`. They
/// are fields or numbers of elements, of raw results that lie one behind the other.
///
/// # Safety
/// That of [`finish`].
#[inline(always)]
unsafe fn copy(raw: Raw, recipe: Recipe, output: *mut u8, i: u64, step: u64, n: u64) {
    let number = |k: usize| i + k as u64 * step;
    let is_there = |k: usize| number(k) < n;
    let at = |k: usize| {
        let offset = number(k) * raw.stride + u64::from(recipe.first);
        raw.input.wrapping_add(offset as usize)
    };
    // SAFETY: the caller's contract. Nothing is loaded for numbers from `n` on.
    unsafe {
        let fields: [u64; AT_A_TIME] = if recipe.step == step::COPY {
            load_fields(recipe.load, at, is_there)
        } else {
            [0; AT_A_TIME]
        };
        let counts: [u64; AT_A_TIME] = raw.counts(number, is_there);
        each(AT_A_TIME, |k| {
            let mut value = Value::of(recipe.load, fields[k]);
            if recipe.step == step::COUNT {
                value.integer = counts[k];
            }
            if raw.is_filled(recipe, counts[k]) {
                value = raw.filled();
            }
            if is_there(k) {
                write(value, recipe.store, output, number(k) as usize);
            }
        });
    }
}

impl Raw {
    /// The numbers of elements of `N` raw results, whose numbers `row` gives. Those that are not
    /// there have any number.
    ///
    /// # Safety
    /// The raw results that are there have their boundaries.
    #[inline(always)]
    unsafe fn counts<const N: usize>(
        &self,
        row: impl Fn(usize) -> u64,
        is_there: impl Fn(usize) -> bool,
    ) -> [u64; N] {
        if self.boundaries.is_null() {
            return [self.count; N];
        }
        let load = if self.log == 2 { load::U32 } else { load::U64 };
        let at = |i: u64| self.boundaries.wrapping_add((i << self.log) as usize);
        // SAFETY: the caller's contract.
        let (begins, ends) = unsafe {
            let begins: [u64; N] = load_fields(load, |k| at(row(k)), &is_there);
            (begins, load_fields::<N>(load, |k| at(row(k) + 1), &is_there))
        };
        let mut counts = ends;
        each(N, |k| counts[k] = ends[k].wrapping_sub(begins[k]));
        counts
    }

    /// Whether a result of so many elements is [`fill`](Self::fill).
    #[inline(always)]
    fn is_filled(&self, recipe: Recipe, count: u64) -> bool {
        recipe.load == load::NOTHING || !self.boundaries.is_null() && count == 0
    }

    /// That result.
    #[inline(always)]
    fn filled(&self) -> Value {
        Value { float: f64::from_bits(self.fill), integer: self.fill }
    }
}

impl Value {
    /// The number with these bits, whose type has this code of [`load`].
    #[inline(always)]
    fn of(load: u32, bits: u64) -> Self {
        let float = match load {
            load::F32 => f32::from_bits(bits as u32).into(),
            load::F64 => f64::from_bits(bits),
            _ => bits as f64,
        };
        Self { float, integer: bits }
    }
}

/// The bits of `N` fields, whose type has this code of [`load`]. Those that are not there have any
/// bits. All loads are under way before the first one is used.
///
/// # Safety
/// Those that are there lie at `at`, where their type may be.
#[inline(always)]
unsafe fn load_fields<const N: usize>(
    load: u32,
    at: impl Fn(usize) -> *const u8,
    is_there: impl Fn(usize) -> bool,
) -> [u64; N] {
    let mut bits = [0; N];
    // SAFETY: the caller's contract.
    unsafe {
        match load {
            load::U8 => each(N, |k| bits[k] = load_u8_if(at(k), is_there(k)).into()),
            load::U16 => each(N, |k| bits[k] = load_u16_if(at(k).cast(), is_there(k)).into()),
            load::F32 | load::U32 => {
                each(N, |k| bits[k] = load_u32_if(at(k).cast(), is_there(k)).into());
            }
            load::F64 | load::U64 => {
                each(N, |k| bits[k] = load_u64_if(at(k).cast(), is_there(k)));
            }
            _ => {}
        }
    }
    bits
}

/// What the recipe makes of the raw result at an address, which is one of `count` elements.
///
/// # Safety
/// The fields are there.
#[inline(always)]
unsafe fn compute(recipe: Recipe, at: *const u8, count: u64) -> Value {
    let Recipe { load, step, first, second, a, .. } = recipe;
    // SAFETY: the caller's contract.
    let field = |load: u32, offset: u32| unsafe {
        let [bits] = load_fields(load, |_| at.wrapping_add(offset as usize), |_| true);
        bits
    };
    let Value { float: x, integer } = Value::of(load, field(load, first));
    let second_float = || Value::of(load, field(load, second)).float;
    let second_integer = || field(load::U64, second) as f64;
    let float = match step {
        step::DIVIDE => x / a,
        step::ROOT => math::sqrt_f64(x),
        step::VARIANCE | step::DEVIATION => {
            let variance = variance(x, second_integer(), a);
            if step == step::VARIANCE { variance } else { math::sqrt_f64(variance) }
        }
        step::OF_COUNT => x / second_integer(),
        step::CORRECT if x.is_finite() => x + second_float(),
        step::LOGARITHM if x.is_finite() => x + ln(second_float()),
        step::SIGNED => integer as i64 as f64,
        _ => x,
    };
    let integer = match step {
        step::IS_ANY => u64::from(integer != 0),
        step::IS_ALL => u64::from(integer == count),
        step::COUNT => count,
        _ => integer,
    };
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

/// Zeroes `n` words and the status, unless the status is 0. This is the whole body of a kernel.
///
/// # Safety
/// The grid has one block, which has one dimension. The status and the words are there, and no
/// other work uses them meanwhile.
#[inline(always)]
pub unsafe fn zero_after_error(status: *mut u64, words: *mut u64, n: u64) {
    // SAFETY: the caller's contract. Each word is written by one thread, and the status when all
    // threads have read it.
    unsafe {
        if status.read() == 0 {
            return;
        }
        thread::sync_threads();
        let mut i = u64::from(thread::thread_idx_x());
        if i == 0 {
            status.write(0);
        }
        while i < n {
            words.add(i as usize).write(0);
            i += u64::from(thread::block_dim_x());
        }
    }
}
