//! Types of elements, and values whose sums are easy or hard to make.

use std::fmt::Debug;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    Device, Item, Operation, ReproducibleSum,
    half::{bf16, f16},
};

use super::reference::{BINARY32, BINARY64, Format, expected, power};

/// A type of elements whose rows and segments have exact sums.
pub(crate) trait Element: Item + Debug {
    /// The type of a sum.
    type Sum: Into<f64> + Copy + bytemuck::Pod + Debug + PartialEq;
    /// The format of a sum.
    const FORMAT: Format;
    /// The largest finite element, and the exponent of the least positive one.
    const MAX: f64;
    const LEAST: i32;
    fn widen(self) -> f64;
    /// The element that is nearest to a number.
    fn of(x: f64) -> Self;
}

macro_rules! elements {
    ($($type:ty => $sum:ty, $format:ident, $max:expr, $least:literal, $widen:expr, $of:expr;)*) => {$(
        impl Element for $type {
            type Sum = $sum;
            const FORMAT: Format = $format;
            const MAX: f64 = $max;
            const LEAST: i32 = $least;
            fn widen(self) -> f64 {
                $widen(self)
            }
            fn of(x: f64) -> Self {
                $of(x)
            }
        }
    )*};
}

elements! {
    f16 => f32, BINARY32, f16::MAX.to_f64_const(), -24, f16::to_f64, f16::from_f64;
    bf16 => f32, BINARY32, bf16::MAX.to_f64_const(), -133, bf16::to_f64, bf16::from_f64;
    f32 => f32, BINARY32, f32::MAX as f64, -149, f64::from, |x| x as f32;
    f64 => f64, BINARY64, f64::MAX, -1074, f64::from, f64::from;
}

/// A source of elements of one kind.
pub(crate) type Source<T> = (&'static str, fn(&mut ChaCha8Rng) -> T);

/// A number of either sign with any exponent from `least` to `most`.
fn wide<T: Element>(random: &mut ChaCha8Rng, least: i32, most: i32) -> T {
    let sign = if random.random() { 1.0 } else { -1.0 };
    let x = T::of(sign * random.random_range(1.0..2.0) * power(random.random_range(least..=most)));
    if x.widen().is_finite() { x } else { T::of(sign * T::MAX) }
}

/// The kinds of elements: some have sums that three `f64`s hold, some have not.
pub(crate) fn sources<T: Element>() -> [Source<T>; 9] {
    [
        ("from -1 to 1", |random| T::of(random.random_range(-1.0..1.0))),
        ("of any size", |random| wide(random, T::LEAST, T::FORMAT.overflow - 1)),
        ("of a factor of 2^60", |random| wide(random, -30, 30)),
        ("subnormal", |random| T::of(f64::from(random.random_range(-9..10)) * power(T::LEAST))),
        ("zeros", |random| T::of(if random.random_range(0..40) == 0 { 0.0 } else { -0.0 })),
        ("-0", |_| T::of(-0.0)),
        ("the largest", |random| {
            T::of([T::MAX, -T::MAX, T::MAX / 2.0, 1.0][random.random_range(0..4)])
        }),
        ("ties", |random| {
            let precision = T::FORMAT.precision as i32;
            let tiny = power(T::LEAST);
            let x = [1.0, power(-precision), -power(-precision), tiny, -tiny, power(1 - precision)];
            T::of(x[random.random_range(0..6)])
        }),
        ("some not finite", |random| match random.random_range(0..300) {
            0 => T::of(f64::INFINITY),
            1 => T::of(f64::NEG_INFINITY),
            2 => T::of(f64::NAN),
            _ => wide(random, T::LEAST, T::FORMAT.overflow - 1),
        }),
    ]
}

/// Asserts that `sum` is the exact sum of these elements, rounded once.
pub(crate) fn check_sum<T: Element>(sum: T::Sum, elements: &[T], what: &dyn Fn() -> String) {
    let values: Vec<f64> = elements.iter().map(|x| x.widen()).collect();
    let truth = expected(&values, T::FORMAT);
    let sum: f64 = sum.into();
    let is_right = sum.to_bits() == truth.to_bits() || sum.is_nan() && truth.is_nan();
    assert!(is_right, "{}: {sum:e} is not {truth:e}", what());
}

/// Asserts that a sum has the bits that the sum of a whole array has.
pub(crate) fn check_whole<T: Element>(device: &Device, sum: T::Sum, elements: &[T])
where
    ReproducibleSum: Operation<T, Arity = warpfold::reducer::Single, Output = T::Sum>,
{
    let whole = device.reduce(elements, ReproducibleSum).unwrap();
    assert_eq!(bytemuck::bytes_of(&sum), bytemuck::bytes_of(&whole), "{sum:?} is not {whole:?}");
}
