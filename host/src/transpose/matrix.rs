//! Matrices on the host, and the check of a result against them.

use std::fmt;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

use super::{ElementType, Moves};
use crate::host_memory;

/// The number of rows, and of columns, of a block that stays in the cache of a core.
const BLOCK: usize = 32;

/// A matrix of elements of one type, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    element: ElementType,
    rows: usize,
    cols: usize,
    bytes: Vec<u8>,
}

/// The error that the host has too little memory for a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rows} x {cols} {element} elements do not fit in the host's memory")]
pub struct MatrixError {
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub cols: u64,
    /// The type of the elements.
    pub element: ElementType,
}

/// The first wrong element of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its row in the output.
    pub row: usize,
    /// Its column in the output.
    pub col: usize,
    /// The bytes of the wrong element in hexadecimal, the most significant byte first.
    pub found: String,
    /// The bytes that it should have, written likewise.
    pub expected: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, col, found, expected } = self;
        write!(
            f,
            "the element in row {row} and column {col} is 0x{found}, and it must be 0x{expected}"
        )
    }
}

impl Matrix {
    /// Makes a matrix of these little-endian bytes.
    ///
    /// # Panics
    ///
    /// Panics if there are not `rows * cols` elements.
    pub fn new(element: ElementType, rows: usize, cols: usize, bytes: Vec<u8>) -> Self {
        assert_eq!(
            Some(bytes.len()),
            rows.checked_mul(cols).and_then(|n| n.checked_mul(element.size() as usize))
        );
        Self { element, rows, cols, bytes }
    }

    /// Makes a matrix of random bits. The same seed gives the same matrix everywhere.
    ///
    /// # Errors
    ///
    /// [`MatrixError`].
    pub fn generate(
        element: ElementType,
        rows: u64,
        cols: u64,
        seed: u64,
    ) -> Result<Self, MatrixError> {
        let mut bytes = zeroed(element, rows, cols)?;
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
        Ok(Self { element, rows: rows as usize, cols: cols as usize, bytes })
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The bytes of the elements, row by row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Compares the output of a variant for this matrix with the right output, bit for bit; `None`
    /// if they are the same.
    ///
    /// # Panics
    ///
    /// Panics if the number of bytes is not that of the matrix.
    ///
    /// ```
    /// use warpfold_lab::transpose::{ElementType, Matrix, Moves};
    ///
    /// let matrix = Matrix::new(ElementType::U8, 2, 2, vec![1, 2, 3, 4]);
    /// assert_eq!(matrix.difference(Moves::Transposes, &[1, 3, 2, 4]), None);
    /// let difference = matrix.difference(Moves::Transposes, &[1, 3, 9, 4]).expect("there is one");
    /// let sentence = "the element in row 1 and column 0 is 0x09, and it must be 0x02";
    /// assert_eq!(difference.to_string(), sentence);
    /// ```
    pub fn difference(&self, moves: Moves, output: &[u8]) -> Option<Difference> {
        assert_eq!(output.len(), self.bytes.len());
        match self.element.size() {
            1 => self.difference_of::<1>(moves, output),
            2 => self.difference_of::<2>(moves, output),
            4 => self.difference_of::<4>(moves, output),
            8 => self.difference_of::<8>(moves, output),
            _ => self.difference_of::<16>(moves, output),
        }
    }

    fn difference_of<const SIZE: usize>(&self, moves: Moves, output: &[u8]) -> Option<Difference> {
        let (input, _) = self.bytes.as_chunks::<SIZE>();
        let (output, _) = output.as_chunks::<SIZE>();
        let copies = moves == Moves::Copies;
        let (rows, cols) = if copies { (self.rows, self.cols) } else { (self.cols, self.rows) };
        let expected = |row: usize, col: usize| {
            if copies { input[row * cols + col] } else { input[col * rows + row] }
        };
        let mut first = None;
        // Within a band of rows, the loop takes one block after the other. So the first difference
        // that it meets need not be the first in the order of the rows.
        for band in (0..rows).step_by(BLOCK) {
            for block in (0..cols).step_by(BLOCK) {
                for row in band..rows.min(band + BLOCK) {
                    for col in block..cols.min(block + BLOCK) {
                        if output[row * cols + col] != expected(row, col) {
                            first =
                                Some(first.map_or((row, col), |first: (usize, usize)| {
                                    first.min((row, col))
                                }));
                        }
                    }
                }
            }
            if let Some((row, col)) = first {
                let [found, expected] =
                    [output[row * cols + col], expected(row, col)].map(|bytes| hex(&bytes));
                return Some(Difference { row, col, found, expected });
            }
        }
        None
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    format!("{:0digits$x}", u128::from_le_bytes(wide), digits = 2 * bytes.len())
}

/// The bytes of a matrix of zeros, or an error if the host has no memory for it.
pub(super) fn zeroed(element: ElementType, rows: u64, cols: u64) -> Result<Vec<u8>, MatrixError> {
    let refuse = MatrixError { rows, cols, element };
    let bytes = u128::from(rows) * u128::from(cols) * u128::from(element.size());
    // An allocation may succeed although the host can never fill it.
    if host_memory::available().is_some_and(|available| bytes > u128::from(available)) {
        return Err(refuse);
    }
    let len = usize::try_from(bytes).map_err(|_| refuse)?;
    let mut zeroed = Vec::new();
    zeroed.try_reserve_exact(len).map_err(|_| refuse)?;
    zeroed.resize(len, 0);
    Ok(zeroed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides() {
        let of = |seed| Matrix::generate(ElementType::U16, 3, 5, seed).unwrap();
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        assert_eq!(of(7).bytes().len(), 30);
    }

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        let (rows, cols) = (70, 50);
        let matrix = Matrix::generate(ElementType::U16, rows, cols, 1).unwrap();
        let element = |row: usize, col: usize| &matrix.bytes()[2 * (row * 50 + col)..][..2];
        let right: Vec<u8> = (0..50)
            .flat_map(|col| (0..70).flat_map(move |row| element(row, col).to_vec()))
            .collect();
        assert_eq!(matrix.difference(Moves::Transposes, &right), None);
        assert_eq!(matrix.difference(Moves::Copies, matrix.bytes()), None);
        for wrong in [0, 33, 69, 70 * 31 + 40, 70 * 50 - 1] {
            let mut output = right.clone();
            output[2 * wrong + 1] ^= 0x80;
            // This is another difference, which comes later but lies in an earlier block.
            if wrong + 1 < 70 * 50 {
                output[2 * wrong + 3] ^= 1;
            }
            let found = matrix.difference(Moves::TransposesInPlace, &output).unwrap();
            assert_eq!((found.row, found.col), (wrong / 70, wrong % 70));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let error = Matrix::generate(ElementType::U128, 1 << 30, 1 << 30, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1073741824 x 1073741824 u128 elements do not fit in the host's memory"
        );
    }
}
