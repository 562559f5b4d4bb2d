//! Loads, stores and atomics of a warp.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::atomic;
use crate::block::Env;
use crate::fault::{self, Access, FaultKind, Nearest};
use crate::ir::{Address, Atomic, Load, Slot, Space, Store, Target};
use crate::memory::{self, MergedStores};
use crate::observe::{At, Observer};
use crate::registers::{ALL, LANES, Lane, Registers};
use crate::warp::LaneFault;

/// Where shared memory, local memory and parameters appear among the generic addresses: 4 GiB each, above all device
/// memory. Everything else is device memory, whose generic addresses are its own.
pub(crate) const SHARED_WINDOW: u64 = 0x7fff_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7ffe_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x7ffd_0000_0000;

/// The space of a generic address.
fn space_of(address: u64) -> Space {
    match address & !0xffff_ffff {
        SHARED_WINDOW => Space::Shared,
        LOCAL_WINDOW => Space::Local,
        PARAM_WINDOW => Space::Param,
        _ => Space::Global,
    }
}

/// The lanes whose generic address lies in `space`.
pub(crate) fn is_space(space: Space, addresses: &[u64; LANES]) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(space_of(addresses[lane]) == space) << lane)
}

/// One access of the lanes of `mask`, all to one space, which is never [`Space::Generic`].
pub(crate) struct Request {
    pub(crate) access: Access,
    pub(crate) space: Space,
    /// Device addresses, or offsets into the other spaces; lanes outside the mask have the first active lane's.
    pub(crate) addresses: [u64; LANES],
    pub(crate) mask: u32,
    /// Bytes of each lane's elements together.
    pub(crate) total: u64,
}

/// The addresses of an access; lanes outside the mask get the first active lane's.
fn addresses(registers: &Registers, address: Address, mask: u32) -> [u64; LANES] {
    let mut addresses: [u64; LANES] = match address.base {
        Slot::Double(base) => {
            let base = &registers.doubles[base as usize];
            std::array::from_fn(|lane| base[lane].wrapping_add_signed(address.offset))
        }
        Slot::Word(base) => {
            let base = &registers.words[base as usize];
            std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(address.offset as u32)))
        }
    };
    if mask != ALL {
        let first = addresses[mask.trailing_zeros() as usize];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if mask >> lane & 1 == 1 { *address } else { first };
        }
    }
    addresses
}

/// Calls `each` with the access, once for each space that generic addresses fall into.
fn by_space(
    space: Space,
    mask: u32,
    request: impl Fn(Space, u32) -> Request,
    mut each: impl FnMut(&Request) -> Result<(), LaneFault>,
) -> Result<(), LaneFault> {
    if space != Space::Generic {
        return each(&request(space, mask));
    }
    let all = request(space, mask).addresses;
    let mut rest = mask;
    while rest != 0 {
        let space = space_of(all[rest.trailing_zeros() as usize]);
        let lanes = rest & is_space(space, &all);
        let mut part = request(space, lanes);
        if space != Space::Global {
            for address in &mut part.addresses {
                *address &= 0xffff_ffff;
            }
        }
        let first = part.addresses[lanes.trailing_zeros() as usize];
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 0) {
            part.addresses[lane] = first;
        }
        each(&part)?;
        rest &= !lanes;
    }
    Ok(())
}

impl Request {
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
    }

    /// The lowest and the highest address, and whether all are aligned.
    pub(crate) fn span(&self) -> (u64, u64, bool) {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for address in self.addresses {
            low = low.min(address);
            high = high.max(address);
            bits |= address;
        }
        (low, high, bits & (self.total - 1) == 0)
    }

    fn misaligned(&self) -> Option<LaneFault> {
        let lane = self.lanes().find(|lane| self.addresses[*lane] & (self.total - 1) != 0)?;
        let kind = FaultKind::Misaligned {
            space: self.space.into(),
            access: self.access,
            bytes: self.total,
            address: self.addresses[lane],
            align: self.total,
        };
        Some(Box::new((lane as u32, kind)))
    }

    /// Checks an access to a space of `size` bytes for each thread.
    fn check_small(&self, size: u64) -> Result<(), LaneFault> {
        let (_, high, aligned) = self.span();
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        if high < size && self.total <= size - high {
            return Ok(());
        }
        let outside = |lane: &usize| self.addresses[*lane].checked_add(self.total).is_none_or(|end| end > size);
        let lane = self.lanes().find(outside).expect("some lane is out of bounds");
        let address = self.addresses[lane];
        let nearest = Nearest {
            base: 0,
            bytes: size,
            missed_by: address.saturating_add(self.total).saturating_sub(size),
            past_end: true,
        };
        let (space, access) = (self.space.into(), self.access);
        let kind = FaultKind::OutOfBounds { space, access, bytes: self.total, address, nearest: Some(nearest) };
        Err(Box::new((lane as u32, kind)))
    }

    /// Runs `each` with every lane's allocation and byte offset in it, lane after lane.
    #[inline(always)]
    fn global(
        &self,
        env: &mut Env<'_>,
        mut each: impl FnMut(usize, &Arc<memory::Allocation>, usize),
    ) -> Result<(), LaneFault> {
        let (low, high, aligned) = self.span();
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        let view = &env.grid.memory;
        if let Some(length) = (high - low).checked_add(self.total)
            && let Some(found) = view.find(low, length, &mut env.hint)
        {
            if self.mask == ALL {
                for (lane, address) in self.addresses.iter().enumerate() {
                    each(lane, found, (address - found.base) as usize);
                }
            } else {
                for lane in self.lanes() {
                    each(lane, found, (self.addresses[lane] - found.base) as usize);
                }
            }
            return Ok(());
        }
        for lane in self.lanes() {
            let address = self.addresses[lane];
            let Some(found) = view.find(address, self.total, &mut env.hint) else {
                return Err(Box::new((lane as u32, view.explain(self.access, address, self.total))));
            };
            each(lane, found, (address - found.base) as usize);
        }
        Ok(())
    }

    /// Checks an access to the block's shared or local memory.
    fn check_block(&self, env: &Env<'_>) -> Result<(), LaneFault> {
        let local = self.space == Space::Local;
        self.check_small(if local { u64::from(env.program.local) } else { env.shared.len() as u64 })
    }

    /// The bytes of the block's shared or local memory that a lane accesses, once [`Self::check_block`] has passed.
    #[inline(always)]
    fn cell<'a>(&self, env: &'a mut Env<'_>, warp: u32, lane: usize) -> &'a mut [u8] {
        let at = self.lane_base(env, warp, lane) + self.addresses[lane] as usize;
        let bytes = if self.space == Space::Local { &mut env.local } else { &mut env.shared };
        &mut bytes[at..at + self.total as usize]
    }

    /// The fault of an access that would change a parameter.
    fn refuse_parameter(&self) -> Result<(), LaneFault> {
        let lane = self.mask.trailing_zeros();
        let (access, address) = (self.access, self.addresses[lane as usize]);
        Err(Box::new((lane, FaultKind::ReadOnly { space: fault::Space::Param, access, address })))
    }

    /// Where in the block's local memory a lane's own begins, or 0 for spaces that the block shares.
    fn lane_base(&self, env: &Env<'_>, warp: u32, lane: usize) -> usize {
        match self.space {
            Space::Local => (warp as usize * LANES + lane) * env.program.local_stride(),
            _ => 0,
        }
    }
}

impl From<Space> for fault::Space {
    fn from(space: Space) -> fault::Space {
        match space {
            Space::Global | Space::Generic => fault::Space::Global,
            Space::Shared => fault::Space::Shared,
            Space::Local => fault::Space::Local,
            Space::Param => fault::Space::Param,
        }
    }
}

#[inline(always)]
fn read(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bytes = &bytes[at..at + width];
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("accesses have 1, 2, 4 or 8 bytes"),
    }
}

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
    let addresses = addresses(registers, load.address, mask);
    let total = (WIDTH * load.targets.len()) as u64;
    let request = |space, mask| Request { access: Access::Read, space, addresses, mask, total };
    by_space(load.space, mask, request, |request| {
        // The addresses are known by now, so that a target may be the base.
        for (element, target) in load.targets.iter().enumerate() {
            let mut values = [0; LANES];
            let skip = element * WIDTH;
            match request.space {
                Space::Global | Space::Generic => request.global(env, |lane, found, offset| {
                    values[lane] = memory::load(&found.words, offset + skip, WIDTH as u32);
                })?,
                Space::Shared | Space::Local | Space::Param => {
                    let (bytes, size) = match request.space {
                        Space::Shared => (&env.shared[..], env.shared.len() as u64),
                        Space::Local => (&env.local[..], u64::from(env.program.local)),
                        _ => (&env.grid.params[..], env.grid.params.len() as u64),
                    };
                    request.check_small(size)?;
                    for lane in 0..LANES {
                        let start = request.lane_base(env, at.warp, lane) + request.addresses[lane] as usize;
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

/// Writes loaded values to a register, extended to its width.
#[inline(always)]
fn fill(registers: &mut Registers, target: Target, mask: u32, values: &[u64; LANES], signed: bool, bits: u32) {
    let extend = |value: u64| {
        if signed { ((value << (64 - bits)) as i64 >> (64 - bits)) as u64 } else { value }
    };
    match target.slot {
        Slot::Double(register) => {
            <u64 as Lane>::put(registers, register, mask, std::array::from_fn(|lane| extend(values[lane])));
        }
        Slot::Word(register) => {
            let keep = u32::MAX >> (32 - target.bits);
            let values = std::array::from_fn(|lane| extend(values[lane]) as u32 & keep);
            <u32 as Lane>::put(registers, register, mask, values);
        }
    }
}

#[inline(always)]
fn source(registers: &Registers, slot: Slot, lane: usize) -> u64 {
    match slot {
        Slot::Word(register) => u64::from(registers.words[register as usize][lane]),
        Slot::Double(register) => registers.doubles[register as usize][lane],
    }
}

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
    let addresses = addresses(registers, store.address, mask);
    let width = store.width as usize;
    let total = (width * store.sources.len()) as u64;
    let request = |space, mask| Request { access: Access::Write, space, addresses, mask, total };
    by_space(store.space, mask, request, |request| {
        env.acted |= request.space != Space::Local;
        match request.space {
            Space::Global | Space::Generic => {
                let mut stores = MergedStores::default();
                let mut last: Option<Arc<memory::Allocation>> = None;
                request.global(env, |lane, found, offset| {
                    // Lanes may lie in different allocations; what was collected for one is written before the next.
                    if let Some(before) = last.take_if(|last| last.base != found.base) {
                        stores.flush(&before.words);
                    }
                    if last.is_none() {
                        last = Some(Arc::clone(found));
                    }
                    for (element, slot) in store.sources.iter().enumerate() {
                        let value = source(registers, *slot, lane);
                        stores.push(&found.words, offset + element * width, value, store.width);
                    }
                })?;
                if let Some(found) = last {
                    stores.flush(&found.words);
                }
            }
            Space::Param => request.refuse_parameter()?,
            Space::Shared | Space::Local => {
                request.check_block(env)?;
                for lane in request.lanes() {
                    let bytes = request.cell(env, at.warp, lane);
                    for (element, slot) in store.sources.iter().enumerate() {
                        let value = source(registers, *slot, lane).to_le_bytes();
                        let start = element * width;
                        match width {
                            4 => bytes[start..start + 4].copy_from_slice(&value[..4]),
                            8 => bytes[start..start + 8].copy_from_slice(&value),
                            2 => bytes[start..start + 2].copy_from_slice(&value[..2]),
                            _ => bytes[start] = value[0],
                        }
                    }
                }
            }
        }
        observer.store(env, at, request, |a, b| {
            let differ = |slot: &Slot| source(registers, *slot, a) ^ source(registers, *slot, b);
            store.sources.iter().all(|slot| differ(slot) << (64 - 8 * width) == 0)
        });
        Ok(())
    })
}

/// Executes an atomic, and says whether it changed anything.
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
    let addresses = addresses(registers, atomic.address, mask);
    let width = atomic.ty.size();
    let total = u64::from(width);
    let request = |space, mask| Request { access: Access::Atomic, space, addresses, mask, total };
    by_space(atomic.space, mask, request, |request| {
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
            Space::Shared | Space::Local => {
                request.check_block(env)?;
                for lane in request.lanes() {
                    let bytes = request.cell(env, at.warp, lane);
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
