//! The command-line tool `transpose`: one variant over one matrix, checked and timed; or all of them side by side.

mod args;
mod compare;
mod profile;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::anyhow;
use clap::{CommandFactory, Parser};
use warpfold_lab::{
    cli::{Failure, Findings, Progress, exit, failed, interruptible, open_device, refused, written},
    device::{Device, Instrument},
    ptx::{self, PtxError, PtxLibrary},
    reduce::Runs,
    transpose::{
        ElementType, Matrix, MatrixFile, Plan, Problem, Report, TransposeError, Transposer, check, plan, write_list,
    },
};

use crate::args::{Args, Command, Job, Lesson, Source};

fn main() -> ExitCode {
    let done = match Args::parse().resolve() {
        Ok(Command::Lesson(Lesson::Compare(args))) => compare::compare(args),
        Ok(Command::Lesson(Lesson::Profile(args))) => profile::profile(args),
        Ok(Command::Lesson(Lesson::Generate(args))) => args.run(Args::command()),
        Ok(Command::List) => written(write_list(&mut io::stdout().lock())),
        Ok(Command::Transpose(job)) => transpose(&job),
        Err(error) => Err(refused(error)),
    };
    exit(done)
}

/// The matrix, as far as it is known before any memory is taken for it.
enum Pending {
    Seed(u64),
    File(MatrixFile),
}

fn transpose(job: &Job) -> Result<(), Failure> {
    let (element, rows, cols, pending, input) = match &job.source {
        &Source::Seed { rows, cols, seed } => {
            let element = job.element.unwrap_or(ElementType::F32);
            (element, rows, cols, Pending::Seed(seed), format!("seed {seed}"))
        }
        Source::File { path, rows, cols } => {
            let file = MatrixFile::open(path, job.element).map_err(refused)?;
            for (flag, asked, found) in [("--rows", rows, file.rows()), ("--cols", cols, file.cols())] {
                if let Some(asked) = asked.filter(|&asked| asked != found) {
                    let (path, rows, cols) = (path.display(), file.rows(), file.cols());
                    return Err(refused(anyhow!("{flag} {asked}: {path} holds {rows} x {cols} elements")));
                }
            }
            let (element, rows, cols) = (file.element(), file.rows(), file.cols());
            (element, rows, cols, Pending::File(file), path.display().to_string())
        }
    };
    let problem = Problem { variant: job.variant, element, rows, cols };
    check(&problem, job.tile).map_err(refused)?;

    let library = open_library(job.ptx_dir.as_deref())?;
    let device =
        if job.check { interruptible(Device::simulator_with(Instrument::Check))? } else { open_device(job.device)? };
    let plan = plan(&problem, job.tile, device.free_memory().map_err(failed)?).map_err(refused)?;

    let progress = Progress::new();
    progress.say("preparing the input");
    let matrix = match pending {
        Pending::Seed(seed) => Matrix::generate(element, rows, cols, seed).map_err(refused)?,
        Pending::File(file) => file.read().map_err(refused)?,
    };
    let runs = Runs::suiting(device.info(), job.reps);
    let transposed = Transposer::new(&device, &library).transpose(&plan, &matrix, runs, |run| {
        progress.say(format!("run {} of {} on {}", run + 1, runs.warm_up + runs.timed, device.info().name));
    });
    let findings = job.check.then(|| Findings::new(device.take_observations()));
    let found = findings.as_ref().and_then(Findings::summary);
    let outcome = match transposed {
        Ok(outcome) => outcome,
        Err(error) => {
            drop(progress);
            if let Some((findings, found)) = findings.zip(found) {
                written(findings.write_alone(&plan.kernel, job.json, &mut io::stdout().lock()))?;
                return Err(failed(anyhow!("--check: {found} of {}", plan.kernel)));
            }
            return Err(not_run(error, job.ptx_dir.as_deref()));
        }
    };
    progress.say("checking the result on the CPU");
    let difference = matrix.difference(job.variant.facts().moves, &outcome.output);
    drop(progress);

    let report = Report::new(device.info(), &plan, static_shared_bytes(&library, &plan), input, &outcome, difference);
    let mut out = io::stdout().lock();
    written(if job.json {
        let mut json = report.to_json();
        if let Some(findings) = &findings {
            findings.add_to(&mut json);
        }
        writeln!(out, "{json}")
    } else {
        report.write_text(&mut out).and_then(|()| findings.map_or(Ok(()), |findings| findings.write_text(&mut out)))
    })?;
    if let Some(difference) = &report.difference {
        return Err(failed(anyhow!("wrong result of {}: {difference}", plan.kernel)));
    }
    found.map_or(Ok(()), |found| Err(failed(anyhow!("--check: {found} of {}", plan.kernel))))
}

/// A folder that was named is an input like others; the embedded kernels are not the user's.
fn no_ptx(error: PtxError, ptx_dir: Option<&Path>) -> Failure {
    if ptx::folder(ptx_dir).is_some() { refused(error) } else { failed(error) }
}

fn open_library(ptx_dir: Option<&Path>) -> Result<PtxLibrary, Failure> {
    PtxLibrary::open(ptx_dir).map_err(|error| no_ptx(error, ptx_dir))
}

fn not_run(error: TransposeError, ptx_dir: Option<&Path>) -> Failure {
    match error {
        TransposeError::Ptx(error) => no_ptx(error, ptx_dir),
        error => failed(error),
    }
}

/// Static shared memory of a block, in bytes, as the manifest has it.
fn static_shared_bytes(library: &PtxLibrary, plan: &Plan) -> u32 {
    let kernel = library.manifest().kernels.iter().find(|kernel| kernel.name == plan.kernel);
    kernel.map_or(0, |kernel| kernel.static_shared_bytes)
}
