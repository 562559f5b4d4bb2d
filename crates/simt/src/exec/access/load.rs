//! Loads of a warp.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::sync::atomic::fence;

use super::request::{Request, by_space};
use super::value::read;
use crate::exec::env::Env;
use crate::exec::memory;
use crate::exec::observer::{At, Observer};
use crate::exec::raised::LaneFault;
use crate::fault::Access;
use crate::ir::{Load, Slot, Space, Target};
use crate::registers::{LANES, Lane, Registers};

pub(crate) fn load<O: Observer>(
    load: &Load,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    match load.width {
        1 => load_width::<1, O>(load, env, registers, at, mask, observer)?,
        2 => load_width::<2, O>(load, env, registers, at, mask, observer)?,
        4 => load_width::<4, O>(load, env, registers, at, mask, observer)?,
        _ => load_width::<8, O>(load, env, registers, at, mask, observer)?,
    }
    if load.ordering.acquires() {
        fence(Ordering::Acquire);
    }
    Ok(())
}

fn load_width<const WIDTH: usize, O: Observer>(
    load: &Load,
    env: &mut Env<'_>,
    registers: &mut Registers,
    at: At,
    mask: u32,
    observer: &mut O,
) -> Result<(), LaneFault> {
    let total = (WIDTH * load.targets.len()) as u64;
    let request = Request::new(Access::Read, load.space, registers, load.address, mask, total);
    by_space(request, env.rank, |request| {
        if let [Some(target)] = load.targets[..]
            && load_run::<WIDTH>(request, target, env, registers).is_some()
        {
            observer.access(env, at, request);
            return Ok(());
        }
        // All addresses were computed before, because a target register may also be the base
        // register.
        for (element, target) in load.targets.iter().enumerate() {
            let mut values = [0; LANES];
            let skip = element * WIDTH;
            match request.space {
                Space::Global | Space::Generic => {
                    request.global(env, |lane, found, offset| {
                        values[lane] = memory::load(&found.words, offset + skip, WIDTH as u32);
                    })?;
                }
                Space::Shared | Space::Cluster | Space::Local | Space::Param => {
                    if request.space == Space::Param {
                        request.check_small(env.job.params.len() as u64)?;
                    } else {
                        request.check_block(env)?;
                    }
                    let bytes = match request.space {
                        Space::Local => &env.local[..],
                        Space::Param => &env.job.params[..],
                        _ => env.shared_of(request.peer),
                    };
                    for lane in 0..LANES {
                        let start = request.lane_base(env.program.local_stride(), at.warp, lane)
                            + request.addresses[lane] as usize;
                        values[lane] = read(bytes, start + skip, WIDTH);
                    }
                }
            }
            if let Some(target) = target {
                fill(registers, *target, request.mask, &values, load.signed, WIDTH as u32 * 8);
            }
        }
        observer.access(env, at, request);
        Ok(())
    })
}

/// Loads one run of bytes into a register that is as wide as the elements. Most loads have this
/// form. The function returns `None` for every other form and for faults, which the general path
/// handles.
#[inline(always)]
fn load_run<const WIDTH: usize>(
    request: &Request,
    target: Target,
    env: &mut Env<'_>,
    registers: &mut Registers,
) -> Option<()> {
    let first = request.run()?;
    let bytes = LANES * WIDTH;
    match request.space {
        Space::Global => {
            let found = env.job.memory.find(first, bytes as u64, &mut env.hint)?;
            let offset = (first - found.base) as usize;
            let words = found
                .words
                .get(offset / 8..(offset + bytes) / 8)
                .filter(|_| offset.is_multiple_of(8))?;
            put_run::<WIDTH>(registers, target, words.iter().map(|word| word.load(Relaxed)))
        }
        Space::Shared if request.peer.is_none() => {
            let words = env.shared.get(first as usize..)?.get(..bytes)?.as_chunks().0;
            put_run::<WIDTH>(registers, target, words.iter().map(|word| u64::from_le_bytes(*word)))
        }
        _ => None,
    }
}

/// Writes all lanes of a register that is as wide as the elements; `None` if the register has
/// another width.
#[inline(always)]
fn put_run<const WIDTH: usize>(
    registers: &mut Registers,
    target: Target,
    words: impl Iterator<Item = u64>,
) -> Option<()> {
    match target.slot {
        Slot::Word(register) if WIDTH == 4 => {
            let pairs = registers.words[register as usize].as_chunks_mut().0;
            for (pair, word) in pairs.iter_mut().zip(words) {
                *pair = [word as u32, (word >> 32) as u32];
            }
        }
        Slot::Double(register) if WIDTH == 8 => {
            for (lane, word) in registers.doubles[register as usize].iter_mut().zip(words) {
                *lane = word;
            }
        }
        _ => return None,
    }
    Some(())
}

/// Writes loaded values to a register, extended to its width.
#[inline(always)]
fn fill(
    registers: &mut Registers,
    target: Target,
    mask: u32,
    values: &[u64; LANES],
    signed: bool,
    bits: u32,
) {
    let extend = |value: u64| {
        if signed { ((value << (64 - bits)) as i64 >> (64 - bits)) as u64 } else { value }
    };
    match target.slot {
        Slot::Double(register) => <u64 as Lane>::put(registers, register, mask, values.map(extend)),
        Slot::Word(register) => {
            let keep = u32::MAX >> (32 - target.bits);
            <u32 as Lane>::put(
                registers,
                register,
                mask,
                values.map(|value| extend(value) as u32 & keep),
            );
        }
    }
}
