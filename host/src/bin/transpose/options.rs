//! Options that several commands take.

use clap::Args;
use warpfold_lab::{cli::number, transpose::ElementType};

/// The arguments that say what one of the lessons transposes, beside its rows.
#[derive(Args)]
pub(crate) struct MatrixArgs {
    /// Number of columns of the matrix [default: as many as rows]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--cols", "4000 or 2^12")
    )]
    pub(crate) cols: Option<u64>,

    /// Type of the elements: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64, c64, u128,
    /// i128 or c128
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    pub(crate) element: ElementType,
}

/// The argument that chooses the size of a tile.
#[derive(Args, Clone, Copy)]
pub(crate) struct TileArgs {
    /// Number of elements on each side of a tile: 16 or 32
    /// [default: 32; for variant best, it depends on the type]
    #[arg(
        long,
        value_name = "T",
        allow_hyphen_values = true,
        value_parser = number("--tile", "32")
    )]
    pub(crate) tile: Option<u64>,
}
