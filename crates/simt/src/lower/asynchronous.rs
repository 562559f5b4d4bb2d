//! Lowering of the instructions for clusters, mbarriers and asynchronous copies.

use super::frame::{Frame, index, predicate, target};
use super::lowering::{Lowering, Result};
use crate::alu::bits;
use crate::ir::layout::{COUNT_BITS, PENDING_SHIFT};
use crate::ir::{Arrive, Async, BulkCopy, ClusterStep, MemoryOperand, Op, PhaseWait};
use crate::ptx::ast::{self, Address, Imm, Space, Type, Value};

impl<'a> Lowering<'a> {
    /// A memory operand with its space.
    fn operand(
        &mut self,
        frame: &Frame<'a>,
        space: Space,
        address: Address,
    ) -> Result<MemoryOperand> {
        let (space, address) = self.address(frame, space, address)?;
        Ok(MemoryOperand { space, address })
    }

    fn word(&mut self, frame: &Frame<'a>, value: Value) -> Result<u32> {
        self.value(frame, value, Type::U32).map(index)
    }

    pub(super) fn asynchronous(&mut self, frame: &Frame<'a>, op: &'a ast::Op) -> Result<()> {
        use ast::Op as A;
        let lowered = match *op {
            A::ClusterArrive { releases, aligned } => {
                self.emit(Op::Cluster { step: ClusterStep::Arrive { releases }, aligned });
                return Ok(());
            }
            A::ClusterWait { aligned } => {
                self.emit(Op::Cluster { step: ClusterStep::Wait, aligned });
                return Ok(());
            }
            A::Mapa { ty, dst, src, rank, .. } => {
                let (address, rank) = (self.value(frame, src, ty)?, self.word(frame, rank)?);
                self.emit(Op::MapRank { target: target(frame, dst), address, rank });
                return Ok(());
            }
            A::GetCtaRank { ty, dst, src, .. } => {
                let address = self.value(frame, src, ty)?;
                self.emit(Op::RankOf { target: index(target(frame, dst)), address });
                return Ok(());
            }
            A::ProxyFence => {
                self.emit(Op::ProxyFence);
                return Ok(());
            }
            A::MbarrierPending { dst, state } => {
                let [shift, bits] = [PENDING_SHIFT, COUNT_BITS]
                    .map(|n| (Value::Imm(Imm::Int(n.into())), Type::U32));
                let sources = [(state, Type::U64), shift, bits];
                let wide = self.temporary(Type::U64);
                let mut operands =
                    crate::registers::Operands { d: index(wide), ..Default::default() };
                for ((value, ty), operand) in
                    sources.into_iter().zip([&mut operands.a, &mut operands.b, &mut operands.c])
                {
                    *operand = index(self.value(frame, value, ty)?);
                }
                self.emit_alu(bits::extract(Type::U64), operands)?;
                let narrow = crate::registers::Operands { a: index(wide), ..Default::default() };
                return self.alu_slots(
                    frame,
                    Some(bits::resize(Type::B64, 32)),
                    (dst, Type::U32),
                    narrow,
                );
            }
            A::MbarrierWait { blocks, space, ordering, dst, addr, phase, parity, .. } => {
                let mbarrier = self.operand(frame, space, addr)?;
                let phase = self.value(frame, phase, if parity { Type::U32 } else { Type::B64 })?;
                let wait = PhaseWait { mbarrier, phase, ordering, target: predicate(frame, dst) };
                if blocks {
                    self.emit(Op::TryWait(Box::new(wait)));
                    return Ok(());
                }
                Async::TestWait(wait)
            }
            _ => self.beside(frame, op)?,
        };
        self.emit(Op::Async(Box::new(lowered)));
        Ok(())
    }

    /// Lowers an asynchronous instruction that does not wait.
    fn beside(&mut self, frame: &Frame<'a>, op: &'a ast::Op) -> Result<Async> {
        use ast::Op as A;
        Ok(match *op {
            A::MbarrierInit { space, addr, count } => Async::Init {
                mbarrier: self.operand(frame, space, addr)?,
                count: self.word(frame, count)?,
            },
            A::MbarrierInval { space, addr } => {
                Async::Invalidate { mbarrier: self.operand(frame, space, addr)? }
            }
            A::MbarrierArrive {
                drop,
                expects,
                no_complete,
                ordering,
                space,
                dst,
                addr,
                operand,
            } => {
                let mbarrier = self.operand(frame, space, addr)?;
                let operand = operand.map(|operand| self.word(frame, operand)).transpose()?;
                let target = dst.map(|dst| index(target(frame, dst)));
                Async::Arrive(Arrive {
                    mbarrier,
                    drop,
                    expects,
                    no_complete,
                    ordering,
                    target,
                    operand,
                })
            }
            A::MbarrierTx { completes, space, addr, count } => {
                let (mbarrier, count) =
                    (self.operand(frame, space, addr)?, self.word(frame, count)?);
                Async::Transactions { mbarrier, completes, count }
            }
            A::BulkCopy { to, from, dst, src, size, mbarrier, mask } => Async::Bulk(BulkCopy {
                to: self.operand(frame, to, dst)?,
                from: self.operand(frame, from, src)?,
                size: self.word(frame, size)?,
                mbarrier: mbarrier.map(|mbarrier| self.operand(frame, to, mbarrier)).transpose()?,
                mask: mask.map(|mask| self.value(frame, mask, Type::U16).map(index)).transpose()?,
            }),
            A::AsyncCopy { bytes, dst, src, from } => Async::Copy {
                to: self.operand(frame, Space::Shared, dst)?,
                from: self.operand(frame, Space::Global, src)?,
                bytes,
                read: from.map(|from| self.word(frame, from)).transpose()?,
            },
            A::AsyncArrive { counted, space, addr } => {
                Async::CopyArrive { mbarrier: self.operand(frame, space, addr)?, counted }
            }
            A::CommitGroup { bulk } => Async::Commit { bulk },
            A::WaitGroup { bulk, groups, read } => Async::Wait { bulk, groups, read },
            _ => return self.refuse("this form of the instruction is not simulated"),
        })
    }
}
