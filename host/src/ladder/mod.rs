//! The ladder at a glance: many rungs at the same work, one table.
//!
//! A [`Bench`] measures rungs on one device, each checked against the CPU; [`climb`] takes it up the ladder at one size, and
//! several climbs are a sweep. [`Climb::document`] and [`sweep_document`] make tables and charts of them. On a GPU the
//! figures are times; on the simulator, whose times say nothing about a GPU, they are counters beside the model's ideal.
//!
//! ```
//! use warpfold_lab::{device::*, element::ElementType, ladder::*, op::Op, ptx::PtxLibrary, reduce::Runs, variant::Variant};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (library, device) = (PtxLibrary::embedded()?, Device::simulator_with(Instrument::Count));
//! let work = Work { op: Op::Sum, element: ElementType::I32, n: 4096, seed: 1 };
//! let contenders: Vec<_> = [Variant::InterleavedContiguous, Variant::Sequential].map(Contender::new).into();
//! let climb = climb(&mut Bench::new(&device, None, &library), work, &contenders, Runs::ONCE, &mut |_| ())?;
//! let cost = |rung: usize| climb.rungs[rung].measured().and_then(|measured| measured.counted).map(|counted| counted.cost);
//! assert!(cost(1) < cost(0));
//! # Ok(())
//! # }
//! ```

mod counted;
mod document;
mod history;
mod peers;
mod quiz;
mod sweep;

use std::collections::HashMap;

use crate::{
    device::{Device, DeviceError, DeviceInfo, DeviceKind},
    element::{ElementType, Value, Values},
    input::{InputError, generate},
    launch::{DeviceLimits, Plan, PlanError, Problem, Request, plan},
    op::Op,
    ptx::{PtxError, PtxLibrary},
    reduce::{ReduceError, Runner, Runs},
    reference::Reference,
    report::Times,
    variant::Variant,
};

pub use counted::Counted;
pub use history::{HISTORY, History};
pub use peers::{Peer, peers};
pub use quiz::{Quiz, Side, UDACITY_BLOCK, quiz};
pub use sweep::sweep_document;

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

    fn problem(&self, work: &Work) -> Problem {
        Problem { variant: self.variant, op: work.op, element: work.element, n: work.n }
    }
}

/// A rung and what came of it.
#[derive(Debug)]
pub struct Rung {
    /// Which one.
    pub variant: Variant,
    /// What was measured, or why it cannot run.
    pub outcome: Result<Measured, Refusal>,
}

impl Rung {
    /// What was measured, unless it was refused.
    pub fn measured(&self) -> Option<&Measured> {
        self.outcome.as_ref().ok()
    }
}

/// What came of a rung that ran.
#[derive(Debug)]
pub struct Measured {
    /// What was launched.
    pub plan: Plan,
    /// Whether its shape is what tuning found.
    pub tuned: bool,
    /// The result of the last run.
    pub result: Value,
    /// What it should be.
    pub reference: Reference,
    /// How long it took; `None` on the simulator.
    pub times: Option<Times>,
    /// What it did; `None` if nothing counted.
    pub counted: Option<Counted>,
    /// Why the counting simulator beside a GPU did not count it.
    pub not_counted: Option<Refusal>,
}

impl Measured {
    /// Whether the result is right.
    pub fn agrees(&self) -> bool {
        self.reference.agrees(self.result)
    }

    /// Seconds in the middle of the timed runs.
    pub fn seconds(&self) -> Option<f64> {
        self.times.map(|times| times.median.as_secs_f64())
    }

    /// The bytes of the input, read once, over that time, in 10^9 bytes per second.
    pub fn gb_per_s(&self) -> Option<f64> {
        let problem = &self.plan.problem;
        let bytes = problem.n as f64 * f64::from(problem.element.size());
        self.seconds().map(|seconds| bytes / seconds / 1e9)
    }
}

/// Why a rung cannot run here. Others may.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The type, the operation, the shape or the memory.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no PTX for this device.
    #[error(transparent)]
    Ptx(PtxError),
    /// The device cannot load or launch it.
    #[error(transparent)]
    Device(DeviceError),
}

/// Why nothing, or not all, was measured.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// Of no elements nothing is launched.
    #[error("n = 0: nothing is launched, so there is nothing to measure")]
    Nothing,
    /// No rung can run; this is why the first cannot.
    #[error(transparent)]
    Refused(Refusal),
    /// The elements cannot be made.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A run failed.
    #[error(transparent)]
    Reduce(ReduceError),
}

/// What [`climb`] tells while it climbs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The input is prepared.
    Prepares(&'a Work),
    /// A rung is measured.
    Begins(&'a Plan),
    /// A rung is done, or refused.
    Ends,
}

/// A device that measures rungs, and if wanted a simulator beside it that counts what they do.
#[derive(Debug)]
pub struct Bench<'a> {
    device: &'a Device,
    runner: Runner<'a>,
    counter: Option<(&'a Device, Runner<'a>)>,
}

impl<'a> Bench<'a> {
    /// Loads nothing yet. `counter` is a simulator with [`Instrument::Count`](crate::device::Instrument::Count), which runs
    /// the same launches as `device`; a `device` of that kind needs none beside it.
    pub fn new(device: &'a Device, counter: Option<&'a Device>, library: &'a PtxLibrary) -> Self {
        let counter = counter.map(|counter| (counter, Runner::new(counter, library)));
        Self { device, runner: Runner::new(device, library), counter }
    }

    /// Where it measures.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// Plans a rung for this device.
    ///
    /// # Errors
    ///
    /// Why it cannot run; the device's error as [`LadderError::Reduce`].
    pub fn plan(&mut self, work: &Work, contender: &Contender) -> Result<Result<Plan, Refusal>, LadderError> {
        let problem = contender.problem(work);
        let planned = self.runner.limits(&problem, &contender.request).and_then(|limits| {
            let plan = plan(&problem, &contender.request, &limits)?;
            self.runner.prepare(&plan)?;
            Ok(plan)
        });
        planned.map(Ok).or_else(|error| Refusal::of(error).map(Err)).map_err(LadderError::Reduce)
    }

    /// What the device allows this contender, to choose its shape; `None` if it cannot run.
    pub fn limits(&mut self, problem: &Problem, request: &Request) -> Option<DeviceLimits> {
        self.runner.limits(problem, request).ok()
    }

    /// Plans them all.
    ///
    /// # Errors
    ///
    /// [`LadderError::Nothing`], and [`LadderError::Refused`] if none can run.
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

    /// Runs a plan, once on the simulator, and counts it if there is what counts.
    ///
    /// # Errors
    ///
    /// The runner's. [`ReduceError::Interrupted`] before the first run has ended, or the counting.
    pub fn run(
        &mut self,
        contender: &Contender,
        plan: Plan,
        references: &mut References<'_>,
        runs: Runs,
    ) -> Result<Measured, ReduceError> {
        let kind = self.device.info().kind;
        // All runs on the simulator are alike, and observations add up.
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
        Ok(Measured { plan, tuned: contender.tuned, result: outcome.result, reference, times, counted, not_counted })
    }
}

/// One size's rungs, from the ground up.
#[derive(Debug)]
pub struct Climb {
    /// Where.
    pub device: DeviceInfo,
    /// What they did.
    pub work: Work,
    /// How often.
    pub runs: Runs,
    /// What came of each, in the order that was asked for.
    pub rungs: Vec<Rung>,
    /// How many were asked for: more than there are if the device was interrupted.
    pub asked: usize,
}

impl Climb {
    /// Rungs with all the runs that were asked for, and those that were refused.
    pub fn whole(&self) -> usize {
        let is_whole = |rung: &&Rung| {
            let times = rung.measured().and_then(|measured| measured.times);
            times.is_none_or(|times| times.reps >= self.runs.timed as usize)
        };
        self.rungs.iter().filter(is_whole).count()
    }

    /// Whether there is less than was asked for.
    pub fn is_cut_short(&self) -> bool {
        self.whole() < self.asked
    }

    /// The rungs that ran.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.rungs.iter().filter_map(Rung::measured)
    }

    /// The first wrong result.
    pub fn wrong(&self) -> Option<&Measured> {
        self.measured().find(|measured| !measured.agrees())
    }
}

/// Measures each contender at the same work, one after the other, each checked against the CPU. Those that the device, the
/// type or the operation does not allow are refused; the others go on. A device that is
/// [interrupted](Device::interrupt_by) ends it with what was measured so far.
///
/// # Errors
///
/// See [`LadderError`].
pub fn climb(
    bench: &mut Bench<'_>,
    work: Work,
    contenders: &[Contender],
    runs: Runs,
    on: &mut dyn FnMut(Event<'_>),
) -> Result<Climb, LadderError> {
    let plans = bench.plan_all(&work, contenders)?;
    on(Event::Prepares(&work));
    let values = generate(work.element, work.op, work.n, work.seed)?;
    let mut references = References::new(&values, work.op);
    let mut climb =
        Climb { device: bench.device.info().clone(), work, runs, rungs: Vec::new(), asked: contenders.len() };
    for (contender, plan) in contenders.iter().zip(plans) {
        if bench.device.is_interrupted() {
            break;
        }
        let variant = contender.variant;
        let outcome = match plan {
            Err(refusal) => Err(refusal),
            Ok(plan) => {
                on(Event::Begins(&plan));
                match bench.run(contender, plan, &mut references, runs) {
                    Ok(measured) => Ok(measured),
                    Err(ReduceError::Interrupted) => break,
                    Err(error) => Err(Refusal::of(error).map_err(LadderError::Reduce)?),
                }
            }
        };
        climb.rungs.push(Rung { variant, outcome });
        on(Event::Ends);
    }
    // Only a device knows some reasons, and only when it is asked.
    if !climb.is_cut_short() && climb.measured().next().is_none() && !climb.rungs.is_empty() {
        let Rung { outcome, .. } = climb.rungs.swap_remove(0);
        return outcome
            .map_or_else(|refusal| Err(LadderError::Refused(refusal)), |_| unreachable!("none was measured"));
    }
    Ok(climb)
}

impl Refusal {
    /// The refusal that an error is: it is about this rung on this device, and others may still run.
    ///
    /// # Errors
    ///
    /// The error, if it is none.
    pub fn of(error: ReduceError) -> Result<Self, ReduceError> {
        match error {
            ReduceError::Plan(error) => Ok(Self::Plan(error)),
            ReduceError::Ptx(error) => Ok(Self::Ptx(error)),
            ReduceError::Device(
                error @ (DeviceError::NotSimulated { .. }
                | DeviceError::ModuleRefused { .. }
                | DeviceError::NoKernel { .. }
                | DeviceError::DriverLacks { .. }
                | DeviceError::Shape { .. }
                | DeviceError::OutOfMemory { .. }),
            ) => Ok(Self::Device(error)),
            error => Err(error),
        }
    }
}

/// The reference of the same values, for trees of different depth.
#[derive(Debug)]
pub struct References<'a> {
    values: &'a Values,
    op: Op,
    by_depth: HashMap<u64, Reference>,
}

impl<'a> References<'a> {
    /// Computes nothing yet.
    pub fn new(values: &'a Values, op: Op) -> Self {
        Self { values, op, by_depth: HashMap::new() }
    }

    /// What a plan should give.
    pub fn of(&mut self, plan: &Plan) -> Reference {
        // Integers are exact at any depth.
        let depth = if matches!(self.values.element(), ElementType::F32 | ElementType::F64) { plan.depth() } else { 0 };
        *self.by_depth.entry(depth).or_insert_with(|| Reference::new(self.values, self.op, depth))
    }
}

#[cfg(test)]
mod tests;
