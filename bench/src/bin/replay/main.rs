//! Launches each case of a plan once on the GPU, for `ncu` or `compute-sanitizer` to look at.
//!
//! The program prints the outcome of each case on one line. If a kernel faults, the program does
//! not fail, so that the exit status under a sanitizer is the sanitizer's. After a fault the
//! context is lost, and the remaining cases are not run.

use std::io::{self, Write};
use std::path::PathBuf;

use bench::plan::Plan;
use clap::Parser;
use warpfold_lab::cli;

mod gpu;

/// Launches each case of a plan once on the GPU
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The plan, such as bench/plans/counters.json
    plan: PathBuf,

    /// Launch only this case (may be given several times)
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,

    /// Print the names of the cases and launch none
    #[arg(long)]
    list: bool,

    /// The folder to which the paths of the plan's PTX files are relative
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let plan = Plan::read(&args.plan)?.select(&args.cases)?;
    let mut out = io::stdout().lock();
    if args.list {
        for case in &plan.cases {
            writeln!(out, "{}", case.name)?;
        }
        return Ok(());
    }
    cli::choose_driver();
    let gpu = gpu::Gpu::open()?;
    let mut lost = false;
    for case in &plan.cases {
        if lost {
            writeln!(out, "{}\tnot run", case.name)?;
            continue;
        }
        match gpu.launch(case, &case.text(&args.root)?)? {
            Ok(()) => writeln!(out, "{}\tok", case.name)?,
            Err(fault) => {
                writeln!(out, "{}\tfailed: {fault}", case.name)?;
                lost = true;
            }
        }
    }
    Ok(())
}
