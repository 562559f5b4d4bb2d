//! Atomics of a warp.

use std::sync::atomic::Ordering;
use std::sync::atomic::fence;

use super::request::{Request, by_space};
use super::value::{read, source};
use crate::exec::atomic;
use crate::exec::env::Env;
use crate::exec::memory;
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::{Access, FaultKind};
use crate::ir::{Atomic, Slot, Space};
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
        if !atomic.more.is_empty() {
            changed |= vector(atomic, request, env, registers)?;
            observer.access(env, at, request);
            return Ok(());
        }
        let mut old = [0; LANES];
        let global = matches!(request.space, Space::Global | Space::Generic);
        let change = |registers: &Registers, lane: usize| {
            let a = source(registers, atomic.a, lane);
            let b = atomic.b.map_or(0, |b| source(registers, b, lane));
            move |old| atomic::apply(atomic.op, atomic.ty, global, old, a, b)
        };
        match request.space {
            Space::Global | Space::Generic => request.global(env, |lane, found, offset| {
                let change = change(registers, lane);
                old[lane] = memory::update(&found.words, offset, width, change);
                changed |= change(old[lane]) != old[lane];
            })?,
            Space::Param => request.refuse_parameter()?,
            Space::Shared | Space::Cluster | Space::Local => {
                request.check_block(env)?;
                let stride = env.program.local_stride();
                let memory = request.memory(env);
                for lane in request.lanes() {
                    let start =
                        request.lane_base(stride, at.warp, lane) + request.addresses[lane] as usize;
                    let bytes = &mut memory[start..start + width as usize];
                    old[lane] = read(bytes, 0, width as usize);
                    let new = change(registers, lane)(old[lane]);
                    changed |= new != old[lane];
                    let new = new.to_le_bytes();
                    bytes.copy_from_slice(&new[..width as usize]);
                }
            }
        }
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
