//! How an input is divided into packs and the elements outside of packs, and how a thread reads its
//! packs.

use crate::source::Source;
use crate::unroll::each;
use crate::{Position, Reduction};
use cuda_std::ext::streaming::Policy;
use cuda_std::thread;

/// How many threads of a block are set aside for the elements before the packs, one element each.
/// As many others are set aside for the elements after the packs.
const EDGE: usize = 16;

/// The most packs that a thread asks for at once. More packs would need more registers than the 64
/// that each thread has in a block of 1024 (bench/NOTEBOOK.md, attempt 11, H100 and H200).
pub(crate) const MOST_LOADS: usize = 8;

/// How the input is divided: elements before the first pack, packs, and elements after the last
/// one. [The contract](crate#the-launchs-contract) defines the fields.
///
/// Packs are counted from the line of the caches in which the first pack begins. The blocks then
/// begin at a line, because a warp whose packs do not begin at a line reads one line more
/// (bench/NOTEBOOK.md, attempt 32; H100, f16 of 2^24 + 1: 8.49 us to 7.95). Only the first block
/// begins later, at the first pack.
///
/// The host computes these numbers, because each instruction before the first load makes a small
/// reduction slower (bench/NOTEBOOK.md, attempt 46).
#[derive(Clone, Copy)]
pub struct Cut {
    /// The number of packs in the chunk of a block.
    pub chunk: u32,
    /// The number of blocks with a whole chunk.
    pub full: u32,
    /// The number of packs of the block after them.
    pub rest: u32,
    /// What is not in the packs.
    pub edges: u32,
}

impl Cut {
    /// The bits of `edges` that are not 0 if packs are counted from the first one and all indices
    /// have 32 bits.
    pub(crate) const SHORT_UNSKEWED: u32 = 0x00ff_fff0;
}

/// A [`Cut`] of elements of which a pack has `per_pack`.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) cut: Cut,
    pub(crate) per_pack: usize,
}

impl Parts {
    /// The number of packs between the line and the first pack.
    #[inline(always)]
    fn skew(self) -> u32 {
        self.cut.edges & 0xf
    }

    /// The number of elements between the first element and the first boundary of 16 bytes.
    #[inline(always)]
    fn to_boundary(self) -> u32 {
        self.cut.edges >> 4 & 0xf
    }

    /// The number of elements before the first pack.
    #[inline(always)]
    fn heads(self) -> u32 {
        self.cut.edges >> 8 & 0xff
    }

    /// The number of elements after the last pack.
    #[inline(always)]
    fn tails(self) -> u32 {
        self.cut.edges >> 16 & 0xff
    }

    /// Whether there are elements outside of packs.
    #[inline(always)]
    pub(crate) fn has_edges(self) -> bool {
        self.cut.edges & 0xff_ff00 != 0
    }

    /// Whether indices may have more than 32 bits.
    #[inline(always)]
    pub(crate) fn is_long(self) -> bool {
        self.cut.edges >> 24 != 0
    }

    /// The place of the first element. Places are counted from the line, so that it may be
    /// negative.
    #[inline(always)]
    fn zero(self) -> i32 {
        (self.skew() * self.per_pack as u32) as i32 - self.to_boundary() as i32
    }

    /// The first pack of a block and the number of its packs. The block may have no packs.
    #[inline(always)]
    pub(crate) fn packs(self, block: u32) -> (usize, u32) {
        let Cut { chunk, full, rest, .. } = self.cut;
        let skew = if block == 0 { self.skew() } else { 0 };
        let last = if block == full { rest } else { 0 };
        let count = if block < full { chunk } else { last };
        (block as usize * chunk as usize + skew as usize, count - skew)
    }

    /// The number that is subtracted from an element's place to get its number in its position.
    /// That number is the index if all indices have 32 bits. Otherwise numbers count from `EDGE` on
    /// at the block's first pack, because fewer elements than that lie before the packs.
    #[inline(always)]
    fn origin(self, block: u32) -> usize {
        if self.is_long() {
            (self.packs(block).0 * self.per_pack).wrapping_sub(EDGE)
        } else {
            self.zero() as usize
        }
    }

    /// The position of the element at `place`, which is one of the elements of `block`.
    #[inline(always)]
    pub(crate) fn position(self, place: usize, block: u32) -> Position {
        Position { block, number: place.wrapping_sub(self.origin(block)) as u32 }
    }

    /// The index of the element at a position.
    #[inline(always)]
    pub(crate) fn index(self, Position { block, number }: Position) -> u64 {
        if self.is_long() {
            let place = self.origin(block).wrapping_add(number as usize);
            place.wrapping_sub(self.zero() as usize) as u64
        } else {
            u64::from(number)
        }
    }

    /// The place of the element outside of packs that the thread takes, and whether it takes one.
    /// The first threads of the first block take one element each before the packs. The next
    /// threads of the last block take one element each after the packs.
    #[inline(always)]
    pub(crate) fn edge(self, block: u32, is_last: bool) -> (usize, bool) {
        let tid = thread::thread_idx_x();
        let is_head = tid < EDGE as u32;
        let heads = if block == 0 { self.heads() } else { 0 };
        let tails = if is_last { EDGE as u32 + self.tails() } else { 0 };
        let Cut { chunk, full, rest, .. } = self.cut;
        let end = full as usize * chunk as usize + rest as usize;
        let tail = (end * self.per_pack).wrapping_sub(EDGE);
        let first = if is_head { self.zero() as usize } else { tail };
        (first.wrapping_add(tid as usize), tid < if is_head { heads } else { tails })
    }
}

/// Asks for `loads` packs from `place` on, and then takes those that are below `count`. Between two
/// of them lie as many packs as the block has threads.
///
/// # Safety
/// The packs of `part` below `count` are there.
#[inline(always)]
pub(crate) unsafe fn batch<R, S>(
    kept: &mut R::Thread,
    part: S,
    loads: usize,
    (place, count): (u32, u32),
    policy: Option<Policy>,
) where
    R: Reduction<Source: Source<Item = S::Item, Pack = S::Pack>>,
    S: Source,
{
    let mut packs = [S::Pack::default(); MOST_LOADS];
    let place_of = |k: usize| place + k as u32 * thread::block_dim_x();
    each(loads, |k| {
        let (place, is_there) = (place_of(k) as usize, place_of(k) < count);
        // SAFETY: the pack is there if it is below `count`.
        packs[k] = unsafe { part.pack_if(place, policy, is_there) };
    });
    each(loads, |k| {
        if place_of(k) < count {
            *kept = R::pack(*kept, packs[k], place_of(k));
        }
    });
}
