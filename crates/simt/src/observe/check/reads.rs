//! Undefined bits on their way from memory to registers and back.

use super::detector::{Block, Check};
use super::findings::{Unwritten, access_of};
use super::operands::{loaded, old_values};
use super::report::{MemoryAccess, Severity};
use super::shadows::word_key;
use super::threads::lanes;
use super::undefined::{From, Origin, Register, Undefined, register};
use super::uses::Use;
use crate::exec::access::Request;
use crate::exec::block_id::BlockId;
use crate::exec::env::Env;
use crate::exec::memory::Written;
use crate::exec::observer::At;
use crate::fault::Access;
use crate::ir::{Op, Space};
use crate::ptx::ast::AtomOp;
use crate::registers::{File, LANES};

/// The place of an access.
#[derive(Debug, Clone, Copy)]
enum Place {
    Global(u64),
    /// An offset into the shared memory of the block that runs, or of another block.
    Shared(Option<BlockId>, u64),
    /// An offset into the local memory of the block's threads.
    Local(u64),
}

impl Place {
    /// The place of the bytes that a lane accesses.
    fn of(env: &Env<'_>, at: At, request: &Request, lane: usize) -> Place {
        let address = request.addresses[lane];
        match request.space {
            Space::Local => {
                let thread = at.warp as usize * LANES + lane;
                Place::Local((thread * env.program.local_stride()) as u64 + address)
            }
            Space::Shared | Space::Cluster => {
                let home = env.id_of(env.rank_of(request.peer));
                Place::Shared((home != env.id()).then_some(home), address)
            }
            Space::Global | Space::Generic | Space::Param => Place::Global(address),
        }
    }
}

impl Check {
    /// Reports a read of bytes that nothing has written, and marks the registers that receive them.
    /// An instruction that computes with the bytes uses them at once.
    pub(super) fn unwritten(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        unwritten: Unwritten,
    ) {
        let dropped = (Severity::Warning, 0);
        let targets: Vec<(Register, [u64; LANES])> = match &env.program.code[at.pc as usize].op {
            Op::Load(load) => {
                let targets = load.targets.iter().enumerate().filter_map(|(element, target)| {
                    let target = (*target)?;
                    let bits =
                        |lane: usize| loaded(load, element, target.bits, unwritten.bytes[lane]);
                    Some((register(target.slot), std::array::from_fn(bits)))
                });
                targets.collect()
            }
            Op::Atomic(atomic) if atomic.op == AtomOp::Exch => {
                let width = atomic.ty.size().min(8) as usize;
                let targets = old_values(atomic).into_iter().map(|(element, target)| {
                    let all = if target.0 == File::Doubles { u64::MAX } else { u32::MAX.into() };
                    let bytes = (u32::MAX >> (32 - width)) << (element * width);
                    let bits =
                        |lane: usize| if unwritten.bytes[lane] & bytes == 0 { 0 } else { all };
                    (target, std::array::from_fn(bits))
                });
                targets.collect()
            }
            _ => {
                self.uninitialized(env, at, request, (Severity::Error, 1), unwritten);
                return;
            }
        };
        // Bits that a store has put there are reported where they come from.
        let stored: [Option<From>; LANES] = std::array::from_fn(|lane| {
            (unwritten.bytes[lane] != 0).then(|| self.stored_at(env, at, request, lane)).flatten()
        });
        let fresh = lanes(unwritten.lanes).filter(|lane| stored[*lane as usize].is_none());
        let fresh = fresh.fold(0u32, |all, lane| all | 1 << lane);
        // Compilers copy local variables that have no value yet.
        if fresh != 0 && request.space != Space::Local {
            let missing = unwritten.bytes[fresh.trailing_zeros() as usize].count_ones();
            let fresh = Unwritten { lanes: fresh, missing, ..unwritten };
            self.uninitialized(env, at, request, dropped, fresh);
        }
        let accesses = (0..LANES)
            .map(|lane| MemoryAccess { access: Access::Read, ..access_of(env, request, lane) });
        let read = Some((request.space, accesses.collect()));
        let origin = Origin { pc: at.pc, ticket: env.id(), warp: at.warp, read };
        let origin = self.origins.add(origin);
        for (target, bits) in targets {
            let mut out = Undefined::default();
            for lane in lanes(request.mask).filter(|lane| bits[*lane as usize] != 0) {
                let from = From { origin, lane: lane as u8 };
                let from = stored[lane as usize].unwrap_or(from);
                out.mark(lane as usize, bits[lane as usize], from, false);
            }
            self.values(at.warp).put(target, request.mask, &out);
        }
        self.retaint(at.warp);
    }

    /// Watches an access to local memory, in which each thread has bytes of its own.
    pub(super) fn touch_local(&mut self, env: &Env<'_>, at: At, request: &Request) {
        let block = self.block.as_mut().expect("a block runs whenever something is observed");
        let written = &block.shared.local;
        let (stride, bytes) = (env.program.local_stride(), request.total as usize);
        let mut unwritten = Unwritten::default();
        for lane in lanes(request.mask) {
            let thread = at.warp as usize * LANES + lane as usize;
            let start = thread * stride + request.addresses[lane as usize] as usize;
            if request.access != Access::Write {
                let missing = written.missing(start, bytes);
                if missing > 0 {
                    unwritten.missing =
                        if unwritten.lanes == 0 { missing } else { unwritten.missing };
                    unwritten.lanes |= 1 << lane;
                    unwritten.bytes[lane as usize] = (0..bytes).fold(0, |all, byte| {
                        all | u32::from(written.missing(start + byte, 1) > 0) << byte
                    });
                }
            }
            if request.access != Access::Read {
                written.set(start, bytes);
            }
        }
        if unwritten.lanes != 0 {
            self.unwritten(env, at, request, unwritten);
        }
    }

    /// Passes undefined bits on to the memory that a store has written. A store to global memory
    /// uses them, unless it merely moves a value of which a part is undefined, as the padding of a
    /// structure is.
    pub(super) fn stored(&mut self, env: &Env<'_>, at: At, request: &Request) {
        if self.tainted >> at.warp & 1 == 0 {
            return;
        }
        let Op::Store(store) = &env.program.code[at.pc as usize].op else { return };
        let leaves = request.space == Space::Global;
        let all = u32::MAX >> (32 - request.total as u32);
        let (mut whole, mut part) = (Undefined::default(), Undefined::default());
        for lane in lanes(request.mask) {
            let mut found: Option<(From, bool)> = None;
            let mut bytes = 0u32;
            for (element, slot) in store.sources.iter().enumerate() {
                let Some(undefined) = self.values(at.warp).get(register(*slot)) else { continue };
                let bits = undefined.bits[lane as usize];
                let computed = undefined.computed >> lane & 1 == 1;
                for byte in (0..store.width).filter(|byte| bits >> (8 * byte) & 0xff != 0) {
                    bytes |= 1 << (element as u32 * store.width + byte);
                    let before = found.is_some_and(|(_, computed)| computed);
                    found = Some((undefined.from[lane as usize], computed || before));
                }
            }
            let Some((from, computed)) = found else { continue };
            if leaves && (computed || bytes == all) {
                whole.mark(lane as usize, 1, from, true);
                continue;
            }
            if leaves {
                part.mark(lane as usize, 1, from, false);
            }
            self.forget(env, at, request, (lane, bytes), from);
        }
        for (undefined, rank) in [(whole, (Severity::Error, 2)), (part, (Severity::Warning, 1))] {
            if undefined.lanes() != 0 {
                let lane = undefined.lanes().trailing_zeros() as usize;
                let what = Use::Store(access_of(env, request, lane));
                self.used_as(env, at, &undefined, undefined.lanes(), what, rank);
            }
        }
    }

    /// Marks bytes that a lane has stored as not written, because their values are undefined.
    fn forget(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        (lane, bytes): (u32, u32),
        from: From,
    ) {
        let place = Place::of(env, at, request, lane as usize);
        let undefined = (0..request.total).filter(|byte| bytes >> byte & 1 == 1);
        if let Some((written, start)) = self.written_at(env, place, request.total) {
            undefined.clone().for_each(|byte| written.unset((start + byte) as usize, 1));
        }
        for byte in undefined {
            match place {
                Place::Global(address) => {
                    self.stored.put(false, word_key(env.id(), address) + byte, from);
                }
                Place::Shared(Some(home), start) => {
                    if let Some(block) = self.others.get_mut(&home) {
                        block.stored.put(false, start + byte, from);
                    }
                }
                Place::Shared(None, start) | Place::Local(start) => {
                    let local = matches!(place, Place::Local(_));
                    let block =
                        self.block.as_mut().expect("a block runs whenever something is observed");
                    block.stored.put(local, start + byte, from);
                }
            }
        }
    }

    /// The record of the written bytes that holds a place, and the offset of the place there.
    fn written_at<'a>(
        &'a mut self,
        env: &'a Env<'_>,
        place: Place,
        bytes: u64,
    ) -> Option<(&'a Written, u64)> {
        match place {
            Place::Local(start) => Some((&self.own().shared.local, start)),
            Place::Shared(None, start) => Some((&self.own().shared.written, start)),
            Place::Shared(Some(home), start) => {
                Some((&self.others.get(&home)?.shared.written, start))
            }
            Place::Global(address) => {
                let found = env.job.memory.find(address, bytes, &mut self.code.hint)?;
                Some((found.written.as_ref()?, address - found.base))
            }
        }
    }

    /// Reports undefined bits in a value that a lane prints.
    pub(super) fn print_value(&mut self, env: &Env<'_>, at: At, request: &Request) {
        let lane = request.mask.trailing_zeros() as usize;
        let place = Place::of(env, at, request, lane);
        let Some((written, start)) = self.written_at(env, place, request.total) else { return };
        let missing = |byte: &u64| written.missing((start + byte) as usize, 1) > 0;
        let bytes = (0..request.total).filter(missing).fold(0u32, |all, byte| all | 1 << byte);
        if bytes == 0 {
            return;
        }
        if let Some(from) = self.stored_at(env, at, request, lane) {
            let mut undefined = Undefined::default();
            undefined.mark(lane, 1, from, false);
            self.used(env, at, &undefined, request.mask, Use::Print);
            return;
        }
        let mut unwritten = Unwritten { lanes: request.mask, ..Unwritten::default() };
        unwritten.missing = bytes.count_ones();
        self.uninitialized(env, at, request, (Severity::Error, 1), unwritten);
    }

    fn own(&self) -> &Block {
        self.block.as_ref().expect("a block runs whenever something is observed")
    }

    /// The origin of the undefined bits that a lane reads, if a store has put them there.
    fn stored_at(&self, env: &Env<'_>, at: At, request: &Request, lane: usize) -> Option<From> {
        let bytes = request.total;
        match Place::of(env, at, request, lane) {
            Place::Local(start) => self.own().stored.within(true, start, bytes),
            Place::Shared(None, start) => self.own().stored.within(false, start, bytes),
            Place::Shared(Some(home), start) => {
                self.others.get(&home)?.stored.within(false, start, bytes)
            }
            Place::Global(address) => self.stored.within(false, word_key(env.id(), address), bytes),
        }
    }
}
