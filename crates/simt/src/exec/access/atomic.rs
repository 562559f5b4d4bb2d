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
use crate::fault::Access;
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
    let total = u64::from(width);
    let request =
        Request::new(Access::Atomic, atomic.space, registers, atomic.address, mask, total);
    by_space(request, env.rank, |request| {
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
        match atomic.target {
            Some(Slot::Word(target)) => {
                <u32 as Lane>::put(registers, target, request.mask, old.map(|value| value as u32));
            }
            Some(Slot::Double(target)) => <u64 as Lane>::put(registers, target, request.mask, old),
            None => {}
        }
        observer.access(env, at, request);
        Ok(())
    })?;
    if fenced {
        fence(Ordering::SeqCst);
    }
    env.acted |= changed;
    Ok(changed)
}
