//! The types of elements, as the array API standard names them.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyString, PyType},
};

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Dtype {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    /// A complex number of two `f32`.
    C64,
    C128,
}

/// What a type of elements is, as far as promotion asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

/// All types, in the order of their numbers.
pub(crate) const ALL: [Dtype; 15] = [
    Dtype::Bool,
    Dtype::I8,
    Dtype::U8,
    Dtype::I16,
    Dtype::U16,
    Dtype::I32,
    Dtype::U32,
    Dtype::I64,
    Dtype::U64,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F32,
    Dtype::F64,
    Dtype::C64,
    Dtype::C128,
];

/// The codes of DLPack's types.
pub(crate) mod code {
    pub(crate) const INT: u8 = 0;
    pub(crate) const UINT: u8 = 1;
    pub(crate) const FLOAT: u8 = 2;
    pub(crate) const BFLOAT: u8 = 4;
    pub(crate) const COMPLEX: u8 = 5;
    pub(crate) const BOOL: u8 = 6;
}

impl Dtype {
    /// The size of an element, in bytes.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Kind::Signed,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Kind::Unsigned,
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 => Kind::Float,
            Self::C64 | Self::C128 => Kind::Complex,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    pub(crate) const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// The type of the real and of the imaginary part, or the type itself if it is not complex.
    pub(crate) const fn part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            dtype => dtype,
        }
    }

    /// Panics, because a complex array has come to a place where only its parts do.
    pub(crate) fn whole_complex() -> ! {
        unreachable!("a complex array is reduced as an array of its parts")
    }

    /// The name in the array API standard, in NumPy and in torch.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        }
    }

    /// The type with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = if name == "bool_" { "bool" } else { name };
        ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The type that array interfaces call by this letter and size, such as `f4`.
    pub(crate) fn of_letter(letter: u8, bytes: usize) -> Option<Self> {
        Some(match (letter, bytes) {
            (b'b', 1) => Self::Bool,
            (b'i', 1) => Self::I8,
            (b'u', 1) => Self::U8,
            (b'i', 2) => Self::I16,
            (b'u', 2) => Self::U16,
            (b'i', 4) => Self::I32,
            (b'u', 4) => Self::U32,
            (b'i', 8) => Self::I64,
            (b'u', 8) => Self::U64,
            (b'f', 2) => Self::F16,
            (b'f', 4) => Self::F32,
            (b'f', 8) => Self::F64,
            (b'c', 8) => Self::C64,
            (b'c', 16) => Self::C128,
            _ => return None,
        })
    }

    /// The letter that array interfaces use. They have none for `bfloat16`, which is raw bytes.
    pub(crate) const fn letter(self) -> char {
        match self.kind() {
            Kind::Bool => 'b',
            Kind::Signed => 'i',
            Kind::Unsigned => 'u',
            Kind::Float if matches!(self, Self::Bf16) => 'V',
            Kind::Float => 'f',
            Kind::Complex => 'c',
        }
    }

    /// The type with a code of DLPack.
    pub(crate) fn of_dlpack(code: u8, bits: u8, lanes: u16) -> PyResult<Self> {
        let letter = match code {
            code::INT => b'i',
            code::UINT => b'u',
            code::FLOAT => b'f',
            code::BOOL => b'b',
            code::COMPLEX => b'c',
            code::BFLOAT if bits == 16 && lanes == 1 => return Ok(Self::Bf16),
            _ => 0,
        };
        if lanes == 1
            && bits.is_multiple_of(8)
            && let Some(dtype) = Self::of_letter(letter, usize::from(bits / 8))
        {
            return Ok(dtype);
        }
        let of_lanes = || format!("DLPack's type {code} of {bits} bits and {lanes} lanes");
        Err(unsupported(&match code {
            _ if lanes != 1 => of_lanes(),
            code::COMPLEX => format!("complex{bits}"),
            code::FLOAT => format!("float{bits}"),
            _ => of_lanes(),
        }))
    }

    /// The code of DLPack and the number of bits.
    pub(crate) const fn dlpack(self) -> (u8, u8) {
        let code = match self.kind() {
            Kind::Bool => code::BOOL,
            Kind::Signed => code::INT,
            Kind::Unsigned => code::UINT,
            Kind::Float if matches!(self, Self::Bf16) => code::BFLOAT,
            Kind::Float => code::FLOAT,
            Kind::Complex => code::COMPLEX,
        };
        (code, 8 * self.bytes() as u8)
    }

    /// The type that the argument `dtype` names: a type of torch, CuPy, NumPy or JAX, a string, or
    /// `complex`, `float`, `int` or `bool`.
    pub(crate) fn parse(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = if let Ok(class) = object.cast::<PyType>() {
            match &*class.name()?.to_string_lossy() {
                "complex" => "complex128".to_owned(),
                "float" => "float64".to_owned(),
                "int" => "int64".to_owned(),
                name => name.to_owned(),
            }
        } else if let Ok(text) = object.cast::<PyString>() {
            text.to_string_lossy().into_owned()
        } else {
            object.str()?.to_string_lossy().into_owned()
        };
        let name = text.rsplit('.').next().unwrap_or(&text);
        Self::named(name).ok_or_else(|| unsupported(name))
    }
}

/// Calls a generic function with the type of Rust that `$dtype` stands for, if it is in a list: in
/// one of those below, which have names, or in one that is written out. The result is `None`
/// otherwise. Truth values are bytes. No list has complex types, because their parts are what is
/// reduced.
macro_rules! with_type {
    ($dtype:expr, [$($variant:ident $type:ty),*], $t:ident => $call:expr) => {
        match $dtype {
            $($crate::dtype::Dtype::$variant => { type $t = $type; Some($call) })*
            _ => None,
        }
    };
    ($dtype:expr, all, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [
            Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64
        ], $t => $call)
    };
    ($dtype:expr, integers, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [
            Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64
        ], $t => $call)
    };
    ($dtype:expr, floats, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [
            F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64
        ], $t => $call)
    };
    ($dtype:expr, narrow, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [F16 half::f16, Bf16 half::bf16, F32 f32], $t => $call)
    };
    ($dtype:expr, ranked, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [
            Bool u8, U8 u8, I32 i32, U32 u32, I64 i64, U64 u64, F16 half::f16, Bf16 half::bf16,
            F32 f32, F64 f64
        ], $t => $call)
    };
    // Keys by the unsigned type of their size, which gives the same bins: a negative key is one
    // that is too large.
    ($dtype:expr, keys, $t:ident => $call:expr) => {
        $crate::dtype::with_type!($dtype, [
            Bool u8, U8 u8, U16 u16, I32 u32, U32 u32, I64 u64, U64 u64
        ], $t => $call)
    };
}
pub(crate) use with_type;

/// The error for a type of elements that cannot be reduced.
pub(crate) fn unsupported(name: &str) -> PyErr {
    let cast = match name {
        "complex32" => "cast it to complex64",
        name if name.starts_with("complex") || name == "clongdouble" => "cast it to complex128",
        "float128" | "longdouble" => "cast it to float64",
        name if name.starts_with("float8") => "cast it to float16, bfloat16 or float32",
        "object" => "cast it to a numeric type, such as float64 or int64",
        name if name.starts_with("datetime") || name.starts_with("timedelta") => "view it as int64",
        _ => "cast it to one of these",
    };
    PyTypeError::new_err(format!(
        "arrays of {name} cannot be reduced: the types are bool, int8 to int64, uint8 to uint64, \
         float16, bfloat16, float32, float64, complex64 and complex128; {cast}"
    ))
}

/// The error for complex elements where a reduction has no result for them.
pub(crate) fn complex_refused(op: &str, dtype: Dtype) -> PyErr {
    PyTypeError::new_err(format!(
        "{op} takes no arrays of {}, as sum, prod, mean, norm, any, all and count_nonzero do: pass \
         the real or the imaginary parts",
        dtype.name()
    ))
}
