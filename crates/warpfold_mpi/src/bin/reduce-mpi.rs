//! Reduces one array in a file by all ranks of an MPI program: `mpirun -n 4 reduce-mpi sum a.npy`.
//! Each rank reads its own part of the file.

use std::{ffi::OsString, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};
use warpfold::{
    ArgMax, ArgMin, Device, DeviceError, Item, Max, Min, Moments, ReproducibleSum, Sum,
    device::DeviceKind, even_ranges,
};
use warpfold_mpi::MpiCommunicator;
use warpfold_tools::arrays::{Array, Dtype};

/// Reduces an array in a file by all ranks of an MPI program, each of which reads a part
#[derive(Parser)]
#[command(version)]
struct Args {
    /// What to find
    operation: What,
    /// The array: a .npy file in C order, or a raw file with --type
    file: OsString,
    /// The type of the elements of a raw file
    #[arg(long = "type")]
    dtype: Option<Dtype>,
    /// Where each rank works. The ranks of a machine take its GPUs in turns
    #[arg(long, default_value = "auto")]
    device: Where,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Sum,
    /// The sum of floats, rounded once: the same digits for any number of ranks
    Exact,
    Min,
    Max,
    /// The index of the least element
    Argmin,
    /// The index of the greatest element
    Argmax,
    Mean,
}

#[derive(Clone, Copy, ValueEnum)]
enum Where {
    /// GPUs, or the simulator where there is none
    Auto,
    Cuda,
    Sim,
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
    let ranks = MpiCommunicator::world_on(|local| device(args.device, local))?;
    if ranks.device().info().kind == DeviceKind::Simulator && ranks.rank() == 0 {
        eprintln!("note: the simulator is thousands of times slower than a GPU");
    }
    let array = open(args);
    ranks.agree(array.as_ref().err().map(|error| format!("{error:#}")))?;
    let array = array?;
    /// Reduces elements of a type.
    macro_rules! reduce {
        ($item:ty) => {{
            let part = part::<$item>(&ranks, &array);
            match args.operation {
                What::Sum => ranks.reduce(part, Sum)?.to_string(),
                What::Min => ranks.reduce(part, Min)?.to_string(),
                What::Max => ranks.reduce(part, Max)?.to_string(),
                What::Argmin => ranks.reduce(part, ArgMin)?.index.to_string(),
                What::Argmax => ranks.reduce(part, ArgMax)?.index.to_string(),
                What::Mean => ranks.reduce(part, Moments)?.mean().to_string(),
                What::Exact => {
                    bail!("exact: only floats have rounding errors, not {}", array.dtype())
                }
            }
        }};
    }
    let answer = match (array.dtype(), args.operation) {
        (Dtype::F32, What::Exact) => {
            ranks.reduce(part::<f32>(&ranks, &array), ReproducibleSum)?.to_string()
        }
        (Dtype::F64, What::Exact) => {
            ranks.reduce(part::<f64>(&ranks, &array), ReproducibleSum)?.to_string()
        }
        (Dtype::I8, _) => reduce!(i8),
        (Dtype::U8, _) => reduce!(u8),
        (Dtype::I16, _) => reduce!(i16),
        (Dtype::U16, _) => reduce!(u16),
        (Dtype::I32, _) => reduce!(i32),
        (Dtype::U32, _) => reduce!(u32),
        (Dtype::I64, _) => reduce!(i64),
        (Dtype::U64, _) => reduce!(u64),
        (Dtype::F32, _) => reduce!(f32),
        (Dtype::F64, _) => reduce!(f64),
        (other, _) => bail!("{}: ranks reduce no elements of {other}", array.name()),
    };
    if ranks.rank() == 0 {
        println!("{answer}");
    }
    Ok(())
}

/// Opens the array, whose elements must lie in the file as in memory.
fn open(args: &Args) -> Result<Array> {
    let array = Array::open(&args.file, args.dtype)?;
    let size = array.dtype().size();
    let is_mapped = match size {
        1 => array.mapped::<u8>().is_some(),
        2 => array.mapped::<u16>().is_some(),
        4 => array.mapped::<u32>().is_some(),
        8 => array.mapped::<u64>().is_some(),
        _ => array.mapped::<u128>().is_some(),
    };
    if !is_mapped || array.is_fortran() {
        bail!("{}: ranks read a plain file of little-endian elements in C order", array.name());
    }
    Ok(array)
}

/// The part of this rank.
fn part<'a, T: Item>(ranks: &MpiCommunicator, array: &'a Array) -> &'a [T] {
    let values = array.mapped::<T>().unwrap_or_default();
    let mut parts = even_ranges(values.len(), ranks.size() as usize);
    &values[parts.nth(ranks.rank() as usize).expect("there is a part for each rank")]
}

/// The device of the rank that is the `local`th of its machine.
fn device(choice: Where, local: u32) -> Result<Device, DeviceError> {
    let gpus = match choice {
        Where::Sim => Vec::new(),
        Where::Auto | Where::Cuda => Device::all()?,
    };
    match (gpus.len(), choice) {
        (0, Where::Cuda) => Device::cuda(0),
        (0, _) => Ok(Device::simulator()),
        (count, _) => Ok(gpus[local as usize % count].clone()),
    }
}
