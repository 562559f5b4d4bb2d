//! What a trace records beside accesses to memory: values that go from register to register, and
//! what orders blocks and copies.

use crate::exec::collective;
use crate::exec::copies::{self, End};
use crate::exec::exchange::Exchange;
use crate::ir::Collective;
use crate::registers::{LANES, Registers, lanes_of};

/// A warp-level instruction that gave lanes the values of other lanes: `shfl.sync` or `redux.sync`.
/// Lanes that executed it together at several instructions are one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedExchange {
    /// The position among everything that the trace recorded, in the order of time.
    pub time: u64,
    /// The warp's number in the block.
    pub warp: u32,
    /// Which instruction it was.
    pub kind: ExchangeKind,
    /// The lanes that took part, lowest lane first.
    pub lanes: Vec<LaneExchange>,
}

/// The kind of a [`TracedExchange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// `shfl.sync`: each lane gets the value of one lane.
    Shuffle,
    /// `redux.sync`: each lane gets the values of all lanes, combined.
    Reduction,
}

/// One lane's part of a [`TracedExchange`]. The values are the 32 bits of the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneExchange {
    /// The thread's linear number in its block.
    pub thread: u32,
    /// The value that the lane gave.
    pub gave: u32,
    /// The lanes whose values the lane got, bit i for lane i. A lane whose source does not exist
    /// gets its own value.
    pub from: u32,
    /// The value that the lane got.
    pub got: u32,
}

/// Something else that happened in a launch and that other threads may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedEvent {
    /// The position among everything that the trace recorded, in the order of time.
    pub time: u64,
    /// What happened.
    pub kind: EventKind,
}

/// The kind of a [`TracedEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Threads of a warp ran a fence.
    Fence {
        /// The warp's number in the block.
        warp: u32,
    },
    /// The barrier of the cluster was complete. The event stands in the last block that arrived.
    ClusterBarrier,
    /// A thread began an asynchronous copy from global to shared memory.
    CopyBegin(CopiedBytes),
    /// The bytes of such a copy arrived.
    CopyEnd(CopiedBytes),
}

/// An asynchronous copy from global memory to the block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopiedBytes {
    /// The device address of the first byte.
    pub from: u64,
    /// The offset into shared memory of the first byte.
    pub to: u32,
    /// How many bytes are copied.
    pub bytes: u32,
}

/// A copy from global to shared memory; `None` for copies in other directions.
pub(super) fn copied(copy: &copies::Copy) -> Option<CopiedBytes> {
    match (copy.from, copy.to) {
        (End::Global(from), End::Shared(to)) => {
            Some(CopiedBytes { from, to: to.offset, bytes: copy.bytes })
        }
        _ => None,
    }
}

/// What a collective is about to do. `None` for one that gives no lane another lane's value.
pub(super) fn exchange(exchange: &Exchange<'_>, registers: &Registers) -> Option<TracedExchange> {
    let Exchange { warp, lanes: mask, members, .. } = *exchange;
    let (collective, registers) = exchange.gather(registers);
    let run = |registers: &Registers| {
        let mut registers = registers.clone();
        collective::execute(&collective, &mut registers, mask, members);
        registers
    };
    let (kind, a, target) = match collective {
        Collective::Shuffle { a, target, .. } => (ExchangeKind::Shuffle, a, target),
        Collective::Redux { a, target, .. } => (ExchangeKind::Reduction, a, target),
        Collective::Vote { .. } | Collective::Match { .. } | Collective::Elect { .. } => {
            return None;
        }
    };
    let after = run(&registers);
    // A shuffle of the lanes' numbers tells from which lane each value comes.
    let sources = match kind {
        ExchangeKind::Shuffle => {
            let mut numbered = registers.clone();
            numbered.words[a as usize] = std::array::from_fn(|lane| lane as u32);
            run(&numbered).words[target as usize].map(|lane| 1 << (lane % LANES as u32))
        }
        ExchangeKind::Reduction => members.map(|members| members & mask),
    };
    let lanes = lanes_of(mask).map(|lane| LaneExchange {
        thread: warp * LANES as u32 + lane as u32,
        gave: registers.words[a as usize][lane],
        from: sources[lane],
        got: after.words[target as usize][lane],
    });
    Some(TracedExchange { time: 0, warp, kind, lanes: lanes.collect() })
}
