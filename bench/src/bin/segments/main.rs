//! Times sums of segments, whose boundaries are offsets or keys, beside two peers: a twin, which
//! only reads as many bytes and writes as many results, and CUB's segmented reduction or reduction
//! by key. Counts and sums of bins have CUB's histogram or a kernel with one atomic addition for
//! each value as their second peer, and other operations over segments have the twin alone. All run
//! in one process, on one stream and over the same memory, and they take turns.
//!
//! Each measurement is a graph of five calls with the same input. Results are checked before the
//! calls are timed.

mod bins;
mod cases;
mod keys;
mod measure;
mod operations;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use bench::{Times, gb_per_s, row_peers::RowPeers};
use clap::Parser;
use half::f16;
use serde_json::{Value as Json, json};
use warpfold::{SegmentOperation, Sum};
use warpfold_lab::{
    cli,
    device::DeviceChoice,
    output::{Cell, Column, Document, Format, Table, Width},
};

use crate::{
    cases::Lengths,
    measure::{Lab, Number, Row, Value, Way},
};

/// Times sums of segments beside their peers
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// How many elements an array has
    #[arg(long, default_value_t = 1 << 26)]
    n: usize,

    /// The cases to measure: quick, full, or a part of the names of cases, such as `f32 all of`
    #[arg(long, default_value = "full")]
    cases: String,

    /// How many measurements are made of each contender
    #[arg(long, default_value_t = 31)]
    samples: usize,

    /// The library rows-peers.so that bench/peers/build.sh makes
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The width of the table, in which no name of a case is broken.
const TABLE_COLUMNS: usize = 140;

fn main() -> ExitCode {
    let args = Args::parse();
    if let Err(why) = check(&args) {
        eprintln!("error: {why}");
        return ExitCode::from(2);
    }
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong with the arguments.
fn check(args: &Args) -> Result<(), String> {
    if args.samples == 0 || args.n == 0 {
        return Err("at least one sample and one element are needed".into());
    }
    if u32::try_from(args.n).is_err() {
        return Err(format!("--n {}: the offsets have 32 bits", args.n));
    }
    let chosen =
        [choose::<f32>(args), choose::<f64>(args), choose::<f16>(args), choose::<u8>(args)];
    let others = choose_bins(args).len() + choose_operations(args).len();
    if chosen.iter().all(Vec::is_empty) && others == 0 {
        return Err(format!("--cases {}: no case has this in its name", args.cases));
    }
    Ok(())
}

/// The cases of a type that are wanted.
fn choose<T: Value>(args: &Args) -> Vec<(Way, Lengths)> {
    let all = |way, lengths: &'static [Lengths]| lengths.iter().map(move |&lengths| (way, lengths));
    let mut cases: Vec<_> = all(Way::Offsets, T::LENGTHS)
        .chain(all(Way::WideOffsets, &Lengths::SOME))
        .chain(all(Way::Keys, T::RUNS))
        .collect();
    cases.retain(|&(way, lengths)| match args.cases.as_str() {
        "full" => true,
        "quick" => lengths.is_quick(T::NAME == "f32", way),
        part => way.name::<T>(lengths).contains(part),
    });
    cases
}

/// The cases of bins that are wanted.
fn choose_bins(args: &Args) -> Vec<bins::Case> {
    let mut cases = bins::cases();
    cases.retain(|&case| match args.cases.as_str() {
        "full" => true,
        "quick" => case.1 == 256,
        part => bins::name(case).contains(part),
    });
    cases
}

/// The cases of other operations that are wanted.
fn choose_operations(args: &Args) -> Vec<operations::Case> {
    let mut cases = operations::cases();
    cases.retain(|&case| match args.cases.as_str() {
        "full" => true,
        "quick" => matches!(case.1, Lengths::Equal(64)),
        part => operations::name(case).contains(part),
    });
    cases
}

/// Measures and reports the cases, and returns whether all could be measured.
fn run(args: &Args) -> anyhow::Result<bool> {
    cli::choose_driver();
    if let Some(folder) = warpfold_lab::ptx::folder(None) {
        // SAFETY: a user who names a folder of kernels is responsible for what they do.
        unsafe { warpfold::testing::use_kernels_of(&folder) };
    }
    let lab = Lab {
        device: args.device.open()?,
        peers: args.peers.as_deref().map(RowPeers::open).transpose()?,
        n: args.n,
        samples: args.samples,
    };
    let mut failures = Vec::new();
    let mut rows = measure::<f32>(&lab, args, &mut failures)?;
    rows.extend(measure::<f64>(&lab, args, &mut failures)?);
    rows.extend(measure::<f16>(&lab, args, &mut failures)?);
    rows.extend(measure::<u8>(&lab, args, &mut failures)?);
    let (operations, bins) = (choose_operations(args), choose_bins(args));
    if operations.len() + bins.len() > 0 {
        let values = lab.values::<f32>()?;
        for case in operations {
            keep(lab.of_operation(case, &values), &mut rows, &mut failures);
        }
        for case in bins {
            keep(lab.of_bins(case, &values), &mut rows, &mut failures);
        }
    }
    let versions = lab.peers.as_ref().map(RowPeers::versions).transpose()?;
    let environment = vec![
        ("device".to_owned(), lab.device.info().name.clone()),
        ("peers".to_owned(), versions.unwrap_or_else(|| "none".into())),
        ("elements".to_owned(), args.n.to_string()),
        ("samples".to_owned(), args.samples.to_string()),
    ];
    if let Some(file) = &args.json {
        let environment: serde_json::Map<_, _> =
            environment.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let rows: Vec<_> = rows.iter().map(|row| to_json(row, args.n)).collect();
        let all = json!({ "environment": environment, "rows": rows });
        fs::write(file, serde_json::to_string_pretty(&all)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut table = table(&rows);
    table.notes.extend_from_slice(&failures);
    let document = Document {
        title: "Sums of segments, by key and into bins".to_owned(),
        environment,
        tables: vec![table],
        ..Document::default()
    };
    let mut out = io::stdout().lock();
    document.write_within(Format::Table, Width::Terminal(TABLE_COLUMNS), &mut out)?;
    out.flush()?;
    Ok(failures.is_empty())
}

/// Keeps what was measured of a case. If it failed, one line says so, and the other cases go on.
fn keep(measured: anyhow::Result<Row>, rows: &mut Vec<Row>, failures: &mut Vec<String>) {
    match measured {
        Ok(row) => rows.push(row),
        Err(error) => {
            eprintln!("{error:#}");
            failures.push(format!("{error:#}"));
        }
    }
}

/// Measures the cases of one type.
fn measure<T: Value>(lab: &Lab, args: &Args, failures: &mut Vec<String>) -> anyhow::Result<Vec<Row>>
where
    Sum: SegmentOperation<T, RowRaw: Number>,
{
    let cases = choose::<T>(args);
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let values = lab.values::<T>()?;
    let mut rows = Vec::new();
    for (way, lengths) in cases {
        let measured = match way {
            Way::Offsets | Way::WideOffsets => lab.by_offsets(way, lengths, &values),
            Way::Keys => lab.by_keys(lengths, &values),
        };
        keep(measured.with_context(|| way.name::<T>(lengths)), &mut rows, failures);
    }
    Ok(rows)
}

fn to_json(row: &Row, elements: usize) -> Json {
    let us = |times: &Times| {
        let quartiles = [times.lower_quartile, times.median, times.upper_quartile];
        json!(quartiles.map(|time| time.as_secs_f64() * 1e6))
    };
    json!({
        "name": row.name,
        "segments": row.segments,
        "elements": elements,
        "bytes": row.bytes,
        "quartiles_us": {
            "warpfold": us(&row.ours),
            "twin": row.twin.as_ref().map(us),
            row.peer_name: row.peer.as_ref().map(us),
        },
    })
}

fn table(rows: &[Row]) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("segments", "segments"),
        Column::new("ours_us", "ours").in_unit("us"),
        Column::new("gb_per_s", "all bytes").in_unit("GB/s"),
        Column::new("twin_us", "twin").in_unit("us"),
        Column::new("twin_per_ours", "twin/ours"),
        Column::new("peer_us", "peer").in_unit("us"),
        Column::new("peer_per_ours", "peer/ours"),
    ];
    let mut table = Table::new("segments", "Median times of one call", columns);
    for row in rows {
        let us = |times: &Times| times.median.as_secs_f64() * 1e6;
        let number = |value: Option<f64>, decimals| {
            value.map_or(Cell::Missing, |value| Cell::Number { value, decimals })
        };
        let ours = us(&row.ours);
        let (twin, peer) = (row.twin.as_ref().map(us), row.peer.as_ref().map(us));
        table.push([
            Cell::Text(row.name.clone()),
            number(Some(row.segments as f64), 0),
            number(Some(ours), 2),
            number(Some(gb_per_s(row.bytes, row.ours.median)), 0),
            number(twin, 2),
            number(twin.map(|twin| twin / ours), 3),
            number(peer, 2),
            number(peer.map(|peer| peer / ours), 3),
        ]);
    }
    table.notes.push(
        "All bytes are those of the elements, the offsets or keys, the results and, by \
         key, the keys of the runs. The twin reads and writes as many. The peer is CUB, or, for \
         sums of bins, one atomic addition for each value. Ratios above 1 mean that ours is faster."
            .to_owned(),
    );
    table
}
