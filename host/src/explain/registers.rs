//! The values that go from lane to lane, as elements.

use std::collections::BTreeMap;

use simt::{LaneExchange, Phase, TracedExchange};

/// An exchange of a warp in which each lane gave one element.
pub(super) struct Exchange {
    pub(super) time: u64,
    pub(super) warp: u32,
    pub(super) lanes: Vec<Moved>,
}

/// One lane's part of an [`Exchange`].
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) thread: u32,
    /// The bits of the element that the lane gave.
    pub(super) gave: u64,
    /// The lanes whose elements the lane got, bit i for lane i.
    pub(super) from: u32,
}

/// The exchanges of a phase. An element of 8 bytes takes two shuffles, the low word first, which
/// become one exchange.
pub(super) fn exchanges(phase: &Phase, size: u64) -> Vec<Exchange> {
    let mut found = Vec::new();
    // The low words of each warp whose high words are still to come.
    let mut low: BTreeMap<u32, &TracedExchange> = BTreeMap::new();
    for exchange in &phase.exchanges {
        if size <= 4 {
            found.push(join(exchange, None));
        } else if let Some(first) = low.remove(&exchange.warp) {
            found.push(join(first, Some(exchange)));
        } else {
            low.insert(exchange.warp, exchange);
        }
    }
    found
}

fn join(low: &TracedExchange, high: Option<&TracedExchange>) -> Exchange {
    let moved = |(index, lane): (usize, &LaneExchange)| {
        let high = high.map_or(0, |high| high.lanes[index].gave);
        Moved {
            thread: lane.thread,
            gave: u64::from(lane.gave) | u64::from(high) << 32,
            from: lane.from,
        }
    };
    Exchange {
        time: high.unwrap_or(low).time,
        warp: low.warp,
        lanes: low.lanes.iter().enumerate().map(moved).collect(),
    }
}
