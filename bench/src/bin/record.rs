//! Turns the output of NVIDIA's tools for a replayed plan into the JSON that the tests read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bench::hardware::{self, Machine, Recording, Verdicts};
use bench::plan::Plan;
use clap::{Parser, Subcommand};

/// Turns the output of NVIDIA's tools about a replayed plan into JSON files
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the metrics that ncu must measure, one on each line
    Metrics,
    /// Read the table that `ncu --csv --page raw` prints about a run of replay
    Counters {
        /// The plan that was replayed
        #[arg(long)]
        plan: PathBuf,
        /// The table to read
        #[arg(long)]
        csv: PathBuf,
        /// The JSON to write
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        machine: Machine,
    },
    /// Read the output of compute-sanitizer, which is in the files LOGS/TOOL/CASE
    Verdicts {
        /// The plan that was replayed
        #[arg(long)]
        plan: PathBuf,
        /// The folder LOGS
        #[arg(long)]
        logs: PathBuf,
        /// The JSON to write
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        machine: Machine,
    },
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Metrics => {
            for metric in hardware::metrics() {
                println!("{metric}");
            }
        }
        Command::Counters { plan, csv, out, machine } => {
            let table = fs::read_to_string(&csv)
                .with_context(|| format!("cannot read {}", csv.display()))?;
            let recording = Recording::from_ncu(machine, &Plan::read(&plan)?, &table)?;
            write(&out, &recording.to_json()?)?;
            println!("{} launches", recording.cases.len());
        }
        Command::Verdicts { plan, logs, out, machine } => {
            let verdicts = Verdicts::from_logs(machine, &Plan::read(&plan)?, &logs)?;
            write(&out, &verdicts.to_json()?)?;
            let clean = verdicts.cases.iter().filter(|case| {
                [&case.memcheck, &case.racecheck, &case.initcheck, &case.synccheck]
                    .iter()
                    .all(|verdict| *verdict == "clean")
            });
            println!("{} of {} launches clean", clean.count(), verdicts.cases.len());
        }
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
