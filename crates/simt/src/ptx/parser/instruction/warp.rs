//! Instructions that lanes of a warp execute together (PTX ISA 9.7.9.6, 9.7.13).

use super::super::super::ast::{MatchMode, Op, ReduxOp, ShflMode, Type, VoteMode};
use super::super::super::diagnostic::Result;
use super::super::Parser;
use super::super::modifiers::{Modifiers, Table};
use super::WORDS;

const SHFL_MODES: &Table<ShflMode> = &[
    ("up", ShflMode::Up),
    ("down", ShflMode::Down),
    ("bfly", ShflMode::Bfly),
    ("idx", ShflMode::Idx),
];
const VOTE_MODES: &Table<VoteMode> = &[
    ("all", VoteMode::All),
    ("any", VoteMode::Any),
    ("uni", VoteMode::Uni),
    ("ballot", VoteMode::Ballot),
];
const REDUX_OPS: &Table<ReduxOp> = &[
    ("add", ReduxOp::Add),
    ("min", ReduxOp::Min),
    ("max", ReduxOp::Max),
    ("and", ReduxOp::And),
    ("or", ReduxOp::Or),
    ("xor", ReduxOp::Xor),
];
const SYNC: &Table<()> = &[("sync", ())];

impl Parser<'_> {
    pub(super) fn warp_sync(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(SYNC)?;
        m.finish()?;
        Ok(Op::WarpSync { mask: self.src()? })
    }

    pub(super) fn shfl(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(SYNC)?;
        let mode = m.require(SHFL_MODES)?;
        m.ty(&[Type::B32])?;
        m.finish()?;
        let dst = self.dst()?;
        let pred = self.second_dst()?;
        let (a, lane, clamp, mask) = (self.src()?, self.src()?, self.src()?, self.src()?);
        Ok(Op::Shfl { mode, dst, pred, a, lane, clamp, mask })
    }

    pub(super) fn vote(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(SYNC)?;
        let mode = m.require(VOTE_MODES)?;
        m.ty(&[if mode == VoteMode::Ballot { Type::B32 } else { Type::Pred }])?;
        m.finish()?;
        Ok(Op::Vote { mode, dst: self.dst()?, pred: self.predicate()?, mask: self.src()? })
    }

    pub(super) fn match_sync(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        let mode = m.require(&[("any", MatchMode::Any), ("all", MatchMode::All)])?;
        m.require(SYNC)?;
        let ty = m.ty(&WORDS)?;
        m.finish()?;
        let dst = self.dst_or_sink()?;
        let pred = if mode == MatchMode::All { self.second_dst()? } else { None };
        Ok(Op::Match { mode, ty, dst, pred, a: self.src()?, mask: self.src()? })
    }

    pub(super) fn activemask(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.ty(&[Type::B32])?;
        m.finish()?;
        Ok(Op::Activemask { dst: self.dst()? })
    }

    pub(super) fn redux(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(SYNC)?;
        let op = m.require(REDUX_OPS)?;
        let is_bitwise = matches!(op, ReduxOp::And | ReduxOp::Or | ReduxOp::Xor);
        let ty = m.ty(if is_bitwise { &[Type::B32] } else { &[Type::U32, Type::S32] })?;
        m.finish()?;
        Ok(Op::Redux { op, ty, dst: self.dst()?, a: self.src()?, mask: self.src()? })
    }

    pub(super) fn elect(&mut self, m: &mut Modifiers<'_>) -> Result<Op> {
        m.require(SYNC)?;
        m.finish()?;
        let dst = self.dst_or_sink()?;
        self.expect(b'|')?;
        Ok(Op::Elect { dst, pred: self.register()?, mask: self.src()? })
    }
}
