//! Arrays: inputs with a shape and strides.

use super::super::{Error, Input, Single};

/// An input with a shape and strides: what [`reduce_axes`](crate::Device::reduce_axes) and
/// [`reduce_rows`](crate::Device::reduce_rows) reduce.
///
/// The input is any that a reduction of the whole takes: a buffer, a view, a raw slice, a slice on
/// the host. Strides count elements. They may be negative, and 0 repeats an element.
///
/// ```
/// use warpfold::{Array, Device, Sum};
///
/// let gpu = Device::simulator();
/// let buffer = gpu.upload(&[1, 2, 3, 4, 5, 6])?;
/// // Two rows of three, and the same elements as three columns of two.
/// let matrix = Array::new(&buffer, &[2, 3])?;
/// assert_eq!(gpu.reduce_axes(&matrix, &[1], Sum)?, [6i64, 15]);
/// let columns = Array::with_strides(&buffer, &[3, 2], &[1, 3], 0)?;
/// assert_eq!(gpu.reduce_axes(&columns, &[1], Sum)?, [5i64, 7, 9]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array<I> {
    pub(super) input: I,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<i64>,
    /// The element of the input at which all indices are 0.
    pub(super) offset: u64,
}

impl<I: Input<Arity = Single>> Array<I> {
    /// All elements of `input` in C order: the last index changes fastest.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the shape does not have as many elements as the input.
    pub fn new(input: I, shape: &[u64]) -> Result<Self, Error> {
        let len = input.operands().0.len();
        let elements = shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
        // A shape with a 0 has no elements, however large its other sizes are.
        let elements = if shape.contains(&0) { Some(0) } else { elements };
        if elements != Some(len) {
            return Err(Error::Shape { shape: shape.to_vec(), len });
        }
        let mut strides = vec![0; shape.len()];
        let mut stride = 1i64;
        for (axis, &size) in shape.iter().enumerate().rev() {
            strides[axis] = stride;
            stride = stride.saturating_mul(size as i64);
        }
        Ok(Self { input, shape: shape.to_vec(), strides, offset: 0 })
    }

    /// The elements of `input` at `offset` plus the sum of the indices times the strides.
    ///
    /// # Errors
    ///
    /// [`Error::Strides`] if there are not as many strides as sizes, or if an element lies outside
    /// of the input.
    pub fn with_strides(
        input: I,
        shape: &[u64],
        strides: &[i64],
        offset: u64,
    ) -> Result<Self, Error> {
        let len = input.operands().0.len();
        let refused = || Error::Strides { shape: shape.to_vec(), strides: strides.to_vec(), len };
        if shape.len() != strides.len() {
            return Err(refused());
        }
        let is_empty = shape.contains(&0);
        let (mut least, mut most) = (i128::from(offset), i128::from(offset));
        for (&size, &stride) in shape.iter().zip(strides) {
            let reach = i128::from(size.saturating_sub(1)) * i128::from(stride);
            *(if reach < 0 { &mut least } else { &mut most }) += reach;
        }
        if !is_empty && (least < 0 || most >= i128::from(len)) {
            return Err(refused());
        }
        Ok(Self { input, shape: shape.to_vec(), strides: strides.to_vec(), offset })
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The distance of neighbours along each axis, in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The axes by their numbers from 0 on, each at most once.
    pub(super) fn axes(&self, axes: &[isize]) -> Result<Vec<bool>, Error> {
        are_reduced(self.shape.len(), axes)
    }
}

/// For each axis of an array of `rank` dimensions whether it is among these.
pub(super) fn are_reduced(rank: usize, axes: &[isize]) -> Result<Vec<bool>, Error> {
    let mut is_reduced = vec![false; rank];
    for &axis in axes {
        let from_end = if axis < 0 { axis + rank as isize } else { axis };
        let Some(reduced) =
            usize::try_from(from_end).ok().and_then(|axis| is_reduced.get_mut(axis))
        else {
            return Err(Error::Axis { axis, rank });
        };
        if std::mem::replace(reduced, true) {
            return Err(Error::AxisTwice { axis });
        }
    }
    Ok(is_reduced)
}
