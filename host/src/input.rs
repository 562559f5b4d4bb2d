//! Where the elements come from: a generator with a seed, or a file.

pub(crate) mod npy;

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

use self::npy::ByteOrder;
use crate::{
    element::{Element, ElementType, Values},
    host_memory,
    op::Op,
};

#[cfg(target_endian = "big")]
compile_error!("raw input is little-endian and read as it is, as on every host that CUDA runs on");

/// Why there are no elements.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {cause}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{}: input must be a regular file", .path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// A file without elements.
    #[error("{}: the input is empty, with not one element in it", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A size that is no multiple of the element's.
    #[error("{}: {bytes} bytes are not a whole number of {element} elements of {} bytes", .path.display(), .element.size())]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The type it was to hold.
        element: ElementType,
    },
    /// A `.npy` header that cannot be read.
    #[error("{}: not a .npy file that can be read: {cause}", .path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong, as half a sentence.
        cause: String,
    },
    /// A `.npy` file shorter or longer than its header says.
    #[error("{}: the .npy header announces {announced} bytes of elements, and {found} follow", .path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes according to the header.
        announced: u128,
        /// Bytes after the header.
        found: u64,
    },
    /// A `.npy` file of a dtype that no kernel reduces.
    #[error("{}: dtype {dtype} cannot be reduced: it must be one of i4, u4, i8, u8, f4, f8", .path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// Its dtype.
        dtype: String,
    },
    /// A `.npy` file whose dtype is not the type that was asked for.
    #[error("{}: the file holds {found}, not {asked}", .path.display())]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The type of its elements.
        found: ElementType,
        /// The type that was asked for.
        asked: ElementType,
    },
    /// A `.npy` file of several dimensions in column-major order.
    #[error("{}: the array is in Fortran order: save it in C order (numpy.ascontiguousarray)", .path.display())]
    FortranOrder {
        /// The file.
        path: PathBuf,
    },
    /// The host's memory does not suffice.
    #[error("n = {n} {element} elements do not fit in the host's memory")]
    HostMemory {
        /// Number of elements.
        n: u64,
        /// Their type.
        element: ElementType,
    },
}

/// Generates `n` elements from a seed, the same on every machine: from the bytes of ChaCha8 with that seed
/// (`seed_from_u64` of `rand`).
///
/// - Integers: uniform over the whole range of the type, so sums wrap; for a product uniform over the odd numbers, as
///   even ones would soon make it 0.
/// - Floats: uniform in [-1, 1), multiples of 2^-23 (`f32`) or 2^-52 (`f64`); for a product `±(1 + t)` with `t` uniform in
///   [-w, w), `w` being the lesser of 1/2 and 64/n (`f32`) or 512/n (`f64`), so that no partial product leaves the range
///   of the type.
///
/// ```
/// use warpfold_lab::{element::{ElementType, Values}, input::generate, op::Op};
///
/// let Values::F32(values) = generate(ElementType::F32, Op::Sum, 1000, 7)? else { unreachable!() };
/// assert!(values.iter().all(|x| (-1.0..1.0).contains(x)));
/// # Ok::<(), warpfold_lab::input::InputError>(())
/// ```
///
/// # Errors
///
/// [`InputError::HostMemory`].
pub fn generate(element: ElementType, op: Op, n: u64, seed: u64) -> Result<Values, InputError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let width = |limit: f64| (limit / n as f64).min(0.5);
    match (element, op) {
        (ElementType::I32, Op::Prod) => random(&mut rng, n, |x: i32| x | 1),
        (ElementType::U32, Op::Prod) => random(&mut rng, n, |x: u32| x | 1),
        (ElementType::I64, Op::Prod) => random(&mut rng, n, |x: i64| x | 1),
        (ElementType::U64, Op::Prod) => random(&mut rng, n, |x: u64| x | 1),
        (ElementType::I32, _) => random(&mut rng, n, |x: i32| x),
        (ElementType::U32, _) => random(&mut rng, n, |x: u32| x),
        (ElementType::I64, _) => random(&mut rng, n, |x: i64| x),
        (ElementType::U64, _) => random(&mut rng, n, |x: u64| x),
        (ElementType::F32, Op::Prod) => {
            let width = width(64.0) as f32;
            random(&mut rng, n, |x: f32| near_one(unit32(x), width, x.to_bits() & 1 == 1))
        }
        (ElementType::F64, Op::Prod) => {
            let width = width(512.0);
            random(&mut rng, n, |x: f64| near_one(unit64(x), width, x.to_bits() & 1 == 1))
        }
        (ElementType::F32, _) => random(&mut rng, n, unit32),
        (ElementType::F64, _) => random(&mut rng, n, unit64),
    }
}

/// `n` values whose bits are random, each then passed through `shape`.
fn random<T: Element>(rng: &mut ChaCha8Rng, n: u64, shape: impl Fn(T) -> T) -> Result<Values, InputError> {
    let mut values = zeroed(n)?;
    rng.fill_bytes(bytemuck::cast_slice_mut(&mut values));
    for value in &mut values {
        *value = shape(*value);
    }
    Ok(T::values(values))
}

/// From random bits to [-1, 1).
fn unit32(bits: f32) -> f32 {
    (bits.to_bits() >> 8) as f32 / (1 << 23) as f32 - 1.0
}

/// From random bits to [-1, 1).
fn unit64(bits: f64) -> f64 {
    (bits.to_bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn near_one<T>(unit: T, width: T, negative: bool) -> T
where
    T: From<i8> + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + std::ops::Neg<Output = T>,
{
    let magnitude = T::from(1) + unit * width;
    if negative { -magnitude } else { magnitude }
}

/// `n` zeros, or a sentence where the host has no memory for them.
fn zeroed<T: Element>(n: u64) -> Result<Vec<T>, InputError> {
    let refuse = InputError::HostMemory { n, element: T::TYPE };
    // An allocation may succeed and yet be more than the host can ever fill.
    let bytes = u128::from(n) * size_of::<T>() as u128;
    if host_memory::available().is_some_and(|available| bytes > u128::from(available)) {
        return Err(refuse);
    }
    let Ok(len) = usize::try_from(n) else {
        return Err(refuse);
    };
    let mut values = Vec::new();
    if values.try_reserve_exact(len).is_err() {
        return Err(refuse);
    }
    values.resize(len, T::zeroed());
    Ok(values)
}

/// A file of elements of which the type and the number are known, and which is not read yet.
pub struct InputFile {
    path: PathBuf,
    /// At its first element.
    file: File,
    element: ElementType,
    order: ByteOrder,
    n: u64,
}

impl InputFile {
    /// Opens a `.npy` file (by its name, or by its first bytes) or a file of raw little-endian elements.
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
    /// The dtype of a `.npy` file is the type of its elements, and if a type is asked for, it must be the same. Raw
    /// elements are of the type that is asked for, or `i32`.
    ///
    /// # Errors
    ///
    /// Any [`InputError`] but [`InputError::HostMemory`].
    pub fn open(path: &Path, asked: Option<ElementType>) -> Result<Self, InputError> {
        let failed = |cause| InputError::Read { path: path.to_owned(), cause };
        // Before it is opened: opening a pipe waits for a writer.
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
        let named_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
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

/// Compares the header of a `.npy` file of so many bytes with the file and with what is asked for. Returns the type of
/// the elements, their byte order and where they begin.
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
    let announced = header.shape.iter().fold(size, |bytes, &extent| bytes.saturating_mul(extent.into()));
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
    use std::fs;

    use super::*;
    use crate::reference::Reference;

    /// A `.npy` file of version 1.0.
    fn npy_file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
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
        assert!(matches!(read("x", &2.5f32.to_le_bytes(), Some(ElementType::F32)), Ok(Values::F32(v)) if v == [2.5]));
    }

    #[test]
    fn raw_elements_must_be_whole() {
        assert_eq!(read("x", &[], None).unwrap_err(), "FILE: the input is empty, with not one element in it");
        assert_eq!(
            read("x", &[0; 12], Some(ElementType::F64)).unwrap_err(),
            "FILE: 12 bytes are not a whole number of f64 elements of 8 bytes"
        );
    }

    #[test]
    fn npy_names_its_own_type() {
        let data: Vec<u8> = (1..=6).flat_map(i64::to_le_bytes).collect();
        let file = npy_file("<i8", false, "(2, 3)", &data);
        assert!(matches!(read("x.npy", &file, None), Ok(Values::I64(v)) if v == [1, 2, 3, 4, 5, 6]));
        assert!(matches!(read("no_extension", &file, Some(ElementType::I64)), Ok(Values::I64(_))));
        assert_eq!(read("x.npy", &file, Some(ElementType::I32)).unwrap_err(), "FILE: the file holds i64, not i32");
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
        assert_eq!(message(&npy_file("<i4", false, "(2,)", &[0; 12])), format!("{length} 12 follow"));
        assert_eq!(
            message(&npy_file("<i4", false, "(0, 3)", &[])),
            "FILE: the input is empty, with not one element in it"
        );
        assert_eq!(
            message(&npy_file("<c8", false, "(1,)", &[0; 8])),
            "FILE: dtype '<c8' cannot be reduced: it must be one of i4, u4, i8, u8, f4, f8"
        );
        assert!(message(&npy_file("<i2", false, "(4,)", &[0; 8])).contains("dtype '<i2' cannot be reduced"));
        assert!(message(&npy_file("<i4", true, "(1, 2)", &[0; 8])).contains("Fortran order"));
        assert!(message(b"1 2 3").starts_with("FILE: not a .npy file that can be read"));
        assert!(message(&npy_file("<i4", false, "(2,)", &[0; 8])[..20]).starts_with("FILE: not a .npy file"));
        let huge = npy_file("<i4", false, "(1099511627776, 1048576)", &[0; 8]);
        assert!(message(&huge).contains("announces 4611686018427387904 bytes"));
        let overflow = npy_file("<i4", false, "(18446744073709551615, 18446744073709551615, 9)", &[0; 8]);
        assert!(message(&overflow).ends_with("its shape has 2^64 elements or more"), "{}", message(&overflow));
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
        // It is not opened to find out: a named pipe would then wait for a writer.
        #[cfg(unix)]
        {
            let socket = folder.path().join("socket");
            let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            let error = InputFile::open(&socket, None).err().unwrap();
            assert!(matches!(error, InputError::NotAFile { .. }), "{error}");
        }
    }

    #[test]
    fn the_seed_decides() {
        for element in ElementType::ALL {
            for op in Op::ALL {
                let of = |seed| format!("{:?}", generate(element, op, 100, seed).unwrap());
                assert_eq!(of(7), of(7));
                assert_ne!(of(7), of(8));
                assert_eq!(generate(element, op, 0, 7).unwrap().len(), 0);
            }
        }
        // Pinned, so that a change of the generator is noticed.
        assert!(
            matches!(generate(ElementType::U32, Op::Sum, 2, 1), Ok(Values::U32(v)) if v == [2_359_561_649, 1_728_662_762])
        );
    }

    #[test]
    fn products_stay_in_range() {
        for n in [1, 100, 100_000] {
            for element in [ElementType::F32, ElementType::F64] {
                let values = generate(element, Op::Prod, n, 3).unwrap();
                let bound = Reference::new(&values, Op::Prod, 0).error_bound();
                assert!(bound.is_finite(), "{n} {element}");
            }
            let odd = generate(ElementType::I32, Op::Prod, n, 3).unwrap();
            assert!(matches!(odd, Values::I32(v) if v.iter().all(|x| x % 2 != 0)));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let error = generate(ElementType::F64, Op::Sum, 1 << 60, 0).unwrap_err();
        assert_eq!(error.to_string(), format!("n = {} f64 elements do not fit in the host's memory", 1u64 << 60));
    }
}
