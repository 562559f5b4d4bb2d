//! Accesses to memory, as the interpreter tells of them: through the shadow, the logs and what has been written.

use super::findings::Unwritten;
use super::order::lanes;
use super::publish::{Known, Observed, Release, learn, observe};
use super::shadow::{Pages, Present, touch_row};
use super::sites::{Site, UNWATCHED};
use super::{Check, Shared};
use crate::access::Request;
use crate::block::Env;
use crate::fault::Access;
use crate::ir::Space;
use crate::memory::Written;
use crate::observe::At;
use crate::registers::LANES;

impl Check {
    /// Looks at the lanes of `mask`.
    pub(super) fn touch(&mut self, env: &Env<'_>, at: At, request: &Request, mask: u32) {
        let site = self.site_of[at.pc as usize];
        if site == UNWATCHED || self.exhausted() {
            return;
        }
        let info = self.history.sites[site as usize];
        let shared = match request.space {
            Space::Global | Space::Generic => false,
            Space::Shared | Space::Cluster => true,
            Space::Local | Space::Param => return,
        };
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        let first_thread = at.warp * LANES as u32;
        let (settled_from, own_from) =
            if shared { (0, block.first) } else { (block.order.run_start, block.order.run_start) };
        let present = Present { site: u32::from(site), info, settled_from, own_from, shared };
        let row = row(request, mask);
        let mut conflicts = Vec::new();
        let mut unwritten = Unwritten::default();
        if shared {
            let Shared { cells, written } = &mut block.shared;
            note_written(written, request, info, 0, &mut unwritten);
            let done = row.is_some_and(|Row { start, words, shift }| {
                let first = start as usize / 4;
                touch_row(&block.order, &present, &mut cells[first..first + words], first_thread, shift)
            });
            if !done {
                for_words(request, mask, 0, |lane, word, byte| {
                    let cell = (&mut cells[word], word);
                    conflicts.extend(self.history.touch(&block.order, &present, cell, first_thread + lane, byte));
                });
            }
        } else {
            let view = &env.grid.memory;
            if self.global.is_empty() {
                self.global.resize_with(view.allocations(), Pages::default);
            }
            let (low, high) = request.span();
            let whole = (high - low).checked_add(request.total);
            let found = whole.and_then(|bytes| view.find(low, bytes, &mut self.hint));
            if let Some(found) = found {
                if let Some(written) = &found.written {
                    note_written(written, request, info, found.base, &mut unwritten);
                }
                let (pages, words) = (&mut self.global[self.hint], found.bytes.div_ceil(4) as usize);
                let done = row.is_some_and(|row| {
                    let cells = pages.row((row.start - found.base) as usize / 4, row.words, words);
                    cells.is_some_and(|cells| touch_row(&block.order, &present, cells, first_thread, row.shift))
                });
                if !done {
                    for_words(request, mask, found.base, |lane, word, byte| {
                        let cell = (pages.cell(word, words), word);
                        conflicts.extend(self.history.touch(&block.order, &present, cell, first_thread + lane, byte));
                    });
                }
            } else {
                // The lanes lie in several allocations: one after another.
                for lane in lanes(mask) {
                    let address = request.addresses[lane as usize];
                    let one = Request { addresses: [address; LANES], mask: 1 << lane, ..*request };
                    self.touch(env, at, &one, 1 << lane);
                }
                return;
            }
        }
        if unwritten.lanes != 0 {
            self.uninitialized(env, at, request, unwritten);
        }
        for conflict in conflicts {
            self.race(env, at, request, info, &conflict);
        }
        if info.is_strong() {
            for lane in lanes(request.mask) {
                self.publish(first_thread + lane, info, request.addresses[lane as usize], shared);
            }
            if info.ordering.releases() {
                self.tick();
            }
        }
    }

    /// Follows a strong access in the logs.
    fn publish(&mut self, thread: u32, info: Site, address: u64, shared: bool) {
        let Check { block, history, heads, .. } = self;
        let order = &mut block.as_mut().expect("a block runs whenever something is observed").order;
        let releases = info.ordering.releases();
        if history.logs.is_empty() && order.fences.is_empty() && !releases {
            return;
        }
        let head = if shared { order.heads.get(&address) } else { heads.get(&address) }.copied();
        if let Some(log) = head.filter(|_| info.access != Access::Write) {
            let known = Known { log, len: history.logs.len(log), wide: info.is_wide() };
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
        let [near, far] = if releases {
            let row = order.row(thread);
            [Some(row.clone()), Some(row)]
        } else {
            order.fences.of(thread)
        };
        let far = far.filter(|_| info.is_wide());
        let published = order.published.clone().filter(|_| info.is_wide());
        let heads = if shared { &mut order.heads } else { heads };
        if near.is_none() && far.is_none() && published.is_none() {
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
        history.logs.append(log, Release { ticket: order.ticket, near, far, published });
    }
}

/// Looks up what a request reads, and takes note of what it writes.
#[inline]
fn note_written(written: &Written, request: &Request, info: Site, base: u64, unwritten: &mut Unwritten) {
    let bytes = request.total as usize;
    let offset = |lane: u32| (request.addresses[lane as usize] - base) as usize;
    if info.access != Access::Write {
        let (low, high) = request.span();
        let start = (low - base) as usize;
        if written.missing(start, (high - low) as usize + bytes) > 0 {
            for lane in lanes(request.mask) {
                let missing = written.missing(offset(lane), bytes);
                if missing > 0 {
                    unwritten.missing = if unwritten.lanes == 0 { missing } else { unwritten.missing };
                    unwritten.lanes |= 1 << lane;
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

/// Neighbouring words that a whole warp accesses, `1 << shift` by each lane.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The first address.
    start: u64,
    words: usize,
    shift: u32,
}

/// The row that a request is, if it is one.
#[inline]
fn row(request: &Request, mask: u32) -> Option<Row> {
    let Request { addresses, total, .. } = request;
    if mask != u32::MAX || *total < 4 {
        return None;
    }
    let start = addresses[0];
    let strays = (0..LANES).fold(0, |strays, lane| strays | (addresses[lane] ^ (start + lane as u64 * total)));
    let words = *total as usize / 4;
    (strays == 0).then(|| Row { start, words: words * LANES, shift: words.ilog2() })
}

/// Calls `each` with lane, word and byte in the word for all that the lanes of `mask` access.
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
