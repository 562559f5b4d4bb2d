//! The work that every rung does, and the rungs that are to be measured.

use crate::{
    element::{ElementType, Values},
    input::{Fill, InputError},
    launch::{Problem, Request},
    op::Op,
    variant::Variant,
};

/// The work that every rung does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// The number of elements.
    pub n: u64,
    /// What the elements are.
    pub fill: Fill,
    /// The seed of the generator of random elements.
    pub seed: u64,
}

impl Work {
    /// Makes the elements.
    ///
    /// # Errors
    ///
    /// [`InputError::HostMemory`].
    pub fn values(&self) -> Result<Values, InputError> {
        self.fill.values(self.element, self.op, self.n, self.seed)
    }
}

/// A rung that is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The rung.
    pub variant: Variant,
    /// The block, the grid and the way to finish, as far as the caller chooses them.
    pub request: Request,
    /// If tuning found the request, the number of elements that it was found with; see
    /// [`tune`](crate::tune).
    pub tuned: Option<u64>,
}

impl Contender {
    /// A contender for which the planner chooses everything.
    pub fn new(variant: Variant) -> Self {
        Self { variant, request: Request::default(), tuned: None }
    }

    pub(super) fn problem(&self, work: &Work) -> Problem {
        Problem { variant: self.variant, op: work.op, element: work.element, n: work.n }
    }
}
