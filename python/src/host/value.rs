//! Results on the host, and where they go.

use half::{bf16, f16};

use crate::{array::Dims, dtype::Dtype};

/// A result, before it is rounded to the type of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Float(f64),
    Signed(i64),
    Unsigned(u64),
}

impl Value {
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Signed(value) => value as f64,
            Self::Unsigned(value) => value as f64,
        }
    }

    fn bits(self) -> u64 {
        match self {
            Self::Float(value) => value as i64 as u64,
            Self::Signed(value) => value as u64,
            Self::Unsigned(value) => value,
        }
    }
}

/// An array that takes results.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) address: u64,
    pub(crate) dtype: Dtype,
    /// The shape of the results and their strides in bytes, in C order.
    pub(crate) shape: Dims,
    pub(crate) strides: Dims,
}

impl Output {
    /// Where the result with this number is.
    fn place(&self, mut number: usize) -> *mut u8 {
        let mut address = self.address;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            let size = size as usize;
            address = address.wrapping_add_signed((number % size) as i64 * stride);
            number /= size;
        }
        std::ptr::with_exposed_provenance_mut(address as usize)
    }

    /// Writes the result with this number, rounded to nearest even.
    ///
    /// # Safety
    ///
    /// The output has such a place, which nobody else accesses meanwhile.
    pub(super) unsafe fn write(&self, number: usize, value: Value) {
        let place = self.place(number);
        // SAFETY: the caller's contract; the place need not be aligned.
        unsafe {
            match self.dtype {
                Dtype::Bool => place.write(u8::from(value.bits() != 0)),
                Dtype::I8 | Dtype::U8 => place.write(value.bits() as u8),
                Dtype::I16 | Dtype::U16 => place.cast::<u16>().write_unaligned(value.bits() as u16),
                Dtype::I32 | Dtype::U32 => place.cast::<u32>().write_unaligned(value.bits() as u32),
                Dtype::I64 | Dtype::U64 => place.cast::<u64>().write_unaligned(value.bits()),
                Dtype::F16 => place.cast::<f16>().write_unaligned(f16::from_f64(value.float())),
                Dtype::Bf16 => place.cast::<bf16>().write_unaligned(bf16::from_f64(value.float())),
                Dtype::F32 => place.cast::<f32>().write_unaligned(value.float() as f32),
                Dtype::F64 => place.cast::<f64>().write_unaligned(value.float()),
                Dtype::C64 | Dtype::C128 => Dtype::whole_complex(),
            }
        }
    }
}
