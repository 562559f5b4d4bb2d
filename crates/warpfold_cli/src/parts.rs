//! Reductions of the parts of an array: one result for each row along axes, or for each segment.

use std::ffi::OsString;

use anyhow::anyhow;
use warpfold::{Error, reducer::Item};
use warpfold_tools::{
    arrays::Array,
    terminal::{Failure, failed, refused},
};

use crate::{
    answer::Answer,
    args::ReduceArgs,
    axes::Axes,
    done::{failure, on},
    elements::Elements,
    operation::Operation,
    reference::{Facts, Number},
    run::{Job, Outcome, Settled, settled, timed},
    segments::Segments,
    task::Task,
};

/// The parts of an array, each of which has one result.
#[derive(Debug)]
pub(crate) enum Parts {
    Rows(Axes),
    Segments(Segments),
}

/// What a device needs to reduce the parts of an array: a loaded kernel, the elements and an
/// output.
pub(crate) trait PartBench {
    /// Launches the reduction, and does not wait.
    fn launch(&mut self) -> Result<(), Error>;
    /// The answers of the last launch.
    fn answers(&mut self) -> Result<Vec<Answer>, Error>;
    /// The number of roundings between an element of a part of this length and its result.
    fn depth(&self, length: u64) -> Result<u64, Error>;
}

impl Parts {
    /// The parts that the arguments ask for. `None` if the array is reduced to one number.
    pub(crate) fn open(args: &ReduceArgs, array: &Array) -> Result<Option<Self>, Failure> {
        Ok(match (args.axis.as_slice(), &args.segments) {
            ([], None) => None,
            ([], Some(offsets)) => Some(Self::Segments(Segments::open(offsets)?)),
            (axis, _) => Some(Self::Rows(Axes::new(array, axis, args.keepdims)?)),
        })
    }

    /// The option that asks for these parts.
    fn option(&self) -> &'static str {
        match self {
            Self::Rows(_) => "--axis",
            Self::Segments(_) => "--segments",
        }
    }

    /// The shape of the results.
    pub(crate) fn shape(&self) -> Vec<u64> {
        match self {
            Self::Rows(axes) => axes.results.clone(),
            Self::Segments(segments) => vec![segments.count()],
        }
    }

    /// The parts as a sentence has them.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Rows(axes) => format!("along {}", axes.described()),
            Self::Segments(segments) => {
                format!("in {} segment(s) (offsets: {})", segments.count(), segments.name)
            }
        }
    }

    /// The number of elements of a part.
    fn length(&self, part: usize) -> u64 {
        match self {
            Self::Rows(axes) => axes.length(),
            Self::Segments(segments) => segments.range(part).len() as u64,
        }
    }

    /// Gives the elements of a part to the CPU.
    fn feed<T: Number>(&self, part: usize, elements: &[T], facts: &mut Facts) {
        match self {
            Self::Rows(axes) => axes.feed(part, elements, facts),
            Self::Segments(segments) => facts.feed(&elements[segments.range(part)], None),
        }
    }
}

/// Refuses what does not go together with parts.
pub(crate) fn check(operation: Operation, args: &ReduceArgs) -> Result<(), Failure> {
    if args.keepdims && args.axis.is_empty() {
        return Err(refused(anyhow!("--keepdims: it keeps the axes of --axis, which is missing")));
    }
    let (option, part, how) = match (args.axis.is_empty(), &args.segments) {
        (true, None) => return Ok(()),
        (false, None) => ("--axis", "row", "along axes"),
        (true, Some(_)) => ("--segments", "segment", "in segments"),
        (false, Some(_)) => {
            return Err(refused(anyhow!(
                "--segments: an array is reduced along axes or in segments, so leave out --axis"
            )));
        }
    };
    let refuse = |why: String| Err(refused(anyhow!("{option}: {why}")));
    if operation.is_pair() {
        return refuse(format!("{operation} takes two arrays, and only one is reduced {how}"));
    }
    if !operation.has_parts() {
        return refuse(format!(
            "{operation} reduces whole arrays only, and compensated has {part}s"
        ));
    }
    if let [first, second, ..] = args.files.as_slice() {
        return refuse(format!(
            "one array is reduced {how}, not {} and {} together",
            first.display(),
            second.display()
        ));
    }
    let is_stdin = |file: &OsString| file == "-";
    if args.segments.as_ref().is_some_and(is_stdin) && args.files.iter().any(is_stdin) {
        return refuse("'-' is the array already: the standard input can be read once".into());
    }
    if let Some(bytes) = args.piece {
        return refuse(format!(
            "an array that is reduced {how} is loaded as a whole, without --piece {bytes}"
        ));
    }
    if operation == Operation::MinMax && args.output.is_some() {
        return refuse(format!(
            "--output saves one number for each {part}, so save the results of min and of max"
        ));
    }
    Ok(())
}

/// Reduces each part of the only array of a job, which is loaded as a whole, on one device.
pub(crate) fn run<T: Item + Number>(
    task: &dyn Task<T>,
    parts: Parts,
    job: Job<'_>,
) -> Result<Outcome, Failure> {
    let option = parts.option();
    let [device] = job.devices else {
        return Err(refused(anyhow!(
            "{option}: one device reduces the array, and --device named {}",
            job.devices.len()
        )));
    };
    let name = job.first[0].name().to_owned();
    // Axes have strides for the order in which the elements lie. Segments need C order.
    let is_c_order = matches!(parts, Parts::Segments(_));
    let mut input = Elements::<T>::new(job.first, is_c_order);
    let mut held = Vec::new();
    if input.mapped().is_none() {
        job.progress.say("reading");
        let (loaded, are_all) = input.load(usize::MAX)?;
        if !are_all {
            return Err(refused(anyhow!(
                "{name}: the array does not fit in memory, and {option} needs all of it"
            )));
        }
        held = loaded;
    }
    let elements = input.mapped().unwrap_or(&held);

    job.progress.say(on(device));
    let mut bench = task.parts(device, elements, &parts).map_err(failure)?;
    bench.launch().map_err(failure)?;
    let answers = bench.answers().map_err(failure)?;
    let mut times = Vec::new();
    if job.repeat > 0 && !answers.is_empty() && !elements.is_empty() {
        job.progress.say("measuring");
        times = timed(device, job.repeat, || bench.launch())?;
    }

    let mut settled_answers = Vec::with_capacity(answers.len());
    let (mut wrapped_any, mut verdicts) = (None, Vec::new());
    if job.verify {
        job.progress.say("computing the same on the CPU");
    }
    for (part, answer) in answers.into_iter().enumerate() {
        let length = parts.length(part);
        let mut facts = Facts::wanted(task.operation(), task.dtype(), Some(length), job.verify);
        let mut depth = 0;
        if let Some(facts) = &mut facts {
            parts.feed(part, elements, facts);
            depth = bench.depth(length).map_err(failure)?;
        }
        let Settled { answer, wrapped, verdict } = settled(task, answer, depth, facts.as_ref())
            .map_err(|error| failed(anyhow!("result {part}: {error}")))?;
        settled_answers.push(answer);
        verdicts.extend(verdict);
        if let Some(wrapped) = wrapped {
            wrapped_any = Some(wrapped || wrapped_any == Some(true));
        }
    }
    drop(bench);
    Ok(Outcome {
        answers: settled_answers,
        of_nothing: task.answer(None, 0).ok(),
        parts: Some(parts),
        n: elements.len() as u64,
        wrapped: wrapped_any,
        verdicts,
        times,
        pieces: 1,
    })
}
