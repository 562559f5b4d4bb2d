//! Readers that notice what is missing, too much or damaged.

use std::io::{self, Read};

/// A reader of the whole of something whose CRC-32 is known. At the end it compares the checksum.
pub(super) struct Checked<R> {
    reader: R,
    checksum: crc32fast::Hasher,
    expected: u32,
}

impl<R: Read> Checked<R> {
    pub(super) fn new(reader: R, expected: u32) -> Self {
        Self { reader, checksum: crc32fast::Hasher::new(), expected }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(bytes)?;
        self.checksum.update(&bytes[..n]);
        if n == 0 && !bytes.is_empty() && self.checksum.clone().finalize() != self.expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its checksum is wrong, so it is damaged",
            ));
        }
        Ok(n)
    }
}

/// Reads until `bytes` is full or the reader ends. Returns the number of bytes read.
pub(super) fn fill(reader: &mut dyn Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match reader.read(&mut bytes[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
