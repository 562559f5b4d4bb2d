//! Asynchronous copies, and the instructions on copies and mbarriers that do not wait.
//!
//! A copy ends as late as PTX allows, because that shows whether the kernel waits for it. A copy
//! that signals an mbarrier ends when a thread looks at a phase that waits for nothing but copies;
//! a copy of a group ends when its thread waits for the group. The bytes are read from the source
//! at that moment. A kernel that does not wait therefore finds the old bytes at the destination,
//! and a kernel that reuses the source too early copies the new bytes. (`cp.async.mbarrier.arrive`
//! ends the copies of its thread at once.)

mod locate;
mod mbarrier;
pub(super) mod phase;
pub(super) mod transfer;

use locate::{UNIT, end, locate};
use mbarrier::Change;
use transfer::{begin, wait_groups};

use crate::exec::copies::{Copy, End, SharedCell};
use crate::exec::env::Env;
use crate::exec::observer::{At, MbarrierChange, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::{Access, FaultKind};
use crate::ir::layout::MBARRIER_BYTES;
use crate::ir::{Arrive, Async, BulkCopy, MemoryOperand};
use crate::ptx::ast::{Ordering, Scope};
use crate::registers::{LANES, Registers};

/// Executes an asynchronous instruction in the lanes of `mask`, one after another.
#[inline(never)]
pub(crate) fn execute<O: Observer>(
    op: &Async,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    if let Async::TestWait(wait) = op {
        return phase::test(wait, env, registers, at, mask, observer);
    }
    for lane in (0..LANES as u32).filter(|lane| mask >> lane & 1 == 1) {
        execute_lane(op, env, registers, (at, lane), observer)
            .map_err(|kind| Box::new((lane, kind)))?;
    }
    Ok(())
}

fn execute_lane<O: Observer>(
    op: &Async,
    env: &mut Env<'_>,
    registers: &mut Registers,
    (at, lane): (At, u32),
    observer: &mut O,
) -> Result<(), FaultKind> {
    let word = |register: u32| registers.words[register as usize][lane as usize];
    let thread = at.warp * LANES as u32 + lane;
    let cell = |operand: &MemoryOperand, env: &Env<'_>| {
        locate(operand, env, registers, lane, Access::Atomic, u64::from(MBARRIER_BYTES))
    };
    match op {
        Async::TestWait(_) => {}
        Async::Init { mbarrier, count } => {
            let cell = cell(mbarrier, env)?;
            mbarrier::init(env, cell, word(*count))?;
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Init);
        }
        Async::Invalidate { mbarrier } => {
            let cell = cell(mbarrier, env)?;
            mbarrier::invalidate(env, cell)?;
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Other);
        }
        Async::Arrive(arrive) => {
            let cell = cell(&arrive.mbarrier, env)?;
            let Arrive { drop, expects, no_complete, ordering, target, operand, .. } = *arrive;
            let operand = operand.map(word);
            let (arrivals, expect) =
                if expects { (1, operand.unwrap_or(0)) } else { (operand.unwrap_or(1), 0) };
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Arrive(ordering));
            let change = Change { arrivals, drop, no_complete, expect, complete: 0 };
            let state = mbarrier::change(env, observer, cell, change)?;
            if let Some(target) = target {
                registers.doubles[target as usize][lane as usize] = state;
            }
        }
        Async::Transactions { mbarrier, completes, count } => {
            let cell = cell(mbarrier, env)?;
            let (expect, complete) = if *completes { (0, word(*count)) } else { (word(*count), 0) };
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Other);
            mbarrier::change(
                env,
                observer,
                cell,
                Change { expect, complete, ..Change::default() },
            )?;
        }
        Async::Bulk(copy) => begin_bulk(copy, env, registers, (at, lane), observer)?,
        Async::Copy { to, from, bytes, read } => {
            let read = read.map_or(*bytes, word).min(*bytes);
            let size = u64::from(*bytes);
            let copy = Copy {
                rank: env.rank,
                thread,
                pc: at.pc,
                to: end(to, env, registers, lane, Access::Write, (size, size))?,
                from: end(from, env, registers, lane, Access::Read, (u64::from(read), size))?,
                bytes: *bytes,
                read,
                mbarrier: None,
                bulk: false,
                data: None,
            };
            begin(env, observer, at, copy);
        }
        Async::CopyArrive { mbarrier, counted } => {
            let cell = cell(mbarrier, env)?;
            wait_groups(env, observer, (thread, false), None, false);
            if *counted {
                observer.mbarrier(
                    env,
                    at,
                    lane,
                    cell,
                    MbarrierChange::Arrive(Ordering::Release(Scope::Cta)),
                );
                mbarrier::change(env, observer, cell, Change { arrivals: 1, ..Change::default() })?;
            }
        }
        Async::Commit { bulk } => {
            let groups = env.cluster.copies.groups.entry((env.rank, thread, *bulk)).or_default();
            groups.committed.push_back(std::mem::take(&mut groups.open));
        }
        Async::Wait { bulk, groups, read } => {
            wait_groups(env, observer, (thread, *bulk), *groups, *read);
        }
    }
    Ok(())
}

/// Begins a bulk copy. A multicast begins one copy for each destination block.
fn begin_bulk<O: Observer>(
    copy: &BulkCopy,
    env: &mut Env<'_>,
    registers: &Registers,
    (at, lane): (At, u32),
    observer: &mut O,
) -> Result<(), FaultKind> {
    let word = |register: u32| registers.words[register as usize][lane as usize];
    let bytes = word(copy.size);
    let size = u64::from(bytes);
    if !size.is_multiple_of(UNIT) {
        return Err(FaultKind::CopySize { bytes });
    }
    let to = end(&copy.to, env, registers, lane, Access::Write, (size, UNIT))?;
    let from = end(&copy.from, env, registers, lane, Access::Read, (size, UNIT))?;
    let mbarrier = match &copy.mbarrier {
        Some(operand) => {
            Some(locate(operand, env, registers, lane, Access::Atomic, u64::from(MBARRIER_BYTES))?)
        }
        None => None,
    };
    let ranks = copy.mask.map(word);
    for rank in (0..u16::BITS).filter(|rank| ranks.is_none_or(|ranks| ranks >> rank & 1 == 1)) {
        let of_rank =
            |cell: SharedCell| if ranks.is_some() { SharedCell { rank, ..cell } } else { cell };
        if ranks.is_some()
            && let Some(kind) = env.refuses_peer(rank)
        {
            return Err(kind);
        }
        let to = match to {
            End::Shared(cell) => End::Shared(of_rank(cell)),
            End::Global(_) => to,
        };
        let mbarrier = mbarrier.map(of_rank);
        if let Some(cell) = mbarrier {
            mbarrier::load(env, cell)?;
        }
        let thread = at.warp * LANES as u32 + lane;
        let (rank, pc, read) = (env.rank, at.pc, bytes);
        begin(
            env,
            observer,
            at,
            Copy { rank, thread, pc, to, from, bytes, read, mbarrier, bulk: true, data: None },
        );
        if ranks.is_none() {
            break;
        }
    }
    Ok(())
}
