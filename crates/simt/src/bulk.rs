//! Asynchronous copies, and instructions that speak of them without waiting.
//!
//! A copy ends as late as it may: one that tells an mbarrier when a thread looks at the phase that only waits for
//! copies, one of a group when its thread waits for the group. What is copied is what lies at the source then. So a kernel
//! that does not wait finds the old bytes at the destination, and one that reuses the source too early copies the new ones.
//! (`cp.async.mbarrier.arrive` ends the copies of its thread at once.)

use std::collections::{BTreeMap, VecDeque};

use crate::address::{Position, address_of};
use crate::block::Env;
use crate::fault::{Access, FaultKind, Nearest, Space};
use crate::ir::{Arrive, Async, BulkCopy, MemoryOperand};
use crate::mbarrier::{self, Change, SIZE};
use crate::memory::{self, MergedStores};
use crate::observe::{At, MbarrierChange, Observer};
use crate::ptx::ast::{Ordering, Scope};
use crate::registers::{LANES, Registers};
use crate::warp::LaneFault;

/// Bulk copies begin, end and are sized in units of so many bytes.
const UNIT: u64 = 16;

/// A place in the shared memory of a block of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SharedCell {
    pub(crate) rank: u32,
    pub(crate) offset: u32,
}

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Global(u64),
    Shared(SharedCell),
}

impl End {
    fn rank(self) -> Option<u32> {
        match self {
            End::Shared(cell) => Some(cell.rank),
            End::Global(_) => None,
        }
    }
}

/// A copy in flight.
#[derive(Debug, Clone)]
pub(crate) struct Copy {
    /// Who began it: rank, thread in the block and instruction.
    pub(crate) rank: u32,
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) to: End,
    pub(crate) from: End,
    /// Bytes at the destination.
    pub(crate) bytes: u32,
    /// Bytes that are read; the others become zero.
    pub(crate) read: u32,
    /// Where its end is told.
    pub(crate) mbarrier: Option<SharedCell>,
    /// Whether it is a bulk copy, not a `cp.async` of a thread's few bytes.
    pub(crate) bulk: bool,
    /// Its bytes, once they have been read before they are written.
    data: Option<Vec<u8>>,
}

/// The copies of a thread that it waits for in groups.
#[derive(Debug, Default)]
struct Groups {
    open: Vec<Copy>,
    committed: VecDeque<Vec<Copy>>,
}

impl Groups {
    fn all(&self) -> impl Iterator<Item = &Copy> {
        self.committed.iter().flatten().chain(&self.open)
    }
}

/// What is in flight in a cluster.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Those that tell an mbarrier.
    told: Vec<Copy>,
    /// By rank, thread, and whether they are bulk copies.
    groups: BTreeMap<(u32, u32, bool), Groups>,
}

impl Copies {
    /// A copy that needs shared memory of the block of rank `rank`, which has ended. One whose source has been read needs
    /// none.
    pub(crate) fn of_ended(&self, rank: u32) -> Option<&Copy> {
        let touches = |copy: &&Copy| {
            let source = copy.data.is_none() && copy.from.rank() == Some(rank);
            source || copy.to.rank() == Some(rank) || copy.mbarrier.is_some_and(|cell| cell.rank == rank)
        };
        self.told.iter().chain(self.groups.values().flat_map(Groups::all)).find(touches)
    }
}

/// Bytes of copies that will be told to an mbarrier.
pub(crate) fn in_flight(env: &Env<'_>, cell: SharedCell) -> i64 {
    let told = env.cluster.copies.told.iter().filter(|copy| copy.mbarrier == Some(cell));
    told.map(|copy| i64::from(copy.bytes)).sum()
}

/// Ends the copies that an mbarrier is told of.
pub(crate) fn deliver<O: Observer>(env: &mut Env<'_>, observer: &mut O, cell: SharedCell) -> Result<(), FaultKind> {
    let told = std::mem::take(&mut env.cluster.copies.told);
    let (done, others) = told.into_iter().partition(|copy| copy.mbarrier == Some(cell));
    env.cluster.copies.told = others;
    let done: Vec<Copy> = done;
    for copy in done {
        finish(env, observer, &copy);
        mbarrier::change(env, observer, cell, Change { complete: copy.bytes, ..Change::default() })?;
    }
    Ok(())
}

/// Moves the bytes of a copy.
fn finish<O: Observer>(env: &mut Env<'_>, observer: &mut O, copy: &Copy) {
    let data = match &copy.data {
        Some(data) => data.clone(),
        None => read(env, copy),
    };
    match copy.to {
        End::Shared(cell) => {
            env.shared_of_mut(Some(cell.rank))[cell.offset as usize..][..data.len()].copy_from_slice(&data);
        }
        End::Global(address) => {
            // It was found when the copy began, and a launch keeps what it can see.
            let mut hint = 0;
            if let Some(found) = env.grid.memory.find(address, data.len() as u64, &mut hint) {
                let offset = (address - found.base) as usize;
                let mut stores = MergedStores::default();
                for (i, word) in data.as_chunks::<4>().0.iter().enumerate() {
                    stores.push(&found.words, offset + i * 4, u64::from(u32::from_le_bytes(*word)), 4);
                }
                stores.flush(&found.words);
            }
        }
    }
    env.acted = true;
    observer.copy_end(env, copy);
}

/// What lies at the source of a copy.
fn read(env: &Env<'_>, copy: &Copy) -> Vec<u8> {
    let mut data = match copy.from {
        End::Shared(cell) => env.shared_of(Some(cell.rank))[cell.offset as usize..][..copy.read as usize].to_vec(),
        End::Global(address) => {
            let mut hint = 0;
            let found = env.grid.memory.find(address, u64::from(copy.read).max(1), &mut hint);
            let byte = |i: u32| {
                found.map_or(0, |found| {
                    memory::load(&found.words, (address - found.base) as usize + i as usize, 1) as u8
                })
            };
            (0..copy.read).map(byte).collect()
        }
    };
    data.resize(copy.bytes as usize, 0);
    data
}

/// Where a lane's shared memory operand lies, of which it accesses `bytes` bytes; an mbarrier is aligned to its size, a
/// copy to its unit.
pub(crate) fn locate(
    operand: &MemoryOperand,
    env: &Env<'_>,
    registers: &Registers,
    lane: u32,
    access: Access,
    bytes: u64,
) -> Result<SharedCell, FaultKind> {
    let address = address_of(registers, operand.address, lane as usize);
    let (position, offset) = Position::of(operand.space, address, env.rank);
    let Position::Shared(peer) = position else {
        return Err(FaultKind::NotShared { address });
    };
    if let Some(kind) = peer.and_then(|rank| env.refuses_peer(rank)) {
        return Err(kind);
    }
    let align = if bytes.is_power_of_two() { bytes.min(UNIT) } else { UNIT };
    if !offset.is_multiple_of(align) {
        return Err(FaultKind::Misaligned { space: Space::Shared, access, bytes, address: offset, align });
    }
    let size = env.shared.len() as u64;
    let end = offset.saturating_add(bytes);
    if end > size {
        let nearest = Some(Nearest { base: 0, bytes: size, missed_by: end - size, past_end: true });
        return Err(FaultKind::OutOfBounds { space: Space::Shared, access, bytes, address: offset, nearest });
    }
    Ok(SharedCell { rank: env.rank_of(peer), offset: offset as u32 })
}

/// Where a lane's end of a copy lies.
fn end(
    operand: &MemoryOperand,
    env: &mut Env<'_>,
    registers: &Registers,
    lane: u32,
    access: Access,
    (bytes, align): (u64, u64),
) -> Result<End, FaultKind> {
    let address = address_of(registers, operand.address, lane as usize);
    let (Position::Global, address) = Position::of(operand.space, address, env.rank) else {
        return locate(operand, env, registers, lane, access, bytes).map(End::Shared);
    };
    if !address.is_multiple_of(align) {
        return Err(FaultKind::Misaligned { space: Space::Global, access, bytes, address, align });
    }
    let view = &env.grid.memory;
    if bytes > 0 && view.find(address, bytes, &mut env.hint).is_none() {
        return Err(view.explain(access, address, bytes));
    }
    Ok(End::Global(address))
}

/// Executes an instruction in the lanes of `mask`, one after another.
#[inline(never)]
pub(crate) fn execute<O: Observer>(
    op: &Async,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    if let Async::TestWait(wait) = op {
        return mbarrier::test(wait, env, registers, at, mask, observer);
    }
    for lane in (0..LANES as u32).filter(|lane| mask >> lane & 1 == 1) {
        execute_lane(op, env, registers, (at, lane), observer).map_err(|kind| Box::new((lane, kind)))?;
    }
    Ok(())
}

fn execute_lane<O: Observer>(
    op: &Async,
    env: &mut Env<'_>,
    registers: &mut Registers,
    (at, lane): (At, u32),
    observer: &mut O,
) -> Result<(), FaultKind> {
    let word = |register: u32| registers.words[register as usize][lane as usize];
    let thread = at.warp * LANES as u32 + lane;
    let cell =
        |operand: &MemoryOperand, env: &Env<'_>| locate(operand, env, registers, lane, Access::Atomic, u64::from(SIZE));
    match op {
        Async::TestWait(_) => {}
        Async::Init { mbarrier, count } => {
            let cell = cell(mbarrier, env)?;
            mbarrier::init(env, cell, word(*count))?;
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Init);
        }
        Async::Invalidate { mbarrier } => {
            let cell = cell(mbarrier, env)?;
            mbarrier::invalidate(env, cell)?;
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Other);
        }
        Async::Arrive(arrive) => {
            let cell = cell(&arrive.mbarrier, env)?;
            let Arrive { drop, expects, no_complete, ordering, target, operand, .. } = *arrive;
            let operand = operand.map(word);
            let (arrivals, expect) = if expects { (1, operand.unwrap_or(0)) } else { (operand.unwrap_or(1), 0) };
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Arrive(ordering));
            let change = Change { arrivals, drop, no_complete, expect, complete: 0 };
            let state = mbarrier::change(env, observer, cell, change)?;
            if let Some(target) = target {
                registers.doubles[target as usize][lane as usize] = state;
            }
        }
        Async::Transactions { mbarrier, completes, count } => {
            let cell = cell(mbarrier, env)?;
            let (expect, complete) = if *completes { (0, word(*count)) } else { (word(*count), 0) };
            observer.mbarrier(env, at, lane, cell, MbarrierChange::Other);
            mbarrier::change(env, observer, cell, Change { expect, complete, ..Change::default() })?;
        }
        Async::Bulk(copy) => begin_bulk(copy, env, registers, (at, lane), observer)?,
        Async::Copy { to, from, bytes, read } => {
            let read = read.map_or(*bytes, word).min(*bytes);
            let size = u64::from(*bytes);
            let copy = Copy {
                rank: env.rank,
                thread,
                pc: at.pc,
                to: end(to, env, registers, lane, Access::Write, (size, size))?,
                from: end(from, env, registers, lane, Access::Read, (u64::from(read), size))?,
                bytes: *bytes,
                read,
                mbarrier: None,
                bulk: false,
                data: None,
            };
            begin(env, observer, at, copy);
        }
        Async::CopyArrive { mbarrier, counted } => {
            let cell = cell(mbarrier, env)?;
            wait_groups(env, observer, (thread, false), None, false);
            if *counted {
                observer.mbarrier(env, at, lane, cell, MbarrierChange::Arrive(Ordering::Release(Scope::Cta)));
                mbarrier::change(env, observer, cell, Change { arrivals: 1, ..Change::default() })?;
            }
        }
        Async::Commit { bulk } => {
            let groups = env.cluster.copies.groups.entry((env.rank, thread, *bulk)).or_default();
            groups.committed.push_back(std::mem::take(&mut groups.open));
        }
        Async::Wait { bulk, groups, read } => wait_groups(env, observer, (thread, *bulk), *groups, *read),
    }
    Ok(())
}

/// Begins a bulk copy, or one for each block of a multicast.
fn begin_bulk<O: Observer>(
    copy: &BulkCopy,
    env: &mut Env<'_>,
    registers: &Registers,
    (at, lane): (At, u32),
    observer: &mut O,
) -> Result<(), FaultKind> {
    let word = |register: u32| registers.words[register as usize][lane as usize];
    let bytes = word(copy.size);
    let size = u64::from(bytes);
    if !size.is_multiple_of(UNIT) {
        return Err(FaultKind::CopySize { bytes });
    }
    let to = end(&copy.to, env, registers, lane, Access::Write, (size, UNIT))?;
    let from = end(&copy.from, env, registers, lane, Access::Read, (size, UNIT))?;
    let mbarrier = match &copy.mbarrier {
        Some(operand) => Some(locate(operand, env, registers, lane, Access::Atomic, u64::from(SIZE))?),
        None => None,
    };
    let ranks = copy.mask.map(word);
    for rank in (0..u16::BITS).filter(|rank| ranks.is_none_or(|ranks| ranks >> rank & 1 == 1)) {
        let of_rank = |cell: SharedCell| if ranks.is_some() { SharedCell { rank, ..cell } } else { cell };
        if ranks.is_some()
            && let Some(kind) = env.refuses_peer(rank)
        {
            return Err(kind);
        }
        let to = match to {
            End::Shared(cell) => End::Shared(of_rank(cell)),
            End::Global(_) => to,
        };
        let mbarrier = mbarrier.map(of_rank);
        if let Some(cell) = mbarrier {
            mbarrier::load(env, cell)?;
        }
        let thread = at.warp * LANES as u32 + lane;
        let (rank, pc, read) = (env.rank, at.pc, bytes);
        begin(env, observer, at, Copy { rank, thread, pc, to, from, bytes, read, mbarrier, bulk: true, data: None });
        if ranks.is_none() {
            break;
        }
    }
    Ok(())
}

fn begin<O: Observer>(env: &mut Env<'_>, observer: &mut O, at: At, copy: Copy) {
    if copy.bytes == 0 {
        return;
    }
    observer.copy_begin(env, at, &copy);
    let copies = &mut env.cluster.copies;
    if copy.mbarrier.is_some() {
        copies.told.push(copy);
        // Whoever waits for its end can have it now.
        env.cluster.events += 1;
    } else {
        copies.groups.entry((copy.rank, copy.thread, copy.bulk)).or_default().open.push(copy);
    }
}

/// Ends all groups of a thread but the last `keep`, or everything that it has begun. `read`: only their sources have to be
/// read.
fn wait_groups<O: Observer>(
    env: &mut Env<'_>,
    observer: &mut O,
    (thread, bulk): (u32, bool),
    keep: Option<u32>,
    only_read: bool,
) {
    let key = (env.rank, thread, bulk);
    let Some(mut groups) = env.cluster.copies.groups.remove(&key) else { return };
    if keep.is_none() {
        groups.committed.push_back(std::mem::take(&mut groups.open));
    }
    let over = groups.committed.len().saturating_sub(keep.unwrap_or(0) as usize);
    if only_read {
        for copy in groups.committed.iter_mut().take(over).flatten().filter(|copy| copy.data.is_none()) {
            copy.data = Some(read(env, copy));
            observer.copy_read(env, copy);
        }
    } else {
        for copy in groups.committed.drain(..over).flatten() {
            finish(env, observer, &copy);
        }
    }
    if groups.all().next().is_some() {
        env.cluster.copies.groups.insert(key, groups);
    }
}

/// Ends the copies of the block at hand, which has ended, that no longer need its shared memory.
pub(crate) fn finish_block<O: Observer>(env: &mut Env<'_>, observer: &mut O) {
    let rank = env.rank;
    let threads: Vec<_> =
        env.cluster.copies.groups.range((rank, 0, false)..(rank + 1, 0, false)).map(|(key, _)| *key).collect();
    for (_, thread, bulk) in threads {
        wait_groups(env, observer, (thread, bulk), None, false);
    }
}
