//! The rows of an array on the host: the elements that one result is made of.

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::{array::ArrayRef, axes::Axes};

/// Elements that are copied at once if they are not neighbours.
const CHUNK: usize = 512;
/// Rows that are read together if their elements are nearer to each other than those of a row.
const TILE: usize = 16;

/// An axis: its size, and the distance of neighbours in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    size: usize,
    stride: i64,
}

/// A list of axes, of which the last changes fastest.
#[derive(Clone, Debug)]
struct Dims(SmallVec<[Dim; 6]>);

impl Dims {
    /// These axes, with those merged that one index can stand for.
    fn new(axes: impl Iterator<Item = Dim>) -> Self {
        let mut merged: SmallVec<[Dim; 6]> = SmallVec::new();
        for dim in axes.filter(|dim| dim.size != 1) {
            match merged.last_mut() {
                Some(last) if last.stride == dim.stride.wrapping_mul(dim.size as i64) => {
                    *last = Dim { size: last.size * dim.size, stride: dim.stride };
                }
                _ => merged.push(dim),
            }
        }
        if merged.is_empty() {
            merged.push(Dim { size: 1, stride: 0 });
        }
        Self(merged)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|dim| dim.size).product()
    }

    fn fastest(&self) -> Dim {
        self.0[self.0.len() - 1]
    }

    /// The distance in bytes of the element with this number from the first one.
    fn offset(&self, mut number: usize) -> i64 {
        let mut offset = 0;
        for dim in self.0.iter().rev() {
            offset += (number % dim.size) as i64 * dim.stride;
            number /= dim.size;
        }
        offset
    }
}

/// An array, by its rows.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    address: u64,
    kept: Dims,
    reduced: Dims,
}

/// Takes the elements of a row, a part at a time.
pub(super) trait Fold<T> {
    fn push(&mut self, elements: &[T]);
}

impl Rows {
    pub(super) fn new(array: &ArrayRef, axes: &Axes) -> Self {
        let list = |is_reduced| {
            let dims = array.shape.iter().zip(&array.strides).enumerate();
            Dims::new(
                dims.filter(|&(axis, _)| axes.is_reduced(axis) == is_reduced)
                    .map(|(_, (&size, &stride))| Dim { size: size as usize, stride }),
            )
        };
        Self { address: array.address, kept: list(false), reduced: list(true) }
    }

    /// One row of neighbours.
    pub(super) fn one(address: u64, len: usize, stride: i64) -> Self {
        let dims = |size, stride| Dims::new([Dim { size, stride }].into_iter());
        Self { address, kept: dims(1, 0), reduced: dims(len, stride) }
    }

    /// The number of elements of each row.
    pub(super) fn length(&self) -> usize {
        self.reduced.count()
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        self.kept.count()
    }

    /// Gives all rows to the folds that `make` makes for their numbers, and each fold to `done`.
    ///
    /// # Safety
    ///
    /// The array is there, and its elements are of type `T`.
    pub(super) unsafe fn each<T: Pod, F: Fold<T>>(
        &self,
        mut make: impl FnMut(usize) -> F,
        mut done: impl FnMut(usize, F),
    ) {
        let rows = self.count();
        if self.reduced.count() == 0 {
            for row in 0..rows {
                done(row, make(row));
            }
            return;
        }
        let (across, along) = (self.kept.fastest(), self.reduced.fastest());
        let is_near = across.size > 1 && across.stride.abs() < along.stride.abs();
        if !is_near {
            for row in 0..rows {
                let mut fold = make(row);
                // SAFETY: the caller's contract.
                unsafe { self.row(row, &mut fold) };
                done(row, fold);
            }
            return;
        }
        let mut row = 0;
        while row < rows {
            // A tile does not go beyond the fastest axis.
            let tile = TILE.min(across.size - row % across.size);
            let mut folds: SmallVec<[F; TILE]> = (row..row + tile).map(&mut make).collect();
            // SAFETY: the caller's contract.
            unsafe { self.tile(row, across.stride, &mut folds) };
            for (number, fold) in (row..).zip(folds) {
                done(number, fold);
            }
            row += tile;
        }
    }

    /// Gives the elements of one row to a fold.
    unsafe fn row<T: Pod, F: Fold<T>>(&self, row: usize, fold: &mut F) {
        let first = self.address.wrapping_add_signed(self.kept.offset(row));
        let along = self.reduced.fastest();
        let runs = self.reduced.count() / along.size;
        let mut copies = [T::zeroed(); CHUNK];
        for run in 0..runs {
            let start = first.wrapping_add_signed(self.reduced.offset(run * along.size));
            if along.stride == size_of::<T>() as i64 && start.is_multiple_of(align_of::<T>() as u64)
            {
                let pointer = std::ptr::with_exposed_provenance::<T>(start as usize);
                // SAFETY: the elements are neighbours, and the first is aligned.
                fold.push(unsafe { std::slice::from_raw_parts(pointer, along.size) });
                continue;
            }
            let mut index = 0;
            while index < along.size {
                let len = CHUNK.min(along.size - index);
                for (copy, index) in copies[..len].iter_mut().zip(index..) {
                    // SAFETY: the caller's contract.
                    *copy = unsafe { read(start.wrapping_add_signed(index as i64 * along.stride)) };
                }
                fold.push(&copies[..len]);
                index += len;
            }
        }
    }

    /// Gives the elements of neighbouring rows to their folds.
    unsafe fn tile<T: Pod, F: Fold<T>>(&self, row: usize, across: i64, folds: &mut [F]) {
        let first = self.address.wrapping_add_signed(self.kept.offset(row));
        let length = self.reduced.count();
        let along = self.reduced.fastest();
        let mut copies = [[T::zeroed(); CHUNK]; TILE];
        let mut index = 0;
        while index < length {
            // A chunk does not go beyond the fastest axis.
            let len = CHUNK.min(along.size - index % along.size);
            let start = first.wrapping_add_signed(self.reduced.offset(index));
            for step in 0..len {
                let place = start.wrapping_add_signed(step as i64 * along.stride);
                for (number, copies) in copies[..folds.len()].iter_mut().enumerate() {
                    // SAFETY: the caller's contract.
                    copies[step] =
                        unsafe { read(place.wrapping_add_signed(number as i64 * across)) };
                }
            }
            for (fold, copies) in folds.iter_mut().zip(&copies) {
                fold.push(&copies[..len]);
            }
            index += len;
        }
    }
}

/// Reads an element, which need not be aligned.
pub(super) unsafe fn read<T: Pod>(address: u64) -> T {
    let pointer = std::ptr::with_exposed_provenance::<T>(address as usize);
    // SAFETY: the caller's contract: there is an element of this type.
    unsafe { pointer.read_unaligned() }
}
