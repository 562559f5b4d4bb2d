//! The raw results, beside those that the host combines.

use approx::assert_relative_eq;
use bytemuck::bytes_of;
use half::{bf16, f16};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    All, AllWhere, Any, ArgMax, ArgMaximum, ArgMin, ArgMinimum, BitAnd, BitOr, BitXor, Buffer,
    CheckedSum, CompensatedSum, CountNonzero, CountWhere, Dot, Error, Group, Input, Is, Item,
    LogSumExp, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum, Norm2,
    Operation, Partial, Product, ReproducibleSum, SquaredDistance, Statistics, Sum, SumAbs,
    SumSquares, WideSum, WrappingSum,
    reducer::{DeviceInput, Single},
};

use crate::{gpus, gpus_with_nccl, outputs, parts::cut, seed, simulated, upload};

/// Lengths at the edges of warps, blocks and packs, and one of several blocks.
const LENGTHS: [usize; 9] = [33, 0, 1, 2, 31, 1023, 1025, 4097, 30_001];

/// A type of elements that has random values.
trait Random: Item {
    /// A number, among them special ones.
    fn any(random: &mut ChaCha8Rng) -> Self;
    /// A number of which sums are finite.
    fn finite(random: &mut ChaCha8Rng) -> Self;
    /// A number of which products are neither infinite nor 0.
    fn unit(random: &mut ChaCha8Rng) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Random for $t {
            fn any(random: &mut ChaCha8Rng) -> Self {
                // Small numbers, of which some are equal, and any numbers.
                if random.random() { random.random_range(0..4) } else { random.random() }
            }
            fn finite(random: &mut ChaCha8Rng) -> Self {
                Self::any(random)
            }
            fn unit(random: &mut ChaCha8Rng) -> Self {
                Self::any(random) | 1
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty: $from:expr;)*) => {$(
        impl Random for $t {
            fn any(random: &mut ChaCha8Rng) -> Self {
                $from(match random.random_range(0..200) {
                    0 => f32::NAN,
                    1 => f32::INFINITY,
                    2 => -0.0,
                    3 => 0.0,
                    4..60 => random.random_range(0..8u8).into(),
                    _ => random.random_range(-2.0..2.0),
                })
            }
            fn finite(random: &mut ChaCha8Rng) -> Self {
                $from(random.random_range(-1.0..1.0))
            }
            fn unit(random: &mut ChaCha8Rng) -> Self {
                $from(if random.random() { 1.0 } else { -1.0 })
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 }
floats! { f16: f16::from_f32; bf16: bf16::from_f32; f32: |x: f32| x; f64: f64::from; }

/// What all comparisons of a test share.
struct Setting {
    groups: Vec<Group>,
    random: ChaCha8Rng,
}

impl Setting {
    fn new() -> Self {
        let mut groups: Vec<_> = [1, 2, 3, 8].map(simulated).into();
        groups.extend(gpus());
        groups.extend(gpus_with_nccl());
        Self { groups, random: seed::random() }
    }

    /// Shards of an array of `n` elements that `value` makes.
    fn shards<T: Item>(
        random: &mut ChaCha8Rng,
        group: &Group,
        n: usize,
        value: fn(&mut ChaCha8Rng) -> T,
    ) -> Vec<Buffer<T>> {
        let values: Vec<T> = (0..n).map(|_| value(random)).collect();
        upload(group, &cut(random, &values, group.devices().len()))
    }

    /// Calls `compare` with the group, the raw results of several calls for shards of each length,
    /// and the partial results of the shards, put together on the host.
    fn calls<T, O>(
        &mut self,
        operation: O,
        value: fn(&mut ChaCha8Rng) -> T,
        compare: impl Fn(&[O::Raw], Partial<T, O>),
    ) where
        T: Item,
        O: Operation<T, Arity = Single>,
        for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
    {
        for group in &self.groups {
            let mut all = group.all_reducer::<T, O>(operation).unwrap();
            let streams = group.streams().unwrap();
            let mut results = outputs::<T, O>(group, operation);
            for n in LENGTHS {
                let shards = Self::shards(&mut self.random, group, n, value);
                let expected = folded(group, operation, &shards);
                match all.reduce_into(&shards, &mut results, &streams) {
                    Ok(_) => {
                        let raws: Vec<_> =
                            results.iter().map(|raw| raw.copy_to_host().unwrap()[0]).collect();
                        compare(&raws, expected);
                    }
                    Err(Error::Empty { .. }) => {
                        assert!(matches!(expected.finish(), Err(Error::Empty { .. })));
                    }
                    Err(error) => panic!("{}, {n} elements: {error}", O::NAME),
                }
            }
            all.check().unwrap();
        }
    }

    /// The raw results are those that the host makes, bit for bit.
    fn same<T, O>(&mut self, operation: O, value: fn(&mut ChaCha8Rng) -> T)
    where
        T: Item,
        O: Operation<T, Arity = Single, Output: std::fmt::Debug>,
        for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
    {
        self.calls(operation, value, |raws, expected: Partial<T, O>| {
            for raw in raws {
                if let Some(expected) = expected.raw() {
                    let expected = bytes_of(&expected);
                    assert_eq!(bytes_of(raw), expected, "{} of {}", O::NAME, T::NAME);
                } else {
                    // No elements: what is written may have another form, such as -0 for 0.
                    let result = Partial::<T, O>::from_raw(Some(*raw), 0).finish().unwrap();
                    let expected = Partial::<T, O>::EMPTY.finish().unwrap();
                    assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{}", O::NAME);
                }
            }
        });
    }
}

/// The partial results of the shards, put together on the host.
fn folded<T, O>(group: &Group, operation: O, shards: &[Buffer<T>]) -> Partial<T, O>
where
    T: Item,
    O: Operation<T, Arity = Single>,
    for<'a> &'a Buffer<T>: Input<Item = T, Arity = Single>,
{
    let mut whole = Partial::EMPTY;
    for (device, shard) in group.devices().iter().zip(shards) {
        whole = whole.append(device.reducer::<T, O>(operation).unwrap().partial(shard).unwrap());
    }
    whole
}

macro_rules! each_type {
    ($setting:ident, $operation:expr, $value:ident: $($t:ident)*) => {
        $($setting.same::<$t, _>($operation, $t::$value);)*
    };
}

#[test]
fn sums_and_products() {
    let mut setting = Setting::new();
    each_type!(setting, Sum, finite: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, Product, unit: i8 u16 i32 u64 i128 f16 bf16 f32 f64);
    each_type!(setting, WrappingSum, any: i32 u32);
    each_type!(setting, CheckedSum, finite: i8 i64 u64 i128 u128);
}

#[test]
fn accurate_sums() {
    let mut setting = Setting::new();
    each_type!(setting, ReproducibleSum, finite: f16 bf16 f32 f64);
    // NaNs, infinities and zeros of both signs.
    each_type!(setting, ReproducibleSum, any: f16 f32 f64);
    setting.same::<f64, _>(ReproducibleSum, |_| -0.0);
    each_type!(setting, CompensatedSum, finite: f16 bf16 f32 f64);
    each_type!(setting, WideSum, finite: f16 bf16 f32);
    each_type!(setting, NanSum, finite: f16 bf16 f32 f64);
    each_type!(setting, NanMean, finite: f32);
}

#[test]
fn norms_counts_and_moments() {
    let mut setting = Setting::new();
    each_type!(setting, SumAbs, finite: i8 i64 i128 u32 f16 f64);
    each_type!(setting, SumSquares, finite: i16 u64 u128 bf16 f32);
    each_type!(setting, Norm2, finite: u8 f32);
    each_type!(setting, MaxAbs, any: i8 i16 i32 i64 i128 u16);
    // The bits of a NaN differ.
    each_type!(setting, MaxAbs, finite: f16 bf16 f32 f64);
    setting.calls::<f32, _>(
        MaxAbs,
        |_| f32::NAN,
        |raws, expected| {
            assert!(raws.iter().all(|raw| expected.n() == 0 || raw.is_nan()));
        },
    );
    each_type!(setting, CountNonzero, any: i8 u64 i128 f16 f64);
    each_type!(setting, Any, any: u8 f32);
    each_type!(setting, All, any: i32 f64);
    setting.same::<i64, _>(CountWhere(Is::Greater(1)), i64::any);
    setting.same::<f32, _>(AllWhere(Is::Less(3.0)), f32::any);
}

/// The kernels round the means of parts otherwise than the host.
#[test]
fn moments() {
    let mut setting = Setting::new();
    moments_of(&mut setting, i8::finite);
    moments_of(&mut setting, u32::finite);
    moments_of(&mut setting, i128::finite);
    moments_of(&mut setting, f16::finite);
    moments_of(&mut setting, f32::finite);
    moments_of(&mut setting, f64::finite);
}

fn moments_of<T>(setting: &mut Setting, value: fn(&mut ChaCha8Rng) -> T)
where
    T: Item,
    Moments: Operation<T, Arity = Single, Output = Statistics>,
    for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
{
    setting.calls::<T, _>(Moments, value, |raws, expected| {
        let n = expected.n();
        let expected = expected.finish().unwrap();
        for raw in raws {
            assert_eq!(bytes_of(raw), bytes_of(&raws[0]));
            let result = Partial::<T, Moments>::from_raw(Some(*raw), n).finish().unwrap();
            assert_eq!(result.count, expected.count);
            if n > 0 {
                assert_relative_eq!(
                    result.mean(),
                    expected.mean(),
                    max_relative = 1e-12,
                    epsilon = 1e-12
                );
                assert_relative_eq!(
                    result.variance(),
                    expected.variance(),
                    max_relative = 1e-12,
                    epsilon = 1e-12
                );
            }
        }
    });
}

#[test]
fn extremes_and_where_they_are() {
    let mut setting = Setting::new();
    each_type!(setting, Min, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, Max, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, MinMax, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, ArgMin, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, ArgMax, any: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64);
    each_type!(setting, Minimum, any: f16 bf16 f32 f64);
    each_type!(setting, Maximum, any: i16 f16 bf16 f32 f64);
    each_type!(setting, ArgMinimum, any: u8 f16 bf16 f32 f64);
    each_type!(setting, ArgMaximum, any: f16 bf16 f32 f64);
}

#[test]
fn bits() {
    let mut setting = Setting::new();
    each_type!(setting, BitAnd, any: i8 u16 i32 u64 i128);
    each_type!(setting, BitOr, any: u8 i16 u32 i64 u128);
    each_type!(setting, BitXor, any: u8 u16 u32 u64 u128);
}

/// The exponential function of the host differs from that of the kernels in the last bits.
#[test]
fn exponentials() {
    let mut setting = Setting::new();
    setting.calls::<f32, _>(LogSumExp, f32::finite, |raws, expected| {
        let expected = expected.finish().unwrap();
        for raw in raws {
            assert_eq!(bytes_of(raw), bytes_of(&raws[0]));
            let result = Partial::<f32, LogSumExp>::from_raw(Some(*raw), 1).finish().unwrap();
            assert_relative_eq!(result, expected, max_relative = 1e-6, epsilon = 1e-6);
        }
    });
    setting.calls::<f64, _>(LogSumExp, f64::finite, |raws, expected| {
        let expected = expected.finish().unwrap();
        for raw in raws {
            assert_eq!(bytes_of(raw), bytes_of(&raws[0]));
            let result = Partial::<f64, LogSumExp>::from_raw(Some(*raw), 1).finish().unwrap();
            assert_relative_eq!(result, expected, max_relative = 1e-14, epsilon = 1e-14);
        }
    });
}

#[test]
fn pairs() {
    let mut setting = Setting::new();
    for group in &setting.groups {
        let mut dot = group.all_reducer::<i32, _>(Dot).unwrap();
        let mut distance = group.all_reducer::<f64, _>(SquaredDistance).unwrap();
        let streams = group.streams().unwrap();
        let mut dots = outputs::<i32, _>(group, Dot);
        let mut distances = outputs::<f64, _>(group, SquaredDistance);
        for n in LENGTHS {
            let values: Vec<i32> = (0..n).map(|_| setting.random.random_range(-9..9)).collect();
            let first = cut(&mut setting.random, &values, group.devices().len());
            let second: Vec<Vec<i32>> =
                first.iter().map(|part| part.iter().map(|x| x + 1).collect()).collect();
            let second: Vec<_> = second.iter().map(|part| &part[..]).collect();
            let [left, right] = [&first, &second].map(|parts| upload(group, parts));
            let pending = dot.reduce_into(left.iter().zip(&right), &mut dots, &streams).unwrap();
            let expected: i64 = values.iter().map(|&x| i64::from(x) * i64::from(x + 1)).sum();
            for result in &dots {
                assert_eq!(pending.finish(result.copy_to_host().unwrap()[0]).unwrap(), expected);
            }
            let to_f64 = |parts: &[&[i32]]| -> Vec<Vec<f64>> {
                parts.iter().map(|part| part.iter().map(|&x| x.into()).collect()).collect()
            };
            let (first, second) = (to_f64(&first), to_f64(&second));
            let slices = |parts: &[Vec<f64>]| {
                upload(group, &parts.iter().map(|part| &part[..]).collect::<Vec<_>>())
            };
            let (left, right) = (slices(&first), slices(&second));
            distance.reduce_into(left.iter().zip(&right), &mut distances, &streams).unwrap();
            for result in &distances {
                assert_eq!(result.copy_to_host().unwrap(), [n as f64]);
            }
        }
    }
}
