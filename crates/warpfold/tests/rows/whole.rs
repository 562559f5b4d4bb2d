//! Where the least and the greatest element of each row are in the whole array.

use rand::Rng;
use warpfold::{
    ArgMax, ArgMaximum, ArgMin, ArgMinimum, Array, Device, Error, Indexed, Operation, RowOperation,
};

use super::{seed::random, support::devices};

/// All indices of an array of this shape, in C order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |all, &size| {
        all.iter().flat_map(|one| (0..size).map(|i| [&one[..], &[i]].concat())).collect()
    })
}

/// The numbers of the elements in the whole of an array of this shape, row by row: those that have
/// the same index along each axis that is not reduced.
fn rows(shape: &[u64], axes: &[isize]) -> Vec<Vec<u64>> {
    let is_reduced = |axis: usize| {
        axes.iter().any(|&named| named.rem_euclid(shape.len() as isize) as usize == axis)
    };
    let of_row = |index: &[u64]| {
        (0..shape.len()).filter(|&axis| !is_reduced(axis)).map(|axis| index[axis]).collect()
    };
    let mut rows = std::collections::BTreeMap::<Vec<u64>, Vec<u64>>::new();
    for (number, index) in (0..).zip(indices(shape)) {
        rows.entry(of_row(&index)).or_default().push(number);
    }
    rows.into_values().collect()
}

/// Ranks, shapes and axes: axes in front, in the middle and at the end, several and all of them.
const CASES: [(&[u64], &[isize]); 12] = [
    (&[5, 7], &[1]),
    (&[5, 7], &[0]),
    (&[7], &[0]),
    (&[4, 3, 5], &[1]),
    (&[4, 3, 5], &[0, 2]),
    (&[4, 3, 5], &[-1, 0]),
    (&[4, 3, 5], &[2, 1]),
    (&[4, 3, 5], &[0, 1, 2]),
    (&[4, 3, 5], &[]),
    (&[2, 1, 3, 4], &[1, -2]),
    (&[33, 2, 65], &[-3]),
    (&[2, 1025, 3], &[1]),
];

#[test]
fn an_index_in_a_row_is_one_in_the_whole() {
    for (shape, axes) in CASES {
        let n = shape.iter().product::<u64>();
        let whole = Array::new(&vec![0u8; n as usize], shape).unwrap().whole(axes).unwrap();
        for (row, elements) in (0..).zip(rows(shape, axes)) {
            for (index, number) in (0..).zip(elements) {
                assert_eq!(whole.index(row, index), number, "{shape:?} along {axes:?}");
            }
        }
    }
}

/// Checks the results of an operation over arrays whose element number `i` in C order lies at
/// `place(index)`, against the first of the best elements of each row.
fn check<O>(device: &Device, is_better: impl Fn(f32, f32) -> bool)
where
    O: RowOperation<f32> + Default + Operation<f32, Output = Indexed<f32>>,
{
    let mut random = random();
    for (shape, axes) in CASES {
        // C order, then axes that run backwards, then an axis that repeats its first element.
        for kind in 0..3 {
            let mut strides = vec![0i64; shape.len()];
            let (mut stride, mut offset) = (1, 0);
            for axis in 0..shape.len() {
                let reach = stride * (shape[axis] as i64 - 1);
                match kind {
                    1 => (strides[axis], offset) = (-stride, offset + reach),
                    2 if axis == 0 => continue,
                    _ => strides[axis] = stride,
                }
                stride *= shape[axis] as i64;
            }
            let few: Vec<f32> =
                (0..stride).map(|_| f32::from(random.random_range(-20i8..20))).collect();
            let value = |index: &Vec<u64>| {
                let steps = index.iter().zip(&strides).map(|(&i, stride)| i as i64 * stride);
                few[(offset + steps.sum::<i64>()) as usize]
            };
            let values: Vec<f32> = indices(shape).iter().map(value).collect();
            let array = Array::with_strides(&few, shape, &strides, offset as u64).unwrap();
            let of_rows = device.reduce_axes(&array, axes, O::default()).unwrap();
            let found = array.whole(axes).unwrap().results(of_rows.clone());
            let rows = rows(shape, axes);
            assert_eq!(found.len(), rows.len());
            for ((found, of_row), row) in found.iter().zip(of_rows).zip(rows) {
                let best = row.iter().copied().reduce(|best, other| {
                    let (b, o) = (values[best as usize], values[other as usize]);
                    if is_better(o, b) { other } else { best }
                });
                let name = format!("{} of {shape:?} along {axes:?}, {strides:?}", O::NAME);
                assert_eq!(Some(found.index), best, "{name}");
                assert_eq!(found.value, values[found.index as usize], "{name}");
                assert_eq!(row[of_row.index as usize], found.index, "{name}");
            }
        }
    }
}

#[test]
fn results_with_the_index_in_the_whole() {
    for device in devices() {
        check::<ArgMin>(&device, |other, best| other < best);
        check::<ArgMax>(&device, |other, best| other > best);
        check::<ArgMinimum>(&device, |other, best| other < best);
        check::<ArgMaximum>(&device, |other, best| other > best);
    }
}

#[test]
fn shapes_without_elements_and_wrong_axes() {
    let nothing: [f32; 0] = [];
    let empty = Array::new(&nothing, &[2, 0, 3]).unwrap();
    assert!(empty.whole(&[1]).unwrap().results(Vec::<Indexed<f32>>::new()).is_empty());
    let matrix = Array::new(&[0u8; 6], &[2, 3]).unwrap();
    assert!(matches!(matrix.whole(&[2]), Err(Error::Axis { axis: 2, rank: 2 })));
    assert!(matches!(matrix.whole(&[-1, 1]), Err(Error::AxisTwice { axis: 1 })));
}
