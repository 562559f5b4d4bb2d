//! `reduce ladder`: all rungs in one table. `reduce quiz`: Udacity's question about bandwidth.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::anyhow;
use clap::Args;
use warpfold_lab::{
    cli::{Failure, OutputArgs, Progress, failed, number, refused, written},
    device::DeviceKind,
    element::ElementType,
    experiment::RunError,
    ladder::{Bench, Event, LadderError, climb, question, quiz},
    launch::Request,
    output::Format,
    ptx::PtxLibrary,
};

use crate::{
    measure::{MeasureArgs, check, counter, describe},
    options::{BlockArgs, GpuArgs, NoTunedArgs},
    pictures,
    tuned::Tuned,
};

/// The arguments of `reduce ladder`.
#[derive(Args)]
pub(crate) struct LadderArgs {
    /// Number of elements to generate, such as 4194304, 4_194_304 or 2^22
    #[arg(
        long,
        value_name = "N",
        default_value = "2^22",
        allow_hyphen_values = true,
        value_parser = number("--n", "4194304 or 2^22")
    )]
    n: u64,

    #[command(flatten)]
    measure: MeasureArgs,

    #[command(flatten)]
    block: BlockArgs,

    /// If the rungs run on a GPU, also count the same launches on the simulator
    #[arg(long)]
    counters: bool,

    /// Also show the figures that the lectures measured on older GPUs
    #[arg(long)]
    history: bool,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    no_tuned: NoTunedArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `reduce ladder`.
pub(crate) fn ladder(args: LadderArgs) -> Result<(), Failure> {
    let LadderArgs {
        n,
        measure,
        block: BlockArgs { block },
        counters,
        history,
        gpu,
        no_tuned,
        output,
    } = args;
    let library = measure.ptx.open()?;
    let device = measure.open()?;
    let beside = (counters && device.info().kind == DeviceKind::Cuda).then(counter).transpose()?;
    let work = measure.work(n);
    let request = Request { block, ..Request::default() };
    let mut bench =
        Bench::new(&device, beside.as_ref(), &library).planning_for(gpu.on(device.info())?);
    let contenders =
        Tuned::load(no_tuned).contenders(&mut bench, &work, &measure.variants(), request);

    let progress = Progress::of(contenders.len() as u64);
    let on = &mut |event: Event<'_>| match describe(event) {
        Some(text) => progress.say(text),
        None => progress.advance(),
    };
    let climb = climb(&mut bench, work, &contenders, measure.runs(), on)
        .map_err(|error| measure.failure(error))?;
    drop(progress);

    let mut document = climb.document(history);
    if output.format() == Format::Html {
        document.pictures = pictures::of_rungs(
            &library,
            climb.rungs.iter().map(|rung| rung.variant),
            measure.op(),
            measure.element(),
        );
    }
    output.write(document)?;
    check(climb.wrong())?;
    if climb.is_cut_short() {
        return Err(Failure::Interrupted(anyhow!(
            "{} of {} rungs were measured completely",
            climb.whole(),
            climb.asked
        )));
    }
    Ok(())
}

/// The arguments of `reduce quiz`.
#[derive(Args)]
pub(crate) struct QuizArgs {
    /// Number of elements
    #[arg(
        long,
        value_name = "N",
        default_value = "2^20",
        allow_hyphen_values = true,
        value_parser = number("--n", "1048576 or 2^20")
    )]
    n: u64,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    element: ElementType,

    /// Your answer, a whole number; on a terminal, you are asked for it
    #[arg(
        long,
        value_name = "ANSWER",
        allow_hyphen_values = true,
        value_parser = number("--answer", "10")
    )]
    answer: Option<u64>,

    /// Show the right answer and how it follows, without an answer of yours
    #[arg(long, conflicts_with = "answer")]
    reveal: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// The answer of the person at the terminal, or of `--answer`. `None` if there is neither: then the
/// question alone is asked.
fn asked(args: &QuizArgs) -> Result<Option<u64>, Failure> {
    if args.answer.is_some() {
        return Ok(args.answer);
    }
    let mut out = io::stdout().lock();
    written(writeln!(out, "{}\n", question(args.n, args.element)))?;
    if !(io::stdin().is_terminal() && out.is_terminal()) {
        written(writeln!(
            out,
            "Give your answer with --answer, such as --answer 10, or ask for the right one with --reveal."
        ))?;
        return Ok(None);
    }
    loop {
        written(write!(out, "Your answer: ").and_then(|()| out.flush()))?;
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map_err(failed)?;
        match line.trim().parse() {
            Ok(answer) => return Ok(Some(answer)),
            Err(_) if read == 0 => return Ok(None),
            Err(_) => written(writeln!(out, "The answer is a whole number, such as 10."))?,
        }
    }
}

/// Runs `reduce quiz`. Only a table asks first: a program that asks for another format wants the
/// numbers.
pub(crate) fn quiz_command(args: QuizArgs) -> Result<(), Failure> {
    if args.n == 0 {
        return Err(refused(LadderError::Nothing));
    }
    let asks = args.output.format() == Format::Table && !args.reveal;
    let answer = if asks { asked(&args)? } else { args.answer };
    if asks && answer.is_none() {
        return Ok(());
    }
    let QuizArgs { n, element, output, .. } = args;
    let library = PtxLibrary::embedded().map_err(failed)?;
    let device = counter()?;
    let progress = Progress::new();
    progress.say("counting variants global and 3");
    let quiz = quiz(&device, &library, element, n).map_err(|error| match error {
        LadderError::Nothing | LadderError::Refused(_) | LadderError::Input(_) => refused(error),
        LadderError::Run(RunError::Interrupted) => {
            Failure::Interrupted(anyhow!("the counting was not finished"))
        }
        LadderError::Run(_) => failed(error),
    })?;
    drop(progress);
    if let Some(answer) = answer.filter(|_| output.format() == Format::Table) {
        written(writeln!(io::stdout().lock(), "{}\n", quiz.judge(answer)))?;
    }
    output.write(quiz.document())
}
