//! Where an element of a row is in the whole array.

use super::{
    super::{Error, Indexed, Input, Item, Single},
    Array,
};

/// The numbers of the elements of rows in the whole array: [`Array::whole`] makes one.
///
/// The index in a result of [`ArgMin`](super::super::ArgMin), [`ArgMax`](super::super::ArgMax),
/// [`ArgMinimum`](super::super::ArgMinimum) and [`ArgMaximum`](super::super::ArgMaximum) counts the
/// elements of its row, in C order of the axes that are reduced. The number in the whole counts all
/// elements of the array, in C order of its shape: the last axis changes fastest. So it does not
/// depend on strides.
///
/// ```
/// use warpfold::{ArgMax, Array, Device};
///
/// let gpu = Device::simulator();
/// let scores = Array::new(&[0.1f32, 0.7, 0.2, 0.9, 0.0, 0.1], &[2, 3])?;
/// let best = gpu.reduce_axes(&scores, &[0], ArgMax)?;
/// // In its own column, each index is 0 or 1.
/// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [1, 0, 0]);
/// // In the whole array, it is one of six.
/// let best = scores.whole(&[0])?.results(best);
/// assert_eq!(best.iter().map(|best| best.index).collect::<Vec<_>>(), [3, 1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For segments, [`Indexed::moved`] does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The axes whose indices tell the rows apart. The first one changes fastest.
    kept: Vec<Axis>,
    /// The axes whose indices tell the elements of a row apart. The first one changes fastest.
    reduced: Vec<Axis>,
}

/// An axis: its size, and the number of elements from one index to the next in C order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    size: u64,
    step: u64,
}

/// How far the element with number `number` along these axes is from the first one.
fn distance(axes: &[Axis], number: u64) -> u64 {
    let mut rest = number;
    axes.iter().fold(0, |distance, &Axis { size, step }| {
        let index = rest % size.max(1);
        rest /= size.max(1);
        distance.wrapping_add(index.wrapping_mul(step))
    })
}

impl Whole {
    /// The number in the whole array of the element that has the index `index` in row number `row`.
    /// If the array has no such element, the number means nothing. An array of more than 2^64
    /// elements, as only strides of 0 can make it, has these numbers modulo 2^64.
    ///
    /// ```
    /// use warpfold::Array;
    ///
    /// // Two images of two channels of three pixels. Row 1 is the second channel of both images.
    /// let images = Array::new(&[0u8; 12], &[2, 2, 3])?;
    /// let whole = images.whole(&[0, 2])?;
    /// assert_eq!([0, 2, 3, 5].map(|index| whole.index(1, index)), [3, 5, 9, 11]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn index(&self, row: u64, index: u64) -> u64 {
        distance(&self.kept, row).wrapping_add(distance(&self.reduced, index))
    }

    /// The results of all rows, in order, with the indices in the whole array instead of those in
    /// the rows.
    pub fn results<T: Item>(&self, of_rows: Vec<Indexed<T>>) -> Vec<Indexed<T>> {
        let results = (0..).zip(of_rows);
        results.map(|(row, one)| Indexed::new(one.value, self.index(row, one.index))).collect()
    }
}

impl<I: Input<Arity = Single>> Array<I> {
    /// The numbers in the whole array of the elements of its rows, if it is reduced along these
    /// axes. For the rows of a matrix that is axis 1. A negative axis counts from the end.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] or [`Error::AxisTwice`] if an axis is not there or is named twice.
    pub fn whole(&self, axes: &[isize]) -> Result<Whole, Error> {
        let is_reduced = self.axes(axes)?;
        let mut whole = Whole { kept: Vec::new(), reduced: Vec::new() };
        let mut step = 1u64;
        for (&size, is_reduced) in self.shape.iter().zip(is_reduced).rev() {
            let list = if is_reduced { &mut whole.reduced } else { &mut whole.kept };
            list.push(Axis { size, step });
            step = step.wrapping_mul(size);
        }
        Ok(whole)
    }
}
