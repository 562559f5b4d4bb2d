//! Times reductions of rows and along axes beside two peers: a twin, which only reads the same
//! bytes and writes as many results, and CUB's segmented reduction where there is one. All run in
//! one process, on one stream and over the same memory, and they take turns.
//!
//! Each measurement is a graph of some calls with the same input, so inputs that are smaller than
//! the L2 cache are read from it. Results are checked before the calls are timed.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use bench::{Times, gb_per_s, row_peers::RowPeers};
use clap::Parser;
use half::f16;
use serde_json::{Value as Json, json};
use warpfold::{ArgMax, LogSumExp, Max, MinMax, Moments, NanSum, Sum};
use warpfold_lab::{
    cli,
    device::DeviceChoice,
    output::{Cell, Column, Document, Format, Table, Width},
};

use cases::{Case, Element, Operation};
use data::Value;
use measure::{Input, Lab, Samples, Who};

mod cases;
mod data;
mod measure;

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
    let cases = match check(&args).and_then(|()| cases::choose(&args.cases, args.bytes)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    match run(&args, &cases) {
        Ok(()) => ExitCode::SUCCESS,
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
const TABLE_COLUMNS: usize = 130;

/// The samples of a case, one entry for each round.
type Rounds = Vec<Samples>;

fn run(args: &Args, cases: &[Case]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if args.list {
        return Ok(cases.iter().try_for_each(|case| writeln!(out, "{}", case.name))?);
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
        device,
    };
    let mut measured = Vec::new();
    for cases in cases.chunk_by(|one, other| one.element == other.element) {
        let rounds = match cases[0].element {
            Element::F32 => measure_all::<f32>(&lab, cases, args.rounds),
            Element::F16 => measure_all::<f16>(&lab, cases, args.rounds),
            Element::F64 => measure_all::<f64>(&lab, cases, args.rounds),
            Element::I32 => measure_all::<i32>(&lab, cases, args.rounds),
            Element::U8 => measure_all::<u8>(&lab, cases, args.rounds),
        };
        measured.extend(cases.iter().zip(rounds?));
    }
    let peers = lab.peers.as_ref().map(RowPeers::versions).transpose()?;
    let environment = vec![
        ("device".to_owned(), lab.device.info().name.clone()),
        ("peers".to_owned(), peers.unwrap_or_else(|| "none".to_owned())),
        ("samples".to_owned(), args.samples.to_string()),
        ("rounds".to_owned(), args.rounds.to_string()),
    ];
    if let Some(file) = &args.json {
        let rows: Vec<Json> =
            measured.iter().map(|(case, rounds)| to_json(case, rounds, lab.calls(case))).collect();
        let environment: serde_json::Map<String, Json> =
            environment.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let all = json!({ "environment": environment, "rows": rows });
        fs::write(file, serde_json::to_string_pretty(&all)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let document = Document {
        title: "Reductions of rows and along axes".to_owned(),
        environment,
        tables: vec![table(&measured)],
        ..Document::default()
    };
    Ok(document.write_within(Format::Table, Width::Terminal(TABLE_COLUMNS), &mut out)?)
}

/// Measures cases of one element type.
fn measure_all<T: Measured>(
    lab: &Lab,
    cases: &[Case],
    rounds: usize,
) -> anyhow::Result<Vec<Rounds>> {
    let input = Input::<T>::new(&lab.device, cases)?;
    let mut measured = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (case, measured) in cases.iter().zip(&mut measured) {
            measured.push(T::measure(lab, case, &input)?);
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
    ($($t:ty: $($op:ident)*;)*) => {$(
        impl Measured for $t {
            fn measure(lab: &Lab, case: &Case, input: &Input<Self>) -> anyhow::Result<Samples> {
                match case.op {
                    Operation::Sum => lab.measure(case, input, Sum),
                    Operation::Max => lab.measure(case, input, Max),
                    Operation::ArgMax => lab.measure(case, input, ArgMax),
                    Operation::MinMax => lab.measure(case, input, MinMax),
                    Operation::Moments => lab.measure(case, input, Moments),
                    $(Operation::$op => lab.measure(case, input, $op),)*
                    #[allow(unreachable_patterns, reason = "floats have all operations")]
                    op => bail!("there is no {} of {}", op.name(), case.element.name()),
                }
            }
        }
    )*};
}

measured! {
    f32: LogSumExp NanSum;
    f16: LogSumExp NanSum;
    f64: LogSumExp NanSum;
    i32:;
    u8:;
}

/// The times of a contender in all rounds; `None` if it did not take part.
fn times(rounds: &[Samples], who: Who) -> Option<Times> {
    let of_rounds = rounds.iter().flatten().filter(|(contender, _)| *contender == who);
    let all: Vec<Duration> = of_rounds.flat_map(|(_, samples)| samples).copied().collect();
    (!all.is_empty()).then(|| Times::of(all))
}

fn to_us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn table(measured: &[(&Case, Rounds)]) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("ours_us", "ours").in_unit("us"),
        Column::new("gb_per_s", "input").in_unit("GB/s"),
        Column::new("twin_us", "twin").in_unit("us"),
        Column::new("twin_per_ours", "twin/ours"),
        Column::new("cub_us", "cub").in_unit("us"),
        Column::new("cub_per_ours", "cub/ours"),
    ];
    let mut table = Table::new("rows", "Median times of one call", columns);
    let number = |value: Option<f64>, decimals| {
        value.map_or(Cell::Missing, |value| Cell::Number { value, decimals })
    };
    for (case, rounds) in measured {
        let [ours, twin, cub] = Who::ALL.map(|who| times(rounds, who).map(|times| times.median));
        let bandwidth = ours.map(|ours| gb_per_s(case.bytes(), ours));
        let ratio = |peer: Option<Duration>| Some(to_us(peer?) / to_us(ours?));
        table.push([
            Cell::Text(case.name.clone()),
            number(ours.map(to_us), 2),
            number(bandwidth, 0),
            number(twin.map(to_us), 2),
            number(ratio(twin), 3),
            number(cub.map(to_us), 2),
            number(ratio(cub), 3),
        ]);
    }
    table.notes.push(
        "The twin reads the same bytes, with the gaps if there are any, and writes as many bytes \
         of results. Ratios above 1 mean that ours is faster."
            .to_owned(),
    );
    table
}

fn to_json(case: &Case, rounds: &[Samples], calls: usize) -> Json {
    let mut contenders = serde_json::Map::new();
    for who in Who::ALL {
        let Some(times) = times(rounds, who) else { continue };
        let medians: Vec<f64> = rounds
            .iter()
            .flatten()
            .filter(|(contender, _)| *contender == who)
            .map(|(_, samples)| to_us(Times::of(samples.clone()).median))
            .collect();
        let entry = json!({
            "median_us": to_us(times.median),
            "min_us": to_us(times.min),
            "lower_quartile_us": to_us(times.lower_quartile),
            "upper_quartile_us": to_us(times.upper_quartile),
            "round_medians_us": medians,
        });
        contenders.insert(who.name().to_owned(), entry);
    }
    json!({
        "name": case.name,
        "op": case.op.name(),
        "type": case.element.name(),
        "shape": case.shape,
        "strides": case.strides(),
        "axes": case.axes,
        "bytes": case.bytes(),
        "calls": calls,
        "times": contenders,
    })
}
