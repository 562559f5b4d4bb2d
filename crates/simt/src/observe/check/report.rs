//! Reports: the findings of checks, in words.

use std::collections::HashMap;
use std::fmt;

use crate::dim::Dim3;
use crate::exec::block_id::BlockId;
use crate::exec::env::Env;
use crate::exec::launch::Together;
use crate::fault::{Access, SourceLines, Space};
use crate::ptx::ast::Frame;

/// A launch gives at most this many reports.
const MAX_REPORTS: usize = 100;

/// How bad a finding is. A worse one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Something that the author may want to know.
    Note,
    /// An action that the PTX ISA does not define or that is often a mistake, although the results
    /// of this launch do not depend on it.
    Warning,
    /// An action on which a result may depend.
    Error,
}

impl Severity {
    /// The name of the severity in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The class of a [`Report`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReportKind {
    /// Two threads access the same bytes, at least one of them writes, and nothing orders the two.
    /// (PTX ISA, "Memory Consistency Model": a data race, or accesses that are not morally strong.)
    Race,
    /// A race between lanes of one warp, which do not run in lock step. Volatile accesses to shared
    /// memory count too, because code that relies on lock step uses them.
    WarpSynchronous,
    /// A read of bytes that neither host nor kernel has written.
    UninitializedRead,
    /// Threads of one block wait for each other at different barrier instructions.
    DivergentBarrier,
    /// The member mask of a warp-level instruction names lanes that have exited or never had a
    /// thread.
    AbsentLanes,
    /// A shuffle reads a lane that does not take part in it.
    StrayShuffle,
    /// An access to bytes that an asynchronous copy has not written yet, or still reads: the thread
    /// did not wait for the copy.
    InFlight,
    /// A block of a cluster accesses the shared memory of another block, and nothing keeps that
    /// block from exiting before the access.
    EarlyExit,
    /// A strong access reads what another block or warp has written before a flag, and a fence is
    /// missing between one of the two and the flag.
    MissingFence,
}

impl ReportKind {
    /// All classes.
    pub const ALL: [ReportKind; 9] = [
        ReportKind::Race,
        ReportKind::WarpSynchronous,
        ReportKind::UninitializedRead,
        ReportKind::DivergentBarrier,
        ReportKind::AbsentLanes,
        ReportKind::StrayShuffle,
        ReportKind::InFlight,
        ReportKind::EarlyExit,
        ReportKind::MissingFence,
    ];

    /// The meaning of the class, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            ReportKind::Race => {
                "Two threads access the same bytes, one of them writes, and nothing orders the two."
            }
            ReportKind::WarpSynchronous => {
                "Two lanes of a warp access the same bytes, one of them writes, and nothing orders the two."
            }
            ReportKind::UninitializedRead => "A value comes from bytes that nothing has written.",
            ReportKind::DivergentBarrier => {
                "The threads of a block or of a warp do not meet at one barrier instruction."
            }
            ReportKind::AbsentLanes => {
                "A member mask names lanes that have exited or never had a thread."
            }
            ReportKind::StrayShuffle => "A shuffle reads a lane that does not take part in it.",
            ReportKind::InFlight => {
                "A thread uses bytes that an asynchronous copy has not finished with."
            }
            ReportKind::EarlyExit => {
                "A block may exit before another block accesses its shared memory."
            }
            ReportKind::MissingFence => {
                "A flag announces a value, and no fence orders the value and the flag."
            }
        }
    }

    /// The name of the class in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ReportKind::Race => "race",
            ReportKind::WarpSynchronous => "warp-synchronous",
            ReportKind::UninitializedRead => "uninitialized-read",
            ReportKind::DivergentBarrier => "divergent-barrier",
            ReportKind::AbsentLanes => "absent-lanes",
            ReportKind::StrayShuffle => "stray-shuffle",
            ReportKind::InFlight => "in-flight",
            ReportKind::EarlyExit => "early-exit",
            ReportKind::MissingFence => "missing-fence",
        }
    }
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An access to memory by one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The kind of the access.
    pub access: Access,
    /// The space of the access.
    pub space: Space,
    /// The first address; in a space other than global, an offset into the space.
    pub address: u64,
    /// How many bytes the access has, all vector elements together.
    pub bytes: u64,
    /// The block whose shared memory is accessed, if it is another block of the cluster.
    pub owner: Option<Dim3>,
}

impl MemoryAccess {
    fn verb(&self) -> &'static str {
        match self.access {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::Atomic => "updates",
        }
    }

    fn past(&self) -> &'static str {
        match self.access {
            Access::Read => "read",
            Access::Write => "wrote",
            Access::Atomic => "updated by an atomic",
        }
    }
}

impl fmt::Display for MemoryAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryAccess { space, address, bytes, owner, .. } = self;
        let s = if *bytes == 1 { "" } else { "s" };
        write!(f, "{} {bytes} byte{s} of {space} memory ", self.verb())?;
        if let Some(owner) = owner {
            write!(f, "of block {owner} ")?;
        }
        write!(f, "at {address:#x}")?;
        if self.access == Access::Atomic { f.write_str(" by an atomic") } else { Ok(()) }
    }
}

/// One party of a finding: a thread at an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The position of the thread's launch in the list of
    /// [`check_together`](crate::check_together), from 0; `None` if one launch was checked alone.
    pub launch: Option<usize>,
    /// The block of the thread.
    pub block: Dim3,
    /// The position of the thread in its block.
    pub thread: Dim3,
    /// The access of the thread, if the finding is about memory.
    pub access: Option<MemoryAccess>,
    /// The name of the thread's module, usually its file.
    pub module: String,
    /// The line of the PTX text, from 1.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// The source lines from which the instruction was compiled, innermost first; empty if the PTX
    /// does not contain them.
    pub frames: Vec<Frame>,
}

impl Party {
    pub(super) fn new(
        env: &Env<'_>,
        ticket: BlockId,
        thread: u32,
        pc: u32,
        access: Option<MemoryAccess>,
    ) -> Party {
        let launches = env.job.launches;
        let Together { kernel, config, .. } = launches[ticket.launch as usize];
        let place = kernel.program().places[pc as usize];
        Party {
            launch: (launches.len() > 1).then_some(ticket.launch as usize),
            block: config.grid.position(ticket.ticket),
            thread: config.block.position(u64::from(thread)),
            access,
            module: kernel.module_name().to_owned(),
            line: place.line,
            instruction: kernel.text(place),
            frames: kernel.frames(place),
        }
    }

    /// Whether the thread is at a barrier of the block, with a guard or without one.
    fn is_at_barrier(&self) -> bool {
        let mut words = self.instruction.split_whitespace();
        words.find(|word| !word.starts_with('@')).is_some_and(|name| name.starts_with("bar"))
    }

    fn place(&self) -> SourceLines<'_> {
        SourceLines {
            module: &self.module,
            frames: &self.frames,
            line: self.line,
            instruction: &self.instruction,
        }
    }
}

/// A finding at one place, or between two places.
///
/// A report prints as compilers print errors: the class and one sentence, the place, the other
/// party's place, and some advice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The class of the finding.
    pub kind: ReportKind,
    /// The severity of the finding. Findings of one class may have different severities; if there
    /// were several at these places, it is the greatest of them.
    pub severity: Severity,
    /// The kernel's name.
    pub kernel: String,
    /// The module's name, usually its file.
    pub module: String,
    /// One sentence, without a full stop.
    pub message: String,
    /// The thread whose action was found to be wrong. Of two threads in conflict, it is the later
    /// one in this run.
    pub here: Party,
    /// The other thread of the conflict, which came earlier in this run.
    pub other: Option<Party>,
    /// The advice to the author of the kernel.
    pub help: &'static str,
    /// How often the finding occurred at these places.
    pub count: u64,
}

impl Report {
    /// What the other party does.
    pub(crate) fn describe(&self, other: &Party) -> String {
        let who = name_of(other.thread, other.block, other.launch);
        match other.access {
            Some(access) => format!("{who} {access}"),
            None if self.kind == ReportKind::StrayShuffle => format!("{who} gets the value here"),
            None if other.is_at_barrier() => format!("{who} waits here"),
            None => format!("{who} exits here"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}[{}]: {}", self.severity, self.kind, self.message)?;
        write!(f, "{}", self.here.place())?;
        if let Some(other) = &self.other {
            writeln!(f, "other: {}", self.describe(other))?;
            write!(f, "{}", other.place())?;
        }
        write!(f, "help: {}", self.help)?;
        match self.count {
            0 | 1 => Ok(()),
            2 => write!(f, "\nnote: found once more at the same place"),
            n => write!(f, "\nnote: found {} times more at the same place", n - 1),
        }
    }
}

/// The reports of a launch, one for each class and pair of places.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(super) all: Vec<Report>,
    /// By class and places: the index of the report, and the rank of what it says.
    known: HashMap<(ReportKind, [Place; 2]), (usize, Rank)>,
}

/// The place of an instruction: the first launch of its kernel, and an offset into the text.
type Place = (usize, u32);

/// Of the findings of one class at the same places, the report describes the one with the greatest
/// rank: its severity, and how much it says among the findings of this severity.
pub(super) type Rank = (Severity, u8);

/// One finding: its class, its rank, the launches and program counters of both parties, how often
/// it occurred, and a function that gives the rest if the report has to be written.
pub(super) struct Found<'a> {
    pub(super) kind: ReportKind,
    pub(super) rank: Rank,
    pub(super) pcs: [(u32, u32); 2],
    pub(super) times: u64,
    pub(super) tell: &'a dyn Fn() -> (String, Party, Option<Party>, &'static str),
}

impl Reports {
    pub(super) fn add(&mut self, env: &Env<'_>, found: &Found<'_>) {
        let launches = env.job.launches;
        let mut places = found.pcs.map(|(launch, pc)| {
            let kernel = launches[launch as usize].kernel;
            let first = launches.iter().position(|of| std::ptr::eq(of.kernel, kernel));
            (first.unwrap_or_default(), kernel.program().places[pc as usize].start)
        });
        places.sort_unstable();
        let key = (found.kind, places);
        match self.known.get_mut(&key) {
            Some((_, rank)) if *rank > found.rank => {}
            Some((index, rank)) if *rank == found.rank => self.all[*index].count += found.times,
            Some((index, rank)) => {
                *rank = found.rank;
                self.all[*index] = found.report(env);
            }
            None if self.all.len() < MAX_REPORTS => {
                self.known.insert(key, (self.all.len(), found.rank));
                self.all.push(found.report(env));
            }
            None => {}
        }
    }
}

impl Found<'_> {
    fn report(&self, env: &Env<'_>) -> Report {
        let (message, here, other, help) = (self.tell)();
        let kernel = env.job.kernel;
        Report {
            kind: self.kind,
            severity: self.rank.0,
            kernel: kernel.name().to_owned(),
            module: kernel.module_name().to_owned(),
            message,
            here,
            other,
            help,
            count: self.times,
        }
    }
}

/// The program counters of two places in the launch that runs.
pub(super) fn pcs_here(env: &Env<'_>, pcs: [u32; 2]) -> [(u32, u32); 2] {
    pcs.map(|pc| (env.id().launch, pc))
}

/// The name of a thread in messages, such as `thread (1,0,0) of block (0,0,0)`.
fn name_of(thread: Dim3, block: Dim3, launch: Option<usize>) -> String {
    match launch {
        Some(launch) => format!("thread {thread} of block {block} of launch {launch}"),
        None => format!("thread {thread} of block {block}"),
    }
}

/// The name of a thread of one of the launches.
pub(super) fn name(env: &Env<'_>, ticket: BlockId, thread: u32) -> String {
    let launches = env.job.launches;
    let config = launches[ticket.launch as usize].config;
    name_of(
        config.block.position(u64::from(thread)),
        config.grid.position(ticket.ticket),
        (launches.len() > 1).then_some(ticket.launch as usize),
    )
}

/// The sentence about two accesses in conflict. It ends with `why`.
pub(super) fn conflict_message(
    env: &Env<'_>,
    (thread, here): (u32, &MemoryAccess),
    (ticket, other_thread, earlier): (BlockId, u32, &MemoryAccess),
    why: &str,
) -> String {
    let who = if ticket == env.id() {
        format!("thread {}", env.job.config.block.position(u64::from(other_thread)))
    } else {
        name(env, ticket, other_thread)
    };
    format!("{} {here} that {who} {}{why}", name(env, env.id(), thread), earlier.past())
}
