//! The order that fences, strong accesses and atomics make, within a block and across blocks.
//!
//! A strong write or atomic that follows a fence in its thread, or releases by itself, publishes what its thread knew
//! at the fence: it is entered in the log of the location. Atomics extend the log, other strong writes begin a new one.
//! A strong read notes how much of the log it saw, and an acquiring fence turns such notes into knowledge.

use std::collections::HashMap;
use std::sync::Arc;

use super::order::Row;
use crate::ptx::ast::Scope;

/// Whether a scope reaches beyond the block; in clusters, that of the cluster does.
pub(super) const fn is_wide(scope: Scope, clusters: bool) -> bool {
    match scope {
        Scope::Cta => false,
        Scope::Cluster => clusters,
        Scope::Gpu | Scope::Sys => true,
    }
}

/// The first `len` releases of a log; only those of the same block unless `wide`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) log: u32,
    pub(super) len: u32,
    pub(super) wide: bool,
}

/// Releases that a strong read saw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) known: Known,
    /// It was an atomic that saw them.
    pub(super) by_atomic: bool,
}

/// Adds what is known of one log.
pub(super) fn learn(list: &mut Arc<Vec<Known>>, new: Known) {
    match list.iter().position(|old| old.log == new.log && old.wide == new.wide) {
        Some(i) if list[i].len >= new.len => {}
        Some(i) => Arc::make_mut(list)[i].len = new.len,
        None => Arc::make_mut(list).push(new),
    }
}

/// Adds all of `other`.
pub(super) fn merge(list: &mut Arc<Vec<Known>>, other: &Arc<Vec<Known>>) {
    if list.is_empty() {
        *list = Arc::clone(other);
    } else if !Arc::ptr_eq(list, other) {
        other.iter().for_each(|known| learn(list, *known));
    }
}

/// Notes a strong read.
pub(super) fn observe(list: &mut Vec<Observed>, new: Observed) {
    let same = |old: &&mut Observed| old.known.log == new.known.log && old.known.wide == new.known.wide;
    match list.iter_mut().find(same) {
        Some(old) => {
            old.known.len = old.known.len.max(new.known.len);
            old.by_atomic |= new.by_atomic;
        }
        None => list.push(new),
    }
}

/// What the threads that arrived at a barrier know of releases.
#[derive(Debug, Default)]
pub(super) struct Arrived(pub(super) Arc<Vec<Known>>);

impl Arrived {
    /// Adds what `thread` brings: what it knows, and what its atomics have seen. That a barrier stands for the acquiring
    /// fence is what "the last block finishes" is built on everywhere.
    pub(super) fn arrive(
        &mut self,
        thread: u32,
        known: &HashMap<u32, Arc<Vec<Known>>>,
        observed: &HashMap<u32, Vec<Observed>>,
    ) {
        if let Some(known) = known.get(&thread) {
            merge(&mut self.0, known);
        }
        for seen in observed.get(&thread).into_iter().flatten().filter(|seen| seen.by_atomic) {
            learn(&mut self.0, seen.known);
        }
    }
}

/// The last releasing fence of each thread: of any scope, and of one that reaches beyond the block.
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

    /// The rows that a strong write of `thread` publishes within the block and beyond.
    pub(super) fn of(&self, thread: u32) -> [Option<Row>; 2] {
        self.last.get(&thread).cloned().unwrap_or_default()
    }

    /// What all threads had fenced, if there is anything new.
    pub(super) fn published(&mut self, known: &Arc<Vec<Known>>) -> Option<Arc<Published>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let rows = self.last.values().filter_map(|[_, wide]| wide.clone()).collect();
        Some(Arc::new(Published { rows, known: Arc::clone(known) }))
    }
}

/// What the threads of a block had fenced before a barrier: any of them may publish it after the barrier, which is how
/// grid-wide barriers are written.
#[derive(Debug)]
pub(super) struct Published {
    rows: Vec<Row>,
    known: Arc<Vec<Known>>,
}

/// One entry of a log.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) ticket: u64,
    /// What it publishes within the block, and beyond.
    pub(super) near: Option<Row>,
    pub(super) far: Option<Row>,
    pub(super) published: Option<Arc<Published>>,
}

impl Release {
    /// Whether the next release of a log adds nothing to this one: the same thread has not fenced again.
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
            || self.published.as_ref().is_some_and(|all| all.rows.iter().any(|row| row.covers(thread, stamp)))
    }

    /// What its thread knew of other releases.
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
    /// Those whose threads knew of other releases.
    informed: Vec<u32>,
}

/// All logs of a launch.
#[derive(Debug, Default)]
pub(super) struct Logs(Vec<Log>);

impl Logs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins a log.
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

    /// Whether one of the releases that `known` names took in what `thread` of block `ticket` did at `stamp`.
    pub(super) fn publishes(&self, holder: u64, known: &Known, (ticket, thread, stamp): (u64, u32, u32)) -> bool {
        let log = &self.0[known.log as usize];
        if ticket != holder && !known.wide {
            return false;
        }
        let Some(of_block) = log.by_block.get(&ticket) else { return false };
        // The last ones took in most.
        let visible = &of_block[..of_block.partition_point(|index| *index < known.len)];
        visible.iter().rev().any(|index| log.releases[*index as usize].covers(ticket == holder, thread, stamp))
    }

    /// Whether a thread of block `holder` that knows `lists` knows, perhaps by way of others, what `thread` of block `ticket` did at `stamp`.
    pub(super) fn knows(
        &self,
        holder: u64,
        lists: &[&Arc<Vec<Known>>],
        (ticket, thread, stamp): (u64, u32, u32),
    ) -> bool {
        let mut seen: HashMap<(u32, bool, u64), u32> = HashMap::new();
        let mut stack: Vec<(u64, &Known)> = lists.iter().flat_map(|list| list.iter().map(|k| (holder, k))).collect();
        while let Some((holder, known)) = stack.pop() {
            // Who holds what reaches beyond the block matters only where the holder is the block that is asked about.
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
                    stack.extend(known.flat_map(|list| list.iter()).map(|known| (release.ticket, known)));
                }
            }
        }
        false
    }
}
