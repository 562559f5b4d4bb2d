//! Runs a plan on a device.

use std::{collections::HashMap, time::Duration};

use super::{Matrix, Moves, Plan, Problem};
use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel, Module},
    ptx::{PtxError, PtxLibrary},
    reduce::Runs,
};

/// What an output holds before a kernel writes it, so that what was not written is seen.
const UNWRITTEN: u8 = 0xa5;

/// Why a transposition did not run.
#[derive(Debug, thiserror::Error)]
pub enum TransposeError {
    /// There is no PTX for the kernel.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device was told to stop before a timed run had ended; see [`Device::interrupt_by`].
    #[error("no run was finished")]
    Interrupted,
    /// The matrix is not the one that was planned for.
    #[error("the plan is for {} x {} {} elements, not for {rows} x {cols} {element}", .problem.rows, .problem.cols, .problem.element)]
    Matrix {
        /// What was planned for.
        problem: Problem,
        /// Rows of the matrix.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// The type of its elements.
        element: super::ElementType,
    },
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bytes of the matrix that the last run left, row by row.
    pub output: Vec<u8>,
    /// The time of each timed run, without copies. Empty if there was nothing to launch.
    pub times: Vec<Duration>,
}

/// A device and a set of kernels, of which it keeps loaded what it used.
#[derive(Debug)]
pub struct Transposer<'a> {
    device: &'a Device,
    library: &'a PtxLibrary,
    modules: HashMap<String, Module>,
}

/// Input and output on the device.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) input: Buffer<u8>,
    pub(super) output: Buffer<u8>,
}

impl Buffers {
    pub(super) fn new(device: &Device, matrix: &Matrix) -> Result<Self, DeviceError> {
        let input = device.upload(matrix.bytes())?;
        let mut output = device.alloc(matrix.bytes().len())?;
        output.fill_bytes(UNWRITTEN)?;
        Ok(Self { input, output })
    }
}

impl<'a> Transposer<'a> {
    /// Loads nothing yet.
    pub fn new(device: &'a Device, library: &'a PtxLibrary) -> Self {
        Self { device, library, modules: HashMap::new() }
    }

    /// Transposes `matrix` as planned. `before_run` is called before each run with its number, from 0.
    ///
    /// The matrix is copied to the device once; in place, each run gets a fresh copy.
    ///
    /// # Errors
    ///
    /// See [`TransposeError`].
    pub fn transpose(
        &mut self,
        plan: &Plan,
        matrix: &Matrix,
        runs: Runs,
        mut before_run: impl FnMut(u32),
    ) -> Result<Outcome, TransposeError> {
        let problem = plan.problem;
        let (rows, cols, element) = (matrix.rows(), matrix.cols(), matrix.element());
        if (rows as u64, cols as u64, element) != (problem.rows, problem.cols, problem.element) {
            return Err(TransposeError::Matrix { problem, rows, cols, element });
        }
        if plan.shape.is_none() {
            return Ok(Outcome { output: Vec::new(), times: Vec::new() });
        }
        let kernel = self.kernel(plan)?;
        let mut buffers = Buffers::new(self.device, matrix)?;
        let mut times = Vec::with_capacity(runs.timed as usize);
        for run in 0..runs.warm_up + runs.timed {
            if self.device.is_interrupted() {
                break;
            }
            before_run(run);
            let time = match time(self.device, &kernel, plan, &mut buffers) {
                // The matrix is half done, and no run after it will mend that.
                Err(DeviceError::Interrupted { .. }) => return Err(TransposeError::Interrupted),
                time => time?,
            };
            if run >= runs.warm_up {
                times.push(time);
            }
        }
        if times.is_empty() {
            return Err(TransposeError::Interrupted);
        }
        Ok(Outcome { output: buffers.output.copy_to_host()?, times })
    }

    /// The kernel of a plan, ready to launch.
    pub(super) fn kernel(&mut self, plan: &Plan) -> Result<Kernel, TransposeError> {
        let ptx = self.library.find(&plan.kernel, self.device.info().compute_capability)?;
        if !self.modules.contains_key(&ptx.file) {
            let module = self.device.load(&ptx.file, &ptx.text)?;
            self.modules.insert(ptx.file.clone(), module);
        }
        Ok(self.modules[&ptx.file].kernel(&plan.kernel)?)
    }
}

/// Launches a plan once, and times it. What works in place gets a fresh copy first, and that is not timed.
pub(super) fn time(
    device: &Device,
    kernel: &Kernel,
    plan: &Plan,
    buffers: &mut Buffers,
) -> Result<Duration, DeviceError> {
    let Some(shape) = plan.shape else { return Ok(Duration::ZERO) };
    let Problem { rows, cols, variant, .. } = plan.problem;
    // `plan` has checked that both are below 2^31.
    let (rows, cols) = (Arg::U32(rows as u32), Arg::U32(cols as u32));
    let args = if variant.facts().moves == Moves::TransposesInPlace {
        buffers.output.copy_from(&buffers.input)?;
        vec![Arg::Pointer(buffers.output.address()), rows]
    } else {
        vec![Arg::Pointer(buffers.input.address()), Arg::Pointer(buffers.output.address()), rows, cols]
    };
    // SAFETY: both buffers hold the elements of the whole matrix, which the kernel moves and nothing else.
    device.time(|| unsafe { device.launch(kernel, shape, &args) })
}
