//! The order in which the blocks of launches that run together start.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use crate::exec::random::Random;

/// The clusters of several launches that have not started. Those of one launch start in ascending
/// order.
#[derive(Debug)]
pub(crate) struct Tickets {
    /// By launch: how many clusters it has, and how many of them have started.
    launches: Vec<(u64, AtomicU64)>,
    /// Counts the launches that had their turn to start a cluster.
    turns: AtomicUsize,
}

impl Tickets {
    /// Launches of these numbers of clusters.
    pub(crate) fn new(clusters: impl Iterator<Item = u64>) -> Tickets {
        let launches = clusters.map(|count| (count, AtomicU64::new(0))).collect();
        Tickets { launches, turns: AtomicUsize::new(0) }
    }

    /// Takes the next cluster: the number of its launch, and its own number in the launch. The
    /// launches take turns, or the random numbers choose one. A launch is passed over if all its
    /// clusters have started, or if `may_start` refuses it.
    pub(crate) fn next(
        &self,
        random: Option<&mut Random>,
        may_start: impl Fn(usize) -> bool,
    ) -> Option<(usize, u64)> {
        let count = self.launches.len();
        // A single launch draws no random number, because its order would change.
        let first = match random {
            _ if count <= 1 => 0,
            Some(random) => random.below(count as u64) as usize,
            None => self.turns.fetch_add(1, Relaxed) % count,
        };
        (first..first + count).map(|launch| launch % count).find_map(|launch| {
            let ticket = if may_start(launch) { self.take(launch) } else { None };
            ticket.map(|ticket| (launch, ticket))
        })
    }

    fn take(&self, launch: usize) -> Option<u64> {
        let (count, started) = &self.launches[launch];
        if started.load(Relaxed) >= *count {
            return None;
        }
        let ticket = started.fetch_add(1, Relaxed);
        (ticket < *count).then_some(ticket)
    }
}
