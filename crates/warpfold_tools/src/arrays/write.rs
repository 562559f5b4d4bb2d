//! Writing `.npy` files.

use std::{
    io::{self, Write as _},
    path::Path,
};

use super::{Dtype, npy::MAGIC};

/// The multiple of bytes at which NumPy lets the elements begin.
const ALIGNMENT: usize = 64;

/// Writes little-endian elements of this type and shape, in C order, as a `.npy` file. A file of
/// that name is replaced when the new one is complete.
///
/// # Errors
///
/// The errors of the system, and [`io::ErrorKind::Unsupported`] for a type that NumPy does not
/// have.
pub fn write_npy(path: &Path, dtype: Dtype, shape: &[u64], elements: &[u8]) -> io::Result<()> {
    let descr = dtype.numpy().ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, format!("NumPy has no type {dtype}"))
    })?;
    let shape = match shape {
        [one] => format!("({one},)"),
        shape => {
            let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
            format!("({})", extents.join(", "))
        }
    };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    while !(before + header.len() + 1).is_multiple_of(ALIGNMENT) {
        header.push(' ');
    }
    header.push('\n');

    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&[1, 0])?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    file.write_all(elements)?;
    file.persist(path)?;
    Ok(())
}
