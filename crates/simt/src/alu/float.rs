//! Float arithmetic.
//!
//! `add sub mul div fma sqrt rcp` with a rounding are exact to the bit, as an H100 computes them.
//!
//! The ISA does not define the bits of a NaN. Here `f32` arithmetic gives only `0x7fffffff`. `f64`
//! arithmetic keeps the first NaN among the operands and makes it quiet; an invalid operation gives
//! `0xfff8000000000000`. An H100 does the same if at most one operand is a NaN. If several operands
//! are NaNs, the H100 chooses differently. It also differs in `abs`, `neg` and `cvt`.
//!
//! The `.approx` and `.full` forms, and `ex2 lg2 sin cos tanh rsqrt`, are computed in `f64` and
//! rounded. Their results are closer to the true value than hardware's, and not bit-equal to them.
//! `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` are in `gross`.

use crate::alu::{exact, gross};
use crate::ptx::ast::{
    FloatBinaryOp, FloatTest, FloatUnaryOp, MinMaxMode, Precision, Rounding, Type,
};
use crate::registers::{AluFn, alu};

/// Replaces any NaN by the NaN that hardware makes. The bits are compared, because the optimiser
/// treats all NaNs of float arithmetic as the same.
#[inline(always)]
pub(crate) fn canonical32(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

/// The result of an operation. A NaN gets the bits that hardware makes of these operands.
#[inline(always)]
pub(crate) fn propagate64(result: f64, operands: &[f64]) -> f64 {
    const QUIET: u64 = 1 << 51;
    if result.to_bits() & (u64::MAX >> 1) <= 0x7ff0_0000_0000_0000 {
        return result;
    }
    let nan = operands.iter().find(|operand| operand.is_nan());
    f64::from_bits(nan.map_or(0xfff8_0000_0000_0000, |nan| nan.to_bits() | QUIET))
}

/// If `FTZ` is set, a subnormal becomes a zero of the same sign.
#[inline(always)]
pub(crate) fn flush<const FTZ: bool>(value: f32) -> f32 {
    if FTZ && value.to_bits() & 0x7f80_0000 == 0 {
        f32::from_bits(value.to_bits() & 0x8000_0000)
    } else {
        value
    }
}

/// If `SAT` is set, the value is limited to the range from 0 to 1, and NaN becomes 0.
#[inline(always)]
pub(crate) fn saturate<const SAT: bool>(value: f32) -> f32 {
    // For NaN, `max` takes the other operand. The sum turns -0 into +0.
    if SAT { value.max(0.0).min(1.0) + 0.0 } else { value }
}

/// If `SAT` is set, the value is limited to the range from 0 to 1, and NaN becomes 0.
#[inline(always)]
pub(crate) fn saturate64<const SAT: bool>(value: f64) -> f64 {
    if SAT { value.max(0.0).min(1.0) + 0.0 } else { value }
}

#[inline(always)]
fn finish<const FTZ: bool, const SAT: bool>(value: f32) -> f32 {
    saturate::<SAT>(flush::<FTZ>(canonical32(value)))
}

/// Rounds `value + rest` to `f32`, where `rest` is less than the spacing of `f64` at `value`.
pub(crate) fn round32(value: f64, rest: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    if value.is_nan() || value.is_infinite() {
        return nearest;
    }
    // These say on which side of the exact value the nearest value lies.
    let above = f64::from(nearest) > value || (f64::from(nearest) == value && rest < 0.0);
    let below = f64::from(nearest) < value || (f64::from(nearest) == value && rest > 0.0);
    let negative = value.is_sign_negative();
    match rounding {
        Rounding::Zero if above && !negative => nearest.next_down(),
        Rounding::Zero if below && negative => nearest.next_up(),
        Rounding::Down if above => nearest.next_down(),
        Rounding::Up if below => nearest.next_up(),
        Rounding::NearestEven | Rounding::Zero | Rounding::Down | Rounding::Up => nearest,
    }
}

/// Returns `result`, to which `value + rest` was rounded. If `FTZ` is set and `result` is tiny,
/// returns zero instead.
///
/// A result is tiny if it would lie below the normal numbers after rounding with an unlimited
/// exponent range. A value may round up to the least normal number only because subnormals are far
/// apart. Such a value is flushed. A value that would round up to that number in any case is not
/// flushed. (This was measured on an H100; the ISA does not say.)
#[inline(always)]
pub(crate) fn settle<const FTZ: bool>(
    result: f32,
    value: f64,
    rest: f64,
    rounding: Rounding,
) -> f32 {
    const UP: f64 = (1u64 << 32) as f64;
    const LEAST: f32 = f32::MIN_POSITIVE * UP as f32;
    if FTZ
        && result.abs() == f32::MIN_POSITIVE
        && round32(value * UP, rest * UP, rounding).abs() < LEAST
    {
        return 0f32.copysign(result);
    }
    flush::<FTZ>(result)
}

/// Rounds `value + rest` to `f32`. If `FTZ` is set, a tiny result becomes zero.
pub(crate) fn round_settled<const FTZ: bool>(value: f64, rest: f64, rounding: Rounding) -> f32 {
    settle::<FTZ>(round32(value, rest, rounding), value, rest, rounding)
}

/// The sum `a + b` in `f64`, and the rest that rounding lost.
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let rest = (a - (sum - b_part)) + (b - b_part);
    (sum, if rest.is_nan() { 0.0 } else { rest })
}

/// The sum `a + b`. When rounding down, a sum of zero is negative, unless both terms are +0.
fn add32<const FTZ: bool>(a: f64, b: f64, rounding: Rounding) -> f32 {
    let (sum, rest) = two_sum(a, b);
    if sum == 0.0
        && rest == 0.0
        && rounding == Rounding::Down
        && (a.is_sign_negative() || b.is_sign_negative())
    {
        return -0.0;
    }
    round_settled::<FTZ>(sum, rest, rounding)
}

/// The quotient in `f64`, and the sign of the rest that rounding lost.
fn divide(a: f64, b: f64) -> (f64, f64) {
    let quotient = a / b;
    let rest = f64::mul_add(-quotient, b, a) * b.signum();
    (quotient, if rest.is_finite() { rest } else { 0.0 })
}

/// Expands one expression for all combinations of `.ftz` and `.sat`. The expression may use the
/// constant `FTZ`.
macro_rules! f32_op {
    ($ftz:expr, $sat:expr, |$($arg:ident),+| $body:expr) => {
        match ($ftz, $sat) {
            (false, false) => f32_op!(@ false, false, [$($arg),+], $body),
            (true, false) => f32_op!(@ true, false, [$($arg),+], $body),
            (false, true) => f32_op!(@ false, true, [$($arg),+], $body),
            (true, true) => f32_op!(@ true, true, [$($arg),+], $body),
        }
    };
    (@ $ftz:literal, $sat:literal, [$($arg:ident),+], $body:expr) => {
        alu!(|$($arg: f32),+| -> f32 {
            #[allow(dead_code)]
            const FTZ: bool = $ftz;
            $(let $arg = flush::<$ftz>($arg);)+
            finish::<$ftz, $sat>($body)
        })
    };
}

macro_rules! f64_op {
    ($sat:expr, |$($arg:ident),+| $body:expr) => {
        if $sat {
            alu!(|$($arg: f64),+| -> f64 { saturate64::<true>(propagate64($body, &[$($arg),+])) })
        } else {
            alu!(|$($arg: f64),+| -> f64 { propagate64($body, &[$($arg),+]) })
        }
    };
}

/// Expands one expression for each of the directed roundings.
macro_rules! directed {
    ($rounding:expr, $ftz:expr, $sat:expr, |$($arg:ident),+| $mode:ident => $body:expr) => {
        match $rounding {
            Rounding::NearestEven => return None,
            Rounding::Zero => f32_op!($ftz, $sat, |$($arg),+| { const $mode: Rounding = Rounding::Zero; $body }),
            Rounding::Down => f32_op!($ftz, $sat, |$($arg),+| { const $mode: Rounding = Rounding::Down; $body }),
            Rounding::Up => f32_op!($ftz, $sat, |$($arg),+| { const $mode: Rounding = Rounding::Up; $body }),
        }
    };
}

/// Expands one expression for each of the directed roundings of doubles.
macro_rules! directed64 {
    ($rounding:expr, |$($arg:ident),+| $mode:ident => $body:expr) => {
        match $rounding {
            Rounding::NearestEven => return None,
            Rounding::Zero => f64_op!(false, |$($arg),+| { const $mode: Rounding = Rounding::Zero; $body }),
            Rounding::Down => f64_op!(false, |$($arg),+| { const $mode: Rounding = Rounding::Down; $body }),
            Rounding::Up => f64_op!(false, |$($arg),+| { const $mode: Rounding = Rounding::Up; $body }),
        }
    };
}

/// `add sub mul div min max copysign` of single and double precision.
pub(crate) fn binary(op: FloatBinaryOp, ty: Type, ftz: bool, sat: bool) -> Option<AluFn> {
    use FloatBinaryOp::{Add, Copysign, Div, Max, Min, Mul, Sub};
    const NEAREST: Rounding = Rounding::NearestEven;
    let approximate = |precision| matches!(precision, Precision::Approx | Precision::Full);
    Some(match (ty, op) {
        (Type::F32, Add(NEAREST)) => f32_op!(ftz, sat, |a, b| a + b),
        (Type::F32, Sub(NEAREST)) => f32_op!(ftz, sat, |a, b| a - b),
        (Type::F32, Mul(NEAREST)) => {
            f32_op!(ftz, sat, |a, b| settle::<FTZ>(
                a * b,
                f64::from(a) * f64::from(b),
                0.0,
                NEAREST
            ))
        }
        (Type::F32, Div(Precision::Rounded(NEAREST))) => f32_op!(ftz, sat, |a, b| {
            let (quotient, rest) = divide(a.into(), b.into());
            settle::<FTZ>(a / b, quotient, rest, NEAREST)
        }),
        (Type::F32, Div(precision)) if approximate(precision) => f32_op!(ftz, sat, |a, b| a / b),
        (Type::F32, Add(mode)) => {
            directed!(mode, ftz, sat, |a, b| M => add32::<FTZ>(a.into(), b.into(), M))
        }
        (Type::F32, Sub(mode)) => {
            directed!(mode, ftz, sat, |a, b| M => add32::<FTZ>(a.into(), (-b).into(), M))
        }
        (Type::F32, Mul(mode)) => {
            directed!(mode, ftz, sat, |a, b| M => round_settled::<FTZ>(f64::from(a) * f64::from(b), 0.0, M))
        }
        (Type::F32, Div(Precision::Rounded(mode))) => directed!(mode, ftz, sat, |a, b| M => {
            let (quotient, rest) = divide(a.into(), b.into());
            round_settled::<FTZ>(quotient, rest, M)
        }),
        (Type::F32, Min(MinMaxMode { nan, xorsign_abs })) => match (nan, xorsign_abs) {
            (false, false) => f32_op!(ftz, sat, |a, b| minimum32(a, b)),
            (true, false) => f32_op!(ftz, sat, |a, b| with_nan(a, b, minimum32(a, b))),
            (false, true) => {
                f32_op!(ftz, sat, |a, b| with_signs(a, b, minimum32(a.abs(), b.abs())))
            }
            (true, true) => f32_op!(ftz, sat, |a, b| with_nan(
                a,
                b,
                with_signs(a, b, minimum32(a.abs(), b.abs()))
            )),
        },
        (Type::F32, Max(MinMaxMode { nan, xorsign_abs })) => match (nan, xorsign_abs) {
            (false, false) => f32_op!(ftz, sat, |a, b| maximum32(a, b)),
            (true, false) => f32_op!(ftz, sat, |a, b| with_nan(a, b, maximum32(a, b))),
            (false, true) => {
                f32_op!(ftz, sat, |a, b| with_signs(a, b, maximum32(a.abs(), b.abs())))
            }
            (true, true) => f32_op!(ftz, sat, |a, b| with_nan(
                a,
                b,
                with_signs(a, b, maximum32(a.abs(), b.abs()))
            )),
        },
        (Type::F32, Copysign) => alu!(|a: f32, b: f32| -> f32 { b.copysign(a) }),
        (Type::F64, Add(NEAREST)) => f64_op!(sat, |a, b| a + b),
        (Type::F64, Sub(NEAREST)) => f64_op!(sat, |a, b| a - b),
        (Type::F64, Mul(NEAREST)) => f64_op!(sat, |a, b| a * b),
        (Type::F64, Div(Precision::Rounded(NEAREST))) => f64_op!(sat, |a, b| a / b),
        (Type::F64, Add(mode)) => directed64!(mode, |a, b| M => exact::add(a, b, M)),
        (Type::F64, Sub(mode)) => directed64!(mode, |a, b| M => exact::add(a, -b, M)),
        (Type::F64, Mul(mode)) => directed64!(mode, |a, b| M => exact::multiply(a, b, M)),
        (Type::F64, Div(Precision::Rounded(mode))) => {
            directed64!(mode, |a, b| M => exact::divide(a, b, M))
        }
        (Type::F64, Min(MinMaxMode { nan: false, xorsign_abs: false })) => {
            f64_op!(sat, |a, b| minimum64(a, b))
        }
        (Type::F64, Max(MinMaxMode { nan: false, xorsign_abs: false })) => {
            f64_op!(sat, |a, b| -minimum64(-a, -b))
        }
        (Type::F64, Copysign) => alu!(|a: f64, b: f64| -> f64 { b.copysign(a) }),
        _ => return None,
    })
}

/// IEEE 754-2019 minimumNumber or maximumNumber: if one operand is NaN, the result is the other; -0
/// is below +0.
#[inline(always)]
fn minimum32(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() || (a == b && a.is_sign_negative()) { a } else { b }
}

#[inline(always)]
fn maximum32(a: f32, b: f32) -> f32 {
    -minimum32(-a, -b)
}

/// The modifier `.NaN`: the result is NaN if an operand is NaN.
#[inline(always)]
fn with_nan(a: f32, b: f32, result: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { result }
}

/// The modifier `.xorsign`: the result gets the xor of the operands' signs.
#[inline(always)]
fn with_signs(a: f32, b: f32, magnitude: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() | (a.to_bits() ^ b.to_bits()) & (1 << 31))
}

/// IEEE 754-2019 minimumNumber or maximumNumber: if one operand is NaN, the result is the other; -0
/// is below +0.
#[inline(always)]
fn minimum64(a: f64, b: f64) -> f64 {
    if a < b || b.is_nan() || (a == b && a.is_sign_negative()) { a } else { b }
}

/// `fma`.
pub(crate) fn fma(ty: Type, rounding: Rounding, ftz: bool, sat: bool) -> Option<AluFn> {
    Some(match (ty, rounding) {
        (Type::F32, Rounding::NearestEven) => f32_op!(ftz, sat, |a, b, c| {
            let (sum, rest) = two_sum(f64::from(a) * f64::from(b), c.into());
            settle::<FTZ>(a.mul_add(b, c), sum, rest, Rounding::NearestEven)
        }),
        (Type::F32, mode) => {
            directed!(mode, ftz, sat, |a, b, c| M => add32::<FTZ>(f64::from(a) * f64::from(b), c.into(), M))
        }
        (Type::F64, Rounding::NearestEven) => f64_op!(sat, |a, b, c| a.mul_add(b, c)),
        (Type::F64, mode) => directed64!(mode, |a, b, c| M => exact::fused(a, b, c, M)),
        _ => return None,
    })
}

/// `abs neg sqrt rcp rsqrt ex2 lg2 sin cos tanh`.
pub(crate) fn unary(op: FloatUnaryOp, ty: Type, ftz: bool) -> Option<AluFn> {
    use FloatUnaryOp::{Abs, Cos, Ex2, Lg2, Neg, Rcp, Rsqrt, Sin, Sqrt, Tanh};
    const NEAREST: Precision = Precision::Rounded(Rounding::NearestEven);
    /// Computes an approximation in `f64`.
    fn through(a: f32, f: impl Fn(f64) -> f64) -> f32 {
        f(a.into()) as f32
    }
    Some(match (ty, op) {
        (Type::F32, Abs) if ftz => alu!(|a: f32| -> f32 { flush::<true>(a).abs() }),
        (Type::F32, Neg) if ftz => alu!(|a: f32| -> f32 { -flush::<true>(a) }),
        (Type::F32, Abs) => alu!(|a: f32| -> f32 { a.abs() }),
        (Type::F32, Neg) => alu!(|a: f32| -> f32 { -a }),
        (Type::F32, Sqrt(NEAREST | Precision::Approx)) => f32_op!(ftz, false, |a| a.sqrt()),
        (Type::F32, Rcp(NEAREST | Precision::Approx)) => f32_op!(ftz, false, |a| a.recip()),
        (Type::F32, Sqrt(Precision::Rounded(mode))) => directed!(mode, ftz, false, |a| M => {
            let a = f64::from(a);
            let root = a.sqrt();
            let rest = f64::mul_add(-root, root, a);
            round32(root, if rest.is_finite() { rest } else { 0.0 }, M)
        }),
        (Type::F32, Rcp(Precision::Rounded(mode))) => directed!(mode, ftz, false, |a| M => {
            let (quotient, rest) = divide(1.0, a.into());
            round_settled::<FTZ>(quotient, rest, M)
        }),
        (Type::F32, Rsqrt) => f32_op!(ftz, false, |a| through(a, |a| 1.0 / a.sqrt())),
        (Type::F32, Ex2) => f32_op!(ftz, false, |a| through(a, f64::exp2)),
        (Type::F32, Lg2) => f32_op!(ftz, false, |a| through(a, f64::log2)),
        (Type::F32, Sin) => f32_op!(ftz, false, |a| through(a, f64::sin)),
        (Type::F32, Cos) => f32_op!(ftz, false, |a| through(a, f64::cos)),
        (Type::F32, Tanh) => f32_op!(ftz, false, |a| through(a, f64::tanh)),
        (Type::F64, Abs) => alu!(|a: f64| -> f64 { a.abs() }),
        (Type::F64, Neg) => alu!(|a: f64| -> f64 { -a }),
        (Type::F64, Sqrt(NEAREST)) => f64_op!(false, |a| a.sqrt()),
        (Type::F64, Rcp(NEAREST)) => f64_op!(false, |a| a.recip()),
        (Type::F64, Sqrt(Precision::Rounded(mode))) => {
            directed64!(mode, |a| M => exact::root(a, M))
        }
        (Type::F64, Rcp(Precision::Rounded(mode))) => {
            directed64!(mode, |a| M => exact::divide(1.0, a, M))
        }
        (Type::F64, Rcp(Precision::Approx)) => gross::reciprocal(),
        (Type::F64, Rsqrt) if ftz => gross::reciprocal_root(),
        (Type::F64, Rsqrt) => f64_op!(false, |a| 1.0 / a.sqrt()),
        _ => return None,
    })
}

/// `testp`.
pub(crate) fn test(test: FloatTest, ty: Type) -> Option<AluFn> {
    Some(match (ty, test) {
        (Type::F32, FloatTest::Finite) => alu!(|a: f32| -> bool { a.is_finite() }),
        (Type::F32, FloatTest::Infinite) => alu!(|a: f32| -> bool { a.is_infinite() }),
        (Type::F32, FloatTest::Number) => alu!(|a: f32| -> bool { !a.is_nan() }),
        (Type::F32, FloatTest::NotANumber) => alu!(|a: f32| -> bool { a.is_nan() }),
        (Type::F32, FloatTest::Normal) => alu!(|a: f32| -> bool { a.is_normal() || a == 0.0 }),
        (Type::F32, FloatTest::Subnormal) => alu!(|a: f32| -> bool { a.is_subnormal() }),
        (Type::F64, FloatTest::Finite) => alu!(|a: f64| -> bool { a.is_finite() }),
        (Type::F64, FloatTest::Infinite) => alu!(|a: f64| -> bool { a.is_infinite() }),
        (Type::F64, FloatTest::Number) => alu!(|a: f64| -> bool { !a.is_nan() }),
        (Type::F64, FloatTest::NotANumber) => alu!(|a: f64| -> bool { a.is_nan() }),
        (Type::F64, FloatTest::Normal) => alu!(|a: f64| -> bool { a.is_normal() || a == 0.0 }),
        (Type::F64, FloatTest::Subnormal) => alu!(|a: f64| -> bool { a.is_subnormal() }),
        _ => return None,
    })
}
