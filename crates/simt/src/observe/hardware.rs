//! What the memory hardware makes of one access of a warp: sectors and wavefronts.
//!
//! The rules are those that reproduce what Nsight Compute counts on an H100 (`tests/data/h100_one_warp_access.csv`):
//!
//! - A global load or store touches the distinct 32-byte sectors of its lanes. A global atomic serves lanes with the
//!   same address in separate rounds, and touches the distinct sectors of each.
//! - Shared memory has 32 banks of 4-byte words. Up to 4 bytes a lane, the warp is served at once; 8 bytes are served
//!   in halves of the warp, 16 bytes in quarters. Each takes as many wavefronts as the busiest bank has distinct words.
//! - Loads of 8 and 16 bytes serve two neighbouring parts together if each lane's address is also that of its
//!   neighbour, if that is active (`n ^ 1` for all, or `n ^ 2` for all).
//! - A shared atomic takes as many wavefronts as the busiest bank has lanes.
//!
//! Lanes outside an access carry the address of one inside, so that distinct addresses need no mask.

use crate::exec::access::Request;
use crate::fault::Access;
use crate::registers::LANES;

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Banks of shared memory.
const BANKS: usize = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;

/// Sectors of a global load or store.
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

/// Sectors of a global atomic or reduction by the lanes of `mask`.
fn atomic_sectors(addresses: &[u64; LANES], mask: u32) -> u64 {
    // In each round one lane of each address is served: an address with k lanes takes part in the first k rounds.
    let mut rounds: [(u64, u64); LANES] = std::array::from_fn(|lane| {
        let before = mask & ((1 << lane) - 1);
        let same = lanes(before).filter(|&other| addresses[other] == addresses[lane]).count() as u64;
        (same, addresses[lane] / SECTOR)
    });
    let mut count = 0;
    for lane in lanes(mask) {
        rounds[count] = rounds[lane];
        count += 1;
    }
    let rounds = &mut rounds[..count];
    rounds.sort_unstable();
    1 + rounds.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

/// What shared memory takes to serve an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Service {
    pub(crate) wavefronts: u64,
    /// Wavefronts beyond what the access would take if no bank were asked twice.
    pub(crate) conflicts: u64,
}

impl Request {
    /// Sectors of an access to global memory.
    #[inline]
    pub(crate) fn sectors(&self) -> u64 {
        match self.access {
            Access::Read | Access::Write => sectors(&self.addresses),
            Access::Atomic => atomic_sectors(&self.addresses, self.mask),
        }
    }

    /// What an access to shared memory takes.
    #[inline]
    pub(crate) fn service(&self) -> Service {
        match self.access {
            Access::Read | Access::Write => shared(self.access == Access::Read, &self.addresses, self.mask, self.total),
            Access::Atomic => shared_atomic(&self.addresses, self.mask),
        }
    }
}

/// A shared load (`load`) or store of `bytes` bytes by each lane of `mask`.
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
            let wavefronts = part_wavefronts(&addresses[first..first + lanes_of_part], part, parts as u64);
            service.wavefronts += wavefronts;
            service.conflicts += wavefronts - 1;
        }
    }
    service
}

/// The most distinct words in one bank; each lane asks for `words` neighbouring ones.
fn part_wavefronts(addresses: &[u64], mask: u32, words: u64) -> u64 {
    let active = lanes(mask).map(|lane| addresses[lane] / WORD);
    let (low, high) = active.clone().fold((u64::MAX, 0), |(low, high), word| (low.min(word), high.max(word)));
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

/// A shared atomic by the lanes of `mask`.
fn shared_atomic(addresses: &[u64; LANES], mask: u32) -> Service {
    let mut banks = [0_u8; BANKS];
    for lane in lanes(mask) {
        banks[(addresses[lane] / WORD) as usize % BANKS] += 1;
    }
    let wavefronts = u64::from(banks.into_iter().max().unwrap_or(0));
    Service { wavefronts, conflicts: wavefronts - 1 }
}
