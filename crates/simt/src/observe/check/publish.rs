//! The accesses that fences, strong accesses and atomics make known, within a block and across
//! blocks.
//!
//! A strong write or atomic that follows a fence in its thread, or that releases by itself,
//! publishes the accesses that its thread knew of at the fence: an entry is added to the log of the
//! location. An atomic extends the log; any other strong write begins a new log. A strong read
//! records how much of the log it saw, and an acquiring fence turns these records into knowledge.

use std::collections::HashMap;
use std::sync::Arc;

use super::known::{Known, Reach};
use super::row::Row;
use crate::exec::block_id::BlockId;

/// What a thread publishes to the other threads of its block, to the other blocks of its device,
/// and to other devices. The index is a [`Reach`].
pub(super) type Rows = [Option<Row>; 3];

/// The last releasing fences of each thread, by how far their scopes reach at least.
#[derive(Debug, Default)]
pub(super) struct Fences {
    last: HashMap<u32, Rows>,
    changed: bool,
}

impl Fences {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    pub(super) fn fence(&mut self, thread: u32, row: &Row, reach: Reach) {
        let last = self.last.entry(thread).or_default();
        last[..=reach as usize].fill(Some(row.clone()));
        self.changed |= reach > Reach::Block;
    }

    /// The rows that a strong write of `thread` publishes.
    pub(super) fn of(&self, thread: u32) -> Rows {
        self.last.get(&thread).cloned().unwrap_or_default()
    }

    /// The rows of the threads' last fences whose scope reaches beyond the block, if one is new.
    pub(super) fn published(&mut self, known: &Arc<Vec<Known>>) -> Option<Arc<Published>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let beyond = |rows: &&Rows| rows[Reach::Device as usize].is_some();
        let rows = self.last.values().filter(beyond).cloned().collect();
        Some(Arc::new(Published { rows, known: Arc::clone(known) }))
    }
}

/// The accesses that the threads of a block had fenced before a barrier. After the barrier, any of
/// the threads may publish them, because grid-wide barriers are written that way.
#[derive(Debug)]
pub(super) struct Published {
    rows: Vec<Rows>,
    known: Arc<Vec<Known>>,
}

/// One entry of a log.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) ticket: BlockId,
    /// The rows that the release publishes.
    pub(super) rows: Rows,
    pub(super) published: Option<Arc<Published>>,
    /// How far the scope of the write reaches.
    pub(super) reach: Reach,
}

impl Release {
    /// A release of one row to everybody.
    pub(super) fn of(ticket: BlockId, row: &Row) -> Release {
        let rows = std::array::from_fn(|_| Some(row.clone()));
        Release { ticket, rows, published: None, reach: Reach::System }
    }

    /// A release by a write whose scope has this reach.
    pub(super) fn within(
        reach: Reach,
        ticket: BlockId,
        mut rows: Rows,
        published: Option<&Arc<Published>>,
    ) -> Release {
        rows[reach as usize + 1..].fill(None);
        let published = published.filter(|_| reach > Reach::Block).cloned();
        Release { ticket, rows, published, reach }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(Option::is_none) && self.published.is_none()
    }

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
            && self.reach == next.reach
            && self.rows.iter().zip(&next.rows).all(|(a, b)| same_row(a, b))
    }

    /// What the threads of the block had published, as a block at this distance sees it.
    fn published(&self, distance: Reach) -> Option<&Published> {
        self.published.as_deref().filter(|_| distance <= self.reach)
    }

    /// Whether the release includes the access of `thread` at `stamp`, as a block at this distance
    /// sees it.
    fn covers(&self, distance: Reach, thread: u32, stamp: u32) -> bool {
        let covers = |row: &Option<Row>| row.as_ref().is_some_and(|row| row.covers(thread, stamp));
        let beyond = distance.max(Reach::Device) as usize;
        covers(&self.rows[distance as usize])
            || self
                .published(distance)
                .is_some_and(|all| all.rows.iter().any(|rows| covers(&rows[beyond])))
    }

    /// The knowledge of other releases that the thread of this release had.
    fn known(&self, distance: Reach) -> impl Iterator<Item = &Arc<Vec<Known>>> {
        let row = self.rows[distance as usize].iter().flat_map(|row| &row.known);
        let published = self.published(distance).into_iter().map(|all| &all.known);
        row.chain(published).filter(|known| !known.is_empty())
    }
}

#[derive(Debug, Default)]
struct Log {
    releases: Vec<Release>,
    by_block: HashMap<BlockId, Vec<u32>>,
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
        let reaches = [Reach::Block, Reach::Device, Reach::System];
        if reaches.iter().any(|distance| release.known(*distance).next().is_some()) {
            log.informed.push(index);
        }
        log.releases.push(release);
    }

    pub(super) fn len(&self, log: u32) -> u32 {
        self.0[log as usize].releases.len() as u32
    }

    /// Whether one of the releases in `known` includes the access of `thread` of block `ticket` at
    /// `stamp`, if a thread of block `holder` knows them.
    pub(super) fn publishes(
        &self,
        holder: BlockId,
        known: &Known,
        access: (BlockId, u32, u32),
    ) -> bool {
        let distance = Reach::between(holder, access.0);
        distance <= known.reach && self.includes(known, distance, access)
    }

    /// Whether one of the releases in `known` includes the access of `thread` of block `ticket` at
    /// `stamp`, as a block at this distance sees the releases.
    pub(super) fn includes(
        &self,
        known: &Known,
        distance: Reach,
        (ticket, thread, stamp): (BlockId, u32, u32),
    ) -> bool {
        let log = &self.0[known.log as usize];
        let Some(of_block) = log.by_block.get(&ticket) else { return false };
        // The latest releases include the most accesses, so they are asked first.
        let visible = &of_block[..of_block.partition_point(|index| *index < known.len)];
        visible
            .iter()
            .rev()
            .any(|index| log.releases[*index as usize].covers(distance, thread, stamp))
    }

    /// Whether a thread of block `holder` that knows `lists` knows the access of `thread` of block
    /// `ticket` at `stamp`, directly or through other releases.
    pub(super) fn knows(
        &self,
        holder: BlockId,
        lists: &[&Arc<Vec<Known>>],
        (ticket, thread, stamp): (BlockId, u32, u32),
    ) -> bool {
        let mut seen: HashMap<(u32, Reach, Option<BlockId>), u32> = HashMap::new();
        let mut stack: Vec<(BlockId, &Known)> =
            lists.iter().flat_map(|list| list.iter().map(|k| (holder, k))).collect();
        while let Some((holder, known)) = stack.pop() {
            // Which block the holder is matters only for releases that do not reach beyond their
            // block, and its device only for those that do not reach beyond their device.
            let as_whom = match known.reach {
                _ if holder == ticket => Some(holder),
                Reach::Block => Some(holder),
                Reach::Device => Some(BlockId { launch: u32::MAX, ticket: u64::MAX, ..holder }),
                Reach::System => None,
            };
            let most = seen.entry((known.log, known.reach, as_whom)).or_default();
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
                let distance = Reach::between(holder, release.ticket);
                if distance <= known.reach {
                    let known = release.known(distance);
                    stack.extend(
                        known.flat_map(|list| list.iter()).map(|known| (release.ticket, known)),
                    );
                }
            }
        }
        false
    }
}
