//! What blocks do for each other, from a trace of all of them: how they leave partial results,
//! count, wait, read each other's memory and take turns with copies.

use std::{collections::BTreeMap, fmt, ops::Range};

use simt::{Access, EventKind, Space, Trace, TracedAccess};

use crate::{
    element::{Element, Value},
    variant::{Parameter, Results, Together, Variant},
};

impl Variant {
    /// Whether the rung is about what its blocks do for each other, and how many blocks its picture
    /// has then. Within a block, such a rung works as rung 9 does.
    pub(super) fn blocks_shown(self) -> Option<u64> {
        let facts = self.facts();
        let meet = facts.together != Together::Apart || facts.results != Results::Partials;
        match self {
            Self::Bulk => Some(2),
            _ => meet.then_some(4),
        }
    }
}

/// Something that a block did and that other blocks or later copies depend on.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A thread wrote the block's partial result.
    Leave {
        /// The position among the partial results.
        index: u64,
        /// The partial result.
        value: Value,
    },
    /// A thread wrote the result of the launch, or of a cluster.
    Finish {
        /// The position in the output.
        index: u64,
        /// The result.
        value: Value,
    },
    /// A warp read partial results.
    Collect {
        /// The first of them.
        first: u64,
        /// Their values.
        values: Vec<Value>,
    },
    /// A thread combined its value with the output by an atomic operation.
    Combine {
        /// The position in the output.
        index: u64,
        /// What the output then held.
        value: Value,
    },
    /// A thread changed the counter by an atomic operation.
    Count {
        /// What the counter then held.
        value: u32,
    },
    /// A thread read the counter, perhaps several times.
    Poll {
        /// What the counter held at last.
        value: u32,
    },
    /// A thread read the shared memory of another block of its cluster.
    ReadPeer {
        /// The rank of the other block in the cluster.
        peer: u32,
        /// What was there.
        value: Value,
    },
    /// A fence ran.
    Fence,
    /// All blocks of the cluster had come to its barrier; this block was the last.
    ClusterBarrier,
    /// A bulk copy of these elements began.
    CopyBegins(Range<u64>),
    /// The elements of a bulk copy arrived in shared memory.
    CopyArrives(Range<u64>),
    /// The threads of the block read these elements, which a copy had brought.
    AddUp(Range<u64>),
}

impl Deed {
    /// The name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Leave { .. } => "leave",
            Self::Finish { .. } => "finish",
            Self::Collect { .. } => "collect",
            Self::Combine { .. } => "combine",
            Self::Count { .. } => "count",
            Self::Poll { .. } => "poll",
            Self::ReadPeer { .. } => "read_peer",
            Self::Fence => "fence",
            Self::ClusterBarrier => "cluster_barrier",
            Self::CopyBegins(_) => "copy_begins",
            Self::CopyArrives(_) => "copy_arrives",
            Self::AddUp(_) => "add_up",
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements = |range: &Range<u64>| format!("elements {}-{}", range.start, range.end - 1);
        match self {
            Self::Leave { index, value } => write!(f, "leaves {value} in partial {index}"),
            Self::Finish { index, value } => write!(f, "writes {value} to output {index}"),
            Self::Collect { first, values } => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "reads partials {first}-{}: ", first + values.len() as u64 - 1)?;
                f.write_str(&values.join(" "))
            }
            Self::Combine { index, value } => {
                write!(f, "combines with output {index}, now {value}")
            }
            Self::Count { value } => write!(f, "counts, now {value}"),
            Self::Poll { value } => write!(f, "reads the counter: {value}"),
            Self::ReadPeer { peer, value } => write!(f, "reads {value} from block {peer}"),
            Self::Fence => f.write_str("fence"),
            Self::ClusterBarrier => f.write_str("cluster barrier complete"),
            Self::CopyBegins(range) => write!(f, "starts a copy: {}", elements(range)),
            Self::CopyArrives(range) => write!(f, "copy arrives: {}", elements(range)),
            Self::AddUp(range) => write!(f, "adds up {}", elements(range)),
        }
    }
}

/// A deed of one block.
#[derive(Clone, Debug)]
pub struct BlockEvent {
    /// The block.
    pub block: u64,
    /// What it did.
    pub deed: Deed,
    /// How often it did so in a row.
    pub times: u64,
}

/// Where the arrays of a launch are, as ranges of addresses.
pub(super) struct Places {
    pub(super) input: Range<u64>,
    pub(super) output: Range<u64>,
    pub(super) partials: Range<u64>,
    pub(super) counter: Range<u64>,
}

impl Places {
    /// The value of a parameter of the kernel.
    pub(super) fn argument(&self, parameter: Parameter, n: u64) -> simt::Arg {
        simt::Arg::Pointer(match parameter {
            Parameter::Input => self.input.start,
            Parameter::Output => self.output.start,
            Parameter::Partials => self.partials.start,
            Parameter::Counter => self.counter.start,
            Parameter::Count => return simt::Arg::U64(n),
        })
    }
}

/// What copies brought to shared memory: at which offset, which elements, and how many bytes.
type Brought = BTreeMap<u32, (Range<u64>, u32)>;

/// The deeds of all blocks of a launch, in the order of time.
pub(super) fn tell<T: Element>(trace: &Trace, places: &Places) -> Vec<BlockEvent> {
    let mut timed: BTreeMap<u64, (u64, Deed)> = BTreeMap::new();
    for block in &trace.blocks {
        let number = u64::from(block.block.x);
        let mut brought = Brought::new();
        for phase in &block.phases {
            let mut arrived = phase.events.iter().peekable();
            let mut event = |event: &simt::TracedEvent, brought: &mut Brought| {
                let size = size_of::<T>() as u64;
                let range = |copied: simt::CopiedBytes| {
                    let first = (copied.from - places.input.start) / size;
                    first..first + u64::from(copied.bytes) / size
                };
                let deed = match event.kind {
                    EventKind::Fence { .. } => Deed::Fence,
                    EventKind::ClusterBarrier => Deed::ClusterBarrier,
                    EventKind::CopyBegin(copied) => Deed::CopyBegins(range(copied)),
                    EventKind::CopyEnd(copied) => {
                        brought.insert(copied.to, (range(copied), copied.bytes));
                        Deed::CopyArrives(range(copied))
                    }
                };
                timed.insert(event.time, (number, deed));
            };
            let mut added: Vec<Range<u64>> = Vec::new();
            let mut deeds = Vec::new();
            for access in &phase.accesses {
                while let Some(next) = arrived.next_if(|next| next.time < access.time) {
                    event(next, &mut brought);
                }
                let tile = tile(access, &brought).filter(|tile| !added.contains(tile));
                added.extend(tile.clone());
                let deed = tile.map(Deed::AddUp).or_else(|| deed::<T>(access, places));
                deeds.extend(deed.map(|deed| (access.time, deed)));
            }
            arrived.for_each(|next| event(next, &mut brought));
            timed.extend(deeds.into_iter().map(|(time, deed)| (time, (number, deed))));
        }
    }
    let mut events: Vec<BlockEvent> = Vec::new();
    for (block, deed) in timed.into_values() {
        let last = events.iter_mut().rev().find(|event| event.block == block);
        match (last, &deed) {
            (
                Some(BlockEvent { deed: Deed::Poll { value }, times, .. }),
                Deed::Poll { value: new },
            ) => {
                *value = *new;
                *times += 1;
            }
            _ => events.push(BlockEvent { block, deed, times: 1 }),
        }
    }
    events
}

/// The copied elements that an access reads.
fn tile(access: &TracedAccess, brought: &Brought) -> Option<Range<u64>> {
    let first = access.lanes.first().filter(|_| {
        access.space == Space::Shared && access.peer.is_none() && access.access == Access::Read
    })?;
    let (&start, (elements, bytes)) = brought.range(..=first.address as u32).next_back()?;
    // The slots of the warps lie behind the last tile.
    (first.address - u64::from(start) < u64::from(*bytes)).then(|| elements.clone())
}

fn deed<T: Element>(access: &TracedAccess, places: &Places) -> Option<Deed> {
    let size = size_of::<T>() as u64;
    let lane = access.lanes.first()?;
    let value = |bytes: &[u8]| bytemuck::pod_read_unaligned::<T>(&bytes[..size_of::<T>()]).value();
    let word = || {
        let bytes = lane.value.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    if let Some(peer) = access.peer {
        return Some(Deed::ReadPeer { peer, value: value(&lane.value) });
    }
    let index = |range: &Range<u64>| {
        let is_there = access.space == Space::Global && range.contains(&lane.address);
        is_there.then(|| (lane.address - range.start) / size)
    };
    if let Some(index) = index(&places.partials) {
        return Some(match access.access {
            Access::Read => Deed::Collect {
                first: index,
                values: access.lanes.iter().map(|lane| value(&lane.value)).collect(),
            },
            Access::Write | Access::Atomic => Deed::Leave { index, value: value(&lane.value) },
        });
    }
    if let Some(index) = index(&places.output) {
        return match access.access {
            Access::Read => None,
            Access::Write => Some(Deed::Finish { index, value: value(&lane.value) }),
            Access::Atomic => Some(Deed::Combine { index, value: value(&lane.value) }),
        };
    }
    index(&places.counter)?;
    Some(match access.access {
        Access::Read => Deed::Poll { value: word()? },
        Access::Write | Access::Atomic => Deed::Count { value: word()? },
    })
}
