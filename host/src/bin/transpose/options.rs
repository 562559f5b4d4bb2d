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
