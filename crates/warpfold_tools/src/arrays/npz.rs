//! `.npz` files: ZIP archives of `.npy` files, stored or deflated.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
};

use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::{ArrayError, stream::Checked};

/// The first bytes of a ZIP archive with files, and of one without.
pub(super) const MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// A file of an archive, ready to be read.
pub(super) struct Entry {
    /// The name of the array.
    pub(super) array: String,
    /// The size of the `.npy` file.
    pub(super) bytes: u64,
    pub(super) reader: Box<dyn Read + Send>,
}

/// Opens the array of an archive: the one of this name, or the only one.
pub(super) fn open(file: File, name: &str, array: Option<&str>) -> Result<Entry, ArrayError> {
    let cannot = |cause: String| ArrayError::Npz { name: name.to_owned(), cause };
    let shared =
        file.try_clone().map_err(|cause| ArrayError::Read { name: name.to_owned(), cause })?;
    let mut archive =
        ZipArchive::new(BufReader::new(shared)).map_err(|error| cannot(error.to_string()))?;
    let arrays: Vec<String> = archive
        .file_names()
        .filter_map(|file| Some(file.strip_suffix(".npy")?.to_owned()))
        .collect();
    let array = match array {
        Some(array) if arrays.iter().any(|one| one == array) => array.to_owned(),
        Some(array) => {
            let (name, array) = (name.to_owned(), array.to_owned());
            return Err(ArrayError::Missing { name, array, arrays });
        }
        None => match arrays.as_slice() {
            [only] => only.clone(),
            _ => return Err(ArrayError::Unnamed { name: name.to_owned(), arrays }),
        },
    };
    let entry = archive
        .by_name(&format!("{array}.npy"))
        .map_err(|error| cannot(format!("array '{array}': {error}")))?;
    let start = entry
        .data_start()
        .ok_or_else(|| cannot(format!("array '{array}' has no place in the file")))?;
    let (method, packed, bytes) = (entry.compression(), entry.compressed_size(), entry.size());
    let checksum = entry.crc32();
    drop(entry);

    // The reader of the archive borrows the archive, so the entry is read by a reader of our own.
    let mut file = file;
    file.seek(SeekFrom::Start(start))
        .map_err(|cause| ArrayError::Read { name: name.to_owned(), cause })?;
    let packed = BufReader::with_capacity(1 << 18, file).take(packed);
    let reader: Box<dyn Read + Send> = match method {
        CompressionMethod::Stored => Box::new(Checked::new(packed, checksum)),
        CompressionMethod::Deflated => {
            Box::new(Checked::new(DeflateDecoder::new(packed), checksum))
        }
        other => {
            return Err(cannot(format!(
                "array '{array}' is compressed by {other}, not by deflate"
            )));
        }
    };
    Ok(Entry { array, bytes, reader })
}
