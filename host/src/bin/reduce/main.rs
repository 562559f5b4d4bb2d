//! The command-line tool `reduce`: one rung of the ladder over one input, checked and timed; or many of them.

mod args;
mod explain;
mod ladder;
mod measure;
mod pictures;
mod profile;
mod sweep;
mod tune;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::{CommandFactory as _, Parser};
use warpfold_lab::{
    cli::{Failure, Findings, Progress, exit, failed, interruptible, open_device, refused, written},
    device::{Device, Instrument},
    element::{ElementType, Values},
    input::{InputFile, generate},
    launch::{Problem, check, plan},
    ptx::{self, PtxLibrary},
    reduce::{ReduceError, Runner, Runs},
    reference::Reference,
    report::{Report, write_list},
};

use crate::{
    args::{Args, Command, Job, Source, Subcommands},
    measure::Tuned,
};

fn main() -> ExitCode {
    let done = match Args::parse().resolve() {
        Ok(Command::Subcommand(subcommand)) => run(*subcommand),
        Ok(Command::List) => written(write_list(&mut io::stdout().lock())),
        Ok(Command::Reduce(job)) => reduce(&job),
        Err(error) => Err(refused(error)),
    };
    exit(done)
}

fn run(subcommand: Subcommands) -> Result<(), Failure> {
    match subcommand {
        Subcommands::Ladder(args) => ladder::ladder(args),
        Subcommands::Sweep(args) => sweep::sweep(args),
        Subcommands::Tune(args) => tune::tune(args),
        Subcommands::Quiz(args) => ladder::quiz_command(args),
        Subcommands::Profile(args) => profile::profile(args),
        Subcommands::Compare(args) => profile::compare(args),
        Subcommands::Explain(args) => explain::explain(&args),
        Subcommands::Generate(args) => args.run(Args::command()),
    }
}

/// The elements, as far as they are known before any memory is taken for them.
enum Pending {
    Seed(u64),
    File(InputFile),
}

fn reduce(job: &Job) -> Result<(), Failure> {
    let (element, n, pending, input) = match &job.source {
        Source::Seed { n, seed } => {
            (job.element.unwrap_or(ElementType::I32), *n, Pending::Seed(*seed), format!("seed {seed}"))
        }
        Source::File { path, n } => {
            let file = InputFile::open(path, job.element).map_err(refused)?;
            if let Some(n) = n.filter(|&n| n != file.n()) {
                let (path, holds) = (path.display(), file.n());
                return Err(refused(anyhow!("--n {n}: {path} holds {holds} {} elements", file.element())));
            }
            (file.element(), file.n(), Pending::File(file), path.display().to_string())
        }
    };
    let problem = Problem { variant: job.variant, op: job.op, element, n };
    check(&problem, &job.request).map_err(refused)?;

    let ptx_dir = ptx::folder(job.ptx_dir.as_deref());
    // A folder that was named is an input like others; the embedded kernels are not the user's.
    let no_ptx = |error| if ptx_dir.is_some() { refused(error) } else { failed(error) };
    let library = PtxLibrary::open(ptx_dir.as_deref()).map_err(no_ptx)?;
    let device =
        if job.check { interruptible(Device::simulator_with(Instrument::Check))? } else { open_device(job.device)? };
    // What the device cannot do it says before any work.
    let unusable = |error| match error {
        ReduceError::Ptx(error) => no_ptx(error),
        ReduceError::Plan(error) if !error.blames_device() => refused(error),
        ReduceError::Interrupted => Failure::Interrupted(error.into()),
        error => failed(error),
    };
    let mut runner = Runner::new(&device, &library);
    let tuned = Tuned::load(job.no_tuned);
    let tuned = tuned.find(device.info(), &problem, &job.request, |request| runner.limits(&problem, request).ok());
    let request = tuned.map_or(job.request, |(_, request)| request);
    let limits = runner.limits(&problem, &request).map_err(unusable)?;
    let plan = plan(&problem, &request, &limits).map_err(|error| unusable(error.into()))?;
    runner.prepare(&plan).map_err(unusable)?;

    let progress = Progress::new();
    progress.say("preparing the input");
    let values: Values = match pending {
        Pending::Seed(seed) => generate(element, job.op, n, seed),
        Pending::File(file) => file.read(),
    }
    .map_err(refused)?;

    let runs = Runs::suiting(device.info(), job.reps);
    let reduced = runner.reduce(&plan, &values, runs, |run| {
        progress.say(format!("run {} of {} on {}", run + 1, runs.warm_up + runs.timed, device.info().name));
    });
    let findings = job.check.then(|| Findings::new(device.take_observations()));
    let found = findings.as_ref().and_then(Findings::summary);
    let outcome = match reduced {
        Ok(outcome) => outcome,
        Err(error) => {
            drop(progress);
            if let Some((findings, found)) = findings.zip(found) {
                written(findings.write_alone(&plan.kernel, job.json, &mut io::stdout().lock()))?;
                return Err(failed(anyhow!("--check: {found} of {}", plan.kernel)));
            }
            return Err(unusable(error));
        }
    };
    progress.say("checking the result on the CPU");
    let reference = Reference::for_plan(&values, &plan);
    drop(progress);

    let mut report = Report::new(device.info(), &plan, input, &outcome, reference);
    report.tuned = tuned.map(|(entry, _)| entry);
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
    if !report.agrees() {
        let (result, value) = (report.result, reference.value());
        return Err(failed(anyhow!("wrong result: {} gave {result}, and the reference is {value}", plan.kernel)));
    }
    if let Some(found) = found {
        return Err(failed(anyhow!("--check: {found} of {}", plan.kernel)));
    }
    let (made, asked) = (outcome.times.len(), runs.timed as usize);
    // Without elements there is nothing to run.
    if made < asked && n > 0 {
        return Err(Failure::Interrupted(anyhow!("{made} of {asked} runs were finished")));
    }
    Ok(())
}
