//! Kernel arguments described in text, as the command `simt run` and replayed launches take them.
//!
//! | text | argument |
//! |---|---|
//! | `u32:1024`, `i8:-1`, `u64:0xff`, `f32:1.5`, `f64:1e-3`, `f32:inf` | a value |
//! | `ptr:0`, `ptr:0x100000000` | an address as it is |
//! | `bytes:00ff10` | a structure: the bytes that the device sees, two hexadecimal digits each |
//! | `buffer:f32:1024` | the address of a new buffer of 1024 values that nothing has written |
//! | `buffer:f32:1024=zero` | … of zeros |
//! | `buffer:f32:1024=iota` | … of 0, 1, 2, … (integers wrap, floats round) |
//! | `buffer:f32:1024=random`, `=random:7` | … of random values, by seed 0 or the given one |
//! | `buffer:f32:1024=@FILE` | … of the file's bytes, little-endian, of which there must be as many as the buffer takes |
//!
//! Types are `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`, `f16`, `bf16`, `f32` and `f64`.
//!
//! Random values come from SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014),
//! one draw for each, so that they are the same everywhere and for good: integers are its low bits, `f16`, `bf16`, `f32`
//! and `f64` its top 11, 8, 24 and 53 bits as a fraction in [0, 1).
//!
//! ```
//! use simt::{Arg, Memory, args::ArgSpec};
//!
//! let memory = Memory::new(1 << 20);
//! let spec: ArgSpec = "buffer:u16:4=iota".parse()?;
//! let Arg::Pointer(address) = spec.place(&memory)? else { unreachable!("a buffer's argument is its address") };
//! let mut bytes = [0; 8];
//! memory.read(address, &mut bytes)?;
//! assert_eq!(bytes, [0, 0, 1, 0, 2, 0, 3, 0]);
//! assert_eq!("u32:1024".parse::<ArgSpec>()?.place(&memory)?, Arg::U32(1024));
//! assert_eq!(
//!     "u8:256".parse::<ArgSpec>().unwrap_err().to_string(),
//!     "`256` is not a value of type u8"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use half::{bf16, f16};
use thiserror::Error;

use crate::{Arg, Memory, MemoryError};

/// Why a description was not understood, or could not be followed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArgError {
    /// It does not begin with a kind of argument.
    #[error("`{text}` is not an argument: it must begin with buffer:, ptr:, bytes: or a type ({})", ScalarType::list())]
    Kind {
        /// The description.
        text: String,
    },
    /// A value that its type does not have.
    #[error("`{value}` is not a value of type {ty}")]
    Value {
        /// The value.
        value: String,
        /// The type.
        ty: &'static str,
    },
    /// A structure that is no sequence of hexadecimal bytes.
    #[error("`{value}` is not a structure: write its bytes, at least one, as two hexadecimal digits each")]
    Bytes {
        /// The value.
        value: String,
    },
    /// A buffer of an unknown type.
    #[error("`{ty}` is not the type of a buffer's values, which is one of {}", ScalarType::list())]
    Element {
        /// The type.
        ty: String,
    },
    /// A buffer without a length, or with one that is not allowed.
    #[error("`{len}` is not the length of a buffer, which is a whole number from 1 to {most}")]
    Len {
        /// The length.
        len: String,
        /// The greatest that addresses can hold.
        most: u64,
    },
    /// An unknown way to fill a buffer.
    #[error("`={fill}` does not fill a buffer: write =zero, =iota, =random, =random:SEED or =@FILE")]
    Fill {
        /// What came after `=`.
        fill: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A file that does not fit its buffer.
    #[error("{} has {has} bytes and its buffer takes {takes}", file.display())]
    FileSize {
        /// The file.
        file: PathBuf,
        /// Its size in bytes.
        has: u64,
        /// The buffer's size in bytes.
        takes: u64,
    },
    /// A buffer that found no place.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// The type of a value, or of a buffer's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum ScalarType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl ScalarType {
    /// All of them.
    pub const ALL: [ScalarType; 12] = {
        use ScalarType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        [U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64]
    };

    /// As descriptions spell it.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::U8 => "u8",
            ScalarType::U16 => "u16",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
            ScalarType::I8 => "i8",
            ScalarType::I16 => "i16",
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::F16 => "f16",
            ScalarType::BF16 => "bf16",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
        }
    }

    /// Bytes of one value.
    pub const fn size(self) -> u64 {
        match self {
            ScalarType::U8 | ScalarType::I8 => 1,
            ScalarType::U16 | ScalarType::I16 | ScalarType::F16 | ScalarType::BF16 => 2,
            ScalarType::U32 | ScalarType::I32 | ScalarType::F32 => 4,
            ScalarType::U64 | ScalarType::I64 | ScalarType::F64 => 8,
        }
    }

    fn named(name: &str) -> Option<ScalarType> {
        ScalarType::ALL.into_iter().find(|ty| ty.name() == name)
    }

    fn list() -> String {
        ScalarType::ALL.map(ScalarType::name).join(", ")
    }

    fn value(self, text: &str) -> Option<Arg> {
        fn float<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        match self {
            ScalarType::U8 => integer(text).map(Arg::U8),
            ScalarType::U16 => integer(text).map(Arg::U16),
            ScalarType::U32 => integer(text).map(Arg::U32),
            ScalarType::U64 => integer(text).map(Arg::U64),
            ScalarType::I8 => integer(text).map(Arg::I8),
            ScalarType::I16 => integer(text).map(Arg::I16),
            ScalarType::I32 => integer(text).map(Arg::I32),
            ScalarType::I64 => integer(text).map(Arg::I64),
            ScalarType::F16 => float(text).map(|value| Arg::U16(f16::from_f64(value).to_bits())),
            ScalarType::BF16 => float(text).map(|value| Arg::U16(bf16::from_f64(value).to_bits())),
            ScalarType::F32 => float(text).map(Arg::F32),
            ScalarType::F64 => float(text).map(Arg::F64),
        }
    }

    /// The bytes of `index` as a value of this type.
    fn iota(self, index: u64) -> [u8; 8] {
        match self {
            ScalarType::F16 => widen(f16::from_f64(index as f64).to_bits()),
            ScalarType::BF16 => widen(bf16::from_f64(index as f64).to_bits()),
            ScalarType::F32 => widen((index as f32).to_bits()),
            ScalarType::F64 => (index as f64).to_le_bytes(),
            _ => index.to_le_bytes(),
        }
    }

    /// The bytes of a value made from 64 random bits.
    fn random(self, bits: u64) -> [u8; 8] {
        // As many bits as the type's significand has, so that nothing is rounded.
        let fraction = |digits: u32| (bits >> (64 - digits)) as f64 / (1u64 << digits) as f64;
        match self {
            ScalarType::F16 => widen(f16::from_f64(fraction(11)).to_bits()),
            ScalarType::BF16 => widen(bf16::from_f64(fraction(8)).to_bits()),
            ScalarType::F32 => widen((fraction(24) as f32).to_bits()),
            ScalarType::F64 => fraction(53).to_le_bytes(),
            _ => bits.to_le_bytes(),
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An integer in decimal, or in hexadecimal after `0x`.
fn integer<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        // `from_str_radix` would take a sign here.
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => i128::from_str_radix(digits, 16).ok()?,
        Some(_) => return None,
        None => text.parse().ok()?,
    };
    T::try_from(value).ok()
}

fn widen(bits: impl Into<u64>) -> [u8; 8] {
    bits.into().to_le_bytes()
}

/// What a buffer holds before the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fill {
    /// Nothing: it is allocated and not written.
    Uninitialised,
    /// Zeros.
    Zero,
    /// 0, 1, 2, …
    Iota,
    /// Random values by this seed.
    Random(u64),
    /// A file's bytes.
    File(PathBuf),
}

impl FromStr for Fill {
    type Err = ArgError;

    /// Reads what stands after `=`.
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
    /// [`ArgError::Len`] for none, and for more than addresses can hold.
    pub fn new(element: ScalarType, len: u64, fill: Fill) -> Result<BufferSpec, ArgError> {
        let most = i64::MAX as u64 / element.size();
        if !(1..=most).contains(&len) {
            return Err(ArgError::Len { len: len.to_string(), most });
        }
        Ok(BufferSpec { element, len, fill })
    }

    /// The type of its values.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// How many values it has, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "no buffer is empty")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.len * self.element.size()
    }

    /// How it is filled.
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// The bytes it begins with, little-endian; `None` if nothing is to be written.
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
                // Asked first, so that a file far too large is not read.
                let has = fs::metadata(file).map_err(failed)?.len();
                let takes = self.size();
                if has != takes {
                    return Err(ArgError::FileSize { file: file.clone(), has, takes });
                }
                Some(fs::read(file).map_err(failed)?)
            }
        })
    }

    /// The bytes of values that each stand in the first bytes of eight.
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

    /// Reads what stands after `buffer:`.
    fn from_str(text: &str) -> Result<BufferSpec, ArgError> {
        let (shape, fill) = match text.split_once('=') {
            Some((shape, fill)) => (shape, fill.parse()?),
            None => (text, Fill::Uninitialised),
        };
        let (ty, len) = shape.split_once(':').unwrap_or((shape, ""));
        let element = ScalarType::named(ty).ok_or_else(|| ArgError::Element { ty: ty.to_owned() })?;
        match len.parse() {
            Ok(len) => BufferSpec::new(element, len, fill),
            Err(_) => Err(ArgError::Len { len: len.to_owned(), most: i64::MAX as u64 / element.size() }),
        }
    }
}

/// An argument as it was described: a value, or a buffer to be made.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgSpec {
    /// A value, an address or a structure.
    Value(Arg),
    /// A buffer, whose address is passed.
    Buffer(BufferSpec),
}

impl ArgSpec {
    /// Makes the buffer, if it is one, and returns what the kernel gets.
    ///
    /// # Errors
    /// No memory for the buffer, or a file that cannot fill it.
    pub fn place(&self, memory: &Memory) -> Result<Arg, ArgError> {
        match self {
            ArgSpec::Value(arg) => Ok(arg.clone()),
            ArgSpec::Buffer(buffer) => {
                let address = memory.alloc(buffer.size())?;
                if let Some(bytes) = buffer.initial()? {
                    memory.write(address, &bytes)?;
                }
                Ok(Arg::Pointer(address))
            }
        }
    }
}

impl FromStr for ArgSpec {
    type Err = ArgError;

    fn from_str(text: &str) -> Result<ArgSpec, ArgError> {
        let unknown = || ArgError::Kind { text: text.to_owned() };
        let (kind, value) = text.split_once(':').ok_or_else(unknown)?;
        let invalid = |ty| ArgError::Value { value: value.to_owned(), ty };
        Ok(match kind {
            "buffer" => ArgSpec::Buffer(value.parse()?),
            "ptr" => ArgSpec::Value(Arg::Pointer(integer(value).ok_or_else(|| invalid("ptr"))?)),
            "bytes" => {
                let bytes = hexadecimal(value).ok_or_else(|| ArgError::Bytes { value: value.to_owned() })?;
                ArgSpec::Value(Arg::Bytes(bytes))
            }
            _ => {
                let ty = ScalarType::named(kind).ok_or_else(unknown)?;
                ArgSpec::Value(ty.value(value).ok_or_else(|| invalid(ty.name()))?)
            }
        })
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8)).collect()
}

/// SplitMix64: a counter with a step of 2^64 over the golden ratio, mixed.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ArgSpec {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn initial(text: &str) -> Vec<u8> {
        match spec(text) {
            ArgSpec::Buffer(buffer) => buffer.initial().unwrap().unwrap(),
            ArgSpec::Value(arg) => panic!("{text} is {arg:?}"),
        }
    }

    #[test]
    fn values_of_every_type() {
        for (text, arg) in [
            ("u8:255", Arg::U8(255)),
            ("u16:0xffff", Arg::U16(0xffff)),
            ("u32:1024", Arg::U32(1024)),
            ("u64:18446744073709551615", Arg::U64(u64::MAX)),
            ("i8:-128", Arg::I8(-128)),
            ("i16:-1", Arg::I16(-1)),
            ("i32:-2147483648", Arg::I32(i32::MIN)),
            ("i64:0x10", Arg::I64(16)),
            ("f16:1.5", Arg::U16(0x3e00)),
            ("bf16:-2", Arg::U16(0xc000)),
            ("f32:1.5", Arg::F32(1.5)),
            ("f32:inf", Arg::F32(f32::INFINITY)),
            ("f64:-1e-3", Arg::F64(-1e-3)),
            ("ptr:0", Arg::Pointer(0)),
            ("ptr:0x100000000", Arg::Pointer(1 << 32)),
            ("bytes:00fF10", Arg::Bytes(vec![0, 255, 16])),
        ] {
            assert_eq!(spec(text), ArgSpec::Value(arg), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence() {
        let list = "u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64";
        for (text, message) in [
            ("", format!("`` is not an argument: it must begin with buffer:, ptr:, bytes: or a type ({list})")),
            ("u32", format!("`u32` is not an argument: it must begin with buffer:, ptr:, bytes: or a type ({list})")),
            (
                "b32:1",
                format!("`b32:1` is not an argument: it must begin with buffer:, ptr:, bytes: or a type ({list})"),
            ),
            ("u32:", "`` is not a value of type u32".into()),
            ("u32:-1", "`-1` is not a value of type u32".into()),
            ("u8:256", "`256` is not a value of type u8".into()),
            ("u8:0x", "`0x` is not a value of type u8".into()),
            ("u8:0x+1", "`0x+1` is not a value of type u8".into()),
            ("i32:1.5", "`1.5` is not a value of type i32".into()),
            ("f32:one", "`one` is not a value of type f32".into()),
            ("ptr:-1", "`-1` is not a value of type ptr".into()),
            (
                "bytes:123",
                "`123` is not a structure: write its bytes, at least one, as two hexadecimal digits each".into(),
            ),
            ("buffer:b16:4", format!("`b16` is not the type of a buffer's values, which is one of {list}")),
            (
                "buffer:u8",
                "`` is not the length of a buffer, which is a whole number from 1 to 9223372036854775807".into(),
            ),
            (
                "buffer:u64:0",
                "`0` is not the length of a buffer, which is a whole number from 1 to 1152921504606846975".into(),
            ),
            (
                "buffer:f64:1152921504606846976",
                "`1152921504606846976` is not the length of a buffer, which is a whole number from 1 to \
                 1152921504606846975"
                    .into(),
            ),
            (
                "buffer:u8:4=ones",
                "`=ones` does not fill a buffer: write =zero, =iota, =random, =random:SEED or =@FILE".into(),
            ),
            (
                "buffer:u8:4=random:x",
                "`=random:x` does not fill a buffer: write =zero, =iota, =random, =random:SEED or =@FILE".into(),
            ),
            (
                "buffer:u8:4=@",
                "`=@` does not fill a buffer: write =zero, =iota, =random, =random:SEED or =@FILE".into(),
            ),
        ] {
            assert_eq!(text.parse::<ArgSpec>().unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn buffers_begin_as_described() {
        assert_eq!(initial("buffer:i16:3=zero"), [0; 6]);
        assert_eq!(initial("buffer:f64:2=iota"), [0f64.to_le_bytes(), 1f64.to_le_bytes()].concat());
        assert_eq!(initial("buffer:f16:3=iota"), [0, 0, 0, 0x3c, 0, 0x40]);
        let bytes = initial("buffer:u8:300=iota");
        assert_eq!((bytes[255], bytes[256], bytes.len()), (255, 0, 300));
        let ArgSpec::Buffer(buffer) = spec("buffer:f32:8") else { panic!("a buffer") };
        assert_eq!(buffer.initial().unwrap(), None);
        assert_eq!((buffer.element(), buffer.len(), buffer.size()), (ScalarType::F32, 8, 32));
    }

    #[test]
    fn random_values_are_splitmix64s() {
        // The generator's first outputs for seed 1234567, as its reference implementation gives them.
        let expected: [u64; 3] = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let wide = initial("buffer:u64:3=random:1234567");
        assert_eq!(wide, expected.map(u64::to_le_bytes).concat());
        let narrow = initial("buffer:u16:3=random:1234567");
        assert_eq!(narrow, expected.map(|value| (value as u16).to_le_bytes()).concat());
        assert_eq!(initial("buffer:i32:9=random"), initial("buffer:i32:9=random:0"));
        assert_ne!(initial("buffer:i32:9=random:1"), initial("buffer:i32:9=random:2"));
    }

    #[test]
    fn random_floats_are_in_the_unit_interval() {
        let bytes = initial("buffer:f32:4096=random:3");
        let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
        assert!(floats.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = floats.iter().sum::<f32>() / floats.len() as f32;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert_eq!(ScalarType::F64.random(u64::MAX), (1.0 - f64::EPSILON / 2.0).to_le_bytes());
        assert_eq!(ScalarType::F16.random(u64::MAX), widen(0x3bff_u16));
        assert_eq!(ScalarType::BF16.random(u64::MAX), widen(0x3f7f_u16));
    }

    #[test]
    fn a_file_must_fit() {
        let file = std::env::temp_dir().join(format!("simt-args-{}", std::process::id()));
        fs::write(&file, [1, 2, 3, 4]).unwrap();
        let name = file.display();
        assert_eq!(initial(&format!("buffer:u16:2=@{name}")), [1, 2, 3, 4]);
        let ArgSpec::Buffer(longer) = spec(&format!("buffer:u16:3=@{name}")) else { panic!("a buffer") };
        assert_eq!(longer.initial().unwrap_err().to_string(), format!("{name} has 4 bytes and its buffer takes 6"));
        fs::remove_file(&file).unwrap();
        let error = longer.initial().unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {name}: ")), "{error}");
    }
}
