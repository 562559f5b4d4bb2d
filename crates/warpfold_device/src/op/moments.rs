//! Count, mean and sum of squared deviations, in one pass over the elements.
//!
//! Chan's formula combines the moments of two parts, in `f64`. For integers of up to 32 bits a
//! thread keeps the count, the sum and the sum of squares, which are exact. For all other types it
//! sums the differences from its first element, and their squares. From the sum of squares a term
//! is then subtracted. Because the first element is itself part of the sample, this term is at most
//! as many times the result as the thread has elements, so the loss by cancellation is bounded.
//!
//! Source: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance:
//! Analysis and Recommendations", 1983.

use crate::item::{Bf16, F16, Item, Pack};
use crate::source::One;
use crate::unroll::{each, tree};
use crate::{Position, Reduction};
use core::marker::PhantomData;
use cuda_std::ext::{control, math};

/// The moments of elements, as written to memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CountMeanM2 {
    /// The number of elements.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The sum of the squares of their differences from the mean.
    pub m2: f64,
}

/// Count, mean and sum of squared deviations, as they go from thread to thread. The count is an
/// `f64`, which is exact up to 2^53, because a conversion takes as long as four multiplications.
pub type Parts = (f64, (f64, f64));

/// The moments of the elements.
pub struct Moments<T>(PhantomData<T>);

/// A type whose moments can be computed. The trait defines what a thread keeps of its elements.
pub trait Sampled: Item {
    /// The state of a thread.
    type Sample: Copy;
    /// The state of a thread that has read no pack.
    const IDENTITY: Self::Sample;
    /// The state of a thread after one more pack.
    fn sample(sample: Self::Sample, pack: Pack) -> Self::Sample;
    /// Count, mean and sum of squared deviations of the elements that the thread has read.
    fn moments(sample: Self::Sample) -> Parts;
    /// The element, rounded to nearest.
    fn to_f64(self) -> f64;
}

/// Count, sum and sum of squares of integers.
#[derive(Clone, Copy)]
pub struct Sums<S, Q> {
    count: u32,
    sum: S,
    squares: Q,
}

/// The nearest `f64`, or a neighbour of it.
#[inline(always)]
fn u128_to_f64(x: u128) -> f64 {
    // 2^64.
    ((x >> 64) as u64) as f64 * 18_446_744_073_709_551_616.0 + (x as u64) as f64
}

/// `dividend / divisor`, rounded to nearest, for a divisor that is a count. The division of the
/// GPU has a slow path for small dividends, and a thread without elements has the dividend 0. The
/// inverse of a count never takes such a path.
#[inline(always)]
fn quotient(dividend: f64, divisor: f64) -> f64 {
    let inverse = 1.0 / divisor;
    let near = dividend * inverse;
    let rest = math::fma_f64(-near, divisor, dividend);
    let nearest = math::fma_f64(rest, inverse, near);
    // The rest of an infinity is not a number.
    if near.is_finite() { nearest } else { near }
}

macro_rules! exact {
    ($($t:ty, $sum:ty, $squares:ty, $square:expr;)*) => {$(
        impl Sampled for $t {
            type Sample = Sums<$sum, $squares>;
            const IDENTITY: Self::Sample = Sums { count: 0, sum: 0, squares: 0 };
            #[inline(always)]
            fn sample(sample: Self::Sample, pack: Pack) -> Self::Sample {
                Sums {
                    count: sample.count + Self::PER_PACK as u32,
                    sum: sample.sum + Self::sum(pack),
                    squares: sample.squares + $square(pack),
                }
            }
            #[inline(always)]
            fn moments(sample: Self::Sample) -> Parts {
                // A thread has fewer than 2^31 elements.
                let count = f64::from(sample.count.max(1));
                let sum = sample.sum.unsigned_abs_or_self();
                let m2 = u128::from(sample.count) * sample.squares as u128 - u128::from(sum) * u128::from(sum);
                let m2 = u128_to_f64(m2) * (1.0 / count);
                (sample.count.into(), (quotient(sample.sum as f64, count), m2))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}

/// The absolute value of a sum.
trait Magnitude {
    fn unsigned_abs_or_self(self) -> u64;
}

impl Magnitude for i64 {
    #[inline(always)]
    fn unsigned_abs_or_self(self) -> u64 {
        self.unsigned_abs()
    }
}

impl Magnitude for u64 {
    #[inline(always)]
    fn unsigned_abs_or_self(self) -> u64 {
        self
    }
}

exact! {
    i8, i64, u64, |pack| i8::dot(pack, pack) as u64;
    u8, u64, u64, |pack| u8::dot(pack, pack);
    i16, i64, u64, |pack| i16::dot(pack, pack) as u64;
    u16, u64, u64, |pack| u16::dot(pack, pack);
    i32, i64, u128, |pack| tree(4, |i| u128::from(square(i32::element(pack, i).unsigned_abs())), |a, b| a + b);
    u32, u64, u128, |pack| tree(4, |i| u128::from(square(u32::element(pack, i))), |a, b| a + b);
}

#[inline(always)]
fn square(x: u32) -> u64 {
    u64::from(x) * u64::from(x)
}

/// Sums of differences from an element.
#[derive(Clone, Copy)]
pub struct Shifted {
    count: u32,
    from: f64,
    sum: f64,
    squares: f64,
}

macro_rules! shifted {
    ($($t:ty, $to_f64:expr;)*) => {$(
        impl Sampled for $t {
            type Sample = Shifted;
            const IDENTITY: Shifted = Shifted { count: 0, from: 0.0, sum: 0.0, squares: 0.0 };
            #[inline(always)]
            fn sample(sample: Shifted, pack: Pack) -> Shifted {
                let mut sample = sample;
                if sample.count == 0 {
                    let first = Self::element(pack, 0).to_f64();
                    sample.from = if first.is_finite() { first } else { 0.0 };
                }
                sample.count += Self::PER_PACK as u32;
                each(Self::PER_PACK, |i| {
                    let difference = Self::element(pack, i).to_f64() - sample.from;
                    sample.sum += difference;
                    sample.squares = math::fma_f64(difference, difference, sample.squares);
                });
                sample
            }
            #[inline(always)]
            fn moments(sample: Shifted) -> Parts {
                let mean = quotient(sample.sum, f64::from(sample.count.max(1)));
                let m2 = sample.squares - sample.sum * mean;
                (sample.count.into(), (sample.from + mean, if m2 < 0.0 { 0.0 } else { m2 }))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
        }
    )*};
}

shifted! {
    i64, |x| x as f64;
    u64, |x| x as f64;
    i128, |x: i128| if x < 0 { -u128_to_f64(x.unsigned_abs()) } else { u128_to_f64(x as u128) };
    u128, u128_to_f64;
    F16, |x: F16| f64::from(x.wide());
    Bf16, |x: Bf16| f64::from(x.wide());
    f32, f64::from;
    f64, |x| x;
}

impl<T: Sampled> Reduction for Moments<T> {
    type Source = One<T>;
    type Thread = T::Sample;
    type Acc = Parts;
    type Raw = CountMeanM2;

    #[inline(always)]
    fn start() -> T::Sample {
        T::IDENTITY
    }
    #[inline(always)]
    fn pack(thread: T::Sample, pack: Pack, _place: u32) -> T::Sample {
        T::sample(thread, pack)
    }
    #[inline(always)]
    fn finish(thread: T::Sample, _first: Position) -> Self::Acc {
        T::moments(thread)
    }
    #[inline(always)]
    fn item(item: T, _position: Position) -> Self::Acc {
        (1.0, (item.to_f64(), item.to_f64() - item.to_f64()))
    }
    #[inline(always)]
    fn identity() -> Self::Acc {
        (0.0, (0.0, 0.0))
    }
    #[inline(always)]
    #[expect(clippy::float_cmp, reason = "counts are whole numbers")]
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        if b.0 == 0.0 {
            return a;
        }
        let count = a.0 + b.0;
        let mut part = 0.5;
        // Most parts have as many elements as their neighbours. An inverse takes long, and the
        // compiler would compute it for all parts.
        if a.0 != b.0 {
            part = b.0 * (1.0 / control::anew_f64(count));
        }
        let difference = b.1.0 - a.1.0;
        let near = math::fma_f64(difference, part, a.1.0);
        // Infinities have a mean, but their difference is not finite, so the mean is weighted
        // instead.
        let weighted = math::fma_f64(b.1.0, part, a.1.0 * (1.0 - part));
        let mean = if difference.is_finite() { near } else { weighted };
        let m2 = math::fma_f64(difference * difference, a.0 * part, a.1.1 + b.1.1);
        if a.0 == 0.0 { b } else { (count, (mean, m2)) }
    }
    #[inline(always)]
    fn raw((count, (mean, m2)): Self::Acc, _index: impl Fn(Position) -> u64) -> CountMeanM2 {
        CountMeanM2 { count: count as u64, mean, m2 }
    }
}
