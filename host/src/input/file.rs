//! Elements from a file.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    error::InputError,
    npy::{self, ByteOrder},
    zeroed::zeroed,
};
use crate::element::{Element, ElementType, Values};

#[cfg(target_endian = "big")]
compile_error!("raw input is little-endian and read as it is, as on every host that CUDA runs on");

/// A file of elements. Their type and their number are known, but they are not read yet.
pub struct InputFile {
    path: PathBuf,
    /// The file, positioned at its first element.
    file: File,
    element: ElementType,
    order: ByteOrder,
    n: u64,
}

impl InputFile {
    /// Opens a `.npy` file (by its name, or by its first bytes) or a file of raw little-endian
    /// elements.
    ///
    /// ```
    /// use warpfold_lab::{element::{ElementType, Values}, input::InputFile};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("two");
    /// std::fs::write(&path, [1, 0, 0, 0, 255, 255, 255, 255])?;
    /// let file = InputFile::open(&path, Some(ElementType::I32))?;
    /// assert_eq!(file.n(), 2);
    /// assert!(matches!(file.read()?, Values::I32(values) if values == [1, -1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The dtype of a `.npy` file is the type of its elements, and if a type is asked for, it must
    /// be the same. Raw elements are of the type that is asked for, or `i32`.
    ///
    /// # Errors
    ///
    /// Any [`InputError`] except [`InputError::HostMemory`].
    pub fn open(path: &Path, asked: Option<ElementType>) -> Result<Self, InputError> {
        let failed = |cause| InputError::Read { path: path.to_owned(), cause };
        // This is checked before the file is opened, because opening a pipe waits for a writer.
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(InputError::NotAFile { path: path.to_owned() });
        }
        let bytes = metadata.len();
        if bytes == 0 {
            return Err(InputError::Empty { path: path.to_owned() });
        }

        let mut file = File::open(path).map_err(failed)?;
        let mut beginning = Vec::new();
        (&mut file).take(npy::LONGEST).read_to_end(&mut beginning).map_err(failed)?;
        let named_npy =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
        let (element, order, start) = if named_npy || beginning.starts_with(npy::MAGIC) {
            check_npy(path, &beginning, bytes, asked)?
        } else {
            (asked.unwrap_or(ElementType::I32), ByteOrder::Little, 0)
        };
        let (bytes, size) = (bytes - start, u64::from(element.size()));
        if !bytes.is_multiple_of(size) {
            return Err(InputError::NotWhole { path: path.to_owned(), bytes, element });
        }
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, element, order, n: bytes / size })
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Number of elements, at least 1.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Reads the elements.
    ///
    /// # Errors
    ///
    /// [`InputError::Read`], [`InputError::HostMemory`].
    pub fn read(self) -> Result<Values, InputError> {
        match self.element {
            ElementType::I32 => self.read_as::<i32>(),
            ElementType::U32 => self.read_as::<u32>(),
            ElementType::I64 => self.read_as::<i64>(),
            ElementType::U64 => self.read_as::<u64>(),
            ElementType::F32 => self.read_as::<f32>(),
            ElementType::F64 => self.read_as::<f64>(),
        }
    }

    fn read_as<T: Element>(mut self) -> Result<Values, InputError> {
        let mut values = zeroed::<T>(self.n)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        self.file.read_exact(bytes).map_err(|cause| InputError::Read { path: self.path, cause })?;
        if self.order == ByteOrder::Big {
            bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
        }
        Ok(T::values(values))
    }
}

/// Compares the header of a `.npy` file of `bytes` bytes with the file and with the type that is
/// asked for. Returns the type of the elements, their byte order and where they begin.
fn check_npy(
    path: &Path,
    beginning: &[u8],
    bytes: u64,
    asked: Option<ElementType>,
) -> Result<(ElementType, ByteOrder, u64), InputError> {
    let path = path.to_owned();
    let header = match npy::Header::parse(beginning) {
        Ok(header) => header,
        Err(cause) => return Err(InputError::Header { path, cause }),
    };
    let Some((element, order)) = header.element() else {
        return Err(InputError::Dtype { path, dtype: header.descr() });
    };
    if let Some(asked) = asked.filter(|&asked| asked != element) {
        return Err(InputError::WrongType { path, found: element, asked });
    }
    if header.fortran_order && header.shape.len() > 1 {
        return Err(InputError::FortranOrder { path });
    }
    let size = u128::from(element.size());
    let announced =
        header.shape.iter().fold(size, |bytes, &extent| bytes.saturating_mul(extent.into()));
    let found = bytes - header.start;
    if announced != u128::from(found) {
        return Err(InputError::Length { path, announced, found });
    }
    if found == 0 {
        return Err(InputError::Empty { path });
    }
    Ok((element, order, header.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `.npy` file of version 1.0.
    fn npy_file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while !(npy::MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut file = npy::MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn read(name: &str, bytes: &[u8], asked: Option<ElementType>) -> Result<Values, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        InputFile::open(&path, asked)
            .and_then(InputFile::read)
            .map_err(|error| error.to_string().replace(&format!("{}", path.display()), "FILE"))
    }

    #[test]
    fn raw_elements_are_little_endian() {
        let bytes = [1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert!(matches!(read("x", &bytes, None), Ok(Values::I32(v)) if v == [1, -1]));
        assert!(
            matches!(read("x", &bytes, Some(ElementType::U64)), Ok(Values::U64(v)) if v == [0xffff_ffff_0000_0001])
        );
        assert!(
            matches!(read("x", &2.5f32.to_le_bytes(), Some(ElementType::F32)), Ok(Values::F32(v)) if v == [2.5])
        );
    }

    #[test]
    fn raw_elements_must_be_whole() {
        assert_eq!(
            read("x", &[], None).unwrap_err(),
            "FILE: the input is empty: it has no elements"
        );
        assert_eq!(
            read("x", &[0; 12], Some(ElementType::F64)).unwrap_err(),
            "FILE: 12 bytes are not a whole number of f64 elements of 8 bytes"
        );
    }

    #[test]
    fn npy_names_its_own_type() {
        let data: Vec<u8> = (1..=6).flat_map(i64::to_le_bytes).collect();
        let file = npy_file("<i8", false, "(2, 3)", &data);
        assert!(
            matches!(read("x.npy", &file, None), Ok(Values::I64(v)) if v == [1, 2, 3, 4, 5, 6])
        );
        assert!(matches!(read("no_extension", &file, Some(ElementType::I64)), Ok(Values::I64(_))));
        assert_eq!(
            read("x.npy", &file, Some(ElementType::I32)).unwrap_err(),
            "FILE: the file holds i64, not i32"
        );
        let scalar = npy_file("<f4", false, "()", &7.0f32.to_le_bytes());
        assert!(matches!(read("x.npy", &scalar, None), Ok(Values::F32(v)) if v == [7.0]));
    }

    #[test]
    fn npy_may_be_big_endian() {
        let file = npy_file(">u4", false, "(2,)", &[0, 0, 1, 0, 0, 0, 0, 2]);
        assert!(matches!(read("x.npy", &file, None), Ok(Values::U32(v)) if v == [256, 2]));
    }

    #[test]
    fn npy_that_is_not_as_announced_is_refused() {
        let length = "FILE: the .npy header announces 8 bytes of elements, and";
        let message = |file: &[u8]| read("x.npy", file, None).unwrap_err();
        assert_eq!(message(&npy_file("<i4", false, "(2,)", &[0; 7])), format!("{length} 7 follow"));
        assert_eq!(
            message(&npy_file("<i4", false, "(2,)", &[0; 12])),
            format!("{length} 12 follow")
        );
        assert_eq!(
            message(&npy_file("<i4", false, "(0, 3)", &[])),
            "FILE: the input is empty: it has no elements"
        );
        assert_eq!(
            message(&npy_file("<c8", false, "(1,)", &[0; 8])),
            "FILE: dtype '<c8' cannot be reduced: it must be one of i4, u4, i8, u8, f4, f8"
        );
        assert!(
            message(&npy_file("<i2", false, "(4,)", &[0; 8]))
                .contains("dtype '<i2' cannot be reduced")
        );
        assert!(message(&npy_file("<i4", true, "(1, 2)", &[0; 8])).contains("Fortran order"));
        assert!(message(b"1 2 3").starts_with("FILE: not a .npy file that can be read"));
        assert!(
            message(&npy_file("<i4", false, "(2,)", &[0; 8])[..20])
                .starts_with("FILE: not a .npy file")
        );
        let huge = npy_file("<i4", false, "(1099511627776, 1048576)", &[0; 8]);
        assert!(message(&huge).contains("announces 4611686018427387904 bytes"));
        let overflow =
            npy_file("<i4", false, "(18446744073709551615, 18446744073709551615, 9)", &[0; 8]);
        assert!(
            message(&overflow).ends_with("its shape has 2^64 elements or more"),
            "{}",
            message(&overflow)
        );
    }

    #[test]
    fn one_dimension_has_no_order() {
        let file = npy_file("<i4", true, "(2,)", &[0; 8]);
        assert!(read("x.npy", &file, None).is_ok());
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = InputFile::open(&folder.path().join("none"), None).err().unwrap();
        assert!(matches!(missing, InputError::Read { .. }), "{missing}");
        let error = InputFile::open(folder.path(), None).err().unwrap();
        assert!(matches!(error, InputError::NotAFile { .. }), "{error}");
        // The file is not opened to find out what it is, because opening a named pipe would wait
        // for a writer.
        #[cfg(unix)]
        {
            let socket = folder.path().join("socket");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            let error = InputFile::open(&socket, None).err().unwrap();
            assert!(matches!(error, InputError::NotAFile { .. }), "{error}");
        }
    }
}
