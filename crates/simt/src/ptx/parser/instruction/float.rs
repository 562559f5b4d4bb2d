//! Float arithmetic and conversions (PTX ISA 9.7.3 and 9.7.9.22).

use super::super::super::ast::{
    CvtRounding, FloatBinaryOp, FloatTest, FloatUnaryOp, MinMaxMode, Op, Precision, Rounding, Type,
};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::{FLOATS, ROUNDINGS};

const SINGLE: [Type; 1] = [Type::F32];
const INTEGRAL: &Table<Rounding> =
    &[("rni", Rounding::NearestEven), ("rzi", Rounding::Zero), ("rmi", Rounding::Down), ("rpi", Rounding::Up)];
const CONVERTED: [Type; 10] =
    [Type::U8, Type::U16, Type::U32, Type::U64, Type::S8, Type::S16, Type::S32, Type::S64, Type::F32, Type::F64];
const TESTS: &Table<FloatTest> = &[
    ("finite", FloatTest::Finite),
    ("infinite", FloatTest::Infinite),
    ("number", FloatTest::Number),
    ("notanumber", FloatTest::NotANumber),
    ("normal", FloatTest::Normal),
    ("subnormal", FloatTest::Subnormal),
];

fn single_only(flag: bool) -> &'static [Type] {
    if flag { &SINGLE } else { &FLOATS }
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
        let ty = m.ty(single_only(ftz || saturate || limited))?;
        m.finish()?;
        Ok(Op::FloatBinary { op, ty, ftz, saturate, dst: self.dst()?, a: self.src()?, b: self.src()? })
    }

    fn xorsign_abs(m: &mut Modifiers<'_>) -> Result<bool> {
        Ok(m.take("xorsign") && m.require(&[("abs", true)])?)
    }

    /// `.approx`, `.full` or a rounding, one of which must be there.
    fn precision(m: &mut Modifiers<'_>, has_full: bool) -> Result<Precision> {
        if let Some(rounding) = m.choose(ROUNDINGS) {
            return Ok(Precision::Rounded(rounding));
        }
        let table = [("approx", Precision::Approx), ("full", Precision::Full)];
        m.require(&table[..if has_full { 2 } else { 1 }])
    }

    pub(super) fn fma(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let rounding = m.require(ROUNDINGS)?;
        let ftz = m.take("ftz");
        let saturate = m.take("sat");
        let ty = m.ty(single_only(ftz || saturate))?;
        m.finish()?;
        let (dst, a, b, c) = (self.dst()?, self.src()?, self.src()?, self.src()?);
        Ok(Op::Fma { ty, rounding, ftz, saturate, dst, a, b, c })
    }

    pub(super) fn float_sign(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = if opcode == "abs" { FloatUnaryOp::Abs } else { FloatUnaryOp::Neg };
        self.finish_float_unary(op, false, m)
    }

    pub(super) fn float_unary(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let (op, single) = match opcode {
            "sqrt" | "rcp" => {
                let precision = Self::precision(m, false)?;
                // `rcp.approx.ftz.f64` exists, as a seed for iteration; no compiler prints it for these kernels.
                let single = precision == Precision::Approx;
                (if opcode == "sqrt" { FloatUnaryOp::Sqrt(precision) } else { FloatUnaryOp::Rcp(precision) }, single)
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
        self.finish_float_unary(op, single, m)
    }

    fn finish_float_unary(&mut self, op: FloatUnaryOp, single: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let ftz = op != FloatUnaryOp::Tanh && m.take("ftz");
        let ty = m.ty(single_only(single || ftz && op != FloatUnaryOp::Rsqrt))?;
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
        let integral = m.choose(INTEGRAL).map(CvtRounding::Integer);
        let rounding = integral.or_else(|| m.choose(ROUNDINGS).map(CvtRounding::Float));
        let ftz = m.take("ftz");
        let saturate = m.take("sat");
        let dst_ty = m.ty(&CONVERTED)?;
        let src_ty = m.ty(&CONVERTED)?;
        m.finish()?;
        check_rounding(rounding, dst_ty, src_ty)
            .map_err(|message| Error::new(m.span, format!("`{}` {message}", m.text)))?;
        if ftz && dst_ty != Type::F32 && src_ty != Type::F32 {
            return Err(Error::new(m.span, format!("`{}` has .ftz, which is for .f32", m.text)));
        }
        Ok(Op::Cvt { dst_ty, src_ty, rounding, ftz, saturate, dst: self.dst()?, src: self.src()? })
    }
}

/// PTX wants a rounding where a conversion can be inexact, and none elsewhere.
fn check_rounding(rounding: Option<CvtRounding>, dst: Type, src: Type) -> std::result::Result<(), &'static str> {
    match (dst.is_float(), src.is_float(), rounding) {
        (false, true, Some(CvtRounding::Integer(_)))
        | (true, false, Some(CvtRounding::Float(_)))
        | (false, false, None) => Ok(()),
        (false, true, _) => Err("needs one of .rni .rzi .rmi .rpi"),
        (true, false, _) => Err("needs one of .rn .rz .rm .rp"),
        (false, false, Some(_)) => Err("converts between integers and takes no rounding"),
        (true, true, rounding) => match (rounding, dst, src) {
            (Some(CvtRounding::Float(_)), Type::F32, Type::F64) => Ok(()),
            (_, Type::F32, Type::F64) => Err("needs one of .rn .rz .rm .rp"),
            (None, _, _) => Ok(()),
            (Some(CvtRounding::Integer(_)), dst, src) if dst == src => Ok(()),
            (Some(_), _, _) => Err("is exact and takes no rounding"),
        },
    }
}
