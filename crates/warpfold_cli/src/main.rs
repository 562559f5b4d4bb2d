//! The command `warpfold`: arrays in files, reduced on a GPU or on the simulator, to one number or
//! to one for each row or segment.

mod answer;
mod args;
mod axes;
mod bincount;
mod condition;
mod device;
mod doctor;
mod done;
mod elements;
mod keyed;
mod meaning;
mod operation;
mod parts;
mod pieces;
mod reference;
mod report;
mod run;
mod segments;
mod task;
mod wrap;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::anyhow;
use warpfold_tools::{
    arrays::Dtype,
    terminal::{Failure, Progress, exit, failed, interrupted, refused},
};

use crate::{
    args::{Call, EXAMPLES, ReduceArgs, command, parse},
    operation::Operation,
    parts::Parts,
    report::Report,
    run::Job,
    task::AnyTask,
};

fn main() -> ExitCode {
    exit(parse().and_then(|call| match call {
        Call::Reduce(operation, args) => reduce(operation, &args),
        Call::BinCount(args) => bincount::run(&args),
        Call::Devices(args) => doctor::devices(args.json),
        Call::Doctor(_) => doctor::doctor(),
        Call::Generate(args) => args.run(command()),
        Call::Nothing => {
            let _ = writeln!(
                io::stderr(),
                "{EXAMPLES}\n\n'warpfold --help' lists all operations, and 'warpfold doctor' says what this machine can run."
            );
            Err(refused(anyhow!("an operation is missing, such as sum")))
        }
    }))
}

/// Finds the task of an operation over a type, if there is one. The number is that of `--ddof` or
/// `-k`.
type FindTask = fn(Operation, Dtype, u64) -> Option<Box<dyn AnyTask>>;

fn reduce(operation: Operation, args: &ReduceArgs) -> Result<(), Failure> {
    condition::check(operation, args)?;
    parts::check(operation, args)?;
    let operation = args.wanted(operation)?;
    let (first, second) =
        args.files.split_at(if operation.is_pair() { 1 } else { args.files.len() });
    let mut arrays = elements::open(&args.files, args.dtype)?;
    let inputs: Vec<_> = arrays.iter().map(|array| array.name().to_owned()).collect();
    let dtype = arrays[0].dtype();
    let task = match &args.condition {
        Some(condition) => task::condition_task(operation, dtype, condition)?,
        None => find(operation, dtype, args, &inputs[0])?,
    };
    // The elements of a pair come from two arrays, and those of other operations from one.
    let operands: Vec<_> = arrays.iter().take(if operation.is_pair() { 2 } else { 1 }).collect();
    let parts = Parts::open(args, &operands)?;
    let second = (!second.is_empty()).then(|| arrays.split_off(first.len()).remove(0));
    let devices = args.device.device.open()?;
    let progress = Progress::new();
    let outcome = task.run(Job {
        first: arrays,
        second,
        parts,
        devices: &devices,
        piece: args.piece,
        repeat: args.repeat.unwrap_or(0),
        verify: args.verify,
        progress: &progress,
    });
    drop(progress);
    let outcome = outcome?;
    let report = Report {
        operation,
        inputs: &inputs,
        dtype,
        devices: &devices,
        outcome: &outcome,
        condition: args.condition.as_ref(),
    };
    if let Some(path) = &args.output {
        report.save(path)?;
    }
    report.print(args.json)?;
    report.notes(args.verbose);
    let wrong = outcome.verdicts.iter().position(|verdict| !verdict.agrees);
    if let Some(k) = wrong {
        let (answer, verdict) = (&outcome.answers[k], &outcome.verdicts[k]);
        let number = if outcome.parts.is_some() { format!(" {k}") } else { String::new() };
        return Err(failed(anyhow!(
            "the result{number} is {answer}, and the CPU's is {}{}",
            verdict.reference,
            verdict.bound.map_or(String::new(), |bound| format!(", within {bound:.3e}"))
        )));
    }
    if interrupted() && outcome.times.len() < args.repeat.unwrap_or(0) as usize {
        return Err(Failure::Interrupted(anyhow!("{} runs were measured", outcome.times.len())));
    }
    Ok(())
}

/// The task of an operation over a type, which must be one that the operation has.
fn find(
    operation: Operation,
    dtype: Dtype,
    args: &ReduceArgs,
    input: &str,
) -> Result<Box<dyn AnyTask>, Failure> {
    let (find, what) = match args.bins {
        None => (task::task as FindTask, ""),
        Some(_) => (task::bin_task as FindTask, "bins of "),
    };
    find(operation, dtype, args.k.unwrap_or(args.ddof)).ok_or_else(|| {
        let types: Vec<_> = Dtype::ALL
            .into_iter()
            .filter(|&dtype| find(operation, dtype, 0).is_some())
            .map(Dtype::name)
            .collect();
        refused(anyhow!(
            "{}: there is no {operation} of {what}{dtype} elements: it has {}",
            input,
            types.join(", ")
        ))
    })
}
