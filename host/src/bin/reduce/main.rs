//! The command-line tool `reduce`: one rung of the ladder over one input, checked and timed; or
//! many of them.

mod args;
mod explain;
mod ladder;
mod measure;
mod options;
mod pictures;
mod profile;
mod rows;
mod sweep;
mod tune;
mod tuned;

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::CommandFactory as _;
use warpfold_lab::{
    cli::{Failure, Finished, Progress, describe_run, exit, note, parse, refused, written},
    element::{ElementType, Values},
    experiment::Runner,
    input::{Fill, InputFile},
    launch::{Problem, check, plan},
    op::Op,
    reference::{Reference, wraps},
    report::{Report, write_list},
};

use crate::{
    args::{Args, Command, Job, Source, Subcommands, USAGE},
    options::no_plan,
    tuned::Tuned,
};

fn main() -> ExitCode {
    if env::args_os().len() <= 1 {
        // A closed stderr is no reason to panic.
        let _ = io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    }
    exit(parse().and_then(Args::resolve).and_then(|command| match command {
        Command::Subcommand(subcommand) => run(*subcommand),
        Command::List => written(write_list(&mut io::stdout().lock())),
        Command::Reduce(job) => reduce(*job),
    }))
}

fn run(subcommand: Subcommands) -> Result<(), Failure> {
    match subcommand {
        Subcommands::Ladder(args) => ladder::ladder(args),
        Subcommands::Sweep(args) => sweep::sweep(args),
        Subcommands::Tune(args) => tune::tune(args),
        Subcommands::Quiz(args) => ladder::quiz_command(args),
        Subcommands::Profile(args) => profile::profile(&args),
        Subcommands::Compare(args) => profile::compare(&args),
        Subcommands::Explain(args) => explain::explain(&args),
        Subcommands::Rows(args) => rows::rows(args),
        Subcommands::Generate(args) => args.run(Args::command()),
    }
}

/// The origin of the elements, before any memory is taken for them.
enum Pending {
    Fill(Fill, u64),
    File(InputFile),
}

fn reduce(job: Job) -> Result<(), Failure> {
    let (element, n, pending, input) = match &job.source {
        &Source::Fill { n, fill, seed } => (
            job.element.unwrap_or(ElementType::I32),
            n,
            Pending::Fill(fill, seed),
            fill.describe(seed),
        ),
        Source::File { path, n } => {
            let file = InputFile::open(path.as_os_str(), job.element).map_err(refused)?;
            if let Some(n) = n.filter(|&n| n != file.n()) {
                let (path, holds) = (path.display(), file.n());
                return Err(refused(anyhow!(
                    "--n {n}: {path} holds {holds} {} elements",
                    file.element()
                )));
            }
            (file.element(), file.n(), Pending::File(file), path.display().to_string())
        }
    };
    let problem = Problem { variant: job.variant, op: job.op, element, n };
    check(&problem, &job.request).map_err(refused)?;

    let library = job.ptx.open()?;
    let (device, watch) = job.check.open(job.run.device())?;
    let gpu = job.gpu.on(device.info())?;
    // If the device cannot run the plan, that is said here, before any work.
    let mut runner = Runner::new(&device, &library).planning_for(gpu);
    let tuned = Tuned::load(job.no_tuned);
    let tuned = tuned.find(device.info(), &problem, &job.request, |request| {
        runner.limits(&problem, request).ok()
    });
    let request = tuned.map_or(job.request, |(_, request)| request);
    let limits = runner.limits(&problem, &request).map_err(|error| job.ptx.not_run(error))?;
    let plan = plan(&problem, &request, &limits).map_err(no_plan)?;
    runner.prepare(&plan).map_err(|error| job.ptx.not_run(error))?;

    let progress = Progress::new();
    progress.say("preparing the input");
    let values: Values = match pending {
        Pending::Fill(fill, seed) => fill.values(element, job.op, n, seed),
        Pending::File(file) => file.read(),
    }
    .map_err(refused)?;

    let runs = job.run.runs(device.info());
    let reduced = runner
        .reduce(&plan, &values, runs, |run| progress.say(describe_run(run, runs, device.info())));
    let finished = Finished::new(&plan.kernel, &device, watch);
    let outcome = match reduced {
        Ok(outcome) => outcome,
        Err(error) => {
            drop(progress);
            return Err(finished.failure(job.ptx.not_run(error)));
        }
    };
    progress.say("checking the result on the CPU");
    let reference = Reference::for_plan(&values, &plan);
    let wrapped = wraps(&values, job.op);
    drop(progress);

    let mut report = Report::new(device.info(), &plan, input, &outcome, reference);
    report.planned_for = gpu;
    report.tuned = tuned.map(|(entry, _)| entry);
    report.wrapped = wrapped;
    if wrapped {
        note(format_args!(
            "the exact {} does not fit in {element}, so the result wrapped: it is exact modulo 2^{}",
            if job.op == Op::Sum { "sum" } else { "product" },
            8 * element.size()
        ));
    }
    finished.write(&report, outcome.times.len(), runs.timed)
}
