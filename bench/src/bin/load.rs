//! Measures how long each module of PTX takes to load; on a GPU this includes the driver's
//! compilation.
//!
//! The driver caches compiled modules: set `CUDA_CACHE_DISABLE=1` to measure a first load.

use std::{path::PathBuf, time::Instant};

use anyhow::Context;
use clap::Parser;
use warpfold_lab::{cli, device::DeviceChoice, ptx::PtxLibrary};

/// Loads each module of PTX and says how long that took
#[derive(Parser)]
#[command(version)]
struct Args {
    /// auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// A folder of PTX to use instead of the embedded one
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let start = Instant::now();
    cli::choose_driver();
    let device = args.device.open()?;
    println!("{:>8.1} ms  to open {}", start.elapsed().as_secs_f64() * 1e3, device.info().name);

    let library = PtxLibrary::open(args.ptx_dir.as_deref())?;
    let mut times = Vec::new();
    for module in &library.manifest().modules {
        let kernel = library.manifest().kernels.iter().find(|kernel| kernel.module == module.name);
        let kernel = kernel.with_context(|| format!("module {} has no kernel", module.name))?;
        let ptx = library.find(&kernel.name, device.info().compute_capability)?;
        if ptx.arch != module.arch {
            continue;
        }
        let start = Instant::now();
        let loaded = device.load(&ptx.file, &ptx.text)?;
        // With lazy loading, the driver may compile only when a kernel is asked for.
        loaded.kernel(&kernel.name)?;
        times.push((start.elapsed(), &module.file));
    }
    times.sort_unstable_by(|one, other| other.cmp(one));
    for (time, file) in &times {
        println!("{:>8.1} ms  {file}", time.as_secs_f64() * 1e3);
    }
    Ok(())
}
