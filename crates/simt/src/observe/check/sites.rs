//! The memory instructions of a kernel, numbered for the shadow's records.

use crate::fault::Access;
use crate::ir::layout::MBARRIER_BYTES;
use crate::ir::{Async, Op, Program};
use crate::ptx::ast::{self, Ordering, Scope};

use super::known::is_wide;

/// A site that is not watched: no access, a constant or parameter, or one too many.
pub(super) const UNWATCHED: u16 = u16::MAX;
/// Sites that a record has room for. Accesses at the sites beyond are not watched.
pub(super) const MAX_SITES: usize = 1 << 12;

/// Bytes in units of which bulk copies are watched.
pub(super) const BULK: u32 = 16;

/// The same without its acquiring.
fn relaxed(ordering: Ordering) -> Ordering {
    ordering.scope().map_or(ordering, Ordering::Relaxed)
}

/// A memory instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) pc: u32,
    pub(super) access: Access,
    /// Bytes that each lane accesses.
    pub(super) bytes: u32,
    /// Bytes of one element of a vector: each is a memory operation of its own (PTX ISA, "Vector Data-types").
    width: u32,
    pub(super) ordering: Ordering,
    /// Whether its scope reaches beyond the block.
    wide: bool,
    /// Whether it is an end of an asynchronous copy.
    pub(super) copies: bool,
}

impl Site {
    pub(super) fn is_strong(self) -> bool {
        self.ordering != Ordering::Weak
    }

    /// Whether two strong accesses of the two sites that meet cover the same bytes, element by element: if they overlap in
    /// part they race, however strong they are (PTX ISA, "Morally Strong Operations").
    pub(super) fn is_as_wide_as(self, other: Site) -> bool {
        self.width == other.width
    }

    pub(super) fn is_wide(self) -> bool {
        self.wide
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
    /// By program counter: a number, or [`UNWATCHED`]. A copy has the site of its writes here and that of its reads after
    /// it.
    pub(super) of: Vec<u16>,
    pub(super) all: Vec<Site>,
}

impl Sites {
    pub(super) fn new(program: &Program, clusters: bool) -> Sites {
        let mut all = Vec::new();
        let of = program.code.iter().enumerate().map(|(pc, inst)| {
            let (access, bytes, ordering, copies) = match &inst.op {
                Op::Load(load) if load.written == ast::Space::Const => return UNWATCHED,
                Op::Load(load) => (Access::Read, load.width * load.targets.len() as u32, load.ordering, false),
                Op::Store(store) => (Access::Write, store.width * store.sources.len() as u32, store.ordering, false),
                Op::Atomic(atomic) => (Access::Atomic, atomic.ty.size(), atomic.ordering, false),
                // A wait's acquiring is told apart: only a complete phase releases.
                Op::TryWait(wait) => (Access::Read, MBARRIER_BYTES, relaxed(wait.ordering), false),
                Op::Async(op) => match &**op {
                    Async::TestWait(wait) => (Access::Read, MBARRIER_BYTES, relaxed(wait.ordering), false),
                    Async::Init { .. } | Async::Invalidate { .. } => {
                        (Access::Write, MBARRIER_BYTES, Ordering::Weak, false)
                    }
                    Async::Arrive(arrive) => (Access::Atomic, MBARRIER_BYTES, arrive.ordering, false),
                    Async::CopyArrive { .. } => (Access::Atomic, MBARRIER_BYTES, Ordering::Release(Scope::Cta), false),
                    Async::Transactions { .. } => {
                        (Access::Atomic, MBARRIER_BYTES, Ordering::Relaxed(Scope::Cluster), false)
                    }
                    Async::Bulk(_) => (Access::Write, BULK, Ordering::Weak, true),
                    Async::Copy { bytes, .. } => (Access::Write, *bytes, Ordering::Weak, true),
                    Async::Commit { .. } | Async::Wait { .. } => return UNWATCHED,
                },
                _ => return UNWATCHED,
            };
            let number = all.len();
            if number + usize::from(copies) >= MAX_SITES {
                return UNWATCHED;
            }
            // mbarriers order blocks of a cluster by their default scope, that of the block, as everybody writes them.
            let met = clusters && matches!(inst.op, Op::TryWait(_) | Op::Async(_));
            let wide = ordering.scope().is_some_and(|scope| met || is_wide(scope, clusters));
            let width = match &inst.op {
                Op::Load(load) => load.width,
                Op::Store(store) => store.width,
                _ => bytes,
            };
            let site = Site { pc: pc as u32, access, bytes, width, ordering, wide, copies };
            all.push(site);
            if copies {
                all.push(Site { access: Access::Read, ..site });
            }
            number as u16
        });
        Sites { of: of.collect(), all }
    }
}
