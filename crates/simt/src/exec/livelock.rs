//! Livelocks: threads run and can never make progress, for example because they poll a word that
//! nobody will write.
//!
//! While memory does not change, the next step of a warp follows from its own state alone: the
//! program counters of its lanes, their registers and their local memory. A warp that returns to an
//! earlier state therefore repeats its steps for ever. If all warps that have not ended return to
//! earlier states, and memory does not change from before the first of these states to after the
//! last, the launch never ends. If several launches run together, these are the warps of all of
//! them. Cycles are found by Brent's method ("An improved Monte Carlo factorization algorithm",
//! BIT 20, 1980): each state is compared with a saved one, and the saved state is replaced after a
//! number of turns that is a power of two.
//!
//! A warp that reads a clock never returns to an earlier state, and neither does a warp that counts
//! its rounds. Such a warp may be meant to end, so only the budget stops it.

use crate::exec::split::{Split, State};
use crate::exec::warp::Warp;
use crate::registers::{LANES, Registers};

/// The states of a block's warps are first saved after this many turns without an effect on others.
const CALM: u64 = 8;

/// The state of a warp at the end of a turn.
#[derive(Debug)]
struct Snapshot {
    splits: Vec<(u32, u32, State)>,
    clock: u64,
    registers: Registers,
    local: Vec<u8>,
}

impl Snapshot {
    fn new(warp: &Warp, local: &[u8]) -> Snapshot {
        Snapshot {
            splits: warp.splits.iter().map(|split| (split.pc, split.mask, split.state)).collect(),
            clock: warp.clock,
            registers: warp.registers.clone(),
            local: local.to_vec(),
        }
    }

    /// Returns whether the warp is in this state again, and all lanes that can run have run since.
    fn returned(&self, warp: &Warp, local: &[u8]) -> bool {
        let same = |(split, then): (&Split, &(u32, u32, State))| {
            (split.pc, split.mask, split.state) == *then
                && (split.state != State::Ready || split.ran_since(self.clock))
        };
        warp.splits.len() == self.splits.len()
            && warp.splits.iter().zip(&self.splits).all(same)
            && warp.registers == self.registers
            && local == self.local
    }
}

/// Watches a block that seems to wait.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// How many changes to memory had happened when the watch began.
    epoch: u64,
    turns: u64,
    /// The saved state of each warp; `None` for a warp that has returned to its saved state.
    then: Vec<Option<Snapshot>>,
}

impl Watch {
    /// Looks at a block after a turn in which it changed nothing. `epoch` is the number of changes
    /// to memory that anyone has made. Returns whether all warps of the block are known to repeat
    /// their steps for ever unless memory changes.
    pub(crate) fn look(&mut self, epoch: u64, warps: &[Warp], local: &[u8], stride: usize) -> bool {
        if self.epoch != epoch {
            *self = Watch { epoch, ..Watch::default() };
        }
        self.turns += 1;
        if self.turns < CALM {
            return false;
        }
        let own = |warp: &Warp| &local[warp.index as usize * LANES * stride..][..LANES * stride];
        if self.then.is_empty() {
            self.then = warps.iter().map(|warp| Some(Snapshot::new(warp, own(warp)))).collect();
            return false;
        }
        for (warp, then) in warps.iter().zip(&mut self.then) {
            if then.as_ref().is_some_and(|then| then.returned(warp, own(warp))) {
                *then = None;
            } else if self.turns.is_power_of_two()
                && let Some(then) = then
            {
                *then = Snapshot::new(warp, own(warp));
            }
        }
        self.then.iter().all(Option::is_none)
    }
}
