//! From a trace to steps: what threads read before they wrote, and what arrays then held.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use simt::{Access, BlockTrace, LaneAccess, Phase, Space, TracedAccess};

use super::{Array, BankUse, Cell, Row, Step, Work};
use crate::element::Element;

/// Lanes of a warp, and banks of shared memory.
const LANES: u32 = 32;
/// Bytes of a bank's word.
const BANK_BYTES: u64 = 4;

/// The steps of the launches so far.
pub(super) struct Story<T> {
    pub(super) steps: Vec<Step>,
    identity: T,
    shared_cells: u64,
    shared_shown: u64,
    numbers: u32,
}

impl<T: Element> Story<T> {
    pub(super) fn new(identity: T) -> Self {
        Self { steps: Vec::new(), identity, shared_cells: 0, shared_shown: 0, numbers: 0 }
    }

    /// Cells of shared memory that a block has.
    pub(super) fn shared_cells(&self) -> u64 {
        self.shared_cells
    }

    /// How many of them are shown.
    pub(super) fn shared_shown(&self) -> u64 {
        self.shared_shown
    }

    /// Goes on with a block of another launch, whose input was `input`, and whose input and output
    /// lie in `ranges`.
    pub(super) fn tell(
        &mut self,
        launch: usize,
        input: &[T],
        block: &BlockTrace,
        ranges: &[Range<u64>],
    ) {
        let drafts = drafts(block, ranges, u64::from(T::TYPE.size()));
        self.measure(block, &drafts);
        let mut held = BTreeMap::from([(Array::Input, row(Array::Input, input.to_vec()))]);
        // The row that the picture shows last: a later launch begins with what the one before left.
        let mut last = Array::Input;
        for draft in drafts {
            let phase = &block.phases[draft.phase];
            let (work, others): (Vec<_>, Vec<_>) =
                draft.work.into_iter().partition(|work| self.shows(work));
            let strides = strides(work.iter().chain(&others));
            let combines = work.iter().chain(&others).any(|work| work.reads.len() > 1);
            self.numbers += u32::from(combines);
            let read: BTreeSet<Array> = work
                .iter()
                .chain(&others)
                .flat_map(|work| &work.reads)
                .map(|cell| cell.array)
                .collect();
            // What a thread adds to its own cell comes from elsewhere.
            let from = read.iter().copied().find(|array| *array != draft.to).unwrap_or(draft.to);
            let before = (from != last).then(|| held.get(&from).cloned()).flatten();
            let written = work.iter().map(|work| work.writes.index + 1).max().unwrap_or(0) as usize;
            let mut values = contents::<T>(phase, draft.to);
            values.truncate(match draft.to {
                Array::Input => values.len(),
                Array::Shared => self.shared_shown as usize,
                // The results of other blocks may be there by now or not.
                Array::Output => written,
            });
            let after = row(draft.to, values);
            held.insert(draft.to, after.clone());
            if !work.is_empty() {
                last = draft.to;
            }
            self.steps.push(Step {
                launch,
                number: combines.then_some(self.numbers),
                from,
                before: before.filter(|_| !work.is_empty()),
                strides,
                beyond: others
                    .iter()
                    .map(|work| work.thread)
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect(),
                work,
                after,
                banks: draft.banks,
                end: phase.end,
            });
        }
    }

    /// How much of shared memory is worth showing: all that ever holds something else than the
    /// identity, or that an input went to; up to a power of two, as the tree's levels are.
    fn measure(&mut self, block: &BlockTrace, drafts: &[Draft]) {
        let identity = self.identity.value();
        let rows = block.phases.iter().map(|phase| contents::<T>(phase, Array::Shared));
        let held = rows
            .filter_map(|row| row.iter().rposition(|value| !value.value().is_same(identity)))
            .max();
        let loads =
            drafts.iter().filter(|draft| draft.to == Array::Shared).flat_map(|draft| &draft.work);
        let loaded = loads
            .filter(|work| work.reads.iter().any(|cell| cell.array != Array::Shared))
            .map(|work| work.writes.index as usize)
            .max();
        let cells =
            block.phases.first().map_or(0, |phase| contents::<T>(phase, Array::Shared).len());
        let used = held.max(loaded).map_or(0, |last| (last + 1).next_power_of_two());
        self.shared_cells = cells as u64;
        self.shared_shown = self.shared_shown.max(used.min(cells) as u64);
    }

    fn shows(&self, work: &Work) -> bool {
        let shown = |cell: &Cell| cell.array != Array::Shared || cell.index < self.shared_shown;
        work.reads.iter().chain([&work.writes]).all(shown)
    }
}

/// What a phase did to one array.
struct Draft {
    phase: usize,
    to: Array,
    /// In the order of the cells that are written.
    work: Vec<Work>,
    banks: Vec<BankUse>,
}

fn drafts(block: &BlockTrace, ranges: &[Range<u64>], size: u64) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    // What each thread has read and not yet used: a step may read before a synchronisation and
    // write after it.
    let mut pending: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
    let mut banks = Vec::new();
    for (index, phase) in block.phases.iter().enumerate() {
        let mut written: BTreeMap<Array, Vec<Work>> = BTreeMap::new();
        for access in &phase.accesses {
            if access.space == Space::Shared {
                banks.push(bank_use(access, size));
            }
            for lane in &access.lanes {
                let cells = cells(access, lane, ranges, size);
                if access.access != Access::Write {
                    let reads = pending.entry(lane.thread).or_default();
                    reads.extend(
                        cells.clone().filter(|cell| !reads.contains(cell)).collect::<Vec<_>>(),
                    );
                }
                if access.access == Access::Read {
                    continue;
                }
                let reads = pending.remove(&lane.thread).unwrap_or_default();
                for writes in cells {
                    let work = Work { thread: lane.thread, reads: reads.clone(), writes };
                    written.entry(writes.array).or_default().push(work);
                }
            }
        }
        for (to, mut work) in written {
            // Stable: who writes a cell again comes after.
            work.sort_by_key(|work| work.writes.index);
            drafts.push(Draft { phase: index, to, work, banks: std::mem::take(&mut banks) });
        }
    }
    drafts
}

/// The cells of known arrays that a lane accessed.
fn cells<'a>(
    access: &TracedAccess,
    lane: &LaneAccess,
    ranges: &'a [Range<u64>],
    size: u64,
) -> impl Iterator<Item = Cell> + Clone + use<'a> {
    let place = match access.space {
        Space::Shared => Some((Array::Shared, lane.address)),
        Space::Global => {
            ranges.iter().zip([Array::Input, Array::Output]).find_map(|(range, array)| {
                range.contains(&lane.address).then(|| (array, lane.address - range.start))
            })
        }
        Space::Local | Space::Param => None,
    };
    let bytes = u64::from(access.bytes);
    place.into_iter().flat_map(move |(array, offset)| {
        (offset / size..(offset + bytes).div_ceil(size)).map(move |index| Cell { array, index })
    })
}

/// All distances between neighbouring cells of one array that a thread reads and writes.
fn strides<'a>(work: impl Iterator<Item = &'a Work>) -> Vec<u64> {
    let mut strides = BTreeSet::new();
    for work in work {
        let cells: BTreeSet<Cell> = work.reads.iter().copied().chain([work.writes]).collect();
        let cells: Vec<Cell> = cells.into_iter().collect();
        let same = cells.windows(2).filter(|pair| pair[0].array == pair[1].array);
        strides.extend(same.map(|pair| pair[1].index - pair[0].index));
    }
    strides.into_iter().collect()
}

/// An array at the end of a phase.
fn contents<T: Element>(phase: &Phase, array: Array) -> Vec<T> {
    let bytes = match array {
        Array::Input => &phase.ranges[0],
        Array::Shared => &phase.shared,
        Array::Output => &phase.ranges[1],
    };
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn row<T: Element>(array: Array, values: Vec<T>) -> Row {
    Row { array, values: values.into_iter().map(T::value).collect() }
}

fn bank_use(access: &TracedAccess, size: u64) -> BankUse {
    let mut clashing = BTreeSet::new();
    if access.bank_conflicts > 0 {
        // Wide accesses are served in parts of the warp, and conflicts are within a part.
        let words = (u64::from(access.bytes) / BANK_BYTES).clamp(1, 4);
        let part = |lane: &LaneAccess| lane.thread % LANES / (LANES / words as u32);
        let mut asked: BTreeMap<(u32, u64), (BTreeSet<u64>, usize)> = BTreeMap::new();
        for lane in &access.lanes {
            let first = lane.address / BANK_BYTES;
            for word in first..first + words {
                let (words, lanes) =
                    asked.entry((part(lane), word % u64::from(LANES))).or_default();
                words.insert(word);
                *lanes += 1;
            }
        }
        // Lanes that read or write one word are served together; atomics on it are not.
        let atomic = access.access == Access::Atomic;
        let several =
            asked.into_values().filter(|(words, lanes)| words.len() > 1 || atomic && *lanes > 1);
        clashing.extend(several.flat_map(|(words, _)| words).map(|word| word * BANK_BYTES / size));
    }
    BankUse {
        kind: match access.access {
            Access::Read => "ld",
            Access::Write => "st",
            Access::Atomic => "atom",
        },
        warp: access.warp,
        wavefronts: access.wavefronts,
        conflicts: access.bank_conflicts,
        clashing: clashing.into_iter().collect(),
    }
}
