//! Rows of two arrays, whose elements are taken in pairs.

use rand::Rng;
use warpfold::{
    Array, Buffer, Device, Dot, Error, Item, SquaredDistance, Stream, Sum,
    testing::{Instrument, Seen},
};

use super::{LENGTHS, seed::random, support::devices, tree};

/// An array of any strides and its memory.
struct Case {
    values: Vec<f32>,
    shape: Vec<u64>,
    strides: Vec<i64>,
    offset: u64,
}

impl Case {
    /// Small whole numbers, whose sums of products are exact in any order.
    fn new(random: &mut impl Rng, shape: &[u64]) -> Self {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.random_range(0..=i));
        }
        let (mut strides, mut stride, mut offset) = (vec![0; shape.len()], 1i64, 0i64);
        for axis in order {
            match random.random_range(0..8) {
                0 => continue,
                1 => {
                    strides[axis] = -stride;
                    offset += stride * (shape[axis] as i64 - 1);
                }
                _ => strides[axis] = stride,
            }
            stride = stride * shape[axis] as i64 + [0, 0, 1, 4][random.random_range(0..4)];
        }
        let shift = random.random_range(0..5);
        let values = (0..stride + shift).map(|_| random.random_range(-8..8) as f32).collect();
        Self { values, shape: shape.to_vec(), strides, offset: (offset + shift) as u64 }
    }

    fn array(&self) -> Array<&Vec<f32>> {
        Array::with_strides(&self.values, &self.shape, &self.strides, self.offset).unwrap()
    }

    /// The element at these indices of a shape that this one is broadcast to.
    fn at(&self, indices: &[u64]) -> f32 {
        let skipped = indices.len() - self.shape.len();
        let own = indices[skipped..].iter().zip(&self.shape).zip(&self.strides);
        let place = own.fold(self.offset as i64, |place, ((&index, &size), stride)| {
            place + if size == 1 { 0 } else { index as i64 } * stride
        });
        self.values[place as usize]
    }
}

/// The dot products of the rows, by a plain program.
fn expected(first: &Case, second: &Case, shape: &[u64], axes: &[isize]) -> Vec<f32> {
    let is_reduced = |axis: usize| axes.contains(&(axis as isize));
    let mut results = vec![
        0.0;
        (0..shape.len())
            .filter(|&axis| !is_reduced(axis))
            .map(|axis| shape[axis] as usize)
            .product()
    ];
    for number in 0..shape.iter().product::<u64>() {
        let (mut rest, mut indices) = (number, vec![0; shape.len()]);
        for axis in (0..shape.len()).rev() {
            indices[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        let kept = (0..shape.len()).filter(|&axis| !is_reduced(axis));
        let row = kept.fold(0, |row, axis| row * shape[axis] + indices[axis]);
        results[row as usize] += first.at(&indices) * second.at(&indices);
    }
    results
}

#[test]
fn any_strides_shapes_and_axes() {
    let mut random = random();
    for device in devices() {
        for _ in 0..150 {
            let rank = random.random_range(1..=4);
            let most = [9000, 130, 27, 11][rank - 1];
            let shape: Vec<u64> = (0..rank).map(|_| random.random_range(1..=most)).collect();
            let mut broadcast = |shape: &[u64]| -> Vec<u64> {
                let missing =
                    if random.random_bool(0.3) { random.random_range(0..=rank) } else { 0 };
                let sizes = shape[missing..].iter();
                sizes.map(|&size| if random.random_bool(0.2) { 1 } else { size }).collect()
            };
            let own = broadcast(&shape);
            let (first, second) = (Case::new(&mut random, &shape), Case::new(&mut random, &own));
            let axes: Vec<isize> = (0..rank as isize).filter(|_| random.random_bool(0.5)).collect();
            let wanted = expected(&first, &second, &shape, &axes);
            let (a, b) = (first.array(), second.array());
            let what =
                || format!("{a:?} {b:?} {axes:?}").replace(&format!("{:?}", first.values), "");
            assert_eq!(device.reduce_axes((&a, &b), &axes, Dot).unwrap(), wanted, "{}", what());
            assert_eq!(device.reduce_axes((&b, &a), &axes, Dot).unwrap(), wanted, "{}", what());
        }
    }
}

#[test]
fn rows_with_rows_and_with_one_vector() {
    let mut random = random();
    for device in devices() {
        for length in LENGTHS.into_iter().chain([33_000, 300_000]) {
            let rows = (5000 / length).clamp(1, 70) + 1;
            let mut values = |count: usize| -> Vec<f32> {
                (0..count).map(|_| random.random_range(-2..3) as f32).collect()
            };
            let (a, b, vector) = (values(rows * length), values(rows * length), values(length));
            let shape = [rows as u64, length as u64];
            let (a2, b2) = (Array::new(&a, &shape).unwrap(), Array::new(&b, &shape).unwrap());
            let v = Array::new(&vector, &[length as u64]).unwrap();
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let wanted: Vec<f32> =
                a.chunks(length).zip(b.chunks(length)).map(|(a, b)| dot(a, b)).collect();
            assert_eq!(device.reduce_rows((&a2, &b2), Dot).unwrap(), wanted, "{rows} of {length}");
            let wanted: Vec<f32> = a.chunks(length).map(|a| dot(a, &vector)).collect();
            assert_eq!(device.reduce_rows((&a2, &v), Dot).unwrap(), wanted, "{rows} of {length}");
        }
    }
}

/// Both arrays are broadcast, one along the rows and one along the steps.
#[test]
fn both_arrays_are_broadcast() {
    for device in devices() {
        for (rows, length) in [(1, 1), (3, 5), (40, 33), (33, 1025), (2, 9000)] {
            let column: Vec<i32> = (0..rows).map(|row| row * 3 - 4).collect();
            let line: Vec<i32> = (0..length).map(|step| step % 7 - 3).collect();
            let sum: i64 = line.iter().copied().map(i64::from).sum();
            let wanted: Vec<i64> = column.iter().map(|&x| i64::from(x) * sum).collect();
            let column = Array::new(&column, &[rows as u64, 1]).unwrap();
            let line = Array::new(&line, &[length as u64]).unwrap();
            assert_eq!(device.reduce_rows((&column, &line), Dot).unwrap(), wanted);
            assert_eq!(device.reduce_rows((&line, &column), Dot).unwrap(), wanted);
        }
    }
}

/// A plain program that keeps the documented order gives the same bits, however the arrays lie.
#[test]
fn the_order_is_the_documented_tree() {
    let mut random = random();
    for device in devices() {
        for length in LENGTHS.into_iter().chain([33_000, 300_001]) {
            let rows = (3000 / length).clamp(1, 300) + 1;
            let mut values = |count: usize| -> Vec<f32> {
                (0..count).map(|_| random.random_range(-1.0f32..1.0).powi(5)).collect()
            };
            let (a, b) = (values(rows * length), values(rows * length));
            // The elements of the second array lie by columns, too.
            let mut columns = vec![0.0; b.len()];
            for (place, &x) in b.iter().enumerate() {
                columns[place % length * rows + place / length] = x;
            }
            let shape = [rows as u64, length as u64];
            let first = Array::new(&a, &shape).unwrap();
            let second = Array::new(&b, &shape).unwrap();
            let by_columns = Array::with_strides(&columns, &shape, &[1, rows as i64], 0).unwrap();
            let found = device.reduce_rows((&first, &second), Dot).unwrap();
            let found_by_columns = device.reduce_rows((&first, &by_columns), Dot).unwrap();
            let pairs = || a.chunks(length).zip(b.chunks(length));
            for ((row, found), by_columns) in pairs().zip(found).zip(found_by_columns) {
                let products: Vec<f32> = row.0.iter().zip(row.1).map(|(a, b)| a * b).collect();
                let wanted = tree::sum_of_parts(&products, 16);
                assert_eq!([found, by_columns], [wanted; 2], "{rows} rows of {length}");
            }
        }
    }
}

/// A stream takes the work, and a graph repeats it with what the arrays hold then.
#[test]
fn pairs_are_captured() {
    for device in devices() {
        let mut first = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let vector = device.upload(&[1.0f32, 10.0, 100.0]).unwrap();
        let mut output = device.alloc::<f32>(2).unwrap();
        let dot = device.row_reducer::<f32, _>(Dot).unwrap();
        let run = |first: &Buffer<f32>, output: &mut Buffer<f32>, stream: &Stream| {
            let first = Array::new(first, &[2, 3]).unwrap();
            let vector = Array::new(&vector, &[3]).unwrap();
            dot.reduce_rows_into((&first, &vector), output, stream)
        };
        let stream = device.stream().unwrap();
        let pending = run(&first, &mut output, &stream).unwrap();
        stream.synchronize().unwrap();
        let raw = output.copy_to_host().unwrap();
        assert_eq!(
            raw.iter().map(|&raw| pending.finish(raw).unwrap()).collect::<Vec<_>>(),
            [321.0, 654.0]
        );

        let (graph, ()) =
            device.capture(|stream| run(&first, &mut output, stream).map(drop)).unwrap();
        first.copy_from_host(&[2.0f32; 6]).unwrap();
        graph.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(output.copy_to_host().unwrap(), [222.0; 2]);

        let mut small = device.alloc::<f32>(1).unwrap();
        let refused = run(&first, &mut small, &stream).map(drop);
        assert!(matches!(refused, Err(Error::Outputs { results: 2, len: 1 })), "{refused:?}");
    }
}

#[test]
fn rows_without_elements_have_the_result_0() {
    for device in devices() {
        let none = [0i32; 0];
        let (rows, vector) =
            (Array::new(&none, &[3, 0]).unwrap(), Array::new(&none, &[0]).unwrap());
        assert_eq!(device.reduce_rows((&rows, &vector), Dot).unwrap(), [0; 3]);
        let (no_rows, one) =
            (Array::new(&none, &[0, 3]).unwrap(), Array::new(&[7], &[1, 1]).unwrap());
        assert_eq!(device.reduce_rows((&no_rows, &one), SquaredDistance).unwrap(), [0i64; 0]);
        assert_eq!(device.reduce_axes((&no_rows, &one), &[0], Dot).unwrap(), [0; 3]);
    }
}

/// The bits of a row are its own, whatever lies beside it and wherever it lies.
#[test]
fn a_row_has_the_same_bits_alone() {
    let mut random = random();
    for device in devices() {
        for length in LENGTHS {
            let rows = 5;
            let mut values = |count: usize| -> Vec<f32> {
                (0..count).map(|_| random.random_range(-1.0f32..1.0).powi(5)).collect()
            };
            let (a, b) = (values(rows * length), values(rows * length + 3));
            let shape = [rows as u64, length as u64];
            let first = Array::new(&a, &shape).unwrap();
            let strides = [length as i64, 1];
            let second = Array::with_strides(&b, &shape, &strides, 3).unwrap();
            let together = device.reduce_rows((&first, &second), Dot).unwrap();
            for (row, result) in together.into_iter().enumerate() {
                let own = row * length..(row + 1) * length;
                let (a, b) = (a[own.clone()].to_vec(), b[3..][own].to_vec());
                let one = [1, length as u64];
                let (a, b) = (Array::new(&a, &one).unwrap(), Array::new(&b, &one).unwrap());
                assert_eq!(device.reduce_rows((&a, &b), Dot).unwrap(), [result], "{length}");
            }
        }
    }
}

#[test]
fn wrong_input_is_refused() {
    let device = Device::simulator();
    let values = [1.0f32; 12];
    let array = |shape: &[u64]| Array::new(&values, shape).unwrap();
    let (a, b) = (array(&[3, 4]), array(&[4, 3]));
    let result = device.reduce_rows((&a, &b), Dot);
    assert!(matches!(result, Err(Error::Shapes { .. })), "{result:?}");
    let cube = array(&[2, 2, 3]);
    let result = device.reduce_rows((&cube, &cube), Dot);
    assert!(matches!(result, Err(Error::NotRows { rank: 3 })), "{result:?}");
    let line = array(&[12]);
    let result = device.reduce_rows((&line, &line), Dot);
    assert!(matches!(result, Err(Error::NotRows { rank: 1 })), "{result:?}");
    let (shape, ones) = ([2; 9], [1; 9]);
    let zeros = [0.0f32; 2];
    let first = Array::with_strides(&zeros, &shape, &[0; 9], 0);
    let (first, second) = (first.unwrap(), Array::new(&zeros[..1], &ones).unwrap());
    assert_eq!(device.reduce_axes((&first, &second), &[0, 1], Dot).unwrap().len(), 1 << 7);
    // No two axes of the first array can be merged.
    let uneven = Array::with_strides(&values, &shape, &[1, 0, 1, 0, 1, 0, 1, 0, 1], 0).unwrap();
    let result = device.reduce_axes((&second, &uneven), &[0], Dot);
    assert!(matches!(result, Err(Error::Rank { rank: 9 })), "{result:?}");
    let result = device.reduce_axes((&a, &a), &[2], Dot);
    assert!(matches!(result, Err(Error::Axis { axis: 2, rank: 2 })), "{result:?}");
}

/// No data race, and no read of memory that nobody wrote, in any way of staging.
#[test]
fn no_check_finds_anything() {
    let layouts: [([u64; 2], [i64; 2]); 8] = [
        ([300, 5], [5, 1]),
        ([40, 100], [100, 1]),
        ([40, 100], [0, 1]),
        ([40, 101], [103, 1]),
        ([3, 2051], [2051, 1]),
        ([3, 9000], [1, 3]),
        ([70, 900], [1, 71]),
        ([33, 77], [2, 66]),
    ];
    for (shape, strides) in layouts {
        for other in [strides, [shape[1] as i64, 1], [0, 1], [1, shape[0] as i64]] {
            let device = Device::simulator_with(Instrument::Check);
            let buffer = |strides: &[i64]| {
                let reach: i64 = shape.iter().zip(strides).map(|(&n, s)| (n as i64 - 1) * s).sum();
                device.upload(&vec![1.0f32; reach as usize + 1]).unwrap()
            };
            let (a, b) = (buffer(&strides), buffer(&other));
            let a = Array::with_strides(&a, &shape, &strides, 0).unwrap();
            let b = Array::with_strides(&b, &shape, &other, 0).unwrap();
            let results = device.reduce_rows((&a, &b), Dot).unwrap();
            assert_eq!(results, vec![shape[1] as f32; shape[0] as usize]);
            for observation in device.take_observations() {
                let Seen::Checked(checked) = observation.seen else { panic!("the device checks") };
                let reports: Vec<String> =
                    checked.reports.iter().map(ToString::to_string).collect();
                assert!(
                    reports.is_empty(),
                    "{shape:?} {strides:?} {other:?}:\n{}",
                    reports.join("\n")
                );
            }
        }
    }
}

/// Elements of each size, and both operations. An operation over one array takes one array still.
#[test]
fn types_of_other_sizes() {
    fn check<T: Item>(device: &Device, make: impl Fn(u32) -> T, wide: impl Fn(u32) -> T::Wide)
    where
        Dot: warpfold::ArraysOperation<T, Arity = warpfold::reducer::Pair, Output = T::Wide>,
        T::Wide: std::fmt::Debug + PartialEq,
    {
        for length in LENGTHS {
            let ones = vec![make(1); 3 * length];
            let twos = vec![make(2); 3 * length];
            let shape = [3, length as u64];
            let (a, b) = (Array::new(&ones, &shape).unwrap(), Array::new(&twos, &shape).unwrap());
            let found = device.reduce_rows((&a, &b), Dot).unwrap();
            assert_eq!(found, vec![wide(2 * length as u32); 3], "{} {length}", T::NAME);
        }
    }
    for device in devices() {
        check::<i8>(&device, |x| x as i8, i64::from);
        check::<u16>(&device, |x| x as u16, u64::from);
        check::<f64>(&device, f64::from, f64::from);
        check::<u128>(&device, u128::from, u128::from);
        let a = Array::new(&[1u8, 5, 2, 2], &[2, 2]).unwrap();
        let b = Array::new(&[4u8, 1], &[2]).unwrap();
        assert_eq!(device.reduce_rows((&a, &b), SquaredDistance).unwrap(), [25, 5]);
        assert_eq!(device.reduce_rows(&a, Sum).unwrap(), [6, 4]);
    }
}
