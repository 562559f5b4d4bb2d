//! The rules for whole instructions.

use super::super::ast::{
    BarrierOp, BarrierRedOp, CallArg, CallReturn, Callees, Imm, IntBinaryOp, IntUnaryOp, MulPart,
    Op, Ordering, Param, Space, Target, Type, Value, VarRef, VoteMode,
};
use super::super::diagnostic::Result;
use super::Checker;

/// A block has this many named barriers.
const BARRIERS: u64 = 16;
const WARP: u64 = 32;

impl Checker<'_> {
    pub(super) fn instruction(&self) -> Result<()> {
        if let Some(guard) = self.instruction.guard {
            self.predicate(guard)?;
        }
        match &self.instruction.op {
            Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Cvta { .. }
            | Op::Isspacep { .. } => self.moves(),
            Op::Ld { .. }
            | Op::St { .. }
            | Op::CacheControl { .. }
            | Op::Atom { .. }
            | Op::AtomVector { .. } => self.memory(),
            Op::Bra { .. }
            | Op::BrxIdx { .. }
            | Op::Call { .. }
            | Op::CallIndirect { .. }
            | Op::Barrier { .. }
            | Op::BarrierRed { .. } => self.control(),
            Op::WarpSync { .. }
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Activemask { .. }
            | Op::Redux { .. }
            | Op::Elect { .. } => self.warp(),
            Op::Mapa { .. } | Op::GetCtaRank { .. } => self.cluster(),
            Op::MbarrierInit { .. }
            | Op::MbarrierInval { .. }
            | Op::MbarrierArrive { .. }
            | Op::MbarrierTx { .. }
            | Op::MbarrierWait { .. }
            | Op::MbarrierPending { .. }
            | Op::AsyncArrive { .. } => self.mbarrier(),
            Op::BulkCopy { .. } | Op::AsyncCopy { .. } => self.copy(),
            Op::Ret { .. }
            | Op::Exit
            | Op::Trap
            | Op::Brkpt
            | Op::Fence { .. }
            | Op::ProxyFence
            | Op::ClusterArrive { .. }
            | Op::ClusterWait { .. }
            | Op::CommitGroup { .. }
            | Op::WaitGroup { .. }
            | Op::GridDependency
            | Op::Unknown(_) => Ok(()),
            Op::Nanosleep { duration } => self.value(*duration, Type::U32),
            Op::Pmevent { mask } => match mask {
                Value::Imm(Imm::Int(_)) => Ok(()),
                _ => self.fail("the event must be a number"),
            },
            _ => self.arithmetic(),
        }
    }

    fn moves(&self) -> Result<()> {
        match &self.instruction.op {
            Op::Mov { ty, dst, src: Value::Special(special) } => {
                self.reg(*dst, *ty)?;
                if special.ty().bits() != ty.bits() || ty.is_float() {
                    return self
                        .fail(format!("the special register has type {}, not {ty}", special.ty()));
                }
                Ok(())
            }
            Op::Mov { ty, dst, src } => {
                self.reg(*dst, *ty)?;
                self.value(*src, *ty)
            }
            Op::Pack { ty, dst, src } => {
                self.reg(*dst, *ty)?;
                let part = self.part(*ty, src.len())?;
                src.iter().try_for_each(|&value| self.value(value, part))
            }
            Op::Unpack { ty, dst, src } => {
                self.value(*src, *ty)?;
                let part = self.part(*ty, dst.len())?;
                dst.iter().try_for_each(|&reg| self.maybe_reg(reg, part))
            }
            Op::Cvta { space, ty, dst, src, .. } => {
                self.reg(*dst, *ty)?;
                if let Value::Address(var, _) = src {
                    let own = self.module.space_of(self.function, *var);
                    if own != *space && (own, *space) != (Space::Shared, Space::SharedCluster) {
                        let name = self.module.name_of(self.function, *var);
                        return self.fail(format!(
                            "`{name}` is in the {} space, not in the {} space",
                            own.name(),
                            space.name()
                        ));
                    }
                }
                self.value(*src, *ty)
            }
            Op::Isspacep { dst, src, .. } => {
                self.reg(*dst, Type::Pred)?;
                self.value(*src, Type::B64)
            }
            _ => Ok(()),
        }
    }

    /// The type of one of `count` equal parts of `ty`.
    fn part(&self, ty: Type, count: usize) -> Result<Type> {
        match (ty, count) {
            (Type::B128, 2) => Ok(Type::B64),
            (Type::B64, 2) => Ok(Type::B32),
            (Type::B64, 4) | (Type::B32, 2) => Ok(Type::B16),
            (Type::B32, 4) | (Type::B16, 2) => Ok(Type::B8),
            _ => self.fail(format!("{ty} cannot be split into {count} parts")),
        }
    }

    fn memory(&self) -> Result<()> {
        match &self.instruction.op {
            Op::Ld { space, ordering, ty, dst, addr, .. } => {
                let size = self.access(*space, *ordering, *ty, dst.len())?;
                self.address(*addr, *space, size, false)?;
                dst.iter().flatten().try_for_each(|&reg| self.reg_relaxed(reg, *ty))
            }
            Op::St { space, ordering, ty, addr, src, .. } => {
                let size = self.access(*space, *ordering, *ty, src.len())?;
                self.address(*addr, *space, size, true)?;
                src.iter().try_for_each(|&value| self.value_relaxed(value, *ty))
            }
            Op::CacheControl { space, addr, .. } => self.address(*addr, *space, 1, false),
            Op::AtomVector { space, ty, dst, addr, src, .. } => {
                dst.iter().try_for_each(|&reg| self.maybe_reg(reg, *ty))?;
                self.address(*addr, *space, u64::from(ty.size()) * src.len() as u64, true)?;
                src.iter().try_for_each(|&value| self.value(value, *ty))
            }
            Op::Atom { space, ty, dst, addr, a, b, .. } => {
                self.maybe_reg(*dst, *ty)?;
                self.address(*addr, *space, u64::from(ty.size()), true)?;
                self.value(*a, *ty)?;
                b.map_or(Ok(()), |b| self.value(b, *ty))
            }
            _ => Ok(()),
        }
    }

    /// Checks an access, and returns its size in bytes.
    fn access(&self, space: Space, ordering: Ordering, ty: Type, count: usize) -> Result<u64> {
        if ordering != Ordering::Weak
            && matches!(space, Space::Const | Space::Param | Space::Local)
            && ordering != Ordering::Volatile
        {
            return self.fail(format!("the {} space knows no ordering", space.name()));
        }
        let size = u64::from(ty.size()) * count as u64;
        let limit = if space == Space::Global && ty != Type::B128 { 32 } else { 16 };
        if size > limit {
            return self.fail(format!("an access of {size} bytes is wider than {limit}"));
        }
        Ok(size)
    }

    fn arithmetic(&self) -> Result<()> {
        match self.instruction.op {
            Op::IntBinary { op, ty, dst, a, b, .. } => {
                self.reg(dst, if op == IntBinaryOp::MulWide { widened(ty) } else { ty })?;
                self.values([a, b], ty)
            }
            Op::Carry { ty, dst, a, b, .. }
            | Op::Logic { ty, dst, a, b, .. }
            | Op::FloatBinary { ty, dst, a, b, .. } => {
                self.reg(dst, ty)?;
                self.values([a, b], ty)
            }
            Op::Mad { part, ty, dst, a, b, c, .. } => {
                let wide = if part == MulPart::Wide { widened(ty) } else { ty };
                self.reg(dst, wide)?;
                self.values([a, b], ty)?;
                self.value(c, wide)
            }
            Op::DotProduct { dst, a, b, c, .. } => {
                self.reg(dst, Type::U32)?;
                self.values([a, b, c], Type::U32)
            }
            Op::Sad { ty, dst, a, b, c } | Op::Fma { ty, dst, a, b, c, .. } => {
                self.reg(dst, ty)?;
                self.values([a, b, c], ty)
            }
            Op::IntUnary { op, ty, dst, a } => {
                let counts = matches!(
                    op,
                    IntUnaryOp::Popc
                        | IntUnaryOp::Clz
                        | IntUnaryOp::Bfind
                        | IntUnaryOp::BfindShiftAmount
                );
                self.reg(dst, if counts { Type::U32 } else { ty })?;
                self.value(a, ty)
            }
            Op::Not { ty, dst, a } | Op::FloatUnary { ty, dst, a, .. } => {
                self.reg(dst, ty)?;
                self.value(a, ty)
            }
            Op::Testp { ty, dst, a, .. } => {
                self.reg(dst, Type::Pred)?;
                self.value(a, ty)
            }
            Op::Lop3 { dst, a, b, c, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([a, b, c], Type::B32)
            }
            Op::Shift { ty, dst, a, amount, .. } => {
                self.reg(dst, ty)?;
                self.value(a, ty)?;
                self.value(amount, Type::U32)
            }
            Op::Shf { dst, lo, hi, amount, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([lo, hi, amount], Type::B32)
            }
            Op::Prmt { dst, a, b, selector, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([a, b, selector], Type::B32)
            }
            Op::Bfe { ty, dst, a, pos, len } => {
                self.reg(dst, ty)?;
                self.value(a, ty)?;
                self.values([pos, len], Type::U32)
            }
            Op::Bfi { ty, dst, a, b, pos, len } => {
                self.reg(dst, ty)?;
                self.values([a, b], ty)?;
                self.values([pos, len], Type::U32)
            }
            Op::Bmsk { dst, pos, len, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([pos, len], Type::U32)
            }
            Op::Szext { ty, dst, a, width, .. } => {
                self.reg(dst, ty)?;
                self.value(a, ty)?;
                self.value(width, Type::U32)
            }
            _ => self.comparison(),
        }
    }

    fn comparison(&self) -> Result<()> {
        match self.instruction.op {
            Op::Setp { ty, combine, dst, complement, a, b, .. } => {
                self.maybe_reg(dst, Type::Pred)?;
                self.maybe_reg(complement, Type::Pred)?;
                self.values([a, b], ty)?;
                combine.map_or(Ok(()), |combine| self.predicate(combine.with))
            }
            Op::Set { dst_ty, ty, combine, dst, a, b, .. } => {
                self.reg(dst, dst_ty)?;
                self.values([a, b], ty)?;
                combine.map_or(Ok(()), |combine| self.predicate(combine.with))
            }
            Op::Selp { ty, dst, a, b, pred } => {
                self.reg(dst, ty)?;
                self.values([a, b], ty)?;
                self.reg(pred, Type::Pred)
            }
            Op::Slct { ty, c_ty, dst, a, b, c, .. } => {
                self.reg(dst, ty)?;
                self.values([a, b], ty)?;
                self.value(c, c_ty)
            }
            Op::CvtPack { dst_ty, dst, high, low, .. } => {
                self.reg(dst, dst_ty)?;
                self.values([high, low], Type::F32)
            }
            Op::CvtTf32 { dst, src, .. } => {
                self.reg(dst, Type::B32)?;
                self.value(src, Type::F32)
            }
            Op::IntPairs { dst, a, b, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([a, b], Type::B32)
            }
            Op::Fns { dst, mask, base, offset } => {
                self.reg(dst, Type::B32)?;
                self.values([mask, base, offset], Type::B32)
            }
            Op::Video { dst, a, b, c, .. } => {
                self.reg(dst, Type::B32)?;
                self.values([a, b, c], Type::B32)
            }
            Op::Cvt { dst_ty, src_ty, dst, src, .. } => {
                self.reg_relaxed(dst, dst_ty)?;
                match src {
                    Value::Special(special)
                        if special.ty().bits() == src_ty.bits() && !src_ty.is_float() =>
                    {
                        Ok(())
                    }
                    _ => self.value_relaxed(src, src_ty),
                }
            }
            _ => Ok(()),
        }
    }

    fn warp(&self) -> Result<()> {
        match self.instruction.op {
            Op::WarpSync { mask } => self.value(mask, Type::B32),
            Op::Shfl { dst, pred, a, lane, clamp, mask, .. } => {
                self.reg(dst, Type::B32)?;
                self.maybe_reg(pred, Type::Pred)?;
                self.values([a, lane, clamp, mask], Type::B32)
            }
            Op::Vote { mode, dst, pred, mask } => {
                self.reg(dst, if mode == VoteMode::Ballot { Type::B32 } else { Type::Pred })?;
                self.predicate(pred)?;
                self.value(mask, Type::B32)
            }
            Op::Match { ty, dst, pred, a, mask, .. } => {
                self.maybe_reg(dst, Type::B32)?;
                self.maybe_reg(pred, Type::Pred)?;
                self.value(a, ty)?;
                self.value(mask, Type::B32)
            }
            Op::Activemask { dst } => self.reg(dst, Type::B32),
            Op::Redux { ty, dst, a, mask, .. } => {
                self.reg(dst, ty)?;
                self.value(a, ty)?;
                self.value(mask, Type::B32)
            }
            Op::Elect { dst, pred, mask } => {
                self.maybe_reg(dst, Type::B32)?;
                self.reg(pred, Type::Pred)?;
                self.value(mask, Type::B32)
            }
            _ => Ok(()),
        }
    }

    fn control(&self) -> Result<()> {
        match &self.instruction.op {
            Op::Bra { target, .. } => self.target(*target),
            Op::BrxIdx { index, targets, .. } => {
                self.reg(*index, Type::U32)?;
                targets.iter().try_for_each(|&target| self.target(target))
            }
            Op::Barrier { op, id, threads, .. } => {
                if *op == BarrierOp::Arrive && threads.is_none() {
                    return self.fail("the number of threads is missing");
                }
                self.barrier(*id, *threads)
            }
            Op::BarrierRed { op, dst, id, threads, pred, .. } => {
                self.reg(*dst, if *op == BarrierRedOp::Popc { Type::U32 } else { Type::Pred })?;
                self.barrier(*id, *threads)?;
                self.predicate(*pred)
            }
            Op::Call { callee, returns, args, .. } => self.call(callee.index(), returns, args),
            Op::CallIndirect { target, returns, args, callees, .. } => {
                self.reg(*target, Type::B64)?;
                match &**callees {
                    Callees::Prototype(prototype) => self.signature(
                        "the prototype",
                        &prototype.params,
                        &prototype.returns,
                        returns,
                        args,
                    ),
                    Callees::Targets(targets) => targets
                        .iter()
                        .try_for_each(|target| self.call(target.index(), returns, args)),
                }
            }
            _ => Ok(()),
        }
    }

    fn target(&self, target: Target) -> Result<()> {
        if (target.0 as usize) < self.function.body.len() {
            Ok(())
        } else {
            self.fail("the branch leaves the function")
        }
    }

    fn barrier(&self, id: Value, threads: Option<Value>) -> Result<()> {
        self.value(id, Type::U32)?;
        if let Value::Imm(Imm::Int(id)) = id
            && id >= BARRIERS
        {
            return self.fail(format!("there is no barrier {id}, only 0 to {}", BARRIERS - 1));
        }
        let Some(threads) = threads else { return Ok(()) };
        self.value(threads, Type::U32)?;
        if let Value::Imm(Imm::Int(threads)) = threads
            && (threads == 0 || !threads.is_multiple_of(WARP))
        {
            return self.fail(format!("{threads} threads are not a positive multiple of {WARP}"));
        }
        Ok(())
    }

    fn call(&self, callee: usize, returns: &[CallReturn], args: &[CallArg]) -> Result<()> {
        let Some(callee) = self.module.functions.get(callee) else {
            return self.fail("the function does not exist");
        };
        let name = &callee.name;
        if callee.is_entry() {
            return self.fail(format!("`{name}` is a kernel and cannot be called"));
        }
        if !callee.defined && callee.system().is_none() {
            return self.unknown(format!("function `{name}` has no body in this module"));
        }
        self.signature(&format!("`{name}`"), &callee.params, &callee.returns, returns, args)
    }

    /// Checks the arguments and the results of a call against those of a function.
    fn signature(
        &self,
        callee: &str,
        params: &[Param],
        results: &[Param],
        returns: &[CallReturn],
        args: &[CallArg],
    ) -> Result<()> {
        let arity = |what: &str, found: usize, wanted: usize| {
            if found == wanted {
                return Ok(());
            }
            self.fail(format!("{callee} has {wanted} {what}(s), but the call has {found}"))
        };
        arity("parameter", args.len(), params.len())?;
        arity("result", returns.len(), results.len())?;
        for (arg, param) in args.iter().zip(params) {
            match *arg {
                CallArg::Param(var) => self.passed(var, param)?,
                CallArg::Value(value) if param.count.is_none() => self.value(value, param.ty)?,
                CallArg::Value(_) => {
                    return self.fail(format!("`{}` is an array, not a single value", param.name));
                }
            }
        }
        for (result, param) in returns.iter().zip(results) {
            match *result {
                CallReturn::Param(var) => self.passed(var, param)?,
                CallReturn::Reg(reg) if param.count.is_none() => self.reg(reg, param.ty)?,
                CallReturn::Reg(_) => {
                    return self.fail(format!("`{}` is an array, not a single value", param.name));
                }
            }
        }
        Ok(())
    }

    /// Checks a `.param` variable of the caller that is passed as a parameter.
    fn passed(&self, var: VarRef, param: &Param) -> Result<()> {
        let name = self.module.name_of(self.function, var);
        let variable = matches!(var, VarRef::Function(_))
            .then(|| self.module.variable(self.function, var))
            .flatten();
        let Some(variable) = variable.filter(|variable| variable.space == Space::Param) else {
            return self.fail(format!("`{name}` is not a .param variable of this function"));
        };
        if variable.size() != param.size() {
            let (found, wanted) = (variable.size(), param.size());
            return self
                .fail(format!("`{name}` has {found} bytes where `{}` has {wanted}", param.name));
        }
        Ok(())
    }
}

const fn widened(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        _ => Type::S64,
    }
}
