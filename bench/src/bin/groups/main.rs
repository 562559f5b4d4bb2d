//! Times reductions of arrays that several GPUs share, whose result every GPU gets, beside the
//! reduction of its own shard by the slower GPU alone. The difference is what the exchange adds.
//!
//! Each measurement is a graph of some calls with the same shards on each GPU. The time of all GPUs
//! together is that of the first one. Results are checked before the calls are timed.
//! `bench/peers/groups.py` times PyTorch and NCCL in the same way.
//!
//! Two more tables say how much sooner all GPUs reduce an array than one of them, and what a sum in
//! a tree costs beside a plain one.

mod measure;
mod report;
mod soak;
mod tree;

use std::{fs, io, path::PathBuf, process::ExitCode, time::SystemTime};

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use serde_json::json;
use warpfold::{ArgMax, Device, Group, Max, Moments, ReproducibleSum, Sum};
use warpfold_lab::{
    cli,
    output::{Document, Format, Width},
};

use measure::{float, measure, measure_columns, measure_split};
use soak::{Plan, soak};
use tree::measure_tree;

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
    #[arg(long, value_delimiter = ',', default_value = "0,8,14,16,18,20,22,24")]
    columns: Vec<u32>,

    /// The lengths of shards that are also summed in a tree, as powers of two
    #[arg(long, value_delimiter = ',', default_value = "20,24,28")]
    tree: Vec<u32>,

    /// The lengths of arrays of which each GPU has a part, as powers of two
    #[arg(long, value_delimiter = ',', default_value = "30")]
    split: Vec<u32>,

    /// How many measurements are made of each contender
    #[arg(long, default_value_t = 31)]
    samples: usize,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Instead of measurements, make random calls for so many seconds and check every result
    #[arg(long, value_name = "SECONDS", conflicts_with = "json")]
    soak: Option<u64>,

    /// Seed of the random calls; the program prints it [default: the current time]
    #[arg(long, requires = "soak")]
    seed: Option<u64>,

    /// The round with which the random calls begin, which the message about a wrong result gives
    #[arg(long, requires = "soak", default_value_t = 0)]
    first_round: u64,

    /// The devices of the random calls, each of which is sim or cuda, the next GPU; all GPUs if it
    /// is not given
    #[arg(long, requires = "soak", conflicts_with = "gpus", value_delimiter = ',')]
    device: Vec<Kind>,
}

/// A device of a group.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Sim,
    Cuda,
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

fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.samples > 0, "samples is 0, and at least 1 is needed");
    cli::choose_driver();
    if let Some(folder) = warpfold_lab::ptx::folder(None) {
        // SAFETY: a user who names a folder of kernels is responsible for what they do.
        unsafe { warpfold::testing::use_kernels_of(&folder) };
    }
    let group = open(args)?;
    if let Some(seconds) = args.soak {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seed = args.seed.unwrap_or(since_epoch.unwrap_or_default().as_secs());
        return soak(&group, &Plan { seconds, seed, first_round: args.first_round });
    }
    let count = group.devices().len();
    let mut lines = Vec::new();
    for &log2 in &args.log2 {
        let n = 1usize << log2;
        lines.push(measure(&group, Sum, "f32 sum", n, float, args.samples)?);
        if log2 == 20 {
            lines.push(measure(&group, Max, "f32 max", n, float, args.samples)?);
            lines.push(measure(&group, ArgMax, "f32 argmax", n, float, args.samples)?);
            lines.push(measure(&group, Moments, "f32 moments", n, float, args.samples)?);
            let name = "f32 reproducible sum";
            lines.push(measure(&group, ReproducibleSum, name, n, float, args.samples)?);
            let doubles = |i: usize| f64::from(float(i));
            let name = "f64 reproducible sum";
            lines.push(measure(&group, ReproducibleSum, name, n, doubles, args.samples)?);
        }
    }
    for &log2 in &args.columns {
        lines.push(measure_columns(&group, 1 << log2, args.samples)?);
    }
    let splits = args.split.iter().map(|log2| measure_split(&group, 1 << log2, args.samples));
    let splits: Vec<_> = splits.collect::<Result<_, _>>()?;
    let trees = args.tree.iter().map(|log2| measure_tree(&group, 1 << log2, args.samples));
    let trees: Vec<_> = trees.collect::<Result<_, _>>()?;
    let tables = vec![report::lines(&lines, count), report::splits(&splits), report::trees(&trees)];
    let document = Document { tables, ..Document::default() };
    document.write_within(Format::Table, Width::Terminal(120), &mut io::stdout().lock())?;
    if let Some(path) = &args.json {
        let device = group.devices()[0].info();
        let json = json!({
            "device": device.name,
            "gpus": count,
            "rows": lines.iter().map(report::line_to_json).collect::<Vec<_>>(),
            "splits": splits.iter().map(report::line_to_json).collect::<Vec<_>>(),
            "trees": trees.iter().map(report::tree_to_json).collect::<Vec<_>>(),
        });
        fs::write(path, format!("{json:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The devices that the arguments name.
fn open(args: &Args) -> anyhow::Result<Group> {
    if args.device.is_empty() {
        let all = Group::all()?;
        let count = args.gpus.unwrap_or(all.devices().len());
        let gpus = all.devices().get(..count).context("there are not so many GPUs")?;
        return Ok(Group::of(gpus)?);
    }
    let mut gpus = 0..;
    let devices = args.device.iter().map(|kind| match kind {
        Kind::Sim => Ok(Device::simulator()),
        Kind::Cuda => Device::cuda(gpus.next().unwrap_or(u32::MAX)),
    });
    Ok(Group::of(&devices.collect::<Result<Vec<_>, _>>()?)?)
}
