//! Waits for the phases of mbarriers.
//!
//! [`wait`] waits without a time limit. On hardware, `try_wait` may also return because a time has
//! passed, but no program can rely on the length of that time.

use super::locate::locate;
use super::mbarrier::{PARITY, load};
use super::transfer;
use crate::exec::copies::SharedCell;
use crate::exec::env::Env;
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::{Access, FaultKind};
use crate::ir::layout::MBARRIER_BYTES;
use crate::ir::{PhaseWait, Slot};
use crate::registers::{LANES, Registers};

/// Returns whether the phase that a lane names is complete. If the phase waits for nothing but
/// copies, the copies end now, because that is as late as they can end.
fn is_complete<O: Observer>(
    env: &mut Env<'_>,
    observer: &mut O,
    cell: SharedCell,
    parity: bool,
) -> Result<bool, FaultKind> {
    let mbarrier = load(env, cell)?;
    if mbarrier.parity != parity {
        return Ok(true);
    }
    if mbarrier.pending == 0 && transfer::in_flight(env, cell) == i64::from(mbarrier.bytes) {
        transfer::deliver(env, observer, cell)?;
    }
    Ok(load(env, cell)?.parity != parity)
}

/// Looks at the phases for which the lanes of `mask` wait, and returns the lanes whose phase is
/// complete.
fn look<O: Observer>(
    wait: &PhaseWait,
    env: &mut Env<'_>,
    registers: &Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<u32, LaneFault> {
    let mut over = 0;
    for lane in (0..LANES as u32).filter(|lane| mask >> lane & 1 == 1) {
        let fault = |kind| Box::new((lane, kind));
        let cell =
            locate(&wait.mbarrier, env, registers, lane, Access::Atomic, u64::from(MBARRIER_BYTES))
                .map_err(fault)?;
        let parity = match wait.phase {
            Slot::Word(parity) => registers.words[parity as usize][lane as usize] & 1 == 1,
            Slot::Double(state) => registers.doubles[state as usize][lane as usize] & PARITY != 0,
        };
        if is_complete(env, observer, cell, parity).map_err(fault)? {
            over |= 1 << lane;
            observer.mbarrier_wait(env, at, lane, cell, wait.ordering);
        }
    }
    Ok(over)
}

/// `mbarrier.try_wait`: returns the lanes of `mask` that continue.
#[inline(never)]
pub(crate) fn wait<O: Observer>(
    wait: &PhaseWait,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<u32, LaneFault> {
    let over = look(wait, env, registers, at, mask, observer)?;
    registers.set_predicate(wait.target, over, u32::MAX);
    Ok(over)
}

/// `mbarrier.test_wait`
pub(crate) fn test<O: Observer>(
    wait: &PhaseWait,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    let over = look(wait, env, registers, at, mask, observer)?;
    registers.set_predicate(wait.target, mask, over);
    Ok(())
}

/// The number of arrivals and the number of bytes that the phase for which a lane waits still
/// needs, and the number of bytes in flight in copies to the mbarrier.
pub(crate) fn stuck(
    wait: &PhaseWait,
    env: &Env<'_>,
    registers: &Registers,
    lane: u32,
) -> Option<(u32, i32, i64)> {
    let cell =
        locate(&wait.mbarrier, env, registers, lane, Access::Atomic, u64::from(MBARRIER_BYTES))
            .ok()?;
    let mbarrier = load(env, cell).ok()?;
    Some((mbarrier.pending, mbarrier.bytes, transfer::in_flight(env, cell)))
}
