//! Arrays of numbers in files and pipes: NumPy's `.npy` and `.npz`, and raw bytes.
//!
//! [`Array::open`] finds out what a file holds, and refuses what is no array. The elements are then
//! [read](Array::read) piece by piece, or used where they lie in a file that is
//! [mapped](Array::mapped) into memory, so an array may be larger than memory.
//!
//! ```
//! use warpfold_tools::arrays::{Array, Dtype, write_npy};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("three.npy");
//! write_npy(&path, Dtype::I32, &[3], bytemuck::cast_slice(&[1i32, 2, -4]))?;
//! let mut array = Array::open(path.as_os_str(), None)?;
//! assert_eq!((array.dtype(), array.len()), (Dtype::I32, Some(3)));
//! let mut elements = [0i32; 8];
//! assert_eq!(array.read(&mut elements)?, 3);
//! assert_eq!(elements[..3], [1, 2, -4]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod array;
mod dtype;
mod error;
mod npy;
mod npz;
mod order;
mod stream;
mod write;

#[cfg(test)]
mod tests;

pub use array::Array;
pub use dtype::{Dtype, UnknownDtype};
pub use error::ArrayError;
pub use npy::{ByteOrder, Header, LONGEST};
pub use order::in_c_order;
pub use write::write_npy;
