//! The result that a reduction should have, computed on the CPU, and how far from it a right result
//! may be.
//!
//! Integers, and the minimum and maximum of any type, are exact. The sum and the product of floats
//! depend on the order of the operations, which differs from rung to rung. So they are compared
//! with the exact value, within a bound that follows from the number of roundings (N. J. Higham,
//! *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Lemma 3.1 and section 4.2). `u` is
//! the unit roundoff, which is 2^-24 for `f32` and 2^-53 for `f64`:
//!
//! - **Sum**: each element passes through at most `d` additions, the depth of the whole tree
//!   ([`Plan::depth`](crate::launch::Plan::depth)), so the error is at most
//!   `((1 + u)^d - 1) * sum |x_i|`. A sum that underflows is exact.
//! - **Product**: every one of the `n - 1` multiplications rounds the one result, whatever the
//!   shape of the tree, so the error is at most `((1 + u)^(n-1) - 1) * |product|`. This holds as
//!   long as no intermediate product can leave the range of normal numbers.
//!
//! Atomic additions happen in the order of their arrival, so their depth is that of the worst
//! order. On an `f32` in global memory they also flush subnormal numbers to zero (PTX ISA, "atom"),
//! both the number that is added and the result. Each time this loses less than `2^-126`, which
//! [`Reference::for_plan`] adds to the bound.
//!
//! `(1 + u)^k - 1` is at most Higham's `γ_k = k u / (1 - k u)`, and unlike `γ_k` it holds for any
//! `k`. The reference itself is rounded to `f64`, so `2^-53` of its magnitude (`2^-51` for a
//! product) is added to the bound.
//!
//! **NaN and infinities.** A sum is NaN if an element is NaN, or if there are infinities of both
//! signs. A product is NaN if an element is NaN, or if there are an infinity and a zero. In other
//! cases an infinity makes a sum infinite, and an infinity or a zero decides a product. Finite
//! elements may be so large that partial results overflow in some order (or, in a product,
//! underflow). Then no order is wrong: a sum may be infinite or NaN, and of a product only the sign
//! is checked, so its error bound is infinite.

mod float;
mod verdict;
mod wrapped;

use self::{
    float::{BINARY32, BINARY64},
    verdict::Rule,
};
use crate::{
    element::{Element, Value, Values, with_slice},
    launch::Plan,
    op::Op,
};

pub use verdict::{Reference, WrongResult};
pub use wrapped::wraps;

impl Reference {
    /// The reference for `values` reduced by `op` in a tree of the given depth. If there are no
    /// values, it is the identity.
    ///
    /// ```
    /// use warpfold_lab::{element::{Value, Values}, op::Op, reference::Reference};
    ///
    /// let reference = Reference::new(&Values::F32(vec![1e8, 1.0, -1e8]), Op::Sum, 2);
    /// assert_eq!(reference.value().as_float(), Some(1.0));
    /// // In f32 the 1 is lost beside 1e8. The bound allows that, because it is proportional to the
    /// // sum of the magnitudes.
    /// assert!(reference.agrees(Value::F32(0.0)));
    /// assert!(!reference.agrees(Value::F32(100.0)));
    /// ```
    pub fn new(values: &Values, op: Op, depth: u64) -> Self {
        match (values, op) {
            (Values::F32(values), Op::Sum) => {
                float::sum(values.iter().map(|&x| x.into()), depth, &BINARY32)
            }
            (Values::F64(values), Op::Sum) => float::sum(values.iter().copied(), depth, &BINARY64),
            (Values::F32(values), Op::Prod) => {
                float::product(values.iter().map(|&x| x.into()), &BINARY32)
            }
            (Values::F64(values), Op::Prod) => float::product(values.iter().copied(), &BINARY64),
            _ => Self::exact(with_slice!(values, slice => fold(slice, op))),
        }
    }

    /// The reference for `values` reduced as planned: that of [`Self::new`], with a wider bound if
    /// atomics add `f32` values, because those flush subnormal numbers to zero.
    ///
    /// ```
    /// use warpfold_lab::{element::*, launch::*, op::Op, reference::Reference, variant::Variant};
    ///
    /// let limits = DeviceLimits {
    ///     multiprocessors: 132,
    ///     max_threads_per_block: 1024,
    ///     shared_bytes_per_block: 48 << 10,
    ///     memory_bytes: 80 << 30,
    ///     compute_capability: (9, 0),
    ///     resident_blocks: None,
    /// };
    /// let variant = Variant::AtomicBlock;
    /// let problem = Problem { variant, op: Op::Sum, element: ElementType::F32, n: 2 };
    /// let plan = plan(&problem, &Request::default(), &limits)?;
    /// let reference = Reference::for_plan(&Values::F32(vec![1e-45; 2]), &plan);
    /// assert!(reference.agrees(Value::F32(0.0)) && !reference.agrees(Value::F32(1.0)));
    /// # Ok::<(), PlanError>(())
    /// ```
    pub fn for_plan(values: &Values, plan: &Plan) -> Self {
        let op = plan.problem.op;
        let mut reference = Self::new(values, op, plan.depth());
        let is_near = matches!(reference.rule, Rule::Near | Rule::NearOrOverflow);
        if let (Values::F32(_), Op::Sum, true) = (values, op, is_near) {
            let flushed = 2.0 * f64::from(f32::MIN_POSITIVE) * plan.atomics() as f64;
            reference.error_bound += flushed * (1.0 + BINARY32.relative_error(plan.depth()));
        }
        reference
    }
}

fn fold<T: Element>(values: &[T], op: Op) -> Value {
    values.iter().fold(T::identity(op), |folded, &value| folded.combine(op, value)).value()
}

#[cfg(test)]
mod tests;
