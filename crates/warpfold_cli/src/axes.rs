//! Reductions along axes: one result for each index of the other axes.

use anyhow::anyhow;
use warpfold::{Error, reducer::Item};
use warpfold_tools::{
    arrays::Array,
    terminal::{Failure, failed, refused},
};

use crate::{
    done::{failure, on},
    elements::Elements,
    reference::{Facts, Number},
    run::{Job, Outcome, Settled, settled, timed},
    task::Task,
};

/// The axes of an array that are reduced, and how its elements lie.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// The numbers of the axes from 0 on, in the order in which they were asked for.
    pub(crate) numbers: Vec<isize>,
    pub(crate) shape: Vec<u64>,
    /// The distance of neighbours along each axis, in elements.
    pub(crate) strides: Vec<i64>,
    /// The shape of the results.
    pub(crate) results: Vec<u64>,
}

/// The elements of a row that are brought together before the CPU takes them.
const TOGETHER: usize = 1 << 14;

impl Axes {
    /// The axes of an array that has a shape. A negative axis counts from the end. If `keeps_dims`
    /// is set, the results have all axes of the array, and those that are reduced have one index.
    pub(crate) fn new(array: &Array, asked: &[isize], keeps_dims: bool) -> Result<Self, Failure> {
        if !array.has_header() {
            return Err(refused(anyhow!(
                "{}: --axis needs an array with a shape, which raw elements do not have",
                array.name()
            )));
        }
        let shape = array.shape().unwrap_or_default();
        let rank = shape.len();
        let mut numbers = Vec::new();
        for &axis in asked {
            let number = if axis < 0 { axis.saturating_add(rank as isize) } else { axis };
            if !(0..rank as isize).contains(&number) {
                return Err(refused(Error::Axis { axis, rank }));
            }
            if numbers.contains(&number) {
                return Err(refused(Error::AxisTwice { axis }));
            }
            numbers.push(number);
        }
        let mut strides = vec![0; rank];
        let mut stride = 1i64;
        for k in 0..rank {
            let axis = if array.is_fortran() { k } else { rank - 1 - k };
            strides[axis] = stride;
            stride = stride.saturating_mul(shape[axis] as i64);
        }
        let mut axes = Self { numbers, shape, strides, results: Vec::new() };
        axes.results = (0..rank)
            .filter(|&axis| keeps_dims || !axes.is_reduced(axis))
            .map(|axis| if axes.is_reduced(axis) { 1 } else { axes.shape[axis] })
            .collect();
        Ok(axes)
    }

    fn is_reduced(&self, axis: usize) -> bool {
        self.numbers.contains(&(axis as isize))
    }

    /// The sizes and strides of the axes that are reduced, or of the others.
    fn dims(&self, are_reduced: bool) -> Vec<(u64, i64)> {
        (0..self.shape.len())
            .filter(|&axis| self.is_reduced(axis) == are_reduced)
            .map(|axis| (self.shape[axis], self.strides[axis]))
            .collect()
    }

    /// The number of results.
    pub(crate) fn rows(&self) -> u64 {
        product(self.results.iter().copied())
    }

    /// The number of elements of a row, of which one result is made.
    pub(crate) fn length(&self) -> u64 {
        product(self.dims(true).iter().map(|&(size, _)| size))
    }

    /// The axes as a sentence has them.
    pub(crate) fn described(&self) -> String {
        let numbers: Vec<_> = self.numbers.iter().map(ToString::to_string).collect();
        format!("{} {}", if numbers.len() == 1 { "axis" } else { "axes" }, numbers.join(", "))
    }
}

/// The product of sizes. It is 0 if a size is, however large the others are.
fn product(sizes: impl Iterator<Item = u64> + Clone) -> u64 {
    if sizes.clone().any(|size| size == 0) { 0 } else { sizes.fold(1, u64::saturating_mul) }
}

/// The sums of indices times strides, in C order of the indices.
fn places(dims: &[(u64, i64)]) -> impl Iterator<Item = i64> {
    let (mut index, mut place) = (vec![0; dims.len()], 0);
    let mut left = product(dims.iter().map(|&(size, _)| size));
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let here = place;
        for (index, &(size, stride)) in index.iter_mut().zip(dims).rev() {
            *index += 1;
            place += stride;
            if *index < size {
                break;
            }
            place -= stride * size as i64;
            *index = 0;
        }
        Some(here)
    })
}

/// Reduces the only array of a job along axes, as a whole and on one device.
pub(crate) fn run<T: Item + Number>(
    task: &dyn Task<T>,
    axes: &Axes,
    job: Job<'_>,
) -> Result<Outcome, Failure> {
    let [device] = job.devices else {
        return Err(refused(anyhow!(
            "--axis: one device reduces along axes, and --device named {}",
            job.devices.len()
        )));
    };
    let name = job.first[0].name().to_owned();
    let mut input = Elements::<T>::new(job.first, false);
    let mut held = Vec::new();
    if input.mapped().is_none() {
        job.progress.say("reading");
        let (loaded, are_all) = input.load()?;
        if !are_all {
            return Err(refused(anyhow!(
                "{name}: the array does not fit in memory, and --axis needs all of it"
            )));
        }
        held = loaded;
    }
    let elements = input.mapped().unwrap_or(&held);

    job.progress.say(on(device));
    let mut bench = task.rows(device, elements, axes).map_err(failure)?;
    bench.launch().map_err(failure)?;
    let answers = bench.answers().map_err(failure)?;
    let mut times = Vec::new();
    if job.repeat > 0 && !answers.is_empty() && !elements.is_empty() {
        job.progress.say("measuring");
        times = timed(device, job.repeat, || bench.launch())?;
    }

    let (depth, length) = (bench.depth(), axes.length());
    let mut outcome = Outcome {
        answers: Vec::with_capacity(answers.len()),
        of_nothing: task.answer(None, 0).ok(),
        axes: Some(axes.clone()),
        n: elements.len() as u64,
        wrapped: None,
        verdicts: Vec::new(),
        times,
        pieces: 1,
    };
    if job.verify {
        job.progress.say("computing the same on the CPU");
    }
    let (others, reduced) = (axes.dims(false), axes.dims(true));
    let mut together = Vec::new();
    for (k, (answer, start)) in answers.into_iter().zip(places(&others)).enumerate() {
        let mut facts = Facts::wanted(task.operation(), task.dtype(), Some(length), job.verify);
        if let Some(facts) = &mut facts {
            let mut row = places(&reduced).map(|place| elements[(start + place) as usize]);
            loop {
                together.clear();
                together.extend(row.by_ref().take(TOGETHER));
                facts.feed(&together, None);
                if together.len() < TOGETHER {
                    break;
                }
            }
        }
        let Settled { answer, wrapped, verdict } = settled(task, answer, depth, facts.as_ref())
            .map_err(|error| failed(anyhow!("result {k}: {error}")))?;
        outcome.answers.push(answer);
        outcome.verdicts.extend(verdict);
        if let Some(wrapped) = wrapped {
            outcome.wrapped = Some(wrapped || outcome.wrapped == Some(true));
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_c_order() {
        let of = |dims: &[(u64, i64)]| places(dims).collect::<Vec<_>>();
        assert_eq!(of(&[]), [0]);
        assert_eq!(of(&[(2, 3), (3, 1)]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(of(&[(3, 1), (2, 3)]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(of(&[(2, 1), (0, 2)]), [0; 0]);
        assert_eq!(of(&[(1, 7), (2, 5)]), [0, 5]);
    }
}
