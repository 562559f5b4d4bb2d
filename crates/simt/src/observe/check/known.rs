//! The knowledge that threads have of the releases of others.

use std::collections::HashMap;
use std::sync::Arc;

use crate::exec::block_id::BlockId;
use crate::ptx::ast::Scope;

/// How far a scope reaches, or how far apart two blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Reach {
    Block,
    Device,
    System,
}

impl Reach {
    /// The reach of a scope. In a launch with clusters, the cluster's scope counts as the device's.
    pub(super) const fn of(scope: Scope, clusters: bool) -> Reach {
        match scope {
            Scope::Cluster if clusters => Reach::Device,
            Scope::Cta | Scope::Cluster => Reach::Block,
            Scope::Gpu => Reach::Device,
            Scope::Sys => Reach::System,
        }
    }

    /// The smallest reach of a scope that holds both blocks.
    pub(super) fn between(a: BlockId, b: BlockId) -> Reach {
        if a == b {
            Reach::Block
        } else if a.device == b.device {
            Reach::Device
        } else {
            Reach::System
        }
    }
}

/// Knowledge of the first `len` releases of a log. Only the releases of blocks within `reach` of
/// the holder's block are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) log: u32,
    pub(super) len: u32,
    pub(super) reach: Reach,
}

/// The releases that a strong read has seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) known: Known,
    /// Whether an atomic read them.
    pub(super) by_atomic: bool,
}

/// Adds knowledge of one log to a list.
pub(super) fn learn(list: &mut Arc<Vec<Known>>, new: Known) {
    match list.iter().position(|old| old.log == new.log && old.reach == new.reach) {
        Some(i) if list[i].len >= new.len => {}
        Some(i) => Arc::make_mut(list)[i].len = new.len,
        None => Arc::make_mut(list).push(new),
    }
}

/// Adds everything in `other` to a list.
pub(super) fn merge(list: &mut Arc<Vec<Known>>, other: &Arc<Vec<Known>>) {
    if list.is_empty() {
        *list = Arc::clone(other);
    } else if !Arc::ptr_eq(list, other) {
        other.iter().for_each(|known| learn(list, *known));
    }
}

/// Adds the releases that a strong read has seen.
pub(super) fn observe(list: &mut Vec<Observed>, new: Observed) {
    let same =
        |old: &&mut Observed| old.known.log == new.known.log && old.known.reach == new.known.reach;
    match list.iter_mut().find(same) {
        Some(old) => {
            old.known.len = old.known.len.max(new.known.len);
            old.by_atomic |= new.by_atomic;
        }
        None => list.push(new),
    }
}

/// The knowledge of releases that the threads which arrived at a barrier have.
#[derive(Debug, Default)]
pub(super) struct Arrived(pub(super) Arc<Vec<Known>>);

impl Arrived {
    /// Adds the knowledge of `thread`, and the releases that its atomics have seen. The barrier
    /// takes the place of the acquiring fence, because programs rely on that everywhere ("the last
    /// block finishes").
    pub(super) fn arrive(
        &mut self,
        thread: u32,
        known: &HashMap<u32, Arc<Vec<Known>>>,
        observed: &HashMap<u32, Vec<Observed>>,
    ) {
        if let Some(known) = known.get(&thread) {
            merge(&mut self.0, known);
        }
        for seen in observed.get(&thread).into_iter().flatten().filter(|seen| seen.by_atomic) {
            learn(&mut self.0, seen.known);
        }
    }
}
