//! Lanes that leave a barrier out while other lanes of their warp wait there.
//!
//! A barrier of whole warps (`bar.sync`) is for all lanes of a warp. Lanes that exit instead are a
//! warning, because an early return and a barrier under a condition are the same PTX. Lanes that
//! run on are an error: they execute an instruction that lies behind the barrier and from which no
//! way leads back to it. Branches and exits do not count, because compilers merge them.

use std::collections::HashSet;
use std::sync::Arc;

use super::detector::Check;
use super::influence::{leading_to, reachable};
use super::report::{Found, Party, ReportKind, Severity, pcs_here};
use crate::exec::env::Env;
use crate::exec::observer::At;
use crate::fault::Lanes;
use crate::ir::{Op, Program};
use crate::registers::LANES;

/// Lanes that wait at a barrier for the rest of their warp.
#[derive(Debug)]
pub(super) struct Parted {
    pc: u32,
    waiting: u32,
    /// The lanes that have left the barrier out and run on.
    skipped: u32,
    /// The instructions behind the barrier.
    behind: Arc<HashSet<u32>>,
}

/// The instructions that lie behind the barrier at `pc`, and from which it cannot be reached. There
/// are none if functions are called through addresses, because their ways back are not known.
fn behind_of(program: &Program, pc: u32) -> HashSet<u32> {
    if !program.outlined.is_empty() {
        return HashSet::new();
    }
    let before = leading_to(program, pc);
    let mut after = reachable(program, pc, |_| true);
    after.retain(|at| {
        let leaves = matches!(
            program.code[*at as usize].op,
            Op::Bra { .. } | Op::BrxIdx { .. } | Op::Return { .. } | Op::Exit | Op::Nop
        );
        !leaves && *at != pc && !before.contains(at)
    });
    after
}

/// Whether each thread passes at most one of two barriers: no way leads from one of them to the
/// other.
fn apart(program: &Program, a: u32, b: u32) -> bool {
    let leads = |from, to| reachable(program, from, |_| true).contains(&to);
    program.outlined.is_empty() && !leads(a, b) && !leads(b, a)
}

fn verb(lanes: u32, forms: [&'static str; 2]) -> &'static str {
    forms[usize::from(!lanes.is_power_of_two())]
}

impl Check {
    /// Whether each thread passes at most one of two barriers of the block. Where the two meet, all
    /// threads are at the same barrier then, as PTX sees it.
    pub(super) fn are_alternatives(&mut self, program: &Program, a: u32, b: u32) -> bool {
        let known = self.code.alternatives.entry((a, b));
        *known.or_insert_with(|| apart(program, a, b))
    }

    /// Records that the lanes of `mask` wait at a barrier for the rest of their warp.
    pub(super) fn wait_at_barrier(&mut self, env: &Env<'_>, at: At, mask: u32) {
        self.parted |= 1 << at.warp;
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        match block.parted.get_mut(&at.warp) {
            Some(parted) if parted.pc == at.pc => parted.waiting = mask,
            _ => {
                let behind = self.code.behind.entry(at.pc);
                let behind =
                    Arc::clone(behind.or_insert_with(|| Arc::new(behind_of(env.program, at.pc))));
                let parted = Parted { pc: at.pc, waiting: mask, skipped: 0, behind };
                block.parted.insert(at.warp, parted);
            }
        }
    }

    /// Reports lanes that run on while other lanes of their warp wait for them at a barrier.
    pub(super) fn run_beside_barrier(&mut self, env: &Env<'_>, at: At, active: u32) {
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        let Some(parted) = block.parted.get_mut(&at.warp) else { return };
        let lanes = active & !parted.waiting & !parted.skipped;
        if lanes == 0 || !parted.behind.contains(&at.pc) {
            return;
        }
        parted.skipped |= lanes;
        let (pc, waiting) = (parted.pc, parted.waiting);
        let message = |who: &str| {
            format!(
                "{} of warp {who} {} on behind a barrier of whole warps, at which {} of the warp {}",
                Lanes(lanes),
                verb(lanes, ["runs", "run"]),
                Lanes(waiting),
                verb(waiting, ["waits", "wait"])
            )
        };
        let help = "let all threads of the block reach the barrier: put the condition around the work alone";
        self.beside_barrier(env, (at, lanes), (pc, waiting), Severity::Error, &message, help);
    }

    /// Reports lanes that exit while other lanes of their warp wait for them at a barrier.
    pub(super) fn exit_beside_barrier(&mut self, env: &Env<'_>, at: At, exits: u32) {
        let parted = self.block.as_ref().and_then(|block| block.parted.get(&at.warp));
        let Some(parted) = parted else { return };
        let exits = exits & !parted.skipped;
        if exits == 0 {
            return;
        }
        let (pc, waiting) = (parted.pc, parted.waiting);
        let message = |who: &str| {
            format!(
                "{} of warp {who} {} at a barrier of whole warps, and {} of the warp {} without it",
                Lanes(waiting),
                verb(waiting, ["waits", "wait"]),
                Lanes(exits),
                verb(exits, ["exits", "exit"])
            )
        };
        let help = "PTX leaves this undefined, although GPUs since sm_70 count threads that have exited: let all threads of a warp reach the barrier, and put the condition around the work alone";
        self.beside_barrier(env, (at, exits), (pc, waiting), Severity::Warning, &message, help);
    }

    /// Adds a report. An error is placed where lanes run on, and a warning at the barrier.
    fn beside_barrier(
        &mut self,
        env: &Env<'_>,
        (at, leaving): (At, u32),
        (pc, waiting): (u32, u32),
        severity: Severity,
        message: &dyn Fn(&str) -> String,
        help: &'static str,
    ) {
        let party = |pc, lanes: u32| {
            let thread = at.warp * LANES as u32 + lanes.trailing_zeros();
            Party::new(env, env.id(), thread, pc, None)
        };
        let tell = || {
            let block = env.job.config.grid.position(env.ticket);
            let message = message(&format!("{} of block {block}", at.warp));
            let (waits, leaves) = (party(pc, waiting), party(at.pc, leaving));
            match severity {
                Severity::Error => (message, leaves, Some(waits), help),
                _ => (message, waits, Some(leaves), help),
            }
        };
        let (kind, rank) = (ReportKind::DivergentBarrier, (severity, 0));
        self.reports.add(
            env,
            &Found { kind, rank, pcs: pcs_here(env, [pc, at.pc]), times: 1, tell: &tell },
        );
    }
}
