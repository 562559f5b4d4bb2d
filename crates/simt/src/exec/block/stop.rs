//! The faults of a block: which thread caused a fault, and where every warp stands when a launch
//! stops.

use super::Block;
use crate::exec::asynchronous::phase;
use crate::exec::raised::Raised;
use crate::exec::split::{Split, State};
use crate::exec::warp::Warp;
use crate::fault::{Fault, FaultKind, Waiting};
use crate::ir::Op;
use crate::registers::LANES;

impl Block<'_> {
    pub(super) fn fault(&self, warp: usize, Raised { pc, lane, kind }: Raised) -> Box<Fault> {
        self.fault_of(self.env.rank, (warp * LANES) as u32 + lane, pc, kind)
    }

    /// A fault caused by a thread of the block of rank `rank`.
    pub(super) fn fault_of(&self, rank: u32, thread: u32, pc: u32, kind: FaultKind) -> Box<Fault> {
        let kernel = self.env.job.kernel;
        let place = self.env.program.places[pc as usize];
        Box::new(Fault {
            kernel: kernel.name().to_owned(),
            module: kernel.module_name().to_owned(),
            block: self.env.job.config.grid.position(self.env.ticket_of(rank)),
            thread: self.env.job.config.block.position(thread.into()),
            line: place.line,
            instruction: kernel.text(place),
            frames: kernel.frames(place),
            kind,
        })
    }

    /// All splits in the order of the warps.
    fn splits(&self) -> Vec<(&Warp, &Split)> {
        let mut splits: Vec<_> = self
            .warps
            .iter()
            .flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)))
            .collect();
        splits.sort_by_key(|(warp, split)| (warp.index, split.mask.trailing_zeros()));
        splits
    }

    fn standing(&self, splits: &[(&Warp, &Split)]) -> Vec<Waiting> {
        let kernel = self.env.job.kernel;
        let standing = splits.iter().map(|(warp, split)| {
            let place = self.env.program.places[split.pc as usize];
            Waiting {
                warp: warp.index,
                lanes: split.mask,
                line: place.line,
                instruction: kernel.text(place),
            }
        });
        standing.collect()
    }

    /// The fault of a block that is stopped from outside. `kind` receives the places where the
    /// warps stand.
    pub(crate) fn stopped(&self, kind: impl FnOnce(Vec<Waiting>) -> FaultKind) -> Box<Fault> {
        let splits = self.splits();
        let kind = kind(self.standing(&splits));
        let (warp, split) = splits[0];
        self.fault(
            warp.index as usize,
            Raised { pc: split.pc, lane: split.mask.trailing_zeros(), kind },
        )
    }

    /// The fault of a block in which no thread can run any more. It lists where each thread waits.
    pub(crate) fn deadlock(&self) -> Box<Fault> {
        let splits = self.splits();
        let waiting = self.standing(&splits);
        let exited = self.threads - self.env.live;
        // The fault names the first thread at a barrier of the block. If no thread is at a barrier,
        // it names the first thread that waits.
        let barrier = splits.iter().find_map(|(warp, split)| {
            match (&self.env.program.code[split.pc as usize].op, split.state) {
                (_, State::Barrier(id)) => Some((warp, split, id)),
                (Op::Barrier(barrier), _) => {
                    let lane = split.mask.trailing_zeros() as usize;
                    Some((warp, split, warp.registers.words[barrier.id as usize][lane]))
                }
                _ => None,
            }
        });
        let mbarrier = splits.iter().find_map(|(warp, split)| {
            let Op::TryWait(wait) = &self.env.program.code[split.pc as usize].op else {
                return None;
            };
            let stuck =
                phase::stuck(wait, &self.env, &warp.registers, split.mask.trailing_zeros())?;
            (split.state == State::Event).then_some((warp, split, stuck))
        });
        let (warp, split, kind) = match (barrier, mbarrier) {
            (_, Some((warp, split, (arrivals, bytes, in_flight)))) => {
                (warp, split, FaultKind::Mbarrier { arrivals, bytes, in_flight, waiting, exited })
            }
            (Some((warp, split, id)), _) => {
                (warp, split, FaultKind::Barrier { id, waiting, exited })
            }
            (None, None) => (&splits[0].0, &splits[0].1, FaultKind::Deadlock { waiting, exited }),
        };
        self.fault(
            warp.index as usize,
            Raised { pc: split.pc, lane: split.mask.trailing_zeros(), kind },
        )
    }
}
