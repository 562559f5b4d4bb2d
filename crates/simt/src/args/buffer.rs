//! Buffers: the number and the type of their values, and their contents before the kernel runs.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::ArgError;
use super::scalar::{ScalarType, integer};
use crate::random::SplitMix64;

/// The contents of a buffer before the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fill {
    /// No contents: the buffer is allocated and not written.
    Uninitialised,
    /// Zeros.
    Zero,
    /// The numbers 0, 1, 2, …
    Iota,
    /// Random values from this seed.
    Random(u64),
    /// The bytes of a file.
    File(PathBuf),
}

impl FromStr for Fill {
    type Err = ArgError;

    /// Reads the text after `=`.
    fn from_str(text: &str) -> Result<Fill, ArgError> {
        let unknown = || ArgError::Fill { fill: text.to_owned() };
        Ok(match text {
            "zero" => Fill::Zero,
            "iota" => Fill::Iota,
            "random" => Fill::Random(0),
            _ => match (text.strip_prefix("random:"), text.strip_prefix('@')) {
                (Some(seed), _) => Fill::Random(integer(seed).ok_or_else(unknown)?),
                (_, Some(file)) if !file.is_empty() => Fill::File(file.into()),
                _ => return Err(unknown()),
            },
        })
    }
}

/// A buffer in device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferSpec {
    element: ScalarType,
    len: u64,
    fill: Fill,
}

impl BufferSpec {
    /// A buffer of `len` values.
    ///
    /// # Errors
    /// [`ArgError::Len`] for a length of 0, and for a length that addresses cannot hold.
    pub fn new(element: ScalarType, len: u64, fill: Fill) -> Result<BufferSpec, ArgError> {
        let most = i64::MAX as u64 / element.size();
        if !(1..=most).contains(&len) {
            return Err(ArgError::Len { len: len.to_string(), most });
        }
        Ok(BufferSpec { element, len, fill })
    }

    /// The type of the buffer's values.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// How many values the buffer has, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no buffer is empty")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The size of the buffer in bytes.
    pub fn size(&self) -> u64 {
        self.len * self.element.size()
    }

    /// The contents of the buffer before the kernel runs.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// The bytes that the buffer holds at the beginning, little-endian; `None` if nothing is
    /// written.
    ///
    /// # Errors
    /// A file that cannot be read or does not have [`size`](BufferSpec::size) bytes.
    pub fn initial(&self) -> Result<Option<Vec<u8>>, ArgError> {
        Ok(match &self.fill {
            Fill::Uninitialised => None,
            Fill::Zero => Some(vec![0; self.size() as usize]),
            Fill::Iota => Some(self.values((0..self.len).map(|index| self.element.iota(index)))),
            Fill::Random(seed) => {
                let mut generator = SplitMix64(*seed);
                Some(self.values((0..self.len).map(|_| self.element.random(generator.next()))))
            }
            Fill::File(file) => {
                let failed = |cause| ArgError::File { file: file.clone(), cause };
                // The size is compared first, so that a file that is far too large is not read.
                let has = fs::metadata(file).map_err(failed)?.len();
                let takes = self.size();
                if has != takes {
                    return Err(ArgError::FileSize { file: file.clone(), has, takes });
                }
                Some(fs::read(file).map_err(failed)?)
            }
        })
    }

    /// The little-endian bytes of values. Each value is at the beginning of its eight bytes.
    fn values(&self, values: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size() as usize);
        for value in values {
            bytes.extend_from_slice(&value[..self.element.size() as usize]);
        }
        bytes
    }
}

impl FromStr for BufferSpec {
    type Err = ArgError;

    /// Reads the text after `buffer:`.
    fn from_str(text: &str) -> Result<BufferSpec, ArgError> {
        let (shape, fill) = match text.split_once('=') {
            Some((shape, fill)) => (shape, fill.parse()?),
            None => (text, Fill::Uninitialised),
        };
        let (ty, len) = shape.split_once(':').unwrap_or((shape, ""));
        let element =
            ScalarType::named(ty).ok_or_else(|| ArgError::Element { ty: ty.to_owned() })?;
        match len.parse() {
            Ok(len) => BufferSpec::new(element, len, fill),
            Err(_) => {
                Err(ArgError::Len { len: len.to_owned(), most: i64::MAX as u64 / element.size() })
            }
        }
    }
}
