//! The random numbers by which a seed varies the order of warps and blocks.

use crate::random::SplitMix64;

/// A generator of random numbers. Each block of a launch has its own.
#[derive(Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64, ticket: u64) -> Random {
        Random(SplitMix64(seed ^ ticket.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below `bound`, close enough to uniform for a schedule.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next() % bound
    }
}
