//! What `ladder`, `sweep` and `tune` share: their arguments, their devices, their rungs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpfold_lab::{
    cli::{Failure, failed, interruptible, note, open_device, refused, whole},
    device::{Device, DeviceChoice, DeviceInfo, DeviceKind, Instrument},
    element::ElementType,
    ladder::{Bench, Contender, Event, LadderError, Measured, Refusal, Work},
    launch::{DeviceLimits, Problem, Request},
    op::Op,
    ptx::{self, PtxError, PtxLibrary},
    reduce::{ReduceError, Runs},
    tune::{Cache, Entry},
    variant::Variant,
};

const MAX_REPS: u32 = 1_000_000;

/// The arguments of a command that measures several rungs.
#[derive(Args)]
pub(crate) struct MeasureArgs {
    /// The rungs, with commas between them: 1,3,7 or sequential, or 1..7 for all from one to the other [default: all]
    #[arg(long, value_name = "LIST")]
    variants: Option<String>,

    /// sum, min, max or prod
    #[arg(long, default_value = "sum")]
    op: String,

    /// Type of the elements: i32, u32, i64, u64, f32 or f64
    #[arg(long = "type", value_name = "TYPE", default_value = "i32")]
    element: String,

    /// auto (a GPU if there is one), cuda or sim
    #[arg(long, default_value = "auto")]
    device: String,

    /// Timed runs on a GPU, after 3 to warm up; the simulator counts one [default: 20]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    reps: Option<String>,

    /// Seed of the generated elements, a whole number
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    seed: String,

    /// Use the PTX of a folder instead of what is built in (or WARPFOLD_PTX_DIR)
    #[arg(long, value_name = "DIR")]
    ptx_dir: Option<PathBuf>,
}

/// What the arguments mean.
pub(crate) struct Measure {
    pub(crate) variants: Vec<Variant>,
    pub(crate) op: Op,
    pub(crate) element: ElementType,
    pub(crate) device: DeviceChoice,
    pub(crate) runs: Runs,
    pub(crate) seed: u64,
    ptx_dir: Option<PathBuf>,
}

impl MeasureArgs {
    pub(crate) fn resolve(self) -> Result<Measure> {
        Ok(Measure {
            variants: self.variants.map_or_else(|| Ok(Variant::all().collect()), |text| variants(&text))?,
            op: self.op.parse()?,
            element: self.element.parse()?,
            device: self.device.parse()?,
            runs: Runs { timed: reps(self.reps.as_deref())?.unwrap_or(Runs::GPU.timed), ..Runs::GPU },
            seed: whole("--seed", &self.seed, "1")?,
            ptx_dir: self.ptx_dir,
        })
    }
}

impl Measure {
    pub(crate) fn work(&self, n: u64) -> Work {
        Work { op: self.op, element: self.element, n, seed: self.seed }
    }

    pub(crate) fn library(&self) -> Result<PtxLibrary, Failure> {
        PtxLibrary::open(self.ptx_dir.as_deref()).map_err(|error| self.no_ptx(error))
    }

    /// What cannot be had of a folder that was named is an input like others; the embedded kernels are not the user's.
    fn no_ptx(&self, error: PtxError) -> Failure {
        if ptx::folder(self.ptx_dir.as_deref()).is_some() { refused(error) } else { failed(error) }
    }

    /// The device; the simulator counts.
    pub(crate) fn open(&self) -> Result<Device, Failure> {
        let device = open_device(self.device)?;
        match device.info().kind {
            DeviceKind::Cuda => Ok(device),
            DeviceKind::Simulator => counter(),
        }
    }

    pub(crate) fn failure(&self, error: LadderError) -> Failure {
        match error {
            LadderError::Refused(Refusal::Ptx(error)) | LadderError::Reduce(ReduceError::Ptx(error)) => {
                self.no_ptx(error)
            }
            LadderError::Refused(Refusal::Plan(ref reason)) if reason.blames_device() => failed(error),
            LadderError::Nothing | LadderError::Refused(Refusal::Plan(_)) | LadderError::Input(_) => refused(error),
            LadderError::Refused(Refusal::Device(_)) | LadderError::Reduce(_) => failed(error),
        }
    }
}

/// A simulator that counts.
pub(crate) fn counter() -> Result<Device, Failure> {
    interruptible(Device::simulator_with(Instrument::Count))
}

/// The number of timed runs that was asked for.
pub(crate) fn reps(text: Option<&str>) -> Result<Option<u32>> {
    match text.map(|text| whole("--reps", text, "20")).transpose()? {
        Some(0) => bail!("--reps 0: at least one run is needed"),
        Some(reps) => {
            let runs = u32::try_from(reps).ok().filter(|&reps| reps <= MAX_REPS);
            Ok(Some(runs.with_context(|| format!("--reps {reps}: at most {MAX_REPS} runs are made"))?))
        }
        None => Ok(None),
    }
}

/// Rungs by number or name, with commas between them, or from one to another.
fn variants(text: &str) -> Result<Vec<Variant>> {
    let mut variants = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => variants.push(part.trim().parse()?),
            Some((first, last)) => {
                let (first, last) = (first.trim().parse::<Variant>()?, last.trim().parse::<Variant>()?);
                let range: Vec<_> = Variant::all()
                    .skip_while(|&variant| variant != first)
                    .take_while(|&variant| variant != last)
                    .collect();
                if !Variant::all().skip_while(|&variant| variant != first).any(|variant| variant == last) {
                    bail!("--variants '{part}': {last} does not come after {first} in the ladder");
                }
                variants.extend(range.into_iter().chain([last]));
            }
        }
    }
    Ok(variants)
}

/// What a progress line says.
pub(crate) fn describe(event: Event<'_>) -> Option<String> {
    match event {
        Event::Prepares(work) => Some(format!("preparing {} {} elements", work.n, work.element)),
        Event::Begins(plan) => Some(format!("{} over {}", plan.kernel, plan.problem.n)),
        Event::Ends => None,
    }
}

/// The error of a wrong result, which goes before an interruption.
pub(crate) fn wrong(measured: &Measured) -> Failure {
    let (kernel, result, value) = (&measured.plan.kernel, measured.result, measured.reference.value());
    failed(anyhow::anyhow!("wrong result: {kernel} gave {result}, and the reference is {value}"))
}

/// The variable that says to ignore what tuning found.
const NO_TUNED_VARIABLE: &str = "WARPFOLD_NO_TUNE";

/// Shapes that tuning found.
pub(crate) struct Tuned(Vec<Entry>);

impl Tuned {
    /// What is kept, unless it is to be ignored. What cannot be read is ignored too, with a note.
    pub(crate) fn load(ignore: bool) -> Self {
        let ignore = ignore || std::env::var_os(NO_TUNED_VARIABLE).is_some_and(|value| !value.is_empty());
        if ignore {
            return Self(Vec::new());
        }
        let entries = Cache::of_user().and_then(|cache| cache.load()).unwrap_or_else(|error| {
            note(format_args!("{:#}: no shape is tuned", anyhow::Error::from(error)));
            Vec::new()
        });
        Self(entries)
    }

    /// The entry and the request for a problem whose shape is left open, if there are any. `limits` is what the device
    /// allows a request.
    pub(crate) fn find(
        &self,
        device: &DeviceInfo,
        problem: &Problem,
        request: &Request,
        limits: impl FnOnce(&Request) -> Option<DeviceLimits>,
    ) -> Option<(&Entry, Request)> {
        if request.block.is_some() || request.grid.is_some() {
            return None;
        }
        let entry = self.0.iter().find(|entry| entry.is_for(device, problem))?;
        let block = Request { block: Some(entry.block.into()), ..*request };
        let tuned = limits(&block).and_then(|limits| entry.request(problem, request.finish, &limits));
        if tuned.is_none() {
            note(format_args!("the tuned shape of variant {} cannot be used here, and is ignored", problem.variant));
        }
        Some((entry, tuned?))
    }

    /// Each rung with its shape for this work.
    pub(crate) fn contenders(
        &self,
        bench: &mut Bench<'_>,
        work: &Work,
        variants: &[Variant],
        request: Request,
    ) -> Vec<Contender> {
        let contender = |&variant: &Variant| {
            let problem = Problem { variant, op: work.op, element: work.element, n: work.n };
            let device = bench.device().info();
            match self.find(device, &problem, &request, |request| bench.limits(&problem, request)) {
                Some((_, request)) => Contender { variant, request, tuned: true },
                None => Contender { variant, request, tuned: false },
            }
        };
        variants.iter().map(contender).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_listed_or_spanned() {
        let labels =
            |text| variants(text).map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        assert_eq!(labels("1, sequential,7").unwrap(), "1 3 7");
        assert_eq!(labels("0..3").unwrap(), "0 global 1 2 3");
        assert_eq!(labels("7..7,1").unwrap(), "7 1");
        assert_eq!(labels("7..1").unwrap_err().to_string(), "--variants '7..1': 1 does not come after 7 in the ladder");
        for bad in ["", "1,", "1..", "..", "none"] {
            assert!(labels(bad).is_err(), "{bad}");
        }
    }
}
