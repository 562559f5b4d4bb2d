//! A result's bits depend on its row's elements and their number alone.

use rand::{Rng, seq::SliceRandom};
use warpfold::{
    ArgMax, Array, CompensatedSum, Device, Item, LogSumExp, Moments, RowOperation, SoftmaxStats,
    Sum, device::DeviceClass, half::f16,
};

use super::{all_devices as devices, seed::random};

/// Elements whose sum depends on the order.
fn values(n: usize) -> Vec<f32> {
    let mut random = random();
    (0..n).map(|_| random.random_range(-1.0f32..1.0).powi(15) * 1e4).collect()
}

/// The results of one operation over rows, as text that shows each bit.
fn text<T: Item, O: RowOperation<T> + Default>(
    device: &Device,
    values: &[T],
    shape: &[u64],
    strides: &[i64],
    offset: u64,
) -> Vec<String>
where
    O::Output: std::fmt::Debug,
{
    let array = Array::with_strides(values, shape, strides, offset).unwrap();
    let results = device.reduce_axes(&array, &[-1], O::default()).unwrap();
    results.iter().map(|result| format!("{result:?}")).collect()
}

/// Checks that the row `row` has the same result wherever it lies.
fn check<T: Item, O: RowOperation<T> + Default>(device: &Device, row: &[T], others: &[T])
where
    O::Output: std::fmt::Debug,
{
    let n = row.len() as i64;
    let alone = text::<T, O>(device, row, &[1, n as u64], &[n, 1], 0);
    let name = format!("{} of {} elements of {}", O::NAME, n, T::NAME);
    // Behind 0 to 35 other elements.
    for before in [1, 2, 3, 5, 16, 35] {
        let mut shifted = others[..before].to_vec();
        shifted.extend_from_slice(row);
        let found = text::<T, O>(device, &shifted, &[1, n as u64], &[n, 1], before as u64);
        assert_eq!(found, alone, "{name} behind {before} others");
    }
    // Among other rows, next to each other or with a gap.
    for (rows, gap) in [(2, 0), (3, 1), (40, 0), (70, 3)] {
        let pitch = row.len() + gap;
        let mut matrix: Vec<T> = others.iter().copied().cycle().take(rows * pitch).collect();
        matrix[(rows - 1) * pitch..][..row.len()].copy_from_slice(row);
        let found = text::<T, O>(device, &matrix, &[rows as u64, n as u64], &[pitch as i64, 1], 0);
        assert_eq!(found[rows - 1], alone[0], "{name} among {rows} with a gap of {gap}");
    }
    // As a column of a matrix, of which it is one of several; and backwards in memory.
    for columns in [2usize, 3, 4, 7, 32, 33, 64] {
        let mut matrix: Vec<T> = others.iter().copied().cycle().take(columns * row.len()).collect();
        for (step, &element) in row.iter().enumerate() {
            matrix[step * columns + columns / 2] = element;
        }
        let strides = [1, columns as i64];
        let found = text::<T, O>(device, &matrix, &[columns as u64, n as u64], &strides, 0);
        assert_eq!(found[columns / 2], alone[0], "{name} as one of {columns} columns");
    }
    let reversed: Vec<T> = row.iter().rev().copied().collect();
    let found = text::<T, O>(device, &reversed, &[1, n as u64], &[0, -1], n as u64 - 1);
    assert_eq!(found, alone, "{name} backwards");
}

#[test]
fn neither_place_nor_neighbours_change_a_bit() {
    let values = values(60_000);
    let (halves, doubles): (Vec<f16>, Vec<f64>) =
        values.iter().map(|&x| (f16::from_f32(x / 64.0), f64::from(x) / 3.0)).collect();
    for device in devices() {
        for n in [1, 5, 31, 33, 100, 1023, 1025, 5000] {
            check::<f32, Sum>(&device, &values[..n], &values[20_000..]);
            check::<f32, Moments>(&device, &values[..n], &values[20_000..]);
            check::<f16, Sum>(&device, &halves[..n], &halves[20_000..]);
            check::<f64, Sum>(&device, &doubles[..n], &doubles[20_000..]);
            check::<f64, CompensatedSum>(&device, &doubles[..n], &doubles[20_000..]);
            check::<f32, LogSumExp>(&device, &values[..n], &values[20_000..]);
            check::<f64, SoftmaxStats>(&device, &doubles[..n], &doubles[20_000..]);
        }
    }
}

/// The number of multiprocessors decides how rows are divided among warps, and the generation which
/// PTX runs.
#[test]
fn no_class_of_device_changes_a_bit() {
    let values = values(300_000);
    let mut all = Vec::new();
    for device in devices() {
        for multiprocessors in [1, 3, 16, 132, 1000] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                let mut found = text::<f32, Sum>(&device, &values, &[1, 300_000], &[0, 1], 0);
                found.extend(text::<f32, Sum>(&device, &values, &[7, 40_000], &[40_000, 1], 5));
                found.extend(text::<f32, Sum>(&device, &values, &[40, 7000], &[1, 40], 0));
                found.extend(text::<f32, Moments>(&device, &values, &[100, 999], &[1001, 1], 0));
                found.extend(text::<f32, SoftmaxStats>(&device, &values, &[7, 9000], &[1, 7], 0));
                all.push(found);
            }
        }
    }
    assert!(all.len() >= 10);
    assert!(all.iter().all(|found| *found == all[0]));
}

/// Rows that a lane takes by itself have the bits of rows behind a gap, and of those that begin
/// anywhere. The host thinks that the device is small, so that all lanes have several rows.
fn check_short<T: Item, O: RowOperation<T> + Default>(device: &Device, values: &[T], length: usize)
where
    O::Output: std::fmt::Debug,
{
    let (rows, n) = (203, length as i64);
    let shape = [rows as u64, length as u64];
    let packed = &values[..rows * length];
    let found = text::<T, O>(device, packed, &shape, &[n, 1], 0);
    let shifted = [&values[..1], packed].concat();
    let name = format!("{} of {length} elements of {}", O::NAME, T::NAME);
    assert_eq!(text::<T, O>(device, &shifted, &shape, &[n, 1], 1), found, "{name}, shifted");
    let apart: Vec<T> =
        packed.chunks(length).flat_map(|row| row.iter().chain(&values[..3])).copied().collect();
    assert_eq!(text::<T, O>(device, &apart, &shape, &[n + 3, 1], 0), found, "{name}, apart");
    let backwards: Vec<T> = packed.iter().rev().copied().collect();
    let last = packed.len() as u64 - 1;
    assert_eq!(text::<T, O>(device, &backwards, &shape, &[-n, -1], last), found, "{name}, back");
}

#[test]
fn rows_of_one_lane_have_the_same_bits() {
    let floats = values(40_000);
    let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x) / 3.0).collect();
    let halves: Vec<f16> = floats.iter().map(|&x| f16::from_f32(x / 64.0)).collect();
    let bytes: Vec<u8> = floats.iter().map(|&x| x as i32 as u8).collect();
    for device in devices() {
        let Ok(small) = device.with_class(DeviceClass::new(1, false, (9, 0))) else { continue };
        for length in (1..=16).chain([17, 20, 24, 28, 31, 32, 33, 35, 36, 40, 48, 63, 64, 65]) {
            check_short::<f32, Sum>(&small, &floats, length);
            check_short::<f32, Moments>(&small, &floats, length);
            check_short::<f32, LogSumExp>(&small, &floats, length);
            check_short::<f32, ArgMax>(&small, &floats, length);
            check_short::<f64, Sum>(&small, &doubles, length);
            check_short::<f64, Moments>(&small, &doubles, length);
            check_short::<u8, Sum>(&small, &bytes, length);
            check_short::<f16, LogSumExp>(&small, &halves, length);
        }
        for length in [66, 67, 72, 80, 127, 128, 129, 144, 150] {
            check_short::<f16, Moments>(&small, &halves, length);
            check_short::<u8, Moments>(&small, &bytes, length);
            check_short::<u8, Sum>(&small, &bytes, length);
        }
    }
}

/// So many tiles of a column that a task has 16 of them, and each column of a lane needs a stack of
/// four accumulators. The host thinks that the device is small, so that tasks are long.
#[test]
fn long_tasks_of_columns_change_no_bit() {
    let (length, columns) = (400_037, 8);
    let values = values(length * columns);
    let transposed: Vec<f32> =
        (0..columns).flat_map(|column| values[column..].iter().step_by(columns).copied()).collect();
    let (shape, across) = ([columns as u64, length as u64], [1, columns as i64]);
    for device in devices() {
        let Ok(small) = device.with_class(DeviceClass::new(1, false, (9, 0))) else { continue };
        let along = [length as i64, 1];
        let rows = text::<f32, Moments>(&small, &transposed, &shape, &along, 0);
        assert_eq!(text::<f32, Moments>(&small, &values, &shape, &across, 0), rows);
        let rows = text::<f32, ArgMax>(&small, &transposed, &shape, &along, 0);
        assert_eq!(text::<f32, ArgMax>(&small, &values, &shape, &across, 0), rows);
    }
}

/// The order of the rows and of the axes does not matter to any of them.
#[test]
fn permuted_rows_are_permuted_results() {
    let (rows, length) = (257, 123);
    let values = values(rows * length);
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut random());
    let permuted: Vec<f32> =
        order.iter().flat_map(|&row| &values[row * length..][..length]).copied().collect();
    for device in devices() {
        let sums = |values: &[f32]| {
            let matrix = Array::new(values, &[rows as u64, length as u64]).unwrap();
            device.reduce_rows(&matrix, Sum).unwrap()
        };
        let (plain, found) = (sums(&values), sums(&permuted));
        for (&row, sum) in order.iter().zip(found) {
            assert_eq!(sum.to_bits(), plain[row].to_bits(), "row {row}");
        }
    }
}
