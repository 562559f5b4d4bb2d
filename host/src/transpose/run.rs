//! The experiment of transposition: a plan transposes a matrix.

use std::time::Duration;

use super::{Matrix, Moves, Plan, Problem};
use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel},
    experiment::{Experiment, Outcome, RunError, Runner, Runs},
};

/// The byte that fills an output before a kernel writes it, so that the check notices an element
/// that no thread wrote.
const UNWRITTEN: u8 = 0xa5;

impl Runner<'_> {
    /// Transposes `matrix` as planned. The result is the output of the last run: its elements as
    /// bytes, row by row. `before_run` is called before each run with its number, from 0.
    ///
    /// The matrix is copied to the device once. A variant that works in place gets a fresh copy for
    /// each run.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn transpose(
        &mut self,
        plan: &Plan,
        matrix: &Matrix,
        runs: Runs,
        before_run: impl FnMut(u32),
    ) -> Result<Outcome<Vec<u8>>, RunError> {
        let Problem { rows, cols, element, .. } = plan.problem;
        if (matrix.rows() as u64, matrix.cols() as u64, matrix.element()) != (rows, cols, element) {
            let found = format!("{} x {} {}", matrix.rows(), matrix.cols(), matrix.element());
            return Err(RunError::Input {
                planned: format!("{rows} x {cols} {element} elements"),
                found,
            });
        }
        if plan.shape.is_none() {
            return Ok(Outcome { result: Vec::new(), times: Vec::new() });
        }
        let kernel = self.kernel::<RunError>(&plan.kernel)?;
        let (device, mut buffers) = (self.device(), Buffers::new(self.device(), matrix)?);
        self.repeat(
            Transposition { device, kernel: &kernel, plan, buffers: &mut buffers },
            runs,
            before_run,
        )
    }
}

/// The input and the output on the device.
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

/// A plan with its memory, which other plans of the same matrix may share.
pub(super) struct Transposition<'a> {
    pub(super) device: &'a Device,
    pub(super) kernel: &'a Kernel,
    pub(super) plan: &'a Plan,
    pub(super) buffers: &'a mut Buffers,
}

impl Experiment for Transposition<'_> {
    type Output = Vec<u8>;

    /// A variant that works in place gets a fresh copy of the matrix first. That copy is not timed.
    fn run(&mut self) -> Result<Duration, DeviceError> {
        let Some(shape) = self.plan.shape else { return Ok(Duration::ZERO) };
        let Problem { rows, cols, variant, .. } = self.plan.problem;
        // `plan` has checked that both are below 2^31.
        let (rows, cols) = (Arg::U32(rows as u32), Arg::U32(cols as u32));
        let Buffers { input, output } = &mut *self.buffers;
        let args = if variant.facts().moves == Moves::TransposesInPlace {
            output.copy_from(input)?;
            vec![Arg::Pointer(output.address()), rows]
        } else {
            vec![Arg::Pointer(input.address()), Arg::Pointer(output.address()), rows, cols]
        };
        // SAFETY: both buffers hold the elements of the whole matrix. The kernel moves these
        // elements and touches nothing else.
        self.device.time(|| unsafe { self.device.launch(self.kernel, shape, &args) })
    }

    fn output(&self) -> Result<Vec<u8>, DeviceError> {
        self.buffers.output.copy_to_host()
    }
}
