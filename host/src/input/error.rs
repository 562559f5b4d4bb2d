//! The reasons why there are no elements.

use std::{io, path::PathBuf};

use crate::element::ElementType;

/// The reasons why there are no elements.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {cause}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// The path is that of a folder, a pipe or a device.
    #[error("{}: input must be a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file has no elements.
    #[error("{}: the input is empty: it has no elements", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The size of the file is not a multiple of the size of an element.
    #[error(
        "{}: {bytes} bytes are not a whole number of {element} elements of {} bytes",
        .path.display(),
        .element.size()
    )]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The type of the elements.
        element: ElementType,
    },
    /// The `.npy` header cannot be read.
    #[error("{}: not a .npy file that can be read: {cause}", .path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The reason, as half a sentence.
        cause: String,
    },
    /// The `.npy` file is shorter or longer than its header says.
    #[error(
        "{}: the .npy header announces {announced} bytes of elements, and {found} follow",
        .path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes according to the header.
        announced: u128,
        /// Bytes after the header.
        found: u64,
    },
    /// The `.npy` file has a dtype that no kernel reduces.
    #[error(
        "{}: dtype {dtype} cannot be reduced: it must be one of i4, u4, i8, u8, f4, f8",
        .path.display()
    )]
    Dtype {
        /// The file.
        path: PathBuf,
        /// Its dtype.
        dtype: String,
    },
    /// The dtype of the `.npy` file is not the type that was asked for.
    #[error("{}: the file holds {found}, not {asked}", .path.display())]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The type of its elements.
        found: ElementType,
        /// The type that was asked for.
        asked: ElementType,
    },
    /// The `.npy` file has several dimensions in column-major order.
    #[error(
        "{}: the array is in Fortran order: save it in C order (numpy.ascontiguousarray)",
        .path.display()
    )]
    FortranOrder {
        /// The file.
        path: PathBuf,
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
