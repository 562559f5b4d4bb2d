//! Float arithmetic and conversions (PTX ISA 9.7.3 and 9.7.9.22).

use super::super::super::ast::{
    CvtRounding, FloatBinaryOp, FloatTest, FloatUnaryOp, MinMaxMode, Op, Precision, Rounding,
    Tf32Rounding, Type,
};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::{FLOATS, HALVES, ROUNDINGS};

const SINGLE: [Type; 1] = [Type::F32];
const INTEGRAL: &Table<Rounding> = &[
    ("rni", Rounding::NearestEven),
    ("rzi", Rounding::Zero),
    ("rmi", Rounding::Down),
    ("rpi", Rounding::Up),
];
const INTEGERS: [Type; 8] =
    [Type::U8, Type::U16, Type::U32, Type::U64, Type::S8, Type::S16, Type::S32, Type::S64];
const CONVERTED: [Type; 12] = {
    let [a, b, c, d, e, f, g, h] = INTEGERS;
    [a, b, c, d, e, f, g, h, Type::F16, Type::Bf16, Type::F32, Type::F64]
};
const TF32_ROUNDINGS: &Table<Tf32Rounding> = &[
    ("rna", Tf32Rounding::NearestAway),
    ("rn", Tf32Rounding::NearestEven),
    ("rz", Tf32Rounding::Zero),
];
const TESTS: &Table<FloatTest> = &[
    ("finite", FloatTest::Finite),
    ("infinite", FloatTest::Infinite),
    ("number", FloatTest::Number),
    ("notanumber", FloatTest::NotANumber),
    ("normal", FloatTest::Normal),
    ("subnormal", FloatTest::Subnormal),
];

/// Says whether an instruction has modifiers that some float types do not have.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Whether there is a modifier that `.f32` has and `.f64` does not have, such as `.approx`.
    single: bool,
    /// Whether there is `.ftz` or `.sat`, which `.f64` and `.bf16` do not have.
    ftz_or_sat: bool,
    /// Whether there is a modifier that `.f32` and `.f64` do not have.
    half: bool,
}

impl Limits {
    fn allow(self, ty: Type) -> bool {
        match ty {
            Type::F64 => !self.single && !self.ftz_or_sat && !self.half,
            Type::F32 => !self.half,
            Type::Bf16 | Type::Bf16x2 => !self.ftz_or_sat,
            _ => true,
        }
    }

    /// Takes the type, which must be one that has all these modifiers.
    fn ty(self, m: &mut Modifiers<'_>, types: &[&[Type]]) -> Result<Type> {
        let allowed: Vec<Type> = types.concat().into_iter().filter(|&ty| self.allow(ty)).collect();
        m.ty(&allowed)
    }
}

impl Parser<'_> {
    pub(super) fn float_binary(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let is_arithmetic = matches!(opcode, "add" | "sub" | "mul");
        let mut limited = false;
        let op = match opcode {
            "add" => FloatBinaryOp::Add(m.choose(ROUNDINGS).unwrap_or_default()),
            "sub" => FloatBinaryOp::Sub(m.choose(ROUNDINGS).unwrap_or_default()),
            "mul" => FloatBinaryOp::Mul(m.choose(ROUNDINGS).unwrap_or_default()),
            "div" => {
                let precision = Self::precision(m, true)?;
                limited = !matches!(precision, Precision::Rounded(_));
                FloatBinaryOp::Div(precision)
            }
            "min" | "max" => {
                let mode = MinMaxMode { nan: m.take("NaN"), xorsign_abs: Self::xorsign_abs(m)? };
                limited = mode != MinMaxMode::default();
                if opcode == "min" { FloatBinaryOp::Min(mode) } else { FloatBinaryOp::Max(mode) }
            }
            _ => FloatBinaryOp::Copysign,
        };
        let ftz = opcode != "copysign" && m.take("ftz");
        let saturate = is_arithmetic && m.take("sat");
        let nearest = matches!(
            op,
            FloatBinaryOp::Add(Rounding::NearestEven)
                | FloatBinaryOp::Sub(Rounding::NearestEven)
                | FloatBinaryOp::Mul(Rounding::NearestEven)
                | FloatBinaryOp::Min(_)
                | FloatBinaryOp::Max(_)
        );
        let limits = Limits { single: limited, ftz_or_sat: ftz || saturate, half: false };
        let ty = limits.ty(m, if nearest { &[&FLOATS, &HALVES] } else { &[&FLOATS] })?;
        m.finish()?;
        Ok(Op::FloatBinary {
            op,
            ty,
            ftz,
            saturate,
            dst: self.dst()?,
            a: self.src()?,
            b: self.src()?,
        })
    }

    fn xorsign_abs(m: &mut Modifiers<'_>) -> Result<bool> {
        Ok(m.take("xorsign") && m.require(&[("abs", true)])?)
    }

    /// Takes `.approx`, `.full` or a rounding; one of them is required.
    fn precision(m: &mut Modifiers<'_>, has_full: bool) -> Result<Precision> {
        if let Some(rounding) = m.choose(ROUNDINGS) {
            return Ok(Precision::Rounded(rounding));
        }
        let table = [("approx", Precision::Approx), ("full", Precision::Full)];
        m.require(&table[..if has_full { 2 } else { 1 }])
    }

    /// Reads `fma`, or `mad`, which does not exist for halves.
    pub(super) fn fma(&mut self, is_fma: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let rounding = m.require(ROUNDINGS)?;
        let ftz = m.take("ftz");
        let saturate = m.take("sat");
        let relu = !saturate && m.take("relu");
        let limits = Limits { single: false, ftz_or_sat: ftz || saturate, half: relu };
        let has_halves = is_fma && rounding == Rounding::NearestEven;
        let ty = limits.ty(m, if has_halves { &[&FLOATS, &HALVES] } else { &[&FLOATS] })?;
        m.finish()?;
        let (dst, a, b, c) = (self.dst()?, self.src()?, self.src()?, self.src()?);
        Ok(Op::Fma { ty, rounding, ftz, saturate, relu, dst, a, b, c })
    }

    pub(super) fn float_sign(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = if opcode == "abs" { FloatUnaryOp::Abs } else { FloatUnaryOp::Neg };
        self.finish_float_unary(op, false, &[&FLOATS, &HALVES], m)
    }

    pub(super) fn float_unary(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let (op, single) = match opcode {
            "sqrt" | "rcp" => {
                let precision = Self::precision(m, false)?;
                let single = precision == Precision::Approx;
                (
                    if opcode == "sqrt" {
                        FloatUnaryOp::Sqrt(precision)
                    } else {
                        FloatUnaryOp::Rcp(precision)
                    },
                    single,
                )
            }
            _ => {
                m.require(&[("approx", ())])?;
                match opcode {
                    "rsqrt" => (FloatUnaryOp::Rsqrt, false),
                    "ex2" => (FloatUnaryOp::Ex2, true),
                    "lg2" => (FloatUnaryOp::Lg2, true),
                    "sin" => (FloatUnaryOp::Sin, true),
                    "cos" => (FloatUnaryOp::Cos, true),
                    _ => (FloatUnaryOp::Tanh, true),
                }
            }
        };
        let halves: &[Type] = match op {
            FloatUnaryOp::Tanh => &HALVES,
            FloatUnaryOp::Ex2 => &HALVES[..2],
            _ => &[],
        };
        self.finish_float_unary(op, single, &[&FLOATS, halves], m)
    }

    fn finish_float_unary(
        &mut self,
        op: FloatUnaryOp,
        single: bool,
        types: &[&[Type]],
        m: &mut Modifiers<'_>,
    ) -> Result<Op> {
        let ftz = op != FloatUnaryOp::Tanh && m.take("ftz");
        let ty = match op {
            // Some forms exist only with `.ftz`, and others only without.
            FloatUnaryOp::Rsqrt => m.ty(&FLOATS)?,
            FloatUnaryOp::Rcp(Precision::Approx) if ftz => m.ty(&FLOATS)?,
            FloatUnaryOp::Ex2 if ftz => m.ty(&[Type::F32, Type::Bf16, Type::Bf16x2])?,
            _ => Limits { single, ftz_or_sat: ftz, half: false }.ty(m, types)?,
        };
        m.finish()?;
        Ok(Op::FloatUnary { op, ty, ftz, dst: self.dst()?, a: self.src()? })
    }

    pub(super) fn testp(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let test = m.require(TESTS)?;
        let ty = m.ty(&FLOATS)?;
        m.finish()?;
        Ok(Op::Testp { test, ty, dst: self.dst()?, a: self.src()? })
    }

    pub(super) fn cvt(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        if m.take("tf32") {
            return self.cvt_tf32(m);
        }
        let integral = m.choose(INTEGRAL).map(CvtRounding::Integer);
        let rounding = integral.or_else(|| m.choose(ROUNDINGS).map(CvtRounding::Float));
        if m.peek_ty().is_some_and(Type::is_packed) {
            return self.cvt_pack(rounding, m);
        }
        let ftz = m.take("ftz");
        let relu = m.take("relu");
        let saturate = m.take("sat");
        let dst_ty = m.ty(&CONVERTED)?;
        let src_ty = m.ty(&CONVERTED)?;
        m.finish()?;
        let fail = |message: &str| Err(Error::unknown(m.span, format!("`{}` {message}", m.text)));
        if let Err(message) = check_rounding(rounding, dst_ty, src_ty) {
            return fail(message);
        }
        if ftz && dst_ty != Type::F32 && src_ty != Type::F32 {
            return fail("has .ftz, which is for .f32");
        }
        if relu && !relu_fits(rounding, dst_ty, src_ty, saturate) {
            return fail("has .relu, which is for .f16 and .bf16 from .f32 by .rn or .rz");
        }
        if [dst_ty, src_ty].contains(&Type::Bf16) {
            if saturate {
                return fail("has .sat, which .bf16 does not know");
            }
            if dst_ty.size() == 1 || src_ty.size() == 1 {
                return fail("converts between .bf16 and 8 bits, which is not simulated");
            }
        }
        Ok(Op::Cvt {
            dst_ty,
            src_ty,
            rounding,
            ftz,
            saturate,
            relu,
            dst: self.dst()?,
            src: self.src()?,
        })
    }

    /// Reads `cvt` to `.tf32`, which has been taken.
    fn cvt_tf32(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let rounding = m.require(TF32_ROUNDINGS)?;
        let relu = rounding != Tf32Rounding::NearestAway && m.take("relu");
        m.ty(&SINGLE)?;
        m.finish()?;
        Ok(Op::CvtTf32 { rounding, relu, dst: self.dst()?, src: self.src()? })
    }

    /// Reads `cvt` of two `.f32` to a packed type.
    fn cvt_pack(&mut self, rounding: Option<CvtRounding>, m: &mut Modifiers<'_>) -> Result<Op> {
        let relu = m.take("relu");
        let dst_ty = m.ty(&[Type::F16x2, Type::Bf16x2])?;
        m.ty(&SINGLE)?;
        m.finish()?;
        let Some(CvtRounding::Float(rounding @ (Rounding::NearestEven | Rounding::Zero))) =
            rounding
        else {
            return Err(Error::unknown(m.span, format!("`{}` needs one of .rn .rz", m.text)));
        };
        Ok(Op::CvtPack {
            dst_ty,
            rounding,
            relu,
            dst: self.dst()?,
            high: self.src()?,
            low: self.src()?,
        })
    }
}

fn relu_fits(rounding: Option<CvtRounding>, dst: Type, src: Type, saturate: bool) -> bool {
    let rounds =
        matches!(rounding, Some(CvtRounding::Float(Rounding::NearestEven | Rounding::Zero)));
    rounds && !saturate && src == Type::F32 && dst.is_half()
}

/// PTX requires a rounding if a conversion can be inexact, and refuses one otherwise.
fn check_rounding(
    rounding: Option<CvtRounding>,
    dst: Type,
    src: Type,
) -> std::result::Result<(), &'static str> {
    match (dst.is_float(), src.is_float(), rounding) {
        (false, true, Some(CvtRounding::Integer(_)))
        | (true, false, Some(CvtRounding::Float(_)))
        | (false, false, None) => Ok(()),
        (false, true, _) => Err("needs one of .rni .rzi .rmi .rpi"),
        (true, false, _) => Err("needs one of .rn .rz .rm .rp"),
        (false, false, Some(_)) => Err("converts between integers and takes no rounding"),
        (true, true, rounding) => match rounding {
            Some(CvtRounding::Float(_)) if narrows(dst, src) => Ok(()),
            _ if narrows(dst, src) => Err("needs one of .rn .rz .rm .rp"),
            None => Ok(()),
            Some(CvtRounding::Integer(_)) if dst == src => Ok(()),
            Some(_) => Err("is exact and takes no rounding"),
        },
    }
}

/// Whether a float type cannot hold all values of another.
fn narrows(dst: Type, src: Type) -> bool {
    dst != src && (dst.size() < src.size() || dst.is_half() && src.is_half())
}
