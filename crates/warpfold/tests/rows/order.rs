//! The order in which a row's elements are combined, which the documentation of the kernel states:
//! a plain program that keeps it gives the same bits.

use rand::Rng;
use warpfold::{Array, Product, Sum};

use super::{LENGTHS, random, support::devices};

/// The sum of a part: packs of four one after the other, then single elements.
fn part(elements: &[f32]) -> f32 {
    let packs = elements.chunks_exact(4);
    let rest = packs.remainder();
    let packs = packs.fold(0.0, |sum, x| sum + ((x[0] + x[1]) + (x[2] + x[3])));
    rest.iter().fold(packs, |sum, x| sum + x)
}

/// The sum of a row: its parts of 32 elements in a tree, in which neighbours meet first.
fn sum(row: &[f32]) -> f32 {
    let mut level: Vec<f32> = row.chunks(32).map(part).collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap())
            .collect();
    }
    level[0]
}

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
                assert_eq!(result, sum(row), "{rows} rows of {length}");
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
