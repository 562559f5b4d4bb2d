//! `reduce tune`: finds the shape that suits this GPU, and keeps it.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use simt::occupancy::Gpu;
use warpfold_lab::{
    cli::{Failure, OutputArgs, Progress, failed, note, number, open_device, refused},
    device::{Device, DeviceChoice, DeviceKind},
    element::Values,
    experiment::{RunError, Runner, Runs, Times, gb_per_s},
    ladder::{LadderError, References, Refusal, Work},
    launch::{Plan, Problem, Request},
    output::{Cell, Column, Document, Table},
    profile::describe_gpu,
    reference::WrongResult,
    tune::{Cache, Candidate, Entry, Round, Search, Trial, candidates, search},
    variant::Variant,
};

use crate::{measure::MeasureArgs, options::GpuArgs};

/// The runs of each shape in the first round, where every shape is tried.
const QUICK: Runs = Runs { warm_up: 1, timed: 5 };

/// The arguments of `reduce tune`.
#[derive(Args)]
pub(crate) struct TuneArgs {
    /// Number of elements to tune with, such as 16777216 or 2^24
    #[arg(
        long,
        value_name = "N",
        default_value = "2^24",
        allow_hyphen_values = true,
        value_parser = number("--n", "16777216 or 2^24")
    )]
    n: u64,

    #[command(flatten)]
    measure: MeasureArgs,

    /// Tune on the simulator nevertheless, to try the command out; the simulator's times say
    /// nothing about a GPU
    #[arg(long)]
    even_simulated: bool,

    #[command(flatten)]
    gpu: GpuArgs,

    /// Delete the saved launch shapes of all GPUs, and exit
    #[arg(long)]
    clear: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `reduce tune`.
pub(crate) fn tune(args: TuneArgs) -> Result<(), Failure> {
    let cache = Cache::of_user().map_err(failed)?;
    if args.clear {
        let path = cache.path();
        let there = cache.clear().map_err(failed)?;
        let path = path.display();
        if there {
            note(format_args!("the file {path} is removed"));
        } else {
            note(format_args!("there is no file {path}, so nothing is removed"));
        }
        return Ok(());
    }
    let TuneArgs { n, measure, even_simulated, gpu, output, .. } = args;
    let device = open(&measure, even_simulated)?;
    let library = measure.ptx.open()?;
    let failure = |error: RunError| measure.ptx.not_run(error);
    let (op, element) = (measure.op(), measure.element());

    let gpu = gpu.on(device.info())?;
    let mut runner = Runner::new(&device, &library).planning_for(gpu);
    let problem = |&variant: &Variant| Problem { variant, op, element, n };
    let mut rungs = Vec::new();
    let mut notes = Vec::new();
    let mut first_refusal = None;
    for problem in measure.variants().iter().map(problem) {
        if n == 0 {
            return Err(measure.failure(LadderError::Nothing));
        }
        let refusal = match runner.limits(&problem, &Request::default()) {
            Ok(limits) => {
                match candidates(&problem, &limits, |request| runner.limits(&problem, request).ok())
                {
                    Ok(candidates) => {
                        rungs.push((problem, candidates));
                        continue;
                    }
                    Err(error) => Refusal::Plan(error),
                }
            }
            Err(error) => Refusal::of(error).map_err(failure)?,
        };
        notes.push(format!("Variant {} is refused: {refusal}.", problem.variant));
        first_refusal.get_or_insert(refusal);
    }
    if let Some(refusal) = first_refusal.filter(|_| rungs.is_empty()) {
        return Err(measure.failure(LadderError::Refused(refusal)));
    }

    let progress = Progress::of(rungs.iter().map(|(_, candidates)| candidates.len() as u64).sum());
    progress.say("preparing the input");
    let values = measure.work(n).values().map_err(refused)?;
    let mut trials = Trials {
        device: &device,
        runner,
        values: &values,
        references: References::new(&values, op),
        runs: measure.runs(),
        refusal: None,
    };
    let (mut found, mut entries, mut last_refusal) = (Vec::new(), Vec::new(), None);
    for (problem, candidates) in &rungs {
        let search = search(candidates, |plan, round| {
            progress.say(format!(
                "{}, grid {}",
                plan.kernel,
                plan.stages.first().map_or(0, |stage| stage.shape.grid.x)
            ));
            let trial = trials.measure(plan, round);
            if round == Round::First {
                progress.advance();
            }
            trial
        });
        let search = search.map_err(|error| match error {
            TrialError::Run(error) => failure(error),
            TrialError::Wrong(error) => failed(error),
        })?;
        if let (Some(winner), Some(time)) = (search.winner(), search.time()) {
            let default = search.default_time().map(micros);
            entries.push(Entry::new(device.info(), problem, winner.choice, micros(time), default));
        }
        let interrupted = search.interrupted;
        if let Some(refusal) =
            trials.refusal.take().filter(|_| search.winner().is_none() && !interrupted)
        {
            notes.push(format!("Variant {} is refused: {refusal}.", problem.variant));
            last_refusal = Some(refusal);
        } else {
            found.push((problem.variant, search));
        }
        if interrupted {
            break;
        }
    }
    drop(progress);
    if let Some(refusal) = last_refusal.filter(|_| found.is_empty()) {
        return Err(measure.failure(LadderError::Refused(refusal)));
    }

    if !entries.is_empty() {
        cache.keep(&entries).map_err(failed)?;
        notes.push(format!(
            "The shapes are saved in {}. On this device, `reduce` and its commands ladder, sweep, profile and compare use them unless --block or --grid is given.",
            cache.path().display()
        ));
    }
    let (done, asked) = (entries.len(), rungs.len());
    let interrupted = device.is_interrupted() && found.iter().any(|(_, search)| search.interrupted);
    if interrupted {
        notes
            .insert(0, format!("The command was interrupted: {done} of {asked} rungs were tuned."));
    }
    output.write(Document { interrupted, ..document(&device, gpu, &measure, n, &found, notes) })?;
    if interrupted {
        return Err(Failure::Interrupted(anyhow!("{done} of {asked} rungs were tuned")));
    }
    Ok(())
}

fn open(measure: &MeasureArgs, even_simulated: bool) -> Result<Device, Failure> {
    const REASON: &str =
        "times on the simulator say nothing about a GPU, so there is nothing to tune there";
    if measure.device().device == DeviceChoice::Simulator && !even_simulated {
        return Err(refused(anyhow!("--device sim: {REASON}")));
    }
    let device = open_device(measure.device().device)?;
    if device.info().kind == DeviceKind::Simulator && !even_simulated {
        return Err(failed(anyhow!("there is no GPU, and {REASON}")));
    }
    Ok(device)
}

/// Measures candidates.
struct Trials<'a> {
    device: &'a Device,
    runner: Runner<'a>,
    values: &'a Values,
    references: References<'a>,
    runs: Runs,
    /// The reason why a shape was refused.
    refusal: Option<Refusal>,
}

enum TrialError {
    Run(RunError),
    Wrong(WrongResult),
}

impl Trials<'_> {
    fn measure(&mut self, plan: &Plan, round: Round) -> Result<Trial, TrialError> {
        if self.device.is_interrupted() {
            return Ok(Trial::Interrupted);
        }
        let runs = match (self.device.info().kind, round) {
            (DeviceKind::Simulator, _) => Runs::ONCE,
            (DeviceKind::Cuda, Round::First) => {
                Runs { timed: QUICK.timed.min(self.runs.timed), ..QUICK }
            }
            (DeviceKind::Cuda, Round::Second) => self.runs,
        };
        let outcome = match self.runner.reduce(plan, self.values, runs, |_| ()) {
            Err(RunError::Interrupted) => return Ok(Trial::Interrupted),
            // If the device does not take this shape, it cannot be the best one.
            Err(error) => {
                self.refusal = Some(Refusal::of(error).map_err(TrialError::Run)?);
                return Ok(Trial::Refused);
            }
            Ok(outcome) => outcome,
        };
        self.references.of(plan).check(&plan.kernel, outcome.result).map_err(TrialError::Wrong)?;
        Ok(Times::new(&outcome.times).map_or(Trial::Refused, |times| Trial::Took(times.median)))
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn document(
    device: &Device,
    gpu: Option<Gpu>,
    measure: &MeasureArgs,
    n: u64,
    found: &[(Variant, Search<'_>)],
    notes: Vec<String>,
) -> Document {
    let Work { op, element, fill, seed, .. } = measure.work(n);
    let bytes = n as f64 * f64::from(element.size());
    let columns = || {
        vec![
            Column::new("variant", "variant"),
            Column::new("block", "block"),
            Column::new("grid", "grid"),
            Column::new("blocks_per_multiprocessor", "blocks for each SM"),
            Column::new("elements_per_thread", "elements for each thread"),
            Column::new("time_us", "time").in_unit("us"),
            Column::new("gb_per_s", "bandwidth").in_unit("GB/s"),
        ]
    };
    let row = |variant: Variant, candidate: &Candidate, time: Option<Duration>| -> Vec<Cell> {
        let grid = candidate.plan.stages.first().map(|stage| u64::from(stage.shape.grid.x));
        let threads = grid.map(|grid| grid * u64::from(candidate.plan.block));
        vec![
            variant.facts().label.into(),
            u64::from(candidate.plan.block).into(),
            grid.into(),
            candidate.choice.blocks_per_multiprocessor.map(u64::from).into(),
            threads.map_or(Cell::Missing, |threads| Cell::number(n as f64 / threads as f64, 1)),
            time.map_or(Cell::Missing, |time| Cell::number(micros(time), 2)),
            time.map_or(Cell::Missing, |time| Cell::number(gb_per_s(bytes, time), 1)),
        ]
    };
    let mut best_columns = columns();
    best_columns.push(Column::new("default_time_us", "default").in_unit("us"));
    best_columns.push(Column::new("gain_percent", "gain").in_unit("%"));
    let mut best = Table::new("tuned", "The best shape of each rung", best_columns);
    let mut tried = Table::new("tried", "All shapes that were tried", columns());
    for (variant, search) in found {
        if let Some(winner) = search.winner() {
            let (time, default) = (search.time(), search.default_time());
            let mut row = row(*variant, winner, time);
            row.push(default.map_or(Cell::Missing, |default| Cell::number(micros(default), 2)));
            let gain = time
                .zip(default)
                .map(|(time, default)| 100.0 * (default.as_secs_f64() / time.as_secs_f64() - 1.0));
            row.push(gain.map_or(Cell::Missing, |gain| Cell::number(gain, 1)));
            best.push(row);
        }
        for &(candidate, time) in &search.tried {
            tried.push(row(*variant, candidate, time));
        }
    }
    best.notes = notes;
    if device.info().kind == DeviceKind::Simulator {
        best.notes.push("These are times of the simulation, and say nothing about a GPU.".into());
    }
    tried
        .notes
        .push("A shape without a time was not measured, or the device could not run it.".into());
    let environment = [
        ("device", Some(device.info().name.clone())),
        ("planned for", gpu.map(|gpu| describe_gpu(&gpu))),
        ("input", Some(format!("{n} {element} elements, {}", fill.describe(seed)))),
        ("operation", Some(op.to_string())),
    ];
    Document {
        title: format!("Tuned shapes: {op} of {n} {element} elements"),
        environment: environment
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect(),
        tables: vec![best, tried],
        ..Document::default()
    }
}
