//! mbarriers: barriers in shared memory that count arrivals and bytes (PTX ISA, "Asynchronous Barrier").
//!
//! An mbarrier is opaque to programs, and is kept in its eight bytes of shared memory in a form of our own, so that what
//! overwrites it breaks it here as well. [`wait`] never gives up: hardware's `try_wait` may, after a time that no
//! program can rely on.

use crate::block::Env;
use crate::bulk::{self, SharedCell, locate};
use crate::fault::{Access, FaultKind};
use crate::ir::{PhaseWait, Slot};
use crate::observe::{At, Observer};
use crate::registers::{LANES, Registers};
use crate::warp::LaneFault;

/// Bits of a count of arrivals, and where that of the pending ones begins, which a state tells too.
pub(crate) const COUNT_BITS: u32 = 20;
pub(crate) const PENDING_SHIFT: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTES_SHIFT: u32 = 40;
const BYTES_BITS: u32 = 22;
const PARITY: u64 = 1 << 62;
/// Set in what is an mbarrier.
const VALID: u64 = 1 << 63;
/// Bytes of an mbarrier.
pub(crate) const SIZE: u32 = 8;

/// What an mbarrier holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals of a phase.
    expected: u32,
    /// Arrivals that the present phase still waits for.
    pub(crate) pending: u32,
    /// Bytes that it still waits for; below zero if copies ended before they were announced.
    pub(crate) bytes: i32,
    /// The parity of the present phase.
    parity: bool,
}

impl Mbarrier {
    const fn new(count: u32) -> Mbarrier {
        Mbarrier { expected: count, pending: count, bytes: 0, parity: false }
    }

    const fn encode(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        let parity = if self.parity { PARITY } else { 0 };
        self.expected as u64 | (self.pending as u64) << PENDING_SHIFT | bytes << BYTES_SHIFT | parity | VALID
    }

    fn decode(word: u64) -> Option<Mbarrier> {
        let bytes = (word >> BYTES_SHIFT) as u32 & ((1 << BYTES_BITS) - 1);
        (word & VALID != 0).then_some(Mbarrier {
            expected: (word & COUNT) as u32,
            pending: (word >> PENDING_SHIFT & COUNT) as u32,
            bytes: (bytes << (32 - BYTES_BITS)) as i32 >> (32 - BYTES_BITS),
            parity: word & PARITY != 0,
        })
    }

    /// Begins the next phase if nothing is left to wait for, and says whether it did.
    fn settle(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
        complete
    }
}

/// The mbarrier of a cell.
pub(crate) fn load(env: &Env<'_>, cell: SharedCell) -> Result<Mbarrier, FaultKind> {
    let bytes = &env.shared_of(Some(cell.rank))[cell.offset as usize..][..SIZE as usize];
    let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Mbarrier::decode(word).ok_or(FaultKind::NoMbarrier { address: cell.offset.into() })
}

fn store(env: &mut Env<'_>, cell: SharedCell, word: u64) {
    env.shared_of_mut(Some(cell.rank))[cell.offset as usize..][..SIZE as usize].copy_from_slice(&word.to_le_bytes());
    env.acted = true;
    // Whoever waits may go on, or may find copies that only it has waited for.
    env.cluster.events += 1;
}

fn refused(what: &'static str, value: u32, allowed: &'static str) -> FaultKind {
    FaultKind::BarrierOperand { what, value, allowed }
}

/// `mbarrier.init`
pub(crate) fn init(env: &mut Env<'_>, cell: SharedCell, count: u32) -> Result<(), FaultKind> {
    if !(1..=COUNT).contains(&u64::from(count)) {
        return Err(refused("mbarrier arrival count", count, "it must be 1 to 1048575"));
    }
    store(env, cell, Mbarrier::new(count).encode());
    Ok(())
}

/// `mbarrier.inval`
pub(crate) fn invalidate(env: &mut Env<'_>, cell: SharedCell) -> Result<(), FaultKind> {
    load(env, cell)?;
    store(env, cell, 0);
    Ok(())
}

/// What changes the counts of an mbarrier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    /// Arrivals.
    pub(crate) arrivals: u32,
    /// They are the last of their threads: later phases wait for fewer.
    pub(crate) drop: bool,
    /// The phase may not end by them.
    pub(crate) no_complete: bool,
    /// Bytes to wait for besides, and bytes that have come.
    pub(crate) expect: u32,
    pub(crate) complete: u32,
}

/// Changes an mbarrier, and returns its state before.
pub(crate) fn change<O: Observer>(
    env: &mut Env<'_>,
    observer: &mut O,
    cell: SharedCell,
    change: Change,
) -> Result<u64, FaultKind> {
    let mut mbarrier = load(env, cell)?;
    let state = mbarrier.encode();
    let Change { arrivals, drop, no_complete, expect, complete } = change;
    let bytes = i64::from(mbarrier.bytes) + i64::from(expect) - i64::from(complete);
    if bytes.unsigned_abs() > COUNT {
        let value = if expect > 0 { expect } else { complete };
        return Err(refused("mbarrier byte count", value, "a phase can wait for 1048575 bytes"));
    }
    mbarrier.bytes = bytes as i32;
    let left = mbarrier.pending.checked_sub(arrivals).filter(|left| !no_complete || *left > 0);
    let Some(left) = left else {
        let allowed = if no_complete {
            "it must be less than the arrivals that the phase waits for"
        } else {
            "the phase waits for fewer"
        };
        return Err(refused("mbarrier arrival count", arrivals, allowed));
    };
    mbarrier.pending = left;
    if drop {
        mbarrier.expected -= arrivals;
    }
    let complete = mbarrier.settle();
    store(env, cell, mbarrier.encode());
    if complete {
        observer.mbarrier_phase(env, cell);
    }
    Ok(state)
}

/// Whether the phase that a lane names is complete. Copies that are all the phase still waits for end now, which is as
/// late as they can.
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
    if mbarrier.pending == 0 && bulk::in_flight(env, cell) == i64::from(mbarrier.bytes) {
        bulk::deliver(env, observer, cell)?;
    }
    Ok(load(env, cell)?.parity != parity)
}

/// Looks at the phases that lanes wait for, and gives the lanes whose phase is complete.
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
        let cell = locate(&wait.mbarrier, env, registers, lane, Access::Atomic, u64::from(SIZE)).map_err(fault)?;
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

/// `mbarrier.try_wait`: the lanes of `mask` that go on.
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

/// Why the phase that a lane waits for does not end: what it still waits for.
pub(crate) fn stuck(wait: &PhaseWait, env: &Env<'_>, registers: &Registers, lane: u32) -> Option<(u32, i32, i64)> {
    let cell = locate(&wait.mbarrier, env, registers, lane, Access::Atomic, u64::from(SIZE)).ok()?;
    let mbarrier = load(env, cell).ok()?;
    Some((mbarrier.pending, mbarrier.bytes, bulk::in_flight(env, cell)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_an_mbarrier() {
        for bytes in [0, 1, -1, 1 << 19, COUNT as i32, -(COUNT as i32)] {
            for parity in [false, true] {
                let mbarrier = Mbarrier { expected: COUNT as u32, pending: 5, bytes, parity };
                assert_eq!(Mbarrier::decode(mbarrier.encode()), Some(mbarrier));
            }
        }
        assert_eq!(Mbarrier::decode(0), None);
    }

    #[test]
    fn a_phase_ends_with_the_last_arrival_and_the_last_byte() {
        let mut mbarrier = Mbarrier::new(2);
        for (pending, bytes, parity) in [(1, 0, false), (0, 16, false), (0, 0, true), (1, 0, true), (0, 0, false)] {
            mbarrier.pending = pending;
            mbarrier.bytes = bytes;
            mbarrier.settle();
            assert_eq!(mbarrier.parity, parity);
        }
        assert_eq!(mbarrier.pending, 2);
    }
}
