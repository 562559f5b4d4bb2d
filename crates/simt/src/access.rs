//! Loads, stores and atomics of a warp.

use std::sync::atomic::Ordering::{self, Relaxed};
use std::sync::atomic::fence;

use crate::address::Position;
use crate::atomic;
use crate::block::Env;
use crate::fault::{self, Access, FaultKind, Nearest};
use crate::ir::{Address, Atomic, Load, Slot, Space, Store, Target};
use crate::memory::{self, Allocation, MergedStores};
use crate::observe::{At, Observer};
use crate::registers::{ALL, LANES, Lane, Registers};
use crate::warp::LaneFault;

/// One access of the lanes of `mask`, all to one space, which is never [`Space::Generic`] or [`Space::Cluster`].
pub(crate) struct Request {
    pub(crate) access: Access,
    pub(crate) space: Space,
    /// Device addresses, or offsets into the other spaces; lanes outside the mask have the first active lane's.
    pub(crate) addresses: [u64; LANES],
    pub(crate) mask: u32,
    /// Bytes of each lane's elements together.
    pub(crate) total: u64,
    /// The rank of the block whose shared memory it is, if it is not the one at hand.
    pub(crate) peer: Option<u32>,
}

impl Request {
    /// The access of the lanes of `mask` to what may be several spaces.
    #[inline(always)]
    fn new(access: Access, space: Space, registers: &Registers, address: Address, mask: u32, total: u64) -> Request {
        let mut request = Request { access, space, addresses: [0; LANES], mask, total, peer: None };
        let addresses = &mut request.addresses;
        match address.base {
            Slot::Double(base) => {
                let base = &registers.doubles[base as usize];
                for lane in 0..LANES {
                    addresses[lane] = base[lane].wrapping_add_signed(address.offset);
                }
            }
            Slot::Word(base) => {
                let base = &registers.words[base as usize];
                for lane in 0..LANES {
                    addresses[lane] = u64::from(base[lane].wrapping_add(address.offset as u32));
                }
            }
        }
        request.fill_inactive();
        request
    }

    /// Gives lanes outside the mask the first active lane's address.
    #[inline(always)]
    fn fill_inactive(&mut self) {
        if self.mask != ALL {
            let first = self.addresses[self.mask.trailing_zeros() as usize];
            for (lane, address) in self.addresses.iter_mut().enumerate() {
                *address = if self.mask >> lane & 1 == 1 { *address } else { first };
            }
        }
    }
}

/// Calls `each` with the access, once for each space that generic addresses fall into.
#[inline(always)]
fn by_space(
    mut request: Request,
    own: u32,
    mut each: impl FnMut(&Request) -> Result<(), LaneFault>,
) -> Result<(), LaneFault> {
    if !matches!(request.space, Space::Generic | Space::Cluster) {
        return each(&request);
    }
    let positions = request.addresses.map(|address| Position::of(request.space, address, own));
    request.addresses = positions.map(|(_, address)| address);
    let all = request.addresses;
    let mut rest = request.mask;
    while rest != 0 {
        let (position, _) = positions[rest.trailing_zeros() as usize];
        request.space = position.space();
        request.peer = if let Position::Shared(peer) = position { peer } else { None };
        let same = |lane: usize| u32::from(positions[lane].0 == position) << lane;
        request.mask = rest & (0..LANES).fold(0, |bits, lane| bits | same(lane));
        request.addresses = all;
        request.fill_inactive();
        each(&request)?;
        rest &= !request.mask;
    }
    Ok(())
}

impl Request {
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
    }

    /// The lowest and the highest address.
    pub(crate) fn span(&self) -> (u64, u64) {
        self.addresses.iter().fold((u64::MAX, 0), |(low, high), address| (low.min(*address), high.max(*address)))
    }

    /// Whether all addresses are aligned, and whether all accesses lie in the `bytes` bytes from `base`.
    #[inline(always)]
    fn fits(&self, base: u64, bytes: u64) -> (bool, bool) {
        let Some(last) = bytes.checked_sub(self.total) else { return (self.misaligned().is_none(), false) };
        // No space is as large as 2^63 bytes: a difference's top bit says that it would be negative.
        let (mut low_bits, mut outside) = (0, 0);
        for address in self.addresses {
            let offset = address.wrapping_sub(base);
            low_bits |= address;
            outside |= offset | last.wrapping_sub(offset);
        }
        (low_bits & (self.total - 1) == 0, outside >> 63 == 0)
    }

    /// Where the access begins, if the whole warp accesses one run of bytes, aligned and lane after lane.
    #[inline(always)]
    fn run(&self) -> Option<u64> {
        let first = self.addresses[0];
        let mut differs = first & (self.total - 1);
        for (lane, address) in self.addresses.iter().enumerate() {
            differs |= address ^ first.wrapping_add(lane as u64 * self.total);
        }
        (differs == 0 && self.mask == ALL).then_some(first)
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
        let (aligned, inside) = self.fits(0, size);
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        if inside {
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

    /// The allocation that all lanes access, if it is one.
    #[inline(always)]
    fn place<'a>(&self, env: &mut Env<'a>) -> Result<Option<&'a Allocation>, LaneFault> {
        let first = self.addresses[self.mask.trailing_zeros() as usize];
        let grid = env.grid;
        let found = grid.memory.find(first, self.total, &mut env.hint);
        let (base, bytes) = found.map_or((0, 0), |found| (found.base, found.bytes));
        let (aligned, inside) = self.fits(base, bytes);
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        Ok(found.map(|found| &**found).filter(|_| inside))
    }

    /// Runs `each` with every lane's allocation and byte offset in it, lane after lane.
    #[inline(always)]
    fn global<'a>(
        &self,
        env: &mut Env<'a>,
        mut each: impl FnMut(usize, &'a Allocation, usize),
    ) -> Result<(), LaneFault> {
        if let Some(found) = self.place(env)? {
            for lane in self.lanes() {
                each(lane, found, (self.addresses[lane] - found.base) as usize);
            }
            return Ok(());
        }
        let view = &env.grid.memory;
        for lane in self.lanes() {
            let address = self.addresses[lane];
            let Some(found) = view.find(address, self.total, &mut env.hint) else {
                return Err(Box::new((lane as u32, view.explain(self.access, address, self.total))));
            };
            each(lane, found, (address - found.base) as usize);
        }
        Ok(())
    }

    /// Checks an access to the block's shared or local memory, or to shared memory of another block of its cluster.
    fn check_block(&self, env: &Env<'_>) -> Result<(), LaneFault> {
        if let Some(kind) = self.peer.and_then(|rank| env.refuses_peer(rank)) {
            return Err(Box::new((self.mask.trailing_zeros(), kind)));
        }
        let local = self.space == Space::Local;
        self.check_small(if local { u64::from(env.program.local) } else { env.shared.len() as u64 })
    }

    /// The shared or local memory that it goes to.
    #[inline(always)]
    fn memory<'a>(&self, env: &'a mut Env<'_>) -> &'a mut [u8] {
        match (self.space, self.peer) {
            (Space::Local, _) => &mut env.local,
            (_, None) => &mut env.shared,
            (_, peer) => env.shared_of_mut(peer),
        }
    }

    /// The fault of an access that would change a parameter.
    fn refuse_parameter(&self) -> Result<(), LaneFault> {
        let lane = self.mask.trailing_zeros();
        let (access, address) = (self.access, self.addresses[lane as usize]);
        Err(Box::new((lane, FaultKind::ReadOnly { space: fault::Space::Param, access, address })))
    }

    /// Where in the memory of the space a lane's own begins: 0 for spaces that the block shares. `stride` is from one
    /// thread's local memory to the next one's.
    #[inline(always)]
    fn lane_base(&self, stride: usize, warp: u32, lane: usize) -> usize {
        if self.space == Space::Local { (warp as usize * LANES + lane) * stride } else { 0 }
    }
}

impl From<Space> for fault::Space {
    fn from(space: Space) -> fault::Space {
        match space {
            Space::Global | Space::Generic => fault::Space::Global,
            Space::Shared | Space::Cluster => fault::Space::Shared,
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
    let total = (WIDTH * load.targets.len()) as u64;
    let request = Request::new(Access::Read, load.space, registers, load.address, mask, total);
    by_space(request, env.rank, |request| {
        if let [Some(target)] = load.targets[..]
            && load_run::<WIDTH>(request, target, env, registers).is_some()
        {
            observer.access(env, at, request);
            return Ok(());
        }
        // The addresses are known by now, so that a target may be the base.
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
                        request.check_small(env.grid.params.len() as u64)?;
                    } else {
                        request.check_block(env)?;
                    }
                    let bytes = match request.space {
                        Space::Local => &env.local[..],
                        Space::Param => &env.grid.params[..],
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

/// Loads one run of bytes to a register as wide as its elements, which is what most loads do. Anything else, faults
/// included, is left to others.
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
            let found = env.grid.memory.find(first, bytes as u64, &mut env.hint)?;
            let offset = (first - found.base) as usize;
            let words = found.words.get(offset / 8..(offset + bytes) / 8).filter(|_| offset.is_multiple_of(8))?;
            put_run::<WIDTH>(registers, target, words.iter().map(|word| word.load(Relaxed)))
        }
        Space::Shared if request.peer.is_none() => {
            let words = env.shared.get(first as usize..)?.get(..bytes)?.as_chunks().0;
            put_run::<WIDTH>(registers, target, words.iter().map(|word| u64::from_le_bytes(*word)))
        }
        _ => None,
    }
}

/// Writes all lanes of a register that is as wide as the elements.
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
fn fill(registers: &mut Registers, target: Target, mask: u32, values: &[u64; LANES], signed: bool, bits: u32) {
    let extend = |value: u64| {
        if signed { ((value << (64 - bits)) as i64 >> (64 - bits)) as u64 } else { value }
    };
    match target.slot {
        Slot::Double(register) => <u64 as Lane>::put(registers, register, mask, values.map(extend)),
        Slot::Word(register) => {
            let keep = u32::MAX >> (32 - target.bits);
            <u32 as Lane>::put(registers, register, mask, values.map(|value| extend(value) as u32 & keep));
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
    by_space(Request::new(Access::Write, store.space, registers, store.address, mask, total), env.rank, |request| {
        env.acted |= request.space != Space::Local;
        match request.space {
            Space::Global | Space::Generic => {
                let mut stores = MergedStores::default();
                let mut last: Option<&Allocation> = None;
                request.global(env, |lane, found, offset| {
                    // Lanes may lie in different allocations; what was collected for one is written before the next.
                    if let Some(before) = last.replace(found).filter(|last| last.base != found.base) {
                        stores.flush(&before.words);
                    }
                    for (element, slot) in store.sources.iter().enumerate() {
                        let value = source(registers, *slot, lane);
                        stores.push(&found.words, offset + element * WIDTH, value, WIDTH as u32);
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
                        let start = request.lane_base(stride, at.warp, lane) + request.addresses[lane] as usize;
                        memory[start + element * WIDTH..][..WIDTH].copy_from_slice(&value[..WIDTH]);
                    }
                }
            }
        }
        observer.store(env, at, request, |a, b| {
            let differ = |slot: &Slot| source(registers, *slot, a) ^ source(registers, *slot, b);
            store.sources.iter().all(|slot| differ(slot) << (64 - 8 * WIDTH) == 0)
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
    let width = atomic.ty.size();
    let total = u64::from(width);
    let request = Request::new(Access::Atomic, atomic.space, registers, atomic.address, mask, total);
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
                    let start = request.lane_base(stride, at.warp, lane) + request.addresses[lane] as usize;
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
