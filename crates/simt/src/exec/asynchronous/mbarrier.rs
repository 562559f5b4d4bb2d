//! mbarriers: barriers in shared memory that count arrivals and bytes (PTX ISA, "Asynchronous
//! Barrier").
//!
//! An mbarrier is opaque to programs. The simulator keeps it in its eight bytes of shared memory,
//! in a form of its own, so that a program that overwrites these bytes breaks the mbarrier, as on
//! hardware.

use crate::exec::copies::SharedCell;
use crate::exec::env::Env;
use crate::exec::observer::Observer;
use crate::fault::FaultKind;
use crate::ir::layout::{COUNT_BITS, MBARRIER_BYTES, PENDING_SHIFT};

const COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTES_SHIFT: u32 = 40;
const BYTES_BITS: u32 = 22;
pub(super) const PARITY: u64 = 1 << 62;
/// A bit that is set in every initialised mbarrier.
const VALID: u64 = 1 << 63;

/// The state of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// How many arrivals each phase needs.
    expected: u32,
    /// How many arrivals the current phase still waits for.
    pub(crate) pending: u32,
    /// How many bytes the current phase still waits for. The number is negative if copies ended
    /// before their bytes were announced.
    pub(crate) bytes: i32,
    /// The parity of the current phase.
    pub(super) parity: bool,
}

impl Mbarrier {
    const fn new(count: u32) -> Mbarrier {
        Mbarrier { expected: count, pending: count, bytes: 0, parity: false }
    }

    const fn encode(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        let parity = if self.parity { PARITY } else { 0 };
        self.expected as u64
            | (self.pending as u64) << PENDING_SHIFT
            | bytes << BYTES_SHIFT
            | parity
            | VALID
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

    /// Begins the next phase if the current one waits for nothing any more, and returns whether the
    /// next phase began.
    fn settle(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.parity = !self.parity;
            self.pending = self.expected;
        }
        complete
    }
}

/// The mbarrier at a place in shared memory.
pub(crate) fn load(env: &Env<'_>, cell: SharedCell) -> Result<Mbarrier, FaultKind> {
    let bytes = &env.shared_of(Some(cell.rank))[cell.offset as usize..][..MBARRIER_BYTES as usize];
    let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Mbarrier::decode(word).ok_or(FaultKind::NoMbarrier { address: cell.offset.into() })
}

fn store(env: &mut Env<'_>, cell: SharedCell, word: u64) {
    env.shared_of_mut(Some(cell.rank))[cell.offset as usize..][..MBARRIER_BYTES as usize]
        .copy_from_slice(&word.to_le_bytes());
    env.acted = true;
    // A thread that waits for this mbarrier may be able to continue now. If the phase now waits for
    // nothing but copies, the thread's next look ends these copies.
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

/// A change to the counts of an mbarrier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Change {
    /// How many arrivals are counted.
    pub(crate) arrivals: u32,
    /// Whether the arriving threads leave the mbarrier: later phases then need fewer arrivals.
    pub(crate) drop: bool,
    /// Whether it is an error if the phase ends by these arrivals.
    pub(crate) no_complete: bool,
    /// How many more bytes the phase waits for, and how many bytes have arrived now.
    pub(crate) expect: u32,
    pub(crate) complete: u32,
}

/// Changes an mbarrier, and returns the state that it had before.
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
        for (pending, bytes, parity) in
            [(1, 0, false), (0, 16, false), (0, 0, true), (1, 0, true), (0, 0, false)]
        {
            mbarrier.pending = pending;
            mbarrier.bytes = bytes;
            mbarrier.settle();
            assert_eq!(mbarrier.parity, parity);
        }
        assert_eq!(mbarrier.pending, 2);
    }
}
