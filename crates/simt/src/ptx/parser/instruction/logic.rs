//! Bits, comparison and selection (PTX ISA 9.7.1, 9.7.5, 9.7.6 and 9.7.8).

use super::super::super::ast::{CmpOp, Combine, LogicOp, Op, PrmtMode, ShfMode, ShiftOp, Type};
use super::super::super::diagnostic::{Error, Result};
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::{HALVES, LOGIC, NUMBERS, UNTYPED};

const LOGICAL: [Type; 4] = [Type::Pred, Type::B16, Type::B32, Type::B64];
const FIELDS: [Type; 4] = [Type::U32, Type::U64, Type::S32, Type::S64];
const SHIFTED: [Type; 9] = [
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
];
const SHF_MODES: &Table<ShfMode> = &[("clamp", ShfMode::Clamp), ("wrap", ShfMode::Wrap)];
const PRMT_MODES: &Table<PrmtMode> = &[
    ("f4e", PrmtMode::F4e),
    ("b4e", PrmtMode::B4e),
    ("rc8", PrmtMode::Rc8),
    ("ecl", PrmtMode::Ecl),
    ("ecr", PrmtMode::Ecr),
    ("rc16", PrmtMode::Rc16),
];
const COMPARISONS: &Table<CmpOp> = &[
    ("eq", CmpOp::Eq),
    ("ne", CmpOp::Ne),
    ("lt", CmpOp::Lt),
    ("le", CmpOp::Le),
    ("gt", CmpOp::Gt),
    ("ge", CmpOp::Ge),
    ("lo", CmpOp::Lt),
    ("ls", CmpOp::Le),
    ("hi", CmpOp::Gt),
    ("hs", CmpOp::Ge),
    ("equ", CmpOp::Equ),
    ("neu", CmpOp::Neu),
    ("ltu", CmpOp::Ltu),
    ("leu", CmpOp::Leu),
    ("gtu", CmpOp::Gtu),
    ("geu", CmpOp::Geu),
    ("num", CmpOp::Num),
    ("nan", CmpOp::Nan),
];

impl Parser<'_> {
    pub(super) fn logic(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = match opcode {
            "and" => LogicOp::And,
            "or" => LogicOp::Or,
            _ => LogicOp::Xor,
        };
        let ty = m.ty(&LOGICAL)?;
        m.finish()?;
        Ok(Op::Logic { op, ty, dst: self.dst()?, a: self.src()?, b: self.src()? })
    }

    pub(super) fn not(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ty = m.ty(&LOGICAL)?;
        m.finish()?;
        Ok(Op::Not { ty, dst: self.dst()?, a: self.src()? })
    }

    pub(super) fn lop3(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.ty(&[Type::B32])?;
        m.finish()?;
        let (dst, a, b, c) = (self.dst()?, self.src()?, self.src()?, self.src()?);
        self.expect(b',')?;
        let span = self.peek().span;
        let lut = self.integer("a table from 0 to 255")?;
        let lut = u8::try_from(lut)
            .map_err(|_| Error::new(span, format!("the table {lut:#x} is above 0xff")))?;
        Ok(Op::Lop3 { lut, dst, a, b, c })
    }

    pub(super) fn shift(&mut self, opcode: &str, m: &mut Modifiers<'_>) -> Result<Op> {
        let (op, types): (_, &[Type]) =
            if opcode == "shl" { (ShiftOp::Left, &UNTYPED) } else { (ShiftOp::Right, &SHIFTED) };
        let ty = m.ty(types)?;
        m.finish()?;
        Ok(Op::Shift { op, ty, dst: self.dst()?, a: self.src()?, amount: self.src()? })
    }

    pub(super) fn shf(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = m.require(&[("l", ShiftOp::Left), ("r", ShiftOp::Right)])?;
        let mode = m.require(SHF_MODES)?;
        m.ty(&[Type::B32])?;
        m.finish()?;
        Ok(Op::Shf {
            op,
            mode,
            dst: self.dst()?,
            lo: self.src()?,
            hi: self.src()?,
            amount: self.src()?,
        })
    }

    pub(super) fn prmt(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let mode = m.choose(PRMT_MODES).unwrap_or(PrmtMode::Index);
        m.ty(&[Type::B32])?;
        m.finish()?;
        Ok(Op::Prmt {
            mode,
            dst: self.dst()?,
            a: self.src()?,
            b: self.src()?,
            selector: self.src()?,
        })
    }

    pub(super) fn bfe(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ty = m.ty(&FIELDS)?;
        m.finish()?;
        Ok(Op::Bfe { ty, dst: self.dst()?, a: self.src()?, pos: self.src()?, len: self.src()? })
    }

    pub(super) fn bfi(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ty = m.ty(&super::WORDS)?;
        m.finish()?;
        Ok(Op::Bfi {
            ty,
            dst: self.dst()?,
            a: self.src()?,
            b: self.src()?,
            pos: self.src()?,
            len: self.src()?,
        })
    }

    pub(super) fn bmsk(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let mode = m.require(SHF_MODES)?;
        m.ty(&[Type::B32])?;
        m.finish()?;
        Ok(Op::Bmsk { mode, dst: self.dst()?, pos: self.src()?, len: self.src()? })
    }

    pub(super) fn szext(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let mode = m.require(SHF_MODES)?;
        let ty = m.ty(&[Type::U32, Type::S32])?;
        m.finish()?;
        Ok(Op::Szext { mode, ty, dst: self.dst()?, a: self.src()?, width: self.src()? })
    }

    /// Takes the comparison, `.ftz`, and the operation with a further predicate. That predicate is
    /// the last operand.
    fn comparison(m: &mut Modifiers<'_>) -> Result<(CmpOp, Option<LogicOp>, bool)> {
        Ok((m.require(COMPARISONS)?, m.choose(LOGIC), m.take("ftz")))
    }

    fn combine(&mut self, op: Option<LogicOp>) -> Result<Option<Combine>> {
        op.map(|op| Ok(Combine { op, with: self.predicate()? })).transpose()
    }

    pub(super) fn setp(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let (cmp, combined, ftz) = Self::comparison(m)?;
        let ty = m.ty(&compared())?;
        m.finish()?;
        check_comparison(cmp, ty, ftz, m)?;
        let dst = self.dst_or_sink()?;
        let complement = self.second_dst()?;
        if complement.is_some() && matches!(ty, Type::F16 | Type::Bf16) {
            return Err(Error::unknown(m.span, format!("`{}` has one result", m.text)));
        }
        let (a, b) = (self.src()?, self.src()?);
        Ok(Op::Setp { cmp, ty, ftz, combine: self.combine(combined)?, dst, complement, a, b })
    }

    pub(super) fn set(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let (cmp, combined, ftz) = Self::comparison(m)?;
        let dst_ty = m.ty(&[
            [Type::U32, Type::S32, Type::U16, Type::S16].as_slice(),
            &[Type::F32],
            &HALVES,
        ]
        .concat())?;
        let ty = m.ty(&compared())?;
        m.finish()?;
        if !set_fits(dst_ty, ty) {
            return Err(Error::unknown(
                m.span,
                format!("`{}` does not give {dst_ty} from {ty}", m.text),
            ));
        }
        check_comparison(cmp, ty, ftz, m)?;
        let (dst, a, b) = (self.dst()?, self.src()?, self.src()?);
        Ok(Op::Set { cmp, dst_ty, ty, ftz, combine: self.combine(combined)?, dst, a, b })
    }

    pub(super) fn selp(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ty = m.ty(&NUMBERS)?;
        m.finish()?;
        Ok(Op::Selp { ty, dst: self.dst()?, a: self.src()?, b: self.src()?, pred: self.dst()? })
    }

    pub(super) fn slct(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let ftz = m.take("ftz");
        let ty = m.ty(&NUMBERS)?;
        let c_ty = m.ty(&[Type::S32, Type::F32])?;
        m.finish()?;
        Ok(Op::Slct {
            ty,
            c_ty,
            ftz,
            dst: self.dst()?,
            a: self.src()?,
            b: self.src()?,
            c: self.src()?,
        })
    }
}

/// The types that `setp` and `set` compare.
fn compared() -> Vec<Type> {
    [NUMBERS.as_slice(), &HALVES].concat()
}

/// Whether `set` can give this result type for a comparison of `ty`.
fn set_fits(dst: Type, ty: Type) -> bool {
    match dst {
        Type::U32 | Type::S32 => true,
        Type::U16 | Type::S16 => matches!(ty, Type::F16 | Type::Bf16),
        Type::F16 | Type::Bf16 => dst == ty || !ty.is_half(),
        Type::F32 => !ty.is_half(),
        _ => dst == ty,
    }
}

fn check_comparison(cmp: CmpOp, ty: Type, ftz: bool, m: &Modifiers<'_>) -> Result<()> {
    let fits = match cmp {
        CmpOp::Eq | CmpOp::Ne => true,
        CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge => !ty.is_untyped(),
        _ => ty.is_float(),
    };
    if !fits {
        return Err(Error::unknown(
            m.span,
            format!("`{}` compares {ty} in a way that its values do not have", m.text),
        ));
    }
    if ftz && !matches!(ty, Type::F32 | Type::F16 | Type::F16x2) {
        return Err(Error::unknown(
            m.span,
            format!("`{}` has .ftz, which is for .f32, .f16 and .f16x2", m.text),
        ));
    }
    Ok(())
}
