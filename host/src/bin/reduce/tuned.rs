//! The shapes that `reduce tune` saved, and the rule by which all commands use them: a saved shape
//! counts for the device that runs the launches, if neither --block nor --grid is given.

use warpfold_lab::{
    cli::note,
    device::DeviceInfo,
    ladder::{Bench, Contender, Work},
    launch::{DeviceLimits, Problem, Request},
    tune::{Cache, Entry},
    variant::Variant,
};

use crate::options::NoTunedArgs;

/// The environment variable that says to ignore what tuning found.
const NO_TUNED_VARIABLE: &str = "WARPFOLD_NO_TUNE";

/// The shapes that tuning found.
pub(crate) struct Tuned(Vec<Entry>);

impl Tuned {
    /// Loads the shapes that are kept, unless they are to be ignored. If they cannot be read, they
    /// are ignored too, with a note.
    pub(crate) fn load(NoTunedArgs { no_tuned }: NoTunedArgs) -> Self {
        let ignore =
            no_tuned || std::env::var_os(NO_TUNED_VARIABLE).is_some_and(|value| !value.is_empty());
        if ignore {
            return Self(Vec::new());
        }
        let entries = Cache::of_user().and_then(|cache| cache.load()).unwrap_or_else(|error| {
            note(format_args!("{:#}: the tuned shapes are ignored", anyhow::Error::from(error)));
            Vec::new()
        });
        Self(entries)
    }

    /// The entry for a problem whose shape is left open, and the request that follows from it.
    /// `None` if there is no entry, or if it cannot be used. `limits` gives the limits of the
    /// device for a request.
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
        let tuned =
            limits(&block).and_then(|limits| entry.request(problem, request.finish, &limits));
        if tuned.is_none() {
            note(format_args!(
                "the tuned shape of variant {} cannot be used here, and is ignored",
                problem.variant
            ));
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
                Some((entry, request)) => Contender { variant, request, tuned: Some(entry.n) },
                None => Contender { variant, request, tuned: None },
            }
        };
        variants.iter().map(contender).collect()
    }
}
