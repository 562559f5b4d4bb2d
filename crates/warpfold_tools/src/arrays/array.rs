//! An array that is open, and the reading of its elements.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use bytemuck::Pod;
use memmap2::Mmap;

use super::{
    ArrayError, Dtype,
    npy::{self, ByteOrder, Header},
    npz,
    stream::fill,
};

#[cfg(target_endian = "big")]
compile_error!("elements are used as they lie in little-endian files, as on every host of CUDA");

/// The endings of names of files that hold text.
const TEXT: [&str; 5] = ["csv", "tsv", "txt", "json", "jsonl"];

/// An array of numbers that is open and not read yet.
pub struct Array {
    name: String,
    dtype: Dtype,
    order: ByteOrder,
    /// `None` for raw elements.
    header: Option<Header>,
    /// The number of elements, if it is known.
    len: Option<u64>,
    /// The number of elements that were read.
    done: u64,
    contents: Contents,
}

enum Contents {
    /// A regular file, from this byte on.
    File { map: Option<Mmap>, start: usize },
    /// A part of an archive, or a pipe.
    Stream(Box<dyn Read + Send>),
}

impl Array {
    /// Opens an array: a `.npy` file, which is known by its first bytes, whatever its name is; an
    /// array of an `.npz` file, written `FILE.npz:ARRAY`, or `FILE.npz` if there is only one; raw
    /// little-endian elements, if their type is asked for; or one of these but `.npz` from a pipe,
    /// or from the standard input, written `-`.
    ///
    /// If a type is asked for, the elements must have it. Opening a pipe waits for its writer.
    ///
    /// # Errors
    ///
    /// Any [`ArrayError`].
    pub fn open(spec: &OsStr, asked: Option<Dtype>) -> Result<Self, ArrayError> {
        let name = spec.to_string_lossy().into_owned();
        if spec == "-" {
            return Self::stream("standard input".into(), Box::new(io::stdin()), asked);
        }
        let (path, array) = split(spec, &name);
        let failed = |cause| ArrayError::Read { name: name.clone(), cause };
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(ArrayError::Folder { name });
        }
        if !metadata.is_file() {
            return Self::stream(name, Box::new(file), asked);
        }

        let mut beginning = Vec::new();
        (&mut file).take(LONGEST).read_to_end(&mut beginning).map_err(failed)?;
        let path_name = path.to_string_lossy().into_owned();
        match kind(&beginning, path) {
            Kind::Npz => Self::npz(file, &path_name, array, asked),
            _ if array.is_some() => {
                let array = array.unwrap_or_default().to_owned();
                Err(ArrayError::NotNpz { name: path_name, array })
            }
            Kind::Npy => Self::npy(name, &beginning, asked, |start| {
                file.seek(SeekFrom::Start(start))?;
                Ok((metadata.len() - start, Contents::file(&file, start)?))
            }),
            Kind::Text => Err(ArrayError::Text { name }),
            Kind::Other => {
                let dtype = asked.ok_or_else(|| ArrayError::NoArray { name: name.clone() })?;
                let len = whole(&name, metadata.len(), dtype)?;
                let contents = Contents::file(&file, 0).map_err(failed)?;
                Ok(Self::new(name, dtype, ByteOrder::Little, None, Some(len), contents))
            }
        }
    }

    fn npz(
        file: File,
        name: &str,
        array: Option<&str>,
        asked: Option<Dtype>,
    ) -> Result<Self, ArrayError> {
        let npz::Entry { array, bytes, mut reader } = npz::open(file, name, array)?;
        let name = format!("{name}:{array}");
        let mut beginning = vec![0; bytes.min(LONGEST) as usize];
        let n = fill(&mut *reader, &mut beginning)
            .map_err(|cause| ArrayError::Read { name: name.clone(), cause })?;
        beginning.truncate(n);
        let text = beginning.clone();
        Self::npy(name, &text, asked, move |start| {
            Ok((bytes - start, Contents::rest(beginning, start, reader)))
        })
    }

    fn stream(
        name: String,
        mut reader: Box<dyn Read + Send>,
        asked: Option<Dtype>,
    ) -> Result<Self, ArrayError> {
        let mut beginning = vec![0; LONGEST as usize];
        let n = fill(&mut *reader, &mut beginning)
            .map_err(|cause| ArrayError::Read { name: name.clone(), cause })?;
        beginning.truncate(n);
        match kind(&beginning, Path::new("")) {
            Kind::Npz => Err(ArrayError::NpzPipe { name }),
            Kind::Npy => {
                let text = beginning.clone();
                Self::npy(name, &text, asked, move |start| {
                    // The number of bytes that follow is known only at the end.
                    Ok((u64::MAX, Contents::rest(beginning, start, reader)))
                })
            }
            Kind::Text | Kind::Other => {
                let dtype = asked.ok_or_else(|| ArrayError::NoArray { name: name.clone() })?;
                let contents = Contents::rest(beginning, 0, reader);
                Ok(Self::new(name, dtype, ByteOrder::Little, None, None, contents))
            }
        }
    }

    /// An array behind a `.npy` header. `contents` gets the place where the elements begin, and
    /// returns the number of bytes from there on, or `u64::MAX` if that is not known, and the
    /// contents.
    fn npy(
        name: String,
        beginning: &[u8],
        asked: Option<Dtype>,
        contents: impl FnOnce(u64) -> io::Result<(u64, Contents)>,
    ) -> Result<Self, ArrayError> {
        let header = match Header::parse(beginning) {
            Ok(header) => header,
            Err(cause) => return Err(ArrayError::Header { name, cause }),
        };
        let Some((dtype, order)) = header.dtype(asked) else {
            return Err(ArrayError::Dtype { name, dtype: header.descr() });
        };
        if let Some(asked) = asked.filter(|&asked| asked != dtype) {
            return Err(ArrayError::WrongType { name, found: dtype, asked });
        }
        let (found, contents) = match contents(header.start) {
            Ok(contents) => contents,
            Err(cause) => return Err(ArrayError::Read { name, cause }),
        };
        let len = header.len();
        let announced = u128::from(len) * dtype.size() as u128;
        if found != u64::MAX && announced != u128::from(found) {
            return Err(ArrayError::Length { name, announced, found });
        }
        Ok(Self::new(name, dtype, order, Some(header), Some(len), contents))
    }

    fn new(
        name: String,
        dtype: Dtype,
        order: ByteOrder,
        header: Option<Header>,
        len: Option<u64>,
        contents: Contents,
    ) -> Self {
        Self { name, dtype, order, header, len, done: 0, contents }
    }

    /// The array as it was asked for, and `standard input` for `-`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements. `None` for raw elements from a pipe.
    #[expect(clippy::len_without_is_empty, reason = "it is not always known")]
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// The shape. Raw elements have one dimension.
    pub fn shape(&self) -> Option<Vec<u64>> {
        match &self.header {
            Some(header) => Some(header.shape.clone()),
            None => Some(vec![self.len?]),
        }
    }

    /// Whether a header says which shape the array has. Raw elements have none.
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Whether the elements lie in Fortran order, and that differs from C order: at least two
    /// dimensions have more than one index.
    pub fn is_fortran(&self) -> bool {
        self.header.as_ref().is_some_and(|header| {
            header.fortran_order && header.shape.iter().filter(|&&extent| extent > 1).count() > 1
        })
    }

    /// The elements where they lie in a file, in the order in which they lie there. `None` if the
    /// elements are in a pipe or in an archive, are big-endian or truth values, or lie at an
    /// address that is no multiple of their alignment.
    ///
    /// # Panics
    ///
    /// If the size of `T` is not that of the elements.
    pub fn mapped<T: Pod>(&self) -> Option<&[T]> {
        assert_eq!(size_of::<T>(), self.dtype.size(), "the size of {}", self.dtype);
        let Contents::File { map, start } = &self.contents else { return None };
        if self.is_changed() {
            return None;
        }
        let bytes = map.as_ref().map_or(&[][..], |map| &map[*start..]);
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// Whether reading the elements changes their bytes.
    fn is_changed(&self) -> bool {
        self.dtype == Dtype::Bool || (self.order == ByteOrder::Big && self.dtype.size() > 1)
    }

    /// Reads the next elements, in the order in which they lie in the file, until `elements` is
    /// full or the array ends. Returns the number of elements read. At the end, it also compares
    /// the length and the checksum of the array with what the file says, so an array is whole only
    /// after a call that returned fewer elements than asked for.
    ///
    /// # Errors
    ///
    /// [`ArrayError::Read`], [`ArrayError::Length`], [`ArrayError::NotWhole`].
    ///
    /// # Panics
    ///
    /// If the size of `T` is not that of the elements.
    pub fn read<T: Pod>(&mut self, elements: &mut [T]) -> Result<usize, ArrayError> {
        let size = self.dtype.size();
        assert_eq!(size_of::<T>(), size, "the size of {}", self.dtype);
        let left = self.len.map_or(u64::MAX, |len| len - self.done);
        let asked = (elements.len() as u64).min(left) as usize;
        let is_end = asked < elements.len();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements[..asked]);
        let failed = |name: &str, cause| ArrayError::Read { name: name.to_owned(), cause };
        let found = match &mut self.contents {
            Contents::File { map, start } => {
                let from = *start + self.done as usize * size;
                if let Some(map) = map {
                    bytes.copy_from_slice(&map[from..from + bytes.len()]);
                }
                bytes.len()
            }
            Contents::Stream(reader) => {
                fill(&mut **reader, bytes).map_err(|cause| failed(&self.name, cause))?
            }
        };
        let read_before = self.done * size as u64;
        self.done += (found / size) as u64;
        let name = || self.name.clone();
        match self.len {
            Some(len) if found < bytes.len() => {
                let announced = u128::from(len) * size as u128;
                let found = read_before + found as u64;
                return Err(ArrayError::Length { name: name(), announced, found });
            }
            None if !found.is_multiple_of(size) => {
                let bytes = read_before + found as u64;
                return Err(ArrayError::NotWhole { name: name(), bytes, dtype: self.dtype });
            }
            _ => {}
        }
        if let (Contents::Stream(reader), Some(len), true) = (&mut self.contents, self.len, is_end)
        {
            let more = fill(&mut **reader, &mut [0]).map_err(|cause| failed(&self.name, cause))?;
            if more > 0 {
                let bytes = len * size as u64;
                let (announced, found) = (bytes.into(), bytes + more as u64);
                return Err(ArrayError::Length { name: self.name.clone(), announced, found });
            }
        }
        let bytes = &mut bytes[..found];
        if self.dtype == Dtype::Bool {
            for byte in bytes {
                *byte = u8::from(*byte != 0);
            }
        } else if self.order == ByteOrder::Big {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(found / size)
    }
}

impl Contents {
    fn file(file: &File, start: u64) -> io::Result<Self> {
        // An empty file cannot be mapped.
        let map = if file.metadata()?.len() == 0 {
            None
        } else {
            // SAFETY: the map is only read. If another program changes the file in the meantime,
            // the elements are undefined, as they are for every reader of such a file.
            Some(unsafe { Mmap::map(file)? })
        };
        Ok(Self::File { map, start: start as usize })
    }

    /// What follows in a stream whose beginning was read, from the byte `start` on.
    fn rest(beginning: Vec<u8>, start: u64, reader: Box<dyn Read + Send>) -> Self {
        let mut beginning = Cursor::new(beginning);
        beginning.set_position(start);
        Self::Stream(Box::new(beginning.chain(reader)))
    }
}

/// As much of a file as tells what it is.
const LONGEST: u64 = npy::LONGEST;

enum Kind {
    Npy,
    Npz,
    Text,
    Other,
}

/// What a file is, by its first bytes and by its name. A name that promises an array makes a file
/// with other bytes a damaged one.
fn kind(beginning: &[u8], path: &Path) -> Kind {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if beginning.starts_with(npy::MAGIC) || ending == "npy" {
        Kind::Npy
    } else if npz::MAGICS.iter().any(|magic| beginning.starts_with(magic)) || ending == "npz" {
        Kind::Npz
    } else if TEXT.contains(&ending.as_str()) {
        Kind::Text
    } else {
        Kind::Other
    }
}

/// Splits `FILE:ARRAY`, unless there is a file of the whole name.
fn split<'a>(spec: &'a OsStr, name: &'a str) -> (&'a Path, Option<&'a str>) {
    let whole = Path::new(spec);
    match name.rsplit_once(':') {
        Some((file, array)) if !whole.exists() && Path::new(file).is_file() => {
            (Path::new(file), Some(array))
        }
        _ => (whole, None),
    }
}

/// The number of elements in so many bytes.
fn whole(name: &str, bytes: u64, dtype: Dtype) -> Result<u64, ArrayError> {
    let size = dtype.size() as u64;
    if bytes.is_multiple_of(size) {
        Ok(bytes / size)
    } else {
        Err(ArrayError::NotWhole { name: name.to_owned(), bytes, dtype })
    }
}
