//! Arrays of any shape and strides, reduced along any axes: the same bits as their rows collected
//! one behind the other.

use rand::{Rng, seq::SliceRandom};
use warpfold::{
    ArgMin, Array, Device, Item, RowOperation, Sum, WrappingSum, device::DeviceClass, half::bf16,
};

use super::{all_devices as devices, seed::random, support};

/// An array: its shape, strides and offset.
#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    strides: Vec<i64>,
    offset: u64,
    /// The number of elements that the memory has.
    len: usize,
    axes: Vec<isize>,
}

impl Case {
    /// An array of these sizes, whose axes lie in memory in the order `order` (the first is the
    /// outermost), each with a gap behind its indices. A negative gap turns the axis around, and
    /// `None` repeats its first element.
    fn new(shape: &[u64], order: &[usize], gaps: &[Option<i64>], axes: &[isize]) -> Self {
        let mut strides = vec![0; shape.len()];
        let (mut stride, mut offset) = (1i64, 0);
        for &axis in order.iter().rev() {
            let Some(gap) = gaps[axis] else { continue };
            let reach = stride * (shape[axis] as i64 - 1);
            strides[axis] = if gap < 0 { -stride } else { stride };
            offset += if gap < 0 { reach } else { 0 };
            stride = stride * shape[axis] as i64 + gap.abs() / 2;
        }
        let shape = shape.to_vec();
        Self {
            shape,
            strides,
            offset: offset as u64,
            len: stride as usize + 1,
            axes: axes.to_vec(),
        }
    }

    /// The rows of the array, one behind the other, and the length of each.
    fn rows<T: Copy>(&self, values: &[T]) -> (Vec<T>, usize) {
        let rank = self.shape.len();
        let is_reduced = |axis: usize| {
            self.axes.iter().any(|&named| named.rem_euclid(rank as isize) as usize == axis)
        };
        let (kept, reduced): (Vec<usize>, Vec<usize>) =
            (0..rank).partition(|&axis| !is_reduced(axis));
        let places = |axes: &[usize]| {
            let mut places = vec![0i64];
            for &axis in axes {
                places = places
                    .iter()
                    .flat_map(|&place| {
                        (0..self.shape[axis] as i64).map(move |i| place + i * self.strides[axis])
                    })
                    .collect();
            }
            places
        };
        let steps = places(&reduced);
        let rows = places(&kept).into_iter().flat_map(|row| {
            steps.iter().map(move |step| (self.offset as i64 + row + step) as usize)
        });
        (rows.map(|place| values[place]).collect(), steps.len())
    }

    fn check<T: Item, O: RowOperation<T> + Default>(
        &self,
        device: &Device,
        make: impl Fn(usize) -> T,
    ) where
        O::Output: std::fmt::Debug,
    {
        let values: Vec<T> = (0..self.len).map(make).collect();
        let array = Array::with_strides(&values, &self.shape, &self.strides, self.offset).unwrap();
        let found = device.reduce_axes(&array, &self.axes, O::default()).unwrap();
        let (rows, length) = self.rows(&values);
        let matrix = Array::new(&rows, &[(rows.len() / length) as u64, length as u64]).unwrap();
        let expected = device.reduce_rows(&matrix, O::default()).unwrap();
        assert_eq!(
            format!("{found:?}"),
            format!("{expected:?}"),
            "{} of {}: {self:?}",
            O::NAME,
            T::NAME
        );
    }

    /// Checks elements of all sizes.
    fn check_all(&self, device: &Device) {
        let float = |i: usize| (i as f32 * 0.7).sin() * 10f32.powi(i as i32 % 7);
        self.check::<u8, WrappingSum>(device, |i| (i * i) as u8);
        self.check::<i8, ArgMin>(device, |i| (i * 37 % 251) as i8);
        self.check::<bf16, Sum>(device, |i| bf16::from_f32(float(i)));
        self.check::<f32, Sum>(device, float);
        self.check::<f64, Sum>(device, |i| f64::from(float(i)) / 3.0);
        self.check::<i128, ArgMin>(device, |i| (i as i128 * 0x1234_5678_9abc_def1) % 1_000_003);
    }
}

/// Columns, middle axes, and shapes at which the way of staging changes.
#[test]
fn usual_shapes() {
    for device in devices() {
        for (shape, axes) in [
            (vec![1000, 64], vec![0]),
            (vec![3000, 4], vec![0]),
            (vec![3001, 3], vec![0]),
            (vec![40, 257], vec![0]),
            (vec![257, 40], vec![0]),
            (vec![5, 5000], vec![0]),
            (vec![2, 33, 65], vec![1]),
            (vec![300, 5, 3], vec![1]),
            (vec![7, 9, 16, 16], vec![0, 2, 3]),
            (vec![7, 9, 16, 16], vec![1, 3]),
            (vec![6, 4, 5, 3, 7], vec![0, 2, 4]),
            (vec![6, 4, 5, 3, 7], vec![1, 3]),
            (vec![12, 100], vec![]),
            (vec![12, 100], vec![1, 0]),
            (vec![9, 1, 1, 50], vec![-1, 1]),
            (vec![70_000, 2], vec![0]),
            // Few columns of many tiles, which are narrower where the array fits into a cache.
            (vec![3000, 64], vec![0]),
            (vec![700, 130], vec![0]),
            // Short and long rows of whole packs, and tiles that end within a pack.
            (vec![3000, 4], vec![1]),
            (vec![1500, 24], vec![1]),
            (vec![101, 33], vec![1]),
            (vec![13, 1024], vec![1]),
            (vec![5, 8192], vec![1]),
            (vec![3, 20_480], vec![1]),
            (vec![2, 5001], vec![1]),
            // The two parts of complex numbers, and the channels of images.
            (vec![40, 33, 2], vec![1]),
            (vec![3, 700, 3], vec![1]),
            // Runs that end within a line of a tile.
            (vec![30, 5, 7, 7], vec![0, 2, 3]),
            // A line of a tile has several indices of three dimensions.
            (vec![3, 4, 2, 5, 3, 2], vec![1, 3, 5]),
            (vec![3, 9, 2, 7, 2, 11], vec![1, 3, 5]),
            (vec![3, 4, 2, 5, 3, 2], vec![0, 2, 4]),
        ] {
            let rank = shape.len();
            let order: Vec<usize> = (0..rank).collect();
            for gap in [0, 2, 8] {
                let mut gaps = vec![Some(0); rank];
                gaps[rank - 1] = Some(gap);
                Case::new(&shape, &order, &gaps, &axes).check_all(&device);
            }
        }
    }
}

/// The layouts that have a shorter way: bundles of few columns, as the coordinates of points, of
/// which a tile has several, or of which one has several tiles; channels of images, whose steps
/// have two dimensions; and columns of few steps. The host thinks that the device is small, so that
/// tiles have as many rows as there is room for.
#[test]
fn bundles_folds_and_short_columns() {
    for device in support::devices() {
        for generation in [(7, 5), (9, 0)] {
            let class = DeviceClass::new(1, false, generation);
            let Ok(small) = device.with_class(class) else { continue };
            for (shape, axes, gap) in [
                (vec![1000, 32, 2], vec![1], 0),
                (vec![700, 5, 3], vec![1], 0),
                (vec![300, 17, 4], vec![1], 0),
                (vec![150, 40, 3], vec![1], 0),
                (vec![90, 6, 31], vec![1], 0),
                (vec![3000, 2, 2], vec![1], 0),
                (vec![20, 400, 3], vec![1], 0),
                (vec![4, 3000, 5], vec![1], 0),
                // Bundles that are not equal shares of the distance between them, or no neighbours.
                (vec![100, 9, 3], vec![1], 1),
                (vec![30, 400, 3], vec![1], 3),
                (vec![30, 400, 3], vec![1], 4),
                (vec![40, 3, 7, 7], vec![0, 2, 3], 0),
                (vec![90, 3, 14, 14], vec![0, 2, 3], 0),
                (vec![5, 2, 64, 64], vec![0, 2, 3], 0),
                (vec![6, 40, 3, 5], vec![0, 2, 3], 0),
                (vec![3, 50, 4, 8], vec![0, 2, 3], 0),
                // A sum over a few arrays, whose rows fill several passes of a warp.
                (vec![4, 5000], vec![0], 0),
                (vec![17, 1000], vec![0], 0),
                (vec![3, 5, 640], vec![1], 0),
                // Each image is behind a gap.
                (vec![20, 3, 10, 12], vec![0, 2, 3], 4),
            ] {
                let order: Vec<usize> = (0..shape.len()).collect();
                let mut gaps = vec![Some(0); shape.len()];
                gaps[1] = Some(2 * gap);
                Case::new(&shape, &order, &gaps, &axes).check_all(&small);
            }
        }
    }
}

#[test]
fn random_arrays() {
    let mut random = random();
    for device in devices() {
        for _ in 0..60 {
            let rank = random.random_range(1..=5);
            let most = [20_000, 140, 27, 12, 7][rank - 1];
            let shape: Vec<u64> = (0..rank).map(|_| random.random_range(1..=most)).collect();
            let mut order: Vec<usize> = (0..rank).collect();
            if random.random_bool(0.7) {
                order.shuffle(&mut random);
            }
            let gaps: Vec<Option<i64>> = (0..rank)
                .map(|_| match random.random_range(0..10) {
                    0 => None,
                    1 => Some(-1),
                    2 => Some(7),
                    3 => Some(8),
                    _ => Some(0),
                })
                .collect();
            let axes: Vec<isize> = (0..rank as isize)
                .filter(|_| random.random_bool(0.5))
                .map(|axis| if axis % 2 == 0 { axis } else { axis - rank as isize })
                .collect();
            Case::new(&shape, &order, &gaps, &axes).check_all(&device);
        }
    }
}
