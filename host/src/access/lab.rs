//! The request to the lab, and the two sites that answer it: the simulator counts, and a GPU
//! measures times.

use std::fmt;

use super::{
    error::AccessError,
    pattern::{Pattern, Sweep},
    site::{BLOCK, BLOCKS_PER_MULTIPROCESSOR, Ran, Site},
};
use crate::{device::Device, experiment::Runs, ptx::PtxLibrary};

/// The number of accesses in a counted launch, unless the request names another number. It makes
/// whole warps, so a request takes the same as in any larger launch.
const COUNTED: u64 = 1 << 14;

/// A request to a [`Lab`]: how much it runs, how often, and over which parameters.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The number of accesses, or of threads if each thread makes many accesses. `None` lets each
    /// pattern choose.
    pub n: Option<u64>,
    /// How often a GPU runs each kernel.
    pub runs: Runs,
    /// The seed. It is added to each word of the arrays, and it decides the random order of
    /// [`Pattern::Permuted`].
    pub seed: u32,
    /// The range of the parameter. `None` stands for the range of the slide.
    pub sweep: Option<Sweep>,
}

impl Default for Request {
    fn default() -> Self {
        Self { n: None, runs: Runs::GPU, seed: 1, sweep: None }
    }
}

/// Runs the kernels of patterns and makes tables and charts of the results.
pub struct Lab<'a> {
    counter: Site<'a>,
    gpu: Option<Site<'a>>,
    pub(super) request: Request,
    on_row: Box<dyn FnMut(String) + 'a>,
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab")
            .field("gpu", &self.gpu.is_some())
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

/// How many elements a timed launch and a counted launch take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) timed: u64,
    pub(super) counted: u64,
}

impl<'a> Lab<'a> {
    /// A lab that counts on `counter`, a simulator with
    /// [`Instrument::Count`](crate::device::Instrument::Count), and measures times on `gpu`.
    pub fn new(
        library: &'a PtxLibrary,
        counter: &'a Device,
        gpu: Option<&'a Device>,
        request: Request,
    ) -> Self {
        let site = |device, runs| Site::new(device, library, runs, request.seed);
        Self {
            counter: site(counter, None),
            gpu: gpu.map(|gpu| site(gpu, Some(request.runs))),
            request,
            on_row: Box::new(|_| ()),
        }
    }

    /// Calls `on_row` before each row with a description of that row.
    #[must_use]
    pub fn on_row(self, on_row: impl FnMut(String) + 'a) -> Self {
        Self { on_row: Box::new(on_row), ..self }
    }

    /// Refuses a request that a pattern cannot fulfil, before anything runs.
    ///
    /// # Errors
    ///
    /// [`AccessError::Size`], [`AccessError::Range`], [`AccessError::NoRange`].
    pub fn check(pattern: Pattern, request: &Request) -> Result<(), AccessError> {
        if let Some(n) = request.n.filter(|n| !(1..=1 << 30).contains(n)) {
            return Err(AccessError::Size { n });
        }
        let Some(asked) = request.sweep else { return Ok(()) };
        let Some((least, most)) = pattern.limits() else {
            return Err(AccessError::NoRange { pattern });
        };
        if least <= asked.first && asked.first <= asked.last && asked.last <= most {
            return Ok(());
        }
        Err(AccessError::Range { pattern, asked, least, most })
    }

    /// Whether a device of this lab was told to stop.
    pub fn is_interrupted(&self) -> bool {
        self.counter.device.is_interrupted()
            || self.gpu.as_ref().is_some_and(|gpu| gpu.device.is_interrupted())
    }

    pub(super) fn library(&self) -> &'a PtxLibrary {
        self.counter.library()
    }

    /// The compute capability of the device that is shown: the GPU, or else the simulator.
    pub(super) fn compute_capability(&self) -> (u32, u32) {
        self.gpu.as_ref().unwrap_or(&self.counter).device.info().compute_capability
    }

    /// Whether there is a GPU, so that times are measured.
    pub(super) fn is_timed(&self) -> bool {
        self.gpu.is_some()
    }

    pub(super) fn gpu(&mut self) -> Option<&mut Site<'a>> {
        self.gpu.as_mut()
    }

    /// The peak bandwidth of the GPU's memory in GB/s, if it is known.
    pub(super) fn peak(&self) -> Option<f64> {
        self.gpu.as_ref()?.device.info().peak_bytes_per_second.map(|peak| peak / 1e9)
    }

    /// The sizes for patterns of global memory. On a GPU the arrays are larger than its caches.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes_of(1 << 24, COUNTED)
    }

    /// The sizes for patterns that are sized in threads. The timed launch has as many threads as
    /// the GPU holds at once.
    pub(super) fn threads(&self) -> Sizes {
        let gpu = self.gpu.as_ref().map_or(0, |gpu| gpu.device.info().multiprocessors);
        self.sizes_of(u64::from(gpu * BLOCKS_PER_MULTIPROCESSOR * BLOCK), 4 * u64::from(BLOCK))
    }

    pub(super) fn sizes_of(&self, timed: u64, counted: u64) -> Sizes {
        match (self.request.n, self.is_timed()) {
            (Some(n), true) => Sizes { timed: n, counted: n.min(counted) },
            (Some(n), false) => Sizes { timed: 0, counted: n },
            (None, _) => Sizes { timed, counted },
        }
    }

    /// The values of the parameter to show: those of the request, or else those of the pattern. A
    /// pattern without a range has none.
    pub(super) fn sweep(&self, pattern: Pattern) -> impl Iterator<Item = u32> + use<> {
        let sweep = self.request.sweep.or(pattern.sweep());
        sweep.into_iter().flat_map(|Sweep { first, last }| first..=last)
    }

    /// Makes a row for each parameter, until a device is told to stop. `what` describes a parameter
    /// for the progress line.
    pub(super) fn rows<P>(
        &mut self,
        parameters: impl IntoIterator<Item = P>,
        what: impl Fn(&P) -> String,
        mut row: impl FnMut(&mut Self, P) -> Result<(), AccessError>,
    ) -> Result<(), AccessError> {
        for parameter in parameters {
            if self.is_interrupted() {
                break;
            }
            (self.on_row)(what(&parameter));
            match row(self, parameter) {
                Err(error) if error.is_interruption() => break,
                done => done?,
            }
        }
        Ok(())
    }

    /// Runs `run` on the simulator for the counters and, if there is a GPU, on the GPU for the
    /// time.
    pub(super) fn measure(
        &mut self,
        sizes: Sizes,
        run: impl Fn(&mut Site<'a>, u64) -> Result<Ran, AccessError>,
    ) -> Result<Ran, AccessError> {
        let Ran { counters, .. } = run(&mut self.counter, sizes.counted)?;
        let time = match &mut self.gpu {
            Some(gpu) => run(gpu, sizes.timed)?.time,
            None => None,
        };
        Ok(Ran { counters, time })
    }
}
