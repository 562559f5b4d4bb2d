//! Options that several commands take.

use clap::Args;
use warpfold_lab::{cli::number, transpose::ElementType};

/// The arguments that say what one of the lessons transposes, beside its rows.
#[derive(Args)]
pub(crate) struct MatrixArgs {
    /// Columns of the matrix [default: as many as rows]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = number("--cols", "4000 or 2^12")
    )]
    pub(crate) cols: Option<u64>,

    /// Type of the elements, as for a transposition
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    pub(crate) element: ElementType,
}
