//! `reduce sweep`: time and bandwidth over size.

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, OutputArgs, Progress, note, refused, whole},
    device::DeviceKind,
    ladder::{Bench, Climb, Event, LadderError, climb, sweep_document},
    launch::Request,
};

use crate::{
    measure::{MeasureArgs, check, describe},
    options::{BlockArgs, GpuArgs, NoTunedArgs},
    tuned::Tuned,
};

/// The default sizes on a GPU.
const GPU_SIZES: Sizes = Sizes::Range(1 << 10, 1 << 28);
/// The default sizes on the simulator, which takes about a second for 2^20 elements and all rungs.
const SIMULATOR_SIZES: Sizes = Sizes::Range(1 << 10, 1 << 20);

/// The most sizes of one sweep.
const MAX_SIZES: usize = 1000;

/// The arguments of `reduce sweep`.
#[derive(Args)]
pub(crate) struct SweepArgs {
    /// Numbers of elements: the least and the greatest, such as 2^10..2^28, or a list with commas,
    /// such as 1000,5000 [default: 2^10..2^28 on a GPU, 2^10..2^20 on the simulator]
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true, value_parser = sizes)]
    sizes: Option<Sizes>,

    /// The factor between one size of a range and the next
    /// [default: 2 on a GPU, 4 on the simulator]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, value_parser = step)]
    step: Option<u64>,

    #[command(flatten)]
    measure: MeasureArgs,

    #[command(flatten)]
    block: BlockArgs,

    #[command(flatten)]
    gpu: GpuArgs,

    #[command(flatten)]
    no_tuned: NoTunedArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Numbers of elements, each at least 1.
#[derive(Clone, Debug)]
enum Sizes {
    List(Vec<u64>),
    /// From the first size to the last one, which is not smaller.
    Range(u64, u64),
}

impl Sizes {
    /// All sizes. In a range, each is `step` times the one before.
    fn expand(self, step: u64) -> Result<Vec<u64>> {
        let sizes = match self {
            Self::List(sizes) => sizes,
            Self::Range(first, last) => {
                std::iter::successors(Some(first), |size| size.checked_mul(step))
                    .take_while(|&size| size <= last)
                    .collect()
            }
        };
        if sizes.len() > MAX_SIZES {
            bail!("--sizes: there are {} sizes, and at most {MAX_SIZES} are measured", sizes.len());
        }
        Ok(sizes)
    }
}

/// Parses `--sizes`.
fn sizes(text: &str) -> Result<Sizes> {
    let size = |text: &str| whole("--sizes", text.trim(), "2^10..2^28 or 1000,5000");
    match text.split_once("..") {
        None => {
            let sizes = text.split(',').map(size).collect::<Result<Vec<_>>>()?;
            if sizes.contains(&0) {
                bail!(
                    "--sizes '{text}': each size must be at least 1, because 0 elements need no launch"
                );
            }
            Ok(Sizes::List(sizes))
        }
        Some((first, last)) => {
            let (first, last) = (size(first)?, size(last)?);
            if first > last {
                bail!("--sizes '{text}': the range is empty, because {first} is more than {last}");
            }
            if first == 0 {
                bail!("--sizes '{text}': a range must begin with at least 1");
            }
            Ok(Sizes::Range(first, last))
        }
    }
}

/// Parses `--step`.
fn step(text: &str) -> Result<u64> {
    match whole("--step", text, "2")? {
        step @ 0..2 => bail!("--step {step}: it must be at least 2"),
        step => Ok(step),
    }
}

/// Runs `reduce sweep`.
pub(crate) fn sweep(args: SweepArgs) -> Result<(), Failure> {
    let SweepArgs { sizes, step, measure, block: BlockArgs { block }, gpu, no_tuned, output } =
        args;
    // A list that is too long is refused before any device is opened.
    let asked = sizes.map(|sizes| sizes.expand(step.unwrap_or(2))).transpose().map_err(refused)?;
    let library = measure.ptx.open()?;
    let device = measure.open()?;
    let sizes = match (asked, device.info().kind) {
        (Some(sizes), _) => sizes,
        (None, DeviceKind::Cuda) => GPU_SIZES.expand(step.unwrap_or(2)).map_err(refused)?,
        (None, DeviceKind::Simulator) => {
            note(
                "on the simulator, the sizes are 2^10..2^20 unless --sizes gives others, and counters are shown instead of times",
            );
            SIMULATOR_SIZES.expand(step.unwrap_or(4)).map_err(refused)?
        }
    };

    let tuned = Tuned::load(no_tuned);
    let request = Request { block, ..Request::default() };
    let mut bench = Bench::new(&device, None, &library).planning_for(gpu.on(device.info())?);
    let (variants, failure) = (measure.variants(), |error: LadderError| measure.failure(error));
    // All sizes are planned before the first one runs.
    let mut work = Vec::new();
    for &n in &sizes {
        let contenders = tuned.contenders(&mut bench, &measure.work(n), &variants, request);
        bench.plan_all(&measure.work(n), &contenders).map_err(failure)?;
        work.push((measure.work(n), contenders));
    }

    let progress = Progress::of((sizes.len() * variants.len()) as u64);
    let on = &mut |event: Event<'_>| match describe(event) {
        Some(text) => progress.say(text),
        None => progress.advance(),
    };
    let mut climbs: Vec<Climb> = Vec::new();
    for (work, contenders) in work {
        if device.is_interrupted() {
            break;
        }
        climbs.push(climb(&mut bench, work, &contenders, measure.runs(), on).map_err(failure)?);
    }
    drop(progress);

    let document = sweep_document(&climbs, sizes.len());
    let document = document.context("no size was measured").map_err(Failure::Interrupted)?;
    output.write(document)?;
    check(climbs.iter().find_map(Climb::wrong))?;
    let whole = climbs.iter().filter(|climb| !climb.is_cut_short()).count();
    if whole < sizes.len() {
        return Err(Failure::Interrupted(anyhow!(
            "{whole} of {} sizes were measured completely",
            sizes.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_or_spanned() {
        let all = |text: &str, step| sizes(text).and_then(|sizes| sizes.expand(step));
        assert_eq!(all("2^10..2^13", 2).unwrap(), [1024, 2048, 4096, 8192]);
        assert_eq!(all("1000..5000", 3).unwrap(), [1000, 3000]);
        assert_eq!(all("5,1000, 2^4", 2).unwrap(), [5, 1000, 16]);
        assert_eq!(all("7..7", 2).unwrap(), [7]);
        // The size after the last one would overflow, so the range ends there.
        assert_eq!(all("2^62..18446744073709551615", 2).unwrap(), [1 << 62, 1 << 63]);
        for bad in ["", "2^28..2^10", "0..5", "1,0", "1..", "a..b", "5,,6"] {
            assert!(all(bad, 2).is_err(), "{bad}");
        }
    }
}
