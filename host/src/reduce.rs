//! Runs a plan on a device.

use std::{collections::HashMap, time::Duration};

use crate::{
    device::{Arg, Buffer, Device, DeviceError, DeviceKind, Kernel, Module},
    element::{Element, ElementType, Value, Values, with_slice},
    launch::{Plan, Problem, Stage},
    op::Op,
    ptx::{PtxError, PtxLibrary},
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
pub struct Reducer<'a> {
    device: &'a Device,
    library: &'a PtxLibrary,
    modules: HashMap<String, Module>,
}

impl<'a> Reducer<'a> {
    /// Loads nothing yet.
    pub fn new(device: &'a Device, library: &'a PtxLibrary) -> Self {
        Self { device, library, modules: HashMap::new() }
    }

    /// Reduces `values` as planned. `before_run` is called before each run with its number, from 0.
    ///
    /// The input is copied to the device once; a kernel that overwrites its input gets a fresh copy for each run.
    /// The order of the operations, and so every bit of the result, depends on the plan alone.
    ///
    /// A device that is [told to stop](Device::interrupt_by) makes no more runs: the outcome is that of the runs it ended.
    ///
    /// # Errors
    ///
    /// See [`ReduceError`].
    ///
    /// ```
    /// use warpfold::{device::*, element::*, launch::*, op::Op, ptx::PtxLibrary, reduce::*, variant::Variant};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open(DeviceChoice::Simulator)?;
    /// let library = PtxLibrary::embedded()?;
    /// let limits = DeviceLimits::new(device.info(), device.free_memory()?);
    /// let problem = Problem { variant: Variant::Sequential, op: Op::Sum, element: ElementType::I32, n: 4 };
    /// let plan = plan(&problem, &Request::default(), &limits)?;
    /// let values = Values::I32(vec![10, 1, 8, -1]);
    /// let outcome = Reducer::new(&device, &library).reduce(&plan, &values, Runs::ONCE, |_| ())?;
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
        let input = device.upload(values)?;
        let destroyed = problem.variant.facts().destroys_input;
        let mut scratch = destroyed.then(|| device.alloc::<T>(values.len())).transpose()?;
        // Stage i writes to partials[i % 2] and reads what stage i - 1 wrote to the other.
        let outputs = |stage: usize| plan.stages.get(stage).map_or(0, |stage| stage.outputs as usize);
        let partials = [device.alloc::<T>(outputs(0))?, device.alloc::<T>(outputs(1))?];

        let result = &partials[(plan.stages.len() - 1) % 2];
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
            let time = match device.time(|| launch(device, &kernel, &plan.stages, source, &partials)) {
                Err(DeviceError::Interrupted { .. }) => break,
                time => time?,
            };
            if run >= runs.warm_up {
                times.push(time);
            }
            if keep_each {
                left = result.copy_to_host()?;
            }
        }
        if times.is_empty() {
            return Err(ReduceError::Interrupted);
        }
        if !keep_each {
            left = result.copy_to_host()?;
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

fn launch<T: Element>(
    device: &Device,
    kernel: &Kernel,
    stages: &[Stage],
    input: &Buffer<T>,
    partials: &[Buffer<T>; 2],
) -> Result<(), DeviceError> {
    let mut source = input;
    for (index, stage) in stages.iter().enumerate() {
        let target = &partials[index % 2];
        let args = [Arg::Pointer(source.address()), Arg::Pointer(target.address()), Arg::U64(stage.inputs)];
        device.launch(kernel, stage.shape, &args)?;
        source = target;
    }
    Ok(())
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
