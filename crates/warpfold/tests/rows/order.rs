//! The order in which a row's elements are combined, which the documentation of the kernel states:
//! a plain program that keeps it gives the same bits.

use rand::Rng;
use warpfold::{Array, Product, Sum};

use super::{LENGTHS, seed::random, support::devices, tree};

#[test]
fn the_order_is_the_documented_tree() {
    let mut random = random();
    let mut lengths = LENGTHS.to_vec();
    // Rows of more than 32 tiles, and of more than 32 * 32 on the simulator.
    lengths.extend([33_000, 100_003, 1_200_001]);
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
