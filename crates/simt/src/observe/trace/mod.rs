//! Traces: the accesses of a small launch to memory, phase by phase, and the contents of memory
//! after each phase; the values that go from lane to lane; and fences, clusters' barriers and
//! asynchronous copies.

mod events;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dim::Dim3;
use crate::exec::access::Request;
use crate::exec::config::LaunchConfig;
use crate::exec::copies::Copy as AsyncCopy;
use crate::exec::env::Env;
use crate::exec::exchange::Exchange;
use crate::exec::launch::{Arg, LaunchError, run};
use crate::exec::memory::{self, Memory};
use crate::exec::observer::{At, Meeting, MeetingKind, Observer};
use crate::fault::{Access, Fault, Space};
use crate::ir;
use crate::module::Kernel;
use crate::observe::check::{Report, Reports, Warnings};
use crate::observe::hardware::Service;
use crate::ptx::ast::Frame;
use crate::ptx::ast::{FenceSem, Scope};
use crate::registers::{LANES, Registers};

pub use events::{CopiedBytes, EventKind, ExchangeKind, LaneExchange, TracedEvent, TracedExchange};

/// The ranges that [`trace()`] records, and the limits of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Ranges of device addresses whose bytes are recorded after each phase. Each range lies inside
    /// one allocation.
    pub ranges: Vec<Range<u64>>,
    /// The greatest number of accesses, exchanges and events that are recorded. One of a whole warp
    /// counts as one.
    pub max_accesses: usize,
    /// The greatest number of bytes of memory that are recorded, all phases together.
    pub max_snapshot_bytes: usize,
}

impl Default for TraceOptions {
    /// No ranges, at most 65536 accesses, at most 64 MiB.
    fn default() -> TraceOptions {
        TraceOptions { ranges: Vec::new(), max_accesses: 1 << 16, max_snapshot_bytes: 64 << 20 }
    }
}

/// The accesses of a launch to memory, and the contents of memory after each phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The kernel's name.
    pub kernel: String,
    /// The blocks that ran, in linear order.
    pub blocks: Vec<BlockTrace>,
    /// The PTX instructions that accessed memory, in the order of the text.
    /// [`TracedAccess::instruction`] is an index into this list.
    pub instructions: Vec<TracedInstruction>,
    /// Whether a limit of [`TraceOptions`] was reached. The launch continued, but nothing was
    /// recorded from the phase on that reached the limit.
    pub truncated: bool,
    /// What is found without checks, as by [`launch_and_warn`](crate::launch_and_warn()).
    pub warnings: Vec<Report>,
    /// The fault that stopped the launch, if there was one. The phases before it are recorded.
    pub fault: Option<Box<Fault>>,
}

/// A PTX instruction that accessed memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedInstruction {
    /// The line of the instruction in the PTX text, from 1.
    pub line: u32,
    /// The instruction as written.
    pub text: String,
    /// The source lines from which the instruction was compiled, innermost first; empty if the PTX
    /// does not contain them.
    pub frames: Vec<Frame>,
}

/// The phases of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTrace {
    /// The position of the block in the grid.
    pub block: Dim3,
    /// The phases of the block, from one synchronisation to the next, in the order of time.
    pub phases: Vec<Phase>,
}

/// The accesses of a block up to a synchronisation, and the contents of memory at that moment.
///
/// A phase ends for the whole block when any of its threads synchronise. A `bar.warp.sync` of one
/// warp therefore ends a phase of the other warps too, although it does not order their accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// How the phase ended.
    pub end: PhaseEnd,
    /// The accesses, in the order in which they happened.
    pub accesses: Vec<TracedAccess>,
    /// The exchanges of registers between lanes, in the order in which they happened.
    pub exchanges: Vec<TracedExchange>,
    /// Fences, barriers of the cluster and asynchronous copies, in the order in which they
    /// happened.
    pub events: Vec<TracedEvent>,
    /// The block's shared memory at the end of the phase.
    pub shared: Vec<u8>,
    /// The bytes of the [`TraceOptions::ranges`] at the end of the phase. Other blocks may have
    /// written there as well.
    pub ranges: Vec<Vec<u8>>,
}

/// The end of a [`Phase`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseEnd {
    /// A barrier of the block was complete.
    Barrier {
        /// The number of the barrier.
        id: u32,
    },
    /// Lanes of a warp continued after a `bar.warp.sync`.
    WarpSync {
        /// The warp's number in the block.
        warp: u32,
        /// The lanes, bit i for lane i.
        lanes: u32,
    },
    /// All threads have exited.
    Exit,
    /// The launch was stopped by [`Trace::fault`]. Memory is shown as it was when the trace ended.
    Stopped,
}

/// An access of a warp to one space. Kernel parameters are not traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedAccess {
    /// The position among everything that the trace recorded, in the order of time.
    pub time: u64,
    /// The warp's number in the block.
    pub warp: u32,
    /// The index of the instruction in [`Trace::instructions`].
    pub instruction: usize,
    /// The kind of the access: `ld`, `st`, or one of `atom` and `red`.
    pub access: Access,
    /// The space of the access.
    pub space: Space,
    /// The rank of the block whose shared memory is accessed, if it is another block of the
    /// cluster; otherwise `None`.
    pub peer: Option<u32>,
    /// How many bytes each lane accesses, all vector elements together.
    pub bytes: u32,
    /// The accesses of the lanes that took part, lowest lane first.
    pub lanes: Vec<LaneAccess>,
    /// Sectors of 32 bytes, as an H100 counts them; 0 outside global memory.
    pub sectors: u64,
    /// Wavefronts of shared memory, as an H100 counts them; 0 in other spaces.
    pub wavefronts: u64,
    /// How many wavefronts the access takes more than it would without bank conflicts.
    pub bank_conflicts: u64,
}

/// One lane's part of a [`TracedAccess`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneAccess {
    /// The thread's linear number in its block.
    pub thread: u32,
    /// A device address, or an offset in bytes into the block's shared or the thread's local
    /// memory.
    pub address: u64,
    /// The bytes that memory held there right after the access: the bytes that were read or
    /// written, unless another lane wrote there too.
    pub value: Vec<u8>,
}

/// Runs a kernel to its end on one worker. Records the accesses of its threads to memory from one
/// synchronisation to the next, and the contents of memory after each synchronisation. Traces are
/// meant for small launches: see the limits in [`TraceOptions`].
///
/// A fault ends the trace and is part of it ([`Trace::fault`]). Asynchronous copies are traced as
/// events and not as accesses; their bytes are in the recorded memory. Barriers of clusters are
/// events too, and end no phase.
///
/// # Errors
/// The errors of [`launch`](crate::launch()) except faults, and [`LaunchError::TraceRange`].
///
/// ```
/// use simt::{Access, Arg, LaunchConfig, Memory, Module, PhaseEnd, TraceOptions, trace};
///
/// // Two threads swap their values through shared memory.
/// let module = Module::from_ptx(
///     "swap.ptx",
///     ".version 7.0
///      .target sm_75
///      .address_size 64
///      .visible .entry swap(.param .u64 data) {
///          .reg .b32 %r<4>;
///          .reg .b64 %rd<3>;
///          .shared .align 4 .b8 cells[8];
///          ld.param.u64 %rd1, [data];
///          mov.u32 %r1, %tid.x;
///          shl.b32 %r2, %r1, 2;
///          mov.u32 %r3, cells;
///          add.u32 %r2, %r2, %r3;
///          add.u32 %r1, %r1, 7;
///          st.shared.u32 [%r2], %r1;
///          bar.sync 0;
///          xor.b32 %r2, %r2, 4;
///          ld.shared.u32 %r1, [%r2];
///          st.global.u32 [%rd1], %r1;
///          ret;
///      }",
/// )?;
/// let memory = Memory::new(1 << 20);
/// let data = memory.alloc(4)?;
/// let kernel = module.kernel("swap").ok_or("no such kernel")?;
/// let options = TraceOptions { ranges: vec![data..data + 4], ..TraceOptions::default() };
/// let trace = trace(kernel, &LaunchConfig::new(1, 2), &[Arg::Pointer(data)], &memory, &options)?;
/// let [first, second] = &trace.blocks[0].phases[..] else { panic!("{trace:?}") };
/// assert_eq!(first.end, PhaseEnd::Barrier { id: 0 });
/// assert_eq!(first.shared, [7, 0, 0, 0, 8, 0, 0, 0]);
/// assert_eq!(second.accesses[0].access, Access::Read);
/// assert_eq!((second.accesses[0].lanes[1].address, second.accesses[0].lanes[1].value[0]), (0, 7));
/// assert_eq!(second.ranges[0], [7, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trace(
    kernel: &Kernel,
    config: &LaunchConfig,
    args: &[Arg],
    memory: &Memory,
    options: &TraceOptions,
) -> Result<Trace, LaunchError> {
    for Range { start, end } in &options.ranges {
        let bytes = usize::try_from(end.saturating_sub(*start)).unwrap_or(usize::MAX);
        memory.host_range(*start, bytes).map_err(LaunchError::TraceRange)?;
    }
    let config = LaunchConfig { workers: Some(1), ..*config };
    let tracer = || Tracer {
        options,
        blocks: BTreeMap::new(),
        recorded: 0,
        snapshot_bytes: 0,
        truncated: false,
        warnings: Warnings::default(),
    };
    let (mut tracers, fault) = run(kernel, &config, args, memory, tracer)?;
    let tracer = tracers.remove(0);
    Ok(tracer.finish(kernel, &config, memory, fault))
}

/// The observer of the launch's only worker.
struct Tracer<'a> {
    options: &'a TraceOptions,
    /// The blocks, by linear index.
    blocks: BTreeMap<u64, Open>,
    /// How many accesses, exchanges and events were recorded.
    recorded: usize,
    snapshot_bytes: usize,
    truncated: bool,
    warnings: Warnings,
}

/// A block, and its accesses since its last synchronisation.
#[derive(Default)]
struct Open {
    phases: Vec<Phase>,
    /// The accesses since the last synchronisation. Until the trace ends,
    /// [`TracedAccess::instruction`] is a program counter.
    accesses: Vec<TracedAccess>,
    exchanges: Vec<TracedExchange>,
    events: Vec<TracedEvent>,
    ended: bool,
    /// The shared memory as the accesses left it. It is kept for the case that the block is
    /// stopped.
    shared: Vec<u8>,
}

impl Tracer<'_> {
    fn cut(&mut self, env: &Env<'_>, end: PhaseEnd) {
        let ranges = &self.options.ranges;
        let bytes = env.shared.len() + ranges.iter().map(length).sum::<usize>();
        if self.truncated || self.snapshot_bytes + bytes > self.options.max_snapshot_bytes {
            self.truncated = true;
            return;
        }
        self.snapshot_bytes += bytes;
        let block = self.blocks.entry(env.ticket).or_default();
        block.ended = end == PhaseEnd::Exit;
        let ranges = ranges.iter().map(|range| global_bytes(env, range.start, length(range)));
        block.phases.push(Phase {
            end,
            accesses: std::mem::take(&mut block.accesses),
            exchanges: std::mem::take(&mut block.exchanges),
            events: std::mem::take(&mut block.events),
            shared: env.shared.clone(),
            ranges: ranges.collect(),
        });
    }

    /// Counts something that is recorded, and returns its time. `None` if a limit is reached.
    fn tick(&mut self) -> Option<u64> {
        if self.truncated || self.recorded == self.options.max_accesses {
            self.truncated = true;
            return None;
        }
        self.recorded += 1;
        Some(self.recorded as u64)
    }

    fn event(&mut self, ticket: u64, kind: EventKind) {
        if let Some(time) = self.tick() {
            self.blocks.entry(ticket).or_default().events.push(TracedEvent { time, kind });
        }
    }

    fn finish(
        self,
        kernel: &Kernel,
        config: &LaunchConfig,
        memory: &Memory,
        fault: Option<Box<Fault>>,
    ) -> Trace {
        let program = kernel.program();
        let mut found = BTreeMap::new();
        let mut blocks: Vec<BlockTrace> = Vec::new();
        for (ticket, mut open) in self.blocks {
            if !open.ended && !self.truncated && fault.is_some() {
                let range = |range: &Range<u64>| {
                    let mut bytes = vec![0; length(range)];
                    // The range was allocated when the launch began. If the caller has freed it
                    // since, it reads as zeros.
                    let _ = memory.read(range.start, &mut bytes);
                    bytes
                };
                open.phases.push(Phase {
                    end: PhaseEnd::Stopped,
                    accesses: open.accesses,
                    exchanges: open.exchanges,
                    events: open.events,
                    shared: open.shared,
                    ranges: self.options.ranges.iter().map(range).collect(),
                });
            }
            blocks.push(BlockTrace { block: config.grid.position(ticket), phases: open.phases });
        }
        let each_access = |block: &mut BlockTrace, each: &mut dyn FnMut(&mut TracedAccess)| {
            block.phases.iter_mut().flat_map(|phase| &mut phase.accesses).for_each(each);
        };
        for block in &mut blocks {
            each_access(block, &mut |access| {
                let place = program.places[access.instruction];
                found.insert(place.start, place);
            });
        }
        let order: BTreeMap<u32, usize> =
            found.keys().enumerate().map(|(index, start)| (*start, index)).collect();
        for block in &mut blocks {
            each_access(block, &mut |access| {
                access.instruction = order[&program.places[access.instruction].start];
            });
        }
        let instructions = found.into_values().map(|place| TracedInstruction {
            line: place.line,
            text: kernel.text(place),
            frames: kernel.frames(place),
        });
        Trace {
            kernel: kernel.name().to_owned(),
            blocks,
            instructions: instructions.collect(),
            truncated: self.truncated,
            warnings: Reports::joined([self.warnings.0]),
            fault,
        }
    }
}

impl Observer for Tracer<'_> {
    fn resume(&mut self, env: &Env<'_>) {
        if !self.truncated {
            self.blocks.entry(env.ticket).or_default();
        }
    }

    fn access(&mut self, env: &Env<'_>, at: At, request: &Request) {
        if request.space == ir::Space::Param {
            return;
        }
        let Some(time) = self.tick() else { return };
        let space = Space::from(request.space);
        let lane = |lane: usize| LaneAccess {
            thread: at.warp * LANES as u32 + lane as u32,
            address: request.addresses[lane],
            value: value(env, at.warp, request, lane),
        };
        let service = if space == Space::Shared && request.peer.is_none() {
            request.service()
        } else {
            Service::default()
        };
        let block = self.blocks.entry(env.ticket).or_default();
        block.accesses.push(TracedAccess {
            time,
            warp: at.warp,
            instruction: at.pc as usize,
            access: request.access,
            space,
            peer: request.peer,
            bytes: request.total as u32,
            lanes: request.lanes().map(lane).collect(),
            sectors: if space == Space::Global { request.sectors() } else { 0 },
            wavefronts: service.wavefronts,
            bank_conflicts: service.conflicts,
        });
        if space == Space::Shared {
            let lanes = block.accesses[block.accesses.len() - 1].lanes.clone();
            let ticket = env.ticket_of(env.rank_of(request.peer));
            let shared = &mut self.blocks.entry(ticket).or_default().shared;
            shared.resize(env.shared.len(), 0);
            for lane in lanes {
                shared[lane.address as usize..][..lane.value.len()].copy_from_slice(&lane.value);
            }
        }
    }

    fn exchange(&mut self, env: &Env<'_>, exchange: &Exchange<'_>, registers: &Registers) {
        let found = events::exchange(exchange, registers);
        if let Some((exchange, time)) = found.and_then(|found| Some((found, self.tick()?))) {
            let block = self.blocks.entry(env.ticket).or_default();
            block.exchanges.push(TracedExchange { time, ..exchange });
        }
    }

    fn fence(&mut self, env: &Env<'_>, at: At, _lanes: u32, _sem: FenceSem, _scope: Scope) {
        self.event(env.ticket, EventKind::Fence { warp: at.warp });
    }

    fn cluster_barrier(&mut self, env: &Env<'_>) {
        self.event(env.ticket, EventKind::ClusterBarrier);
    }

    fn copy_begin(&mut self, env: &Env<'_>, _at: At, copy: &AsyncCopy) {
        if let Some(copied) = events::copied(copy) {
            self.event(env.ticket_of(copy.rank), EventKind::CopyBegin(copied));
        }
    }

    fn copy_end(&mut self, env: &Env<'_>, copy: &AsyncCopy) {
        if let Some(copied) = events::copied(copy) {
            self.event(env.ticket_of(copy.rank), EventKind::CopyEnd(copied));
        }
    }

    fn barrier(&mut self, env: &Env<'_>, id: u32, _waiting: impl Iterator<Item = (u32, u32)>) {
        self.cut(env, PhaseEnd::Barrier { id });
    }

    fn meeting(&mut self, env: &Env<'_>, at: At, meeting: &Meeting<'_>) {
        self.warnings.meeting(env, at, meeting);
        if meeting.kind == MeetingKind::WarpSync {
            self.cut(env, PhaseEnd::WarpSync { warp: at.warp, lanes: meeting.lanes });
        }
    }

    fn end(&mut self, env: &Env<'_>) {
        self.cut(env, PhaseEnd::Exit);
    }
}

/// How many bytes a range has; 0 if it ends before it starts.
fn length(range: &Range<u64>) -> usize {
    range.end.saturating_sub(range.start) as usize
}

/// The bytes that memory holds at the place of a lane's access.
fn value(env: &Env<'_>, warp: u32, request: &Request, lane: usize) -> Vec<u8> {
    let (address, bytes) = (request.addresses[lane], request.total as usize);
    let slice = |memory: &[u8], start: usize| memory[start..start + bytes].to_vec();
    match request.space {
        ir::Space::Shared => slice(env.shared_of(request.peer), address as usize),
        ir::Space::Local => {
            let thread = warp as usize * LANES + lane;
            slice(&env.local, thread * env.program.local_stride() + address as usize)
        }
        _ => global_bytes(env, address, bytes),
    }
}

/// Bytes of global memory, read through the running launch's view of memory.
fn global_bytes(env: &Env<'_>, address: u64, bytes: usize) -> Vec<u8> {
    let found = env.job.memory.find(address, bytes as u64, &mut 0);
    let byte = |at: usize| {
        found.map_or(0, |found| memory::load(&found.words, (address - found.base) as usize + at, 1))
    };
    (0..bytes).map(|at| byte(at) as u8).collect()
}
