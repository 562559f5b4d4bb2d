//! Livelock: threads that run and can never get on, such as those that poll a word that nobody will write.
//!
//! While memory does not change, what a warp does next follows from its own state alone: the places of its lanes, their
//! registers and their local memory. So a warp that comes back to a state in which it has been goes round for ever, and if
//! all warps of a launch that have not ended do, with no change to memory from before the first state to after the last,
//! the launch never ends. Cycles are found as by Brent ("An improved Monte Carlo factorization algorithm", BIT 20, 1980):
//! states are compared with one that is replaced at each power of two.
//!
//! A warp that reads a clock never comes back, and is left to the budget. So is one that counts its rounds: it may mean to
//! end.

use crate::exec::split::{Split, State};
use crate::exec::warp::Warp;
use crate::registers::{LANES, Registers};

/// Turns without an effect on others before a block's state is looked at.
const CALM: u64 = 8;

/// A warp at the end of a turn.
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

    /// Whether the warp is in the same state again, and all its lanes that can run have.
    fn returned(&self, warp: &Warp, local: &[u8]) -> bool {
        let same = |(split, then): (&Split, &(u32, u32, State))| {
            (split.pc, split.mask, split.state) == *then && (split.state != State::Ready || split.ran_since(self.clock))
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
    /// The changes to memory that there had been when it began.
    epoch: u64,
    turns: u64,
    /// By warp; none for one that has come back.
    then: Vec<Option<Snapshot>>,
}

impl Watch {
    /// Looks at a block after a turn in which it changed nothing, `epoch` changes to memory having been made by anyone, and
    /// says whether its warps are known to go round for ever unless there is another.
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
