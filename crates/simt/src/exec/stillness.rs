//! What the workers of a launch know of each other: whether anything still changes.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// What the workers of a launch know of each other.
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

    /// A turn has ended that may have changed something for others.
    pub(crate) fn end(&self) {
        self.epoch.fetch_add(1, Release);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    /// Whether all blocks that have not ended never will end.
    pub(crate) fn is_still(&self) -> bool {
        self.still.load(Acquire)
    }

    /// Whether the launch never ends and no block has faulted: the blocks then do not wait for a
    /// faulted block.
    pub(crate) fn is_livelock(&self) -> bool {
        self.is_still() && !self.faulted.load(Acquire)
    }

    /// A block has faulted.
    pub(crate) fn fault(&self) {
        self.faulted.store(true, Release);
    }

    /// None of a worker's blocks makes progress, and the worker can start no other block, unless
    /// something changes after `epoch`. Each worker calls this once for each epoch.
    pub(crate) fn stuck(&self, epoch: u64) {
        self.count(|counts| {
            if epoch > counts.epoch {
                *counts = Counts { stuck: 0, epoch, ..*counts };
            }
            // If the worker's epoch is older, something has changed since, and the worker will see
            // that.
            counts.stuck += u64::from(epoch == counts.epoch);
        });
    }

    /// A worker has no blocks left.
    pub(crate) fn leave(&self) {
        self.count(|counts| counts.workers -= 1);
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut counts);
        // A worker that still changes something is neither stuck in the newest epoch nor has it
        // left, so the two numbers differ.
        if counts.stuck > 0 && counts.stuck == counts.workers && counts.epoch == self.epoch() {
            self.still.store(true, Release);
        }
    }
}
