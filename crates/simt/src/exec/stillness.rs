//! The knowledge that the workers of all launches which run together share: whether anything still
//! changes.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// The knowledge that the workers share.
#[derive(Debug)]
pub(crate) struct Stillness {
    /// How many turns have changed something.
    epoch: AtomicU64,
    /// How many workers still have blocks, and how many of these know that their blocks never end
    /// unless memory changes.
    counts: Mutex<Counts>,
    still: AtomicBool,
    faulted: AtomicBool,
}

#[derive(Debug)]
struct Counts {
    workers: u64,
    stuck: u64,
    epoch: u64,
}

impl Stillness {
    pub(crate) fn new(workers: u64) -> Stillness {
        let counts = Mutex::new(Counts { workers, stuck: 0, epoch: 0 });
        let no = || AtomicBool::new(false);
        Stillness { epoch: AtomicU64::new(0), counts, still: no(), faulted: no() }
    }

    /// Records that a turn has ended which may have changed something for others.
    pub(crate) fn end(&self) {
        self.epoch.fetch_add(1, Release);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    /// Whether it is known that no running block will ever end.
    pub(crate) fn is_still(&self) -> bool {
        self.still.load(Acquire)
    }

    /// Whether the launches never end although no block has faulted. If a block has faulted, the
    /// others may be waiting for the faulted block, and that is no livelock.
    pub(crate) fn is_livelock(&self) -> bool {
        self.is_still() && !self.faulted.load(Acquire)
    }

    /// Records that a block has faulted.
    pub(crate) fn fault(&self) {
        self.faulted.store(true, Release);
    }

    /// Records that none of a worker's blocks makes progress, and that the worker can start no
    /// other block, unless something changes after `epoch`. Each worker calls this once for each
    /// epoch.
    pub(crate) fn stuck(&self, epoch: u64) {
        self.count(|counts| {
            if epoch > counts.epoch {
                *counts = Counts { stuck: 0, epoch, ..*counts };
            }
            // If the worker's epoch is not the newest, something has changed since, and the worker
            // will notice the change. It is not counted then.
            counts.stuck += u64::from(epoch == counts.epoch);
        });
    }

    /// Records that a worker has no blocks left.
    pub(crate) fn leave(&self) {
        self.count(|counts| counts.workers -= 1);
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut counts);
        // A worker that still changes something is neither counted as stuck in the newest epoch,
        // nor has it left. As long as there is such a worker, the two numbers differ.
        if counts.stuck > 0 && counts.stuck == counts.workers && counts.epoch == self.epoch() {
            self.still.store(true, Release);
        }
    }
}
