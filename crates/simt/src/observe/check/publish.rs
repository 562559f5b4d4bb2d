//! The accesses that fences, strong accesses and atomics make known, within a block and across
//! blocks.
//!
//! A strong write or atomic that follows a fence in its thread, or that releases by itself,
//! publishes the accesses that its thread knew of at the fence: an entry is added to the log of the
//! location. An atomic extends the log; any other strong write begins a new log. A strong read
//! records how much of the log it saw, and an acquiring fence turns these records into knowledge.

use std::collections::HashMap;
use std::sync::Arc;

use super::known::Known;
use super::row::Row;

/// The last releasing fences of each thread: the last fence of any scope, and the last fence whose
/// scope reaches beyond the block.
#[derive(Debug, Default)]
pub(super) struct Fences {
    last: HashMap<u32, [Option<Row>; 2]>,
    changed: bool,
}

impl Fences {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    pub(super) fn fence(&mut self, thread: u32, row: Row, wide: bool) {
        let last = self.last.entry(thread).or_default();
        if wide {
            last[1] = Some(row.clone());
            self.changed = true;
        }
        last[0] = Some(row);
    }

    /// The rows that a strong write of `thread` publishes: one within the block, and one beyond it.
    pub(super) fn of(&self, thread: u32) -> [Option<Row>; 2] {
        self.last.get(&thread).cloned().unwrap_or_default()
    }

    /// The rows of the threads' last fences whose scope reaches beyond the block, if one is new.
    pub(super) fn published(&mut self, known: &Arc<Vec<Known>>) -> Option<Arc<Published>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let rows = self.last.values().filter_map(|[_, wide]| wide.clone()).collect();
        Some(Arc::new(Published { rows, known: Arc::clone(known) }))
    }
}

/// The accesses that the threads of a block had fenced before a barrier. After the barrier, any of
/// the threads may publish them, because grid-wide barriers are written that way.
#[derive(Debug)]
pub(super) struct Published {
    rows: Vec<Row>,
    known: Arc<Vec<Known>>,
}

/// One entry of a log.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) ticket: u64,
    /// The rows that the release publishes: one within the block, and one beyond it.
    pub(super) near: Option<Row>,
    pub(super) far: Option<Row>,
    pub(super) published: Option<Arc<Published>>,
}

impl Release {
    /// Whether the next release of a log adds nothing to this one, because the same thread has not
    /// fenced again.
    fn repeats(&self, next: &Release) -> bool {
        let same_row = |a: &Option<Row>, b: &Option<Row>| match (a, b) {
            (Some(a), Some(b)) => a.is_moment_of(b),
            (None, None) => true,
            _ => false,
        };
        let same_published = match (&self.published, &next.published) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        self.ticket == next.ticket
            && same_published
            && same_row(&self.near, &next.near)
            && same_row(&self.far, &next.far)
    }

    fn covers(&self, near: bool, thread: u32, stamp: u32) -> bool {
        let row = if near { &self.near } else { &self.far };
        row.as_ref().is_some_and(|row| row.covers(thread, stamp))
            || self
                .published
                .as_ref()
                .is_some_and(|all| all.rows.iter().any(|row| row.covers(thread, stamp)))
    }

    /// The knowledge of other releases that the thread of this release had.
    fn known(&self, near: bool) -> impl Iterator<Item = &Arc<Vec<Known>>> {
        let row = if near { &self.near } else { &self.far };
        let row = row.iter().flat_map(|row| &row.known);
        row.chain(self.published.iter().map(|all| &all.known)).filter(|known| !known.is_empty())
    }
}

#[derive(Debug, Default)]
struct Log {
    releases: Vec<Release>,
    by_block: HashMap<u64, Vec<u32>>,
    /// The indices of the releases whose threads knew of other releases.
    informed: Vec<u32>,
}

/// All logs of a launch.
#[derive(Debug, Default)]
pub(super) struct Logs(Vec<Log>);

impl Logs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins a log, and returns its number.
    pub(super) fn start(&mut self) -> u32 {
        self.0.push(Log::default());
        self.0.len() as u32 - 1
    }

    pub(super) fn append(&mut self, log: u32, release: Release) {
        let log = &mut self.0[log as usize];
        if log.releases.last().is_some_and(|last| last.repeats(&release)) {
            return;
        }
        let index = log.releases.len() as u32;
        log.by_block.entry(release.ticket).or_default().push(index);
        if release.known(true).next().is_some() || release.known(false).next().is_some() {
            log.informed.push(index);
        }
        log.releases.push(release);
    }

    pub(super) fn len(&self, log: u32) -> u32 {
        self.0[log as usize].releases.len() as u32
    }

    /// Whether one of the releases in `known` includes the access of `thread` of block `ticket` at
    /// `stamp`.
    pub(super) fn publishes(
        &self,
        holder: u64,
        known: &Known,
        (ticket, thread, stamp): (u64, u32, u32),
    ) -> bool {
        let log = &self.0[known.log as usize];
        if ticket != holder && !known.wide {
            return false;
        }
        let Some(of_block) = log.by_block.get(&ticket) else { return false };
        // The latest releases include the most accesses, so they are asked first.
        let visible = &of_block[..of_block.partition_point(|index| *index < known.len)];
        visible
            .iter()
            .rev()
            .any(|index| log.releases[*index as usize].covers(ticket == holder, thread, stamp))
    }

    /// Whether a thread of block `holder` that knows `lists` knows the access of `thread` of block
    /// `ticket` at `stamp`, directly or through other releases.
    pub(super) fn knows(
        &self,
        holder: u64,
        lists: &[&Arc<Vec<Known>>],
        (ticket, thread, stamp): (u64, u32, u32),
    ) -> bool {
        let mut seen: HashMap<(u32, bool, u64), u32> = HashMap::new();
        let mut stack: Vec<(u64, &Known)> =
            lists.iter().flat_map(|list| list.iter().map(|k| (holder, k))).collect();
        while let Some((holder, known)) = stack.pop() {
            // The block of the holder matters only for releases that do not reach beyond their
            // block.
            let as_whom = if known.wide && holder != ticket { u64::MAX } else { holder };
            let most = seen.entry((known.log, known.wide, as_whom)).or_default();
            let before = std::mem::replace(most, known.len.max(*most));
            if before >= known.len {
                continue;
            }
            if self.publishes(holder, known, (ticket, thread, stamp)) {
                return true;
            }
            let log = &self.0[known.log as usize];
            let first = log.informed.partition_point(|index| *index < before);
            let informed = log.informed[first..].iter().take_while(|index| **index < known.len);
            for release in informed.map(|index| &log.releases[*index as usize]) {
                if release.ticket == holder || known.wide {
                    let known = release.known(release.ticket == holder);
                    stack.extend(
                        known.flat_map(|list| list.iter()).map(|known| (release.ticket, known)),
                    );
                }
            }
        }
        false
    }
}
