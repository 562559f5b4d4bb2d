//! The archives of PTX. An archive holds the PTX of one family of kernels for one architecture, as
//! `reduce.sm_90.tar.lz` does: files of tar, compressed together by lzip. Together they take a
//! fifth of the bytes that they take one by one, because they share nearly all of their text.
//!
//! The build script reads archives here, and so do tests; `xtask` writes them. The files are taken
//! from the tar here, since this is short and a crate for it would have to be built in front of
//! every program that uses the library.

use std::{fs, io::Read as _, path::Path};

/// How the name of an archive ends.
pub(crate) const ENDING: &str = ".tar.lz";

/// The unit of a tar: a header fills one block, and each file begins at a new one.
const BLOCK: usize = 512;

/// Reads an archive: the names of its files and their texts, in the order of the archive.
///
/// # Errors
///
/// A sentence that names the archive, if it cannot be read or is damaged.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    let packed =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    unpack(&packed).map_err(|reason| format!("the archive {} is damaged: {reason}", path.display()))
}

/// The files of an archive that has these bytes.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut tar = Vec::new();
    // The decompressor compares the length and the checksum that the archive ends with.
    lzma_rust2::LzipReader::new(packed).read_to_end(&mut tar).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    let mut rest = &tar[..];
    loop {
        let header = take(&mut rest, BLOCK)?;
        // Blocks of zeros are behind the last file.
        if header[0] == 0 {
            return Ok(files);
        }
        let name = field(header, 0, 100)?;
        if header[156] != b'0' || name.contains(['/', '\\']) {
            return Err(format!("`{name}` is not a plain file"));
        }
        let size = usize::from_str_radix(field(header, 124, 12)?.trim(), 8)
            .map_err(|_| format!("`{name}` has no size"))?;
        let text = str::from_utf8(take(&mut rest, size)?)
            .map_err(|_| format!("`{name}` is not a text"))?;
        take(&mut rest, size.next_multiple_of(BLOCK) - size)?;
        files.push((name.to_owned(), text.to_owned()));
    }
}

/// Takes the first `count` bytes of the rest of a tar.
fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let (taken, left) = rest.split_at_checked(count).ok_or("it ends too early")?;
    *rest = left;
    Ok(taken)
}

/// A field of a header, which ends at its first zero.
fn field(header: &[u8], start: usize, length: usize) -> Result<&str, String> {
    let bytes = header[start..start + length].split(|&byte| byte == 0).next().unwrap_or_default();
    str::from_utf8(bytes).map_err(|_| "a header is not a text".to_owned())
}
