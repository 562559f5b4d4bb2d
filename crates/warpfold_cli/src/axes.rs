//! Reductions along axes: one result for each index of the other axes.

use anyhow::anyhow;
use warpfold::{
    Array as Shaped, Buffer, Device, Error, RowOperation, RowReducer, Stream, reducer::Item,
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
};

/// The axes of an array that are reduced, and how its elements lie.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// The numbers of the axes from 0 on, in the order in which they were asked for.
    pub(crate) numbers: Vec<isize>,
    pub(crate) shape: Vec<u64>,
    /// The distance of neighbours along each axis, in elements.
    pub(crate) strides: Vec<i64>,
    /// The shape of the results.
    pub(crate) results: Vec<u64>,
}

/// The elements of a row that are brought together before the CPU takes them.
const TOGETHER: usize = 1 << 14;

impl Axes {
    /// The axes of an array that has a shape. A negative axis counts from the end. If `keeps_dims`
    /// is set, the results have all axes of the array, and those that are reduced have one index.
    pub(crate) fn new(array: &Array, asked: &[isize], keeps_dims: bool) -> Result<Self, Failure> {
        if !array.has_header() {
            return Err(refused(anyhow!(
                "{}: --axis needs an array with a shape, which raw elements do not have",
                array.name()
            )));
        }
        let shape = array.shape().unwrap_or_default();
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
        let mut strides = vec![0; rank];
        let mut stride = 1i64;
        for k in 0..rank {
            let axis = if array.is_fortran() { k } else { rank - 1 - k };
            strides[axis] = stride;
            stride = stride.saturating_mul(shape[axis] as i64);
        }
        let mut axes = Self { numbers, shape, strides, results: Vec::new() };
        axes.results = (0..rank)
            .filter(|&axis| keeps_dims || !axes.is_reduced(axis))
            .map(|axis| if axes.is_reduced(axis) { 1 } else { axes.shape[axis] })
            .collect();
        Ok(axes)
    }

    fn is_reduced(&self, axis: usize) -> bool {
        self.numbers.contains(&(axis as isize))
    }

    /// The sizes and strides of the axes that are reduced, or of the others.
    fn dims(&self, are_reduced: bool) -> Vec<(u64, i64)> {
        (0..self.shape.len())
            .filter(|&axis| self.is_reduced(axis) == are_reduced)
            .map(|axis| (self.shape[axis], self.strides[axis]))
            .collect()
    }

    /// The number of results.
    pub(crate) fn rows(&self) -> u64 {
        product(self.results.iter().copied())
    }

    /// The number of elements of a row, of which one result is made.
    pub(crate) fn length(&self) -> u64 {
        product(self.dims(true).iter().map(|&(size, _)| size))
    }

    /// Gives the elements of a row to the CPU. The rows are numbered in C order of the other axes.
    pub(crate) fn feed<T: Number>(&self, row: usize, elements: &[T], facts: &mut Facts) {
        let start = place(&self.dims(false), row as u64);
        let reduced = self.dims(true);
        let mut row = places(&reduced).map(|place| elements[(start + place) as usize]);
        let mut together = Vec::new();
        loop {
            together.clear();
            together.extend(row.by_ref().take(TOGETHER));
            facts.feed(&together, None);
            if together.len() < TOGETHER {
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

/// A bench that reduces an array along axes.
struct Rows<'a, T: Item, O: RowOperation<T>> {
    reducer: RowReducer<T, O>,
    elements: Buffer<T>,
    axes: &'a Axes,
    output: Buffer<O::RowRaw>,
    stream: Stream,
    meaning: &'a Meaning<O::Output>,
}

/// Opens a bench that reduces an array along axes.
pub(crate) fn bench<'a, T: Item, O: RowOperation<T>>(
    device: &Device,
    reduction: O,
    elements: &[T],
    axes: &'a Axes,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    let rows = axes.rows();
    Ok(Box::new(Rows::<T, O> {
        reducer: device.row_reducer(reduction)?,
        elements: device.upload(elements)?,
        axes,
        output: device.alloc(usize::try_from(rows).map_err(|_| Error::Rows { rows })?)?,
        stream: device.own_stream()?,
        meaning,
    }))
}

impl<T: Item, O: RowOperation<T>> PartBench for Rows<'_, T, O> {
    fn launch(&mut self) -> Result<(), Error> {
        let Axes { numbers, shape, strides, .. } = self.axes;
        let array = Shaped::with_strides(&self.elements, shape, strides, 0)?;
        self.reducer.reduce_axes_into(&array, numbers, &mut self.output, &self.stream).map(drop)
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
