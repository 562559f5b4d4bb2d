//! Times small calls of all ranks of an MPI program: `mpirun -n 4 mpi-latency --sim`. The parts are
//! small, so that the times are those of calls rather than those of arrays.

use std::{
    process::ExitCode,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Parser, value_parser};
use warpfold::{Device, Sum, device::DeviceKind};
use warpfold_mpi::{Error, MpiCommunicator};

/// The first calls are not counted, because memory is allocated and connections are made in them.
const WARM_UP: u32 = 20;

/// How long rank 0 lets the others wait for it. They have all sent their messages then.
const LATE: Duration = Duration::from_millis(5);

/// Times small calls of all ranks of an MPI program, as rank 0 sees them
#[derive(Parser)]
#[command(version)]
struct Args {
    /// How many calls of each kind are timed
    #[arg(long, default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    repeat: u32,
    /// The number of elements of each part
    #[arg(long, default_value_t = 1000)]
    elements: u32,
    /// Reduce on the simulator, also where there are GPUs
    #[arg(long)]
    sim: bool,
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

fn run(args: &Args) -> Result<()> {
    let ranks = MpiCommunicator::world_on(|local| {
        let gpus = if args.sim { Vec::new() } else { Device::all()? };
        let gpu = (local as usize).checked_rem(gpus.len()).map(|gpu| gpus[gpu].clone());
        Ok(gpu.unwrap_or_else(Device::simulator))
    })?;
    let device = ranks.device();
    let prepare = || -> Result<_, warpfold::Error> {
        let part = device.upload(&vec![1u32; args.elements as usize])?;
        Ok((part, device.alloc(1)?, device.stream()?))
    };
    let prepared = prepare();
    ranks.agree(prepared.as_ref().err().map(ToString::to_string))?;
    let (part, mut output, stream) = prepared?;

    let none = Duration::ZERO;
    let times = [
        ("reduce", time(args, none, || ranks.reduce(&part, Sum).map(drop))?),
        ("reduce_into", {
            time(args, none, || ranks.reduce_into(&part, Sum, &mut output, &stream).map(drop))?
        }),
        ("agree", time(args, none, || ranks.agree(None))?),
        ("agree, rank 0 last", {
            let late = if ranks.rank() == 0 { LATE } else { none };
            time(args, late, || ranks.agree(None))?
        }),
    ];
    if ranks.rank() == 0 {
        let info = device.info();
        let name = if info.kind == DeviceKind::Cuda { &info.name } else { "the simulator" };
        println!("{} ranks, parts of {} elements, on {name}", ranks.size(), args.elements);
        println!("{:20}{:>9}{:>9}{:>9}", "microseconds", "median", "5 %", "95 %");
        for (call, mut times) in times {
            times.sort_unstable();
            let [median, low, high] = [50, 5, 95].map(|percent| {
                let time: Duration = times[(times.len() - 1) * percent / 100];
                time.as_secs_f64() * 1e6
            });
            println!("{call:20}{median:9.1}{low:9.1}{high:9.1}");
        }
    }
    Ok(())
}

/// The times of calls, each of which begins after a pause.
fn time(
    args: &Args,
    pause: Duration,
    mut call: impl FnMut() -> Result<(), Error>,
) -> Result<Vec<Duration>, Error> {
    (0..WARM_UP).try_for_each(|_| call())?;
    let timed = (0..args.repeat).map(|_| {
        if !pause.is_zero() {
            sleep(pause);
        }
        let start = Instant::now();
        call()?;
        Ok(start.elapsed())
    });
    timed.collect()
}
