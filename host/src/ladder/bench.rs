//! The bench, which plans and measures single rungs on one device.

use std::collections::HashMap;

use simt::occupancy::Gpu;

use super::{
    counted::Counted,
    rung::{Measured, Refusal},
    work::{Contender, Work},
};
use crate::{
    device::{Device, DeviceKind},
    element::{ElementType, Values},
    experiment::{RunError, Runner, Runs, Times},
    input::InputError,
    launch::{DeviceLimits, Plan, PlanError, Problem, Request, plan},
    op::Op,
    ptx::PtxLibrary,
    reference::Reference,
};

/// Why not all rungs, or none, were measured.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// There are no elements, so nothing is launched.
    #[error("n = 0: nothing is launched, so there is nothing to measure")]
    Nothing,
    /// No rung can run. This is the reason for the first rung.
    #[error(transparent)]
    Refused(Refusal),
    /// The elements cannot be generated.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<PlanError> for LadderError {
    fn from(error: PlanError) -> Self {
        Self::Refused(Refusal::Plan(error))
    }
}

/// A device that measures rungs. A simulator beside it may count what the rungs do.
#[derive(Debug)]
pub struct Bench<'a> {
    device: &'a Device,
    runner: Runner<'a>,
    counter: Option<(&'a Device, Runner<'a>)>,
}

impl<'a> Bench<'a> {
    /// Makes a bench that has loaded no kernel yet. `counter` is a simulator with
    /// [`Instrument::Count`](crate::device::Instrument::Count), which runs the same launches as
    /// `device`. If `device` is such a simulator itself, it needs none beside it.
    pub fn new(device: &'a Device, counter: Option<&'a Device>, library: &'a PtxLibrary) -> Self {
        let counter = counter.map(|counter| (counter, Runner::new(counter, library)));
        Self { device, runner: Runner::new(device, library), counter }
    }

    /// Plans launches for this GPU, although they run on another device; see
    /// [`Runner::planning_for`].
    #[must_use]
    pub fn planning_for(self, gpu: Option<Gpu>) -> Self {
        Self { runner: self.runner.planning_for(gpu), ..self }
    }

    /// The GPU for which launches are planned, if it is not the device itself.
    pub fn planned_for(&self) -> Option<Gpu> {
        self.runner.planned_for()
    }

    /// The device that measures.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Plans a rung for this device. The inner result says why the rung cannot run.
    ///
    /// # Errors
    ///
    /// The device's error as [`LadderError::Run`].
    pub fn plan(
        &mut self,
        work: &Work,
        contender: &Contender,
    ) -> Result<Result<Plan, Refusal>, LadderError> {
        let problem = contender.problem(work);
        let limits = match self.runner.limits(&problem, &contender.request) {
            Ok(limits) => limits,
            Err(error) => return Ok(Err(Refusal::of(error)?)),
        };
        let plan = match plan(&problem, &contender.request, &limits) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(Refusal::Plan(error))),
        };
        match self.runner.prepare(&plan) {
            Ok(()) => Ok(Ok(plan)),
            Err(error) => Ok(Err(Refusal::of(error)?)),
        }
    }

    /// The limits of the device for this problem, from which a shape can be chosen; `None` if the
    /// rung cannot run.
    pub fn limits(&mut self, problem: &Problem, request: &Request) -> Option<DeviceLimits> {
        self.runner.limits(problem, request).ok()
    }

    /// Plans all contenders.
    ///
    /// # Errors
    ///
    /// [`LadderError::Nothing`]; [`LadderError::Refused`] if none can run; the errors of
    /// [`Self::plan`].
    pub fn plan_all(
        &mut self,
        work: &Work,
        contenders: &[Contender],
    ) -> Result<Vec<Result<Plan, Refusal>>, LadderError> {
        if work.n == 0 {
            return Err(LadderError::Nothing);
        }
        let mut plans = Vec::new();
        for contender in contenders {
            plans.push(self.plan(work, contender)?);
        }
        if plans.iter().all(Result::is_err)
            && !plans.is_empty()
            && let Err(refusal) = plans.swap_remove(0)
        {
            return Err(LadderError::Refused(refusal));
        }
        Ok(plans)
    }

    /// Runs a plan, and counts its work if the device or the simulator beside it counts. A
    /// simulator runs the plan only once.
    ///
    /// # Errors
    ///
    /// The runner's errors. One of them is [`RunError::Interrupted`], if the interruption came
    /// before the end of the first run, or before the end of the counting.
    pub fn run(
        &mut self,
        contender: &Contender,
        plan: Plan,
        references: &mut References<'_>,
        runs: Runs,
    ) -> Result<Measured, RunError> {
        let kind = self.device.info().kind;
        // On the simulator one run is enough because all runs are alike, and more would add up in
        // the counters.
        let runs = if kind == DeviceKind::Cuda { runs } else { Runs::ONCE };
        let values = references.values;
        let outcome = self.runner.reduce(&plan, values, runs, |_| ())?;
        let mut observations = self.device.take_observations();
        let mut not_counted = None;
        if let Some((counter, runner)) = &mut self.counter {
            match runner.reduce(&plan, values, Runs::ONCE, |_| ()) {
                Ok(_) => observations = counter.take_observations(),
                Err(error) => not_counted = Some(Refusal::of(error)?),
            }
        }
        let times = match kind {
            DeviceKind::Cuda => Times::new(&outcome.times),
            DeviceKind::Simulator => None,
        };
        let (counted, reference) = (Counted::new(&plan, observations), references.of(&plan));
        Ok(Measured {
            plan,
            tuned: contender.tuned,
            result: outcome.result,
            reference,
            times,
            counted,
            not_counted,
        })
    }
}

/// The references of one array, for trees of different depth.
#[derive(Debug)]
pub struct References<'a> {
    values: &'a Values,
    op: Op,
    by_depth: HashMap<u64, Reference>,
}

impl<'a> References<'a> {
    /// Computes no reference yet.
    pub fn new(values: &'a Values, op: Op) -> Self {
        Self { values, op, by_depth: HashMap::new() }
    }

    /// The reference for the result of a plan.
    pub fn of(&mut self, plan: &Plan) -> Reference {
        // Integers are exact at any depth, so one reference is enough for them.
        let depth = if matches!(self.values.element(), ElementType::F32 | ElementType::F64) {
            plan.depth()
        } else {
            0
        };
        *self.by_depth.entry(depth).or_insert_with(|| Reference::new(self.values, self.op, depth))
    }
}
