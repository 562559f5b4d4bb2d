//! Runs a plan on a device.

use std::{collections::HashMap, time::Duration};

use crate::{
    device::{Arg, Buffer, Device, DeviceError, DeviceInfo, DeviceKind, Kernel, Module},
    element::{Element, ElementType, Value, Values, with_slice},
    launch::{DeviceLimits, Plan, PlanError, Problem, Request, Stage, choose_block, shared_bytes},
    op::Op,
    ptx::{PtxError, PtxLibrary},
    variant::{Parameter, Results, Together, Variant},
};

/// Why a reduction did not run.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// There is no PTX for the kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device was told to stop before a timed run had ended; see [`Device::interrupt_by`].
    #[error("no run was finished")]
    Interrupted,
    /// What was asked for cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The values are not those that were planned for.
    #[error("the plan is for {n} {element} elements, not for {len} of {found}")]
    Values {
        /// Elements of the plan.
        n: u64,
        /// Their type.
        element: ElementType,
        /// Number of values.
        len: usize,
        /// Their type.
        found: ElementType,
    },
}

/// How often a plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Runs before the first that is timed.
    pub warm_up: u32,
    /// Runs that are timed, at least 1.
    pub timed: u32,
}

impl Runs {
    /// Once, without warming up.
    pub const ONCE: Self = Self { warm_up: 0, timed: 1 };
    /// What a GPU's times are taken from where nothing is said.
    pub const GPU: Self = Self { warm_up: 3, timed: 20 };

    /// `timed` runs, or as many as suit the device; none warms up the simulator.
    pub fn suiting(device: &DeviceInfo, timed: Option<u32>) -> Self {
        let default = match device.kind {
            DeviceKind::Cuda => Self::GPU,
            DeviceKind::Simulator => Self::ONCE,
        };
        Self { timed: timed.unwrap_or(default.timed), ..default }
    }
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result of the last run.
    pub result: Value,
    /// The time of each timed run: all launches of the plan from start to end, without copies and without what the host
    /// adds. Empty if there was nothing to launch.
    pub times: Vec<Duration>,
}

/// A device and a set of kernels, of which it keeps loaded what it used.
#[derive(Debug)]
pub struct Runner<'a> {
    device: &'a Device,
    library: &'a PtxLibrary,
    modules: HashMap<String, Module>,
}

impl<'a> Runner<'a> {
    /// Loads nothing yet.
    pub fn new(device: &'a Device, library: &'a PtxLibrary) -> Self {
        Self { device, library, modules: HashMap::new() }
    }

    /// What the device allows, for planning this problem. Of a rung whose blocks wait for each other, that is also how many
    /// of its blocks are resident at once, for which its kernel is loaded.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    pub fn limits(&mut self, problem: &Problem, request: &Request) -> Result<DeviceLimits, ReduceError> {
        let Problem { variant, op, element, .. } = *problem;
        let info = self.device.info();
        let mut limits = DeviceLimits::new(info, self.device.free_memory()?);
        let facts = variant.facts();
        if facts.together == Together::Grid && info.compute_capability >= facts.capability {
            let block = choose_block(problem, request, &limits)?;
            let kernel = self.kernel(&variant.kernel(op, element, block))?;
            let shared_bytes = shared_bytes(variant, element, block);
            limits.resident_blocks = Some(self.device.resident_blocks(&kernel, block, shared_bytes)?);
        }
        Ok(limits)
    }

    /// Loads what the plan needs, so that a device that cannot run it says so before any work.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    pub fn prepare(&mut self, plan: &Plan) -> Result<(), ReduceError> {
        if let Some(stage) = plan.stages.first() {
            let kernel = self.kernel(&plan.kernel)?;
            self.device.check_launch(&kernel, stage.shape)?;
        }
        Ok(())
    }

    /// Reduces `values` as planned. `before_run` is called before each run with its number, from 0.
    ///
    /// The input is copied to the device once; a kernel that overwrites its input gets a fresh copy for each run.
    /// The order of the operations, and so every bit of the result, depends on the plan alone; only sums of floats by
    /// atomics ([`Results::Atomic`]) come in the order of their arrival.
    ///
    /// A device that is [told to stop](Device::interrupt_by) makes no more runs: the outcome is that of the runs it ended.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    ///
    /// ```
    /// use warpfold_lab::{device::*, element::*, launch::*, op::Op, ptx::PtxLibrary, reduce::*, variant::Variant};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let library = PtxLibrary::embedded()?;
    /// let limits = DeviceLimits::new(device.info(), device.free_memory()?);
    /// let problem = Problem { variant: Variant::Sequential, op: Op::Sum, element: ElementType::I32, n: 4 };
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
    ) -> Result<Outcome, ReduceError> {
        with_slice!(values, slice => self.reduce_slice(plan, slice, runs, before_run))
    }

    fn reduce_slice<T: Element>(
        &mut self,
        plan: &Plan,
        values: &[T],
        runs: Runs,
        mut before_run: impl FnMut(u32),
    ) -> Result<Outcome, ReduceError> {
        let problem = &plan.problem;
        if T::TYPE != problem.element || values.len() as u64 != problem.n {
            let Problem { n, element, .. } = *problem;
            return Err(ReduceError::Values { n, element, len: values.len(), found: T::TYPE });
        }
        let Some(last) = plan.stages.last() else {
            return Ok(Outcome { result: T::identity(problem.op).value(), times: Vec::new() });
        };

        let kernel = self.kernel(&plan.kernel)?;
        let device = self.device;
        let facts = problem.variant.facts();
        let input = device.upload(values)?;
        let mut scratch = facts.destroys_input.then(|| device.alloc::<T>(values.len())).transpose()?;
        let mut room = Room::new(device, plan)?;

        let result_at = (plan.stages.len() - 1) % 2;
        // A launch of the simulator can be stopped in its middle, and then leaves no result: so each run's is kept.
        let keep_each = device.info().kind == DeviceKind::Simulator;
        let mut left = Vec::new();
        let mut times = Vec::with_capacity(runs.timed as usize);
        for run in 0..runs.warm_up + runs.timed {
            if device.is_interrupted() {
                break;
            }
            before_run(run);
            if let Some(scratch) = &mut scratch {
                scratch.copy_from(&input)?;
            }
            let source = scratch.as_ref().unwrap_or(&input);
            let time = match device.time(|| room.launch(device, &kernel, plan, source)) {
                Err(DeviceError::Interrupted { .. }) => break,
                time => time?,
            };
            if run >= runs.warm_up {
                times.push(time);
            }
            if keep_each {
                left = room.results[result_at].copy_to_host()?;
            }
        }
        if times.is_empty() {
            return Err(ReduceError::Interrupted);
        }
        if !keep_each {
            left = room.results[result_at].copy_to_host()?;
        }
        Ok(Outcome { result: combine_on_host(problem.op, &left[..last.outputs as usize]).value(), times })
    }

    fn kernel(&mut self, name: &str) -> Result<Kernel, ReduceError> {
        let ptx = self.library.find(name, self.device.info().compute_capability)?;
        if !self.modules.contains_key(&ptx.file) {
            let module = self.device.load(&ptx.file, &ptx.text)?;
            self.modules.insert(ptx.file.clone(), module);
        }
        Ok(self.modules[&ptx.file].kernel(name)?)
    }
}

/// The memory of a plan's launches, beside the input.
struct Room<T> {
    /// Stage i writes to `results[i % 2]` and reads what stage i - 1 wrote to the other.
    results: [Buffer<T>; 2],
    /// What the first result is before the launch, if that matters.
    identity: Option<Buffer<T>>,
    /// The partial results that a launch combines itself, and the counter by which it knows when; the counter comes back
    /// to where it began.
    workspace: Option<(Buffer<T>, Buffer<u32>)>,
}

impl<T: Element> Room<T> {
    fn new(device: &Device, plan: &Plan) -> Result<Self, DeviceError> {
        let stage = |index: usize| plan.stages.get(index);
        let outputs = |index| stage(index).map_or(0, |stage| stage.outputs as usize);
        let results = plan.problem.variant.facts().results;
        let identity =
            (results == Results::Atomic).then(|| device.upload(&[T::identity(plan.problem.op)])).transpose()?;
        let workspace = if results == Results::Combined {
            let partials = device.alloc(stage(0).map_or(0, |stage| stage.workspace as usize))?;
            let mut counter = device.alloc(1)?;
            counter.fill_bytes(0)?;
            Some((partials, counter))
        } else {
            None
        };
        Ok(Self { results: [device.alloc(outputs(0))?, device.alloc(outputs(1))?], identity, workspace })
    }

    /// All launches of the plan.
    fn launch(&mut self, device: &Device, kernel: &Kernel, plan: &Plan, input: &Buffer<T>) -> Result<(), DeviceError> {
        if let Some(identity) = &self.identity {
            self.results[0].copy_from(identity)?;
        }
        let mut source = input.address();
        for (index, stage) in plan.stages.iter().enumerate() {
            let target = self.results[index % 2].address();
            let args = self.arguments(plan.problem.variant, stage, source, target);
            // SAFETY: the kernel reads the elements of the stage from `source`, which holds them, and writes
            // its outputs to `target`, which has room for them, as the plan has computed.
            unsafe { device.launch(kernel, stage.shape, &args)? };
            source = target;
        }
        Ok(())
    }

    fn arguments(&self, variant: Variant, stage: &Stage, source: u64, target: u64) -> Vec<Arg> {
        let (partials, counter) = self.workspace.as_ref().map_or((0, 0), |(a, b)| (a.address(), b.address()));
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

/// Combines what the stages left, from the first to the last.
///
/// The minimum and the maximum begin with the identity: not every rung pads a full block with it, and the extreme of
/// nothing but NaNs is to be the identity on all of them.
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
