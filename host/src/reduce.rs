//! The ladder's experiment: a plan reduces an array.

use std::time::Duration;

use simt::occupancy::occupancy;

use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel},
    element::{Element, Value, Values, with_slice},
    experiment::Experiment,
    launch::{DeviceLimits, Plan, Problem, Request, Stage, choose_block, shared_bytes},
    op::Op,
    variant::{Parameter, Results, Together, Variant},
};

pub use crate::experiment::{Outcome, RunError, Runner, Runs};

/// The number of registers of a thread from which it follows how many blocks are resident on a GPU
/// that is not there. The simulator assumes the same number for itself.
const REGISTERS: u32 = 32;

impl Runner<'_> {
    /// What the device allows, or [the GPU for which this runner plans](Self::planning_for), for
    /// planning this problem. If the blocks of the rung wait for each other, the limits include how
    /// many of its blocks are resident at once. To find that number on the device itself, this
    /// loads the kernel.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn limits(
        &mut self,
        problem: &Problem,
        request: &Request,
    ) -> Result<DeviceLimits, RunError> {
        let Problem { variant, op, element, .. } = *problem;
        let info = self.device().info();
        let mut limits = DeviceLimits::new(info, self.device().free_memory()?);
        if let Some(gpu) = self.planned_for() {
            limits.multiprocessors = gpu.multiprocessors;
            limits.compute_capability = gpu.compute_capability;
        }
        let facts = variant.facts();
        // If no block size can be chosen, there is no plan either, and planning says why.
        if facts.together == Together::Grid
            && limits.compute_capability >= facts.capability
            && let Ok(block) = choose_block(problem, request, &limits)
        {
            let shared_bytes = shared_bytes(variant, element, block);
            limits.resident_blocks = Some(if let Some(gpu) = self.planned_for() {
                occupancy(&gpu, block, shared_bytes, Some(REGISTERS)).blocks_per_sm
            } else {
                let kernel = self.kernel::<RunError>(&variant.kernel(op, element, block))?;
                self.device().resident_blocks(&kernel, block, shared_bytes)?
            });
        }
        Ok(limits)
    }

    /// Loads the kernel that the plan needs, so that a device that cannot run it says so before any
    /// work.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn prepare(&mut self, plan: &Plan) -> Result<(), RunError> {
        if let Some(stage) = plan.stages.first() {
            let kernel = self.kernel::<RunError>(&plan.kernel)?;
            self.device().check_launch(&kernel, stage.shape)?;
        }
        Ok(())
    }

    /// Reduces `values` as planned. `before_run` is called before each run with its number, from 0.
    ///
    /// The input is copied to the device once; a kernel that overwrites its input gets a fresh copy
    /// for each run. The order of the operations, and so every bit of the result, depends on the
    /// plan alone. The exception is a sum of floats by atomics ([`Results::Atomic`]), because
    /// atomic additions happen in the order of their arrival.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    ///
    /// ```
    /// use warpfold_lab::{
    ///     device::*, element::*, launch::*, op::Op, ptx::PtxLibrary, reduce::*, variant::Variant,
    /// };
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::simulator();
    /// let library = PtxLibrary::embedded()?;
    /// let limits = DeviceLimits::new(device.info(), device.free_memory()?);
    /// let variant = Variant::Sequential;
    /// let problem = Problem { variant, op: Op::Sum, element: ElementType::I32, n: 4 };
    /// let plan = plan(&problem, &Request::default(), &limits)?;
    /// let values = Values::I32(vec![10, 1, 8, -1]);
    /// let outcome = Runner::new(&device, &library).reduce(&plan, &values, Runs::ONCE, |_| ())?;
    /// assert_eq!(outcome.result.to_string(), "18");
    /// # Ok(())
    /// # }
    /// ```
    pub fn reduce(
        &mut self,
        plan: &Plan,
        values: &Values,
        runs: Runs,
        before_run: impl FnMut(u32),
    ) -> Result<Outcome<Value>, RunError> {
        let Problem { n, element, op, .. } = plan.problem;
        if values.element() != element || values.len() as u64 != n {
            let (planned, found) = (
                format!("{n} {element} elements"),
                format!("{} of {}", values.len(), values.element()),
            );
            return Err(RunError::Input { planned, found });
        }
        if plan.stages.is_empty() {
            // A plan without launches means that there are no elements.
            let result = with_slice!(values, slice => combine_on_host(op, slice).value());
            return Ok(Outcome { result, times: Vec::new() });
        }
        let kernel = self.kernel::<RunError>(&plan.kernel)?;
        with_slice!(values, slice => {
            let reduction = Reduction::new(self.device(), &kernel, plan, slice)?;
            self.repeat(reduction, runs, before_run)
        })
    }
}

/// A plan and the device memory that it works with.
struct Reduction<'a, T> {
    device: &'a Device,
    kernel: &'a Kernel,
    plan: &'a Plan,
    input: Buffer<T>,
    /// The copy of the input that a kernel works on if it overwrites its input.
    scratch: Option<Buffer<T>>,
    /// Stage i writes to `results[i % 2]` and reads the output of stage i - 1 from the other
    /// buffer.
    results: [Buffer<T>; 2],
    /// The value that the first result must have before the launch. Only atomics need it, because
    /// they combine with the value that is there.
    identity: Option<Buffer<T>>,
    /// For a launch that combines its partial results itself: the memory for them, and the counter
    /// by which it knows when all are there. At the end of a launch the counter has its first value
    /// again.
    workspace: Option<(Buffer<T>, Buffer<u32>)>,
}

impl<'a, T: Element> Reduction<'a, T> {
    fn new(
        device: &'a Device,
        kernel: &'a Kernel,
        plan: &'a Plan,
        values: &[T],
    ) -> Result<Self, DeviceError> {
        let facts = plan.problem.variant.facts();
        let outputs =
            |index: usize| plan.stages.get(index).map_or(0, |stage| stage.outputs as usize);
        let identity = (facts.results == Results::Atomic)
            .then(|| device.upload(&[T::identity(plan.problem.op)]))
            .transpose()?;
        let workspace = if facts.results == Results::Combined {
            let partials =
                device.alloc(plan.stages.first().map_or(0, |stage| stage.workspace as usize))?;
            let mut counter = device.alloc(1)?;
            counter.fill_bytes(0)?;
            Some((partials, counter))
        } else {
            None
        };
        Ok(Self {
            device,
            kernel,
            plan,
            input: device.upload(values)?,
            scratch: facts.destroys_input.then(|| device.alloc(values.len())).transpose()?,
            results: [device.alloc(outputs(0))?, device.alloc(outputs(1))?],
            identity,
            workspace,
        })
    }

    /// Makes all launches of the plan.
    fn launch(&mut self) -> Result<(), DeviceError> {
        if let Some(identity) = &self.identity {
            self.results[0].copy_from(identity)?;
        }
        let mut source = self.scratch.as_ref().unwrap_or(&self.input).address();
        for (index, stage) in self.plan.stages.iter().enumerate() {
            let target = self.results[index % 2].address();
            let args = self.arguments(self.plan.problem.variant, stage, source, target);
            // SAFETY: the kernel reads the elements of the stage from its source, which holds them,
            // and writes its outputs to its target, which has room for them, as the plan has
            // computed.
            unsafe { self.device.launch(self.kernel, stage.shape, &args)? };
            source = target;
        }
        Ok(())
    }

    fn arguments(&self, variant: Variant, stage: &Stage, source: u64, target: u64) -> Vec<Arg> {
        let (partials, counter) =
            self.workspace.as_ref().map_or((0, 0), |(a, b)| (a.address(), b.address()));
        let argument = |parameter: &Parameter| match parameter {
            Parameter::Input => Arg::Pointer(source),
            Parameter::Output => Arg::Pointer(target),
            Parameter::Count => Arg::U64(stage.inputs),
            Parameter::Partials => Arg::Pointer(partials),
            Parameter::Counter => Arg::Pointer(counter),
        };
        variant.parameters().iter().map(argument).collect()
    }
}

impl<T: Element> Experiment for Reduction<'_, T> {
    type Output = Value;

    fn run(&mut self) -> Result<Duration, DeviceError> {
        if let Some(scratch) = &mut self.scratch {
            scratch.copy_from(&self.input)?;
        }
        let device = self.device;
        device.time(|| self.launch())
    }

    /// Copies the partial results of the last stage to the host and combines them.
    fn output(&self) -> Result<Value, DeviceError> {
        let last = self.plan.stages.len() - 1;
        let left = self.results[last % 2].copy_to_host()?;
        Ok(combine_on_host(self.plan.problem.op, &left[..self.plan.stages[last].outputs as usize])
            .value())
    }
}

/// Combines the partial results that the stages left, from the first to the last.
///
/// The minimum and the maximum begin with the identity. Not every rung pads a full block with the
/// identity, but on every rung the extreme of nothing but NaNs must be the identity.
fn combine_on_host<T: Element>(op: Op, partials: &[T]) -> T {
    let combine = |folded: T, &partial: &T| folded.combine(op, partial);
    match (op, partials) {
        (Op::Sum | Op::Prod, [first, rest @ ..]) => rest.iter().fold(*first, combine),
        _ => partials.iter().fold(T::identity(op), combine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_adds_from_the_first_to_the_last() {
        assert_eq!(combine_on_host(Op::Sum, &[1e8f32, 1.0, -1e8]).to_bits(), 0.0f32.to_bits());
        assert_eq!(combine_on_host(Op::Sum, &[1e8f32, -1e8, 1.0]).to_bits(), 1.0f32.to_bits());
        assert_eq!(combine_on_host(Op::Prod, &[3, 5, 7]), 105);
        assert_eq!(combine_on_host(Op::Sum, &[-0.0f64]).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn extremes_of_nothing_but_nans_are_the_identity() {
        assert_eq!(combine_on_host(Op::Min, &[f32::NAN]).to_bits(), f32::INFINITY.to_bits());
        assert_eq!(combine_on_host(Op::Max, &[f64::NAN; 2]).to_bits(), f64::NEG_INFINITY.to_bits());
    }
}
