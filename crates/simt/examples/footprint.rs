//! Prints the host memory that a launch takes at its peak, as a multiple of the device memory on
//! which it works (Linux only): `cargo run --release --example footprint`.

use std::fs;

use simt::{Arg, Kernel, LaunchConfig, LaunchError, Memory, Module, check, count, launch};

type Error = Box<dyn std::error::Error>;
type Mode = fn(&Kernel, &LaunchConfig, &[Arg], &Memory) -> Result<(), LaunchError>;

const N: u32 = 1 << 26;

fn main() -> Result<(), Error> {
    let module = Module::from_ptx("kernels.ptx", include_str!("../benches/kernels.ptx"))?;
    let kernel = module.kernel("grid_stride").ok_or("no kernel `grid_stride`")?;
    let modes: [(&str, Mode); 3] = [
        ("run", launch),
        ("count", |kernel, config, args, memory| count(kernel, config, args, memory).map(drop)),
        ("check", |kernel, config, args, memory| check(kernel, config, args, memory).map(drop)),
    ];
    for (name, mode) in modes {
        let before = reset_peak()?;
        let memory = if name == "check" { Memory::checked(1 << 30) } else { Memory::new(1 << 30) };
        let config = LaunchConfig::new(64, 256);
        let input = memory.alloc(u64::from(N) * 4)?;
        for page in (0..u64::from(N) * 4).step_by(1 << 20) {
            memory.write(input + page, &vec![1; 1 << 20])?;
        }
        let output = memory.alloc(64 * 256 * 4)?;
        mode(kernel, &config, &[Arg::Pointer(input), Arg::Pointer(output), Arg::U32(N)], &memory)?;
        let taken = resident("VmHWM:")? - before;
        let times = taken as f64 / memory.used() as f64;
        println!(
            "{name}: {} MiB for allocations of {} MiB: {times:.2} times",
            taken >> 20,
            memory.used() >> 20
        );
    }
    Ok(())
}

/// Resets the recorded peak, and returns how many bytes are resident now.
fn reset_peak() -> Result<u64, Error> {
    fs::write("/proc/self/clear_refs", "5")?;
    resident("VmRSS:")
}

/// The value of a line of the process's status, in bytes.
fn resident(key: &str) -> Result<u64, Error> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix(key)).ok_or("the status lacks a line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
