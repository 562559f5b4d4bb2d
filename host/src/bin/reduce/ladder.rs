//! `reduce ladder`: all rungs in one table. `reduce quiz`: Udacity's question about bandwidth.

use anyhow::{Result, anyhow};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, Output, OutputArgs, Progress, failed, refused, whole},
    device::DeviceKind,
    element::ElementType,
    ladder::{Bench, Event, LadderError, climb, quiz},
    launch::Request,
    output::Format,
    ptx::PtxLibrary,
    reduce::ReduceError,
};

use crate::{
    measure::{Measure, MeasureArgs, Tuned, counter, describe, wrong},
    pictures,
};

/// The arguments of `reduce ladder`.
#[derive(Args)]
pub(crate) struct LadderArgs {
    /// Number of elements to generate, as in 4194304, 4_194_304 or 2^22
    #[arg(long, value_name = "N", default_value = "2^22", allow_hyphen_values = true)]
    n: String,

    #[command(flatten)]
    measure: MeasureArgs,

    /// Threads of a block, a power of two [default: what tuning found, or 256; 1024 for variant global]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    block: Option<String>,

    /// On a GPU, count the same launches on the simulator as well
    #[arg(long)]
    counters: bool,

    /// Show the lectures' own figures beside today's
    #[arg(long)]
    history: bool,

    /// Ignore what `reduce tune` found (or WARPFOLD_NO_TUNE)
    #[arg(long)]
    no_tuned: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// What it asks for.
struct Job {
    n: u64,
    measure: Measure,
    block: Option<u64>,
    output: Output,
}

impl LadderArgs {
    fn resolve(self) -> Result<Job> {
        Ok(Job {
            n: whole("--n", &self.n, "4194304 or 2^22")?,
            measure: self.measure.resolve()?,
            block: self.block.map(|text| whole("--block", &text, "256")).transpose()?,
            output: self.output.resolve()?,
        })
    }
}

/// `reduce ladder`.
pub(crate) fn ladder(args: LadderArgs) -> Result<(), Failure> {
    let (counters, history, no_tuned) = (args.counters, args.history, args.no_tuned);
    let Job { n, measure, block, output } = args.resolve().map_err(refused)?;
    let library = measure.library()?;
    let device = measure.open()?;
    let beside = (counters && device.info().kind == DeviceKind::Cuda).then(counter).transpose()?;
    let work = measure.work(n);
    let request = Request { block, ..Request::default() };
    let mut bench = Bench::new(&device, beside.as_ref(), &library);
    let contenders = Tuned::load(no_tuned).contenders(&mut bench, &work, &measure.variants, request);

    let progress = Progress::of(contenders.len() as u64);
    let on = &mut |event: Event<'_>| match describe(event) {
        Some(text) => progress.say(text),
        None => progress.advance(),
    };
    let climb = climb(&mut bench, work, &contenders, measure.runs, on).map_err(|error| measure.failure(error))?;
    drop(progress);

    let mut document = climb.document(history);
    if output.format == Format::Html {
        document.pictures =
            pictures::of_rungs(&library, climb.rungs.iter().map(|rung| rung.variant), measure.op, measure.element);
    }
    output.write(document)?;
    if let Some(measured) = climb.wrong() {
        return Err(wrong(measured));
    }
    if climb.is_cut_short() {
        return Err(Failure::Interrupted(anyhow!("{} of {} rungs were measured whole", climb.whole(), climb.asked)));
    }
    Ok(())
}

/// The arguments of `reduce quiz`.
#[derive(Args)]
pub(crate) struct QuizArgs {
    /// Number of elements
    #[arg(long, value_name = "N", default_value = "2^20", allow_hyphen_values = true)]
    n: String,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: String,

    #[command(flatten)]
    output: OutputArgs,
}

/// `reduce quiz`.
pub(crate) fn quiz_command(args: QuizArgs) -> Result<(), Failure> {
    let n = whole("--n", &args.n, "1048576 or 2^20").map_err(refused)?;
    let element: ElementType = args.element.parse().map_err(refused)?;
    let output = args.output.resolve().map_err(refused)?;
    let library = PtxLibrary::embedded().map_err(failed)?;
    let device = counter()?;
    let progress = Progress::new();
    progress.say("counting variants global and 3");
    let quiz = quiz(&device, &library, element, n).map_err(|error| match error {
        LadderError::Nothing | LadderError::Refused(_) | LadderError::Input(_) => refused(error),
        LadderError::Reduce(ReduceError::Interrupted) => Failure::Interrupted(anyhow!("not all was counted")),
        LadderError::Reduce(_) => failed(error),
    })?;
    drop(progress);
    output.write(quiz.document())
}
