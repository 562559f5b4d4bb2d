//! The registers that an instruction uses and writes, as far as undefined bits are concerned.

use super::undefined::{Register, register};
use super::uses::Use;
use crate::ir::{Async, Atomic, BarrierKind, Load, MemoryOperand, Op, Slot};
use crate::ptx::ast::{BarrierRedOp, Type};
use crate::registers::File;

/// The registers that hold a value of an atomic: one, or two doubles for 128 bits.
fn whole(atomic: &Atomic, slot: Slot) -> Vec<Register> {
    match slot {
        Slot::Double(low) if atomic.ty == Type::B128 => {
            vec![(File::Doubles, low), (File::Doubles, low + 1)]
        }
        slot => vec![register(slot)],
    }
}

/// The registers that receive the old values of an atomic, in the order of the bytes in memory.
/// The elements without a register are left out, and all elements are of the same size.
pub(super) fn old_values(atomic: &Atomic) -> Vec<(usize, Register)> {
    let others = atomic.more.iter().map(|(target, _)| *target);
    let targets = std::iter::once(atomic.target).chain(others);
    let registers = targets.enumerate().filter_map(|(element, target)| Some((element, target?)));
    registers
        .flat_map(|(element, target)| {
            let parts = whole(atomic, target);
            let first = element * parts.len();
            parts.into_iter().enumerate().map(move |(part, register)| (first + part, register))
        })
        .collect()
}

/// The registers whose undefined bits an instruction uses.
pub(super) fn uses(op: &Op) -> Vec<(Register, Use)> {
    let word = |number: u32| (File::Words, number);
    let at = |operand: &MemoryOperand| (register(operand.address.base), Use::Address);
    match op {
        Op::Load(load) => vec![(register(load.address.base), Use::Address)],
        Op::Store(store) => vec![(register(store.address.base), Use::Address)],
        Op::Atomic(atomic) => {
            let others = atomic.more.iter().map(|(_, a)| *a);
            let values = std::iter::once(atomic.a).chain(atomic.b).chain(others);
            let address = (register(atomic.address.base), Use::Address);
            let values = values.flat_map(|slot| whole(atomic, slot));
            values.map(|register| (register, Use::Atomic)).chain([address]).collect()
        }
        Op::CallIndirect(call) => vec![((File::Doubles, call.target), Use::Call)],
        // What lies at these addresses is used too, and is watched where it is read.
        Op::Print(print) => {
            let addresses = [print.format, print.arguments];
            addresses.map(|number| ((File::Doubles, number), Use::Address)).to_vec()
        }
        Op::Assert(assertion) => {
            let texts = [assertion.message, assertion.file, assertion.function];
            let texts = texts.map(|number| ((File::Doubles, number), Use::Address));
            texts.into_iter().chain([(word(assertion.line), Use::Print)]).collect()
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
        // Calls alone write the link.
        | Op::Return { .. }
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
        Op::Atomic(atomic) => {
            old_values(atomic).into_iter().map(|(_, register)| register).collect()
        }
        Op::Print(print) => vec![register(print.target)],
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
