//! Calls the library for minutes from several threads at once, each with a stream of its own. The
//! calls are random: reductions that wait and reductions on streams, replayed graphs, inputs on the
//! host, and allocations that come and go. Every result is checked.
//!
//! The program ends at the first wrong result and says how to repeat the call. At the end as much
//! memory of the device must be free as at the start.

mod before;
mod call;
mod expect;
mod large;
mod sample;

use std::{
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, anyhow, ensure};
use clap::Parser;
use rand::{Rng, RngCore, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use warpfold::{Buffer, Device, device::DeviceKind};
use warpfold_lab::{
    cli::{self, Failure, failed},
    device::DeviceChoice,
};

use before::Before;
use call::{KINDS, Worker};
use large::Large;

/// Makes random calls of the library from several threads at once, and checks every result
#[derive(Parser)]
#[command(version, after_help = cli::EXIT_STATUS)]
struct Args {
    /// How many seconds to run
    #[arg(long, default_value_t = 600)]
    seconds: u64,

    /// Seed of the random calls; the program prints it [default: the current time]
    #[arg(long)]
    seed: Option<u64>,

    /// Number of threads
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,

    /// Repeat only the call with this number, which the message about a wrong result gives
    #[arg(long, value_name = "NUMBER")]
    call: Option<u64>,

    /// Use only small inputs, because compute-sanitizer is slow
    #[arg(long)]
    quick: bool,

    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

fn main() -> ExitCode {
    let args = Args::parse();
    cli::exit(run(&args))
}

/// The sizes of the inputs.
#[derive(Clone, Copy)]
struct Sizes {
    /// The base-2 logarithm of the most elements of an input with a reference in plain Rust.
    most_bits: u32,
    /// The bytes of each input whose result a formula gives.
    large_bytes: usize,
}

impl Sizes {
    fn of(args: &Args, device: &Device) -> Self {
        match (device.info().kind, args.quick) {
            (DeviceKind::Simulator, true) => Self { most_bits: 9, large_bytes: 1 << 14 },
            (DeviceKind::Simulator, false) => Self { most_bits: 12, large_bytes: 1 << 16 },
            (DeviceKind::Cuda, true) => Self { most_bits: 12, large_bytes: 1 << 18 },
            (DeviceKind::Cuda, false) => Self { most_bits: 16, large_bytes: 1 << 28 },
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    cli::choose_driver();
    if let Some(folder) = warpfold_lab::ptx::folder(None) {
        // SAFETY: a user who names a folder of kernels is responsible for what they do.
        unsafe { warpfold::testing::use_kernels_of(&folder) };
    }
    let open = || args.device.open();
    let device = open().map_err(failed)?;
    if let Some(note) = device.fallback_note() {
        eprintln!("note: {note}");
    }
    let sizes = Sizes::of(args, &device);
    if let Some(call) = args.call {
        return single(&device, sizes, call).map_err(Failure::Failed);
    }
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = args.seed.unwrap_or(since_epoch.as_secs());
    println!(
        "device {}, {} threads, {} s, seed {seed}",
        device.info().name,
        args.threads,
        args.seconds
    );

    let before = Before::new(&device, args).map_err(Failure::Failed)?;
    let soak = Soak::new(&device, sizes, args, seed).map_err(Failure::Failed)?;
    let outcome = soak.run();
    let (calls, bytes) = (soak.calls.load(Relaxed), soak.kept.load(Relaxed));
    drop(soak);
    outcome.map_err(Failure::Failed)?;
    before.end(device, open).map_err(Failure::Failed)?;
    println!(
        "{calls} calls, all right; {bytes} bytes allocated, kept for a while and found unchanged; no memory is missing"
    );
    Ok(())
}

/// Repeats one call.
fn single(device: &Device, sizes: Sizes, number: u64) -> anyhow::Result<()> {
    let large = Large::new(device, sizes.large_bytes)?;
    let worker = Worker { device, stream: device.stream()?, most_bits: sizes.most_bits };
    one_call(&worker, &large, number)?;
    println!("call {number} is right");
    Ok(())
}

/// Makes the call of this number, which decides everything about the call.
fn one_call(worker: &Worker<'_>, large: &Large, number: u64) -> anyhow::Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    if rng.random_range(0..8) == 0 {
        return large.call(worker, &mut rng).context("a large input");
    }
    let kind = KINDS.choose(&mut rng).expect("there are operations");
    (kind.call)(worker, &mut rng).with_context(|| format!("{} of {}", kind.op, kind.item))
}

/// The state of a soak that runs, shared by its threads.
struct Soak<'a> {
    device: &'a Device,
    sizes: Sizes,
    seed: u64,
    threads: u64,
    quick: bool,
    end: Instant,
    large: Large,
    calls: AtomicU64,
    kept: AtomicU64,
    stop: AtomicBool,
    error: Mutex<Option<anyhow::Error>>,
}

impl<'a> Soak<'a> {
    fn new(device: &'a Device, sizes: Sizes, args: &Args, seed: u64) -> anyhow::Result<Self> {
        Ok(Self {
            device,
            sizes,
            seed,
            threads: args.threads,
            quick: args.quick,
            large: Large::new(device, sizes.large_bytes)?,
            end: Instant::now() + Duration::from_secs(args.seconds),
            calls: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            error: Mutex::new(None),
        })
    }

    /// Runs all threads to the end, or to the first error.
    fn run(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                scope.spawn(move || {
                    // A panic must end the other threads too.
                    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        self.work(thread)
                    }));
                    if let Err(error) =
                        ended.unwrap_or_else(|_| Err(anyhow!("thread {thread} panicked")))
                    {
                        self.stop.store(true, Relaxed);
                        self.error
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .get_or_insert(error);
                    }
                });
            }
            let mut minutes = 1;
            while self.goes_on() {
                std::thread::sleep(Duration::from_millis(20));
                if begin.elapsed() >= Duration::from_secs(60 * minutes) {
                    let (calls, live) = (self.calls.load(Relaxed), self.device.live_allocations());
                    let free = self
                        .device
                        .free_memory()
                        .map_or_else(|error| error.to_string(), |free| free.to_string());
                    eprintln!(
                        "minute {minutes}: {calls} calls, {live} allocations, {free} bytes free"
                    );
                    minutes += 1;
                }
            }
        });
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed) && Instant::now() < self.end
    }

    fn work(&self, thread: u64) -> anyhow::Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(thread);
        let stream = self.device.stream()?;
        let mut worker = Worker { device: self.device, stream, most_bits: self.sizes.most_bits };
        let mut kept = Vec::new();
        while self.goes_on() {
            let number = rng.next_u64();
            one_call(&worker, &self.large, number).with_context(|| {
                let quick = if self.quick { " --quick" } else { "" };
                format!(
                    "wrong in thread {thread}: repeat it with `soak --call {number}{quick}`, all with `--seed {}`",
                    self.seed
                )
            })?;
            self.calls.fetch_add(1, Relaxed);
            self.keep(&mut kept, &mut rng)
                .with_context(|| format!("seed {}, thread {thread}", self.seed))?;
            if rng.random_range(0..64) == 0 {
                worker.stream = self.device.stream()?;
            }
        }
        Ok(())
    }

    /// Allocates a buffer and fills it, or checks that an earlier buffer is unchanged and frees it.
    fn keep(&self, kept: &mut Vec<(Buffer<u8>, u8)>, rng: &mut ChaCha8Rng) -> anyhow::Result<()> {
        if kept.len() < 8 && rng.random() {
            let byte = rng.random();
            let mut buffer = self.device.alloc(rng.random_range(0..1 << self.sizes.most_bits))?;
            buffer.fill_bytes(byte)?;
            kept.push((buffer, byte));
        } else if !kept.is_empty() {
            let (buffer, byte) = kept.swap_remove(rng.random_range(0..kept.len()));
            let bytes = buffer.copy_to_host()?;
            let changed = bytes.iter().position(|other| *other != byte);
            ensure!(changed.is_none(), "byte {changed:?} of {} was overwritten", bytes.len());
            self.kept.fetch_add(bytes.len() as u64, Relaxed);
        }
        Ok(())
    }
}
