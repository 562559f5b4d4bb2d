//! Control flow, barriers and fences (PTX ISA 9.7.12, 9.7.13 and 9.7.19).

use super::super::super::ast::{
    BarrierOp, BarrierRedOp, CallArg, CallReturn, FenceSem, Imm, Op, Scope, Target, Type, Value,
};
use super::super::super::diagnostic::{Error, Result};
use super::super::modifiers::{Modifiers, Table};
use super::super::names::Symbol;
use super::super::{Parser, TokenKind};
use super::SCOPES;

const FENCES: &Table<FenceSem> = &[
    ("acq_rel", FenceSem::AcqRel),
    ("sc", FenceSem::Sc),
    ("acquire", FenceSem::Acquire),
    ("release", FenceSem::Release),
];
const MEMBARS: &Table<Scope> = &[("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::Sys)];

/// The target of a branch until its label is found.
const UNRESOLVED: Target = Target(u32::MAX);

impl Parser<'_> {
    pub(super) fn bra(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let uniform = m.take("uni");
        m.finish()?;
        let (label, span) = self.ident("a label")?;
        self.branch_to(label, span);
        Ok(Op::Bra { uniform, target: UNRESOLVED })
    }

    pub(super) fn brx(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(&[("idx", ())])?;
        let uniform = m.take("uni");
        m.finish()?;
        let index = self.dst()?;
        self.expect(b',')?;
        let (label, span) = self.ident("a table of branch targets")?;
        self.branch_to(label, span);
        Ok(Op::BrxIdx { uniform, index, targets: Vec::new() })
    }

    /// Reads `call (ret), name, (args)` or `call (ret), %register, (args), prototype`; `(ret)` and
    /// `(args)` may be missing.
    pub(super) fn call(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let uniform = m.take("uni");
        m.finish()?;
        let mut returns = Vec::new();
        if self.eat(b'(') {
            while !self.eat(b')') {
                if !returns.is_empty() {
                    self.expect(b',')?;
                }
                returns.push(match self.param_variable() {
                    Some(var) => CallReturn::Param(var),
                    None => CallReturn::Reg(self.register()?),
                });
            }
            self.expect(b',')?;
        }
        let (name, span) = self.ident("a function's name")?;
        let symbol = self.lookup(name);
        let mut args = Vec::new();
        if self.at_punct(b',') && self.peek_second().kind == TokenKind::Punct(b'(') {
            self.at += 2;
            while !self.eat(b')') {
                if !args.is_empty() {
                    self.expect(b',')?;
                }
                args.push(match self.param_variable() {
                    Some(var) => CallArg::Param(var),
                    None => CallArg::Value(self.value()?),
                });
            }
        }
        match symbol {
            Some(Symbol::Function(callee)) => Ok(Op::Call { uniform, callee, returns, args }),
            Some(Symbol::Reg(target)) => {
                if !self.eat(b',') {
                    return Err(self.unexpected("`,` and the name of a `.callprototype`"));
                }
                let (name, span) = self.ident("the name of a `.callprototype`")?;
                let callees = self.callees(name).cloned().ok_or_else(|| {
                    let message = format!(
                        "there is no `.callprototype` or `.calltargets` `{name}` before this line"
                    );
                    Error::new(span, message)
                })?;
                let callees = Box::new(callees);
                Ok(Op::CallIndirect { uniform, target, returns, args, callees })
            }
            Some(Symbol::Var(_)) => Err(Error::new(span, format!("`{name}` is not a function"))),
            None => {
                Err(Error::new(span, format!("function `{name}` is not declared before this call")))
            }
        }
    }

    pub(super) fn nanosleep(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.ty(&[Type::U32])?;
        m.finish()?;
        Ok(Op::Nanosleep { duration: self.src()? })
    }

    pub(super) fn pmevent(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.take("mask");
        m.finish()?;
        Ok(Op::Pmevent { mask: self.src()? })
    }

    /// Reads `bar`, which is always aligned, or `barrier`, which says whether it is aligned.
    pub(super) fn barrier(&mut self, is_bar: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        m.take("cta");
        let aligned = is_bar || m.take("aligned");
        if m.take("red") {
            let op = m.require(&[
                ("popc", BarrierRedOp::Popc),
                ("and", BarrierRedOp::And),
                ("or", BarrierRedOp::Or),
            ])?;
            m.ty(&[if op == BarrierRedOp::Popc { Type::U32 } else { Type::Pred }])?;
            if !is_bar {
                m.take("aligned");
            }
            m.finish()?;
            let (dst, id) = (self.dst()?, self.src()?);
            // The thread count is optional and stands before the predicate.
            let threads = if self.commas_left() == 2 { Some(self.src()?) } else { None };
            return Ok(Op::BarrierRed { op, aligned, dst, id, threads, pred: self.predicate()? });
        }
        let op = m.require(&[("sync", BarrierOp::Sync), ("arrive", BarrierOp::Arrive)])?;
        m.finish()?;
        let id = if self.has_more() { self.src()? } else { Value::Imm(Imm::Int(0)) };
        let threads =
            if self.has_more() || op == BarrierOp::Arrive { Some(self.src()?) } else { None };
        Ok(Op::Barrier { op, aligned, id, threads })
    }

    /// How many commas there are before the next semicolon.
    pub(super) fn commas_left(&self) -> usize {
        let rest = self.tokens[self.at..].iter().map(|token| token.kind);
        rest.take_while(|&kind| !matches!(kind, TokenKind::Punct(b';') | TokenKind::End))
            .filter(|&kind| kind == TokenKind::Punct(b','))
            .count()
    }

    pub(super) fn fence(is_membar: bool, m: &mut Modifiers<'_>) -> Result<Op> {
        let op = if is_membar {
            Op::Fence { sem: FenceSem::Sc, scope: m.require(MEMBARS)? }
        } else {
            Op::Fence {
                sem: m.choose(FENCES).unwrap_or(FenceSem::AcqRel),
                scope: m.require(SCOPES)?,
            }
        };
        m.finish()?;
        Ok(op)
    }
}
