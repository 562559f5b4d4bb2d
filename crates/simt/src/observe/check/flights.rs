//! Asynchronous copies in flight that read or write shared memory.

use std::collections::BTreeMap;

use super::row::Row;
use crate::exec::block_id::BlockId;
use crate::exec::copies::{Copy, End};
use crate::exec::env::Env;

/// One end of a copy in flight, if that end is in shared memory.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Whether the copy writes these bytes; otherwise it reads them.
    pub(super) writes: bool,
    pub(super) pc: u32,
    pub(super) ticket: BlockId,
    pub(super) thread: u32,
    /// The accesses that the thread knew of when it began the copy.
    pub(super) row: Row,
}

/// The ends of all copies in flight. The key is the block whose shared memory holds the end, and
/// the first byte there.
#[derive(Debug, Default)]
pub(super) struct Flights(pub(super) BTreeMap<(BlockId, u32), Flight>);

impl Flights {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that the source of a copy has been read.
    pub(super) fn has_read(&mut self, env: &Env<'_>, copy: &Copy) {
        if let End::Shared(cell) = copy.from {
            self.0.remove(&(env.id_of(cell.rank), cell.offset));
        }
    }

    /// The copy in flight that uses one of the bytes from `start` to `end`.
    pub(super) fn at(&self, block: BlockId, start: u32, end: u32) -> Option<&Flight> {
        let (_, flight) = self.0.range((block, 0)..(block, end)).next_back()?;
        (flight.end > start).then_some(flight)
    }
}
