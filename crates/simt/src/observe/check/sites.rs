//! Sites: the memory instructions of a kernel, with numbers that fit the shadow's records.

use crate::fault::Access;
use crate::ir::layout::MBARRIER_BYTES;
use crate::ir::{Async, Op, Program};
use crate::ptx::ast::{self, Ordering, Scope};

use super::known::Reach;

/// The site of an instruction that is not watched, because it does not access memory, accesses a
/// constant or a parameter, or comes after [`MAX_SITES`] others.
pub(super) const UNWATCHED: u16 = u16::MAX;
/// How many sites the records can number. Accesses at further sites are not watched.
pub(super) const MAX_SITES: usize = 1 << 12;

/// Bulk copies are watched in units of this many bytes.
pub(super) const BULK: u32 = 16;

/// The ordering without its acquiring part.
fn relaxed(ordering: Ordering) -> Ordering {
    ordering.scope().map_or(ordering, Ordering::Relaxed)
}

/// A memory instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// The first launch with the kernel of the instruction.
    pub(super) launch: u32,
    pub(super) pc: u32,
    pub(super) access: Access,
    /// How many bytes each lane accesses.
    pub(super) bytes: u32,
    /// How many bytes one element of a vector has. Each element is a memory operation of its own
    /// (PTX ISA, "Vector Data-types").
    width: u32,
    pub(super) ordering: Ordering,
    /// How far the scope of the access reaches.
    pub(super) reach: Reach,
    /// Whether the site is one end of an asynchronous copy.
    pub(super) copies: bool,
}

impl Site {
    pub(super) fn is_strong(self) -> bool {
        self.ordering != Ordering::Weak
    }

    /// Whether two strong accesses at the two sites cover the same bytes if they overlap, element
    /// by element. Accesses that overlap only in part race, however strong they are (PTX ISA,
    /// "Morally Strong Operations").
    pub(super) fn is_as_wide_as(self, other: Site) -> bool {
        self.width == other.width
    }

    pub(super) fn is_volatile(self) -> bool {
        self.ordering == Ordering::Volatile
    }

    pub(super) fn writes(self) -> bool {
        self.access != Access::Read
    }

    /// The bytes of a word that an access covers, if the access begins at `offset` in the word.
    pub(super) fn bytes_of_word(self, offset: u32) -> u32 {
        0xf >> (4 - self.bytes.min(4)) << offset
    }
}

/// The sites of a kernel.
#[derive(Debug)]
pub(super) struct Sites {
    /// By program counter: the number of the site, or [`UNWATCHED`]. For a copy this is the site of
    /// its writes, and the next number is the site of its reads.
    pub(super) of: Vec<u16>,
    /// The sites of the kernels before, and of this one.
    pub(super) all: Vec<Site>,
}

impl Sites {
    /// The sites of a kernel whose first launch is `launch`. They follow those in `all`.
    pub(super) fn new(program: &Program, launch: u32, clusters: bool, mut all: Vec<Site>) -> Sites {
        let of = program.code.iter().enumerate().map(|(pc, inst)| {
            let (access, bytes, ordering, copies) = match &inst.op {
                Op::Load(load) if load.written == ast::Space::Const => return UNWATCHED,
                Op::Load(load) => {
                    (Access::Read, load.width * load.targets.len() as u32, load.ordering, false)
                }
                Op::Store(store) => {
                    (Access::Write, store.width * store.sources.len() as u32, store.ordering, false)
                }
                Op::Atomic(atomic) => (Access::Atomic, atomic.bytes(), atomic.ordering, false),
                // The acquiring part of a wait is handled separately, because a wait learns
                // releases only from a complete phase.
                Op::TryWait(wait) => (Access::Read, MBARRIER_BYTES, relaxed(wait.ordering), false),
                Op::Async(op) => match &**op {
                    Async::TestWait(wait) => {
                        (Access::Read, MBARRIER_BYTES, relaxed(wait.ordering), false)
                    }
                    Async::Init { .. } | Async::Invalidate { .. } => {
                        (Access::Write, MBARRIER_BYTES, Ordering::Weak, false)
                    }
                    Async::Arrive(arrive) => {
                        (Access::Atomic, MBARRIER_BYTES, arrive.ordering, false)
                    }
                    Async::CopyArrive { .. } => {
                        (Access::Atomic, MBARRIER_BYTES, Ordering::Release(Scope::Cta), false)
                    }
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
            // mbarriers count as ordering the blocks of a cluster even with their default scope,
            // which is the block's, because all programs write them that way.
            let met = clusters && matches!(inst.op, Op::TryWait(_) | Op::Async(_));
            let reach = ordering.scope().map_or(Reach::Block, |scope| Reach::of(scope, clusters));
            let reach = if met { reach.max(Reach::Device) } else { reach };
            let width = match &inst.op {
                Op::Load(load) => load.width,
                Op::Store(store) => store.width,
                // The elements of a vector are changed one by one.
                Op::Atomic(atomic) => atomic.ty.size(),
                _ => bytes,
            };
            let site =
                Site { launch, pc: pc as u32, access, bytes, width, ordering, reach, copies };
            all.push(site);
            if copies {
                all.push(Site { access: Access::Read, ..site });
            }
            number as u16
        });
        Sites { of: of.collect(), all }
    }
}
