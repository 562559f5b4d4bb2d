//! Undefined bits in registers, and the reads and shuffles from which they come.
//!
//! The rule is that of Valgrind's memcheck. To read bytes that nothing has written is no error yet:
//! the bits of the register that receives them are undefined, arithmetic passes this on to the bits
//! of its results, and stores pass it on to memory. A *use* is an error: when an undefined bit
//! decides a branch, an address, or the result of an atomic, or leaves the block in a store.
//!
//! Most warps never hold an undefined bit. [`Check::tainted`](super::detector::Check) names those
//! that do, and only their instructions are followed.

use std::collections::HashMap;

use super::report::MemoryAccess;
use crate::exec::block_id::BlockId;
pub(super) use crate::exec::exchange::{Register, register};
use crate::ir::Space;
use crate::registers::{LANES, lanes_of};

/// At most this many origins are kept apart. Beyond, the reads of one instruction share one.
const MAX_ORIGINS: usize = 1 << 12;

/// The origins of at most this many stored words are remembered.
const MAX_STORED: usize = 1 << 16;

/// The undefined bits of a register.
#[derive(Debug, Clone, Default)]
pub(super) struct Undefined {
    /// The undefined bits of each lane.
    pub(super) bits: [u64; LANES],
    /// The origin of each lane's undefined bits.
    pub(super) from: [From; LANES],
    /// The lanes whose undefined bits are the results of arithmetic. The bits of the others were
    /// moved only.
    pub(super) computed: u32,
}

impl Undefined {
    /// The lanes with undefined bits.
    pub(super) fn lanes(&self) -> u32 {
        (0..LANES).fold(0, |lanes, lane| lanes | u32::from(self.bits[lane] != 0) << lane)
    }

    /// Gives a lane the undefined bits `bits`, which come from `from`.
    pub(super) fn mark(&mut self, lane: usize, bits: u64, from: From, computed: bool) {
        self.bits[lane] = bits;
        self.from[lane] = from;
        self.computed = self.computed & !(1 << lane) | u32::from(computed) << lane;
    }
}

/// The undefined bits in the registers of one warp.
#[derive(Debug, Default)]
pub(super) struct WarpValues {
    files: [Vec<Option<Box<Undefined>>>; 3],
    /// How many registers have undefined bits.
    count: usize,
}

impl WarpValues {
    pub(super) fn get(&self, (file, number): Register) -> Option<&Undefined> {
        self.files[file as usize].get(number as usize)?.as_deref()
    }

    /// The undefined bits of a register in the lanes of `mask`; `None` if there are none.
    pub(super) fn within(&self, register: Register, mask: u32) -> Option<&Undefined> {
        self.get(register).filter(|undefined| undefined.lanes() & mask != 0)
    }

    /// Records the bits of a register in the lanes of `mask`, in which it was written.
    pub(super) fn put(&mut self, (file, number): Register, mask: u32, new: &Undefined) {
        let (file, number) = (&mut self.files[file as usize], number as usize);
        let there = file.get(number).is_some_and(Option::is_some);
        if !there && new.lanes() & mask == 0 {
            return;
        }
        if file.len() <= number {
            file.resize_with(number + 1, || None);
        }
        let old = file[number].get_or_insert_with(Box::default);
        for lane in lanes_of(mask) {
            old.mark(lane, new.bits[lane], new.from[lane], new.computed >> lane & 1 == 1);
        }
        let remains = old.lanes() != 0;
        if !remains {
            file[number] = None;
        }
        self.count += usize::from(remains);
        self.count -= usize::from(there);
    }

    /// Records that a register was written in the lanes of `mask`, with defined values.
    pub(super) fn define(&mut self, (file, number): Register, mask: u32) {
        if self.get((file, number)).is_some() {
            self.put((file, number), mask, &Undefined::default());
        }
    }
}

/// The undefined bits in the registers of a block.
#[derive(Debug)]
pub(super) struct Values(pub(super) Vec<WarpValues>);

impl Values {
    pub(super) fn new(threads: usize) -> Values {
        Values((0..threads.div_ceil(LANES)).map(|_| WarpValues::default()).collect())
    }

    /// The warps with undefined bits.
    pub(super) fn tainted(&self) -> u32 {
        let bit = |(warp, values): (usize, &WarpValues)| u32::from(values.count > 0) << warp;
        self.0.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
    }

    /// Whether a warp has undefined bits.
    pub(super) fn is_tainted(&self, warp: u32) -> bool {
        self.0[warp as usize].count > 0
    }
}

/// The words of memory that hold undefined bits which a store put there, and where the bits come
/// from. A word has the number of its address divided by 4.
#[derive(Debug, Default)]
pub(super) struct Stored(HashMap<(bool, u64), From>);

impl Stored {
    /// Records that bytes were stored at `address`. Local memory is a space of its own.
    pub(super) fn put(&mut self, local: bool, address: u64, from: From) {
        if self.0.len() < MAX_STORED {
            self.0.insert((local, address / 4), from);
        }
    }

    /// The origin of undefined bits in `bytes` bytes at `address`, if a store put them there.
    pub(super) fn within(&self, local: bool, address: u64, bytes: u64) -> Option<From> {
        if self.0.is_empty() {
            return None;
        }
        (address / 4..(address + bytes).div_ceil(4))
            .find_map(|word| self.0.get(&(local, word)))
            .copied()
    }
}

/// A lane of an [`Origin`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct From {
    pub(super) origin: u32,
    pub(super) lane: u8,
}

/// An instruction of a warp that gave undefined bits: a read of bytes that nothing has written, or
/// a shuffle from a lane that takes no part.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) pc: u32,
    pub(super) ticket: BlockId,
    pub(super) warp: u32,
    /// The space that was read, and the access of each lane; `None` for a shuffle.
    pub(super) read: Option<(Space, Vec<MemoryAccess>)>,
}

/// All origins of a launch.
#[derive(Debug, Default)]
pub(super) struct Origins {
    all: Vec<Origin>,
    first: HashMap<(u32, u32), u32>,
}

impl Origins {
    /// The number of an origin.
    pub(super) fn add(&mut self, origin: Origin) -> u32 {
        let number = self.all.len() as u32;
        if self.all.len() >= MAX_ORIGINS
            && let Some(first) = self.first.get(&(origin.ticket.launch, origin.pc))
        {
            return *first;
        }
        self.first.entry((origin.ticket.launch, origin.pc)).or_insert(number);
        self.all.push(origin);
        number
    }

    pub(super) fn get(&self, from: From) -> &Origin {
        &self.all[from.origin as usize]
    }
}
