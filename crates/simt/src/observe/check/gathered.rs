//! Loads whose value a shuffle or a vote of the warp takes before another lane writes the word.
//!
//! Shuffles and votes order no accesses. But the lane that has loaded cannot pass the value on
//! before it has it, and no member of the shuffle continues without that lane. So a store behind
//! the shuffle comes too late to change what was loaded. Prefix sums of a warp that write to the
//! place from which they have read rely on this.

use super::detector::Check;
use super::influence::{Influences, flow, reachable};
use super::sites::Site;
use crate::exec::env::Env;
use crate::exec::observer::{At, Meeting, MeetingKind};
use crate::fault::Access;
use crate::ir::{Guard, Op, Program};
use crate::registers::LANES;

/// The shuffles and votes that take the value of the load at `load`, and without which no way leads
/// to the store at `store`, neither from the load nor from the kernel's start.
///
/// There are none if the load may come again after the store, or if functions are called through
/// addresses, because their ways back are not known.
fn between(program: &Program, load: u32, store: u32) -> Vec<u32> {
    let loads = matches!(program.code[load as usize].op, Op::Load(_));
    if !loads || !program.outlined.is_empty() || reachable(program, store, |_| true).contains(&load)
    {
        return Vec::new();
    }
    let held = Influences::new(program).held(load);
    let takes = |pc: u32| {
        let inst = &program.code[pc as usize];
        matches!(inst.op, Op::Collective { .. })
            && inst.guard.register == Guard::ALWAYS.register
            && flow(program, pc as usize).0.iter().any(|source| held.contains(source))
            && [load, program.entry]
                .iter()
                .all(|from| !reachable(program, *from, |at| at != pc).contains(&store))
    };
    (0..program.code.len() as u32).filter(|pc| takes(*pc)).collect()
}

impl Check {
    /// Notes a shuffle or a vote whose mask leaves lanes out, or that lanes at other instructions
    /// have executed too: the lanes may then pass different numbers of shuffles, so that a lane may
    /// store while another has yet to load.
    pub(super) fn note_members(&mut self, at: At, meeting: &Meeting<'_>) {
        let left_out =
            |lane: usize| meeting.lanes >> lane & 1 == 1 && meeting.members[lane] != u32::MAX;
        let apart = matches!(meeting.kind, MeetingKind::Collective { apart: true, .. });
        if apart || (0..LANES).any(left_out) {
            self.code.partial.insert(at.pc);
        }
    }

    /// Whether the earlier access is a load whose value the whole warp has taken before the later
    /// access, which is a store.
    pub(super) fn is_gathered(
        &mut self,
        env: &Env<'_>,
        (pc, here): (u32, Site),
        there: Site,
    ) -> bool {
        if here.access != Access::Write || there.access != Access::Read {
            return false;
        }
        let code = &mut self.code;
        let takers = code
            .gathers
            .entry((there.pc, pc))
            .or_insert_with(|| between(env.program, there.pc, pc));
        takers.iter().any(|taker| !code.partial.contains(taker))
    }
}
