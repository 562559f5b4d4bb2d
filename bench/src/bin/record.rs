//! Turns the output of NVIDIA's tools for a replayed plan into the JSON that the tests read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bench::hardware::{self, Machine, Recording, Verdicts};
use bench::plan::Plan;
use clap::{Parser, Subcommand};

/// Keeps what NVIDIA's tools say of a replayed plan
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the metrics to ask ncu for, one a line
    Metrics,
    /// From the table that `ncu --csv --page raw` prints of a run of replay
    Counters {
        /// The plan that was replayed
        #[arg(long)]
        plan: PathBuf,
        /// The table
        #[arg(long)]
        csv: PathBuf,
        /// The JSON to write
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        machine: Machine,
    },
    /// From what compute-sanitizer printed: LOGS/TOOL/CASE
    Verdicts {
        /// The plan that was replayed
        #[arg(long)]
        plan: PathBuf,
        /// The folder of its output
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
