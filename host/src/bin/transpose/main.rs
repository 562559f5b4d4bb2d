//! The command-line tool `transpose`: one variant over one matrix, checked and timed; or all of
//! them side by side.

mod args;
mod compare;
mod explain;
mod options;
mod profile;

use std::{io, process::ExitCode};

use anyhow::anyhow;
use clap::CommandFactory;
use warpfold_lab::{
    cli::{Failure, Finished, Progress, describe_run, exit, failed, parse, refused, written},
    experiment::Runner,
    ptx::PtxLibrary,
    transpose::{ElementType, Matrix, MatrixFile, Plan, Problem, Report, check, plan, write_list},
};

use crate::args::{Args, Command, Job, Lesson, Source};

fn main() -> ExitCode {
    exit(parse().and_then(Args::resolve).and_then(run))
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Lesson(Lesson::Compare(args)) => compare::compare(args),
        Command::Lesson(Lesson::Profile(args)) => profile::profile(&args),
        Command::Lesson(Lesson::Explain(args)) => explain::explain(&args),
        Command::Lesson(Lesson::Generate(args)) => args.run(Args::command()),
        Command::List => written(write_list(&mut io::stdout().lock())),
        Command::Transpose(job) => transpose(job),
    }
}

/// The origin of the matrix, before any memory is taken for it.
enum Pending {
    Seed(u64),
    File(MatrixFile),
}

fn transpose(job: Job) -> Result<(), Failure> {
    let (element, rows, cols, pending, input) = match &job.source {
        &Source::Seed { rows, cols, seed } => {
            let element = job.element.unwrap_or(ElementType::F32);
            (element, rows, cols, Pending::Seed(seed), format!("seed {seed}"))
        }
        Source::File { path, rows, cols } => {
            let file = MatrixFile::open(path, job.element).map_err(refused)?;
            for (flag, asked, found) in
                [("--rows", rows, file.rows()), ("--cols", cols, file.cols())]
            {
                if let Some(asked) = asked.filter(|&asked| asked != found) {
                    let (path, rows, cols) = (path.display(), file.rows(), file.cols());
                    return Err(refused(anyhow!(
                        "{flag} {asked}: {path} holds {rows} x {cols} elements"
                    )));
                }
            }
            let (element, rows, cols) = (file.element(), file.rows(), file.cols());
            (element, rows, cols, Pending::File(file), path.display().to_string())
        }
    };
    let problem = Problem { variant: job.variant, element, rows, cols };
    check(&problem, job.tile).map_err(refused)?;

    let library = job.ptx.open()?;
    let (device, watch) = job.check.open(job.run.device())?;
    let plan = plan(&problem, job.tile, device.free_memory().map_err(failed)?).map_err(refused)?;

    let progress = Progress::new();
    progress.say("preparing the input");
    let matrix = match pending {
        Pending::Seed(seed) => Matrix::generate(element, rows, cols, seed).map_err(refused)?,
        Pending::File(file) => file.read().map_err(refused)?,
    };
    let runs = job.run.runs(device.info());
    let transposed = Runner::new(&device, &library).transpose(&plan, &matrix, runs, |run| {
        progress.say(describe_run(run, runs, device.info()));
    });
    let finished = Finished::new(&plan.kernel, &device, watch);
    let outcome = match transposed {
        Ok(outcome) => outcome,
        Err(error) => {
            drop(progress);
            return Err(finished.failure(job.ptx.not_run(error)));
        }
    };
    progress.say("checking the result on the CPU");
    let difference = matrix.difference(job.variant.facts().moves, &outcome.result);
    drop(progress);

    let report = Report::new(
        device.info(),
        &plan,
        static_shared_bytes(&library, &plan),
        input,
        &outcome,
        difference,
    );
    finished.write(&report, outcome.times.len(), runs.timed)
}

/// The static shared memory of a block in bytes, from the manifest.
fn static_shared_bytes(library: &PtxLibrary, plan: &Plan) -> u32 {
    let kernel = library.manifest().kernels.iter().find(|kernel| kernel.name == plan.kernel);
    kernel.map_or(0, |kernel| kernel.static_shared_bytes)
}
