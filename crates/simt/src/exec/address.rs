//! Addresses: which memory a generic address or a cluster address names, and which offset there.

use crate::exec::mapped;
use crate::ir::layout::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::ir::{Address, Slot, Space};
use crate::registers::{LANES, Registers};

/// The memory in which an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Global,
    /// In the shared memory of the block of this rank, or of the block that runs if the rank is
    /// `None`.
    Shared(Option<u32>),
    Local,
    Param,
}

impl Position {
    /// The memory in which an address of `space` lies, seen from the block of rank `own`, and the
    /// offset (or the device address) there.
    #[inline]
    pub(crate) fn of(space: Space, address: u64, own: u32) -> (Position, u64) {
        let low = address & 0xffff_ffff;
        let in_cluster = || {
            let (peer, offset) = mapped::resolve(low as u32, own);
            (Position::Shared(peer), u64::from(offset))
        };
        match space {
            Space::Global => (Position::Global, address),
            Space::Shared => (Position::Shared(None), address),
            Space::Cluster => in_cluster(),
            Space::Local => (Position::Local, address),
            Space::Param => (Position::Param, address),
            Space::Generic => match address & !0xffff_ffff {
                SHARED_WINDOW => in_cluster(),
                LOCAL_WINDOW => (Position::Local, low),
                PARAM_WINDOW => (Position::Param, low),
                _ => (Position::Global, address),
            },
        }
    }

    /// The space of an access to this position.
    pub(crate) const fn space(self) -> Space {
        match self {
            Position::Global => Space::Global,
            Position::Shared(_) => Space::Shared,
            Position::Local => Space::Local,
            Position::Param => Space::Param,
        }
    }
}

/// The lanes whose generic address lies in `space`, seen from the block of rank `own`.
pub(crate) fn is_space(space: Space, addresses: &[u64; LANES], own: u32) -> u32 {
    let inside = |address: u64| match (space, Position::of(Space::Generic, address, own).0) {
        (Space::Cluster, Position::Shared(_)) => true,
        (_, Position::Shared(Some(_))) => false,
        (space, position) => position.space() == space,
    };
    (0..LANES).fold(0, |bits, lane| bits | u32::from(inside(addresses[lane])) << lane)
}

/// The address that a memory operand has in a lane.
pub(crate) fn address_of(registers: &Registers, address: Address, lane: usize) -> u64 {
    match address.base {
        Slot::Double(base) => {
            registers.doubles[base as usize][lane].wrapping_add_signed(address.offset)
        }
        Slot::Word(base) => {
            u64::from(registers.words[base as usize][lane].wrapping_add(address.offset as u32))
        }
    }
}
