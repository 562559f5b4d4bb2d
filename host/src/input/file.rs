//! Elements from a file or a pipe.

use std::ffi::OsStr;

use warpfold_tools::arrays::{Array, Dtype};

use super::{error::InputError, zeroed::zeroed};
use crate::{
    element::{Element, ElementType, Values},
    host_memory,
};

/// Elements from a file. Their type and their number are known. Those of a regular file are not
/// read yet.
pub struct InputFile {
    element: ElementType,
    n: u64,
    contents: Contents,
}

enum Contents {
    Unread(Array),
    Read(Values),
}

/// How many elements of a pipe are read at once.
const PIECE: usize = 1 << 20;

impl InputFile {
    /// Opens what [`Array::open`] can open. Raw elements that come from a pipe are read now,
    /// because their number is not known before.
    ///
    /// ```
    /// use warpfold_lab::{element::{ElementType, Values}, input::InputFile};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("two");
    /// std::fs::write(&path, [1, 0, 0, 0, 255, 255, 255, 255])?;
    /// let file = InputFile::open(path.as_os_str(), Some(ElementType::I32))?;
    /// assert_eq!(file.n(), 2);
    /// assert!(matches!(file.read()?, Values::I32(values) if values == [1, -1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Any [`InputError`].
    pub fn open(spec: &OsStr, asked: Option<ElementType>) -> Result<Self, InputError> {
        let array = Array::open(spec, asked.map(ElementType::dtype))?;
        let Some(element) = ElementType::of_dtype(array.dtype()) else {
            return Err(InputError::Dtype { name: array.name().into(), dtype: array.dtype() });
        };
        let (n, contents) = match array.len() {
            Some(n) => (n, Contents::Unread(array)),
            None => match element {
                ElementType::I32 => read_to_end::<i32>(array),
                ElementType::U32 => read_to_end::<u32>(array),
                ElementType::I64 => read_to_end::<i64>(array),
                ElementType::U64 => read_to_end::<u64>(array),
                ElementType::F32 => read_to_end::<f32>(array),
                ElementType::F64 => read_to_end::<f64>(array),
            }
            .map(|(n, values)| (n, Contents::Read(values)))?,
        };
        Ok(Self { element, n, contents })
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Number of elements.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Reads the elements.
    ///
    /// # Errors
    ///
    /// [`InputError::Array`], [`InputError::HostMemory`].
    pub fn read(self) -> Result<Values, InputError> {
        let array = match self.contents {
            Contents::Unread(array) => array,
            Contents::Read(values) => return Ok(values),
        };
        match self.element {
            ElementType::I32 => read_whole::<i32>(array, self.n),
            ElementType::U32 => read_whole::<u32>(array, self.n),
            ElementType::I64 => read_whole::<i64>(array, self.n),
            ElementType::U64 => read_whole::<u64>(array, self.n),
            ElementType::F32 => read_whole::<f32>(array, self.n),
            ElementType::F64 => read_whole::<f64>(array, self.n),
        }
    }
}

/// Reads an array of `n` elements.
fn read_whole<T: Element>(mut array: Array, n: u64) -> Result<Values, InputError> {
    let mut values = zeroed::<T>(n)?;
    array.read(&mut values)?;
    // Asking for one more element compares what follows with the header.
    array.read(&mut [T::zeroed()])?;
    Ok(T::values(values))
}

/// Reads an array of unknown length.
fn read_to_end<T: Element>(mut array: Array) -> Result<(u64, Values), InputError> {
    let mut values = Vec::new();
    loop {
        let before = values.len();
        let refuse = InputError::HostMemory { n: (before + PIECE) as u64, element: T::TYPE };
        let is_full = host_memory::available()
            .is_some_and(|available| available < (2 * PIECE * size_of::<T>()) as u64);
        if is_full || values.try_reserve_exact(PIECE).is_err() {
            return Err(refuse);
        }
        values.resize(before + PIECE, T::zeroed());
        let read = array.read(&mut values[before..])?;
        if read < PIECE {
            values.truncate(before + read);
            return Ok((values.len() as u64, T::values(values)));
        }
    }
}

impl ElementType {
    fn dtype(self) -> Dtype {
        match self {
            Self::I32 => Dtype::I32,
            Self::U32 => Dtype::U32,
            Self::I64 => Dtype::I64,
            Self::U64 => Dtype::U64,
            Self::F32 => Dtype::F32,
            Self::F64 => Dtype::F64,
        }
    }

    fn of_dtype(dtype: Dtype) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.dtype() == dtype)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn types_without_a_rung_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("halves.npy");
        warpfold_tools::arrays::write_npy(&path, Dtype::F16, &[1], &[0, 60]).unwrap();
        let error = InputFile::open(path.as_os_str(), None).err().unwrap();
        assert!(matches!(&error, InputError::Dtype { dtype: Dtype::F16, .. }), "{error}");
    }

    #[test]
    fn an_empty_file_has_no_elements() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nothing");
        fs::write(&path, []).unwrap();
        let file = InputFile::open(path.as_os_str(), Some(ElementType::F64)).unwrap();
        assert_eq!(file.n(), 0);
        assert!(matches!(file.read(), Ok(Values::F64(values)) if values.is_empty()));
    }
}
