//! Reductions along axes: one result for each index of the other axes. The elements are those of
//! one array, or of two arrays in pairs.

use anyhow::anyhow;
use warpfold::{
    Array as Shaped, ArraysOperation, Buffer, Device, Error, RowOperation, RowReducer, Stream,
    reducer::{Item, Pair},
};
use warpfold_tools::{
    arrays::Array,
    terminal::{Failure, refused},
};

use crate::{
    answer::Answer,
    meaning::Meaning,
    parts::PartBench,
    reference::{Facts, Number},
    task::Operands,
};

/// The axes that are reduced, and how the elements of one array or two lie.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// The numbers of the axes from 0 on, in the order in which they were asked for.
    pub(crate) numbers: Vec<isize>,
    /// The shape of the array, or the one to which both arrays of a pair are broadcast.
    shape: Vec<u64>,
    /// How each array lies.
    arrays: Vec<Lie>,
    /// The shape of the results.
    pub(crate) results: Vec<u64>,
}

/// How the elements of an array lie in memory, in C order or in Fortran order.
#[derive(Clone, Debug)]
struct Lie {
    shape: Vec<u64>,
    /// The distance of neighbours along each axis, in elements.
    strides: Vec<i64>,
}

/// The elements of a row that are brought together before the CPU takes them.
const TOGETHER: usize = 1 << 14;

impl Lie {
    /// How an array lies that has a shape.
    fn new(array: &Array) -> Result<Self, Failure> {
        if !array.has_header() {
            return Err(refused(anyhow!(
                "{}: --axis needs an array with a shape, which raw elements do not have",
                array.name()
            )));
        }
        let shape = array.shape().unwrap_or_default();
        let rank = shape.len();
        let mut strides = vec![0; rank];
        let mut stride = 1i64;
        for k in 0..rank {
            let axis = if array.is_fortran() { k } else { rank - 1 - k };
            strides[axis] = stride;
            stride = stride.saturating_mul(shape[axis] as i64);
        }
        Ok(Self { shape, strides })
    }

    /// The stride along an axis of an array of so many axes to which this one is broadcast.
    fn stride(&self, axis: usize, rank: usize) -> i64 {
        match (axis + self.shape.len()).checked_sub(rank) {
            Some(axis) if self.shape[axis] != 1 => self.strides[axis],
            _ => 0,
        }
    }
}

/// The shape to which two arrays are broadcast, as NumPy does it.
fn broadcast(first: &[u64], second: &[u64]) -> Result<Vec<u64>, Error> {
    let rank = first.len().max(second.len());
    let size = |shape: &[u64], axis: usize| {
        (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis])
    };
    (0..rank)
        .map(|axis| match (size(first, axis), size(second, axis)) {
            (a, b) if a == b || b == 1 => Ok(a),
            (1, b) => Ok(b),
            _ => Err(Error::Shapes { first: first.to_vec(), second: second.to_vec() }),
        })
        .collect()
}

impl Axes {
    /// The axes of one array, or of two arrays whose elements are taken in pairs. The arrays have
    /// shapes. A negative axis counts from the end. If `keeps_dims` is set, the results have all
    /// axes of the shape, and those that are reduced have one index.
    pub(crate) fn new(
        arrays: &[&Array],
        asked: &[isize],
        keeps_dims: bool,
    ) -> Result<Self, Failure> {
        let arrays = arrays.iter().map(|array| Lie::new(array)).collect::<Result<Vec<_>, _>>()?;
        let shape = match arrays.as_slice() {
            [first, second] => broadcast(&first.shape, &second.shape).map_err(refused)?,
            arrays => arrays[0].shape.clone(),
        };
        let rank = shape.len();
        let mut numbers = Vec::new();
        for &axis in asked {
            let number = if axis < 0 { axis.saturating_add(rank as isize) } else { axis };
            if !(0..rank as isize).contains(&number) {
                return Err(refused(Error::Axis { axis, rank }));
            }
            if numbers.contains(&number) {
                return Err(refused(Error::AxisTwice { axis }));
            }
            numbers.push(number);
        }
        let mut axes = Self { numbers, shape, arrays, results: Vec::new() };
        axes.results = (0..rank)
            .filter(|&axis| keeps_dims || !axes.is_reduced(axis))
            .map(|axis| if axes.is_reduced(axis) { 1 } else { axes.shape[axis] })
            .collect();
        Ok(axes)
    }

    fn is_reduced(&self, axis: usize) -> bool {
        self.numbers.contains(&(axis as isize))
    }

    /// The sizes of the axes that are reduced, or of the others, and the strides of an array.
    fn dims(&self, are_reduced: bool, array: &Lie) -> Vec<(u64, i64)> {
        let rank = self.shape.len();
        (0..rank)
            .filter(|&axis| self.is_reduced(axis) == are_reduced)
            .map(|axis| (self.shape[axis], array.stride(axis, rank)))
            .collect()
    }

    /// The number of elements that are reduced, or of pairs of them.
    pub(crate) fn elements(&self) -> u64 {
        product(self.shape.iter().copied())
    }

    /// The number of elements of all arrays, each of which is read.
    pub(crate) fn read(&self) -> u64 {
        self.arrays.iter().map(|array| product(array.shape.iter().copied())).sum()
    }

    /// The number of results.
    pub(crate) fn rows(&self) -> u64 {
        product(self.results.iter().copied())
    }

    /// The number of elements of a row, of which one result is made.
    pub(crate) fn length(&self) -> u64 {
        let axes = (0..self.shape.len()).filter(|&axis| self.is_reduced(axis));
        product(axes.map(|axis| self.shape[axis]))
    }

    /// Gives the elements of a row to the CPU. The rows are numbered in C order of the other axes.
    pub(crate) fn feed<T: Number>(&self, row: usize, operands: Operands<'_, T>, facts: &mut Facts) {
        let dims: Vec<_> = self.arrays.iter().map(|array| self.dims(true, array)).collect();
        let mut rows: Vec<_> = [operands.first]
            .into_iter()
            .chain(operands.second)
            .zip(self.arrays.iter().zip(&dims))
            .map(|(elements, (array, dims))| {
                let start = place(&self.dims(false, array), row as u64);
                places(dims).map(move |place| elements[(start + place) as usize])
            })
            .collect();
        loop {
            let mut together =
                rows.iter_mut().map(|row| row.by_ref().take(TOGETHER).collect::<Vec<_>>());
            let first = together.next().unwrap_or_default();
            let second = together.next();
            facts.feed(&first, second.as_deref());
            if first.len() < TOGETHER {
                break;
            }
        }
    }

    /// The axes as a sentence has them.
    pub(crate) fn described(&self) -> String {
        let numbers: Vec<_> = self.numbers.iter().map(ToString::to_string).collect();
        format!("{} {}", if numbers.len() == 1 { "axis" } else { "axes" }, numbers.join(", "))
    }
}

/// The product of sizes. It is 0 if a size is, however large the others are.
fn product(sizes: impl Iterator<Item = u64> + Clone) -> u64 {
    if sizes.clone().any(|size| size == 0) { 0 } else { sizes.fold(1, u64::saturating_mul) }
}

/// The sums of indices times strides, in C order of the indices.
fn places(dims: &[(u64, i64)]) -> impl Iterator<Item = i64> {
    let (mut index, mut place) = (vec![0; dims.len()], 0);
    let mut left = product(dims.iter().map(|&(size, _)| size));
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let here = place;
        for (index, &(size, stride)) in index.iter_mut().zip(dims).rev() {
            *index += 1;
            place += stride;
            if *index < size {
                break;
            }
            place -= stride * size as i64;
            *index = 0;
        }
        Some(here)
    })
}

/// The sum of indices times strides, for the indices with this number in C order.
fn place(dims: &[(u64, i64)], number: u64) -> i64 {
    let (mut place, mut number) = (0, number);
    for &(size, stride) in dims.iter().rev() {
        place += stride * (number % size) as i64;
        number /= size;
    }
    place
}

/// The call that reduces one array, or a pair if the second one is there.
type Reduce<T, O> = fn(
    &RowReducer<T, O>,
    (&Shaped<&Buffer<T>>, Option<&Shaped<&Buffer<T>>>),
    &[isize],
    &mut Buffer<<O as ArraysOperation<T>>::RowRaw>,
    &Stream,
) -> Result<(), Error>;

/// A bench that reduces one array or two along axes.
struct Rows<'a, T: Item, O: ArraysOperation<T>> {
    reducer: RowReducer<T, O>,
    reduce: Reduce<T, O>,
    first: Buffer<T>,
    /// The second array of a pair.
    second: Option<Buffer<T>>,
    axes: &'a Axes,
    output: Buffer<O::RowRaw>,
    stream: Stream,
    meaning: &'a Meaning<O::Output>,
}

/// Opens a bench that reduces an array along axes.
pub(crate) fn bench<'a, T: Item, O: RowOperation<T>>(
    device: &Device,
    reduction: O,
    operands: Operands<'_, T>,
    axes: &'a Axes,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    open::<T, O>(
        device,
        reduction,
        operands,
        axes,
        meaning,
        |reducer, (array, _), axes, output, stream| {
            reducer.reduce_axes_into(array, axes, output, stream).map(drop)
        },
    )
}

/// Opens a bench that reduces two arrays along axes, in pairs.
pub(crate) fn bench_of_pairs<'a, T: Item, O: ArraysOperation<T, Arity = Pair>>(
    device: &Device,
    reduction: O,
    operands: Operands<'_, T>,
    axes: &'a Axes,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    open::<T, O>(
        device,
        reduction,
        operands,
        axes,
        meaning,
        |reducer, (first, second), axes, output, stream| {
            let second = second.expect("a pair has a second input");
            reducer.reduce_axes_into((first, second), axes, output, stream).map(drop)
        },
    )
}

fn open<'a, T: Item, O: ArraysOperation<T>>(
    device: &Device,
    reduction: O,
    operands: Operands<'_, T>,
    axes: &'a Axes,
    meaning: &'a Meaning<O::Output>,
    reduce: Reduce<T, O>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    let rows = axes.rows();
    Ok(Box::new(Rows::<T, O> {
        reducer: device.row_reducer(reduction)?,
        reduce,
        first: device.upload(operands.first)?,
        second: operands.second.map(|second| device.upload(second)).transpose()?,
        axes,
        output: device.alloc(usize::try_from(rows).map_err(|_| Error::Rows { rows })?)?,
        stream: device.own_stream()?,
        meaning,
    }))
}

impl<T: Item, O: ArraysOperation<T>> PartBench for Rows<'_, T, O> {
    fn launch(&mut self) -> Result<(), Error> {
        let shaped =
            |buffer, Lie { shape, strides }: &Lie| Shaped::with_strides(buffer, shape, strides, 0);
        let Axes { numbers, arrays, .. } = self.axes;
        let first = shaped(&self.first, &arrays[0])?;
        let second = self.second.as_ref().map(|buffer| shaped(buffer, &arrays[1])).transpose()?;
        let arrays = (&first, second.as_ref());
        (self.reduce)(&self.reducer, arrays, numbers, &mut self.output, &self.stream)
    }

    fn answers(&mut self) -> Result<Vec<Answer>, Error> {
        let (raw, length) = (self.output.copy_to_host()?, self.axes.length());
        // Each row has its own answer, because a sum that overflows is an answer too.
        raw.into_iter().map(|raw| self.meaning.answer(O::finish_row(raw, length))).collect()
    }

    fn depth(&self, length: u64) -> Result<u64, Error> {
        Ok(self.reducer.depth(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_broadcast_as_numpy_does_it() {
        let of = |first: &[u64], second: &[u64]| broadcast(first, second).ok();
        assert_eq!(of(&[3, 4], &[4]), Some(vec![3, 4]));
        assert_eq!(of(&[4], &[3, 1]), Some(vec![3, 4]));
        assert_eq!(of(&[2, 1, 5], &[7, 1]), Some(vec![2, 7, 5]));
        assert_eq!(of(&[], &[2]), Some(vec![2]));
        assert_eq!(of(&[0, 3], &[1, 3]), Some(vec![0, 3]));
        assert_eq!(of(&[3, 4], &[3]), None);
        assert_eq!(of(&[0], &[2]), None);
    }

    #[test]
    fn places_are_in_c_order() {
        let of = |dims: &[(u64, i64)]| {
            let all: Vec<_> = places(dims).collect();
            let each: Vec<_> = (0..all.len() as u64).map(|number| place(dims, number)).collect();
            assert_eq!(all, each, "{dims:?}");
            all
        };
        assert_eq!(of(&[]), [0]);
        assert_eq!(of(&[(2, 3), (3, 1)]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(of(&[(3, 1), (2, 3)]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(of(&[(2, 1), (0, 2)]), [0; 0]);
        assert_eq!(of(&[(1, 7), (2, 5)]), [0, 5]);
    }
}
