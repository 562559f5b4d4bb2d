//! Lowering of single instructions.

use super::frame::{Frame, Register, index, predicate, target, unsigned};
use super::lowering::{Lowering, Result};
use super::steps::element;
use super::wide::is_wide;
use crate::alu::half::Flavour;
use crate::alu::{bits, compare, cvt, float, half, int, video};
use crate::fault::FaultKind;
use crate::ir::layout::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::ir::{self, Barrier, BarrierKind, Collective, Op, Space};
use crate::ptx::ast::{
    self, CarryOp, CmpOp, CvtRounding, CvtaDirection, Imm, IntBinaryOp, LogicOp, MulPart,
    PredicateOperand, RegId, Rounding, ShiftOp, Type, Value, VoteMode,
};
use crate::registers::Operands;

impl<'a> Lowering<'a> {
    pub(super) fn instruction(&mut self, frame: &Frame<'a>, op: &'a ast::Op) -> Result<()> {
        use ast::Op as A;
        match *op {
            ref wide if is_wide(wide) => self.wide(frame, wide),
            A::Mov { ty: Type::Pred, dst, src } => {
                let a = self.predicate_value(frame, src)?;
                self.combine_predicates(LogicOp::Or, predicate(frame, dst), (a, false), (a, false));
                Ok(())
            }
            A::Mov { ty, dst, src } => {
                self.alu(frame, Some(bits::copy(ty.size() == 8)), (dst, ty), &[(src, ty)], 0)
            }
            A::Pack { ty, dst, ref src } => self.pack(frame, ty, dst, src),
            A::Unpack { ty, ref dst, src } => {
                let width = ty.bits() / dst.len() as u32;
                let a = index(self.value(frame, src, ty)?);
                for (i, dst) in dst.iter().enumerate() {
                    let Some(dst) = *dst else { continue };
                    let part = element(width);
                    let operands = Operands { a, x: i as u32 * width, ..Operands::default() };
                    self.alu_slots(
                        frame,
                        bits::unpack(ty.size() == 8, width),
                        (dst, part),
                        operands,
                    )?;
                }
                Ok(())
            }
            A::Cvta { direction, space, ty, dst, src } => {
                let window = match space {
                    ast::Space::Shared | ast::Space::SharedCluster => SHARED_WINDOW,
                    ast::Space::Param if frame.is_kernel => PARAM_WINDOW,
                    ast::Space::Local | ast::Space::Param => LOCAL_WINDOW,
                    ast::Space::Global | ast::Space::Const | ast::Space::Generic => 0,
                };
                if ty.size() != 8 {
                    return self.refuse("32-bit generic addresses are not simulated");
                }
                let op = match direction {
                    CvtaDirection::ToGeneric => IntBinaryOp::Add,
                    CvtaDirection::FromGeneric => IntBinaryOp::Sub,
                };
                let f = int::binary(op, Type::U64, false);
                self.alu(frame, f, (dst, ty), &[(src, ty), (Value::Imm(Imm::Int(window)), ty)], 0)
            }
            A::Isspacep { space, dst, src } => {
                let space = match space {
                    ast::Space::Global => Space::Global,
                    ast::Space::Shared => Space::Shared,
                    ast::Space::SharedCluster => Space::Cluster,
                    ast::Space::Local => Space::Local,
                    ast::Space::Param => Space::Param,
                    ast::Space::Const | ast::Space::Generic => {
                        return self.refuse(
                            "generic addresses of constants cannot be told from global ones",
                        );
                    }
                };
                let address = index(self.value(frame, src, Type::U64)?);
                self.emit(Op::IsSpace { space, target: predicate(frame, dst), address });
                Ok(())
            }
            A::Ld { space: written, ordering, ty, ref dst, addr, .. } => {
                let (space, address) = self.address(frame, written, addr)?;
                let targets = dst.iter().map(|dst| {
                    dst.map(|dst| ir::Target {
                        slot: target(frame, dst),
                        bits: frame.function.reg_type(dst).bits(),
                    })
                });
                let load = ir::Load {
                    space,
                    address,
                    width: ty.size(),
                    signed: ty.is_signed(),
                    ordering,
                    written,
                    targets: targets.collect(),
                };
                self.emit(Op::Load(Box::new(load)));
                Ok(())
            }
            A::St { space: written, ordering, ty, addr, ref src, .. } => {
                let (space, address) = self.address(frame, written, addr)?;
                let mut sources = Vec::new();
                for src in src {
                    sources.push(self.any_width(frame, *src, ty)?);
                }
                let store =
                    ir::Store { space, address, width: ty.size(), ordering, written, sources };
                self.emit(Op::Store(Box::new(store)));
                Ok(())
            }
            A::Unknown(ref unknown) => self.refuse(&unknown.message),
            // A launch begins only when the launches before it have ended, so `griddepcontrol` has
            // nothing to wait for.
            A::CacheControl { .. }
            | A::Nanosleep { .. }
            | A::Pmevent { .. }
            | A::GridDependency => {
                self.emit(Op::Nop);
                Ok(())
            }

            A::IntBinary { op, ty, saturate, dst, a, b } => {
                if matches!(op, IntBinaryOp::Div | IntBinaryOp::Rem) {
                    let divisor = self.value(frame, b, ty)?;
                    self.emit(Op::CheckDivisor { divisor, bits: ty.bits() });
                }
                let result = if op == IntBinaryOp::MulWide { doubled(ty) } else { ty };
                self.alu(
                    frame,
                    int::binary(op, ty, saturate),
                    (dst, result),
                    &[(a, ty), (b, ty)],
                    0,
                )
            }
            A::Carry { op, ty, carry_in, carry_out, dst, a, b } => {
                let (a, b) = (index(self.value(frame, a, ty)?), index(self.value(frame, b, ty)?));
                self.carry(frame, op, (ty, dst), (carry_in, carry_out), (a, b))
            }
            A::Mad { part, ty, saturate, carry_in, carry_out, dst, a, b, c } => {
                let wide = part == MulPart::Wide;
                let result = if wide { doubled(ty) } else { ty };
                let fused = int::mad(part, ty, saturate);
                if !carry_in && !carry_out && (fused.is_some() || saturate) {
                    return self.alu(
                        frame,
                        fused,
                        (dst, result),
                        &[(a, ty), (b, ty), (c, result)],
                        0,
                    );
                }
                let product = match part {
                    MulPart::Lo => IntBinaryOp::MulLo,
                    MulPart::Hi => IntBinaryOp::MulHi,
                    MulPart::Wide => IntBinaryOp::MulWide,
                    MulPart::Lo24 => IntBinaryOp::Mul24Lo,
                    MulPart::Hi24 => IntBinaryOp::Mul24Hi,
                };
                let (a, b) = (index(self.value(frame, a, ty)?), index(self.value(frame, b, ty)?));
                let c = index(self.value(frame, c, result)?);
                let d = index(self.temporary(result));
                self.emit_alu(
                    int::binary(product, ty, false),
                    Operands { d, a, b, ..Operands::default() },
                )?;
                if carry_in || carry_out {
                    return self.carry(
                        frame,
                        CarryOp::Add,
                        (result, dst),
                        (carry_in, carry_out),
                        (d, c),
                    );
                }
                let sum = int::binary(IntBinaryOp::Add, result, saturate);
                self.alu_slots(
                    frame,
                    sum,
                    (dst, result),
                    Operands { a: d, b: c, ..Operands::default() },
                )
            }
            A::Sad { ty, dst, a, b, c } => {
                self.alu(frame, int::sad(ty), (dst, ty), &[(a, ty), (b, ty), (c, ty)], 0)
            }
            A::DotProduct { part, a_signed, b_signed, dst, a, b, c } => {
                let f = int::dot_product(part, a_signed, b_signed);
                let ty = Type::U32;
                self.alu(frame, Some(f), (dst, ty), &[(a, ty), (b, ty), (c, ty)], 0)
            }
            A::IntUnary { op, ty, dst, a } => {
                use ast::IntUnaryOp::{Bfind, BfindShiftAmount, Clz, Popc};
                let result = if matches!(op, Popc | Clz | Bfind | BfindShiftAmount) {
                    Type::U32
                } else {
                    ty
                };
                self.alu(frame, int::unary(op, ty), (dst, result), &[(a, ty)], 0)
            }
            A::Logic { op, ty: Type::Pred, dst, a, b } => {
                let (a, b) = (self.predicate_value(frame, a)?, self.predicate_value(frame, b)?);
                self.combine_predicates(op, predicate(frame, dst), (a, false), (b, false));
                Ok(())
            }
            A::Logic { op, ty, dst, a, b } => self.alu(
                frame,
                Some(bits::logic(op, ty.size() == 8)),
                (dst, ty),
                &[(a, ty), (b, ty)],
                0,
            ),
            A::Not { ty: Type::Pred, dst, a } => {
                let a = self.predicate_value(frame, a)?;
                self.combine_predicates(LogicOp::Or, predicate(frame, dst), (a, true), (a, true));
                Ok(())
            }
            A::Not { ty, dst, a } => self.alu(frame, Some(bits::not(ty)), (dst, ty), &[(a, ty)], 0),
            A::Lop3 { lut, dst, a, b, c } => {
                let ty = Type::B32;
                self.alu(
                    frame,
                    Some(bits::lop3()),
                    (dst, ty),
                    &[(a, ty), (b, ty), (c, ty)],
                    u32::from(lut),
                )
            }
            A::Shift { op, ty, dst, a, amount } => {
                let ty = if op == ShiftOp::Left { unsigned(ty) } else { ty };
                self.alu(frame, bits::shift(op, ty), (dst, ty), &[(a, ty), (amount, Type::U32)], 0)
            }
            A::Shf { op, mode, dst, lo, hi, amount } => {
                let ty = Type::B32;
                self.alu(
                    frame,
                    Some(bits::funnel(op, mode)),
                    (dst, ty),
                    &[(lo, ty), (hi, ty), (amount, ty)],
                    0,
                )
            }
            A::Prmt { mode, dst, a, b, selector } => {
                let ty = Type::B32;
                self.alu(
                    frame,
                    Some(bits::permute(mode)),
                    (dst, ty),
                    &[(a, ty), (b, ty), (selector, ty)],
                    0,
                )
            }
            A::Bfe { ty, dst, a, pos, len } => {
                let sources = [(a, ty), (pos, Type::U32), (len, Type::U32)];
                self.alu(frame, bits::extract(ty), (dst, ty), &sources, 0)
            }
            A::Bfi { ty, dst, a, b, pos, len } => {
                let sources = [(a, ty), (b, ty), (pos, Type::U32), (len, Type::U32)];
                self.alu(frame, Some(bits::insert(ty.size() == 8)), (dst, ty), &sources, 0)
            }
            A::Bmsk { mode, dst, pos, len } => {
                let ty = Type::B32;
                self.alu(frame, Some(bits::bit_mask(mode)), (dst, ty), &[(pos, ty), (len, ty)], 0)
            }
            A::Szext { mode, ty, dst, a, width } => {
                let f = bits::extend(mode, ty.is_signed());
                self.alu(frame, Some(f), (dst, ty), &[(a, ty), (width, Type::U32)], 0)
            }

            A::FloatBinary { op, ty, ftz, saturate, dst, a, b } => {
                let f = if ty.is_half() {
                    half::binary(op, ty)
                } else {
                    float::binary(op, ty, ftz, saturate)
                };
                let modifiers = Flavour::new(ftz, saturate, false).of(op).number();
                self.alu(frame, f, (dst, ty), &[(a, ty), (b, ty)], modifiers)
            }
            A::Fma { ty, rounding, ftz, saturate, relu, dst, a, b, c } => {
                let is_half = ty.is_half();
                let f = if is_half {
                    half::fma(ty, rounding)
                } else {
                    float::fma(ty, rounding, ftz, saturate)
                };
                let modifiers = Flavour::new(ftz, saturate, relu).number();
                self.alu(frame, f, (dst, ty), &[(a, ty), (b, ty), (c, ty)], modifiers)
            }
            A::FloatUnary { op, ty, ftz, dst, a } => {
                let f = if ty.is_half() { half::unary(op, ty) } else { float::unary(op, ty, ftz) };
                self.alu(frame, f, (dst, ty), &[(a, ty)], Flavour::new(ftz, false, false).number())
            }
            A::CvtTf32 { rounding, relu, dst, src } => {
                let f = video::to_tf32(rounding);
                self.alu(frame, Some(f), (dst, Type::B32), &[(src, Type::F32)], relu.into())
            }
            A::IntPairs { op, signed, relu, dst, a, b } => {
                let (f, ty) = (video::packed(op, signed), Type::B32);
                self.alu(frame, f, (dst, ty), &[(a, ty), (b, ty)], relu.into())
            }
            A::Fns { dst, mask, base, offset } => {
                let ty = Type::B32;
                let sources = [(mask, ty), (base, ty), (offset, ty)];
                self.alu(frame, Some(video::nth_set()), (dst, ty), &sources, 0)
            }
            A::Video { op, bytes, video: modifiers, dst, a, b, c } => {
                let ty = Type::B32;
                let sources = [(a, ty), (b, ty), (c, ty)];
                let f = video::simd(op, bytes);
                self.alu(frame, Some(f), (dst, ty), &sources, modifiers.to_bits())
            }
            A::Testp { test, ty, dst, a } => {
                let a = index(self.value(frame, a, ty)?);
                let operands = Operands { d: predicate(frame, dst), a, ..Operands::default() };
                self.emit_alu(float::test(test, ty), operands)
            }

            A::Setp { cmp, ty, ftz, combine, dst, complement, a, b } => {
                self.setp(frame, (cmp, ty, ftz), combine, [dst, complement], [a, b])
            }
            A::Set { cmp, dst_ty, ty, ftz, combine, dst, a, b } => {
                self.set(frame, (cmp, ty, ftz), combine, (dst, dst_ty), [a, b])
            }
            A::Selp { ty, dst, a, b, pred } => {
                let f = compare::select(ty.size() == 8);
                self.alu(frame, Some(f), (dst, ty), &[(a, ty), (b, ty)], predicate(frame, pred))
            }
            A::Slct { ty, c_ty, ftz, dst, a, b, c } => {
                let holds =
                    self.compare(frame, (CmpOp::Ge, c_ty, ftz), [c, Value::Imm(Imm::Int(0))])?;
                self.alu(
                    frame,
                    Some(compare::select(ty.size() == 8)),
                    (dst, ty),
                    &[(a, ty), (b, ty)],
                    holds,
                )
            }
            A::Cvt { dst_ty, src_ty, rounding, ftz, saturate, relu, dst, src } => {
                let f = if dst_ty.is_half() || src_ty.is_half() {
                    half::convert(dst_ty, src_ty, rounding)
                } else {
                    cvt::convert(dst_ty, src_ty, rounding, ftz, saturate)
                };
                let mode = match rounding {
                    Some(CvtRounding::Float(mode) | CvtRounding::Integer(mode)) => mode,
                    None => Rounding::NearestEven,
                };
                let modifiers = Flavour::new(ftz, saturate, relu).rounded(mode).number();
                self.alu(frame, f, (dst, dst_ty), &[(src, src_ty)], modifiers)
            }
            A::CvtPack { dst_ty, rounding, relu, dst, high, low } => {
                let modifiers = Flavour::new(false, false, relu).rounded(rounding).number();
                let sources = [(high, Type::F32), (low, Type::F32)];
                self.alu(frame, half::convert_pair(dst_ty), (dst, dst_ty), &sources, modifiers)
            }

            A::Bra { target, .. } => {
                self.branch(Op::Bra { target: target.0, written: true });
                Ok(())
            }
            A::BrxIdx { index: reg, ref targets, .. } => {
                let index = index(self.value(frame, Value::Reg(reg), Type::U32)?);
                self.branch(Op::BrxIdx {
                    index,
                    targets: targets.iter().map(|target| target.0).collect(),
                });
                Ok(())
            }
            A::Ret { .. } if !frame.is_kernel => {
                self.branch(Op::Bra { target: frame.function.body.len() as u32, written: false });
                Ok(())
            }
            A::Ret { .. } | A::Exit => {
                self.emit(Op::Exit);
                Ok(())
            }
            A::Trap | A::Brkpt => {
                self.emit(Op::Trap { kind: FaultKind::Trap });
                Ok(())
            }
            A::Call { callee, ref returns, ref args, .. } => {
                self.call(frame, callee, returns, args)
            }
            A::CallIndirect { target, ref callees, ref returns, ref args, .. } => {
                self.call_indirect(frame, target, callees, returns, args)
            }

            A::Barrier { op, aligned, id, threads } => {
                self.barrier(frame, BarrierKind::Plain(op), aligned, id, threads)
            }
            A::BarrierRed { op, aligned, dst, id, threads, pred } => {
                let target = match frame.registers[dst.index()] {
                    Register::Predicate(target) => target,
                    Register::Value(slot) => index(slot),
                    Register::Pair(_) => unreachable!("the validator has compared the types"),
                };
                let source = predicate(frame, pred.reg);
                let kind = BarrierKind::Reduce { op, source, negated: pred.negated, target };
                self.barrier(frame, kind, aligned, id, threads)
            }
            A::ClusterArrive { .. }
            | A::ClusterWait { .. }
            | A::Mapa { .. }
            | A::GetCtaRank { .. }
            | A::ProxyFence
            | A::MbarrierInit { .. }
            | A::MbarrierInval { .. }
            | A::MbarrierArrive { .. }
            | A::MbarrierTx { .. }
            | A::MbarrierWait { .. }
            | A::MbarrierPending { .. }
            | A::BulkCopy { .. }
            | A::AsyncCopy { .. }
            | A::AsyncArrive { .. }
            | A::CommitGroup { .. }
            | A::WaitGroup { .. } => self.asynchronous(frame, op),
            A::WarpSync { mask } => {
                let mask = index(self.value(frame, mask, Type::U32)?);
                self.emit(Op::WarpSync { mask });
                Ok(())
            }
            A::Fence { sem, scope } => {
                self.emit(Op::Fence { sem, scope });
                Ok(())
            }
            A::Shfl { mode, dst, pred, a, lane, clamp, mask } => {
                let mut word = |value| self.value(frame, value, Type::B32).map(index);
                let (a, lane, clamp, mask) = (word(a)?, word(lane)?, word(clamp)?, word(mask)?);
                let target = index(target(frame, dst));
                let predicate = pred.map(|pred| predicate(frame, pred));
                self.collective(
                    mask,
                    Collective::Shuffle { mode, target, predicate, a, lane, clamp },
                );
                Ok(())
            }
            A::Vote { mode, dst, pred, mask } => {
                let mask = index(self.value(frame, mask, Type::B32)?);
                let target = match mode {
                    VoteMode::Ballot => index(target(frame, dst)),
                    _ => predicate(frame, dst),
                };
                let PredicateOperand { reg, negated } = pred;
                self.collective(
                    mask,
                    Collective::Vote { mode, target, source: predicate(frame, reg), negated },
                );
                Ok(())
            }
            A::Match { mode, ty, dst, pred, a, mask } => {
                let a = self.value(frame, a, ty)?;
                let mask = index(self.value(frame, mask, Type::B32)?);
                let target = dst.map(|dst| index(target(frame, dst)));
                let predicate = pred.map(|pred| predicate(frame, pred));
                self.collective(mask, Collective::Match { mode, target, predicate, a });
                Ok(())
            }
            A::Activemask { dst } => {
                self.emit(Op::ActiveMask { target: index(target(frame, dst)) });
                Ok(())
            }
            A::Redux { op, ty, dst, a, mask } => {
                let a = index(self.value(frame, a, ty)?);
                let mask = index(self.value(frame, mask, Type::B32)?);
                let target = index(target(frame, dst));
                self.collective(mask, Collective::Redux { op, signed: ty.is_signed(), target, a });
                Ok(())
            }
            A::Elect { dst, pred, mask } => {
                let mask = index(self.value(frame, mask, Type::B32)?);
                let target = dst.map(|dst| index(target(frame, dst)));
                self.collective(
                    mask,
                    Collective::Elect { target, predicate: predicate(frame, pred) },
                );
                Ok(())
            }

            A::Atom { op, ordering, space, ty, dst, addr, a, b } => {
                let (space, address) = self.address(frame, space, addr)?;
                let a = self.value(frame, a, ty)?;
                let b = b.map(|b| self.value(frame, b, ty)).transpose()?;
                // ptxas also treats an atomic whose result nothing reads as one without a result.
                let read = |dst: &RegId| frame.function.registers[dst.index()].mentions > 1;
                let target = dst.filter(read).map(|dst| target(frame, dst));
                let more = Vec::new();
                let atomic = ir::Atomic { space, address, op, ty, ordering, target, a, b, more };
                self.emit(Op::Atomic(Box::new(atomic)));
                Ok(())
            }
            A::AtomVector { op, ordering, space, ty, ref dst, addr, ref src } => {
                let (space, address) = self.address(frame, space, addr)?;
                let mut elements = Vec::new();
                for (i, value) in src.iter().enumerate() {
                    let target = dst.get(i).copied().flatten().map(|dst| target(frame, dst));
                    elements.push((target, self.value(frame, *value, ty)?));
                }
                let (target, a) = elements.remove(0);
                // An instruction that returns anything is one with a result.
                let returned = || elements.iter().find_map(|(target, _)| *target);
                let sink = target.is_none() && returned().is_some();
                let target = if sink { Some(self.temporary(ty)) } else { target };
                let (b, more) = (None, elements);
                let atomic = ir::Atomic { space, address, op, ty, ordering, target, a, b, more };
                self.emit(Op::Atomic(Box::new(atomic)));
                Ok(())
            }
        }
    }

    /// Emits a branch whose targets are indices into the body that is being lowered.
    fn branch(&mut self, op: Op) {
        self.pending.push(self.code.len());
        self.emit(op);
    }

    fn collective(&mut self, mask: u32, collective: Collective) {
        self.emit(Op::Collective { mask, collective: Box::new(collective) });
    }

    fn barrier(
        &mut self,
        frame: &Frame<'a>,
        kind: BarrierKind,
        aligned: bool,
        id: Value,
        threads: Option<Value>,
    ) -> Result<()> {
        let id = index(self.value(frame, id, Type::U32)?);
        let threads =
            threads.map(|threads| self.value(frame, threads, Type::U32)).transpose()?.map(index);
        self.emit(Op::Barrier(Box::new(Barrier { kind, aligned, id, threads })));
        Ok(())
    }
}

fn doubled(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::S32 => Type::S64,
        _ => Type::U64,
    }
}
