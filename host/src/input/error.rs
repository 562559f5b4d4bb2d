//! The reasons why there are no elements.

use warpfold_tools::arrays::{ArrayError, Dtype};

use crate::element::ElementType;

/// The reasons why there are no elements.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is no array, or it cannot be read.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The array holds elements that the ladder has no kernels for.
    #[error(
        "{name} holds {dtype}, and the ladder reduces i32, u32, i64, u64, f32 and f64: \
         the command warpfold reduces the others"
    )]
    Dtype {
        /// The array.
        name: String,
        /// The type of its elements.
        dtype: Dtype,
    },
    /// The host's memory does not suffice.
    #[error("n = {n} {element} elements do not fit in the host's memory")]
    HostMemory {
        /// Number of elements.
        n: u64,
        /// Their type.
        element: ElementType,
    },
}
