//! `cvt` from and to floats of 16 bits. The modifiers come with the operands.

use half::{bf16, f16};

use super::{Flavour, Half, is_nan};
use crate::alu::cvt::{integer, integral};
use crate::alu::float::{canonical32, flush, saturate, saturate64};
use crate::ptx::ast::{CvtRounding, Type};
use crate::registers::{AluFn, alu};

/// The conversion from register `a` to register `d`; each register is as wide as its type.
pub(crate) fn convert(to: Type, from: Type, rounding: Option<CvtRounding>) -> Option<AluFn> {
    match to {
        Type::F16 | Type::Bf16 => to_half(to, from, rounding),
        _ => from_half(to, from),
    }
}

fn to_half(to: Type, from: Type, rounding: Option<CvtRounding>) -> Option<AluFn> {
    macro_rules! to {
        ($half:ident) => {
            match from {
                _ if from == to && rounding.is_some() => alu!(|a: $half| [modifiers: number] -> $half {
                    let modifiers = Flavour(modifiers);
                    modifiers.give((integral(a.widen(), modifiers.rounding()), 0.0))
                }),
                _ if from == to => alu!(|a: $half| [modifiers: number] -> $half {
                    let modifiers = Flavour(modifiers);
                    if modifiers.has(Flavour::SAT) { modifiers.give((a.widen(), 0.0)) } else { a }
                }),
                Type::F16 => to!(@ $half, f16, f16::widen),
                Type::Bf16 => to!(@ $half, bf16, bf16::widen),
                Type::F32 => alu!(|a: f32| [modifiers: number] -> $half { from_single(Flavour(modifiers), a) }),
                Type::F64 => to!(@ $half, f64, std::convert::identity),
                _ => {
                    macro_rules! from_integer {
                        ($integer:ident) => {
                            alu!(|a: $integer| [modifiers: number] -> $half {
                                let near = a as f64;
                                Flavour(modifiers).give((near, (i128::from(a) - near as i128) as f64))
                            })
                        };
                    }
                    integer!(from, from_integer)
                }
            }
        };
        (@ $half:ident, $from:ident, $widen:expr) => {
            alu!(|a: $from| [modifiers: number] -> $half { Flavour(modifiers).give(($widen(a), 0.0)) })
        };
    }
    Some(if to == Type::F16 { to!(f16) } else { to!(bf16) })
}

/// Converts an `f32`. The modifier `.ftz` applies to the `f32`, and not to the result.
fn from_single<H: Half>(modifiers: Flavour, a: f32) -> H {
    let a = if H::FLUSHES_SINGLE && modifiers.has(Flavour::FTZ) { flush::<true>(a) } else { a };
    modifiers.with(Flavour::FTZ, false).give((a.into(), 0.0))
}

/// `cvt` of two `f32`: `a` becomes the high half, `b` the low one.
pub(crate) fn convert_pair(to: Type) -> Option<AluFn> {
    macro_rules! pair {
        ($half:ident) => {
            alu!(|a: f32, b: f32| [modifiers: number] -> u32 {
                let half = |value| u32::from(from_single::<$half>(Flavour(modifiers), value).to_bits());
                half(a) << 16 | half(b)
            })
        };
    }
    match to {
        Type::F16x2 => Some(pair!(f16)),
        Type::Bf16x2 => Some(pair!(bf16)),
        _ => None,
    }
}

fn from_half(to: Type, from: Type) -> Option<AluFn> {
    macro_rules! from {
        ($half:ident) => {
            match to {
                Type::F32 => alu!(|a: $half| [modifiers: number] -> f32 { to_single(Flavour(modifiers), a) }),
                Type::F64 => alu!(|a: $half| [modifiers: number] -> f64 {
                    let value = a.widen();
                    if Flavour(modifiers).has(Flavour::SAT) { saturate64::<true>(value) } else { value }
                }),
                _ => {
                    // NaN is converted as in conversions from other floats.
                    macro_rules! to_integer {
                        ($integer:ident) => {
                            alu!(|a: $half| [modifiers: number] -> $integer {
                                const NAN: $integer = if $integer::BITS == 64 { 1 << 63 } else { 0 };
                                if is_nan(a) { NAN } else { integral(a.widen(), Flavour(modifiers).rounding()) as $integer }
                            })
                        };
                    }
                    integer!(to, to_integer)
                }
            }
        };
    }
    match from {
        Type::F16 => Some(from!(f16)),
        Type::Bf16 => Some(from!(bf16)),
        _ => None,
    }
}

fn to_single<H: Half>(modifiers: Flavour, a: H) -> f32 {
    let value = canonical32(a.widen() as f32);
    let value = if modifiers.has(Flavour::FTZ) { flush::<true>(value) } else { value };
    if modifiers.has(Flavour::SAT) { saturate::<true>(value) } else { value }
}
