//! The dimensions of an array, sorted into those of its results and those of a row.

use smallvec::SmallVec;

use super::{super::Error, plan::Dim};

/// The most dimensions that an array may have after neighbours are merged.
pub(super) const MOST_DIMS: usize = 8;

/// A list of dimensions. Few arrays have more than four.
pub(super) type Dims = SmallVec<[Dim; 4]>;

/// An array as the rows kernel sees it. In both lists the first dimension changes fastest, and
/// strides are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The dimensions whose indices tell the results apart. There is at least one.
    pub(super) kept: Dims,
    /// The dimensions whose indices tell the elements of a row apart. There is at least one.
    pub(super) reduced: Dims,
}

impl Layout {
    /// The layout of an array of this shape, with strides in elements of `bytes` bytes, that is
    /// reduced along the axes for which `is_reduced` is true.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if too many dimensions are left.
    pub(super) fn new(
        shape: &[u64],
        strides: &[i64],
        is_reduced: impl Fn(usize) -> bool,
        bytes: u64,
    ) -> Result<Self, Error> {
        let list = |reduced: bool| {
            let axes = (0..shape.len()).rev().filter(|&axis| is_reduced(axis) == reduced);
            // An array without elements may have any strides.
            let bytes_of = |stride: i64| stride.saturating_mul(bytes as i64);
            merged(axes.map(|axis| Dim { size: shape[axis], stride: bytes_of(strides[axis]) }))
        };
        let layout = Self { kept: list(false), reduced: list(true) };
        let rank = layout.kept.len() + layout.reduced.len();
        if rank > MOST_DIMS {
            return Err(Error::Rank { rank });
        }
        Ok(layout)
    }

    /// The layouts of two arrays of this shape, each with strides of its own. Dimensions are merged
    /// where those of both arrays can be merged.
    ///
    /// # Errors
    ///
    /// That of [`new`](Self::new).
    pub(super) fn pair(
        shape: &[u64],
        [first, second]: [&[i64]; 2],
        is_reduced: impl Fn(usize) -> bool,
        bytes: u64,
    ) -> Result<[Self; 2], Error> {
        let list = |reduced: bool| {
            let bytes_of = |stride: i64| stride.saturating_mul(bytes as i64);
            let mut merged: [Dims; 2] = [Dims::new(), Dims::new()];
            for axis in (0..shape.len()).rev() {
                let size = shape[axis];
                if is_reduced(axis) != reduced || size == 1 {
                    continue;
                }
                let next = [first[axis], second[axis]].map(bytes_of);
                let together = match (merged[0].last(), merged[1].last()) {
                    (Some(a), Some(b)) => [(a, next[0]), (b, next[1])]
                        .iter()
                        .all(|(last, next)| {
                            last.stride.checked_mul(last.size as i64) == Some(*next)
                        })
                        .then(|| a.size.checked_mul(size))
                        .flatten(),
                    _ => None,
                };
                for (list, stride) in merged.iter_mut().zip(next) {
                    match (together, list.last_mut()) {
                        (Some(size), Some(last)) => last.size = size,
                        _ => list.push(Dim { size, stride }),
                    }
                }
            }
            for list in &mut merged {
                if list.is_empty() {
                    list.push(Dim { size: 1, stride: 0 });
                }
            }
            merged
        };
        let ([kept, second_kept], [reduced, second_reduced]) = (list(false), list(true));
        let rank = kept.len() + reduced.len();
        if rank > MOST_DIMS {
            return Err(Error::Rank { rank });
        }
        Ok([Self { kept, reduced }, Self { kept: second_kept, reduced: second_reduced }])
    }

    /// The number of results.
    pub(super) fn rows(&self) -> u64 {
        product(&self.kept)
    }

    /// The number of elements of each result.
    pub(super) fn length(&self) -> u64 {
        product(&self.reduced)
    }
}

/// The product of the sizes, or the greatest number if that is too small for it. It is 0 if a size
/// is, however large the others are.
fn product(dims: &[Dim]) -> u64 {
    if dims.iter().any(|dim| dim.size == 0) {
        return 0;
    }
    dims.iter().fold(1, |product, dim| product.saturating_mul(dim.size))
}

/// Merges dimensions, of which the first changes fastest, if one index can stand for both.
pub(super) fn merged(dims: impl Iterator<Item = Dim>) -> Dims {
    let mut merged = Dims::new();
    for dim in dims.filter(|dim| dim.size != 1) {
        let together = merged.last().and_then(|last: &Dim| {
            let is_next = last.stride.checked_mul(last.size as i64) == Some(dim.stride);
            last.size.checked_mul(dim.size).filter(|_| is_next)
        });
        match (together, merged.last_mut()) {
            (Some(size), Some(last)) => last.size = size,
            _ => merged.push(dim),
        }
    }
    if merged.is_empty() {
        merged.push(Dim { size: 1, stride: 0 });
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(dims: &[(u64, i64)]) -> Dims {
        dims.iter().map(|&(size, stride)| Dim { size, stride }).collect()
    }

    fn layout(shape: &[u64], strides: &[i64], axes: &[usize]) -> Layout {
        Layout::new(shape, strides, |axis| axes.contains(&axis), 4).unwrap()
    }

    #[test]
    fn neighbours_that_one_index_can_stand_for_are_merged() {
        let (shape, strides) = ([2, 3, 5, 7], [105, 35, 7, 1]);
        let of = |axes: &[usize]| layout(&shape, &strides, axes);
        assert_eq!(of(&[3]), Layout { kept: dims(&[(30, 28)]), reduced: dims(&[(7, 4)]) });
        assert_eq!(of(&[0, 1]), Layout { kept: dims(&[(35, 4)]), reduced: dims(&[(6, 140)]) });
        assert_eq!(
            of(&[0, 2]),
            Layout { kept: dims(&[(7, 4), (3, 140)]), reduced: dims(&[(5, 28), (2, 420)]) }
        );
        assert_eq!(of(&[0, 1, 2, 3]), Layout { kept: dims(&[(1, 0)]), reduced: dims(&[(210, 4)]) });
    }

    #[test]
    fn dimensions_of_one_index_vanish_and_repeated_ones_merge() {
        let of = layout(&[4, 1, 6, 3], &[0, 9, 0, 1], &[0, 2]);
        assert_eq!(of, Layout { kept: dims(&[(3, 4)]), reduced: dims(&[(24, 0)]) });
    }

    #[test]
    fn sizes_that_are_too_large_together() {
        let huge = layout(&[u64::MAX, 3, 0], &[5, i64::MAX, 1], &[2]);
        assert_eq!((huge.rows(), huge.length()), (u64::MAX, 0));
        let repeated = layout(&[1 << 40, 1 << 40], &[0, 0], &[0, 1]);
        assert_eq!((repeated.rows(), repeated.length()), (1, u64::MAX));
    }

    #[test]
    fn nine_dimensions_that_do_not_merge_are_too_many() {
        let shape = [2; 9];
        let strides: Vec<i64> = (0..9).map(|axis| 3i64.pow(axis)).collect();
        let result = Layout::new(&shape, &strides, |axis| axis < 4, 4);
        assert!(matches!(result, Err(Error::Rank { rank: 9 })), "{result:?}");
    }
}
