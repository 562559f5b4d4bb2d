//! The experiment: a plan reduces the rows or the columns of a matrix.

use std::time::Duration;

use super::{Plan, Problem, Variant};
use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel},
    element::{Element, Values, with_slice},
    experiment::{Experiment, Outcome, RunError, Runner, Runs},
    reference::{Reference, WrongResult},
};

/// The byte that fills the results before a kernel writes them, so that the check notices a result
/// that no thread wrote.
const UNWRITTEN: u8 = 0xa5;

impl Runner<'_> {
    /// Reduces the rows or the columns of a matrix as planned. The elements lie row after row, and
    /// are copied to the device once. `before_run` is called before each run with its number, from
    /// 0.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    pub fn reduce_rows(
        &mut self,
        plan: &Plan,
        elements: &Values,
        runs: Runs,
        before_run: impl FnMut(u32),
    ) -> Result<Outcome<Values>, RunError> {
        let Problem { rows, cols, element, .. } = plan.problem;
        if (elements.len() as u64, elements.element()) != (rows * cols, element) {
            return Err(RunError::Input {
                planned: format!("{rows} x {cols} {element} elements"),
                found: format!("{} of {}", elements.len(), elements.element()),
            });
        }
        let kernel = self.kernel::<RunError>(&plan.kernel)?;
        with_slice!(elements, slice => {
            let input = self.device().upload(slice)?;
            let mut output = self.device().alloc(plan.problem.results() as usize)?;
            output.fill_bytes(UNWRITTEN)?;
            let (device, kernel) = (self.device(), &kernel);
            self.repeat(RowReduction { device, kernel, plan, input, output }, runs, before_run)
        })
    }
}

/// A plan with its memory on a device.
struct RowReduction<'a, T> {
    device: &'a Device,
    kernel: &'a Kernel,
    plan: &'a Plan,
    input: Buffer<T>,
    output: Buffer<T>,
}

impl<T: Element> Experiment for RowReduction<'_, T> {
    type Output = Values;

    fn run(&mut self) -> Result<Duration, DeviceError> {
        let Problem { rows, cols, .. } = self.plan.problem;
        let args = [
            Arg::Pointer(self.input.address()),
            Arg::Pointer(self.output.address()),
            Arg::U64(rows),
            Arg::U64(cols),
        ];
        // SAFETY: the input holds the elements of the matrix and the output one element for each
        // result, and the kernel touches nothing else.
        self.device.time(|| unsafe { self.device.launch(self.kernel, self.plan.shape, &args) })
    }

    fn output(&self) -> Result<Values, DeviceError> {
        Ok(T::values(self.output.copy_to_host()?))
    }
}

/// A result that disagrees with the CPU's.
#[derive(Clone, Debug, thiserror::Error)]
#[error("result {number} of {results}: {wrong}")]
pub struct WrongRow {
    /// The number of the row or the column, from 0.
    pub number: usize,
    /// The number of results.
    pub results: usize,
    /// What is wrong.
    pub wrong: WrongResult,
}

/// Compares each result with that of the CPU.
///
/// # Errors
///
/// The first result that is wrong.
///
/// # Panics
///
/// Panics if the elements or the results are not as many as the plan says.
pub fn check(plan: &Plan, elements: &Values, results: &Values) -> Result<(), WrongRow> {
    with_slice!(elements, elements => {
        with_slice!(results, results => {
            assert_eq!(results.len() as u64, plan.problem.results(), "results of {}", plan.kernel);
            for (number, result) in results.iter().enumerate() {
                let part = Element::values(part(&plan.problem, elements, number));
                let reference = Reference::new(&part, plan.problem.op, plan.problem.depth());
                reference
                    .check(&plan.kernel, result.value())
                    .map_err(|wrong| WrongRow { number, results: results.len(), wrong })?;
            }
            Ok(())
        })
    })
}

/// The elements of a row, or of a column.
fn part<T: Copy>(problem: &Problem, elements: &[T], number: usize) -> Vec<T> {
    let cols = problem.cols as usize;
    match problem.variant {
        Variant::Column => elements.iter().skip(number).step_by(cols).copied().collect(),
        _ => elements[number * cols..][..cols].to_vec(),
    }
}
