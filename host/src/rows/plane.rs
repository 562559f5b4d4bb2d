//! Variants over matrices of several shapes: what the simulator counts, and how long a GPU takes.

use simt::Counters;

use super::{Plan, PlanError, Problem, Variant, WrongRow, check, plan};
use crate::{
    device::{Device, DeviceInfo, Seen},
    element::{ElementType, Values},
    experiment::{RunError, Runner, Runs, Times, counters},
    input::{InputError, generate},
    op::Op,
    ptx::PtxLibrary,
};

/// The most elements of a matrix that the simulator counts beside a GPU. It would take minutes for
/// more.
const MOST_COUNTED: u64 = 1 << 20;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// The variants, in the order of the rows of the table.
    pub variants: Vec<Variant>,
    /// The numbers of rows and columns of the matrices.
    pub shapes: Vec<(u64, u64)>,
    /// The operation.
    pub op: Op,
    /// The type of the elements.
    pub element: ElementType,
    /// The seed of the elements.
    pub seed: u64,
    /// How often a GPU runs each plan. The simulator runs it once.
    pub runs: Runs,
}

/// The devices that run the plans.
#[derive(Clone, Copy, Debug)]
pub struct Devices<'a> {
    /// A simulator with [`Instrument::Count`](crate::device::Instrument::Count).
    pub counter: &'a Device,
    /// A simulator with [`Instrument::Check`](crate::device::Instrument::Check), if the kernels are
    /// to be checked.
    pub checker: Option<&'a Device>,
    /// A GPU that measures times, if there is one.
    pub gpu: Option<&'a Device>,
}

/// One variant over one matrix.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What ran.
    pub plan: Plan,
    /// The simulator's counters. `None` if the matrix is too large to be counted beside a GPU.
    pub counters: Option<Counters>,
    /// The times on a GPU; `None` without one.
    pub times: Option<Times>,
}

/// All variants over all matrices.
#[derive(Clone, Debug)]
pub struct Plane {
    /// The GPU, or else the simulator.
    pub device: DeviceInfo,
    /// Whether the kernels were checked.
    pub is_checked: bool,
    /// What was asked for.
    pub request: Request,
    /// The variants over the first matrix, then those over the second one, and so on.
    pub measured: Vec<Measured>,
    /// Whether a device was told to stop, so that variants or matrices are missing.
    pub is_interrupted: bool,
}

/// Why rows or columns were not reduced.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// A plan is impossible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The elements do not fit in the host's memory.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A result is wrong.
    #[error(transparent)]
    Wrong(#[from] WrongRow),
    /// The simulator's checks found something.
    #[error("--check: {kernel} over {rows} x {cols} elements: {found}")]
    Found {
        /// The name of the kernel.
        kernel: String,
        /// The number of rows.
        rows: u64,
        /// The number of columns.
        cols: u64,
        /// The first finding.
        found: String,
    },
}

/// The same devices with their kernels.
struct Sites<'a> {
    counter: Runner<'a>,
    checker: Option<Runner<'a>>,
    gpu: Option<Runner<'a>>,
}

impl Plane {
    /// Runs the variants over the matrices, and compares each result with the CPU's. `before` is
    /// called before each step with a description of the step.
    ///
    /// # Errors
    ///
    /// See [`RowsError`].
    pub fn measure(
        library: &PtxLibrary,
        devices: Devices<'_>,
        request: Request,
        before: &mut dyn FnMut(String),
    ) -> Result<Self, RowsError> {
        let runner = |device| Runner::new(device, library);
        let Devices { counter, checker, gpu } = devices;
        let mut sites =
            Sites { counter: runner(counter), checker: checker.map(runner), gpu: gpu.map(runner) };
        let device = gpu.unwrap_or(counter);
        let memory = device.free_memory().map_err(RunError::from)?;
        let (mut measured, mut is_interrupted) = (Vec::new(), false);
        'shapes: for &(rows, cols) in &request.shapes {
            let Request { op, element, seed, runs, .. } = request;
            let problem = |&variant| Problem { variant, op, element, rows, cols };
            let plans = request.variants.iter().map(|variant| plan(&problem(variant), memory));
            let plans = plans.collect::<Result<Vec<_>, _>>()?;
            let elements = generate(element, op, rows * cols, seed)?;
            for plan in plans {
                before(format!("{} over {rows} x {cols}", plan.kernel));
                match sites.run(plan, &elements, runs) {
                    Err(RowsError::Run(RunError::Interrupted)) => {
                        is_interrupted = true;
                        break 'shapes;
                    }
                    one => measured.push(one?),
                }
            }
        }
        let is_checked = checker.is_some();
        let device = device.info().clone();
        Ok(Self { device, is_checked, request, measured, is_interrupted })
    }
}

impl Sites<'_> {
    fn run(&mut self, plan: Plan, elements: &Values, runs: Runs) -> Result<Measured, RowsError> {
        let run = |runner: &mut Runner<'_>, runs| {
            let outcome = runner.reduce_rows(&plan, elements, runs, |_| ())?;
            check(&plan, elements, &outcome.result)?;
            Ok::<_, RowsError>(outcome.times)
        };
        if let Some(checker) = &mut self.checker {
            let ran = run(checker, Runs::ONCE);
            // If there is a finding, it explains a run that failed.
            if let Some(found) = found(checker.device()) {
                let Problem { rows, cols, .. } = plan.problem;
                return Err(RowsError::Found { kernel: plan.kernel, rows, cols, found });
            }
            ran?;
        }
        let times = match &mut self.gpu {
            Some(gpu) => Times::new(&run(gpu, runs)?),
            None => None,
        };
        let mut counted = None;
        if self.gpu.is_none() || plan.problem.elements() <= MOST_COUNTED {
            self.counter.device().take_observations();
            run(&mut self.counter, Runs::ONCE)?;
            counted = counters(self.counter.device());
        }
        Ok(Measured { plan, counters: counted, times })
    }
}

/// The first finding or the fault that the checks saw.
fn found(device: &Device) -> Option<String> {
    device.take_observations().into_iter().find_map(|observation| match observation.seen {
        Seen::Checked(checked) => {
            let report = checked.reports.first().map(ToString::to_string);
            report.or_else(|| checked.fault.map(|fault| fault.to_string()))
        }
        Seen::Counted(_) => None,
    })
}
