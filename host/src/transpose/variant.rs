//! The table of the variants of transposition.

use std::{fmt, str::FromStr};

use super::ElementType;

/// The number of threads in one block along y, for all variants with the lecture's tiles.
pub const BLOCK_ROWS: u32 = 8;

/// A way to transpose, or to copy. [`Variant::facts`] is its row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Copies the matrix, which is the speed to aim at.
    Copy,
    /// Copies the matrix, with strided loads and strided stores.
    StridedCopy,
    /// Copies the matrix through shared memory.
    SharedCopy,
    /// Transposes with strided stores.
    NaiveStore,
    /// Transposes with strided loads.
    NaiveLoad,
    /// Transposes by tiles in shared memory, with bank conflicts.
    Tiled,
    /// Transposes by padded tiles.
    Padded,
    /// Transposes by tiles with permuted columns.
    Swizzled,
    /// Transposes by padded tiles, which the blocks take in diagonal order.
    Diagonal,
    /// Transposes squares of vectors in registers.
    Best,
    /// Transposes a square matrix in place.
    InPlace,
}

/// What a variant does with the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// The output is a copy of the input.
    Copies,
    /// The output is the transposed input.
    Transposes,
    /// The input becomes its own transpose. It must be a square.
    TransposesInPlace,
}

/// The tiles that a variant works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// Tiles of 16 or 32 elements on each side, with 8 rows of threads.
    Lecture,
    /// One size of tile for each width of elements, made of squares of vectors.
    Vectors,
}

/// The facts about a variant that do not depend on the matrix.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The variant itself.
    pub variant: Variant,
    /// The name that `--variant` takes and `--list` prints.
    pub name: &'static str,
    /// A description of the variant in one sentence.
    pub sentence: &'static str,
    /// The slide that the variant comes from.
    pub lecture: &'static str,
    /// The lecture's bandwidth on a GeForce GTX 280, for 4000 x 4000 floats, in GB/s.
    pub gtx280_gb_per_s: Option<f64>,
    /// What it does with the matrix.
    pub moves: Moves,
    /// The tiles that it works in.
    pub tiles: Tiles,
    /// How the grid covers the tiles.
    pub grid: Grid,
}

/// How a grid covers the tiles of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// The grid has the input's columns of tiles along x and its rows of tiles along y.
    Input,
    /// The grid has the output's columns of tiles along x and its rows of tiles along y.
    Output,
    /// The grid goes down two of the input's columns of tiles at a time. Along x, the two tiles of
    /// one row are next to each other.
    ColumnPairs,
}

const LECTURE: &str = "J. Filipovič, Optimalizace pro GPU hardware, Transpozice matic";
const TILES: &str = "J. Filipovič, Optimalizace pro GPU hardware, Bloková transpozice";
const BEYOND: &str = "beyond the lecture";

const TABLE: [Facts; 11] = [
    Facts {
        variant: Variant::Copy,
        name: "copy",
        sentence: "Copies the matrix: no transposition can be faster.",
        lecture: LECTURE,
        gtx280_gb_per_s: Some(112.4),
        moves: Moves::Copies,
        tiles: Tiles::Lecture,
        grid: Grid::Input,
    },
    Facts {
        variant: Variant::StridedCopy,
        name: "strided-copy",
        sentence: "Copies the matrix down its columns: both the loads and the stores of a warp are a row apart.",
        lecture: LECTURE,
        gtx280_gb_per_s: Some(2.7),
        moves: Moves::Copies,
        tiles: Tiles::Lecture,
        grid: Grid::Output,
    },
    Facts {
        variant: Variant::SharedCopy,
        name: "shared-copy",
        sentence: "Copies the matrix through tiles in shared memory: what a transposition by tiles costs at least.",
        lecture: TILES,
        gtx280_gb_per_s: Some(94.9),
        moves: Moves::Copies,
        tiles: Tiles::Lecture,
        grid: Grid::Input,
    },
    Facts {
        variant: Variant::NaiveStore,
        name: "naive-store",
        sentence: "Each thread moves its elements: the loads follow the rows, the stores of a warp are a row apart.",
        lecture: LECTURE,
        gtx280_gb_per_s: Some(5.3),
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::Input,
    },
    Facts {
        variant: Variant::NaiveLoad,
        name: "naive-load",
        sentence: "The same with the roles exchanged: the loads of a warp are a row apart, the stores follow the rows.",
        lecture: LECTURE,
        gtx280_gb_per_s: None,
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::Output,
    },
    Facts {
        variant: Variant::Tiled,
        name: "tiled",
        sentence: "Tiles turn in shared memory: all of global memory is accessed along rows, but columns of a tile share a bank.",
        lecture: TILES,
        gtx280_gb_per_s: Some(75.1),
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::ColumnPairs,
    },
    Facts {
        variant: Variant::Padded,
        name: "padded",
        sentence: "Each row of a tile is a word longer than it need be, so that columns spread over the banks.",
        lecture: "J. Filipovič, Optimalizace pro GPU hardware, Sdílená paměť",
        gtx280_gb_per_s: Some(93.4),
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::ColumnPairs,
    },
    Facts {
        variant: Variant::Swizzled,
        name: "swizzled",
        sentence: "Column c of a tile's row r lies at c ^ r: no conflicts, and no padding.",
        lecture: BEYOND,
        gtx280_gb_per_s: None,
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::ColumnPairs,
    },
    Facts {
        variant: Variant::Diagonal,
        name: "diagonal",
        sentence: "Padded tiles, taken along the diagonals: the remedy against partition camping.",
        lecture: "J. Filipovič, Optimalizace pro GPU hardware, Význam optimalizací; Ruetsch and Micikevicius, Optimizing Matrix Transpose in CUDA",
        gtx280_gb_per_s: None,
        moves: Moves::Transposes,
        tiles: Tiles::Lecture,
        grid: Grid::Input,
    },
    Facts {
        variant: Variant::Best,
        name: "best",
        sentence: "Threads load, turn in registers and store squares of vectors of 16 bytes.",
        lecture: BEYOND,
        gtx280_gb_per_s: None,
        moves: Moves::Transposes,
        tiles: Tiles::Vectors,
        grid: Grid::Input,
    },
    Facts {
        variant: Variant::InPlace,
        name: "in-place",
        sentence: "A block exchanges two padded tiles of a square matrix that mirror each other, without a second matrix.",
        lecture: BEYOND,
        gtx280_gb_per_s: None,
        moves: Moves::TransposesInPlace,
        tiles: Tiles::Lecture,
        grid: Grid::Input,
    },
];

/// The tile of [`Variant::Best`] for elements of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VectorTile {
    /// The number of elements on each side.
    pub(super) tile: u32,
    /// The number of threads in one block along x, which is also the number of squares of vectors
    /// on each side.
    pub(super) side: u32,
    /// The number of threads in one block along y.
    pub(super) rows: u32,
}

impl Variant {
    /// All variants, in the order of the lecture.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|facts| facts.variant)
    }

    /// The facts about this variant: its row in the table.
    pub fn facts(self) -> &'static Facts {
        // The table is in the order of the enumeration; a test makes sure of that.
        &TABLE[self as usize]
    }

    /// The sizes of tiles that `--tile` accepts for elements of this type, as the number of
    /// elements on each side.
    pub fn tiles(self, element: ElementType) -> Vec<u32> {
        match self.facts().tiles {
            Tiles::Lecture => vec![16, 32],
            Tiles::Vectors => vec![vector_tile(element).tile],
        }
    }

    /// The number of threads in one block along x and along y.
    pub(super) fn block(self, element: ElementType, tile: u32) -> (u32, u32) {
        match self.facts().tiles {
            Tiles::Lecture => (tile, BLOCK_ROWS),
            Tiles::Vectors => {
                let VectorTile { side, rows, .. } = vector_tile(element);
                (side, rows)
            }
        }
    }

    /// The name of the variant's kernel for an element type and a tile.
    ///
    /// ```
    /// use warpfold_lab::transpose::{ElementType, Variant};
    /// let kernel = Variant::SharedCopy.kernel(ElementType::F32, 32);
    /// assert_eq!(kernel, "transpose_shared_copy_b4_t32");
    /// ```
    pub fn kernel(self, element: ElementType, tile: u32) -> String {
        format!("transpose_{}_b{}_t{tile}", self.facts().name.replace('-', "_"), element.size())
    }
}

/// The tile of [`Variant::Best`], which must be the same as in `kernels/src/exports/transpose.rs`.
pub(super) fn vector_tile(element: ElementType) -> VectorTile {
    match element.size() {
        1 | 2 => VectorTile { tile: 128, side: 16, rows: 16 },
        4 => VectorTile { tile: 64, side: 16, rows: 16 },
        8 => VectorTile { tile: 32, side: 16, rows: 16 },
        _ => VectorTile { tile: 16, side: 16, rows: 16 },
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}

/// The error for a text that is not the name of a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown variant '{0}': it is one of {names}", names = names())]
pub struct UnknownVariant(pub String);

fn names() -> String {
    TABLE.map(|facts| facts.name).join(", ")
}

impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(text: &str) -> Result<Self, UnknownVariant> {
        // The names of kernels have underscores in place of hyphens, so both are accepted.
        let name = text.replace('_', "-");
        let found = TABLE.iter().find(|facts| facts.name == name).map(|facts| facts.variant);
        found.ok_or_else(|| UnknownVariant(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxLibrary;

    #[test]
    fn the_table_is_in_order() {
        for (index, facts) in TABLE.iter().enumerate() {
            assert_eq!(facts.variant as usize, index);
        }
    }

    #[test]
    fn names_parse_back() {
        for variant in Variant::all() {
            assert_eq!(variant.facts().name.parse(), Ok(variant));
        }
        assert_eq!("naive_load".parse(), Ok(Variant::NaiveLoad));
        for unknown in ["", "Padded", "naive", "best_b"] {
            assert_eq!(unknown.parse::<Variant>(), Err(UnknownVariant(unknown.into())));
        }
    }

    #[test]
    fn every_sentence_is_one() {
        for variant in Variant::all() {
            let sentence = variant.facts().sentence;
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{sentence}");
        }
    }

    #[test]
    fn every_kernel_is_there() {
        let library = PtxLibrary::embedded().unwrap();
        let kernels = &library.manifest().kernels;
        for variant in Variant::all() {
            for &element in ElementType::ALL {
                for tile in variant.tiles(element) {
                    let name = variant.kernel(element, tile);
                    assert!(kernels.iter().any(|kernel| kernel.name == name), "{name}");
                }
            }
        }
    }
}
