//! `cvt`: conversions between integers and floats.

use std::cmp::Ordering;

use crate::alu::float::{
    canonical32, flush, propagate64, round_settled, round32, saturate, saturate64,
};
use crate::ptx::ast::{CvtRounding, Rounding, Type};
use crate::registers::{AluFn, Rule, alu};

/// Expands `$apply!(type)` for the integer type that `$ty` names.
macro_rules! integer {
    ($ty:expr, $apply:ident $(, $more:tt)*) => {
        match $ty {
            Type::U8 | Type::B8 => $apply!(u8 $(, $more)*),
            Type::S8 => $apply!(i8 $(, $more)*),
            Type::U16 | Type::B16 => $apply!(u16 $(, $more)*),
            Type::S16 => $apply!(i16 $(, $more)*),
            Type::U32 | Type::B32 => $apply!(u32 $(, $more)*),
            Type::S32 => $apply!(i32 $(, $more)*),
            Type::U64 | Type::B64 => $apply!(u64 $(, $more)*),
            Type::S64 => $apply!(i64 $(, $more)*),
            _ => return None,
        }
    };
}

pub(crate) use integer;

/// An `f64` rounded to an integral `f64`.
#[inline(always)]
pub(crate) fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// An integer as `f32`.
fn integer_to_f32(value: i128, rounding: Rounding) -> f32 {
    let near = value as f64;
    round32(near, (value - near as i128) as f64, rounding)
}

/// An integer as `f64`.
fn integer_to_f64(value: i128, rounding: Rounding) -> f64 {
    let near = value as f64;
    match (value.cmp(&(near as i128)), rounding) {
        (Ordering::Less, Rounding::Down) => near.next_down(),
        (Ordering::Less, Rounding::Zero) if value > 0 => near.next_down(),
        (Ordering::Greater, Rounding::Up) => near.next_up(),
        (Ordering::Greater, Rounding::Zero) if value < 0 => near.next_up(),
        _ => near,
    }
}

/// The conversion from register `a` to register `d`; each register is as wide as its type.
pub(crate) fn convert(
    to: Type,
    from: Type,
    rounding: Option<CvtRounding>,
    ftz: bool,
    saturate: bool,
) -> Option<AluFn> {
    match (from.is_float(), to.is_float()) {
        (false, false) => between_integers(to, from, saturate),
        (false, true) => {
            let rounding = match rounding {
                Some(CvtRounding::Float(rounding)) => rounding,
                _ => Rounding::NearestEven,
            };
            from_integer(to, from, rounding, saturate)
        }
        (true, false) => {
            let Some(CvtRounding::Integer(rounding)) = rounding else {
                return None;
            };
            to_integer(to, from, rounding, ftz)
        }
        (true, true) => between_floats(to, from, rounding, ftz, saturate),
    }
}

fn between_integers(to: Type, from: Type, saturate: bool) -> Option<AluFn> {
    macro_rules! second {
        ($to:ty, $from:ty) => {
            if saturate {
                alu!(|a: $from| -> $to {
                    i128::from(a).clamp(<$to>::MIN.into(), <$to>::MAX.into()) as $to
                })
            } else {
                alu!(|a: $from| -> $to { a as $to }).by(Rule::Copy)
            }
        };
    }
    macro_rules! first {
        ($from:ident) => {
            integer!(to, second, $from)
        };
    }
    Some(integer!(from, first))
}

fn from_integer(to: Type, from: Type, rounding: Rounding, sat: bool) -> Option<AluFn> {
    macro_rules! single {
        ($from:ty) => {
            match (rounding, sat) {
                (Rounding::NearestEven, false) => alu!(|a: $from| -> f32 { a as f32 }),
                (_, true) => alu!(|a: $from| -> f32 { saturate::<true>(a as f32) }),
                (Rounding::Zero, _) => {
                    alu!(|a: $from| -> f32 { integer_to_f32(a.into(), Rounding::Zero) })
                }
                (Rounding::Down, _) => {
                    alu!(|a: $from| -> f32 { integer_to_f32(a.into(), Rounding::Down) })
                }
                (Rounding::Up, _) => {
                    alu!(|a: $from| -> f32 { integer_to_f32(a.into(), Rounding::Up) })
                }
            }
        };
    }
    macro_rules! double {
        ($from:ty) => {
            match (rounding, sat) {
                (Rounding::NearestEven, false) => alu!(|a: $from| -> f64 { a as f64 }),
                (_, true) => alu!(|a: $from| -> f64 { saturate64::<true>(a as f64) }),
                (Rounding::Zero, _) => {
                    alu!(|a: $from| -> f64 { integer_to_f64(a.into(), Rounding::Zero) })
                }
                (Rounding::Down, _) => {
                    alu!(|a: $from| -> f64 { integer_to_f64(a.into(), Rounding::Down) })
                }
                (Rounding::Up, _) => {
                    alu!(|a: $from| -> f64 { integer_to_f64(a.into(), Rounding::Up) })
                }
            }
        };
    }
    Some(if to == Type::F32 { integer!(from, single) } else { integer!(from, double) })
}

/// A value outside the type's range becomes the nearest end of the range, as with Rust's `as`. NaN
/// becomes 0. If the source or the result has 64 bits, NaN becomes the top bit alone.
fn to_integer(to: Type, from: Type, rounding: Rounding, ftz: bool) -> Option<AluFn> {
    macro_rules! rounded {
        ($to:ident, $from:ident, $flush:expr) => {
            match rounding {
                Rounding::NearestEven => rounded!(@ $to, $from, $flush, Rounding::NearestEven),
                Rounding::Zero => rounded!(@ $to, $from, $flush, Rounding::Zero),
                Rounding::Down => rounded!(@ $to, $from, $flush, Rounding::Down),
                Rounding::Up => rounded!(@ $to, $from, $flush, Rounding::Up),
            }
        };
        (@ $to:ident, $from:ident, $flush:expr, $mode:expr) => {
            alu!(|a: $from| -> $to {
                const WIDE: bool = size_of::<$from>() == 8 || size_of::<$to>() == 8;
                if WIDE && a.is_nan() { 1 << ($to::BITS - 1) } else { integral($flush(a).into(), $mode) as $to }
            })
        };
    }
    macro_rules! single {
        ($to:ident) => {
            if ftz { rounded!($to, f32, flush::<true>) } else { rounded!($to, f32, flush::<false>) }
        };
    }
    macro_rules! double {
        ($to:ident) => {
            rounded!($to, f64, std::convert::identity)
        };
    }
    Some(if from == Type::F32 { integer!(to, single) } else { integer!(to, double) })
}

fn between_floats(
    to: Type,
    from: Type,
    rounding: Option<CvtRounding>,
    ftz: bool,
    sat: bool,
) -> Option<AluFn> {
    /// Applies `.ftz` and `.sat` to an expression of the `f32` argument `a`.
    macro_rules! single {
        ($body:expr) => {
            match (ftz, sat) {
                (false, false) => single!(@ false, false, $body),
                (true, false) => single!(@ true, false, $body),
                (false, true) => single!(@ false, true, $body),
                (true, true) => single!(@ true, true, $body),
            }
        };
        (@ $ftz:literal, $sat:literal, $body:expr) => {
            alu!(|a: f32| -> f32 {
                let f: fn(f32) -> f32 = $body;
                saturate::<$sat>(flush::<$ftz>(f(flush::<$ftz>(a))))
            })
        };
    }
    macro_rules! narrow {
        ($mode:expr) => {
            match (ftz, sat) {
                (false, false) => alu!(|a: f64| -> f32 { canonical32(round32(a, 0.0, $mode)) }),
                (true, false) => {
                    alu!(|a: f64| -> f32 { canonical32(round_settled::<true>(a, 0.0, $mode)) })
                }
                (false, true) => alu!(|a: f64| -> f32 { saturate::<true>(round32(a, 0.0, $mode)) }),
                (true, true) => {
                    alu!(|a: f64| -> f32 { saturate::<true>(round_settled::<true>(a, 0.0, $mode)) })
                }
            }
        };
    }
    macro_rules! double {
        ($mode:expr) => {
            if sat {
                alu!(|a: f64| -> f64 { saturate64::<true>(integral(a, $mode)) })
            } else {
                alu!(|a: f64| -> f64 { integral(a, $mode) })
            }
        };
    }
    use CvtRounding::{Float, Integer};
    Some(match (from, to, rounding) {
        (Type::F32, Type::F32, Some(Integer(Rounding::NearestEven))) => {
            single!(f32::round_ties_even)
        }
        (Type::F32, Type::F32, Some(Integer(Rounding::Zero))) => single!(f32::trunc),
        (Type::F32, Type::F32, Some(Integer(Rounding::Down))) => single!(f32::floor),
        (Type::F32, Type::F32, Some(Integer(Rounding::Up))) => single!(f32::ceil),
        (Type::F32, Type::F32, _) => single!(|a| a),
        (Type::F64, Type::F64, Some(Integer(Rounding::NearestEven))) => {
            double!(Rounding::NearestEven)
        }
        (Type::F64, Type::F64, Some(Integer(Rounding::Zero))) => double!(Rounding::Zero),
        (Type::F64, Type::F64, Some(Integer(Rounding::Down))) => double!(Rounding::Down),
        (Type::F64, Type::F64, Some(Integer(Rounding::Up))) => double!(Rounding::Up),
        (Type::F64, Type::F64, _) if sat => alu!(|a: f64| -> f64 { saturate64::<true>(a) }),
        (Type::F64, Type::F64, _) => alu!(|a: f64| -> f64 { a }),
        (Type::F32, Type::F64, _) => match (ftz, sat) {
            (false, false) => alu!(|a: f32| -> f64 { propagate64(a.into(), &[a.into()]) }),
            (true, false) => {
                alu!(|a: f32| -> f64 { propagate64(flush::<true>(a).into(), &[a.into()]) })
            }
            (false, true) => alu!(|a: f32| -> f64 { saturate64::<true>(a.into()) }),
            (true, true) => alu!(|a: f32| -> f64 { saturate64::<true>(flush::<true>(a).into()) }),
        },
        (Type::F64, Type::F32, Some(Float(Rounding::Zero))) => narrow!(Rounding::Zero),
        (Type::F64, Type::F32, Some(Float(Rounding::Down))) => narrow!(Rounding::Down),
        (Type::F64, Type::F32, Some(Float(Rounding::Up))) => narrow!(Rounding::Up),
        (Type::F64, Type::F32, _) => narrow!(Rounding::NearestEven),
        _ => return None,
    })
}
