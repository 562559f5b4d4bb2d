//! Kernel arguments that are described in text. The command `simt run` and replayed launches read
//! them.
//!
//! | text | argument |
//! |---|---|
//! | `u32:1024`, `i8:-1`, `u64:0xff`, `f32:1.5`, `f64:1e-3`, `f32:inf` | a value |
//! | `ptr:0`, `ptr:0x100000000` | an address, which is passed as it is |
//! | `bytes:00ff10` | a structure: the bytes that the device sees, two hexadecimal digits each |
//! | `buffer:f32:1024` | the address of a new buffer of 1024 values that nothing has written |
//! | `buffer:f32:1024=zero` | the same, with zeros |
//! | `buffer:f32:1024=iota` | the same, with 0, 1, 2, … (integers wrap, floats round) |
//! | `buffer:f32:1024=random`, `=random:7` | the same, with random values from seed 0 or 7 |
//! | `buffer:f32:1024=@FILE` | the same, with a file's bytes, little-endian; sizes must agree |
//!
//! Types are `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`, `f16`, `bf16`, `f32` and `f64`.
//!
//! Random values come from SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014), with one draw for each value, so that they are the same on every machine and
//! in every version. An integer is the low bits of its draw. A float is a fraction in [0, 1) that
//! is made of the draw's top bits: 11 bits for `f16`, 8 for `bf16`, 24 for `f32` and 53 for `f64`.
//!
//! ```
//! use simt::{Arg, Memory, args::ArgSpec};
//!
//! let memory = Memory::new(1 << 20);
//! let spec: ArgSpec = "buffer:u16:4=iota".parse()?;
//! let Arg::Pointer(address) = spec.place(&memory)? else {
//!     unreachable!("a buffer's argument is its address")
//! };
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

mod buffer;
mod error;
mod scalar;

use std::str::FromStr;

pub use buffer::{BufferSpec, Fill};
pub use error::ArgError;
pub use scalar::ScalarType;

use crate::exec::launch::Arg;
use crate::exec::memory::Memory;
use scalar::integer;

/// The description of an argument: a value, or a buffer that is to be allocated.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgSpec {
    /// A value, an address or a structure.
    Value(Arg),
    /// A buffer. Its address is passed.
    Buffer(BufferSpec),
}

impl ArgSpec {
    /// Allocates and fills the buffer, if the argument is one, and returns the argument for the
    /// kernel.
    ///
    /// # Errors
    /// The memory has no space for the buffer, or a file cannot fill it.
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
                let bytes = hexadecimal(value)
                    .ok_or_else(|| ArgError::Bytes { value: value.to_owned() })?;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::scalar::widen;
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
        // The first outputs of the generator's reference implementation for seed 1234567.
        let expected: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
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
        let floats: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
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
        let ArgSpec::Buffer(longer) = spec(&format!("buffer:u16:3=@{name}")) else {
            panic!("a buffer")
        };
        assert_eq!(
            longer.initial().unwrap_err().to_string(),
            format!("{name} has 4 bytes and its buffer takes 6")
        );
        fs::remove_file(&file).unwrap();
        let error = longer.initial().unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {name}: ")), "{error}");
    }
}
