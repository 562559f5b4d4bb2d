//! Integer arithmetic (PTX ISA 9.7.1 and 9.7.2).

use super::super::super::ast::{CarryOp, DotPart, IntBinaryOp, IntUnaryOp, MulPart, Op, Type};
use super::super::super::diagnostic::Result;
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::video::PAIRS;
use super::{INTEGERS, UNTYPED, WORDS};

const CARRIED: [Type; 4] = [Type::U32, Type::S32, Type::U64, Type::S64];
const HALVES: [Type; 4] = [Type::U16, Type::U32, Type::S16, Type::S32];
/// The types of `mul24`, `mad24` and dot products.
const MUL_24: [Type; 2] = [Type::U32, Type::S32];
const SIGNED: [Type; 3] = [Type::S16, Type::S32, Type::S64];
const PARTS: &Table<MulPart> = &[("lo", MulPart::Lo), ("hi", MulPart::Hi), ("wide", MulPart::Wide)];
const PARTS_24: &Table<MulPart> = &[("lo", MulPart::Lo24), ("hi", MulPart::Hi24)];

impl Parser<'_> {
    pub(super) fn add_sub(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let carry_in = matches!(opcode, "addc" | "subc");
        let carry_out = m.take("cc");
        let is_add = opcode.starts_with("add");
        if carry_in || carry_out {
            let op = if is_add { CarryOp::Add } else { CarryOp::Sub };
            let ty = m.ty(&CARRIED)?;
            m.finish()?;
            let (dst, a, b) = (self.dst()?, self.src()?, self.src()?);
            return Ok(Op::Carry { op, ty, carry_in, carry_out, dst, a, b });
        }
        let op = if is_add { IntBinaryOp::Add } else { IntBinaryOp::Sub };
        if is_add && let Some(signed) = m.choose(PAIRS) {
            return self.int_pairs(op, signed, false, m);
        }
        let saturate = m.take("sat");
        let ty = m.ty(if saturate { &[Type::S32] } else { &INTEGERS })?;
        self.finish_int_binary(op, ty, saturate, m)
    }

    pub(super) fn mul(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let (part, ty) = Self::part(opcode == "mul24", m)?;
        let op = match part {
            MulPart::Lo => IntBinaryOp::MulLo,
            MulPart::Hi => IntBinaryOp::MulHi,
            MulPart::Wide => IntBinaryOp::MulWide,
            MulPart::Lo24 => IntBinaryOp::Mul24Lo,
            MulPart::Hi24 => IntBinaryOp::Mul24Hi,
        };
        self.finish_int_binary(op, ty, false, m)
    }

    fn part(is_24: bool, m: &mut Modifiers<'_>) -> Result<(MulPart, Type)> {
        let part = m.require(if is_24 { PARTS_24 } else { PARTS })?;
        let ty = match part {
            MulPart::Wide => m.ty(&HALVES)?,
            MulPart::Lo24 | MulPart::Hi24 => m.ty(&MUL_24)?,
            MulPart::Lo | MulPart::Hi => m.ty(&INTEGERS)?,
        };
        Ok((part, ty))
    }

    pub(super) fn mad(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let carry_in = opcode == "madc";
        let carry_out = m.take("cc");
        let saturate = m.take("sat");
        let (part, ty) = if carry_in || carry_out {
            (m.require(&PARTS[..2])?, m.ty(&CARRIED)?)
        } else {
            Self::part(opcode == "mad24", m)?
        };
        m.finish()?;
        let (dst, a, b, c) = (self.dst()?, self.src()?, self.src()?, self.src()?);
        Ok(Op::Mad { part, ty, saturate, carry_in, carry_out, dst, a, b, c })
    }

    pub(super) fn int_binary(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = match opcode {
            "div" => IntBinaryOp::Div,
            "rem" => IntBinaryOp::Rem,
            "min" => IntBinaryOp::Min,
            _ => IntBinaryOp::Max,
        };
        if matches!(op, IntBinaryOp::Min | IntBinaryOp::Max)
            && let Some(signed) = m.choose(PAIRS)
        {
            let relu = signed && m.take("relu");
            return self.int_pairs(op, signed, relu, m);
        }
        let relu = matches!(op, IntBinaryOp::Min | IntBinaryOp::Max) && m.take("relu");
        let ty = m.ty(if relu { &[Type::S32] } else { &INTEGERS })?;
        self.finish_int_binary(op, ty, relu, m)
    }

    fn finish_int_binary(
        &mut self,
        op: IntBinaryOp,
        ty: Type,
        saturate: bool,
        m: &Modifiers<'_>,
    ) -> Result<Op> {
        m.finish()?;
        Ok(Op::IntBinary { op, ty, saturate, dst: self.dst()?, a: self.src()?, b: self.src()? })
    }

    pub(super) fn sad(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ty = m.ty(&INTEGERS)?;
        m.finish()?;
        Ok(Op::Sad { ty, dst: self.dst()?, a: self.src()?, b: self.src()?, c: self.src()? })
    }

    pub(super) fn dot_product(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let part = match opcode {
            "dp4a" => DotPart::Bytes,
            _ => m.require(&[("lo", DotPart::LowHalves), ("hi", DotPart::HighHalves)])?,
        };
        let a_signed = m.ty(&MUL_24)?.is_signed();
        let b_signed = m.ty(&MUL_24)?.is_signed();
        m.finish()?;
        let (dst, a, b, c) = (self.dst()?, self.src()?, self.src()?, self.src()?);
        Ok(Op::DotProduct { part, a_signed, b_signed, dst, a, b, c })
    }

    pub(super) fn int_unary(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let (op, types): (_, &[Type]) = match opcode {
            "abs" => (IntUnaryOp::Abs, &SIGNED),
            "neg" => (IntUnaryOp::Neg, &SIGNED),
            "cnot" => (IntUnaryOp::Cnot, &UNTYPED),
            "popc" => (IntUnaryOp::Popc, &WORDS),
            "clz" => (IntUnaryOp::Clz, &WORDS),
            "brev" => (IntUnaryOp::Brev, &WORDS),
            _ if m.take("shiftamt") => (IntUnaryOp::BfindShiftAmount, &CARRIED),
            _ => (IntUnaryOp::Bfind, &CARRIED),
        };
        let ty = m.ty(types)?;
        m.finish()?;
        Ok(Op::IntUnary { op, ty, dst: self.dst()?, a: self.src()? })
    }
}
