//! Reductions of the parts of an array: one result for each row along axes, for each segment, or
//! for each run of equal keys or bin.

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
    keyed::{self, Keyed},
    operation::Operation,
    reference::{Facts, Number},
    run::{Job, Outcome, Settled, settled, timed},
    segments::Segments,
    task::{Operands, Task},
};

/// The parts of an array, each of which has one result.
#[derive(Debug)]
pub(crate) enum Parts {
    Rows(Axes),
    Segments(Segments),
    Keyed(Keyed),
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
    pub(crate) fn open(args: &ReduceArgs, arrays: &[&Array]) -> Result<Option<Self>, Failure> {
        Ok(match (args.axis.as_slice(), &args.segments, &args.by_key) {
            ([], None, None) => None,
            ([], Some(offsets), _) => Some(Self::Segments(Segments::open(offsets)?)),
            ([], None, Some(keys)) => Some(Self::Keyed(Keyed::open(keys, args.bins)?)),
            (axis, ..) => Some(Self::Rows(Axes::new(arrays, axis, args.keepdims)?)),
        })
    }

    /// The option that asks for these parts.
    fn option(&self) -> &'static str {
        match self {
            Self::Rows(_) => "--axis",
            Self::Segments(_) => "--segments",
            Self::Keyed(_) => "--by-key",
        }
    }

    /// The shape of the results. That of runs is known when the device has found them.
    pub(crate) fn shape(&self) -> Vec<u64> {
        match self {
            Self::Rows(axes) => axes.results.clone(),
            Self::Segments(segments) => vec![segments.count()],
            Self::Keyed(keyed) => vec![keyed.count() as u64],
        }
    }

    /// The parts as a sentence has them.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Rows(axes) => format!("along {}", axes.described()),
            Self::Segments(segments) => {
                format!("in {} segment(s) (offsets: {})", segments.count(), segments.name)
            }
            Self::Keyed(keyed) => keyed.described(),
        }
    }

    /// The number of elements of a part.
    fn length(&self, part: usize) -> u64 {
        match self {
            Self::Rows(axes) => axes.length(),
            Self::Segments(segments) => segments.range(part).len() as u64,
            Self::Keyed(keyed) => keyed.length(part),
        }
    }

    /// Gives the elements of a part to the CPU.
    fn feed<T: Number>(&self, part: usize, operands: Operands<'_, T>, facts: &mut Facts) {
        let elements = operands.first;
        match self {
            Self::Rows(axes) => axes.feed(part, operands, facts),
            Self::Segments(segments) => facts.feed(&elements[segments.range(part)], None),
            Self::Keyed(keyed) => facts.feed(&keyed.elements(part, elements), None),
        }
    }
}

/// Refuses what does not go together with parts.
pub(crate) fn check(operation: Operation, args: &ReduceArgs) -> Result<(), Failure> {
    if args.keepdims && args.axis.is_empty() {
        return Err(refused(anyhow!("--keepdims: it keeps the axes of --axis, which is missing")));
    }
    if args.bins.is_some() && args.by_key.is_none() {
        return Err(refused(anyhow!(
            "--bins: its numbers are the keys of --by-key, which is missing"
        )));
    }
    let (option, part, how) = match (args.axis.is_empty(), &args.segments, &args.by_key) {
        (true, None, None) => return Ok(()),
        (false, None, None) => ("--axis", "row", "along axes"),
        (true, Some(_), None) => ("--segments", "segment", "in segments"),
        (true, None, Some(_)) => ("--by-key", "key", "by key"),
        (false, Some(_), None) => {
            return Err(refused(anyhow!(
                "--segments: an array is reduced along axes or in segments, so leave out --axis"
            )));
        }
        (_, _, Some(_)) => {
            return Err(refused(anyhow!(
                "--by-key: an array is reduced along axes, in segments or by key, so leave out {}",
                if args.axis.is_empty() { "--segments" } else { "--axis" }
            )));
        }
    };
    let refuse = |why: String| Err(refused(anyhow!("{option}: {why}")));
    if operation.is_pair() && args.axis.is_empty() {
        return refuse(format!("{operation} takes two arrays, and only one is reduced {how}"));
    }
    if args.bins.is_some() && !operation.has_bins() {
        let able = Operation::ALL.into_iter().filter(|operation| operation.has_bins());
        let able: Vec<_> = able.map(Operation::name).collect();
        return refuse(format!(
            "{operation} reduces runs of keys, and no bins; these operations have bins: {}",
            able.join(", ")
        ));
    }
    if let ([first, second, ..], false) = (args.files.as_slice(), operation.is_pair()) {
        return refuse(format!(
            "one array is reduced {how}, not {} and {} together",
            first.display(),
            second.display()
        ));
    }
    let is_stdin = |file: &OsString| file == "-";
    let other = args.segments.as_ref().or(args.by_key.as_ref());
    if other.is_some_and(is_stdin) && args.files.iter().any(is_stdin) {
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

/// All elements of arrays, where they lie in a file or in `held`.
fn whole<'a, T: Item>(
    input: &'a mut Elements<T>,
    held: &'a mut Vec<T>,
    (name, option): (&str, &str),
) -> Result<&'a [T], Failure> {
    if input.mapped().is_none() {
        let (loaded, are_all) = input.load(usize::MAX)?;
        if !are_all {
            return Err(refused(anyhow!(
                "{name}: the array does not fit in memory, and {option} needs all of it"
            )));
        }
        *held = loaded;
    }
    Ok(input.mapped().unwrap_or(held))
}

/// Reduces each part of the array or of the pair of a job, which is loaded as a whole, on one
/// device.
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
    // Axes have strides for the order in which the elements lie. Segments and keys need C order.
    let is_c_order = !matches!(parts, Parts::Rows(_));
    job.progress.say("reading");
    let (mut input, mut held) = (Elements::<T>::new(job.first, is_c_order), Vec::new());
    let elements = whole(&mut input, &mut held, (&name, option))?;
    let second_name = job.second.as_ref().map(|second| second.name().to_owned());
    let mut second = job.second.map(|second| Elements::<T>::new(vec![second], is_c_order));
    let mut second_held = Vec::new();
    let second = second
        .as_mut()
        .zip(second_name.as_deref())
        .map(|(second, name)| whole(second, &mut second_held, (name, option)))
        .transpose()?;
    let operands = Operands { first: elements, second };
    let n = match &parts {
        Parts::Rows(axes) => axes.elements(),
        _ => elements.len() as u64,
    };
    if let Parts::Keyed(keyed) = &parts {
        keyed.check_len(&name, elements.len())?;
    }

    job.progress.say(on(device));
    let mut bench = task.parts(device, operands, &parts).map_err(failure)?;
    bench.launch().map_err(failure)?;
    let answers = bench.answers().map_err(failure)?;
    let mut times = Vec::new();
    if job.repeat > 0 && !answers.is_empty() && n > 0 {
        job.progress.say("measuring");
        times = timed(device, job.repeat, || bench.launch())?;
    }

    let mut settled_answers = Vec::with_capacity(answers.len());
    let (mut wrapped_any, mut verdicts) = (None, Vec::new());
    if job.verify {
        job.progress.say("computing the same on the CPU");
        if let Parts::Keyed(keyed) = &parts
            && !keyed.is_right()
        {
            return Err(failed(anyhow!(
                "the keys and their numbers of elements are not the CPU's"
            )));
        }
    }
    for (part, mut answer) in answers.into_iter().enumerate() {
        let length = parts.length(part);
        if let (Parts::Keyed(keyed @ Keyed { bins: Some(_), .. }), Operation::Sum) =
            (&parts, task.operation())
        {
            answer = keyed::exact_sum(answer, &keyed.elements(part, elements), task.dtype());
        }
        let mut facts = Facts::wanted(
            (task.operation(), task.condition()),
            task.dtype(),
            Some(length),
            job.verify,
        );
        let mut depth = 0;
        if let Some(facts) = &mut facts {
            parts.feed(part, operands, facts);
            depth = bench.depth(length).map_err(failure)?;
        }
        let compared = match &parts {
            Parts::Keyed(keyed) if job.verify => keyed.within(part, &answer),
            _ => answer.clone(),
        };
        let Settled { answer: settled, wrapped, verdict } =
            settled(task, compared, depth, facts.as_ref())
                .map_err(|error| failed(anyhow!("result {part}: {error}")))?;
        // An index keeps its meaning.
        settled_answers.push(if let Answer::Indexed { .. } = answer { answer } else { settled });
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
        n,
        wrapped: wrapped_any,
        verdicts,
        times,
        pieces: 1,
    })
}
