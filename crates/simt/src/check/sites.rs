//! The memory instructions of a kernel, numbered for the shadow's records.

use crate::fault::Access;
use crate::ir::{Op, Program};
use crate::ptx::ast::{self, Ordering};

use super::publish::is_wide;

/// A site that is not watched: no access, a constant or parameter, or one too many.
pub(super) const UNWATCHED: u16 = u16::MAX;
/// Sites that a record has room for. Accesses at the sites beyond are not watched.
pub(super) const MAX_SITES: usize = 1 << 12;

/// A memory instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) pc: u32,
    pub(super) access: Access,
    /// Bytes that each lane accesses.
    pub(super) bytes: u32,
    pub(super) ordering: Ordering,
}

impl Site {
    pub(super) fn is_strong(self) -> bool {
        self.ordering != Ordering::Weak
    }

    /// Whether its scope reaches beyond the block.
    pub(super) fn is_wide(self) -> bool {
        self.ordering.scope().is_some_and(is_wide)
    }

    pub(super) fn is_volatile(self) -> bool {
        self.ordering == Ordering::Volatile
    }

    pub(super) fn writes(self) -> bool {
        self.access != Access::Read
    }

    /// The bytes of a word that an access with offset `offset` in it covers.
    pub(super) fn bytes_of_word(self, offset: u32) -> u32 {
        0xf >> (4 - self.bytes.min(4)) << offset
    }
}

/// The sites of a kernel.
#[derive(Debug)]
pub(super) struct Sites {
    /// By program counter: a number, or [`UNWATCHED`].
    pub(super) of: Vec<u16>,
    pub(super) all: Vec<Site>,
}

impl Sites {
    pub(super) fn new(program: &Program) -> Sites {
        let mut all = Vec::new();
        let of = program.code.iter().enumerate().map(|(pc, inst)| {
            let (access, bytes, ordering) = match &inst.op {
                Op::Load(load) if load.written == ast::Space::Const => return UNWATCHED,
                Op::Load(load) => (Access::Read, load.width * load.targets.len() as u32, load.ordering),
                Op::Store(store) => (Access::Write, store.width * store.sources.len() as u32, store.ordering),
                Op::Atomic(atomic) => (Access::Atomic, atomic.ty.size(), atomic.ordering),
                _ => return UNWATCHED,
            };
            if all.len() == MAX_SITES {
                return UNWATCHED;
            }
            all.push(Site { pc: pc as u32, access, bytes, ordering });
            all.len() as u16 - 1
        });
        Sites { of: of.collect(), all }
    }
}
