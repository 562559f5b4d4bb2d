//! What rows are made of: one array, or two of which the elements are taken in pairs.

use super::{
    super::{
        Error, Input, Item, Pair, Single,
        input::{Arity, DeviceInput, Operand, Place},
    },
    Array,
};
use private::{Operands, Places};

/// One array, or two arrays whose elements are taken in pairs: `&array` or `(&a, &b)`.
///
/// The arrays of a pair need not have the same shape. They are broadcast as in NumPy: the shapes
/// are compared from their last axes on, and where an axis of one array has the size 1 or is
/// missing, its elements are repeated. The axes that are reduced are those of the common shape.
/// Nothing is copied for this. The trait cannot be implemented outside this crate.
///
/// ```
/// use warpfold::{Array, Device, Dot, SquaredDistance};
///
/// let gpu = Device::simulator();
/// let points = Array::new(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
/// // The rows of one matrix with those of another, and all rows with one vector.
/// assert_eq!(gpu.reduce_rows((&points, &points), Dot)?, [14i64, 77]);
/// let center = Array::new(&[1, 1, 1], &[3])?;
/// assert_eq!(gpu.reduce_rows((&points, &center), SquaredDistance)?, [5i64, 50]);
/// // A column of numbers, one for each row, which are the weights of sums of columns.
/// let weights = Array::new(&[10, 1], &[2, 1])?;
/// assert_eq!(gpu.reduce_axes((&points, &weights), &[0], Dot)?, [14i64, 25, 36]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait Arrays: Operands<Self::Item> {
    /// The type of the elements.
    type Item: Item;
    /// [`Single`] or [`Pair`].
    type Arity: Arity;
}

/// [`Arrays`] in the device's memory.
pub trait DeviceArrays: Arrays + Places<Self::Item> {}

/// The shape that arrays have together, and the strides and the offset of each of them.
#[derive(Clone, Debug)]
pub struct Common {
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<Vec<i64>>,
    pub(super) offsets: [u64; 2],
}

pub(super) mod private {
    use super::{Common, Error, Operand, Place};

    pub trait Operands<T> {
        fn common(&self) -> Result<Common, Error>;
        fn operands(&self) -> (Operand<'_, T>, Option<Operand<'_, T>>);
    }

    pub trait Places<T> {
        fn places(&self) -> (Place<'_, T>, Option<Place<'_, T>>);
    }
}

impl<I: Input<Arity = Single>> Arrays for &Array<I> {
    type Item = I::Item;
    type Arity = Single;
}

impl<I: Input<Arity = Single>> Operands<I::Item> for &Array<I> {
    fn common(&self) -> Result<Common, Error> {
        let (shape, strides) = (self.shape.clone(), vec![self.strides.clone()]);
        Ok(Common { shape, strides, offsets: [self.offset; 2] })
    }
    fn operands(&self) -> (Operand<'_, I::Item>, Option<Operand<'_, I::Item>>) {
        self.input.operands()
    }
}

impl<I: DeviceInput<Arity = Single>> DeviceArrays for &Array<I> {}

impl<I: DeviceInput<Arity = Single>> Places<I::Item> for &Array<I> {
    fn places(&self) -> (Place<'_, I::Item>, Option<Place<'_, I::Item>>) {
        self.input.places()
    }
}

impl<A, B> Arrays for (&Array<A>, &Array<B>)
where
    A: Input<Arity = Single>,
    B: Input<Item = A::Item, Arity = Single>,
{
    type Item = A::Item;
    type Arity = Pair;
}

impl<A, B> Operands<A::Item> for (&Array<A>, &Array<B>)
where
    A: Input<Arity = Single>,
    B: Input<Item = A::Item, Arity = Single>,
{
    fn common(&self) -> Result<Common, Error> {
        let (first, second) = (&self.0.shape, &self.1.shape);
        let rank = first.len().max(second.len());
        let size = |shape: &[u64], axis: usize| {
            (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis])
        };
        let shape: Option<Vec<u64>> = (0..rank)
            .map(|axis| match (size(first, axis), size(second, axis)) {
                (a, b) if a == b || b == 1 => Some(a),
                (1, b) => Some(b),
                _ => None,
            })
            .collect();
        let shape =
            shape.ok_or_else(|| Error::Shapes { first: first.clone(), second: second.clone() })?;
        let repeated = |own: &[u64], strides: &[i64]| {
            (0..rank)
                .map(|axis| match (axis + own.len()).checked_sub(rank) {
                    Some(axis) if own[axis] != 1 => strides[axis],
                    _ => 0,
                })
                .collect()
        };
        let strides = vec![repeated(first, &self.0.strides), repeated(second, &self.1.strides)];
        Ok(Common { shape, strides, offsets: [self.0.offset, self.1.offset] })
    }
    fn operands(&self) -> (Operand<'_, A::Item>, Option<Operand<'_, A::Item>>) {
        (self.0.input.operands().0, Some(self.1.input.operands().0))
    }
}

impl<A, B> DeviceArrays for (&Array<A>, &Array<B>)
where
    A: DeviceInput<Arity = Single>,
    B: DeviceInput<Item = A::Item, Arity = Single>,
{
}

impl<A, B> Places<A::Item> for (&Array<A>, &Array<B>)
where
    A: DeviceInput<Arity = Single>,
    B: DeviceInput<Item = A::Item, Arity = Single>,
{
    fn places(&self) -> (Place<'_, A::Item>, Option<Place<'_, A::Item>>) {
        (self.0.input.places().0, Some(self.1.input.places().0))
    }
}
