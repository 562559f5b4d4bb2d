//! All operations over all types: each row gives what a reduction of that row alone gives. The
//! elements are small integers, whose results do not depend on the order.

use rand::Rng;
use warpfold::{
    All, AllWhere, Any, AnyWhere, ArgMax, ArgMaximum, ArgMin, ArgMinimum, Array, BitAnd, BitOr,
    BitXor, CheckedSum, CompensatedSum, CountNan, CountNonzero, CountWhere, Device, ExpSum, Is,
    Item, LogSumExp, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum, Norm2,
    Product, RowOperation, SoftmaxStats, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
    half::{bf16, f16},
};

use super::{LENGTHS, all_devices as devices, seed::random};

/// The rows of `values`, each reduced alone by the kernel for whole arrays.
fn check<T: Item, O: RowOperation<T>>(device: &Device, values: &[T], length: usize, operation: O)
where
    O::Output: PartialEq + std::fmt::Debug,
{
    let rows = values.len() / length;
    let values = &values[..rows * length];
    let buffer = device.upload(values).unwrap();
    let matrix = Array::new(&buffer, &[rows as u64, length as u64]).unwrap();
    let results = device.reduce_rows(&matrix, operation).unwrap();
    assert_eq!(results.len(), rows);
    let reducer = device.reducer::<T, O>(operation).unwrap();
    // A few rows are enough, because the others differ by their elements only.
    for row in [0, 1, 2, rows / 3, rows / 2, rows - 1] {
        let row = row.min(rows - 1);
        let expected = reducer.reduce(buffer.view(row * length..(row + 1) * length)).unwrap();
        let (op, item) = (O::NAME, T::NAME);
        assert_eq!(results[row], expected, "{op} of {item}: row {row} of {rows} of {length}");
    }
}

/// Rows of many teams, each of which has 16 KiB. The longer an accumulator, the fewer of them meet
/// at a time: 1024 where it has a word, and 128 where it has eight.
#[test]
fn rows_of_many_teams() {
    fn of_teams<T: Item, O: RowOperation<T>>(
        device: &Device,
        teams: &[usize],
        make: impl Fn(u8) -> T,
        operation: O,
    ) where
        O::Output: PartialEq + std::fmt::Debug,
    {
        let mut random = random();
        for teams in teams {
            // The last tile is not whole.
            let length = teams * 16384 / size_of::<T>() - 5;
            let values: Vec<T> = (0..length).map(|_| make(random.random())).collect();
            check(device, &values, length, operation);
        }
    }
    for device in devices() {
        of_teams::<u32, _>(&device, &[2, 9, 33, 256, 257, 1024, 1025], u32::from, WrappingSum);
        of_teams::<i32, _>(&device, &[3, 128, 129, 512, 513], i32::from, Sum);
        of_teams::<f32, _>(&device, &[64, 65, 256, 257], f32::from, ArgMax);
        of_teams::<u64, _>(&device, &[256, 300], u64::from, MinMax);
        of_teams::<u128, _>(&device, &[5, 32, 33, 128, 129, 300], u128::from, MinMax);
    }
}

/// The types of a line share one closure, which converts a byte to each of them.
macro_rules! of_types {
    ($($test:ident: $make:expr, [$($t:ty)*], $ops:tt;)*) => {$(
        #[test]
        fn $test() {
            for device in devices() {
                $(of_types!(@type $t, device, $make, $ops);)*
            }
        }
    )*};
    (@type $t:ty, $device:ident, $make:expr, [$($op:ident)*]) => {{
        #[allow(clippy::useless_conversion, reason = "one of the types is the closure's own")]
        let make: fn(u8) -> $t = $make;
        let mut random = random();
        let values: Vec<$t> = (0..20_000).map(|_| make(random.random())).collect();
        for length in LENGTHS {
            // Long rows take long on the simulator, so there are fewer of them.
            let most = (length * 40).clamp(2 * length, values.len());
            $(check::<$t, _>(&$device, &values[..most], length, $op);)*
        }
    }};
}

of_types! {
    unsigned_integers: |x| x.into(), [u8 u16 u32 u64 u128],
        [Sum Product WrappingSum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         BitAnd BitOr BitXor CountNonzero Any All SumAbs SumSquares];
    narrow_signed_integers: |x| x.cast_signed().into(), [i8 i16 i32],
        [Sum Product WrappingSum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         BitAnd BitOr BitXor CountNonzero Any All SumAbs SumSquares];
    wide_signed_integers: |x| x.cast_signed().into(), [i64 i128],
        [Sum Product WrappingSum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         BitAnd BitOr BitXor CountNonzero Any All SumAbs SumSquares];
    checked_sums: |x| (x % 128).into(), [u32 u64 u128 i32 i64 i128], [CheckedSum];
    floats: |x| f32::from(x % 8).into(), [f32 f64],
        [Sum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum NanSum NanMean CountNan];
    halves: |x| (x % 8).into(), [f16 bf16],
        [Sum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum WideSum NanSum NanMean CountNan];
    wide_sums: |x| (x % 8).into(), [f32], [WideSum];
}

/// All comparisons over all types: the results are those of plain Rust.
#[test]
fn comparisons() {
    fn check<T: Item>(device: &Device, make: impl Fn(u8) -> T)
    where
        CountWhere<T>: RowOperation<T, Output = u64>,
        AnyWhere<T>: RowOperation<T, Output = bool>,
        AllWhere<T>: RowOperation<T, Output = bool>,
    {
        let mut random = random();
        let values: Vec<T> = (0..20_000).map(|_| make(random.random())).collect();
        for (k, length) in LENGTHS.into_iter().enumerate() {
            let constant = make(random.random());
            let comparison = [
                Is::Equal(constant),
                Is::NotEqual(constant),
                Is::Less(constant),
                Is::LessOrEqual(constant),
                Is::Greater(constant),
                Is::GreaterOrEqual(constant),
                Is::InRange(make(3), constant),
            ][k % 7];
            let rows = (values.len() / length).min(40);
            let values = &values[..rows * length];
            let matrix = Array::new(values, &[rows as u64, length as u64]).unwrap();
            let counts: Vec<usize> = values
                .chunks(length)
                .map(|row| row.iter().filter(|&&x| comparison.holds(x)).count())
                .collect();
            let at = format!("{rows} rows of {length} {}, {comparison:?}", T::NAME);
            let found = device.reduce_rows(&matrix, CountWhere(comparison)).unwrap();
            assert!(found.iter().zip(&counts).all(|(&a, &b)| a == b as u64), "{at}");
            let found = device.reduce_rows(&matrix, AnyWhere(comparison)).unwrap();
            assert!(found.iter().zip(&counts).all(|(&any, &b)| any == (b > 0)), "{at}");
            let found = device.reduce_rows(&matrix, AllWhere(comparison)).unwrap();
            assert!(found.iter().zip(&counts).all(|(&all, &b)| all == (b == length)), "{at}");
            // The same elements as the columns of another matrix.
            let shape = [length as u64, rows as u64];
            let strides = [1, length as i64];
            let columns = Array::with_strides(values, &shape, &strides, 0).unwrap();
            let found = device.reduce_axes(&columns, &[0], CountWhere(comparison)).unwrap();
            assert!(found.iter().zip(&counts).all(|(&a, &b)| a == b as u64), "columns of {at}");
        }
    }
    let special = |x: u8| match x {
        0..=20 => f32::NAN,
        21..=40 => -0.0,
        41..=60 => f32::INFINITY,
        _ => f32::from(x.cast_signed()) / 8.0,
    };
    for device in devices() {
        check::<i8>(&device, u8::cast_signed);
        check::<u8>(&device, |x| x);
        check::<i16>(&device, |x| x.cast_signed().into());
        check::<u16>(&device, u16::from);
        check::<i32>(&device, |x| x.cast_signed().into());
        check::<u32>(&device, u32::from);
        check::<i64>(&device, |x| x.cast_signed().into());
        check::<u64>(&device, u64::from);
        check::<i128>(&device, |x| x.cast_signed().into());
        check::<u128>(&device, u128::from);
        check::<f16>(&device, |x| f16::from_f32(special(x)));
        check::<bf16>(&device, |x| bf16::from_f32(special(x)));
        check::<f32>(&device, special);
        check::<f64>(&device, |x| special(x).into());
    }
}

/// Moments are computed by divisions, so they agree to some digits only.
#[test]
fn moments() {
    fn check<T: Item>(device: &Device, make: impl Fn(u8) -> T)
    where
        Moments: RowOperation<T, Output = warpfold::Statistics>,
    {
        let mut random = random();
        let bytes: Vec<u8> = (0..20_000).map(|_| random.random()).collect();
        let values: Vec<T> = bytes.iter().map(|&byte| make(byte)).collect();
        for length in LENGTHS {
            let rows = (values.len() / length).min(40);
            let matrix = &values[..rows * length];
            let matrix = Array::new(matrix, &[rows as u64, length as u64]).unwrap();
            let results = device.reduce_rows(&matrix, Moments).unwrap();
            for (row, result) in bytes.chunks(length).zip(&results) {
                let n = length as f64;
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
                let m2: f64 = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
                assert_eq!(result.count, length as u64);
                let (found, name) = ((result.mean(), result.squared_deviations()), T::NAME);
                assert!((found.0 - mean).abs() <= 1e-12 * 256.0, "{name} {length}: {found:?}");
                assert!((found.1 - m2).abs() <= 1e-11 * (m2 + 1.0), "{name} {length}: {found:?}");
            }
        }
    }
    for device in devices() {
        check::<u8>(&device, |x| x);
        check::<i16>(&device, i16::from);
        check::<u32>(&device, u32::from);
        check::<i64>(&device, i64::from);
        check::<u128>(&device, u128::from);
        check::<f16>(&device, f16::from);
        check::<bf16>(&device, bf16::from);
        check::<f32>(&device, f32::from);
        check::<f64>(&device, f64::from);
    }
}

/// The sum of the exponentials of a row agrees with a plain loop to some digits, because
/// exponentials are rounded.
#[test]
fn exponentials() {
    fn check<T: Item>(device: &Device, make: impl Fn(f64) -> T, roundoff: f64)
    where
        SoftmaxStats: RowOperation<T, Output = ExpSum<T::Wide>>,
        LogSumExp: RowOperation<T, Output = T::Wide>,
        T::Wide: Into<f64>,
    {
        let mut random = random();
        let bytes: Vec<u8> = (0..20_000).map(|_| random.random()).collect();
        // The numbers from -16 to 16 have few digits, so that every type has them.
        let number = |&byte: &u8| f64::from(byte) / 8.0 - 16.0;
        let values: Vec<T> = bytes.iter().map(|byte| make(number(byte))).collect();
        for length in LENGTHS {
            let rows = (values.len() / length).min(40);
            let matrix = &values[..rows * length];
            let matrix = Array::new(matrix, &[rows as u64, length as u64]).unwrap();
            let stats = device.reduce_rows(&matrix, SoftmaxStats).unwrap();
            let logarithms = device.reduce_rows(&matrix, LogSumExp).unwrap();
            for ((row, stats), found) in bytes.chunks(length).zip(stats).zip(logarithms) {
                let max = row.iter().map(number).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|byte| (number(byte) - max).exp()).sum();
                let (found_max, found_sum) = (stats.max.into(), stats.sum.into());
                let name = T::NAME;
                assert_eq!(found_max, max, "{name} {length}");
                let bound = 200.0 * roundoff;
                assert!(
                    (found_sum - sum).abs() <= bound * sum,
                    "{name} {length}: {found_sum} {sum}"
                );
                let (found, exact): (f64, f64) = (found.into(), max + sum.ln());
                assert!((found - exact).abs() <= bound * 16.0, "{name} {length}: {found} {exact}");
            }
        }
    }
    for device in devices() {
        check::<f16>(&device, f16::from_f64, f64::from(f32::EPSILON) / 2.0);
        check::<bf16>(&device, bf16::from_f64, f64::from(f32::EPSILON) / 2.0);
        check::<f32>(&device, |x| x as f32, f64::from(f32::EPSILON) / 2.0);
        check::<f64>(&device, |x| x, f64::EPSILON / 2.0);
    }
}

/// NaNs, infinities and zeros of both signs, in rows beside each other.
#[test]
fn special_values() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let rows = [
        [1.0, nan, -2.0],
        [nan, nan, nan],
        [inf, -inf, 0.0],
        [-inf, -inf, -inf],
        [-inf, 1.5, -inf],
        [inf, inf, 2.0],
        [inf, nan, -inf],
        [0.0, -0.0, 0.0],
        [-0.0, 0.0, -0.0],
        [3.0, 3.0, -inf],
    ];
    for device in devices() {
        let buffer = device.upload(rows.as_flattened()).unwrap();
        let matrix = Array::new(&buffer, &[rows.len() as u64, 3]).unwrap();
        macro_rules! alike {
            ($($op:ident)*) => {$({
                let results = device.reduce_rows(&matrix, $op).unwrap();
                for (row, result) in rows.iter().zip(&results) {
                    let alone = device.reduce(row, $op).unwrap();
                    assert_eq!(format!("{result:?}"), format!("{alone:?}"), "{row:?}");
                }
            })*};
        }
        alike!(Sum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum Any
            LogSumExp SoftmaxStats NanSum NanMean CountNan);
    }
}
