//! Values that strong accesses hand over without a fence.
//!
//! Strong accesses never race, but without fences they order nothing between different words. A
//! thread that reads a flag may therefore still find an old value in the word that was written
//! before the flag. A finding needs four things:
//! - A strong load reads a word of global memory that a strong store of another warp has written.
//!   The loaded value decides over no instruction. (A thread that compares the value itself needs
//!   no flag.)
//! - No order that the detector knows puts the store before the load.
//! - After the store, a thread of the block that stored made a strong write to another word, the
//!   flag. Program order or barriers put the store before this write.
//! - Before the load, a thread of the block that loads took the value of the flag from that write,
//!   or from a later atomic on the flag. The value of the flag decides over an instruction. Program
//!   order or barriers put this read before the load.
//!
//! There is one exception: if a fence puts the store before the write of the flag, a barrier of the
//! block or of the warp after the read of the flag takes the place of the second fence. The PTX ISA
//! does not say so, but barriers of the grid are often written that way.
//!
//! The finding is an error in two cases: if a load waits for the flag in a loop that has no other
//! effect on memory; or if an atomic that is in no loop reads the flag, the storing thread is in
//! another block, and it has no fence before the flag. In all other cases it is a warning, because
//! the program may be correct with an old value. An atomic in a loop, for example, may be a counter
//! of work.
//!
//! These handovers are missed: values in shared memory; values that an atomic writes or reads;
//! values that the reader compares; flags in shared memory; flags that are handed on from block to
//! block; and flags whose value is passed on by a shuffle without a barrier of the warp. Only the
//! first 2^17 strong writes of a launch count as writes of flags.

use std::collections::HashMap;
use std::sync::Arc;

use super::detector::Check;
use super::findings::access_of;
use super::influence::{Influence, Influences, repeats};
use super::known::{Known, Reach, learn, merge};
use super::order::BlockOrder;
use super::publish::{Logs, Release};
use super::report::{Found, MemoryAccess, Party, ReportKind, Severity, conflict_message};
use super::shadow::{Cell, Conflict, History, Present, Relation};
use super::shadows::word_key;
use super::sites::Site;
use super::threads::{lanes, warp_of};
use crate::exec::access::Request;
use crate::exec::env::Env;
use crate::exec::launch::Together;
use crate::exec::observer::At;
use crate::fault::Access;
use crate::ir::Space;
use crate::registers::LANES;

/// At most this many writes to flags are remembered in a launch.
const MAX_WRITES: usize = 1 << 17;

/// What a site may be in a handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    None,
    /// A strong load whose value decides nothing.
    Payload,
    /// A strong read whose value decides, and whether a load waits for it, or whether it is an
    /// atomic that is in no loop.
    Flag {
        waits: bool,
        once: bool,
    },
}

/// The strong writes of a launch and who has read them, as if each were a flag.
#[derive(Debug)]
pub(super) struct Handover {
    roles: Vec<Role>,
    /// The log of the writes that strong reads of global memory see, by the name of the word.
    heads: HashMap<u64, u32>,
    /// In each release, the row for the block is what the thread knew at the write, and the others
    /// are what it had fenced.
    logs: Logs,
    writes: usize,
    /// By log: the address, and the site that reads the flag there and says most.
    flags: Vec<(u64, Option<u32>)>,
}

/// The writes to flags that the threads of a block have seen. In these records, a reach beyond the
/// block says that a barrier of the block or of the warp came after the read of the flag.
#[derive(Debug, Default)]
pub(super) struct Heard {
    all: Arc<Vec<Known>>,
    own: HashMap<u32, Arc<Vec<Known>>>,
}

impl Heard {
    /// Lets the lanes of each warp in `threads`, who have met at a barrier, know what all of them
    /// have seen. If `whole` is true, these are all threads of the block.
    pub(super) fn share(&mut self, threads: &[(u32, u32)], whole: bool) {
        if self.own.is_empty() {
            return;
        }
        let met = |list: &mut Arc<Vec<Known>>, seen: &[Known]| {
            for known in seen {
                learn(list, Known { reach: Reach::System, ..*known });
            }
        };
        if whole {
            for seen in std::mem::take(&mut self.own).values() {
                met(&mut self.all, seen);
            }
            return;
        }
        let threads = threads
            .iter()
            .flat_map(|&(warp, mask)| lanes(mask).map(move |lane| warp * LANES as u32 + lane));
        let mut together = Arc::default();
        let seen = threads.clone().filter_map(|thread| self.own.get(&thread));
        seen.for_each(|seen| met(&mut together, seen));
        if !together.is_empty() {
            threads.for_each(|thread| merge(self.own.entry(thread).or_default(), &together));
        }
    }

    fn lists(&self, thread: u32) -> impl Iterator<Item = &Known> {
        self.all.iter().chain(self.own.get(&thread).into_iter().flat_map(|list| list.iter()))
    }
}

impl Handover {
    /// `None` if no handover is possible in the kernels, whose sites are `sites`.
    pub(super) fn new(launches: &[Together<'_>], sites: &[Site]) -> Option<Box<Handover>> {
        if !sites.iter().any(|site| site.is_strong() && site.access == Access::Read) {
            return None;
        }
        let influences: Vec<Influences> =
            launches.iter().map(|of| Influences::new(of.kernel.program())).collect();
        let role = |site: &Site| {
            let program = launches[site.launch as usize].kernel.program();
            if !site.is_strong() || site.copies || site.access == Access::Write {
                return Role::None;
            }
            match (influences[site.launch as usize].of(site.pc), site.access) {
                (Influence::None, Access::Read) => Role::Payload,
                (Influence::None, _) => Role::None,
                (found, Access::Read) => {
                    Role::Flag { waits: found == Influence::Waits, once: false }
                }
                _ => Role::Flag { waits: false, once: !repeats(program, site.pc) },
            }
        };
        let roles: Vec<Role> = sites.iter().map(role).collect();
        let flags = roles.iter().any(|role| matches!(role, Role::Flag { .. }));
        (flags && roles.contains(&Role::Payload)).then(|| {
            Box::new(Handover {
                roles,
                heads: HashMap::new(),
                logs: Logs::default(),
                writes: 0,
                flags: Vec::new(),
            })
        })
    }

    /// Whether loads at a site may be the end of a handover.
    pub(super) fn is_payload(&self, site: u32) -> bool {
        self.roles[site as usize] == Role::Payload
    }

    /// Follows a strong access of a thread to global memory.
    fn follow(
        &mut self,
        order: &BlockOrder,
        heard: &mut Heard,
        thread: u32,
        (number, site): (u32, Site),
        address: u64,
    ) {
        let key = word_key(order.ticket, address);
        let head = self.heads.get(&key).copied();
        if let (Some(log), role @ Role::Flag { .. }) = (head, self.roles[number as usize]) {
            let known = Known { log, len: self.logs.len(log), reach: Reach::Block };
            learn(heard.own.entry(thread).or_default(), known);
            let best = &mut self.flags[log as usize].1;
            let weight = |role| match role {
                Role::Flag { waits: true, .. } => 2,
                Role::Flag { once: true, .. } => 1,
                _ => 0,
            };
            if best.is_none_or(|best| weight(self.roles[best as usize]) < weight(role)) {
                *best = Some(number);
            }
        }
        if !site.writes() || self.writes == MAX_WRITES {
            return;
        }
        self.writes += 1;
        let log = head.filter(|_| site.access == Access::Atomic).unwrap_or_else(|| {
            self.flags.push((address, None));
            self.logs.start()
        });
        self.heads.insert(key, log);
        let row = order.row(thread);
        let mut rows = if site.ordering.releases() {
            std::array::from_fn(|_| Some(row.clone()))
        } else {
            order.fences.of(thread)
        };
        rows[Reach::Block as usize] = Some(row);
        let published = order.published.as_ref();
        self.logs.append(log, Release::within(site.reach, order.ticket, rows, published));
    }
}

impl History {
    /// The strong store of another warp from which a strong load takes its value, if nothing orders
    /// the two. The two do not conflict.
    pub(super) fn unfenced(
        &self,
        order: &BlockOrder,
        present: &Present,
        (cell, word): (&Cell, usize),
        thread: u32,
        byte: u32,
    ) -> Option<Conflict> {
        let earlier = cell.last_write();
        if earlier.stamp == 0 {
            return None;
        }
        let there = self.sites[earlier.site as usize];
        if there.access != Access::Write
            || !there.is_strong()
            || !present.info.is_as_wide_as(there)
            || present.info.bytes_of_word(byte) & there.bytes_of_word(earlier.byte) == 0
        {
            return None;
        }
        let ticket = self.block_of(order, earlier.stamp);
        let distance = Reach::between(ticket, order.ticket);
        if distance > present.info.reach.min(there.reach)
            || distance == Reach::Block && warp_of(thread) == warp_of(earlier.thread)
        {
            return None;
        }
        let relation = Relation::at(distance);
        let ordered = self.is_ordered(order, ticket, thread, earlier);
        (!ordered).then_some(Conflict { thread, word, earlier, ticket, relation })
    }
}

impl Check {
    /// Follows the strong accesses of a request to global memory.
    pub(super) fn follow_flags(&mut self, at: At, request: &Request, number: u32, site: Site) {
        let Some(handover) = &mut self.handover else { return };
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        for lane in lanes(request.mask) {
            let (thread, address) =
                (at.warp * LANES as u32 + lane, request.addresses[lane as usize]);
            handover.follow(&block.order, &mut block.heard, thread, (number, site), address);
        }
        // What a thread writes after the flag has a later stamp.
        if site.writes() {
            self.tick();
        }
    }

    /// Reports a load of a value that was handed over by a flag without fences.
    pub(super) fn handed_over(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        conflict: &Conflict,
    ) {
        let (Some(handover), Some(block)) = (&self.handover, &self.block) else { return };
        let Conflict { thread, word, earlier, ticket, relation } = *conflict;
        let other_block = relation != Relation::SameBlock;
        let distance = Reach::between(ticket, env.id());
        let store = (ticket, earlier.thread, earlier.stamp);
        let lane = thread as usize % LANES;
        let here_access = access_of(env, request, lane);
        let payload = here_access.address & !3..here_access.address + here_access.bytes;
        let mut flags = block.heard.lists(thread).filter(|known| {
            let (address, _) = handover.flags[known.log as usize];
            !payload.contains(&address) && handover.logs.includes(known, Reach::Block, store)
        });
        let Some(known) = flags.next() else { return };
        let (address, Some(flag)) = handover.flags[known.log as usize] else { return };
        let is_fenced =
            |known: &Known| handover.logs.includes(known, distance.max(Reach::Device), store);
        let met = |known: &Known| known.reach > Reach::Block;
        let fenced = is_fenced(known);
        // Programs rely everywhere on a barrier in the place of the second fence.
        if fenced && met(known) || flags.any(|known| met(known) && is_fenced(known)) {
            return;
        }
        let severity = match handover.roles[flag as usize] {
            Role::Flag { waits: true, .. } => Severity::Error,
            Role::Flag { once: true, .. } if !fenced && other_block => Severity::Error,
            _ => Severity::Warning,
        };
        let there = self.history.sites[earlier.site as usize];
        let flag = self.history.sites[flag as usize];
        let bytes = u64::from(there.bytes);
        let word = (here_access.address & !31) + word as u64 * 4 % 32;
        let start = if bytes < 4 { word + u64::from(earlier.byte) } else { word & !(bytes - 1) };
        let other_access =
            MemoryAccess { access: there.access, address: start, bytes, ..here_access };
        let tell = || {
            let program = env.job.launches[flag.launch as usize].kernel.program();
            let line = program.places[flag.pc as usize].line;
            let missing = match (other_block, fenced) {
                (false, _) => "no two fences order the accesses of the two threads",
                (true, true) => {
                    "no fence whose scope suffices orders the read of the flag before this read"
                }
                (true, false) => "no fence whose scope suffices orders that write before the flag",
            };
            let why = format!(
                ", and that the flag at {address:#x} announces, which line {line} of the PTX reads, but {missing}"
            );
            let message = conflict_message(
                env,
                (thread, &here_access),
                (ticket, earlier.thread, &other_access),
                &why,
            );
            let here = Party::new(env, env.id(), thread, at.pc, Some(here_access));
            let other = Party::new(env, ticket, earlier.thread, there.pc, Some(other_access));
            let help = if relation == Relation::OtherDevice {
                "volatile and relaxed accesses order nothing between different words: put a fence of the scope .sys (`__threadfence_system`) before the write of the flag, and another after the read of the flag"
            } else {
                "volatile and relaxed accesses order nothing between different words: put a fence (`device_fence`, `__threadfence`) before the write of the flag, and another after the read of the flag"
            };
            (message, here, Some(other), help)
        };
        let (kind, rank) = (ReportKind::MissingFence, (severity, u8::from(!fenced)));
        let pcs = [(env.id().launch, at.pc), (ticket.launch, there.pc)];
        let found = Found { kind, rank, pcs, times: 1, tell: &tell };
        self.reports.add(env, &found);
    }

    /// Whether the loads of a request may be the end of a handover.
    pub(super) fn may_be_handed_over(&self, request: &Request, site: u16) -> bool {
        matches!(request.space, Space::Global | Space::Generic)
            && self.handover.as_ref().is_some_and(|of| of.is_payload(u32::from(site)))
    }
}
