//! The uses of undefined bits, and their reports.

use super::detector::Check;
use super::findings::write_first;
use super::report::{Found, MemoryAccess, Party, Rank, ReportKind, Severity, name};
use super::undefined::Undefined;
use crate::exec::env::Env;
use crate::exec::observer::At;
use crate::registers::LANES;

/// A use of undefined bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Branch,
    Guard,
    Address,
    Atomic,
    Barrier,
    Mask,
    Phase,
    Call,
    Print,
    Store(MemoryAccess),
}

impl Use {
    pub(super) fn text(self) -> String {
        let text = match self {
            Use::Branch => "takes a branch by a value",
            Use::Guard => "decides by a value whether it runs this instruction",
            Use::Address => "accesses memory at an address",
            Use::Atomic => "gives an atomic a value",
            Use::Barrier => "gives a barrier a value",
            Use::Mask => "gives a warp-level instruction a mask",
            Use::Phase => "waits for a phase by a value",
            Use::Call => "calls a function at an address",
            Use::Print => "prints a value",
            Use::Store(access) => return format!("{access} with a value"),
        };
        text.to_owned()
    }
}

impl Check {
    pub(super) fn used(
        &mut self,
        env: &Env<'_>,
        at: At,
        undefined: &Undefined,
        lanes: u32,
        what: Use,
    ) {
        self.used_as(env, at, undefined, lanes, what, (Severity::Error, 2));
    }

    /// Reports a use of undefined bits in `lanes`. All uses of what one instruction read are one
    /// finding.
    pub(super) fn used_as(
        &mut self,
        env: &Env<'_>,
        at: At,
        undefined: &Undefined,
        lanes: u32,
        what: Use,
        rank: Rank,
    ) {
        if lanes == 0 {
            return;
        }
        let lane = lanes.trailing_zeros();
        let from = undefined.from[lane as usize];
        let origin = self.origins.get(from).clone();
        let thread = at.warp * LANES as u32 + lane;
        let tell = || {
            let who = name(env, env.id(), thread);
            let (source, help) = match &origin.read {
                Some((space, _)) => ("bytes that nothing has written", write_first(*space)),
                None => (
                    "a lane that takes no part in a shuffle",
                    "what a shuffle gets from such a lane is undefined: bring the lane to the shuffle too",
                ),
            };
            let access = if let Use::Store(access) = what { Some(access) } else { None };
            let part = if rank.0 == Severity::Error { "that" } else { "of which a part" };
            let message = format!("{who} {} {part} comes from {source}", what.text());
            let here = Party::new(env, env.id(), thread, at.pc, access);
            let read = origin.read.as_ref().map(|(_, all)| all[usize::from(from.lane)]);
            let giver = origin.warp * LANES as u32 + u32::from(from.lane);
            let other = Party::new(env, origin.ticket, giver, origin.pc, read);
            (message, here, Some(other), help)
        };
        let kind = match origin.read {
            Some(_) => ReportKind::UninitializedRead,
            None => ReportKind::StrayShuffle,
        };
        let (pcs, times) = ([(origin.ticket.launch, origin.pc); 2], u64::from(lanes.count_ones()));
        self.reports.add(env, &Found { kind, rank, pcs, times, tell: &tell });
    }
}
