//! Keys in files.

use std::ffi::OsStr;

use anyhow::anyhow;
use bytemuck::Pod;
use warpfold::Error;
use warpfold_tools::{
    arrays::{Array, ArrayError, Dtype},
    terminal::{Failure, refused},
};

use crate::elements::Elements;

/// The keys of an array.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The array that has them.
    pub(crate) name: String,
    pub(crate) bits: Bits,
    dtype: Dtype,
}

/// The bits of keys, by their number of bytes. For the device a negative key is one that is too
/// large for any bin.
#[derive(Debug)]
pub(crate) enum Bits {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Keys {
    /// Reads the keys from a file. `option` is what stands before the file's name in a message, and
    /// ends with a space unless it is empty.
    pub(crate) fn open(option: &str, file: &OsStr) -> Result<Self, Failure> {
        let wrong_type = |name: &str, dtype: &str| {
            refused(anyhow!(
                "{option}{name}: keys are integers of at most 64 bits, and these are {dtype}"
            ))
        };
        let array = Array::open(file, None).map_err(|error| match error {
            ArrayError::NoArray { name } => refused(anyhow!(
                "{option}{name}: keys have a header that says their type, so they are a .npy file \
                 or an array of an .npz file"
            )),
            ArrayError::Dtype { name, dtype } => wrong_type(&name, &dtype),
            error if option.is_empty() => refused(error),
            error => refused(anyhow!("{}: {error}", option.trim_end())),
        })?;
        let (name, dtype) = (array.name().to_owned(), array.dtype());
        let bits = match dtype {
            Dtype::I8 | Dtype::U8 => Bits::One(read(option, array)?),
            Dtype::I16 | Dtype::U16 => Bits::Two(read(option, array)?),
            Dtype::I32 | Dtype::U32 => Bits::Four(read(option, array)?),
            Dtype::I64 | Dtype::U64 => Bits::Eight(read(option, array)?),
            dtype => return Err(wrong_type(&name, dtype.name())),
        };
        Ok(Self { name, bits, dtype })
    }

    /// Refuses keys of a type that has no bins.
    pub(crate) fn check_bins(&self, option: &str) -> Result<(), Failure> {
        let Self { name, dtype, .. } = self;
        if matches!(dtype, Dtype::I8 | Dtype::I16) {
            return Err(refused(anyhow!(
                "{option}{name}: keys of bins are u8, u16, u32, i32, u64 or i64, and these are {dtype}"
            )));
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        match &self.bits {
            Bits::One(keys) => keys.len(),
            Bits::Two(keys) => keys.len(),
            Bits::Four(keys) => keys.len(),
            Bits::Eight(keys) => keys.len(),
        }
    }

    /// The bytes of all keys.
    pub(crate) fn bytes(&self) -> u64 {
        (self.len() * self.dtype.size()) as u64
    }

    /// A key as a number.
    pub(crate) fn number(&self, i: usize) -> i128 {
        self.number_of(match &self.bits {
            Bits::One(keys) => keys[i].into(),
            Bits::Two(keys) => keys[i].into(),
            Bits::Four(keys) => keys[i].into(),
            Bits::Eight(keys) => keys[i],
        })
    }

    /// The number that has these bits.
    pub(crate) fn number_of(&self, bits: u64) -> i128 {
        let unused = 64 - 8 * self.dtype.size() as u32;
        if self.dtype.is_signed_integer() {
            i128::from((bits << unused) as i64 >> unused)
        } else {
            bits.into()
        }
    }
}

impl Keys {
    /// The same error, which names the key if it is known by its position alone.
    pub(crate) fn named(&self, error: Error) -> Error {
        match error {
            Error::Bin { position, key: None, bins } if bins > 0 => {
                Error::Bin { position, key: Some(self.number(position as usize)), bins }
            }
            error => error,
        }
    }
}

/// Reads all keys.
fn read<K: Pod>(option: &str, array: Array) -> Result<Vec<K>, Failure> {
    let name = array.name().to_owned();
    let (keys, are_all) = Elements::new(vec![array], true).load(usize::MAX)?;
    if !are_all {
        return Err(refused(anyhow!("{option}{name}: the keys do not fit in memory")));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_sign() {
        let keys = |bits, dtype| Keys { name: "x".into(), bits, dtype };
        assert_eq!(keys(Bits::One(vec![0xff]), Dtype::I8).number(0), -1);
        assert_eq!(keys(Bits::One(vec![0xff]), Dtype::U8).number(0), 255);
        assert_eq!(keys(Bits::Four(vec![1 << 31]), Dtype::I32).number(0), -(1 << 31));
        assert_eq!(keys(Bits::Eight(vec![u64::MAX]), Dtype::I64).number(0), -1);
        assert_eq!(keys(Bits::Eight(vec![u64::MAX]), Dtype::U64).number(0), u64::MAX.into());
    }
}
