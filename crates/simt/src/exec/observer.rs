//! The events that the interpreter reports to an observer. The observer is chosen at compile time,
//! so that a launch without one pays nothing.

use crate::exec::access::Request;
use crate::exec::copies::{Copy, SharedCell};
use crate::exec::env::Env;
use crate::exec::exchange::Exchange;
use crate::ptx::ast::{FenceSem, Ordering, Scope};
use crate::registers::{LANES, Registers};

/// An instruction of a warp, in the block that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    /// The warp's number in the block.
    pub(crate) warp: u32,
    pub(crate) pc: u32,
}

/// A change that a thread made to an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MbarrierChange {
    Init,
    Arrive(Ordering),
    /// It changed the count of bytes, or invalidated the mbarrier.
    Other,
}

/// Lanes of a warp that met at an instruction which names its members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meeting<'a> {
    pub(crate) kind: MeetingKind,
    /// The lanes that continue.
    pub(crate) lanes: u32,
    /// The member mask of each lane.
    pub(crate) members: &'a [u32; LANES],
    /// The lanes that have not exited.
    pub(crate) alive: u32,
}

/// The instruction of a [`Meeting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeetingKind {
    /// `bar.warp.sync`, whose wait is over.
    WarpSync,
    /// A collective, which ran. The results of the lanes in `strays` are undefined.
    Collective {
        strays: u32,
        /// Whether other lanes executed the collective at other instructions.
        apart: bool,
    },
}

/// An observer of the blocks of one worker. One block runs at a time. The default methods do
/// nothing.
///
/// Each method is called after the event has happened. Masks of lanes have bit i for lane i.
pub(crate) trait Observer {
    /// Whether the observer records which bytes are written (see
    /// [`Memory::checked`](crate::Memory::checked)). If it does not, the launch counts as having
    /// written everything.
    const NOTES_WRITES: bool = false;

    /// The block of `env` runs from now on.
    #[inline(always)]
    fn resume(&mut self, _env: &Env<'_>) {}

    /// An instruction is about to run in the lanes of `active`, which are those of `mask` in which
    /// its guard holds; there may be none. An instruction that waits may be about to run again and
    /// again.
    #[inline(always)]
    fn operands(
        &mut self,
        _env: &Env<'_>,
        _at: At,
        _mask: u32,
        _active: u32,
        _registers: &Registers,
    ) {
    }

    /// A collective is about to run.
    #[inline(always)]
    fn exchange(&mut self, _env: &Env<'_>, _exchange: &Exchange<'_>, _registers: &Registers) {}

    /// An instruction runs in the lanes of `active`; there may be none.
    #[inline(always)]
    fn instruction(&mut self, _at: At, _active: u32) {}

    /// The lanes of `taken` take a branch; the other lanes of `mask` do not.
    #[inline(always)]
    fn branch(&mut self, _at: At, _taken: u32, _mask: u32) {}

    /// Memory was accessed. An instruction with generic addresses may access several spaces; there
    /// is one call for each.
    #[inline(always)]
    fn access(&mut self, _env: &Env<'_>, _at: At, _request: &Request) {}

    /// Memory was written. The lanes of `unchanged` stored what was there before; only observers
    /// with [`Observer::NOTES_WRITES`] are told. `same` says whether two given lanes store the same
    /// value.
    #[inline(always)]
    fn store(
        &mut self,
        env: &Env<'_>,
        at: At,
        request: &Request,
        _unchanged: u32,
        _same: impl Fn(usize, usize) -> bool,
    ) {
        self.access(env, at, request);
    }

    /// A fence ran.
    #[inline(always)]
    fn fence(&mut self, _env: &Env<'_>, _at: At, _lanes: u32, _sem: FenceSem, _scope: Scope) {}

    /// Lanes arrived at barrier `id` of the block; `waits` says whether they wait there.
    #[inline(always)]
    fn arrive(&mut self, _env: &Env<'_>, _at: At, _lanes: u32, _id: u32, _waits: bool) {}

    /// Barrier `id` is complete, and the lanes that wait there continue; `waiting` gives their
    /// warps and lanes.
    #[inline(always)]
    fn barrier(&mut self, _env: &Env<'_>, _id: u32, _waiting: impl Iterator<Item = (u32, u32)>) {}

    /// Lanes arrived at the cluster's barrier. If `releases` is true, their earlier accesses become
    /// visible to the threads that wait.
    #[inline(always)]
    fn cluster_arrive(&mut self, _env: &Env<'_>, _at: At, _lanes: u32, _releases: bool) {}

    /// The phase of the cluster's barrier is complete.
    #[inline(always)]
    fn cluster_barrier(&mut self, _env: &Env<'_>) {}

    /// The wait of lanes at the cluster's barrier is over.
    #[inline(always)]
    fn cluster_wait(&mut self, _env: &Env<'_>, _at: At, _lanes: u32) {}

    /// A thread changed an mbarrier.
    #[inline(always)]
    fn mbarrier(
        &mut self,
        _env: &Env<'_>,
        _at: At,
        _lane: u32,
        _cell: SharedCell,
        _change: MbarrierChange,
    ) {
    }

    /// A phase of an mbarrier is complete.
    #[inline(always)]
    fn mbarrier_phase(&mut self, _env: &Env<'_>, _cell: SharedCell) {}

    /// A thread saw that a phase of an mbarrier is complete.
    #[inline(always)]
    fn mbarrier_wait(
        &mut self,
        _env: &Env<'_>,
        _at: At,
        _lane: u32,
        _cell: SharedCell,
        _ordering: Ordering,
    ) {
    }

    /// A thread began an asynchronous copy.
    #[inline(always)]
    fn copy_begin(&mut self, _env: &Env<'_>, _at: At, _copy: &Copy) {}

    /// The source of an asynchronous copy has been read, and its bytes have not arrived yet.
    #[inline(always)]
    fn copy_read(&mut self, _env: &Env<'_>, _copy: &Copy) {}

    /// The bytes of an asynchronous copy have arrived.
    #[inline(always)]
    fn copy_end(&mut self, _env: &Env<'_>, _copy: &Copy) {}

    /// A fence between the threads' accesses and asynchronous accesses ran.
    #[inline(always)]
    fn proxy_fence(&mut self, _env: &Env<'_>, _at: At, _lanes: u32) {}

    /// Lanes of the warp met. If they met at different instructions, there is one call for each
    /// instruction.
    #[inline(always)]
    fn meeting(&mut self, _env: &Env<'_>, _at: At, _meeting: &Meeting<'_>) {}

    /// A lane reads a value in order to print it.
    #[inline(always)]
    fn printed(&mut self, _env: &Env<'_>, _at: At, _request: &Request) {}

    /// Lanes stand at a barrier of the block that is meant for all lanes of their warp, and others
    /// of these lanes have neither arrived nor exited.
    #[inline(always)]
    fn parted(&mut self, _env: &Env<'_>, _at: At, _lanes: u32) {}

    /// Lanes exit.
    #[inline(always)]
    fn exit(&mut self, _env: &Env<'_>, _at: At, _lanes: u32) {}

    /// The block of `env` has ended.
    #[inline(always)]
    fn end(&mut self, _env: &Env<'_>) {}
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Observer for Plain {}
