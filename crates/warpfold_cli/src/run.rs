//! Runs a task: as one reduction if the elements fit into memory, and otherwise piece by piece.

use std::time::Duration;

use anyhow::{anyhow, bail};
use warpfold::{Device, Error, device::DeviceError, reducer::Item};
use warpfold_tools::{
    arrays::Array,
    terminal::{Failure, Progress, failed, interrupted, refused},
};

use crate::{
    answer::{Answer, Value},
    done::{Done, failure, on},
    elements::{Elements, PIPE_BYTES},
    operation::Operation,
    parts::{self, Parts},
    pieces,
    reference::{Facts, Number, Verdict},
    task::{Operands, Task},
    wrap::{cut, may_wrap},
};

/// What to reduce, where, and how.
pub(crate) struct Job<'a> {
    /// The first operand: arrays that are read as one.
    pub(crate) first: Vec<Array>,
    /// The second operand of a pair.
    pub(crate) second: Option<Array>,
    /// The parts of the only array or of the pair, each of which is reduced. `None` if all is
    /// reduced to one number.
    pub(crate) parts: Option<Parts>,
    /// The devices that share the work.
    pub(crate) devices: &'a [Device],
    /// The bytes of a piece, if the arrays are to be reduced in pieces.
    pub(crate) piece: Option<u64>,
    /// How many runs are timed, with the elements in the device's memory.
    pub(crate) repeat: u32,
    pub(crate) verify: bool,
    pub(crate) progress: &'a Progress,
}

/// What came of a job.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The answer, or those of all parts in their order.
    pub(crate) answers: Vec<Answer>,
    /// The answer of no elements, whose type is that of the answers if there are none.
    pub(crate) of_nothing: Option<Answer>,
    /// The parts that were reduced, if the array was not reduced to one number.
    pub(crate) parts: Option<Parts>,
    /// The number of elements of an operand. Along axes, that of the shape to which both operands
    /// of a pair are broadcast.
    pub(crate) n: u64,
    /// Whether an exact result does not fit into the type of its answer. `None` if the result of
    /// the operation never wraps around.
    pub(crate) wrapped: Option<bool>,
    /// The comparison of each answer with the CPU's, if it was asked for.
    pub(crate) verdicts: Vec<Verdict>,
    /// The times of the runs.
    pub(crate) times: Vec<Duration>,
    /// The number of pieces that were reduced on their own.
    pub(crate) pieces: u64,
}

/// The bytes of a piece if nothing else is asked for.
pub(crate) const PIECE_BYTES: u64 = 64 << 20;

pub(crate) fn run<T: Item + Number>(
    task: &dyn Task<T>,
    mut job: Job<'_>,
) -> Result<Outcome, Failure> {
    if let Some(parts) = job.parts.take() {
        return parts::run(task, parts, job);
    }
    let is_ordered = task.operation().is_ordered() || in_different_orders(&job);
    let mut first = Elements::<T>::new(job.first, is_ordered);
    let mut second = job.second.map(|second| Elements::<T>::new(vec![second], is_ordered));
    let n = first.len();
    if let (Some(first), Some(Some(second))) = (n, second.as_ref().map(Elements::len))
        && first != second
    {
        return Err(refused(Error::Lengths { first, second }));
    }
    let mut facts =
        Facts::wanted((task.operation(), task.condition()), task.dtype(), n, job.verify);

    let is_whole =
        job.devices.len() == 1 && job.piece.is_none() && n.is_none_or(|n| n <= task.most());
    let (mut held, mut held_second) = (Vec::new(), Vec::new());
    if is_whole {
        job.progress.say("reading");
        let mut are_all = true;
        if first.mapped().is_none() {
            let loaded = first.load(PIPE_BYTES)?;
            held = loaded.0;
            are_all &= loaded.1;
        }
        if let Some(second) = second.as_mut().filter(|second| second.mapped().is_none()) {
            let loaded = second.load(PIPE_BYTES)?;
            held_second = loaded.0;
            are_all &= loaded.1;
        }
        if are_all && held.len() as u64 <= task.most() {
            let whole = first.mapped().unwrap_or(&held);
            let second = second.as_ref().map(|second| second.mapped().unwrap_or(&held_second));
            let operands = Operands { first: whole, second };
            let (device, settings) = (&job.devices[0], (job.repeat, job.progress));
            let done = whole_arrays(task, device, operands, facts.as_mut(), settings)?;
            return finish(task, done, facts.as_ref());
        }
    }
    if job.repeat > 0 {
        return Err(refused(anyhow!(
            "--repeat {}: only one array in the memory of one device is measured, and this one is reduced in pieces",
            job.repeat
        )));
    }
    let piece = (job.piece.unwrap_or(PIECE_BYTES) / size_of::<T>() as u64).clamp(1, task.most());
    let operands = (
        pieces::Operand { head: held, rest: first },
        second.map(|second| pieces::Operand { head: held_second, rest: second }),
    );
    let done =
        pieces::reduce(task, job.devices, operands, piece as usize, facts.as_mut(), job.progress)?;
    finish(task, done, facts.as_ref())
}

/// Whether the elements of the operands of a pair lie in different orders.
fn in_different_orders(job: &Job<'_>) -> bool {
    let Some(second) = &job.second else { return false };
    let is_fortran = |array: &Array| array.is_fortran();
    let any = job.first.iter().any(is_fortran) || is_fortran(second);
    let alike = job.first.iter().all(|array| is_fortran(array) && array.shape() == second.shape());
    any && !(alike && is_fortran(second))
}

/// Reduces arrays that are in the host's memory, by one call of the library.
fn whole_arrays<T: Item + Number>(
    task: &dyn Task<T>,
    device: &Device,
    operands: Operands<'_, T>,
    facts: Option<&mut Facts>,
    (repeat, progress): (u32, &Progress),
) -> Result<Done, Failure> {
    let n = operands.first.len() as u64;
    progress.say(on(device));
    let answer = task
        .reduce(device, operands, &mut |done, all| {
            progress.say(format!("{}: {done} of {all} elements", on(device)));
        })
        .map_err(failure)?;
    if let Some(facts) = facts {
        progress.say("computing the same on the CPU");
        facts.feed(operands.first, operands.second);
    }
    let mut times = Vec::new();
    if repeat > 0 && n > 0 {
        progress.say("measuring");
        times = measure(task, device, operands, repeat)?;
    }
    let depth = task.depth(device, n).map_err(failure)?;
    Ok(Done { answer, n, depth, times, pieces: 1 })
}

/// Times runs with the elements in the device's memory.
fn measure<T: Item>(
    task: &dyn Task<T>,
    device: &Device,
    operands: Operands<'_, T>,
    repeat: u32,
) -> Result<Vec<Duration>, Failure> {
    let mut bench =
        task.bench(device, operands.first.len()).map_err(|error| too_large(error, repeat))?;
    bench.load(operands).map_err(failure)?;
    timed(device, repeat, || bench.launch())
}

/// The failure of a measurement for an error of the library.
fn too_large(error: Error, repeat: u32) -> Failure {
    match error {
        Error::Device(error @ DeviceError::OutOfMemory { .. }) => refused(anyhow!(
            "--repeat {repeat}: {error}, and only an array in the device's memory is measured"
        )),
        error => failure(error),
    }
}

/// The times of launches, after three to warm a GPU up.
pub(crate) fn timed(
    device: &Device,
    repeat: u32,
    mut launch: impl FnMut() -> Result<(), Error>,
) -> Result<Vec<Duration>, Failure> {
    let warm = if device.info().ordinal.is_some() { 3 } else { 0 };
    let mut times = Vec::new();
    for k in 0..warm + repeat {
        if interrupted() {
            break;
        }
        let time = device.time(&mut launch).map_err(failure)?;
        if k >= warm {
            times.push(time);
        }
    }
    Ok(times)
}

/// The outcome of a reduction to one number.
fn finish<T: Item>(
    task: &dyn Task<T>,
    done: Done,
    facts: Option<&Facts>,
) -> Result<Outcome, Failure> {
    let Done { answer, n, depth, times, pieces } = done;
    let Settled { answer, wrapped, verdict } =
        settled(task, answer, depth, facts).map_err(failed)?;
    let verdicts = verdict.into_iter().collect();
    Ok(Outcome {
        answers: vec![answer],
        of_nothing: None,
        parts: None,
        n,
        wrapped,
        verdicts,
        times,
        pieces,
    })
}

/// An answer in the form that the operation asks for, and what there is to say about it.
pub(crate) struct Settled {
    pub(crate) answer: Answer,
    pub(crate) wrapped: Option<bool>,
    pub(crate) verdict: Option<Verdict>,
}

/// Compares an answer, and gives it the form that the operation asks for. A checked sum that the
/// type of the elements does not hold is an error.
pub(crate) fn settled<T: Item>(
    task: &dyn Task<T>,
    mut answer: Answer,
    depth: u64,
    facts: Option<&Facts>,
) -> anyhow::Result<Settled> {
    let verdict = facts
        .filter(|facts| facts.is_verified())
        .map(|facts| facts.verdict(&answer, depth, task.setting()));
    let mut wrapped = facts.and_then(Facts::wrapped);
    if wrapped.is_none() && may_wrap(task.operation(), task.dtype()) {
        wrapped = Some(false);
    }
    if let Answer::One(Value::Int(exact)) = &answer {
        let own = cut(exact, task.dtype());
        match task.operation() {
            Operation::CheckedSum if own != *exact => {
                bail!("the sum is {exact}, which no {} holds", task.dtype());
            }
            Operation::WrappingSum => {
                wrapped = Some(own != *exact);
                answer = Answer::One(Value::Int(own));
            }
            _ => {}
        }
    }
    Ok(Settled { answer, wrapped, verdict })
}
