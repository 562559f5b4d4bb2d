//! The knowledge that threads have of the releases of others.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ptx::ast::Scope;

/// Whether a scope reaches beyond the block. In a launch with clusters, the cluster's scope does.
pub(super) const fn is_wide(scope: Scope, clusters: bool) -> bool {
    match scope {
        Scope::Cta => false,
        Scope::Cluster => clusters,
        Scope::Gpu | Scope::Sys => true,
    }
}

/// Knowledge of the first `len` releases of a log. Unless `wide` is set, only the releases of the
/// holder's own block are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) log: u32,
    pub(super) len: u32,
    pub(super) wide: bool,
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
    match list.iter().position(|old| old.log == new.log && old.wide == new.wide) {
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
        |old: &&mut Observed| old.known.log == new.known.log && old.known.wide == new.known.wide;
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
