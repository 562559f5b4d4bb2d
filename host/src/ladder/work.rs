//! The work that every rung does, and the rungs that are to do it.

use crate::{
    element::ElementType,
    launch::{Problem, Request},
    op::Op,
    variant::Variant,
};

/// What every rung gets to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// Number of elements.
    pub n: u64,
    /// Seed of their generator.
    pub seed: u64,
}

/// A rung that is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The rung.
    pub variant: Variant,
    /// Block, grid and finish, as far as they are chosen.
    pub request: Request,
    /// Whether the request is what tuning found; see [`tune`](crate::tune).
    pub tuned: bool,
}

impl Contender {
    /// With everything chosen for it.
    pub fn new(variant: Variant) -> Self {
        Self { variant, request: Request::default(), tuned: false }
    }

    pub(super) fn problem(&self, work: &Work) -> Problem {
        Problem { variant: self.variant, op: work.op, element: work.element, n: work.n }
    }
}
