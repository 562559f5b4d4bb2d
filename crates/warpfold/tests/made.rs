//! Results that the device makes: they are what the host makes, in `f64` and rounded once, of the
//! raw results of the same reduction.

// The tests compare exact results.
#![allow(clippy::float_cmp)]

#[path = "support/seed.rs"]
mod seed;
mod support;

use half::{bf16, f16};
use rand::Rng;
use support::devices;
use warpfold::{
    ArgMax, ArgMaximum, ArgMin, ArgMinimum, Array, CountNonzero, Device, Error, Item,
    MadeOperation, MadeResult, Make, Moments, Statistics, Sum, SumSquares,
    device::DeviceClass,
    testing::{Instrument, Seen},
};

/// Numbers of elements at which something changes: lanes, blocks, and the kernel for small inputs.
const EDGES: [usize; 16] =
    [1, 2, 3, 31, 32, 33, 255, 257, 1023, 1024, 1025, 4097, 16_383, 16_411, 70_001, 300_007];

/// Shapes and the axis that is reduced: short rows, long rows that many warps share, columns, and
/// one row.
const SHAPES: [([u64; 2], isize); 9] = [
    ([1, 1], 1),
    ([33, 7], 1),
    ([300, 5], 1),
    ([5, 300], 0),
    ([1000, 64], 1),
    ([64, 1000], 0),
    ([2, 66_000], 1),
    ([9000, 3], 0),
    ([1, 5000], 1),
];

const CORRECTIONS: [f64; 4] = [0.0, 1.0, 1.5, 1e9];

/// A type of elements, made of small floats.
trait Element: Item {
    fn of(x: f32) -> Self;
}

macro_rules! elements {
    ($($t:ty: |$x:ident| $make:expr;)*) => {$(
        impl Element for $t {
            fn of($x: f32) -> Self {
                $make
            }
        }
    )*};
}

elements! {
    f16: |x| f16::from_f32(x);
    bf16: |x| bf16::from_f32(x);
    f32: |x| x;
    f64: |x| f64::from(x) * 1.000_000_1;
    i8: |x| x as i8;
    u8: |x| x as u8;
    i16: |x| x as i16;
    u16: |x| x as u16;
    i32: |x| x as i32;
    u32: |x| x as u32;
    i64: |x| x as i64;
    u64: |x| x as u64;
}

fn elements<T: Element>(n: usize) -> Vec<T> {
    let mut random = seed::random();
    (0..n).map(|_| T::of(random.random_range(-100.0..100.0))).collect()
}

/// A result, as the host makes it of an `f64`.
trait Rounded: MadeResult + PartialEq + std::fmt::Debug {
    fn rounded(x: f64) -> Self;
    /// The bits, of which all NaNs have the same.
    fn bits(self) -> u64;
}

macro_rules! rounded {
    ($($t:ty: $from:expr, $is_nan:expr;)*) => {$(
        impl Rounded for $t {
            fn rounded(x: f64) -> Self {
                $from(x)
            }
            fn bits(self) -> u64 {
                if $is_nan(self) { u64::MAX } else { self.to_bits().into() }
            }
        }
    )*};
}

/// The half that is nearest to `x`, or of two the one with the even bits. The conversions of `half`
/// ignore the lowest bits of an `f64`, or round twice, so they only tell where to look. `beyond` is
/// the number that would follow the largest half, from half way to which on a result is infinite.
fn nearest(x: f64, about: u16, beyond: f64, value: impl Fn(u16) -> f64) -> u16 {
    if x.is_nan() {
        return about;
    }
    let (sign, about) = (about & 0x8000, about & 0x7fff);
    let value = |bits: u16| {
        let value = value(bits);
        if value.is_infinite() { beyond } else { value }
    };
    let distance = |bits: u16| (value(bits) - x.abs()).abs();
    let near = [about.saturating_sub(1), about, about + 1];
    let near = near.into_iter().filter(|&bits| !value(bits).is_nan());
    let least =
        near.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    sign | least.unwrap()
}

fn to_f16(x: f64) -> f16 {
    let value = |bits| f16::from_bits(bits).to_f64();
    f16::from_bits(nearest(x, f16::from_f64(x).to_bits(), 65_536.0, value))
}

fn to_bf16(x: f64) -> bf16 {
    let value = |bits| bf16::from_bits(bits).to_f64();
    bf16::from_bits(nearest(x, bf16::from_f64(x).to_bits(), 2f64.powi(128), value))
}

rounded! {
    f16: to_f16, f16::is_nan;
    bf16: to_bf16, bf16::is_nan;
    f32: |x| x as f32, f32::is_nan;
    f64: |x| x, f64::is_nan;
}

/// What the device makes of a whole array, and of the rows of an array.
fn whole<T: Item, O: MadeOperation<T>, R: MadeResult>(
    device: &Device,
    values: &[T],
    operation: O,
    make: Make,
) -> R {
    let stream = device.stream().unwrap();
    let (input, mut output) = (device.upload(values).unwrap(), device.alloc::<R>(1).unwrap());
    let reducer = device.reducer::<T, O>(operation).unwrap().made().unwrap();
    reducer.reduce_into(&input, make, &mut output, &stream).unwrap();
    stream.synchronize().unwrap();
    output.copy_to_host().unwrap()[0]
}

fn rows<T: Item, O: MadeOperation<T>, R: MadeResult>(
    device: &Device,
    (values, shape, axis): (&[T], [u64; 2], isize),
    operation: O,
    make: Make,
) -> Vec<R> {
    let stream = device.stream().unwrap();
    let input = device.upload(values).unwrap();
    let results = shape[1 - axis as usize] as usize;
    let mut output = device.alloc::<R>(results).unwrap();
    let reducer = device.row_reducer::<T, O>(operation).unwrap().made().unwrap();
    let array = Array::new(&input, &shape).unwrap();
    reducer.reduce_axes_into(&array, &[axis], make, &mut output, &stream).unwrap();
    stream.synchronize().unwrap();
    output.copy_to_host().unwrap()
}

fn check<R: Rounded>(found: R, expected: f64, what: &dyn Fn() -> String) {
    let expected = R::rounded(expected);
    assert_eq!(found.bits(), expected.bits(), "{}: {found:?} instead of {expected:?}", what());
}

fn variance(statistics: &Statistics, correction: f64) -> f64 {
    statistics.squared_deviations() / (statistics.count as f64 - correction).max(0.0)
}

/// Every result of floats, as this type.
fn floats<T: Element, R: Rounded>(device: &Device)
where
    Sum: MadeOperation<T, Output: Into<f64>>,
    SumSquares: MadeOperation<T, Output: Into<f64>>,
    Moments: MadeOperation<T, Output = Statistics>,
{
    let value = Make::Value;
    for n in EDGES {
        let values = elements::<T>(n);
        let what = |make| move || format!("{make} of {n} {}, {device:?}", T::NAME);
        let sum = device.reduce(&device.upload(&values).unwrap(), Sum).unwrap().into();
        check(whole::<_, _, R>(device, &values, Sum, value), sum, &what("sum"));
        let mean = sum / n as f64;
        check(whole::<_, _, R>(device, &values, Sum, Make::Mean), mean, &what("mean"));
        let squares = device.reduce(&device.upload(&values).unwrap(), SumSquares).unwrap().into();
        let root = whole::<_, _, R>(device, &values, SumSquares, Make::Root);
        check(root, squares.sqrt(), &what("root"));
        let moments = device.reduce(&device.upload(&values).unwrap(), Moments).unwrap();
        let of = |make| whole::<_, _, R>(device, &values, Moments, make);
        check(of(Make::Mean), moments.mean(), &what("mean of moments"));
        for correction in CORRECTIONS {
            let variance = variance(&moments, correction);
            check(of(Make::Variance { correction }), variance, &what("variance"));
            check(of(Make::Deviation { correction }), variance.sqrt(), &what("deviation"));
        }
    }
    for (shape, axis) in SHAPES {
        let values = elements::<T>((shape[0] * shape[1]) as usize);
        let what = |make| move || format!("{make} of {shape:?}, {axis}, {}, {device:?}", T::NAME);
        let (array, from) = (Array::new(&values, &shape).unwrap(), (&values[..], shape, axis));
        let n = shape[axis as usize] as f64;
        let sums = device.reduce_axes(&array, &[axis], Sum).unwrap();
        let means = rows::<_, _, R>(device, from, Sum, Make::Mean);
        for (mean, sum) in means.into_iter().zip(sums) {
            check(mean, sum.into() / n, &what("mean"));
        }
        let squares = device.reduce_axes(&array, &[axis], SumSquares).unwrap();
        let roots = rows::<_, _, R>(device, from, SumSquares, Make::Root);
        for (root, sum) in roots.into_iter().zip(squares) {
            check(root, sum.into().sqrt(), &what("root"));
        }
        let moments = device.reduce_axes(&array, &[axis], Moments).unwrap();
        for correction in CORRECTIONS {
            let made = rows::<_, _, R>(device, from, Moments, Make::Deviation { correction });
            assert_eq!(made.len(), moments.len());
            for (made, moments) in made.into_iter().zip(&moments) {
                check(made, variance(moments, correction).sqrt(), &what("deviation"));
            }
        }
    }
}

#[test]
fn floats_are_made_as_the_host_makes_them() {
    for device in &devices() {
        floats::<f32, f32>(device);
        floats::<f64, f64>(device);
        floats::<f16, f16>(device);
        floats::<bf16, bf16>(device);
        floats::<f32, f16>(device);
        floats::<f64, bf16>(device);
        floats::<f16, f64>(device);
    }
}

/// The index of the first element that is the best, by a loop.
fn best<T: Item + PartialOrd>(row: impl Iterator<Item = T>, is_least: bool) -> u64 {
    let mut best: Option<(usize, T)> = None;
    for (i, element) in row.enumerate() {
        let is_better = |least: T| if is_least { element < least } else { element > least };
        if best.is_none_or(|(_, best)| is_better(best)) {
            best = Some((i, element));
        }
    }
    best.unwrap().0 as u64
}

fn indices<T: Element + PartialOrd>(device: &Device)
where
    ArgMinimum: MadeOperation<T>,
    ArgMaximum: MadeOperation<T>,
    CountNonzero: MadeOperation<T>,
{
    let zero = T::of(0.0);
    for n in EDGES {
        let mut values = elements::<T>(n);
        let what = || format!("{n} {}, {device:?}", T::NAME);
        let least: u64 = whole(device, &values, ArgMinimum, Make::Value);
        assert_eq!(least, best(values.iter().copied(), true), "{}", what());
        let greatest: i64 = whole(device, &values, ArgMaximum, Make::Value);
        assert_eq!(greatest as u64, best(values.iter().copied(), false), "{}", what());
        let count = values.iter().filter(|&&x| x != zero).count();
        let counted: u64 = whole(device, &values, CountNonzero, Make::Value);
        assert_eq!(counted, count as u64, "{}", what());
        for of in [Some(T::of(3.0)), Some(zero), None] {
            // All of them, none, and all but the last one.
            values.fill(of.unwrap_or(T::of(3.0)));
            if of.is_none() {
                values[n - 1] = zero;
            }
            let count = values.iter().filter(|&&x| x != zero).count();
            let any: u8 = whole(device, &values, CountNonzero, Make::Any);
            let all: u8 = whole(device, &values, CountNonzero, Make::All);
            assert_eq!((any, all), ((count > 0).into(), (count == n).into()), "{}", what());
        }
    }
    for (shape, axis) in SHAPES {
        let values = elements::<T>((shape[0] * shape[1]) as usize);
        let what = || format!("{shape:?}, {axis}, {}, {device:?}", T::NAME);
        let from = (&values[..], shape, axis);
        let greatest: Vec<i64> = rows(device, from, ArgMaximum, Make::Value);
        let all: Vec<u8> = rows(device, from, CountNonzero, Make::All);
        let (height, width) = (shape[0] as usize, shape[1] as usize);
        assert_eq!(greatest.len(), [width, height][axis as usize]);
        for (i, (greatest, all)) in greatest.into_iter().zip(all).enumerate() {
            let (first, step) = if axis == 0 { (i, width) } else { (i * width, 1) };
            let length = if axis == 0 { height } else { width };
            let row = || values[first..].iter().step_by(step).take(length).copied();
            assert_eq!(greatest as u64, best(row(), false), "{}", what());
            assert_eq!(all == 1, row().all(|x| x != zero), "{}", what());
        }
    }
}

#[test]
fn indices_and_truths_are_those_of_a_loop() {
    for device in &devices() {
        indices::<f16>(device);
        indices::<bf16>(device);
        indices::<f32>(device);
        indices::<f64>(device);
        indices::<i8>(device);
        indices::<u8>(device);
        indices::<i16>(device);
        indices::<u16>(device);
        indices::<i32>(device);
        indices::<u32>(device);
        indices::<i64>(device);
        indices::<u64>(device);
    }
}

#[test]
fn floats_that_are_not_numbers_are_made_as_on_the_host() {
    for device in &devices() {
        let whole = |values: &[f32], make| whole::<_, _, f32>(device, values, Sum, make);
        assert_eq!(whole(&[f32::NAN, 1.0], Make::Mean).to_bits(), 0x7fc0_0000);
        assert_eq!(whole(&[f32::INFINITY, f32::NEG_INFINITY], Make::Value).to_bits(), 0x7fc0_0000);
        assert_eq!(whole(&[f32::INFINITY, 1.0], Make::Mean), f32::INFINITY);
        // A sum begins with +0.
        assert_eq!(whole(&[-0.0, -0.0], Make::Mean).to_bits(), 0);
        // A number that a half cannot hold becomes infinite.
        let half: f16 = self::whole(device, &[65_536.0f32, 65_536.0], Sum, Make::Mean);
        assert_eq!(half, f16::INFINITY);
        // Rounding to f32 and then to f16 would give 1 + 2^-10.
        let half: f16 =
            self::whole(device, &[1.0 + 2f64.powi(-11) - 2f64.powi(-40)], Sum, Make::Value);
        assert_eq!(half, f16::ONE);
        let one: f64 = self::whole(device, &[5.0f32], Moments, Make::Variance { correction: 1.0 });
        assert!(one.is_nan(), "{one}");
    }
}

#[test]
fn a_graph_makes_the_result_again() {
    for device in &devices() {
        let mut input = device.upload(&[1.0f32, 2.0, 6.0]).unwrap();
        let mut output = device.alloc::<f16>(1).unwrap();
        let mean = device.reducer::<f32, _>(Sum).unwrap().made().unwrap();
        let (graph, ()) = device
            .capture(|stream| mean.reduce_into(&input, Make::Mean, &mut output, stream))
            .unwrap();
        let stream = device.stream().unwrap();
        for values in [[1.0f32, 2.0, 6.0], [2.0, 4.0, 12.0]] {
            input.view_mut(..).copy_from_host(&values).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            let mean = values.iter().sum::<f32>() / 3.0;
            assert_eq!(output.copy_to_host().unwrap(), [f16::from_f32(mean)]);
        }
    }
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    for device in &devices() {
        let stream = device.stream().unwrap();
        let input = device.upload(&[1.0f32, 2.0]).unwrap();
        let mut output = device.upload(&[7.0f32]).unwrap();
        let mut two = device.upload(&[7.0f32; 2]).unwrap();
        let mut index = device.upload(&[7u64]).unwrap();
        let sum = device.reducer::<f32, _>(Sum).unwrap().made().unwrap();
        let most = device.reducer::<f32, _>(ArgMaximum).unwrap().made().unwrap();

        let variance = Make::Variance { correction: 0.0 };
        let error = sum.reduce_into(&input, variance, &mut output, &stream).unwrap_err();
        assert_eq!(error.to_string(), "the sum has no variance as f32");
        let error = sum.reduce_into(&input, Make::Mean, &mut index, &stream).unwrap_err();
        assert_eq!(error.to_string(), "the sum has no mean as u64");
        let error = most.reduce_into(&input, Make::Value, &mut output, &stream).unwrap_err();
        assert!(matches!(error, Error::Make { make: Make::Value, item: "f32", .. }), "{error}");
        let error = sum.reduce_into(&input, Make::Mean, &mut two, &stream).unwrap_err();
        assert!(matches!(error, Error::Output { len: 2 }), "{error}");
        let empty = input.view(..0);
        let error = sum.reduce_into(empty, Make::Mean, &mut output, &stream).unwrap_err();
        assert!(matches!(error, Error::Empty { .. }), "{error}");

        let sums = device.row_reducer::<f32, _>(Sum).unwrap().made().unwrap();
        let array = |shape: &[u64]| Array::new(&input, shape).unwrap();
        let error = sums
            .reduce_axes_into(&array(&[1, 2]), &[1], Make::Mean, &mut two, &stream)
            .unwrap_err();
        assert!(matches!(error, Error::Outputs { results: 1, len: 2 }), "{error}");
        let error = sums
            .reduce_axes_into(&array(&[1, 2]), &[2], Make::Mean, &mut output, &stream)
            .unwrap_err();
        assert!(matches!(error, Error::Axis { .. }), "{error}");
        let none = Array::new(empty, &[2, 0]).unwrap();
        let error = sums.reduce_axes_into(&none, &[1], Make::Mean, &mut two, &stream).unwrap_err();
        assert!(matches!(error, Error::Empty { .. }), "{error}");
        // Of no rows there are no results.
        let mut nothing = device.alloc::<f32>(0).unwrap();
        sums.reduce_axes_into(&none, &[0], Make::Mean, &mut nothing, &stream).unwrap();

        stream.synchronize().unwrap();
        assert_eq!(output.copy_to_host().unwrap(), [7.0]);
        assert_eq!(two.copy_to_host().unwrap(), [7.0; 2]);
        assert_eq!(index.copy_to_host().unwrap(), [7]);
    }
}

/// The kernels under the simulator's checks: whole arrays in one block and in many, and rows in
/// each layout, on a new and on an old device.
#[test]
fn no_check_finds_anything() {
    let device = Device::simulator_with(Instrument::Check);
    let old = device.with_class(DeviceClass::new(16, false, (7, 5))).unwrap();
    for device in [device, old] {
        for n in [1, 1000, 70_001] {
            let values = elements::<f16>(n);
            let _: f16 = whole(&device, &values, Sum, Make::Mean);
            let _: f16 = whole(&device, &values, Moments, Make::Deviation { correction: 1.0 });
            let _: i64 = whole(&device, &elements::<u8>(n), ArgMin, Make::Value);
            let _: u8 = whole(&device, &values, CountNonzero, Make::Any);
        }
        for (shape, axis) in SHAPES {
            let values = elements::<f32>((shape[0] * shape[1]) as usize);
            let from = (&values[..], shape, axis);
            let _: Vec<bf16> = rows(&device, from, Sum, Make::Mean);
            let _: Vec<f64> = rows(&device, from, Moments, Make::Variance { correction: 0.0 });
            let integers = elements::<i32>(values.len());
            let _: Vec<u64> = rows(&device, (&integers[..], shape, axis), ArgMax, Make::Value);
        }
        for observation in device.take_observations() {
            let Seen::Checked(checked) = &observation.seen else { panic!("it checks") };
            assert!(checked.reports.is_empty() && checked.fault.is_none(), "{observation:?}");
        }
    }
}
