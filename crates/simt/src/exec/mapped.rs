//! Addresses of shared memory in a cluster: they name a block and an offset there.

use crate::ir::Slot;
use crate::registers::{Registers, lanes_of};

/// A bit that marks a `.shared::cluster` address which names a block. The bits below it hold the
/// rank of the block, and the lowest 24 bits hold an offset into the block's shared memory. Without
/// the bit, the address is an offset into the shared memory of the block that runs.
const MAPPED: u32 = 1 << 31;
const RANK_SHIFT: u32 = 24;
const RANKS: u32 = 0x7f;
const OFFSET: u32 = (1 << RANK_SHIFT) - 1;

/// The rank of the block that an address names, and the offset there. The rank is `None` for the
/// block that runs, whose rank is `own`.
pub(crate) const fn resolve(address: u32, own: u32) -> (Option<u32>, u32) {
    if address & MAPPED == 0 {
        return (None, address);
    }
    let rank = address >> RANK_SHIFT & RANKS;
    (if rank == own { None } else { Some(rank) }, address & OFFSET)
}

/// The address of the same variable in the block of rank `rank`, for `mapa`. `address` may name the
/// variable in any block.
const fn map(address: u32, rank: u32, own: u32) -> u32 {
    let offset = if address & MAPPED == 0 { address } else { address & OFFSET };
    let known = if rank < RANKS { rank } else { RANKS };
    if rank == own { offset } else { MAPPED | known << RANK_SHIFT | offset & OFFSET }
}

/// `mapa` in the lanes of `mask`. A generic address keeps its upper bits, which name the window.
#[inline(never)]
pub(crate) fn map_rank(
    own: u32,
    registers: &mut Registers,
    mask: u32,
    target: Slot,
    address: Slot,
    rank: u32,
) {
    let ranks = registers.words[rank as usize];
    for lane in lanes_of(mask) {
        let address = match address {
            Slot::Word(address) => u64::from(registers.words[address as usize][lane]),
            Slot::Double(address) => registers.doubles[address as usize][lane],
        };
        let mapped = map(address as u32, ranks[lane], own);
        match target {
            Slot::Word(target) => registers.words[target as usize][lane] = mapped,
            Slot::Double(target) => {
                registers.doubles[target as usize][lane] =
                    address & !0xffff_ffff | u64::from(mapped);
            }
        }
    }
}

/// `getctarank` in the lanes of `mask`.
#[inline(never)]
pub(crate) fn rank_of(own: u32, registers: &mut Registers, mask: u32, target: u32, address: Slot) {
    for lane in lanes_of(mask) {
        let address = match address {
            Slot::Word(address) => registers.words[address as usize][lane],
            Slot::Double(address) => registers.doubles[address as usize][lane] as u32,
        };
        registers.put_word(target, 1 << lane, resolve(address, own).0.unwrap_or(own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_block_and_an_offset() {
        assert_eq!(resolve(0x1234, 3), (None, 0x1234));
        for rank in 0..8 {
            let expected = if rank == 3 { None } else { Some(rank) };
            assert_eq!(resolve(map(0x1234, rank, 3), 3), (expected, 0x1234));
            // The address of a variable in any block maps to its address in any other block, even
            // if an offset is added later.
            let again = map(map(0x1234, rank, 3), 5, 3);
            assert_eq!(resolve(again + 8, 3), (Some(5), 0x123c));
        }
        assert_eq!(map(0x1234, 3, 3), 0x1234);
        assert_eq!(resolve(map(16, u32::MAX, 0), 0), (Some(RANKS), 16));
    }
}
