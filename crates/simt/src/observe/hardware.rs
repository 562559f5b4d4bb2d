//! The cost of one access of a warp in the memory hardware: sectors and wavefronts.
//!
//! The rules reproduce the counts of Nsight Compute on an H100
//! (`tests/data/h100_one_warp_access.csv`):
//!
//! - A global load or store touches the distinct 32-byte sectors of its lanes. A global atomic
//!   serves lanes with the same address in separate rounds, and touches the distinct sectors of
//!   each.
//! - Shared memory has 32 banks of 4-byte words. A warp whose lanes access up to 4 bytes each is
//!   served at once; with 8 bytes, it is served in halves, and with 16 bytes in quarters. Each part
//!   takes as many wavefronts as the busiest bank has distinct words.
//! - A load of 8 or 16 bytes serves two neighbouring parts together if each active lane accesses
//!   the same address as its neighbour, or its neighbour is inactive. The neighbour of lane `n` is
//!   `n ^ 1` for all lanes, or `n ^ 2` for all lanes.
//! - A shared atomic takes as many wavefronts as the busiest bank has lanes.
//!
//! Lanes outside an access hold the address of a lane inside. Distinct addresses can therefore be
//! counted without a mask.

use crate::exec::access::Request;
use crate::fault::Access;
use crate::registers::{LANES, lanes_of};

/// A sector has this many bytes.
const SECTOR: u64 = 32;
/// Shared memory has this many banks.
const BANKS: usize = 32;
/// A word of a bank has this many bytes.
const WORD: u64 = 4;

/// How many sectors a global load or store touches.
fn sectors(addresses: &[u64; LANES]) -> u64 {
    distinct(addresses.map(|address| address / SECTOR))
}

/// How many different values there are.
fn distinct<const N: usize>(mut values: [u64; N]) -> u64 {
    if !values.is_sorted() {
        values.sort_unstable();
    }
    1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

/// How many sectors a global atomic or reduction by the lanes of `mask` touches.
fn atomic_sectors(addresses: &[u64; LANES], mask: u32) -> u64 {
    // In each round one lane of each address is served: an address with k lanes takes part in the
    // first k rounds.
    let mut rounds: [(u64, u64); LANES] = std::array::from_fn(|lane| {
        let before = mask & ((1 << lane) - 1);
        let same =
            lanes_of(before).filter(|&other| addresses[other] == addresses[lane]).count() as u64;
        (same, addresses[lane] / SECTOR)
    });
    let mut count = 0;
    for lane in lanes_of(mask) {
        rounds[count] = rounds[lane];
        count += 1;
    }
    let rounds = &mut rounds[..count];
    rounds.sort_unstable();
    1 + rounds.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

/// The cost of an access to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Service {
    pub(crate) wavefronts: u64,
    /// How many wavefronts the access takes more than it would without bank conflicts.
    pub(crate) conflicts: u64,
}

impl Request {
    /// How many sectors an access to global memory touches.
    #[inline]
    pub(crate) fn sectors(&self) -> u64 {
        match self.access {
            Access::Read | Access::Write => sectors(&self.addresses),
            Access::Atomic => atomic_sectors(&self.addresses, self.mask),
        }
    }

    /// The cost of this access to shared memory.
    #[inline]
    pub(crate) fn service(&self) -> Service {
        match self.access {
            Access::Read | Access::Write => {
                shared(self.access == Access::Read, &self.addresses, self.mask, self.total)
            }
            Access::Atomic => shared_atomic(&self.addresses, self.mask),
        }
    }
}

/// The cost of a shared load (if `load`) or store; each lane of `mask` accesses `bytes` bytes.
fn shared(load: bool, addresses: &[u64; LANES], mask: u32, bytes: u64) -> Service {
    let parts = (bytes / WORD).clamp(1, 4) as usize;
    let mut lanes_of_part = LANES / parts;
    let inactive = |lane: usize| mask >> lane & 1 == 0;
    let agree = |a: usize, b: usize| inactive(a) || inactive(b) || addresses[a] == addresses[b];
    let paired = |distance: usize| (0..LANES).all(|lane| agree(lane, lane ^ distance));
    if load && parts > 1 && (paired(1) || paired(2)) {
        lanes_of_part *= 2;
    }
    let mut service = Service::default();
    for first in (0..LANES).step_by(lanes_of_part) {
        let part = mask >> first & (u32::MAX >> (LANES - lanes_of_part));
        if part != 0 {
            let wavefronts =
                part_wavefronts(&addresses[first..first + lanes_of_part], part, parts as u64);
            service.wavefronts += wavefronts;
            service.conflicts += wavefronts - 1;
        }
    }
    service
}

/// The number of distinct words in the busiest bank; each lane accesses `words` neighbouring words.
fn part_wavefronts(addresses: &[u64], mask: u32, words: u64) -> u64 {
    let active = lanes_of(mask).map(|lane| addresses[lane] / WORD);
    let (low, high) =
        active.clone().fold((u64::MAX, 0), |(low, high), word| (low.min(word), high.max(word)));
    if high + words - low <= BANKS as u64 {
        return 1;
    }
    let mut asked = [0; LANES * 2];
    let mut count = 0;
    for word in active {
        for next in word..word + words {
            asked[count] = next;
            count += 1;
        }
    }
    let asked = &mut asked[..count];
    if !asked.is_sorted() {
        asked.sort_unstable();
    }
    let mut banks = [0_u8; BANKS];
    let mut last = u64::MAX;
    for &word in &*asked {
        banks[word as usize % BANKS] += u8::from(word != last);
        last = word;
    }
    u64::from(banks.into_iter().max().unwrap_or(0))
}

/// The cost of a shared atomic by the lanes of `mask`.
fn shared_atomic(addresses: &[u64; LANES], mask: u32) -> Service {
    let mut banks = [0_u8; BANKS];
    for lane in lanes_of(mask) {
        banks[(addresses[lane] / WORD) as usize % BANKS] += 1;
    }
    let wavefronts = u64::from(banks.into_iter().max().unwrap_or(0));
    Service { wavefronts, conflicts: wavefronts - 1 }
}
