//! The parts that `ladder`, `sweep` and `tune` share: their arguments, their devices and their
//! rungs.

use anyhow::{Result, bail};
use clap::Args;
use warpfold_lab::{
    cli::{
        DeviceArgs, Failure, PtxArgs, SeedArgs, failed, interruptible, open_device, refused, reps,
    },
    device::{Device, DeviceKind, Instrument},
    element::ElementType,
    experiment::Runs,
    ladder::{Event, LadderError, Measured, Refusal, Work},
    op::Op,
    variant::Variant,
};

use crate::options::{ElementArgs, FillArgs, no_plan};

/// The arguments of a command that measures several rungs.
#[derive(Args)]
pub(crate) struct MeasureArgs {
    /// The rungs to measure: numbers or names with commas between them, such as 1,3,sequential, the
    /// first and the last of a range, such as 1..7, or all [default: all]
    #[arg(long, value_name = "LIST", value_parser = rungs)]
    variants: Option<Rungs>,

    #[command(flatten)]
    elements: ElementArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Number of timed runs on a GPU, after 3 runs to warm up; the simulator counts a single run
    /// [default: 20]
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = reps)]
    reps: Option<u32>,

    #[command(flatten)]
    fill: FillArgs,

    #[command(flatten)]
    seed: SeedArgs,

    #[command(flatten)]
    pub(crate) ptx: PtxArgs,
}

/// Rungs by number or name.
#[derive(Clone)]
struct Rungs(Vec<Variant>);

impl MeasureArgs {
    pub(crate) fn variants(&self) -> Vec<Variant> {
        self.variants.as_ref().map_or_else(|| Variant::all().collect(), |rungs| rungs.0.clone())
    }

    pub(crate) fn op(&self) -> Op {
        self.elements.op.op
    }

    pub(crate) fn element(&self) -> ElementType {
        self.elements.element
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs { timed: self.reps.unwrap_or(Runs::GPU.timed), ..Runs::GPU }
    }

    pub(crate) fn work(&self, n: u64) -> Work {
        let (fill, seed) = (self.fill.fill, self.seed.seed);
        Work { op: self.op(), element: self.element(), n, fill, seed }
    }

    pub(crate) fn device(&self) -> DeviceArgs {
        self.device
    }

    /// Opens the device. If it is the simulator, it counts.
    pub(crate) fn open(&self) -> Result<Device, Failure> {
        let device = open_device(self.device.device)?;
        match device.info().kind {
            DeviceKind::Cuda => Ok(device),
            DeviceKind::Simulator => counter(),
        }
    }

    pub(crate) fn failure(&self, error: LadderError) -> Failure {
        match error {
            LadderError::Refused(Refusal::Ptx(error)) => self.ptx.no_ptx(error),
            LadderError::Refused(Refusal::Plan(error)) => no_plan(error),
            LadderError::Refused(Refusal::Device(_)) => failed(error),
            LadderError::Nothing | LadderError::Input(_) => refused(error),
            LadderError::Run(error) => self.ptx.not_run(error),
        }
    }
}

/// A simulator that counts.
pub(crate) fn counter() -> Result<Device, Failure> {
    interruptible(Device::simulator_with(Instrument::Count))
}

/// Parses rungs with commas between them, ranges such as `1..7`, or `all`.
fn rungs(text: &str) -> Result<Rungs> {
    if text.trim() == "all" {
        return Ok(Rungs(Variant::all().collect()));
    }
    let mut variants = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => variants.push(part.trim().parse()?),
            Some((first, last)) => {
                let (first, last) =
                    (first.trim().parse::<Variant>()?, last.trim().parse::<Variant>()?);
                let range: Vec<_> = Variant::all()
                    .skip_while(|&variant| variant != first)
                    .take_while(|&variant| variant != last)
                    .collect();
                if !Variant::all()
                    .skip_while(|&variant| variant != first)
                    .any(|variant| variant == last)
                {
                    bail!("--variants '{part}': {last} does not come after {first} in the ladder");
                }
                variants.extend(range.into_iter().chain([last]));
            }
        }
    }
    Ok(Rungs(variants))
}

/// The text of a progress line.
pub(crate) fn describe(event: Event<'_>) -> Option<String> {
    match event {
        Event::Prepares(work) => Some(format!("preparing {} {} elements", work.n, work.element)),
        Event::Begins(plan) => Some(format!("{} over {}", plan.kernel, plan.problem.n)),
        Event::Ends => None,
    }
}

/// The error of a wrong result. It is reported even if the measurement was interrupted too.
pub(crate) fn check(measured: Option<&Measured>) -> Result<(), Failure> {
    let Some(Measured { plan, result, reference, .. }) = measured else { return Ok(()) };
    reference.check(&plan.kernel, *result).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_listed_or_spanned() {
        let labels = |text| {
            rungs(text)
                .map(|list| list.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(labels("1, sequential,7").unwrap(), "1 3 7");
        assert_eq!(labels("0..3").unwrap(), "0 global 1 2 3");
        assert_eq!(labels("7..7,1").unwrap(), "7 1");
        assert_eq!(labels("all").unwrap().split(' ').count(), Variant::all().len());
        assert_eq!(
            labels("7..1").unwrap_err().to_string(),
            "--variants '7..1': 1 does not come after 7 in the ladder"
        );
        for bad in ["", "1,", "1..", "..", "none"] {
            assert!(labels(bad).is_err(), "{bad}");
        }
    }
}
