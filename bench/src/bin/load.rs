//! Measures how long each module of PTX takes to load; on a GPU this includes the driver's
//! compilation. With `--first-call`, it measures what the first call of an operation costs a
//! program.
//!
//! The driver caches compiled modules: set `CUDA_CACHE_DISABLE=1` to measure a first load.
//! `--first-call` gives the driver an empty folder for its cache, and measures again with the
//! folder that the first program left.

use std::{
    env,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bench::Times;
use clap::Parser;
use warpfold::{
    ArgMin, Moments, Sum,
    device::{Buffer, Device},
    reducer::{Operation, Single},
    testing::kernels,
};
use warpfold_lab::{cli, device::DeviceChoice, ptx::PtxLibrary};

/// Loads each module of PTX and prints how long that took
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// A folder of PTX to use instead of the embedded one
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,

    /// Measure the time of the first call of an operation in a new program instead
    #[arg(long)]
    first_call: bool,

    /// How many programs are started and measured for each operation
    #[arg(long, default_value_t = 7)]
    repeats: usize,

    /// Run as one of the programs that --first-call measures
    #[arg(long, value_name = "OPERATION", hide = true)]
    program: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(operation) = &args.program {
        return program(&args, operation);
    }
    if args.first_call { first_calls(&args) } else { modules(&args) }
}

fn modules(args: &Args) -> anyhow::Result<()> {
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

/// The operations whose first calls are measured, by the names of their kernels.
const OPERATIONS: [&str; 3] = ["sum_f32", "argmin_f32", "moments_f32"];

/// What a program does until it has called an operation twice.
const STEPS: [&str; 7] = [
    "open the device: driver and context",
    "load an empty module",
    "allocate 256 KiB and copy the input there",
    "make a stream with its workspace",
    "inflate the kernel's PTX",
    "make the reducer: load its module, allocate its output",
    "call it, and wait for the result",
];

/// The steps that no program needs: they are here to be compared with.
const ASIDE: [usize; 2] = [1, 4];

/// A kernel that does nothing.
const EMPTY: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry empty() { ret; }
";

/// Runs programs with an empty compiler cache and with a full one, and prints the medians.
fn first_calls(args: &Args) -> anyhow::Result<()> {
    ensure!(args.repeats > 0, "repeats is 0, and at least 1 is needed");
    println!(
        "What the first call of an operation costs a program: medians of {} programs and their \
         quartiles, in ms",
        args.repeats
    );
    for operation in OPERATIONS {
        let mut times = [(); 2].map(|()| vec![Vec::new(); STEPS.len() + 1]);
        for _ in 0..args.repeats {
            let cache = tempfile::tempdir()?;
            // The first program finds the folder empty, and leaves in it what the second one finds.
            for times in &mut times {
                let steps = run_program(args, operation, cache.path())?;
                for (times, step) in times.iter_mut().zip(steps) {
                    times.push(step);
                }
            }
        }
        println!("\n{operation}\n  {:<26} {:<26} step", "empty cache", "full cache");
        let [cold, cached] = times;
        let again = ["call it again"];
        for (index, step) in STEPS.iter().chain(&again).enumerate() {
            println!("  {} {} {step}", shown(&cold[index]), shown(&cached[index]));
        }
        let [cold, cached] = [&cold, &cached].map(|times| {
            let steps = || (0..STEPS.len()).filter(|step| !ASIDE.contains(step));
            (0..args.repeats)
                .map(|at| steps().map(|step| times[step][at]).sum())
                .collect::<Vec<_>>()
        });
        println!(
            "  {} {} to the first result, without the empty module and the first inflation",
            shown(&cold),
            shown(&cached)
        );
    }
    Ok(())
}

fn shown(times: &[Duration]) -> String {
    let times = Times::of(times.to_vec());
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!(
        "{:>8.3} ({:.3} {:.3})",
        ms(times.median),
        ms(times.lower_quartile),
        ms(times.upper_quartile)
    )
    .chars()
    .chain(std::iter::repeat(' '))
    .take(26)
    .collect()
}

/// The times of the steps of one program, and of the second call.
fn run_program(args: &Args, operation: &str, cache: &Path) -> anyhow::Result<Vec<Duration>> {
    let mut program = Command::new(env::current_exe()?);
    program
        .args(["--device", &args.device.to_string(), "--program", operation])
        .env("CUDA_CACHE_PATH", cache)
        .env_remove("CUDA_CACHE_DISABLE");
    let output = program.output().context("cannot run this program again")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{operation}: {stderr}");
    let text = String::from_utf8(output.stdout)?;
    let nanoseconds = text.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>();
    let times: Vec<Duration> =
        nanoseconds.context("times")?.into_iter().map(Duration::from_nanos).collect();
    ensure!(times.len() == STEPS.len() + 1, "{operation}: {text}");
    Ok(times)
}

/// Does the steps, and prints how many nanoseconds each took.
fn program(args: &Args, operation: &str) -> anyhow::Result<()> {
    let mut watch = Watch { last: Instant::now(), times: Vec::new() };
    cli::choose_driver();
    let device = args.device.open()?;
    watch.step();
    device.load("empty.ptx", EMPTY)?.kernel("empty")?;
    watch.step();
    let input = device.upload(&vec![1.0f32; 1 << 16])?;
    watch.step();
    device.own_stream()?.synchronize()?;
    watch.step();
    let name = format!("reduce_{operation}");
    let embedded = kernels().find(|embedded| embedded.name() == name);
    let embedded = embedded.with_context(|| format!("there is no kernel {name}"))?;
    // The reducer inflates it once more.
    watch.last = Instant::now();
    black_box(embedded.text(device.info().compute_capability));
    watch.step();
    match operation {
        "sum_f32" => call_twice(&device, Sum, &input, &mut watch)?,
        "argmin_f32" => call_twice(&device, ArgMin, &input, &mut watch)?,
        "moments_f32" => call_twice(&device, Moments, &input, &mut watch)?,
        _ => anyhow::bail!("{operation} is none of {OPERATIONS:?}"),
    }
    let times: Vec<String> = watch.times.iter().map(|time| time.as_nanos().to_string()).collect();
    println!("{}", times.join(" "));
    Ok(())
}

fn call_twice<O: Operation<f32, Arity = Single>>(
    device: &Device,
    operation: O,
    input: &Buffer<f32>,
    watch: &mut Watch,
) -> anyhow::Result<()> {
    let reducer = device.reducer::<f32, O>(operation)?;
    watch.step();
    for _ in 0..2 {
        black_box(reducer.reduce(input)?);
        watch.step();
    }
    Ok(())
}

/// Measures steps that follow one another.
struct Watch {
    last: Instant,
    times: Vec<Duration>,
}

impl Watch {
    /// Ends a step.
    fn step(&mut self) {
        self.times.push(self.last.elapsed());
        self.last = Instant::now();
    }
}
