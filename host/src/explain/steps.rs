//! Turns a trace into steps: the cells that threads read before they wrote, and the values that the
//! arrays then held.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use simt::{Access, BlockTrace, LaneAccess, Phase, Space, TracedAccess};

use super::{
    Array, BankUse, Cell, Row, Step, Work,
    registers::{Exchange, exchanges},
};
use crate::element::Element;

/// The number of lanes of a warp, and of banks of shared memory.
const LANES: u32 = 32;
/// The number of bytes in one word of a bank.
const BANK_BYTES: u64 = 4;

/// The steps of the launches so far.
pub(super) struct Story<T> {
    pub(super) steps: Vec<Step>,
    identity: T,
    shared_cells: u64,
    shared_shown: u64,
    registers_shown: u64,
    /// What the registers of the threads are known to hold.
    registers: Vec<T>,
    numbers: u32,
}

impl<T: Element> Story<T> {
    pub(super) fn new(identity: T) -> Self {
        Self {
            steps: Vec::new(),
            identity,
            shared_cells: 0,
            shared_shown: 0,
            registers_shown: 0,
            registers: Vec::new(),
            numbers: 0,
        }
    }

    /// The number of cells in the shared memory of a block.
    pub(super) fn shared_cells(&self) -> u64 {
        self.shared_cells
    }

    /// How many of them are shown.
    pub(super) fn shared_shown(&self) -> u64 {
        self.shared_shown
    }

    /// Adds the steps of a block of the next launch. `input` is what the launch began with, and
    /// `ranges` are the addresses of its input and its output.
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
        // The array that the picture shows last. The input of a later launch is shown already,
        // because it is what the launch before left.
        let mut last = Array::Input;
        let ends: Vec<bool> = (0..drafts.len())
            .map(|index| drafts.get(index + 1).is_none_or(|next| next.phase != drafts[index].phase))
            .collect();
        for (draft, ends) in drafts.into_iter().zip(ends) {
            let phase = &block.phases[draft.phase];
            let (work, others): (Vec<_>, Vec<_>) = draft
                .work
                .into_iter()
                .map(|work| self.without_unshown_lanes(work))
                .partition(|work| self.shows(work));
            let strides = strides(work.iter().chain(&others));
            let combines = work.iter().chain(&others).any(|work| work.reads.len() > 1);
            self.numbers += u32::from(combines);
            let read: BTreeSet<Array> = work
                .iter()
                .chain(&others)
                .flat_map(|work| &work.reads)
                .map(|cell| cell.array)
                .collect();
            // If a step reads several arrays, the values come from the one that it does not write:
            // a thread adds them to its own cell.
            let from = read.iter().copied().find(|array| *array != draft.to).unwrap_or(draft.to);
            let before = (from != last).then(|| held.get(&from).cloned()).flatten();
            let written = work.iter().map(|work| work.writes.index + 1).max().unwrap_or(0) as usize;
            let mut values = match draft.to {
                Array::Registers => self.update_registers(&draft.registers),
                _ => contents::<T>(phase, draft.to),
            };
            values.truncate(match draft.to {
                Array::Input => values.len(),
                Array::Registers => self.registers_shown as usize,
                Array::Shared => self.shared_shown as usize,
                // Cells behind the last written one belong to other blocks, whose results may or
                // may not be there by now.
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
                unread: draft.unread,
                banks: draft.banks,
                // What orders the exchanges of a warp is the exchange itself.
                end: (draft.to != Array::Registers || ends).then_some(phase.end),
            });
        }
    }

    /// Finds how many cells of shared memory are worth showing: all up to the last one that ever
    /// holds something other than the identity, or that an input is copied to. The number is
    /// rounded up to a power of two, because the levels of the tree are powers of two.
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
        let lanes = drafts.iter().flat_map(|draft| &draft.registers);
        let lanes = lanes.filter(|(_, bits)| !element::<T>(**bits).value().is_same(identity));
        let lanes = lanes.map(|(thread, _)| u64::from(*thread) + 1).max().unwrap_or(0);
        let loaded = drafts.iter().filter(|draft| draft.to == Array::Registers);
        let loaded = loaded
            .flat_map(|draft| &draft.work)
            .filter(|work| work.reads.iter().any(|cell| cell.array != Array::Registers));
        let loaded = loaded.map(|work| work.writes.index + 1).max().unwrap_or(0);
        let lanes = lanes.max(loaded);
        if lanes > 0 {
            self.registers_shown = self.registers_shown.max(lanes.next_power_of_two());
        }
        self.shared_cells = cells as u64;
        self.shared_shown = self.shared_shown.max(used.min(cells) as u64);
    }

    /// A thread that gets the values of all lanes at once is shown with those lanes that are shown.
    fn without_unshown_lanes(&self, mut work: Work) -> Work {
        if work.reads.len() > 2 {
            work.reads
                .retain(|cell| cell.array != Array::Registers || cell.index < self.registers_shown);
        }
        work
    }

    fn shows(&self, work: &Work) -> bool {
        let shown = |cell: &Cell| match cell.array {
            Array::Shared => cell.index < self.shared_shown,
            Array::Registers => cell.index < self.registers_shown,
            Array::Input | Array::Output => true,
        };
        work.reads.iter().chain([&work.writes]).all(shown)
    }

    /// The elements in the registers of the threads: those that are known now, and what the others
    /// held before.
    fn update_registers(&mut self, known: &BTreeMap<u32, u64>) -> Vec<T> {
        let end = known.keys().next_back().map_or(0, |&thread| thread as usize + 1);
        if self.registers.len() < end {
            self.registers.resize(end, self.identity);
        }
        for (&thread, &bits) in known {
            self.registers[thread as usize] = element(bits);
        }
        self.registers[..end].to_vec()
    }
}

/// The changes of one array in one phase.
struct Draft {
    phase: usize,
    to: Array,
    /// The work, in the order of the cells that are written.
    work: Vec<Work>,
    /// Threads that worked too, but nobody reads their results.
    unread: Vec<u32>,
    /// If registers are written: the bits of each thread's element afterwards.
    registers: BTreeMap<u32, u64>,
    banks: Vec<BankUse>,
}

/// Work in registers that all warps do at the same place in their order of exchanges.
#[derive(Default)]
struct Level {
    work: Vec<Work>,
    /// The bits of each thread's element after the work, where they are known.
    after: BTreeMap<u32, u64>,
}

/// The exchanges of the warps of a block in one phase.
#[derive(Default)]
struct Lanes {
    levels: Vec<Level>,
    /// For each warp, how many levels it has.
    counts: BTreeMap<u32, usize>,
    /// For each warp, the level whose results show in the warp's next exchange or store.
    open: BTreeMap<u32, usize>,
}

impl Lanes {
    /// The next level of a warp.
    fn next(&mut self, warp: u32) -> usize {
        let count = self.counts.entry(warp).or_default();
        *count += 1;
        if self.levels.len() < *count {
            self.levels.push(Level::default());
        }
        *count - 1
    }

    fn exchange(&mut self, exchange: &Exchange, pending: &mut BTreeMap<u32, Vec<Cell>>) {
        let own = |thread: u32| Cell { array: Array::Registers, index: thread.into() };
        let is_memory = |cell: &&Cell| cell.array != Array::Registers;
        let loads: Vec<Work> = exchange
            .lanes
            .iter()
            .filter_map(|lane| {
                let reads = pending.get(&lane.thread)?.iter().filter(is_memory).copied();
                let reads: Vec<Cell> = reads.collect();
                let work = Work { thread: lane.thread, reads, writes: own(lane.thread) };
                (!work.reads.is_empty()).then_some(work)
            })
            .collect();
        // What a lane gives is what it held after the work before.
        let level = if loads.is_empty() {
            self.open.remove(&exchange.warp)
        } else {
            let level = self.next(exchange.warp);
            self.levels[level].work.extend(loads);
            Some(level)
        };
        if let Some(level) = level {
            let gave = exchange.lanes.iter().map(|lane| (lane.thread, lane.gave));
            self.levels[level].after.extend(gave);
        }
        let level = self.next(exchange.warp);
        for lane in &exchange.lanes {
            let first = exchange.warp * LANES;
            let others = (0..LANES).filter(|other| lane.from >> other & 1 == 1);
            let mut reads = vec![own(lane.thread)];
            reads.extend(
                others.map(|other| first + other).filter(|other| *other != lane.thread).map(own),
            );
            let work = Work { thread: lane.thread, reads, writes: own(lane.thread) };
            self.levels[level].work.push(work);
            pending.insert(lane.thread, vec![own(lane.thread)]);
        }
        self.open.insert(exchange.warp, level);
    }

    /// A thread stored what it held in a register.
    fn stored(&mut self, warp: u32, thread: u32, bits: u64) {
        if let Some(&level) = self.open.get(&warp) {
            self.levels[level].after.insert(thread, bits);
        }
    }

    fn drafts(self, phase: usize) -> impl Iterator<Item = Draft> {
        self.levels.into_iter().map(move |level| {
            let (mut work, unread): (Vec<_>, Vec<_>) =
                level.work.into_iter().partition(|work| level.after.contains_key(&work.thread));
            work.sort_by_key(|work| work.writes.index);
            Draft {
                phase,
                to: Array::Registers,
                work,
                unread: unread.into_iter().map(|work| work.thread).collect(),
                registers: level.after,
                banks: Vec::new(),
            }
        })
    }
}

fn drafts(block: &BlockTrace, ranges: &[Range<u64>], size: u64) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    // The cells that each thread has read since its last write. They are kept from phase to phase,
    // because a step may read before a synchronisation and write after it.
    let mut pending: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
    let mut banks = Vec::new();
    for (index, phase) in block.phases.iter().enumerate() {
        let mut written: BTreeMap<Array, Vec<Work>> = BTreeMap::new();
        let mut lanes = Lanes::default();
        let exchanges = exchanges(phase, size);
        let mut exchanges = exchanges.iter().peekable();
        for access in &phase.accesses {
            while let Some(exchange) = exchanges.next_if(|exchange| exchange.time < access.time) {
                lanes.exchange(exchange, &mut pending);
            }
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
                if reads.iter().any(|cell| cell.array == Array::Registers) {
                    lanes.stored(access.warp, lane.thread, bits(&lane.value));
                }
                for writes in cells {
                    let work = Work { thread: lane.thread, reads: reads.clone(), writes };
                    written.entry(writes.array).or_default().push(work);
                }
            }
        }
        exchanges.for_each(|exchange| lanes.exchange(exchange, &mut pending));
        drafts.extend(lanes.drafts(index));
        for (to, mut work) in written {
            // The sort is stable, so a second write of a cell stays behind the first.
            work.sort_by_key(|work| work.writes.index);
            drafts.push(Draft {
                phase: index,
                to,
                work,
                unread: Vec::new(),
                registers: BTreeMap::new(),
                banks: std::mem::take(&mut banks),
            });
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

/// All distances between neighbouring cells of one array that a thread reads or writes.
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

/// The values of an array at the end of a phase.
fn contents<T: Element>(phase: &Phase, array: Array) -> Vec<T> {
    let bytes = match array {
        Array::Input => &phase.ranges[0],
        Array::Registers => &Vec::new(),
        Array::Shared => &phase.shared,
        Array::Output => &phase.ranges[1],
    };
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// The element with these bits.
fn element<T: Element>(bits: u64) -> T {
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

/// Up to eight bytes as a number.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

fn row<T: Element>(array: Array, values: Vec<T>) -> Row {
    Row { array, values: values.into_iter().map(T::value).collect() }
}

fn bank_use(access: &TracedAccess, size: u64) -> BankUse {
    let mut clashing = BTreeSet::new();
    if access.bank_conflicts > 0 {
        // A wide access is served in several parts of the warp, and lanes conflict only within
        // their part.
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
        // Lanes that read or write the same word are served together, but atomic operations on the
        // same word are not.
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
