//! Accesses to memory: each goes through the shadow, the logs and the record of written bytes.

use super::detector::{Check, Shared};
use super::findings::Unwritten;
use super::known::{Known, Observed, learn, observe};
use super::publish::Release;
use super::shadow::{Present, touch_row};
use super::shadows::word_key;
use super::sites::{Site, UNWATCHED};
use super::threads::lanes;
use crate::exec::access::Request;
use crate::exec::block_id::BlockId;
use crate::exec::env::Env;
use crate::exec::memory::Written;
use crate::exec::observer::At;
use crate::fault::Access;
use crate::ir::Space;
use crate::registers::LANES;

/// The owner of the memory that is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Global,
    /// Shared memory of the block that runs.
    Own,
    /// Shared memory of this block.
    Peer(BlockId),
}

impl Home {
    pub(super) fn of_rank(env: &Env<'_>, rank: u32) -> Home {
        if rank == env.rank { Home::Own } else { Home::Peer(env.id_of(rank)) }
    }

    pub(super) fn is_shared(self) -> bool {
        self != Home::Global
    }

    fn of(env: &Env<'_>, request: &Request) -> Option<Home> {
        match request.space {
            Space::Global | Space::Generic => Some(Home::Global),
            Space::Shared | Space::Cluster => {
                Some(request.peer.map_or(Home::Own, |rank| Home::of_rank(env, rank)))
            }
            Space::Local | Space::Param => None,
        }
    }
}

impl Check {
    /// The facts about an access at a site by the block that runs.
    pub(super) fn present(&self, site: u16, home: Home) -> Present {
        let block = self.block.as_ref().expect("a block runs whenever something is observed");
        // In a cluster, other blocks write records into a block's shared shadow, so the shadow is
        // emptied before each block.
        let (settled_from, own_from, born) = match home {
            Home::Own if !self.code.clusters => (0, block.first, block.first),
            _ => (block.order.run_start, block.order.run_start, 0),
        };
        let info = self.history.sites[site as usize];
        Present {
            site: u32::from(site),
            info,
            settled_from,
            own_from,
            born,
            shared: home.is_shared(),
        }
    }

    /// Watches the accesses of the lanes of `mask`, of which `request` holds the addresses.
    /// The lanes of `unchanged` store what was there before.
    pub(super) fn touch(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        mask: u32,
        unchanged: u32,
    ) {
        let site = self.code.site_of[at.pc as usize];
        if site == UNWATCHED || self.exhausted() {
            return;
        }
        let Some(home) = Home::of(env, request) else { return };
        if home.is_shared() && !self.flights.is_empty() {
            self.in_flight(env, at, request, home);
        }
        let present = self.present(site, home);
        let info = present.info;
        let handed = self.may_be_handed_over(request, site);
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        let first_thread = at.warp * LANES as u32;
        let row = row(request, mask);
        let (mut conflicts, mut unfenced) = (Vec::new(), Vec::new());
        let mut unwritten = Unwritten::default();
        if home.is_shared() {
            let shared = match home {
                Home::Peer(ticket) => {
                    &mut self.others.get_mut(&ticket).expect("a cluster begins as a whole").shared
                }
                _ => &mut block.shared,
            };
            let Shared { cells, written, .. } = shared;
            note_written(written, request, info, 0, &mut unwritten);
            let done = row.is_some_and(|Row { start, words, shift }| {
                let first = start as usize / 4;
                touch_row(
                    &block.order,
                    &present,
                    &mut cells[first..first + words],
                    first_thread,
                    shift,
                )
            });
            if !done {
                for_words(request, mask, 0, |lane, word, byte| {
                    let cell = (&mut cells[word], word);
                    conflicts.extend(self.history.touch(
                        &block.order,
                        &present,
                        cell,
                        first_thread + lane,
                        byte,
                    ));
                });
            }
        } else {
            let view = &env.job.memory;
            self.code.find_shadows(view, &mut self.shadows);
            let (low, high) = request.span();
            let whole = (high - low).checked_add(request.total);
            let found = whole.and_then(|bytes| view.find(low, bytes, &mut self.code.hint));
            if let Some(found) = found {
                if let Some(written) = &found.written {
                    note_written(written, request, info, found.base, &mut unwritten);
                }
                let pages = &mut self.shadows.all[self.code.shadows[self.code.hint]];
                let words = found.bytes.div_ceil(4) as usize;
                let done = row.is_some_and(|row| {
                    let cells = pages.row((row.start - found.base) as usize / 4, row.words, words);
                    cells.is_some_and(|cells| {
                        touch_row(&block.order, &present, cells, first_thread, row.shift)
                    })
                });
                if !done {
                    for_words(request, mask, found.base, |lane, word, byte| {
                        let cell = (pages.cell(word, words), word);
                        if handed {
                            let thread = first_thread + lane;
                            unfenced.extend(self.history.unfenced(
                                &block.order,
                                &present,
                                (&*cell.0, word),
                                thread,
                                byte,
                            ));
                        }
                        conflicts.extend(self.history.touch(
                            &block.order,
                            &present,
                            cell,
                            first_thread + lane,
                            byte,
                        ));
                    });
                }
            } else {
                // The lanes access several allocations, so each lane is watched alone.
                for lane in lanes(mask) {
                    let address = request.addresses[lane as usize];
                    let one = Request { addresses: [address; LANES], mask: 1 << lane, ..*request };
                    self.touch(env, at, &one, 1 << lane, unchanged);
                }
                return;
            }
        }
        if unwritten.lanes != 0 {
            self.unwritten(env, at, request, unwritten);
        }
        for conflict in conflicts {
            self.race(env, at, request, info, unchanged, &conflict);
        }
        for conflict in unfenced {
            self.handed_over(env, at, request, &conflict);
        }
        if info.is_strong() {
            for lane in lanes(request.mask) {
                self.publish(first_thread + lane, info, request.addresses[lane as usize], home);
            }
            if home == Home::Global {
                self.follow_flags(at, request, u32::from(site), info);
            }
            if info.ordering.releases() {
                self.tick();
            }
        }
    }

    /// Follows a strong access through the logs: a read learns releases, and a write may add one.
    fn publish(&mut self, thread: u32, info: Site, address: u64, home: Home) {
        let Check { block, others, history, heads, .. } = self;
        let order = &mut block.as_mut().expect("a block runs whenever something is observed").order;
        let releases = info.ordering.releases();
        let address = if home == Home::Global { word_key(order.ticket, address) } else { address };
        if history.logs.is_empty() && order.fences.is_empty() && !releases {
            return;
        }
        let peer = match home {
            Home::Peer(ticket) => {
                Some(&mut others.get_mut(&ticket).expect("a cluster begins as a whole").order.heads)
            }
            _ => None,
        };
        let head = match (home, &peer) {
            (_, Some(heads)) => heads.get(&address),
            (Home::Own, _) => order.heads.get(&address),
            _ => heads.get(&address),
        };
        let head = head.copied();
        if let Some(log) = head.filter(|_| info.access != Access::Write) {
            let known = Known { log, len: history.logs.len(log), reach: info.reach };
            if info.ordering.acquires() {
                learn(order.own_known.entry(thread).or_default(), known);
            } else {
                let by_atomic = info.access == Access::Atomic;
                observe(order.observed.entry(thread).or_default(), Observed { known, by_atomic });
            }
        }
        if !info.writes() {
            return;
        }
        let rows = if releases {
            let row = order.row(thread);
            std::array::from_fn(|_| Some(row.clone()))
        } else {
            order.fences.of(thread)
        };
        let release = Release::within(info.reach, order.ticket, rows, order.published.as_ref());
        let heads = match (home, peer) {
            (_, Some(heads)) => heads,
            (Home::Own, _) => &mut order.heads,
            _ => heads,
        };
        if release.is_empty() {
            if info.access == Access::Write {
                heads.remove(&address);
            }
            return;
        }
        let log = match head {
            Some(log) if info.access == Access::Atomic => log,
            _ => history.logs.start(),
        };
        heads.insert(address, log);
        history.logs.append(log, release);
    }
}

/// Looks up whether the bytes that a request reads were written, and marks the bytes that it
/// writes.
#[inline]
fn note_written(
    written: &Written,
    request: &Request,
    info: Site,
    base: u64,
    unwritten: &mut Unwritten,
) {
    let bytes = request.total as usize;
    let offset = |lane: u32| (request.addresses[lane as usize] - base) as usize;
    if info.access != Access::Write {
        let (low, high) = request.span();
        let start = (low - base) as usize;
        if written.missing(start, (high - low) as usize + bytes) > 0 {
            for lane in lanes(request.mask) {
                let missing = written.missing(offset(lane), bytes);
                if missing > 0 {
                    unwritten.missing =
                        if unwritten.lanes == 0 { missing } else { unwritten.missing };
                    unwritten.lanes |= 1 << lane;
                    unwritten.bytes[lane as usize] = (0..bytes).fold(0, |missing, byte| {
                        missing | u32::from(written.missing(offset(lane) + byte, 1) > 0) << byte
                    });
                }
            }
        }
    }
    if info.writes() {
        if row(request, request.mask).is_some() {
            written.set(offset(0), bytes * LANES);
        } else {
            lanes(request.mask).for_each(|lane| written.set(offset(lane), bytes));
        }
    }
}

/// Neighbouring words that a whole warp accesses; each lane accesses `1 << shift` of them.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The first address.
    start: u64,
    words: usize,
    shift: u32,
}

/// The request as a row of neighbouring words, if it has that form.
#[inline]
fn row(request: &Request, mask: u32) -> Option<Row> {
    let Request { addresses, total, .. } = request;
    if mask != u32::MAX || *total < 4 {
        return None;
    }
    let start = addresses[0];
    let strays = (0..LANES)
        .fold(0, |strays, lane| strays | (addresses[lane] ^ (start + lane as u64 * total)));
    let words = *total as usize / 4;
    (strays == 0).then(|| Row { start, words: words * LANES, shift: words.ilog2() })
}

/// Calls `each` for each word that a lane of `mask` accesses, with the lane, the word and the byte
/// in the word.
#[inline(always)]
fn for_words(request: &Request, mask: u32, base: u64, mut each: impl FnMut(u32, usize, u32)) {
    let words = (request.total as usize / 4).max(1);
    for lane in lanes(mask) {
        let offset = (request.addresses[lane as usize] - base) as usize;
        for word in offset / 4..offset / 4 + words {
            each(lane, word, offset as u32 % 4);
        }
    }
}
