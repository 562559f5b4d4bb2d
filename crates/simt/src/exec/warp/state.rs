//! The state of a warp: its registers, its splits, and the choice of the split that runs next.

use crate::exec::split::{Split, State};
use crate::registers::Registers;

/// A split that can run, and has not run for this many warp instructions, gets its turn.
const SPLIT_QUANTUM: u64 = 1024;

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    /// The number of the warp in the block.
    pub(crate) index: u32,
    /// The lanes that have a thread.
    pub(crate) existing: u32,
    /// The lanes that have not exited.
    pub(crate) alive: u32,
    pub(crate) splits: Vec<Split>,
    pub(crate) registers: Registers,
    /// The lanes that have arrived at the cluster's barrier and have not waited there since, and
    /// the parity of the phase in which each arrived.
    pub(super) arrived: u32,
    pub(super) arrived_phase: u32,
    /// How many instructions the warp has executed.
    pub(crate) clock: u64,
    /// The number of a split that runs although another split has a lower program counter, and the
    /// value of the clock until which it may run.
    burst: Option<(u32, u64)>,
    /// Whether an atomic of the split that ran last changed nothing. The split may then wait for a
    /// lock that another split holds.
    pub(super) yields: bool,
    next_id: u32,
}

impl Warp {
    pub(crate) fn new(index: u32, existing: u32, registers: Registers) -> Warp {
        Warp {
            index,
            existing,
            alive: 0,
            splits: Vec::new(),
            registers,
            arrived: 0,
            arrived_phase: 0,
            clock: 0,
            burst: None,
            yields: false,
            next_id: 0,
        }
    }

    /// Puts all lanes at `entry`, the first instruction of the kernel.
    pub(crate) fn start(&mut self, entry: u32) {
        self.alive = self.existing;
        self.arrived = 0;
        self.clock = 0;
        self.burst = None;
        self.yields = false;
        self.next_id = 0;
        self.splits.clear();
        self.push(entry, self.existing, State::Ready);
    }

    pub(super) fn push(&mut self, pc: u32, mask: u32, state: State) {
        self.splits.push(Split { pc, mask, state, ran: self.clock, id: self.next_id });
        self.next_id += 1;
    }

    /// Joins splits that have met. Returns the split to run next, and the value of the clock until
    /// which it may run.
    pub(super) fn pick(&mut self) -> Option<(usize, u64)> {
        let yields = std::mem::take(&mut self.yields);
        if let [only] = &self.splits[..] {
            return (only.state == State::Ready).then_some((0, u64::MAX));
        }
        self.merge();
        let mut ready =
            self.splits.iter().enumerate().filter(|(_, split)| split.state == State::Ready);
        let (mut lowest, mut oldest) = ready.next().map(|first| (first, first))?;
        let mut others = false;
        for candidate in ready {
            others = true;
            lowest = if candidate.1.pc < lowest.1.pc { candidate } else { lowest };
            oldest = if candidate.1.ran < oldest.1.ran { candidate } else { oldest };
        }
        if !others {
            return Some((lowest.0, u64::MAX));
        }
        if let Some((id, until)) = self.burst.filter(|(_, until)| self.clock < *until && !yields)
            && let Some(index) =
                self.splits.iter().position(|s| s.id == id && s.state == State::Ready)
        {
            return Some((index, until));
        }
        self.burst = None;
        if yields || self.clock - oldest.1.ran >= SPLIT_QUANTUM {
            let until = self.clock + SPLIT_QUANTUM;
            self.burst = Some((oldest.1.id, until));
            return Some((oldest.0, until));
        }
        Some((lowest.0, oldest.1.ran + SPLIT_QUANTUM))
    }

    pub(super) fn merge(&mut self) {
        let mut i = 0;
        while i < self.splits.len() {
            let mut j = i + 1;
            while j < self.splits.len() {
                let (a, b) = (self.splits[i], self.splits[j]);
                let waits = |s: Split| matches!(s.state, State::Barrier(_));
                if a.pc == b.pc && !waits(a) && !waits(b) {
                    let burst = self.burst.is_some_and(|(id, _)| id == b.id);
                    let id = if burst { b.id } else { a.id };
                    let (mask, ran) = (a.mask | b.mask, a.ran.max(b.ran));
                    self.splits[i] = Split { pc: a.pc, mask, state: State::Ready, ran, id };
                    self.splits.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Removes the lanes of `mask`, which have exited. Splits that waited for them can run again.
    pub(super) fn exit(&mut self, mask: u32) {
        self.alive &= !mask;
        for split in &mut self.splits {
            if split.state == State::Converge {
                split.state = State::Ready;
            }
        }
    }

    /// Makes the splits that wait for an event ready to run.
    #[inline]
    pub(crate) fn wake(&mut self) {
        for split in self.splits.iter_mut().filter(|split| split.state == State::Event) {
            split.state = State::Ready;
        }
    }

    /// Releases the splits that wait at barrier `id`; `release` is called for each split before it
    /// continues.
    #[inline]
    pub(crate) fn release(&mut self, id: u32, mut release: impl FnMut(&mut Registers, &Split)) {
        for split in &mut self.splits {
            if split.state == State::Barrier(id) {
                release(&mut self.registers, split);
                *split = Split { pc: split.pc + 1, state: State::Ready, ran: self.clock, ..*split };
            }
        }
    }
}
