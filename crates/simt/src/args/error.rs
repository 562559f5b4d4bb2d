//! The reasons for which a description of an argument is refused.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::scalar::ScalarType;
use crate::exec::memory::MemoryError;

/// The reason for which a description was not understood or could not be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArgError {
    /// The description does not begin with a kind of argument.
    #[error(
        "`{text}` is not an argument: it must begin with buffer:, ptr:, bytes: or a type ({})",
        ScalarType::list()
    )]
    Kind {
        /// The description.
        text: String,
    },
    /// A value that is not a value of its type.
    #[error("`{value}` is not a value of type {ty}")]
    Value {
        /// The value.
        value: String,
        /// The type.
        ty: &'static str,
    },
    /// A structure that is not a sequence of hexadecimal bytes.
    #[error(
        "`{value}` is not a structure: write its bytes, at least one, as two hexadecimal digits each"
    )]
    Bytes {
        /// The value.
        value: String,
    },
    /// A buffer of an unknown type.
    #[error("`{ty}` is not the type of a buffer's values, which is one of {}", ScalarType::list())]
    Element {
        /// The type.
        ty: String,
    },
    /// A buffer without a length, or with one that is not allowed.
    #[error("`{len}` is not the length of a buffer, which is a whole number from 1 to {most}")]
    Len {
        /// The length.
        len: String,
        /// The greatest length that addresses can hold.
        most: u64,
    },
    /// An unknown way to fill a buffer.
    #[error(
        "`={fill}` does not fill a buffer: write =zero, =iota, =random, =random:SEED or =@FILE"
    )]
    Fill {
        /// The text after `=`.
        fill: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A file that does not fit its buffer.
    #[error("{} has {has} bytes and its buffer takes {takes}", file.display())]
    FileSize {
        /// The file.
        file: PathBuf,
        /// The size of the file in bytes.
        has: u64,
        /// The buffer's size in bytes.
        takes: u64,
    },
    /// Device memory has no space for a buffer.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}
