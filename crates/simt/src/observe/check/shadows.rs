//! The shadows of all global memory, and the names of its words.

use std::collections::HashMap;
use std::sync::Arc;

use super::shadow::Pages;
use crate::exec::block_id::BlockId;
use crate::exec::memory::{Allocation, MemoryView, is_shared};

/// The shadows of the allocations of all memories. An allocation that several memories share has
/// one shadow.
#[derive(Debug, Default)]
pub(super) struct Shadows {
    pub(super) all: Vec<Pages>,
    /// By the place of an allocation in the host's memory: the index of its shadow.
    numbers: HashMap<usize, usize>,
}

impl Shadows {
    /// The index of the shadow of each allocation of a launch.
    pub(super) fn of(&mut self, view: &MemoryView) -> Vec<usize> {
        let Shadows { all, numbers } = self;
        let number = |allocation: &Arc<Allocation>| {
            *numbers.entry(Arc::as_ptr(allocation).addr()).or_insert_with(|| {
                all.push(Pages::default());
                all.len() - 1
            })
        };
        view.allocations().map(number).collect()
    }
}

/// The name of the word of global memory that a block reaches at `address`. Memories of different
/// devices have the same addresses, except for what they share.
pub(super) fn word_key(block: BlockId, address: u64) -> u64 {
    // Addresses have 47 bits.
    if is_shared(address) { address } else { address | u64::from(block.device) << 48 }
}
