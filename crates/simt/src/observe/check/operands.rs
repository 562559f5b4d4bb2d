//! The registers that an instruction uses and writes, as far as undefined bits are concerned.

use super::undefined::{Register, register};
use super::uses::Use;
use crate::ir::{Async, BarrierKind, Load, MemoryOperand, Op};
use crate::ptx::ast::BarrierRedOp;
use crate::registers::File;

/// The registers whose undefined bits an instruction uses.
pub(super) fn uses(op: &Op) -> Vec<(Register, Use)> {
    let word = |number: u32| (File::Words, number);
    let at = |operand: &MemoryOperand| (register(operand.address.base), Use::Address);
    match op {
        Op::Load(load) => vec![(register(load.address.base), Use::Address)],
        Op::Store(store) => vec![(register(store.address.base), Use::Address)],
        Op::Atomic(atomic) => {
            let values = [Some(atomic.a), atomic.b].into_iter().flatten();
            let address = (register(atomic.address.base), Use::Address);
            values.map(|slot| (register(slot), Use::Atomic)).chain([address]).collect()
        }
        Op::BrxIdx { index, .. } => vec![(word(*index), Use::Branch)],
        Op::Barrier(barrier) => {
            let numbers = [Some(barrier.id), barrier.threads].into_iter().flatten();
            let source = match barrier.kind {
                BarrierKind::Reduce { source, .. } => Some((File::Predicates, source)),
                BarrierKind::Plain(_) => None,
            };
            numbers.map(word).chain(source).map(|register| (register, Use::Barrier)).collect()
        }
        Op::WarpSync { mask } | Op::Collective { mask, .. } => vec![(word(*mask), Use::Mask)],
        Op::TryWait(wait) => vec![at(&wait.mbarrier), (register(wait.phase), Use::Phase)],
        Op::Async(op) => match &**op {
            Async::Init { mbarrier, .. }
            | Async::Invalidate { mbarrier }
            | Async::Transactions { mbarrier, .. }
            | Async::CopyArrive { mbarrier, .. } => vec![at(mbarrier)],
            Async::Arrive(arrive) => vec![at(&arrive.mbarrier)],
            Async::TestWait(wait) => vec![at(&wait.mbarrier), (register(wait.phase), Use::Phase)],
            Async::Bulk(copy) => vec![at(&copy.to), at(&copy.from)],
            Async::Copy { to, from, .. } => vec![at(to), at(from)],
            Async::Commit { .. } | Async::Wait { .. } => Vec::new(),
        },
        Op::Alu { .. }
        | Op::CheckDivisor { .. }
        | Op::Bra { .. }
        | Op::Exit
        | Op::Trap { .. }
        | Op::IsSpace { .. }
        | Op::Fence { .. }
        | Op::ProxyFence
        | Op::MapRank { .. }
        | Op::RankOf { .. }
        | Op::Cluster { .. }
        | Op::ActiveMask { .. }
        | Op::Clock { .. }
        | Op::Nop => Vec::new(),
    }
}

/// The registers to which an instruction that is neither arithmetic nor a collective writes.
pub(super) fn targets(op: &Op) -> Vec<Register> {
    let predicate = |number: u32| (File::Predicates, number);
    match op {
        Op::Load(load) => load.targets.iter().flatten().map(|of| register(of.slot)).collect(),
        Op::Atomic(atomic) => atomic.target.map(register).into_iter().collect(),
        Op::IsSpace { target, .. } => vec![predicate(*target)],
        Op::MapRank { target, .. } | Op::Clock { target, .. } => vec![register(*target)],
        Op::RankOf { target, .. } | Op::ActiveMask { target } => vec![(File::Words, *target)],
        Op::TryWait(wait) => vec![predicate(wait.target)],
        Op::Async(op) => match &**op {
            Async::TestWait(wait) => vec![predicate(wait.target)],
            Async::Arrive(arrive) => {
                arrive.target.map(|target| (File::Doubles, target)).into_iter().collect()
            }
            _ => Vec::new(),
        },
        Op::Barrier(barrier) => match barrier.kind {
            BarrierKind::Reduce { op: BarrierRedOp::Popc, target, .. } => {
                vec![(File::Words, target)]
            }
            BarrierKind::Reduce { target, .. } => vec![predicate(target)],
            BarrierKind::Plain(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The undefined bits that a load puts into one of its targets. `bytes` has a bit for each byte of
/// the access that nothing has written.
pub(super) fn loaded(load: &Load, element: usize, bits: u32, bytes: u32) -> u64 {
    let width = load.width;
    let bytes = bytes >> (element as u32 * width);
    let undefined = (0..width)
        .filter(|byte| bytes >> byte & 1 == 1)
        .fold(0, |undefined, byte| undefined | 0xff << (8 * byte));
    let extended = load.signed && bytes >> (width - 1) & 1 == 1 && width < 8;
    let undefined = if extended { undefined | u64::MAX << (8 * width) } else { undefined };
    undefined & (u64::MAX >> (64 - bits))
}
