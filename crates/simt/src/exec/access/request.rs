//! One access of a warp to memory: its addresses, and the checks that it passes.

use crate::exec::address::Position;
use crate::exec::env::Env;
use crate::exec::memory::Allocation;
use crate::exec::raised::LaneFault;
use crate::fault::{self, Access, FaultKind, Nearest};
use crate::ir::{Address, Slot, Space};
use crate::registers::{ALL, LANES, Registers, lanes_of};

/// One access by the lanes of `mask`. All lanes access the same space, and the space is never
/// [`Space::Generic`] or [`Space::Cluster`].
pub(crate) struct Request {
    pub(crate) access: Access,
    pub(crate) space: Space,
    /// The address of each lane: a device address in global memory, an offset in other spaces.
    /// Lanes outside the mask hold the first active lane's address.
    pub(crate) addresses: [u64; LANES],
    pub(crate) mask: u32,
    /// How many bytes each lane accesses, all vector elements together.
    pub(crate) total: u64,
    /// The rank of the block whose shared memory is accessed; `None` for the block that runs.
    pub(crate) peer: Option<u32>,
}

impl Request {
    /// An access by the lanes of `mask` that may go to several spaces.
    #[inline(always)]
    pub(super) fn new(
        access: Access,
        space: Space,
        registers: &Registers,
        address: Address,
        mask: u32,
        total: u64,
    ) -> Request {
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
    pub(super) fn fill_inactive(&mut self) {
        if self.mask != ALL {
            let first = self.addresses[self.mask.trailing_zeros() as usize];
            for (lane, address) in self.addresses.iter_mut().enumerate() {
                *address = if self.mask >> lane & 1 == 1 { *address } else { first };
            }
        }
    }
}

/// Calls `each` once for each space that the addresses fall into, with the lanes that access it.
#[inline(always)]
pub(super) fn by_space(
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
        lanes_of(self.mask)
    }

    /// The lowest and the highest address.
    pub(crate) fn span(&self) -> (u64, u64) {
        self.addresses
            .iter()
            .fold((u64::MAX, 0), |(low, high), address| (low.min(*address), high.max(*address)))
    }

    /// Whether all addresses are aligned, and whether all accesses lie in the `bytes` bytes from
    /// `base`.
    #[inline(always)]
    pub(super) fn fits(&self, base: u64, bytes: u64) -> (bool, bool) {
        let Some(last) = bytes.checked_sub(self.total) else {
            return (self.misaligned().is_none(), false);
        };
        // No space is as large as 2^63 bytes, so the top bit of a difference says that the
        // difference is negative.
        let (mut low_bits, mut outside) = (0, 0);
        for address in self.addresses {
            let offset = address.wrapping_sub(base);
            low_bits |= address;
            outside |= offset | last.wrapping_sub(offset);
        }
        (low_bits & (self.total - 1) == 0, outside >> 63 == 0)
    }

    /// The first address, if all 32 lanes access one aligned run of bytes in the order of the
    /// lanes.
    #[inline(always)]
    pub(super) fn run(&self) -> Option<u64> {
        let first = self.addresses[0];
        let mut differs = first & (self.total - 1);
        for (lane, address) in self.addresses.iter().enumerate() {
            differs |= address ^ first.wrapping_add(lane as u64 * self.total);
        }
        (differs == 0 && self.mask == ALL).then_some(first)
    }

    pub(super) fn misaligned(&self) -> Option<LaneFault> {
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

    /// Checks an access to a space in which each address is an offset below `size`.
    pub(super) fn check_small(&self, size: u64) -> Result<(), LaneFault> {
        let (aligned, inside) = self.fits(0, size);
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        if inside {
            return Ok(());
        }
        let outside = |lane: &usize| {
            self.addresses[*lane].checked_add(self.total).is_none_or(|end| end > size)
        };
        let lane = self.lanes().find(outside).expect("some lane is out of bounds");
        let address = self.addresses[lane];
        let nearest = Nearest {
            base: 0,
            bytes: size,
            missed_by: address.saturating_add(self.total).saturating_sub(size),
            past_end: true,
        };
        let (space, access) = (self.space.into(), self.access);
        let kind = FaultKind::OutOfBounds {
            space,
            access,
            bytes: self.total,
            address,
            nearest: Some(nearest),
        };
        Err(Box::new((lane as u32, kind)))
    }

    /// The allocation that holds the accesses of all lanes; `None` if no single allocation does.
    #[inline(always)]
    pub(super) fn place<'a>(&self, env: &mut Env<'a>) -> Result<Option<&'a Allocation>, LaneFault> {
        let first = self.addresses[self.mask.trailing_zeros() as usize];
        let grid = env.job;
        let found = grid.memory.find(first, self.total, &mut env.hint);
        let (base, bytes) = found.map_or((0, 0), |found| (found.base, found.bytes));
        let (aligned, inside) = self.fits(base, bytes);
        if !aligned {
            return Err(self.misaligned().expect("some lane is misaligned"));
        }
        Ok(found.map(|found| &**found).filter(|_| inside))
    }

    /// Calls `each` for one lane after another, with the lane's allocation and the byte offset in
    /// that allocation.
    #[inline(always)]
    pub(super) fn global<'a>(
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
        let view = &env.job.memory;
        for lane in self.lanes() {
            let address = self.addresses[lane];
            let Some(found) = view.find(address, self.total, &mut env.hint) else {
                return Err(Box::new((
                    lane as u32,
                    view.explain(self.access, address, self.total),
                )));
            };
            each(lane, found, (address - found.base) as usize);
        }
        Ok(())
    }

    /// Checks an access to the block's shared or local memory, or to the shared memory of another
    /// block of the cluster.
    #[inline(always)]
    pub(super) fn check_block(&self, env: &Env<'_>) -> Result<(), LaneFault> {
        if let Some(rank) = self.peer {
            self.check_peer(env, rank)?;
        }
        let local = self.space == Space::Local;
        self.check_small(if local { u64::from(env.program.local) } else { env.shared.len() as u64 })
    }

    #[cold]
    pub(super) fn check_peer(&self, env: &Env<'_>, rank: u32) -> Result<(), LaneFault> {
        env.refuses_peer(rank)
            .map_or(Ok(()), |kind| Err(Box::new((self.mask.trailing_zeros(), kind))))
    }

    /// The bytes of the shared or local memory that the request accesses.
    #[inline(always)]
    pub(super) fn memory<'a>(&self, env: &'a mut Env<'_>) -> &'a mut [u8] {
        match (self.space, self.peer) {
            (Space::Local, _) => &mut env.local,
            (_, None) => &mut env.shared,
            (_, peer) => env.shared_of_mut(peer),
        }
    }

    /// Refuses an access that would change a kernel parameter.
    pub(super) fn refuse_parameter(&self) -> Result<(), LaneFault> {
        let lane = self.mask.trailing_zeros();
        let (access, address) = (self.access, self.addresses[lane as usize]);
        Err(Box::new((lane, FaultKind::ReadOnly { space: fault::Space::Param, access, address })))
    }

    /// Where a lane's own part of the space begins, in bytes: 0 for a space that the whole block
    /// shares. `stride` is the distance between the local memories of two neighbouring threads.
    #[inline(always)]
    pub(super) fn lane_base(&self, stride: usize, warp: u32, lane: usize) -> usize {
        if self.space == Space::Local { (warp as usize * LANES + lane) * stride } else { 0 }
    }
}
