//! Atomics of a warp.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use super::request::{Request, by_space};
use super::value::{read, source};
use crate::exec::atomic;
use crate::exec::env::Env;
use crate::exec::memory;
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::{Access, FaultKind};
use crate::ir::{Atomic, Slot, Space};
use crate::ptx::ast::{AtomOp, Type};
use crate::registers::{LANES, Lane, Registers};

/// Executes an atomic, and returns whether any value in memory changed.
pub(crate) fn atomic<O: Observer>(
    atomic: &Atomic,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<bool, LaneFault> {
    let mut changed = false;
    let fenced = atomic.ordering.acquires() || atomic.ordering.releases();
    if fenced {
        fence(Ordering::SeqCst);
    }
    let width = atomic.ty.size();
    let total = u64::from(atomic.bytes());
    let request =
        Request::new(Access::Atomic, atomic.space, registers, atomic.address, mask, total);
    by_space(request, env.rank, |request| {
        if !atomic.more.is_empty() || atomic.ty == Type::B128 {
            let several = if atomic.ty == Type::B128 { wide } else { vector };
            changed |= several(atomic, request, env, registers, at.warp)?;
            observer.access(env, at, request);
            return Ok(());
        }
        let mut old = [0; LANES];
        let global = matches!(request.space, Space::Global | Space::Generic);
        each_cell(request, env, at.warp, |lane, cell| {
            let a = source(registers, atomic.a, lane);
            let b = atomic.b.map_or(0, |b| source(registers, b, lane));
            let change = |old| atomic::apply(atomic.op, atomic.ty, global, old, a, b);
            let (found, new) = match cell {
                Cell::Global(words, at) => {
                    let found = memory::update(words, at, width, change);
                    (found, change(found))
                }
                Cell::Block(bytes) => {
                    let found = read(bytes, 0, width as usize);
                    let new = change(found);
                    bytes.copy_from_slice(&new.to_le_bytes()[..width as usize]);
                    (found, new)
                }
            };
            old[lane] = found;
            changed |= new != found;
        })?;
        put(registers, atomic.target, request.mask, old);
        observer.access(env, at, request);
        Ok(())
    })?;
    if fenced {
        fence(Ordering::SeqCst);
    }
    env.acted |= changed;
    Ok(changed)
}

/// The memory that one lane's atomic changes.
enum Cell<'a> {
    /// Words of global memory, and the offset in bytes there.
    Global(&'a [AtomicU64], usize),
    /// The bytes in shared or local memory.
    Block(&'a mut [u8]),
}

/// Calls `each` with the cell of each lane, one lane after another.
#[inline(always)]
fn each_cell(
    request: &Request,
    env: &mut Env<'_>,
    warp: u32,
    mut each: impl FnMut(usize, Cell<'_>),
) -> Result<(), LaneFault> {
    match request.space {
        Space::Global | Space::Generic => {
            request.global(env, |lane, found, at| each(lane, Cell::Global(&found.words, at)))
        }
        Space::Param => request.refuse_parameter(),
        Space::Shared | Space::Cluster | Space::Local => {
            request.check_block(env)?;
            let stride = env.program.local_stride();
            let memory = request.memory(env);
            for lane in request.lanes() {
                let at = request.lane_base(stride, warp, lane) + request.addresses[lane] as usize;
                each(lane, Cell::Block(&mut memory[at..at + request.total as usize]));
            }
            Ok(())
        }
    }
}

/// Writes the old values to the target.
#[inline(always)]
fn put(registers: &mut Registers, target: Option<Slot>, mask: u32, old: [u64; LANES]) {
    match target {
        Some(Slot::Word(target)) => {
            <u32 as Lane>::put(registers, target, mask, old.map(|value| value as u32));
        }
        Some(Slot::Double(target)) => <u64 as Lane>::put(registers, target, mask, old),
        None => {}
    }
}

/// Changes the elements of a vector in global memory, each on its own. Returns whether any changed.
#[cold]
fn vector(
    atomic: &Atomic,
    request: &Request,
    env: &mut Env<'_>,
    registers: &mut Registers,
    _warp: u32,
) -> Result<bool, LaneFault> {
    if !matches!(request.space, Space::Global | Space::Generic) {
        let lane = request.mask.trailing_zeros();
        let address = request.addresses[lane as usize];
        return Err(Box::new((lane, FaultKind::NotGlobal { address })));
    }
    let mut changed = false;
    let width = atomic.ty.size();
    let mut results = Vec::new();
    let first = (atomic.target, atomic.a);
    for (element, (target, a)) in std::iter::once(&first).chain(&atomic.more).enumerate() {
        let mut old = [0; LANES];
        request.global(env, |lane, found, offset| {
            let a = source(registers, *a, lane);
            let change = |old| atomic::apply(atomic.op, atomic.ty, true, old, a, 0);
            let at = offset + element * width as usize;
            old[lane] = memory::update(&found.words, at, width, change);
            changed |= change(old[lane]) != old[lane];
        })?;
        results.push((*target, old));
    }
    // A target may also be the source of another element.
    for (target, old) in results {
        put(registers, target, request.mask, old);
    }
    Ok(changed)
}

/// Exchanges 128 bits, or compares and exchanges them. Returns whether any changed.
#[cold]
fn wide(
    atomic: &Atomic,
    request: &Request,
    env: &mut Env<'_>,
    registers: &mut Registers,
    warp: u32,
) -> Result<bool, LaneFault> {
    // Device memory consists of words of 64 bits, so one such atomic runs at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let whole = |slot: Slot, lane: usize| {
        let Slot::Double(first) = slot else { unreachable!("128 bits are two doubles") };
        let half = |register: u32| u128::from(registers.doubles[register as usize][lane]);
        half(first) | half(first + 1) << 64
    };
    let change = |lane: usize, old: u128| {
        let a = whole(atomic.a, lane);
        match (atomic.op, atomic.b) {
            (AtomOp::Cas, Some(b)) if old == a => whole(b, lane),
            (AtomOp::Cas, _) => old,
            _ => a,
        }
    };
    let (mut low, mut high, mut changed) = ([0; LANES], [0; LANES], false);
    each_cell(request, env, warp, |lane, cell| {
        let (old, new) = match cell {
            Cell::Global(words, at) => {
                let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
                let half = |at| u128::from(memory::load(words, at, 8));
                let old = half(at) | half(at + 8) << 64;
                let new = change(lane, old);
                if new != old {
                    memory::update(words, at, 8, |_| new as u64);
                    memory::update(words, at + 8, 8, |_| (new >> 64) as u64);
                }
                (old, new)
            }
            Cell::Block(bytes) => {
                let half = |at| u128::from(read(bytes, at, 8));
                let old = half(0) | half(8) << 64;
                let new = change(lane, old);
                bytes.copy_from_slice(&new.to_le_bytes());
                (old, new)
            }
        };
        (low[lane], high[lane]) = (old as u64, (old >> 64) as u64);
        changed |= new != old;
    })?;
    if let Some(Slot::Double(target)) = atomic.target {
        put(registers, Some(Slot::Double(target)), request.mask, low);
        put(registers, Some(Slot::Double(target + 1)), request.mask, high);
    }
    Ok(changed)
}
