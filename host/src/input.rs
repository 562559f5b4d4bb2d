//! Where the elements come from: a generator with a seed, or a file.

mod error;
mod file;
mod fill;
mod generate;
mod zeroed;

pub use error::InputError;
pub use file::InputFile;
pub use fill::{Fill, UnknownFill};
pub use generate::generate;
