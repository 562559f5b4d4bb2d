//! Each operation and type: a segment has the result of a row of the same elements.

use std::fmt::Debug;

use rand::{Rng, distr::StandardUniform, prelude::Distribution};
use warpfold::{
    All, AllWhere, Any, AnyWhere, ArgMax, ArgMaximum, ArgMin, ArgMinimum, Array, BitAnd, BitOr,
    BitXor, CheckedSum, CompensatedSum, CountNan, CountNonzero, CountWhere, Device, Error, Is,
    Item, LogSumExp, Max, MaxAbs, Maximum, Min, MinMax, Minimum, Moments, NanMean, NanSum, Norm2,
    Product, SegmentOperation, SoftmaxStats, Sum, SumAbs, SumSquares, WideSum, WrappingSum,
    half::{bf16, f16},
};

use super::{offsets, seed::random, segments, support::devices};

/// Compares the segments with rows, as text that shows each bit.
fn check<T: Item, O>(device: &Device, values: &[T], offsets: &[u32])
where
    O: SegmentOperation<T> + Default,
    O::Output: Debug,
{
    let results = device.reduce_segments(values, offsets, O::default()).unwrap();
    let rows = device.row_reducer::<T, O>(O::default()).unwrap();
    for (i, (segment, result)) in segments(values, offsets).zip(results).enumerate() {
        let row = Array::new(segment, &[1, segment.len() as u64]).unwrap();
        let expected = rows.reduce_rows(&row).unwrap();
        let name = format!("{} of {}: segment {i}", O::NAME, T::NAME);
        assert_eq!(format!("{result:?}"), format!("{:?}", expected[0]), "{name}");
    }
}

/// Checks operations over types. The types of a line share what makes their elements.
macro_rules! of_types {
    ($($test:ident: $make:expr, [$($t:ident)*], $ops:tt;)*) => {$(
        #[test]
        fn $test() {
            let offsets = offsets(3, &[1, 1, 2, 3, 40, 1, 700, 5, 5, 5, 9000, 33, 1]);
            let n = *offsets.last().unwrap() as usize;
            for device in devices() {
                $(of_types!(@type $t, device, $make, n, offsets, $ops);)*
            }
        }
    )*};
    (@type $t:ident, $device:ident, $make:expr, $n:ident, $offsets:ident, [$($op:ident)*]) => {{
        let values: Vec<$t> = std::iter::repeat_with($make).take($n).collect();
        $(check::<$t, $op>(&$device, &values, &$offsets);)*
    }};
}

of_types! {
    unsigned_integers: integers(), [u8 u16 u32 u64 u128],
        [Sum Product WrappingSum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         BitAnd BitOr BitXor CountNonzero Any All SumAbs SumSquares Moments];
    signed_integers: integers(), [i8 i16 i32 i64 i128],
        [Sum Product WrappingSum Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         BitAnd BitOr BitXor CountNonzero Any All SumAbs SumSquares Moments];
    unsigned_checked_sums: small(|x| x.unsigned_abs().into()), [u32 u64 u128], [CheckedSum];
    signed_checked_sums: small(Into::into), [i32 i64 i128], [CheckedSum];
    halves: floats(f16::from_f32), [f16],
        [Sum Product Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum WideSum NanSum NanMean CountNan
         LogSumExp SoftmaxStats Moments];
    brain_floats: floats(bf16::from_f32), [bf16],
        [Sum Product Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum WideSum NanSum NanMean CountNan
         LogSumExp SoftmaxStats Moments];
    floats_of_32_bits: floats(|x| x), [f32],
        [Sum Product Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum WideSum NanSum NanMean CountNan
         LogSumExp SoftmaxStats Moments];
    floats_of_64_bits: floats(f64::from), [f64],
        [Sum Product Min Max Minimum Maximum MinMax MaxAbs ArgMin ArgMax ArgMinimum ArgMaximum
         CountNonzero Any All SumAbs SumSquares Norm2 CompensatedSum NanSum NanMean CountNan
         LogSumExp SoftmaxStats Moments];
}

#[test]
fn a_checked_sum_of_a_segment_overflows() {
    for device in devices() {
        let values = [i64::MAX, -1, 1, i64::MAX, 1, i64::MIN];
        let sums = device.reduce_segments(&values, &[0u32, 3, 4, 4, 6], CheckedSum).unwrap();
        assert_eq!(sums, [i64::MAX, i64::MAX, 0, i64::MIN + 1]);
        let error = device.reduce_segments(&values, &[0u32, 3, 5], CheckedSum).unwrap_err();
        assert!(matches!(&error, Error::Overflow { item: "i64", .. }), "{error}");
    }
}

fn integers<T>() -> impl FnMut() -> T
where
    StandardUniform: Distribution<T>,
{
    let mut random = random();
    move || random.random()
}

/// Floats of a few values, so that there are ties, and some that are no numbers.
fn floats<T>(of: impl Fn(f32) -> T) -> impl FnMut() -> T {
    let mut random = random();
    move || match random.random_range(0..1000) {
        0 => of(f32::NAN),
        1 => of(f32::INFINITY),
        2 => of(-0.0),
        _ => of(random.random_range(-50..50) as f32 / 8.0),
    }
}

/// Integers whose sums every type of 32 bits holds.
fn small<T>(of: impl Fn(i8) -> T) -> impl FnMut() -> T {
    let mut random = random();
    move || of(random.random())
}

/// The results of comparisons are those of plain Rust, also for empty segments.
#[test]
fn comparisons() {
    fn check<T: Item>(device: &Device, values: &[T], offsets: &[u32])
    where
        CountWhere<T>: SegmentOperation<T, Output = u64>,
        AnyWhere<T>: SegmentOperation<T, Output = bool>,
        AllWhere<T>: SegmentOperation<T, Output = bool>,
    {
        let constant = values[0];
        for comparison in [
            Is::Equal(constant),
            Is::NotEqual(constant),
            Is::Less(constant),
            Is::LessOrEqual(constant),
            Is::Greater(constant),
            Is::GreaterOrEqual(constant),
            Is::InRange(constant, values[1]),
        ] {
            let counts = device.reduce_segments(values, offsets, CountWhere(comparison)).unwrap();
            let any = device.reduce_segments(values, offsets, AnyWhere(comparison)).unwrap();
            let all = device.reduce_segments(values, offsets, AllWhere(comparison)).unwrap();
            assert_eq!(counts.len(), offsets.len() - 1);
            for (i, segment) in segments(values, offsets).enumerate() {
                let holds = |x: &&T| comparison.holds(**x);
                let name = format!("{}, {comparison:?}, segment {i}", T::NAME);
                assert_eq!(counts[i], segment.iter().filter(holds).count() as u64, "{name}");
                assert_eq!(any[i], counts[i] > 0, "{name}");
                assert_eq!(all[i], counts[i] == segment.len() as u64, "{name}");
            }
        }
    }
    fn of<T: Item>(mut value: impl FnMut() -> T, offsets: &[u32], device: &Device)
    where
        CountWhere<T>: SegmentOperation<T, Output = u64>,
        AnyWhere<T>: SegmentOperation<T, Output = bool>,
        AllWhere<T>: SegmentOperation<T, Output = bool>,
    {
        let n = *offsets.last().unwrap() as usize;
        let values: Vec<T> = (0..n).map(|_| value()).collect();
        check(device, &values, offsets);
    }
    let offsets = offsets(3, &[1, 0, 1, 2, 3, 40, 0, 0, 700, 5, 5, 5, 9000, 33, 1]);
    for device in devices() {
        of::<i8>(integers(), &offsets, &device);
        of::<u8>(integers(), &offsets, &device);
        of::<i16>(integers(), &offsets, &device);
        of::<u16>(integers(), &offsets, &device);
        of::<i32>(integers(), &offsets, &device);
        of::<u32>(integers(), &offsets, &device);
        of::<i64>(integers(), &offsets, &device);
        of::<u64>(integers(), &offsets, &device);
        of::<f16>(floats(f16::from_f32), &offsets, &device);
        of::<bf16>(floats(bf16::from_f32), &offsets, &device);
        of::<f32>(floats(|x| x), &offsets, &device);
        of::<f64>(floats(f64::from), &offsets, &device);
    }
}
