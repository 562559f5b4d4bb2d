//! Stores of a warp.

use std::sync::atomic::Ordering;
use std::sync::atomic::fence;

use super::request::{Request, by_space};
use super::value::source;
use crate::exec::env::Env;
use crate::exec::memory::{self, Allocation, MergedStores};
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::Access;
use crate::ir::{Slot, Space, Store};
use crate::registers::Registers;

pub(crate) fn store<O: Observer>(
    store: &Store,
    env: &mut Env<'_>,
    registers: &Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    if store.ordering.releases() {
        fence(Ordering::Release);
    }
    match store.width {
        1 => store_width::<1, O>(store, env, registers, at, mask, observer),
        2 => store_width::<2, O>(store, env, registers, at, mask, observer),
        4 => store_width::<4, O>(store, env, registers, at, mask, observer),
        _ => store_width::<8, O>(store, env, registers, at, mask, observer),
    }
}

fn store_width<const WIDTH: usize, O: Observer>(
    store: &Store,
    env: &mut Env<'_>,
    registers: &Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    let total = (WIDTH * store.sources.len()) as u64;
    by_space(
        Request::new(Access::Write, store.space, registers, store.address, mask, total),
        env.rank,
        |request| {
            env.acted |= request.space != Space::Local;
            let mut unchanged = if O::NOTES_WRITES { request.mask } else { 0 };
            match request.space {
                Space::Global | Space::Generic => {
                    let mut stores = MergedStores::default();
                    let mut last: Option<&Allocation> = None;
                    request.global(env, |lane, found, offset| {
                        // The lanes may access different allocations. The stores to one allocation
                        // are written before the stores to the next are collected.
                        if let Some(before) =
                            last.replace(found).filter(|last| last.base != found.base)
                        {
                            stores.flush(&before.words);
                        }
                        for (element, slot) in store.sources.iter().enumerate() {
                            let value = source(registers, *slot, lane);
                            let offset = offset + element * WIDTH;
                            if O::NOTES_WRITES {
                                let before = memory::load(&found.words, offset, WIDTH as u32);
                                let differs = (value ^ before) << (64 - 8 * WIDTH) != 0;
                                unchanged &= !(u32::from(differs) << lane);
                            }
                            stores.push(&found.words, offset, value, WIDTH as u32);
                        }
                    })?;
                    if let Some(found) = last {
                        stores.flush(&found.words);
                    }
                }
                Space::Param => request.refuse_parameter()?,
                Space::Shared | Space::Cluster | Space::Local => {
                    request.check_block(env)?;
                    let stride = env.program.local_stride();
                    let memory = request.memory(env);
                    for (element, slot) in store.sources.iter().enumerate() {
                        for lane in request.lanes() {
                            let value = source(registers, *slot, lane).to_le_bytes();
                            let start = request.lane_base(stride, at.warp, lane)
                                + request.addresses[lane] as usize;
                            let bytes = &mut memory[start + element * WIDTH..][..WIDTH];
                            if O::NOTES_WRITES && *bytes != value[..WIDTH] {
                                unchanged &= !(1 << lane);
                            }
                            bytes.copy_from_slice(&value[..WIDTH]);
                        }
                    }
                }
            }
            observer.store(env, at, request, unchanged, |a, b| {
                let differ =
                    |slot: &Slot| source(registers, *slot, a) ^ source(registers, *slot, b);
                store.sources.iter().all(|slot| differ(slot) << (64 - 8 * WIDTH) == 0)
            });
            Ok(())
        },
    )
}
