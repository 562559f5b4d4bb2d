//! Reading a matrix from a `.npy` file.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use warpfold_tools::arrays::{ByteOrder, Header, LONGEST};

use super::{ElementType, Matrix, MatrixError, matrix::zeroed};

/// Why no matrix could be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {cause}", .path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// The path names a folder, a pipe or a device, and not a regular file.
    #[error("{}: input must be a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The header of the file cannot be read.
    #[error("{}: not a .npy file that can be read: {cause}", .path.display())]
    Header {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the header, as half a sentence.
        cause: String,
    },
    /// The array is not a matrix.
    #[error("{}: the array has {dimensions} dimensions, and a matrix has 2", .path.display())]
    Dimensions {
        /// The path of the file.
        path: PathBuf,
        /// The number of dimensions of the array.
        dimensions: usize,
    },
    /// The file has a dtype that no kernel can move.
    #[error("{}: dtype {dtype} cannot be transposed: it must be one of u1, i1, u2, i2, f2, u4, i4, f4, u8, i8, f8, c8, c16", .path.display())]
    Dtype {
        /// The path of the file.
        path: PathBuf,
        /// The dtype of the file.
        dtype: String,
    },
    /// The elements do not have the type that was asked for.
    #[error("{}: the file holds {found}, not {asked}", .path.display())]
    WrongType {
        /// The path of the file.
        path: PathBuf,
        /// The type of the elements in the file.
        found: ElementType,
        /// The type that was asked for.
        asked: ElementType,
    },
    /// The array is in column-major order.
    #[error("{}: the array is in Fortran order: save it in C order (numpy.ascontiguousarray)", .path.display())]
    FortranOrder {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is shorter or longer than its header says.
    #[error("{}: the .npy header announces {announced} bytes of elements, and {found} follow", .path.display())]
    Length {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes that the elements take according to the header.
        announced: u128,
        /// The number of bytes that follow the header.
        found: u64,
    },
    /// The host has too little memory.
    #[error(transparent)]
    Memory(#[from] MatrixError),
}

/// An open file with a matrix that is not read yet.
#[derive(Debug)]
pub struct MatrixFile {
    path: PathBuf,
    /// The file, at the position of its first element.
    file: File,
    element: ElementType,
    order: ByteOrder,
    rows: u64,
    cols: u64,
}

impl MatrixFile {
    /// Opens a `.npy` file with a matrix in C order. If a type is asked for, the elements must have
    /// it.
    ///
    /// # Errors
    ///
    /// Any [`FileError`] but [`FileError::Memory`].
    pub fn open(path: &Path, asked: Option<ElementType>) -> Result<Self, FileError> {
        let path_buf = || path.to_owned();
        let failed = |cause| FileError::Read { path: path_buf(), cause };
        // This check comes before the file is opened, because opening a pipe waits for a writer.
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile { path: path_buf() });
        }
        let mut file = File::open(path).map_err(failed)?;
        let mut beginning = Vec::new();
        (&mut file).take(LONGEST).read_to_end(&mut beginning).map_err(failed)?;
        let header = Header::parse(&beginning)
            .map_err(|cause| FileError::Header { path: path_buf(), cause })?;

        let known = header
            .plain()
            .and_then(|(kind, bytes, order)| Some((ElementType::of_numpy(kind, bytes)?, order)));
        let Some((element, order)) = known else {
            return Err(FileError::Dtype { path: path_buf(), dtype: header.descr() });
        };
        if let Some(asked) = asked.filter(|&asked| asked != element) {
            return Err(FileError::WrongType { path: path_buf(), found: element, asked });
        }
        let &[rows, cols] = header.shape.as_slice() else {
            return Err(FileError::Dimensions { path: path_buf(), dimensions: header.shape.len() });
        };
        // If there is only one row or column, both orders are the same.
        if header.fortran_order && rows > 1 && cols > 1 {
            return Err(FileError::FortranOrder { path: path_buf() });
        }
        let announced = u128::from(rows) * u128::from(cols) * u128::from(element.size());
        let found = metadata.len().saturating_sub(header.start);
        if announced != u128::from(found) {
            return Err(FileError::Length { path: path_buf(), announced, found });
        }
        file.seek(SeekFrom::Start(header.start)).map_err(failed)?;
        Ok(Self { path: path_buf(), file, element, order, rows, cols })
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> u64 {
        self.cols
    }

    /// Reads the matrix.
    ///
    /// # Errors
    ///
    /// [`FileError::Read`], [`FileError::Memory`].
    pub fn read(mut self) -> Result<Matrix, FileError> {
        let mut bytes = zeroed(self.element, self.rows, self.cols)?;
        self.file
            .read_exact(&mut bytes)
            .map_err(|cause| FileError::Read { path: self.path, cause })?;
        if self.order == ByteOrder::Big {
            bytes.chunks_exact_mut(self.element.number_size() as usize).for_each(<[u8]>::reverse);
        }
        Ok(Matrix::new(self.element, self.rows as usize, self.cols as usize, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn read(bytes: &[u8], asked: Option<ElementType>) -> Result<Matrix, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matrix.npy");
        fs::write(&path, bytes).unwrap();
        MatrixFile::open(&path, asked)
            .and_then(MatrixFile::read)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    #[test]
    fn matrices_are_read() {
        let matrix =
            read(&npy("<u2", false, "(1, 2)", &[1, 0, 2, 0]), Some(ElementType::U16)).unwrap();
        assert_eq!((matrix.rows(), matrix.cols(), matrix.bytes()), (1, 2, [1, 0, 2, 0].as_slice()));
        let big = read(&npy(">c8", false, "(1, 1)", &[1, 2, 3, 4, 5, 6, 7, 8]), None).unwrap();
        assert_eq!(
            (big.element(), big.bytes()),
            (ElementType::C64, [4, 3, 2, 1, 8, 7, 6, 5].as_slice())
        );
        let empty = read(&npy("<f2", false, "(0, 7)", &[]), None).unwrap();
        assert_eq!((empty.element(), empty.rows(), empty.cols()), (ElementType::F16, 0, 7));
        assert!(read(&npy("|i1", true, "(3, 1)", &[1, 2, 3]), None).is_ok());
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let message = |file: &[u8]| read(file, None).unwrap_err();
        assert_eq!(
            message(&npy("<f4", false, "(2,)", &[0; 8])),
            "FILE: the array has 1 dimensions, and a matrix has 2"
        );
        assert_eq!(
            message(&npy("<f4", false, "(1, 2)", &[0; 7])),
            "FILE: the .npy header announces 8 bytes of elements, and 7 follow"
        );
        assert!(message(&npy("<f4", true, "(2, 2)", &[0; 16])).contains("Fortran order"));
        assert!(message(&npy("<M8[s]", false, "(1, 1)", &[0; 8])).contains("cannot be transposed"));
        assert!(message(b"1 2 3").starts_with("FILE: not a .npy file that can be read"));
        assert_eq!(
            read(&npy("<f4", false, "(1, 1)", &[0; 4]), Some(ElementType::U32)).unwrap_err(),
            "FILE: the file holds f32, not u32"
        );
        assert!(matches!(MatrixFile::open(Path::new("/"), None), Err(FileError::NotAFile { .. })));
        assert!(matches!(
            MatrixFile::open(Path::new("/nonexistent"), None),
            Err(FileError::Read { .. })
        ));
    }
}
