//! `reduce sweep`: time and bandwidth over size.

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, Output, OutputArgs, Progress, note, refused, whole},
    device::DeviceKind,
    ladder::{Bench, Climb, Event, LadderError, climb, sweep_document},
    launch::Request,
};

use crate::measure::{Measure, MeasureArgs, Tuned, describe, wrong};

/// Sizes where nothing is said. The simulator takes about a second for 2^20 elements and all rungs.
const GPU_SIZES: &str = "2^10..2^28";
const SIMULATOR_SIZES: &str = "2^10..2^20";

/// The most sizes of one sweep.
const MAX_SIZES: usize = 1000;

/// The arguments of `reduce sweep`.
#[derive(Args)]
pub(crate) struct SweepArgs {
    /// Numbers of elements, from the least to the greatest, as in 2^10..2^28, or with commas between them
    /// [default: 2^10..2^28 on a GPU, 2^10..2^20 on the simulator]
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    sizes: Option<String>,

    /// How many times as large the next size of a range is [default: 2 on a GPU, 4 on the simulator]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    step: Option<String>,

    #[command(flatten)]
    measure: MeasureArgs,

    /// Threads of a block, a power of two [default: what tuning found, or 256; 1024 for variant global]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    block: Option<String>,

    /// Ignore what `reduce tune` found (or WARPFOLD_NO_TUNE)
    #[arg(long)]
    no_tuned: bool,

    #[command(flatten)]
    output: OutputArgs,
}

struct Job {
    sizes: Option<Vec<u64>>,
    step: Option<u64>,
    measure: Measure,
    block: Option<u64>,
    output: Output,
}

impl SweepArgs {
    fn resolve(self) -> Result<Job> {
        let step = self.step.map(|text| whole("--step", &text, "2")).transpose()?;
        if let Some(step @ 0..2) = step {
            bail!("--step {step}: each size is at least twice the one before");
        }
        Ok(Job {
            sizes: self.sizes.map(|text| sizes(&text, step.unwrap_or(2))).transpose()?,
            step,
            measure: self.measure.resolve()?,
            block: self.block.map(|text| whole("--block", &text, "256")).transpose()?,
            output: self.output.resolve()?,
        })
    }
}

/// A list of sizes, or a range with each `step` times the one before.
fn sizes(text: &str, step: u64) -> Result<Vec<u64>> {
    let size = |text: &str| whole("--sizes", text.trim(), "2^10..2^28 or 1000,5000");
    let sizes = match text.split_once("..") {
        None => text.split(',').map(size).collect::<Result<Vec<_>>>()?,
        Some((first, last)) => {
            let (first, last) = (size(first)?, size(last)?);
            if first > last {
                bail!("--sizes '{text}': the range is empty, because {first} is more than {last}");
            }
            if first == 0 {
                bail!("--sizes '{text}': a range begins with 1 at least");
            }
            std::iter::successors(Some(first), |size| size.checked_mul(step)).take_while(|&size| size <= last).collect()
        }
    };
    if sizes.contains(&0) {
        bail!("--sizes '{text}': of no elements nothing is launched, so a size is 1 at least");
    }
    if sizes.len() > MAX_SIZES {
        bail!("--sizes: {} of them, and at most {MAX_SIZES} are measured", sizes.len());
    }
    Ok(sizes)
}

/// `reduce sweep`.
pub(crate) fn sweep(args: SweepArgs) -> Result<(), Failure> {
    let no_tuned = args.no_tuned;
    let Job { sizes: asked, step, measure, block, output } = args.resolve().map_err(refused)?;
    let library = measure.library()?;
    let device = measure.open()?;
    let sizes = match (asked, device.info().kind) {
        (Some(sizes), _) => sizes,
        (None, DeviceKind::Cuda) => sizes(GPU_SIZES, step.unwrap_or(2)).map_err(refused)?,
        (None, DeviceKind::Simulator) => {
            note(format_args!(
                "the simulator takes smaller sizes, {SIMULATOR_SIZES}, and counts instead of measuring times"
            ));
            self::sizes(SIMULATOR_SIZES, step.unwrap_or(4)).map_err(refused)?
        }
    };

    let tuned = Tuned::load(no_tuned);
    let request = Request { block, ..Request::default() };
    let mut bench = Bench::new(&device, None, &library);
    let failure = |error: LadderError| measure.failure(error);
    // Nothing runs before all of it is known to be possible.
    let mut work = Vec::new();
    for &n in &sizes {
        let contenders = tuned.contenders(&mut bench, &measure.work(n), &measure.variants, request);
        bench.plan_all(&measure.work(n), &contenders).map_err(failure)?;
        work.push((measure.work(n), contenders));
    }

    let progress = Progress::of((sizes.len() * measure.variants.len()) as u64);
    let on = &mut |event: Event<'_>| match describe(event) {
        Some(text) => progress.say(text),
        None => progress.advance(),
    };
    let mut climbs: Vec<Climb> = Vec::new();
    for (work, contenders) in work {
        if device.is_interrupted() {
            break;
        }
        climbs.push(climb(&mut bench, work, &contenders, measure.runs, on).map_err(failure)?);
    }
    drop(progress);

    let document = sweep_document(&climbs, sizes.len());
    let document = document.context("no size was measured").map_err(Failure::Interrupted)?;
    output.write(document)?;
    if let Some(measured) = climbs.iter().find_map(Climb::wrong) {
        return Err(wrong(measured));
    }
    let whole = climbs.iter().filter(|climb| !climb.is_cut_short()).count();
    if whole < sizes.len() {
        return Err(Failure::Interrupted(anyhow!("{whole} of {} sizes were measured whole", sizes.len())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_or_spanned() {
        assert_eq!(sizes("2^10..2^13", 2).unwrap(), [1024, 2048, 4096, 8192]);
        assert_eq!(sizes("1000..5000", 3).unwrap(), [1000, 3000]);
        assert_eq!(sizes("5,1000, 2^4", 2).unwrap(), [5, 1000, 16]);
        assert_eq!(sizes("7..7", 2).unwrap(), [7]);
        // No overflow at the end.
        assert_eq!(sizes("2^62..18446744073709551615", 2).unwrap(), [1 << 62, 1 << 63]);
        for bad in ["", "2^28..2^10", "0..5", "1,0", "1..", "a..b", "5,,6"] {
            assert!(sizes(bad, 2).is_err(), "{bad}");
        }
    }
}
