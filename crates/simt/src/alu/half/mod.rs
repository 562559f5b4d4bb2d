//! Floats of 16 bits: `f16`, `bf16`, and two of them in a word.
//!
//! A result is computed in `f64` together with the rest that `f64` cannot hold, and is rounded
//! once. The NaN that these instructions make is `0x7fff` in both formats (PTX ISA 9.7.4).

use half::{bf16, f16};

use crate::alu::float::two_sum;
use crate::alu::relation::floats;
use crate::ptx::ast::{CmpOp, FloatBinaryOp, FloatUnaryOp, Rounding, Type};
use crate::registers::{AluFn, LANES, Lane, Registers, alu};

mod convert;

pub(crate) use convert::{convert, convert_pair};

/// A float of 16 bits.
pub(crate) trait Half: Copy {
    /// How many bits the significand has, including the one that is not stored.
    const DIGITS: i32;
    /// The exponent of the least normal number.
    const MIN_EXPONENT: i32;
    /// The bits of infinity.
    const INFINITY: u16;
    /// Whether `cvt.ftz` from `f32` flushes subnormals. By the ISA, it always does. An H100 does
    /// not flush them in conversions to `f16`, as the results with roundings away from zero show.
    const FLUSHES_SINGLE: bool;
    fn new(bits: u16) -> Self;
    fn bits(self) -> u16;
    /// The same value as an `f64`, which holds it exactly.
    fn widen(self) -> f64;
}

impl Half for f16 {
    const DIGITS: i32 = 11;
    const MIN_EXPONENT: i32 = -14;
    const INFINITY: u16 = 0x7c00;
    const FLUSHES_SINGLE: bool = false;
    fn new(bits: u16) -> f16 {
        f16::from_bits(bits)
    }
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn widen(self) -> f64 {
        self.to_f64()
    }
}

impl Half for bf16 {
    const DIGITS: i32 = 8;
    const MIN_EXPONENT: i32 = -126;
    const INFINITY: u16 = 0x7f80;
    const FLUSHES_SINGLE: bool = true;
    fn new(bits: u16) -> bf16 {
        bf16::from_bits(bits)
    }
    fn bits(self) -> u16 {
        self.to_bits()
    }
    fn widen(self) -> f64 {
        self.to_f64()
    }
}

/// The NaN that arithmetic makes.
const NAN: u16 = 0x7fff;
const SIGN: u16 = 0x8000;
const NEAREST: Rounding = Rounding::NearestEven;

fn is_nan<H: Half>(value: H) -> bool {
    value.bits() & !SIGN > H::INFINITY
}

/// The modifiers of an instruction. The instruction carries them as the plain number `x` of its
/// operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flavour(u32);

impl Flavour {
    const FTZ: u32 = 1 << 0;
    const SAT: u32 = 1 << 1;
    const RELU: u32 = 1 << 2;
    const NAN: u32 = 1 << 3;
    const XORSIGN_ABS: u32 = 1 << 4;
    const ZERO: u32 = 1 << 5;
    const DOWN: u32 = 1 << 6;
    const UP: u32 = 1 << 7;

    pub(crate) fn new(ftz: bool, saturate: bool, relu: bool) -> Flavour {
        Flavour(0).with(Self::FTZ, ftz).with(Self::SAT, saturate).with(Self::RELU, relu)
    }

    pub(crate) fn rounded(self, rounding: Rounding) -> Flavour {
        let zero = self.with(Self::ZERO, rounding == Rounding::Zero);
        zero.with(Self::DOWN, rounding == Rounding::Down).with(Self::UP, rounding == Rounding::Up)
    }

    /// These modifiers, together with the modifiers of `min` and `max`.
    pub(crate) fn of(self, op: FloatBinaryOp) -> Flavour {
        match op {
            FloatBinaryOp::Min(mode) | FloatBinaryOp::Max(mode) => {
                self.with(Self::NAN, mode.nan).with(Self::XORSIGN_ABS, mode.xorsign_abs)
            }
            _ => self,
        }
    }

    /// The modifiers as the plain number of an instruction's operands.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    fn with(self, flag: u32, is_there: bool) -> Flavour {
        Flavour(if is_there { self.0 | flag } else { self.0 & !flag })
    }

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    fn rounding(self) -> Rounding {
        match self.0 & (Self::ZERO | Self::DOWN | Self::UP) {
            0 => Rounding::NearestEven,
            Self::ZERO => Rounding::Zero,
            Self::DOWN => Rounding::Down,
            _ => Rounding::Up,
        }
    }

    fn flush<H: Half>(self, value: H) -> H {
        if self.has(Self::FTZ) && value.bits() & H::INFINITY == 0 {
            H::new(value.bits() & SIGN)
        } else {
            value
        }
    }

    /// The value of an operand after `.ftz` was applied.
    fn take<H: Half>(self, value: H) -> f64 {
        self.flush(value).widen()
    }

    /// The result of an instruction whose exact result is `value + rest`.
    fn give<H: Half>(self, (value, rest): (f64, f64)) -> H {
        let rounded: H = round((value, rest), self.rounding(), self.has(Self::FTZ));
        if self.has(Self::SAT) {
            // Both NaN and -0 become +0.
            return if value > 0.0 {
                round((rounded.widen().min(1.0), 0.0), NEAREST, false)
            } else {
                H::new(0)
            };
        }
        if self.has(Self::RELU) && !is_nan(rounded) && rounded.bits() & SIGN != 0 {
            H::new(0)
        } else {
            rounded
        }
    }
}

/// Rounds `value + rest` once, where `rest` is less than the spacing of `f64` at `value`. If `ftz`
/// is set, a tiny result becomes zero; [`settle`](crate::alu::float::settle) defines tiny results.
fn round<H: Half>((value, rest): (f64, f64), rounding: Rounding, ftz: bool) -> H {
    let sign = if value.is_sign_negative() { SIGN } else { 0 };
    if value.is_nan() {
        return H::new(NAN);
    }
    if value.is_infinite() || value == 0.0 {
        return H::new(sign | if value == 0.0 { 0 } else { H::INFINITY });
    }
    let mut exact = value.abs().to_bits();
    if rest != 0.0 {
        // The exact value lies beside `value`. The last bit is set, which rounds the value to odd.
        // It then lies on the right side of every number of the narrower format, and of every
        // midpoint between two such numbers.
        exact -= u64::from((rest < 0.0) != (value < 0.0));
        exact |= 1;
    }
    let biased = (exact >> 52) as i32;
    let significand = exact & ((1 << 52) - 1) | u64::from(biased > 0) << 52;
    // The value is `significand * 2^unit`, and its first bit stands for `2^exponent`.
    let unit = biased.max(1) - 1075;
    let exponent = unit + significand.ilog2() as i32;
    let negative = sign != 0;
    let up = match rounding {
        Rounding::NearestEven => None,
        Rounding::Zero => Some(false),
        Rounding::Down => Some(negative),
        Rounding::Up => Some(!negative),
    };
    // The significand in units of `2^last`, rounded.
    let kept = |last: i32| {
        let cut = (last - unit).clamp(1, 63) as u32;
        let (kept, left) = (significand >> cut, significand & ((1 << cut) - 1));
        let half = 1 << (cut - 1);
        let nearest = left > half || left == half && kept & 1 == 1;
        kept + u64::from(up.map_or(nearest, |up| up && left > 0))
    };
    let lowest = exponent.max(H::MIN_EXPONENT);
    if ftz && exponent < H::MIN_EXPONENT {
        let carried = kept(exponent - (H::DIGITS - 1)) >> H::DIGITS == 1;
        if exponent + i32::from(carried) < H::MIN_EXPONENT {
            return H::new(sign);
        }
    }
    // The first bit of a normal number is not stored; it adds 1 to the exponent's field.
    let bits = ((lowest - H::MIN_EXPONENT) as u64) << (H::DIGITS - 1);
    let bits = bits + kept(lowest - (H::DIGITS - 1));
    if bits < H::INFINITY.into() {
        return H::new(sign | bits as u16);
    }
    H::new(sign | if up.unwrap_or(true) { H::INFINITY } else { H::INFINITY - 1 })
}

/// Expands one expression over one to three values, for each of the four types.
macro_rules! half_op {
    ($ty:expr, |$flavour:ident, $($arg:ident),+| $body:expr) => {
        match $ty {
            Type::F16 => half_op!(@one f16, $flavour, [$($arg),+], $body),
            Type::Bf16 => half_op!(@one bf16, $flavour, [$($arg),+], $body),
            Type::F16x2 => half_op!(@two f16, $flavour, [$($arg),+], $body),
            Type::Bf16x2 => half_op!(@two bf16, $flavour, [$($arg),+], $body),
            _ => return None,
        }
    };
    (@one $half:ident, $flavour:ident, [$($arg:ident),+], $body:expr) => {
        alu!(|$($arg: $half),+| [modifiers: number] -> $half {
            let $flavour = Flavour(modifiers);
            $body
        })
    };
    (@two $half:ident, $flavour:ident, [$($arg:ident),+], $body:expr) => {
        alu!(|$($arg: u32),+| [modifiers: number] -> u32 {
            let $flavour = Flavour(modifiers);
            let one = |$($arg: u32),+| -> $half {
                $(let $arg = <$half as Half>::new($arg as u16);)+
                $body
            };
            u32::from(one($($arg),+).bits()) | u32::from(one($($arg >> 16),+).bits()) << 16
        })
    };
}

/// `add sub mul min max`. The modifiers come with the operands.
pub(crate) fn binary(op: FloatBinaryOp, ty: Type) -> Option<AluFn> {
    use FloatBinaryOp::{Add, Max, Min, Mul, Sub};
    Some(match op {
        Add(NEAREST) => half_op!(ty, |f, a, b| f.give(two_sum(f.take(a), f.take(b)))),
        Sub(NEAREST) => half_op!(ty, |f, a, b| f.give(two_sum(f.take(a), -f.take(b)))),
        Mul(NEAREST) => half_op!(ty, |f, a, b| f.give((f.take(a) * f.take(b), 0.0))),
        Min(_) => half_op!(ty, |f, a, b| extreme(f, a, b, false)),
        Max(_) => half_op!(ty, |f, a, b| extreme(f, a, b, true)),
        _ => return None,
    })
}

/// The lesser or the greater of two values, where -0 is below +0.
fn extreme<H: Half>(flavour: Flavour, a: H, b: H, greatest: bool) -> H {
    let (mut a, mut b) = (flavour.flush(a), flavour.flush(b));
    let mut sign = None;
    if flavour.has(Flavour::XORSIGN_ABS) {
        sign = Some((a.bits() ^ b.bits()) & SIGN);
        (a, b) = (H::new(a.bits() & !SIGN), H::new(b.bits() & !SIGN));
    }
    // The order of these integers is the order of the values.
    let key = |value: H| {
        let magnitude = i32::from(value.bits() & !SIGN);
        if value.bits() & SIGN == 0 { magnitude } else { -1 - magnitude }
    };
    let result = match (is_nan(a), is_nan(b)) {
        (false, false) if (key(a) < key(b)) == greatest => b,
        (false, false) => a,
        (false, true) if !flavour.has(Flavour::NAN) => a,
        (true, false) if !flavour.has(Flavour::NAN) => b,
        _ => return H::new(NAN),
    };
    sign.map_or(result, |sign| H::new(result.bits() | sign))
}

/// `fma`. The modifiers come with the operands.
pub(crate) fn fma(ty: Type, rounding: Rounding) -> Option<AluFn> {
    if rounding != NEAREST {
        return None;
    }
    // The product of two significands of at most 11 bits is exact.
    Some(half_op!(ty, |f, a, b, c| f.give(two_sum(f.take(a) * f.take(b), f.take(c)))))
}

/// `abs neg ex2 tanh`. The modifiers come with the operands.
pub(crate) fn unary(op: FloatUnaryOp, ty: Type) -> Option<AluFn> {
    use FloatUnaryOp::{Abs, Ex2, Neg, Tanh};
    fn signed<H: Half>(value: H, bits: u16) -> H {
        H::new(if is_nan(value) { NAN } else { bits })
    }
    Some(match op {
        Abs => half_op!(ty, |f, a| signed(a, f.flush(a).bits() & !SIGN)),
        Neg => half_op!(ty, |f, a| signed(a, f.flush(a).bits() ^ SIGN)),
        Ex2 => half_op!(ty, |f, a| f.give((f.take(a).exp2(), 0.0))),
        Tanh => half_op!(ty, |f, a| f.give((f.take(a).tanh(), 0.0))),
        _ => return None,
    })
}

/// The sum that `atom.add.noftz` stores: one or two values in the low bits.
pub(crate) fn atomic_sum(ty: Type, a: u32, b: u32) -> u32 {
    fn one<H: Half>(a: u32, b: u32) -> u32 {
        let sum: H =
            round(two_sum(H::new(a as u16).widen(), H::new(b as u16).widen()), NEAREST, false);
        sum.bits().into()
    }
    match ty {
        Type::F16 => one::<f16>(a, b),
        Type::Bf16 => one::<bf16>(a, b),
        Type::F16x2 => one::<f16>(a, b) | one::<f16>(a >> 16, b >> 16) << 16,
        _ => one::<bf16>(a, b) | one::<bf16>(a >> 16, b >> 16) << 16,
    }
}

/// The value that `atom.min.noftz` or (`greatest`) `atom.max.noftz` stores, as [`atomic_sum`].
pub(crate) fn atomic_extreme(ty: Type, a: u32, b: u32, greatest: bool) -> u32 {
    fn one<H: Half>(a: u32, b: u32, greatest: bool) -> u32 {
        let plain = Flavour::new(false, false, false);
        extreme(plain, H::new(a as u16), H::new(b as u16), greatest).bits().into()
    }
    match ty {
        Type::F16 => one::<f16>(a, b, greatest),
        Type::Bf16 => one::<bf16>(a, b, greatest),
        Type::F16x2 => one::<f16>(a, b, greatest) | one::<f16>(a >> 16, b >> 16, greatest) << 16,
        _ => one::<bf16>(a, b, greatest) | one::<bf16>(a >> 16, b >> 16, greatest) << 16,
    }
}

/// The second of two values in a word.
#[derive(Clone, Copy)]
struct High<H>(H);

impl<H: Half> High<H> {
    fn is_nan(self) -> bool {
        is_nan(self.0)
    }
}

impl<H: Half> Lane for High<H> {
    type Raw = u32;
    fn file(registers: &Registers) -> &[[u32; LANES]] {
        &registers.words
    }
    fn put(registers: &mut Registers, register: u32, mask: u32, values: [u32; LANES]) {
        <u32 as Lane>::put(registers, register, mask, values);
    }
    fn from_raw(raw: u32) -> Self {
        High(H::new((raw >> 16) as u16))
    }
    fn to_raw(self) -> u32 {
        u32::from(self.0.bits()) << 16
    }
}

/// `setp`: whether `a cmp b`. If `ty` is packed, `high` selects the second of the two values,
/// otherwise the first.
pub(crate) fn compare(op: CmpOp, ty: Type, ftz: bool, high: bool) -> Option<AluFn> {
    fn flush<const FTZ: bool, H: Half>(value: H) -> H {
        Flavour(if FTZ { Flavour::FTZ } else { 0 }).flush(value)
    }
    fn flush_high<const FTZ: bool, H: Half>(value: High<H>) -> H {
        flush::<FTZ, H>(value.0)
    }
    Some(match (ty, high, ftz) {
        (Type::F16, _, false) | (Type::F16x2, false, false) => {
            floats!(op, f16, flush::<false, f16>)
        }
        (Type::F16, _, true) | (Type::F16x2, false, true) => floats!(op, f16, flush::<true, f16>),
        (Type::F16x2, true, false) => floats!(op, High<f16>, flush_high::<false, f16>),
        (Type::F16x2, true, true) => floats!(op, High<f16>, flush_high::<true, f16>),
        (Type::Bf16, _, _) | (Type::Bf16x2, false, _) => floats!(op, bf16, flush::<false, bf16>),
        (Type::Bf16x2, true, _) => floats!(op, High<bf16>, flush_high::<false, bf16>),
        _ => return None,
    })
}
