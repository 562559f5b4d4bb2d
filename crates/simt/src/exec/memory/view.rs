//! The allocations that one launch can reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocation::Allocation;
use crate::fault::{Access, FaultKind, Nearest, Space};

/// The allocations that one launch sees, in address order.
#[derive(Debug)]
pub(crate) struct MemoryView {
    pub(super) live: Vec<Arc<Allocation>>,
    pub(super) freed: BTreeMap<u64, u64>,
}

impl MemoryView {
    /// All allocations. After [`MemoryView::find`] has found one, `hint` is its index here.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.live.iter()
    }

    /// The allocation that holds `bytes` bytes at `address`. `hint` is the index of the allocation
    /// that the last call found. The search begins there, because accesses often stay in one
    /// allocation.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        bytes: u64,
        hint: &mut usize,
    ) -> Option<&Arc<Allocation>> {
        let holds = |a: &Allocation| {
            address.wrapping_sub(a.base) < a.bytes && bytes <= a.bytes - (address - a.base)
        };
        match self.live.get(*hint) {
            Some(a) if holds(a) => Some(a),
            _ => {
                let after = self.live.partition_point(|a| a.base <= address);
                *hint = after.checked_sub(1)?;
                self.live.get(*hint).filter(|a| holds(a))
            }
        }
    }

    /// The fault of an access for which [`MemoryView::find`] finds no allocation.
    pub(crate) fn explain(&self, access: Access, address: u64, bytes: u64) -> FaultKind {
        if address < 4096 {
            return FaultKind::Null { access, bytes, address };
        }
        let freed = self.freed.range(..=address).next_back();
        if let Some((&base, &length)) = freed.filter(|(base, length)| address - *base < **length) {
            return FaultKind::Freed { access, bytes, address, base, length };
        }
        let after = self.live.partition_point(|a| a.base <= address);
        let below = after.checked_sub(1).map(|i| &self.live[i]);
        let above = self.live.get(after);
        let past = below.map(|a| address.saturating_add(bytes) - (a.base + a.bytes));
        let before = above.map(|a| a.base - address);
        let nearest = match (past, before) {
            (Some(past), before) if before.is_none_or(|before| past <= before) => below
                .map(|a| Nearest { base: a.base, bytes: a.bytes, missed_by: past, past_end: true }),
            (_, Some(before)) => above.map(|a| Nearest {
                base: a.base,
                bytes: a.bytes,
                missed_by: before,
                past_end: false,
            }),
            _ => None,
        };
        FaultKind::OutOfBounds { space: Space::Global, access, bytes, address, nearest }
    }
}
