//! Each operation and type: a segment has the result of a row of the same elements.

use std::fmt::Debug;

use rand::{Rng, distr::StandardUniform, prelude::Distribution};
use warpfold::{
    AllWhere, AnyWhere, ArgMax, ArgMin, Array, CountWhere, Device, Is, Item, Max, Min, MinMax,
    Moments, RowOperation, SegmentOperation, Sum,
    half::{bf16, f16},
};

use super::{offsets, seed::random, segments, support::devices};

/// Compares the segments with rows, as text that shows each bit.
fn check<T: Item, O>(device: &Device, values: &[T], offsets: &[u32])
where
    O: RowOperation<T> + SegmentOperation<T> + Default,
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

fn check_all<T: Item>(device: &Device, value: impl FnMut() -> T, offsets: &[u32])
where
    Sum: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    Min: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    Max: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    MinMax: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    ArgMin: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    ArgMax: RowOperation<T> + SegmentOperation<T, Output: Debug>,
    Moments: RowOperation<T> + SegmentOperation<T, Output: Debug>,
{
    let n = *offsets.last().unwrap() as usize;
    let values: Vec<T> = std::iter::repeat_with(value).take(n).collect();
    check::<T, Sum>(device, &values, offsets);
    check::<T, Min>(device, &values, offsets);
    check::<T, Max>(device, &values, offsets);
    check::<T, MinMax>(device, &values, offsets);
    check::<T, ArgMin>(device, &values, offsets);
    check::<T, ArgMax>(device, &values, offsets);
    check::<T, Moments>(device, &values, offsets);
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

#[test]
fn a_segment_is_as_a_row() {
    let offsets = offsets(3, &[1, 1, 2, 3, 40, 1, 700, 5, 5, 5, 9000, 33, 1]);
    for device in devices() {
        check_all::<u8>(&device, integers(), &offsets);
        check_all::<i32>(&device, integers(), &offsets);
        check_all::<u32>(&device, integers(), &offsets);
        check_all::<i64>(&device, integers(), &offsets);
        check_all::<u64>(&device, integers(), &offsets);
        check_all::<f16>(&device, floats(f16::from_f32), &offsets);
        check_all::<bf16>(&device, floats(bf16::from_f32), &offsets);
        check_all::<f32>(&device, floats(|x| x), &offsets);
        check_all::<f64>(&device, floats(f64::from), &offsets);
    }
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
