//! `bincount`: how often each key occurs.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueHint};
use serde::Serialize;
use warpfold::{BinKey, Device, Error};
use warpfold_tools::{
    arrays::{Dtype, write_npy},
    terminal::{Failure, Progress, failed, note, refused, written},
};

use crate::{
    args::{DeviceArgs, bins},
    device::name,
    done::{failure, on},
    keyed::{Bits, Keys},
    report::PRINTED,
};

/// The arguments of `bincount`.
#[derive(Args, Debug)]
pub(crate) struct BinCountArgs {
    /// The keys: integers from 0 up to N - 1, in a .npy file, in an array of a .npz file
    /// (FILE.npz:ARRAY), or in - for the standard input
    #[arg(value_name = "KEYS", value_hint = ValueHint::FilePath)]
    file: OsString,

    /// The number of bins, at most 65536
    #[arg(long, value_name = "N", value_parser = bins)]
    bins: usize,

    #[command(flatten)]
    device: DeviceArgs,

    /// Count on the CPU too, and compare; if the counts differ, the exit status is 1
    #[arg(long)]
    verify: bool,

    /// Print one JSON object with the counts, the input and the device
    #[arg(long)]
    json: bool,

    /// Save the counts as a .npy file too, as u64
    #[arg(long, value_name = "FILE.npy", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Json {
    operation: &'static str,
    bins: usize,
    results: Vec<u64>,
    result_type: &'static str,
    inputs: [String; 1],
    n: usize,
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
}

/// Counts the keys of a file, and prints a line for each bin: its number, and the count.
pub(crate) fn run(args: &BinCountArgs) -> Result<(), Failure> {
    let keys = Keys::open("", &args.file)?;
    keys.check_bins("")?;
    let devices = args.device.device.open()?;
    let [device] = &devices[..] else {
        return Err(refused(anyhow!(
            "one device counts the keys, and --device named {}",
            devices.len()
        )));
    };
    let progress = Progress::new();
    progress.say(on(device));
    let counts = match &keys.bits {
        Bits::One(bits) => count(device, bits, args.bins),
        Bits::Two(bits) => count(device, bits, args.bins),
        Bits::Four(bits) => count(device, bits, args.bins),
        Bits::Eight(bits) => count(device, bits, args.bins),
    };
    drop(progress);
    let counts = counts.map_err(|error| failure(keys.named(error)))?;
    if let Some(path) = &args.output {
        let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        write_npy(path, Dtype::U64, &[counts.len() as u64], &bytes)
            .with_context(|| format!("--output {}: the file cannot be written", path.display()))
            .map_err(failed)?;
    }
    let is_right = args.verify.then(|| counts == on_cpu(&keys, args.bins));
    print(args, &keys, device, counts, is_right)?;
    match is_right {
        Some(false) => Err(failed(anyhow!("the CPU's counts are others"))),
        Some(true) => {
            note(format_args!("the CPU's counts are the same"));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Counts the keys on a device. Only the position of a wrong key is meant, because these are bits.
fn count<K: BinKey>(device: &Device, bits: &[K], bins: usize) -> Result<Vec<u64>, Error> {
    device.count_into_bins(bits, bins).map_err(|error| match error {
        Error::Bin { position, bins, .. } => Error::Bin { position, key: None, bins },
        error => error,
    })
}

fn on_cpu(keys: &Keys, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for i in 0..keys.len() {
        counts[keys.number(i) as usize] += 1;
    }
    counts
}

fn print(
    args: &BinCountArgs,
    keys: &Keys,
    device: &Device,
    counts: Vec<u64>,
    verified: Option<bool>,
) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    if args.json {
        let json = Json {
            operation: "bincount",
            bins: args.bins,
            results: counts,
            result_type: Dtype::U64.name(),
            inputs: [keys.name.clone()],
            n: keys.len(),
            device: name(device),
            verified,
        };
        let text = serde_json::to_string_pretty(&json).map_err(failed)?;
        return written(writeln!(stdout, "{text}"));
    }
    let mut lines = || {
        writeln!(stdout, "shape ({},)", counts.len())?;
        for (bin, count) in counts.iter().enumerate().take(PRINTED) {
            writeln!(stdout, "{bin} {count}")?;
        }
        if counts.len() > PRINTED {
            let more = counts.len() - PRINTED;
            writeln!(stdout, "… and {more} more; --output FILE keeps them all")?;
        }
        Ok(())
    };
    written(lines())
}
