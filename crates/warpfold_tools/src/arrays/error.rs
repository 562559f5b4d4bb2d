//! The reasons why there is no array.

use std::io;

use super::Dtype;

/// The reason why there is no array, or why its elements cannot be read. `name` is the array as
/// [`Array::name`](super::Array::name) writes it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The file cannot be opened or read.
    #[error("cannot read {name}: {cause}")]
    Read {
        /// The array.
        name: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// The path is that of a folder.
    #[error("{name} is a folder, and not a file with an array")]
    Folder {
        /// The path.
        name: String,
    },
    /// The file is neither `.npy` nor `.npz`, and no type was asked for.
    #[error(
        "{name} is no .npy or .npz file: if its bytes are raw little-endian elements, name their type with --type"
    )]
    NoArray {
        /// The file.
        name: String,
    },
    /// The file is text, by its name.
    #[error(
        "{name} is text by its name, and text is not read: save the numbers as .npy (numpy.save)"
    )]
    Text {
        /// The file.
        name: String,
    },
    /// An array of an `.npz` file was asked for, and the file is no `.npz` file.
    #[error("{name} is no .npz file, so it has no array '{array}'")]
    NotNpz {
        /// The file.
        name: String,
        /// The name of the array.
        array: String,
    },
    /// The `.npz` file has several arrays or none, and none was named.
    #[error("{name} has {} arrays{}: name one, as in '{name}:NAME'", .arrays.len(), list(.arrays))]
    Unnamed {
        /// The file.
        name: String,
        /// The names of its arrays.
        arrays: Vec<String>,
    },
    /// The `.npz` file has no array of that name.
    #[error("{name} has no array '{array}': it has {}", .arrays.join(", "))]
    Missing {
        /// The file.
        name: String,
        /// The name that was asked for.
        array: String,
        /// The names of its arrays.
        arrays: Vec<String>,
    },
    /// The `.npz` file cannot be read.
    #[error("{name}: not an .npz file that can be read: {cause}")]
    Npz {
        /// The file.
        name: String,
        /// The reason, as half a sentence.
        cause: String,
    },
    /// An `.npz` file comes from a pipe.
    #[error("{name}: an .npz file cannot be read from a pipe, because its list is at its end")]
    NpzPipe {
        /// The pipe.
        name: String,
    },
    /// The size of raw elements is not a multiple of the size of one.
    #[error("{name}: {bytes} bytes are not a whole number of {dtype} elements of {} bytes", .dtype.size())]
    NotWhole {
        /// The file.
        name: String,
        /// Its size.
        bytes: u64,
        /// The type of the elements.
        dtype: Dtype,
    },
    /// The `.npy` header cannot be read.
    #[error("{name}: not a .npy file that can be read: {cause}")]
    Header {
        /// The array.
        name: String,
        /// The reason, as half a sentence.
        cause: String,
    },
    /// The `.npy` file is shorter or longer than its header says.
    #[error("{name}: the .npy header announces {announced} bytes of elements, and {found} follow")]
    Length {
        /// The array.
        name: String,
        /// Bytes according to the header.
        announced: u128,
        /// Bytes after the header. If they come from a pipe, one byte too many is all that is
        /// known.
        found: u64,
    },
    /// The `.npy` file has a dtype that is not reduced.
    #[error("{name}: dtype {dtype} cannot be reduced: it must be a number of 8 to 64 bits or bool")]
    Dtype {
        /// The array.
        name: String,
        /// Its dtype.
        dtype: String,
    },
    /// The dtype of the array is not the type that was asked for.
    #[error("{name} holds {found}, not {asked}")]
    WrongType {
        /// The array.
        name: String,
        /// The type of its elements.
        found: Dtype,
        /// The type that was asked for.
        asked: Dtype,
    },
}

fn list(arrays: &[String]) -> String {
    if arrays.is_empty() { String::new() } else { format!(" ({})", arrays.join(", ")) }
}
