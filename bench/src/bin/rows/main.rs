//! Times reductions of rows and along axes beside two peers: a twin, which only reads the same
//! bytes and writes as many results, and CUB's segmented reduction where there is one. All run in
//! one process, on one stream and over the same memory, and they take turns.
//!
//! Each measurement is a graph of some calls with the same input, so inputs that are smaller than
//! the L2 cache are read from it. Results are checked before the calls are timed. With `--place`
//! the program measures small and large arrays between a producer and a consumer instead.

use std::{
    cell::RefCell,
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, bail, ensure};
use bench::row_peers::RowPeers;
use clap::Parser;
use half::f16;
use serde_json::{Value as Json, json};
use warpfold::{
    ArgMax, ArgMin, LogSumExp, Max, Min, MinMax, Moments, NanSum, ReproducibleSum, Sum, SumSquares,
    TopK,
};
use warpfold_lab::{
    cli,
    device::DeviceChoice,
    output::{Document, Format, Width},
};

use cases::{Case, Element, Operation};
use data::Value;
use measure::{Input, Lab, Samples};
use place::{Place, PlaceCase, Placed};
use report::Rounds;

mod cases;
mod choice;
mod data;
mod measure;
mod place;
mod report;

/// Times reductions of rows and along axes beside their peers
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// The cases to measure: quick, full, or parts of the names of cases, such as `argmax,over 0`
    #[arg(long, default_value = "quick")]
    cases: String,

    /// Measure what reductions add between a producer and a consumer. All names but quick and full
    /// choose among the cases in place
    #[arg(long)]
    place: bool,

    /// Print the names of the cases and measure nothing
    #[arg(long)]
    list: bool,

    /// How many measurements are made of each contender in each round
    #[arg(long, default_value_t = 31)]
    samples: usize,

    /// How many times all cases are measured
    #[arg(long, default_value_t = 1)]
    rounds: usize,

    /// The library rows-peers.so that bench/peers/build.sh makes
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Scale all arrays down to about so many bytes, for tests
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let cases = match check(&args).and_then(|()| choose(&args)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    match run(&args, &cases) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check(args: &Args) -> anyhow::Result<()> {
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    ensure!(args.rounds > 0, "rounds is 0, and at least 1 is needed");
    Ok(())
}

/// The width of the table, in which no name of a case is broken.
const TABLE_COLUMNS: usize = 150;

/// What is measured.
enum Cases {
    /// Reductions alone.
    Alone(Vec<Case>),
    /// Reductions between a producer and a consumer.
    InPlace(Vec<PlaceCase>),
}

fn choose(args: &Args) -> anyhow::Result<Cases> {
    Ok(if args.place {
        Cases::InPlace(place::choose(&args.cases, args.bytes)?)
    } else {
        Cases::Alone(choice::choose(&args.cases, args.bytes)?)
    })
}

/// Measures and reports the cases, and returns whether all could be measured.
fn run(args: &Args, cases: &Cases) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    if args.list {
        let names: Vec<&str> = match cases {
            Cases::Alone(cases) => cases.iter().map(|case| case.name.as_str()).collect(),
            Cases::InPlace(cases) => cases.iter().map(|case| case.case.name.as_str()).collect(),
        };
        names.iter().try_for_each(|name| writeln!(out, "{name}"))?;
        return Ok(true);
    }
    cli::choose_driver();
    if let Some(folder) = warpfold_lab::ptx::folder(None) {
        // SAFETY: a user who names a folder of kernels is responsible for what they do.
        unsafe { warpfold::testing::use_kernels_of(&folder) };
    }
    let device = args.device.open()?;
    let lab = Lab {
        stream: device.stream()?,
        peers: args.peers.as_deref().map(RowPeers::open).transpose()?,
        samples: args.samples,
        start: Instant::now(),
        failures: RefCell::default(),
        device,
    };
    let (title, mut table, rows, are_all) = match cases {
        Cases::Alone(cases) => {
            let measured = measure_all(&lab, cases, args.rounds)?;
            let rows: Vec<Json> = measured
                .iter()
                .map(|(case, rounds)| report::to_json(case, rounds, lab.calls(case)))
                .collect();
            let are_all = rows.len() == cases.len();
            ("Reductions of rows and along axes", report::table(&measured), rows, are_all)
        }
        Cases::InPlace(cases) => {
            let measured = measure_in_place(&lab, cases)?;
            let rows: Vec<Json> =
                measured.iter().map(|(case, placed)| place::to_json(case, placed)).collect();
            let are_all = rows.len() == cases.len();
            ("What reductions of rows and along axes add", place::table(&measured), rows, are_all)
        }
    };
    table.notes.extend(lab.failures.take());
    let peers = lab.peers.as_ref().map(RowPeers::versions).transpose()?;
    let environment = vec![
        ("device".to_owned(), lab.device.info().name.clone()),
        ("peers".to_owned(), peers.unwrap_or_else(|| "none".to_owned())),
        ("samples".to_owned(), args.samples.to_string()),
        ("rounds".to_owned(), args.rounds.to_string()),
    ];
    if let Some(file) = &args.json {
        let environment: serde_json::Map<String, Json> =
            environment.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let all = json!({ "environment": environment, "rows": rows });
        fs::write(file, serde_json::to_string_pretty(&all)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let document = Document {
        title: title.to_owned(),
        environment,
        tables: vec![table],
        ..Document::default()
    };
    document.write_within(Format::Table, Width::Terminal(TABLE_COLUMNS), &mut out)?;
    Ok(are_all)
}

/// Measures all cases, those of one element type after those of another. A case that fails is left
/// out.
fn measure_all<'a>(
    lab: &Lab,
    cases: &'a [Case],
    rounds: usize,
) -> anyhow::Result<Vec<(&'a Case, Rounds)>> {
    let mut measured = Vec::new();
    for cases in cases.chunk_by(|one, other| one.element == other.element) {
        measured.extend(match cases[0].element {
            Element::F32 => measure_type::<f32>(lab, cases, rounds),
            Element::F16 => measure_type::<f16>(lab, cases, rounds),
            Element::F64 => measure_type::<f64>(lab, cases, rounds),
            Element::I32 => measure_type::<i32>(lab, cases, rounds),
            Element::U8 => measure_type::<u8>(lab, cases, rounds),
        }?);
    }
    Ok(measured)
}

/// Measures cases of one element type.
fn measure_type<'a, T: Measured>(
    lab: &Lab,
    cases: &'a [Case],
    rounds: usize,
) -> anyhow::Result<Vec<(&'a Case, Rounds)>> {
    let input = Input::<T>::new(&lab.device, cases.iter())?;
    let mut measured: Vec<_> = cases.iter().map(|case| (case, Vec::new())).collect();
    for _ in 0..rounds {
        for (case, rounds) in &mut measured {
            match T::measure(lab, case, &input) {
                Ok(samples) => rounds.push(samples),
                Err(error) => lab.failed(&case.name, &error),
            }
        }
    }
    measured.retain(|(_, rounds)| !rounds.is_empty());
    Ok(measured)
}

/// Measures all cases in place. A case that fails is left out.
fn measure_in_place<'a>(
    lab: &Lab,
    cases: &'a [PlaceCase],
) -> anyhow::Result<Vec<(&'a PlaceCase, Placed)>> {
    let place = Place::new(lab)?;
    let input = Input::<f32>::new(&lab.device, cases.iter().map(|case| &case.case))?;
    let mut measured = Vec::new();
    for case in cases {
        let placed = match case.case.op {
            Operation::Sum => place.measure(case, &input, Sum),
            Operation::ArgMax => place.measure(case, &input, ArgMax),
            Operation::Moments => place.measure(case, &input, Moments),
            op => bail!("{} is not measured in place", op.name()),
        };
        match placed {
            Ok(placed) => measured.push((case, placed)),
            Err(error) => lab.failed(&case.case.name, &error),
        }
    }
    Ok(measured)
}

/// An element type whose cases can be measured.
trait Measured: Value {
    fn measure(lab: &Lab, case: &Case, input: &Input<Self>) -> anyhow::Result<Samples>;
}

/// Implements [`Measured`] for types that have these operations besides those of all types.
macro_rules! measured {
    ($($t:ty: $($op:ident = $by:expr),*;)*) => {$(
        impl Measured for $t {
            fn measure(lab: &Lab, case: &Case, input: &Input<Self>) -> anyhow::Result<Samples> {
                match case.op {
                    Operation::Sum => lab.measure(case, input, Sum),
                    Operation::Min => lab.measure(case, input, Min),
                    Operation::Max => lab.measure(case, input, Max),
                    Operation::ArgMin => lab.measure(case, input, ArgMin),
                    Operation::ArgMax => lab.measure(case, input, ArgMax),
                    Operation::MinMax => lab.measure(case, input, MinMax),
                    Operation::Moments => lab.measure(case, input, Moments),
                    $(Operation::$op => lab.measure(case, input, $by),)*
                    #[allow(unreachable_patterns, reason = "f32 has all operations")]
                    op => bail!("there is no {} of {}", op.name(), case.element.name()),
                }
            }
        }
    )*};
}

measured! {
    f32: Exact = ReproducibleSum, LogSumExp = LogSumExp, NanSum = NanSum, SumSquares = SumSquares, Top1 = TopK::<1>,
        Top5 = TopK::<5>, Top8 = TopK::<8>;
    f16: LogSumExp = LogSumExp, NanSum = NanSum;
    f64: Exact = ReproducibleSum, LogSumExp = LogSumExp, NanSum = NanSum;
    i32:;
    u8:;
}
