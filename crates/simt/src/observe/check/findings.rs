//! The reports: the words in which the detector describes each finding.

use super::detector::Check;
use super::report::{
    Found, MemoryAccess, Party, Rank, ReportKind, Severity, conflict_message, name, pcs_here,
};
use super::shadow::{Conflict, Relation};
use super::sites::{Site, UNWATCHED};
use crate::exec::access::Request;
use crate::exec::env::Env;
use crate::exec::observer::At;
use crate::fault::Access;
use crate::ir::Space;
use crate::registers::LANES;

/// The lanes that read bytes which nothing has written, and how many such bytes the first of these
/// lanes reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unwritten {
    pub(super) lanes: u32,
    pub(super) missing: u32,
    /// For each lane, the bytes that nothing has written, of those that it reads.
    pub(super) bytes: [u32; LANES],
}

/// The access of one lane of a request.
pub(super) fn access_of(env: &Env<'_>, request: &Request, lane: usize) -> MemoryAccess {
    let (access, space) = (request.access, request.space.into());
    let owner = request.peer.map(|rank| env.job.config.grid.position(env.ticket_of(rank)));
    MemoryAccess { access, space, address: request.addresses[lane], bytes: request.total, owner }
}

/// The advice for an access to bytes that a copy still uses.
pub(super) const WAIT: &str = "wait for the copy first: for the phase of its mbarrier (mbarrier.try_wait), or for its group (wait_group), with a barrier of the block before other threads use it";

/// The advice for a read of bytes of this space that nothing has written.
pub(super) const fn write_first(space: Space) -> &'static str {
    match space {
        Space::Shared | Space::Cluster => {
            "shared memory begins undefined in each block: write it before, with a barrier between"
        }
        Space::Local => "local variables begin undefined: give this one a value first",
        _ => "fill the buffer first, or keep the index inside what was filled",
    }
}

impl Check {
    pub(super) fn race(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        info: Site,
        unchanged: u32,
        conflict: &Conflict,
    ) {
        let Conflict { thread, word, earlier, ticket, relation, .. } = *conflict;
        let there = self.history.sites[earlier.site as usize];
        let lane = thread as usize % LANES;
        let here_access = access_of(env, request, lane);
        let bytes = u64::from(there.bytes);
        // The earlier access is aligned, so its address follows from the word's address. No access
        // has more than 32 bytes.
        let word = (here_access.address & !31) + word as u64 * 4 % 32;
        let address = if bytes < 4 { word + u64::from(earlier.byte) } else { word & !(bytes - 1) };
        let shared = request.space == Space::Shared;
        let home = env.id_of(env.rank_of(request.peer));
        let owner = (shared && home != ticket).then(|| env.job.config.grid.position(home.ticket));
        let other_access =
            MemoryAccess { access: there.access, address, bytes, owner, ..here_access };
        let atomic = info.access == Access::Atomic || there.access == Access::Atomic;
        let unwaited = there.copies && there.writes() && !info.copies;
        let uneven = info.is_strong() && there.is_strong() && !info.is_as_wide_as(there);
        let same = unchanged >> lane & 1 == 1 && there.access == Access::Write;
        let compared = self.is_compared(env, (at.pc, info), there);
        let gathered = matches!(relation, Relation::SameWarp)
            && !unwaited
            && self.is_gathered(env, (at.pc, info), there);
        let harmless = same || compared || gathered;
        let severity = if harmless { Severity::Warning } else { Severity::Error };
        let kind = match relation {
            _ if unwaited => ReportKind::InFlight,
            Relation::SameWarp if !atomic => ReportKind::WarpSynchronous,
            _ => ReportKind::Race,
        };
        let why = match relation {
            _ if unwaited => " in an asynchronous copy, which it has not waited for",
            _ if same => ", and nothing orders the two, but both write the same value",
            _ if compared => {
                ", and nothing orders the two, but a compare-and-swap decides whether the value is still right"
            }
            _ if gathered => {
                ", and nothing orders the two lanes of this warp, but a shuffle or a vote has taken the value before"
            }
            _ if uneven => ", of which the two cover different bytes, as no strong accesses may",
            Relation::OtherBlock if info.is_strong() && there.is_strong() => {
                ", but the scope of one does not hold the other's block"
            }
            Relation::OtherDevice if info.is_strong() && there.is_strong() => {
                ", but the scope of one does not hold the other's device"
            }
            Relation::OtherDevice => ", and nothing orders the two devices",
            Relation::OtherBlock if shared => {
                ", and no barrier of the cluster orders the two blocks"
            }
            Relation::OtherBlock => ", and nothing orders the two blocks",
            Relation::SameBlock => " without a barrier between",
            Relation::SameWarp => ", and nothing orders the two lanes of this warp",
        };
        let help = match relation {
            _ if unwaited => WAIT,
            _ if same => {
                "no result depends on it as long as the values are equal: let one thread write, or use an atomic, if that is not certain"
            }
            _ if compared => {
                "no result depends on it if the value serves the compare-and-swap alone: read it by ld.relaxed or an atomic to be certain of that"
            }
            _ if gathered => {
                "no result depends on it, because no lane passes the shuffle before the value is there: put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two, because shuffles and votes order no accesses"
            }
            _ if uneven => {
                "access the bytes in one size everywhere: what belongs together in one word of 64 bits"
            }
            Relation::OtherBlock if shared && !atomic => {
                "put a barrier of the cluster between the two: barrier.cluster.arrive and barrier.cluster.wait (`cluster.sync()`)"
            }
            Relation::OtherBlock if info.is_strong() && there.is_strong() => {
                "give both accesses a scope that holds both blocks: .gpu"
            }
            Relation::OtherDevice if info.is_strong() && there.is_strong() => {
                "give both accesses a scope that holds both devices: .sys"
            }
            Relation::OtherDevice if atomic => {
                "make both accesses atomic with the scope .sys, or let a fence.sys, an atomic flag of that scope and another fence.sys order the two"
            }
            Relation::OtherDevice => {
                "devices run in any order: let each write to words of its own, or put a flag of the scope .sys and fences of that scope (`__threadfence_system`) between the two"
            }
            Relation::OtherBlock if atomic => {
                "make both accesses atomic, or let a fence, an atomic flag and another fence order the two"
            }
            Relation::OtherBlock => {
                "blocks run in any order: let each write to words of its own, use atomics, or publish with a fence (`device_fence`, `__threadfence`) and an atomic"
            }
            Relation::SameBlock if atomic => {
                "make both accesses atomic, or put a barrier between the two: bar.sync (`sync_threads`, `__syncthreads`)"
            }
            Relation::SameBlock => {
                "put a barrier of the block between the two: bar.sync (`sync_threads`, `__syncthreads`)"
            }
            Relation::SameWarp if atomic => {
                "make both accesses atomic, or put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two"
            }
            Relation::SameWarp => {
                "lanes of a warp do not run in lock step: put bar.warp.sync (`sync_warp`, `__syncwarp`) between the two"
            }
        };
        let tell = || {
            let message = conflict_message(
                env,
                (thread, &here_access),
                (ticket, earlier.thread, &other_access),
                why,
            );
            let here = Party::new(env, env.id(), thread, at.pc, Some(here_access));
            let other = Party::new(env, ticket, earlier.thread, there.pc, Some(other_access));
            (message, here, Some(other), help)
        };
        let (rank, pcs) = ((severity, 0), [(env.id().launch, at.pc), (ticket.launch, there.pc)]);
        self.reports.add(env, &Found { kind, rank, pcs, times: 1, tell: &tell });
    }

    pub(super) fn uninitialized(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        rank: Rank,
        unwritten: Unwritten,
    ) {
        let lane = unwritten.lanes.trailing_zeros();
        let thread = at.warp * LANES as u32 + lane;
        let access = access_of(env, request, lane as usize);
        let tell = || {
            let missing = match unwritten.missing {
                n if u64::from(n) == access.bytes => "that nothing has written".to_owned(),
                1 => "of which nothing has written 1".to_owned(),
                n => format!("of which nothing has written {n}"),
            };
            let message = format!("{} {access} {missing}", name(env, env.id(), thread));
            let help = write_first(request.space);
            (message, Party::new(env, env.id(), thread, at.pc, Some(access)), None, help)
        };
        let (kind, times) =
            (ReportKind::UninitializedRead, u64::from(unwritten.lanes.count_ones()));
        self.reports
            .add(env, &Found { kind, rank, pcs: pcs_here(env, [at.pc; 2]), times, tell: &tell });
    }

    /// Reports lanes of one store that write different values to one address. Returns the lanes
    /// whose values are overwritten.
    pub(super) fn collisions(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        same: impl Fn(usize, usize) -> bool,
    ) -> u32 {
        if request.mask == u32::MAX && request.addresses.is_sorted_by(|a, b| a < b) {
            return 0;
        }
        let mut by_address = [(0, 0); LANES];
        let mut count = 0;
        for lane in request.lanes() {
            by_address[count] = (request.addresses[lane], lane);
            count += 1;
        }
        let by_address = &mut by_address[..count];
        by_address.sort_unstable();
        let mut overwritten = 0;
        for pair in by_address.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let (first, second) = (pair[0].1, pair[1].1);
            overwritten |= 1 << first;
            let site = self.code.site_of[at.pc as usize];
            let watched = matches!(request.space, Space::Global | Space::Generic | Space::Shared)
                && site != UNWATCHED;
            if !watched || self.history.sites[site as usize].is_strong() || same(first, second) {
                continue;
            }
            let [a, b] = [first, second].map(|lane| at.warp * LANES as u32 + lane as u32);
            let access = access_of(env, request, first);
            let tell = || {
                let position = env.job.config.block.position(u64::from(b));
                let message = format!(
                    "{} {access}, and thread {position} writes another value there in the same instruction",
                    name(env, env.id(), a)
                );
                let party = |thread| Party::new(env, env.id(), thread, at.pc, Some(access));
                (
                    message,
                    party(a),
                    Some(party(b)),
                    "which value stays is undefined: let one lane write, or use an atomic",
                )
            };
            self.reports.add(
                env,
                &Found {
                    kind: ReportKind::Race,
                    rank: (Severity::Error, 0),
                    pcs: pcs_here(env, [at.pc; 2]),
                    times: 1,
                    tell: &tell,
                },
            );
        }
        overwritten
    }
}
