//! The order in which a row's elements are combined, which the documentation of the kernel states:
//! a plain program that keeps it gives the same bits.

use rand::Rng;
use warpfold::{Array, Product, Sum, device::DeviceClass};

use super::{LENGTHS, all_devices as devices, seed::random, tree};

#[test]
fn the_order_is_the_documented_tree() {
    let mut random = random();
    let mut lengths = LENGTHS.to_vec();
    // Rows of several teams of 4 tiles, which meet once, and twice if they are more than 1024.
    lengths.extend([17_000, 33_000, 100_003, 1_200_001, 4_300_000]);
    for device in devices() {
        for &length in &lengths {
            let rows = (3000 / length).clamp(1, 300) + 1;
            let values: Vec<f32> =
                (0..rows * length).map(|_| random.random_range(-1.0f32..1.0).powi(9)).collect();
            let matrix = Array::new(&values, &[rows as u64, length as u64]).unwrap();
            let results = device.reduce_rows(&matrix, Sum).unwrap();
            for (row, result) in values.chunks(length).zip(results) {
                assert_eq!(result, tree::sum(row), "{rows} rows of {length}");
            }
        }
    }
}

/// Neighbouring columns are read in other ways than rows in one piece, and which way it is depends
/// on how many there are and where they lie.
#[test]
fn the_order_of_columns_is_the_same_tree() {
    let mut random = random();
    let widths = [2usize, 3, 6, 8, 10, 30, 34, 62, 64, 66, 128, 130, 300];
    for device in devices() {
        for width in widths {
            for length in [31usize, 32, 33, 36, 47, 64, 96, 200, 1000, 4099, 70_000, 150_000] {
                let n = width * length;
                if n > 1_200_000 {
                    continue;
                }
                let values: Vec<f32> =
                    (0..n).map(|_| random.random_range(-1.0f32..1.0).powi(9)).collect();
                // Of the steps, so many are the faster of two axes, between which the columns have
                // an axis of their own.
                for inner in [1, 10, 32, 100] {
                    if !length.is_multiple_of(inner) || !width.is_multiple_of(2) && inner > 1 {
                        continue;
                    }
                    let outer = if inner == 1 { 1 } else { 2 };
                    let shape = [length / inner, outer, inner, width / outer];
                    let array = Array::new(&values, &shape.map(|size| size as u64)).unwrap();
                    let results = device.reduce_axes(&array, &[0, 2], Sum).unwrap();
                    assert_eq!(results.len(), width);
                    for (number, result) in results.into_iter().enumerate() {
                        let (b, d) = (number / shape[3], number % shape[3]);
                        let column: Vec<f32> = (0..length)
                            .map(|step| (step / inner, step % inner))
                            .map(|(a, c)| values[((a * outer + b) * inner + c) * shape[3] + d])
                            .collect();
                        assert_eq!(result, tree::sum(&column), "{shape:?}, column {number}");
                    }
                }
            }
        }
    }
}

/// Rows of up to eight tiles of 1024 elements have as many warps of a block, and longer ones other
/// warps. How many rows a block has depends on the device: to a small one, each array is large.
#[test]
fn the_order_of_rows_of_few_tiles_is_the_same_tree() {
    let mut random = random();
    for device in devices() {
        for multiprocessors in [1, 132] {
            // An older device has no such kernel.
            let class = DeviceClass::new(multiprocessors, false, (9, 0));
            let Ok(device) = device.with_class(class) else { continue };
            for tiles in 1..=9 {
                for length in [1024 * tiles - 1, 1024 * tiles, 1024 * tiles + 1] {
                    for (rows, offset) in [(1, 0), (3, 1)] {
                        let values: Vec<f32> = (0..offset + rows * length)
                            .map(|_| random.random_range(-1.0f32..1.0).powi(9))
                            .collect();
                        let shape = [rows, length].map(|size| size as u64);
                        let strides = [length as i64, 1];
                        let matrix =
                            Array::with_strides(&values, &shape, &strides, offset as u64).unwrap();
                        let results = device.reduce_rows(&matrix, Sum).unwrap();
                        let name = format!("{rows} rows of {length} from {offset} on");
                        assert_eq!(results.len(), rows, "{name}");
                        for (row, result) in values[offset..].chunks(length).zip(results) {
                            assert_eq!(result, tree::sum(row), "{name}");
                        }
                    }
                }
            }
        }
    }
}

/// The products of floats near 1, which a wrong order or a lost element changes as well.
#[test]
fn no_element_is_lost_or_taken_twice() {
    for device in devices() {
        for length in LENGTHS {
            let values: Vec<u64> = (0..3 * length as u64).map(|i| 2 * i + 1).collect();
            let matrix = Array::new(&values, &[3, length as u64]).unwrap();
            let expected: Vec<u64> = values
                .chunks(length)
                .map(|row| row.iter().fold(1, |product: u64, &x| product.wrapping_mul(x)))
                .collect();
            assert_eq!(device.reduce_rows(&matrix, Product).unwrap(), expected, "{length}");
        }
    }
}
