//! Times reductions of arrays that several GPUs share, whose result every GPU gets, beside the
//! reduction of the longest shard by one GPU alone. The difference is what the exchange adds.
//!
//! Each measurement is a graph of some calls with the same shards on each GPU. The time is that of
//! the first GPU. Results are checked before the calls are timed. `bench/peers/groups.py` times
//! PyTorch and NCCL in the same way.

use std::{fs, io, path::PathBuf, process::ExitCode};

use anyhow::{Context, ensure};
use bench::{Times, gb_per_s, time_turns, to_us};
use clap::Parser;
use serde_json::{Value as Json, json};
use warpfold::{
    ArgMax, Array, Buffer, Error, Graph, Group, GroupGraph, Item, Max, Moments, Operation,
    ReproducibleSum, Stream, Sum,
    reducer::{DeviceInput, Input, Single},
};
use warpfold_lab::{
    cli,
    output::{Cell, Column, Document, Format, Table, Width},
};

/// Times reductions of arrays that several GPUs share
#[derive(Parser)]
#[command(version)]
struct Args {
    /// How many GPUs take part, from the first one on; all GPUs if it is not given
    #[arg(long)]
    gpus: Option<usize>,

    /// The lengths of shards, as powers of two
    #[arg(long, value_delimiter = ',', default_value = "16,20,24,28")]
    log2: Vec<u32>,

    /// The numbers of columns of matrices of four rows, as powers of two
    #[arg(long, value_delimiter = ',', default_value = "0,8,14,18,20")]
    columns: Vec<u32>,

    /// How many measurements are made of each contender
    #[arg(long, default_value_t = 31)]
    samples: usize,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One line of the table.
struct Line {
    name: String,
    /// The bytes of a shard.
    bytes: u64,
    /// The first GPU alone with its shard.
    alone: Times,
    together: Times,
}

fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    cli::choose_driver();
    if let Some(folder) = warpfold_lab::ptx::folder(None) {
        // SAFETY: a user who names a folder of kernels is responsible for what they do.
        unsafe { warpfold::testing::use_kernels_of(&folder) };
    }
    let all = Group::all()?;
    let count = args.gpus.unwrap_or(all.devices().len());
    let gpus = all.devices().get(..count).context("there are not so many GPUs")?;
    let group = Group::of(gpus)?;
    let mut lines = Vec::new();
    for &log2 in &args.log2 {
        let n = 1usize << log2;
        let floats = |i: usize| (i % 1000) as f32 / 8.0;
        lines.push(measure(&group, Sum, "f32 sum", n, floats, args.samples)?);
        if log2 == 20 {
            lines.push(measure(&group, Max, "f32 max", n, floats, args.samples)?);
            lines.push(measure(&group, ArgMax, "f32 argmax", n, floats, args.samples)?);
            lines.push(measure(&group, Moments, "f32 moments", n, floats, args.samples)?);
            let name = "f32 reproducible sum";
            lines.push(measure(&group, ReproducibleSum, name, n, floats, args.samples)?);
            let doubles = |i: usize| f64::from(floats(i));
            let name = "f64 reproducible sum";
            lines.push(measure(&group, ReproducibleSum, name, n, doubles, args.samples)?);
        }
    }
    for &log2 in &args.columns {
        lines.push(measure_columns(&group, 1 << log2, args.samples)?);
    }
    let document = Document { tables: vec![table(&lines, count)], ..Document::default() };
    document.write_within(Format::Table, Width::Terminal(120), &mut io::stdout().lock())?;
    if let Some(path) = &args.json {
        let device = group.devices()[0].info();
        let json = json!({
            "device": device.name,
            "gpus": count,
            "rows": lines.iter().map(to_json).collect::<Vec<_>>(),
        });
        fs::write(path, format!("{json:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// How many calls a graph has, so that it takes about a millisecond, and never less than ten.
fn calls_for(bytes: u64) -> u32 {
    (2_000_000_000 / bytes.max(1)).clamp(10, 200) as u32
}

fn measure<T, O>(
    group: &Group,
    operation: O,
    name: &str,
    n: usize,
    value: impl Fn(usize) -> T,
    samples: usize,
) -> anyhow::Result<Line>
where
    T: Item,
    O: Operation<T, Arity = Single, Output: std::fmt::Debug>,
    for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
{
    let values: Vec<T> = (0..n).map(value).collect();
    let bytes = (n * size_of::<T>()) as u64;
    let calls = calls_for(bytes);
    let (mut shards, mut results) = (Vec::new(), Vec::new());
    for device in group.devices() {
        shards.push(device.upload(&values)?);
        results.push(device.alloc::<O::Raw>(1)?);
    }
    let expected = format!("{:?}", group.reduce(&shards, operation)?);

    let mut all = group.all_reducer::<T, O>(operation)?;
    let (together, pending) = group.capture(|streams| {
        let mut pending = None;
        for _ in 0..calls {
            pending = Some(all.reduce_into(&shards, &mut results, streams.iter().copied())?);
        }
        Ok::<_, Error>(pending.expect("there are calls"))
    })?;
    let first = &group.devices()[0];
    let reducer = first.reducer::<T, O>(operation)?;
    let mut partial = first.alloc::<O::Raw>(1)?;
    let (alone, ()) = first.capture(|stream| {
        (0..calls)
            .try_for_each(|_| reducer.reduce_into(&shards[0], &mut partial, stream).map(|_| ()))
    })?;

    let streams = group.streams()?;
    together.launch(&streams)?;
    all.check()?;
    for result in &results {
        let result = format!("{:?}", pending.finish(result.copy_to_host()?[0])?);
        ensure!(result == expected, "{name}: {result} instead of {expected}");
    }
    let [alone, together] = time(&alone, &together, &streams, calls, samples)?;
    all.check()?;
    let name = format!("{name} {} x 2^{}", group.devices().len(), n.ilog2());
    Ok(Line { name, bytes, alone, together })
}

/// Sums the columns of a matrix, of which each GPU has four rows.
fn measure_columns(group: &Group, width: usize, samples: usize) -> anyhow::Result<Line> {
    const ROWS: usize = 4;
    let values: Vec<f32> = (0..ROWS * width).map(|i| (i % 100) as f32).collect();
    let bytes = (4 * ROWS * width) as u64;
    let calls = calls_for(bytes);
    let (mut shards, mut results) = (Vec::new(), Vec::new());
    for device in group.devices() {
        shards.push(device.upload(&values)?);
        results.push(device.alloc::<f32>(width)?);
    }
    let arrays: Vec<_> = shards
        .iter()
        .map(|shard| Array::new(shard, &[ROWS as u64, width as u64]))
        .collect::<Result<_, _>>()?;
    let mut all = group.all_row_reducer::<f32, _>(Sum, width as u32)?;
    let (together, ()) = group.capture(|streams| {
        (0..calls).try_for_each(|_| {
            let streams = streams.iter().copied();
            all.reduce_axes_into(&arrays, &[0], &mut results, streams).map(|_| ())
        })
    })?;
    let first = &group.devices()[0];
    let reducer = first.row_reducer::<f32, _>(Sum)?;
    let mut partial = first.alloc::<f32>(width)?;
    let (alone, ()) = first.capture(|stream| {
        (0..calls).try_for_each(|_| {
            reducer.reduce_axes_into(&arrays[0], &[0], &mut partial, stream).map(|_| ())
        })
    })?;

    let streams = group.streams()?;
    together.launch(&streams)?;
    all.check()?;
    let gpus = group.devices().len();
    for result in &results {
        // All numbers are integers, so that the sums are exact.
        let is_right = |(i, &sum): (usize, &f32)| {
            let column: f32 = (0..ROWS).map(|row| values[row * width + i]).sum();
            sum.to_bits() == (column * gpus as f32).to_bits()
        };
        ensure!(result.copy_to_host()?.iter().enumerate().all(is_right), "a sum is wrong");
    }
    let [alone, together] = time(&alone, &together, &streams, calls, samples)?;
    all.check()?;
    let name = format!("f32 sum {gpus} x 4x2^{} over 0", width.ilog2());
    Ok(Line { name, bytes, alone, together })
}

/// The times of one call of each graph, in graphs of so many calls, on the first GPU.
fn time(
    alone: &Graph,
    together: &GroupGraph,
    streams: &[Stream],
    calls: u32,
    samples: usize,
) -> anyhow::Result<[Times; 2]> {
    const WARM_UPS: usize = 3;
    let times = time_turns(2, calls, WARM_UPS, samples, |contender| {
        for stream in streams {
            stream.synchronize()?;
        }
        let start = streams[0].record()?;
        if contender == 0 {
            alone.launch(&streams[0])?;
        } else {
            together.launch(streams)?;
        }
        Ok::<_, Error>(streams[0].record()?.elapsed_since(&start)?)
    })?;
    Ok([0, 1].map(|contender| Times::of(times[contender].clone())))
}

fn table(lines: &[Line], gpus: usize) -> Table {
    let columns = vec![
        Column::new("case", "case"),
        Column::new("together_us", "together").in_unit("us"),
        Column::new("alone_us", "one GPU").in_unit("us"),
        Column::new("added_us", "added").in_unit("us"),
        Column::new("gb_per_s", "input").in_unit("GB/s"),
    ];
    let mut table = Table::new("groups", "Median times of one call", columns);
    let number = |value, decimals| Cell::Number { value, decimals };
    for Line { name, bytes, alone, together } in lines {
        let (alone, together) = (alone.median, together.median);
        table.push([
            Cell::Text(name.clone()),
            number(to_us(together), 2),
            number(to_us(alone), 2),
            number(to_us(together) - to_us(alone), 2),
            number(gb_per_s(bytes * gpus as u64, together), 0),
        ]);
    }
    table.notes.push("One GPU reduces its own shard alone, without an exchange.".to_owned());
    table
}

fn to_json(line: &Line) -> Json {
    let times = |times: &Times| {
        json!({
            "median_us": to_us(times.median),
            "lower_quartile_us": to_us(times.lower_quartile),
            "upper_quartile_us": to_us(times.upper_quartile),
            "min_us": to_us(times.min),
        })
    };
    json!({
        "name": line.name,
        "shard_bytes": line.bytes,
        "together": times(&line.together),
        "alone": times(&line.alone),
    })
}
