//! Where patterns run: the simulator, which counts, and a GPU, which takes time.

use std::{collections::HashMap, fmt, time::Duration};

use simt::Counters;

use super::{
    AccessError, Pattern, Section, Sweep, arithmetic, global, math, on_chip, transfer,
    words::{check, sums},
};
use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel, LaunchShape, Module, Seen},
    ptx::PtxLibrary,
    reduce::Runs,
    report::Times,
};

/// Threads of a block.
pub(super) const BLOCK: u32 = 256;

/// Blocks for each multiprocessor, where threads take several elements each: as many as fill it.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// Accesses of the launches that are counted, unless fewer or more are asked for: whole warps, so that what a request
/// takes is that of any larger launch.
const COUNTED: u64 = 1 << 14;

/// What is asked of a [`Lab`].
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Accesses, or threads where each makes many; chosen for each pattern if nothing is said.
    pub n: Option<u64>,
    /// How often a GPU runs each kernel.
    pub runs: Runs,
    /// Added to each word of the arrays.
    pub seed: u32,
    /// The parameters; all that the slide has if nothing is said.
    pub sweep: Option<Sweep>,
}

impl Default for Request {
    fn default() -> Self {
        Self { n: None, runs: Runs::GPU, seed: 1, sweep: None }
    }
}

/// Runs patterns.
pub struct Lab<'a> {
    counter: Site<'a>,
    gpu: Option<Site<'a>>,
    pub(super) request: Request,
    on_row: Box<dyn FnMut(String) + 'a>,
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("gpu", &self.gpu.is_some()).field("request", &self.request).finish_non_exhaustive()
    }
}

/// A device and the modules that it has loaded.
pub(super) struct Site<'a> {
    pub(super) device: &'a Device,
    library: &'a PtxLibrary,
    modules: HashMap<String, Module>,
    runs: Option<Runs>,
    pub(super) seed: u32,
}

/// What is known of a kernel's run at one site, or at both.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    /// What it did, on the simulator.
    pub(super) counters: Counters,
    /// The median, on a GPU.
    pub(super) time: Option<Duration>,
}

/// How many elements are taken where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) timed: u64,
    pub(super) counted: u64,
}

impl<'a> Lab<'a> {
    /// A lab that counts on `counter`, a simulator with [`Instrument::Count`](crate::device::Instrument::Count), and
    /// measures times on `gpu`.
    pub fn new(library: &'a PtxLibrary, counter: &'a Device, gpu: Option<&'a Device>, request: Request) -> Self {
        let site = |device, runs| Site::new(device, library, runs, request.seed);
        Self {
            counter: site(counter, None),
            gpu: gpu.map(|gpu| site(gpu, Some(request.runs))),
            request,
            on_row: Box::new(|_| ()),
        }
    }

    /// Calls `on_row` before each row with what is being done.
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
        let Some((least, most)) = pattern.limits() else { return Err(AccessError::NoRange { pattern }) };
        if least <= asked.first && asked.first <= asked.last && asked.last <= most {
            return Ok(());
        }
        Err(AccessError::Range { pattern, asked, least, most })
    }

    /// Shows a pattern. If the device is interrupted ([`Device::interrupt_by`]), the rows end there.
    ///
    /// # Errors
    ///
    /// Those of [`Lab::check`]; a result that is wrong; [`AccessError::NeedsGpu`]; the devices'.
    pub fn run(&mut self, pattern: Pattern) -> Result<Section, AccessError> {
        Self::check(pattern, &self.request)?;
        match pattern {
            Pattern::Offset => global::offset(self),
            Pattern::Stride => global::stride(self),
            Pattern::Permuted => global::permuted(self),
            Pattern::Width => global::width(self),
            Pattern::Unroll => global::unroll(self),
            Pattern::SharedStride | Pattern::SharedOffset | Pattern::Broadcast => on_chip::shared(self, pattern),
            Pattern::Constant => on_chip::constant(self),
            Pattern::Divide => arithmetic::divide(self),
            Pattern::Math => math::math(self),
            Pattern::Transfer => transfer::transfer(self),
        }
    }

    /// Whether it was told to stop.
    pub fn is_interrupted(&self) -> bool {
        self.counter.device.is_interrupted() || self.gpu.as_ref().is_some_and(|gpu| gpu.device.is_interrupted())
    }

    pub(super) fn library(&self) -> &'a PtxLibrary {
        self.counter.library
    }

    /// Whether there is a GPU, and so times.
    pub(super) fn is_timed(&self) -> bool {
        self.gpu.is_some()
    }

    pub(super) fn gpu(&mut self) -> Option<&mut Site<'a>> {
        self.gpu.as_mut()
    }

    /// The memory's peak, in GB/s.
    pub(super) fn peak(&self) -> Option<f64> {
        self.gpu.as_ref()?.device.info().peak_bytes_per_second.map(|peak| peak / 1e9)
    }

    /// Accesses to global memory: on a GPU enough to be more than its caches.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes_of(1 << 24, COUNTED)
    }

    /// Threads: as many as a GPU holds at once.
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

    /// The parameters of a pattern that has a range.
    pub(super) fn sweep(&self, pattern: Pattern) -> impl Iterator<Item = u32> + use<> {
        let sweep = self.request.sweep.or(pattern.sweep());
        sweep.into_iter().flat_map(|Sweep { first, last }| first..=last)
    }

    /// Makes a row for each parameter, until it is told to stop. `what` is for whoever waits.
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

    /// Runs something at both sites, or where there is no GPU at one.
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

impl<'a> Site<'a> {
    /// A device that counts if there are no runs to be timed.
    pub(super) fn new(device: &'a Device, library: &'a PtxLibrary, runs: Option<Runs>, seed: u32) -> Self {
        Self { device, library, modules: HashMap::new(), runs, seed }
    }

    /// Whether it takes times, and does not count.
    pub(super) fn is_timed(&self) -> bool {
        self.runs.is_some()
    }

    pub(super) fn kernel(&mut self, name: &str) -> Result<Kernel, AccessError> {
        let ptx = self.library.find(name, self.device.info().compute_capability)?;
        if !self.modules.contains_key(&ptx.file) {
            let module = self.device.load(&ptx.file, &ptx.text)?;
            self.modules.insert(ptx.file.clone(), module);
        }
        Ok(self.modules[&ptx.file].kernel(name)?)
    }

    /// Launches a kernel: once to count, or as often as is timed.
    pub(super) fn run(&mut self, name: &str, shape: LaunchShape, args: &[Arg]) -> Result<Ran, AccessError> {
        let kernel = self.kernel(name)?;
        let Some(runs) = self.runs else {
            self.device.take_observations();
            self.launch(&kernel, shape, args)?;
            let mut counters = Counters::default();
            for observation in self.device.take_observations() {
                if let Seen::Counted(profile) = observation.seen {
                    counters += profile.counters;
                }
            }
            return Ok(Ran { counters, time: None });
        };
        for _ in 0..runs.warm_up {
            self.launch(&kernel, shape, args)?;
        }
        let time = |_| self.device.time(|| self.launch(&kernel, shape, args));
        let times = (0..runs.timed).map(time).collect::<Result<Vec<_>, _>>()?;
        Ok(Ran { counters: Counters::default(), time: Times::new(&times).map(|times| times.median) })
    }

    /// The launch of a loop over `elements`, of which a thread takes `each` or more.
    pub(super) fn shape(&self, elements: u64, each: u64) -> LaunchShape {
        let most = self.device.info().multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
        let blocks = elements.div_ceil(u64::from(BLOCK) * each).clamp(1, u64::from(most));
        LaunchShape::linear(blocks as u32, BLOCK, 0)
    }

    /// The launch of a thread for each element.
    pub(super) fn shape_of_threads(threads: u64, shared_bytes: u32) -> LaunchShape {
        // At most 2^30, which `Lab::check` saw to.
        LaunchShape::linear(threads.div_ceil(u64::from(BLOCK)) as u32, BLOCK, shared_bytes)
    }

    /// `len` words as `access_fill` writes them.
    pub(super) fn filled(&mut self, len: u64) -> Result<Buffer<u32>, AccessError> {
        let buffer = self.device.alloc::<u32>(len as usize)?;
        let kernel = self.kernel("access_fill")?;
        let args = [Arg::Pointer(buffer.address()), Arg::U64(len), Arg::U32(self.seed)];
        self.launch(&kernel, self.shape(len, 1), &args)?;
        Ok(buffer)
    }

    /// Launches one of this lab's kernels.
    fn launch(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: each experiment gives its kernel the buffers that it has made for it, with the number of
        // elements that the kernel may touch.
        unsafe { self.device.launch(kernel, shape, args) }
    }

    /// `len` words, all 0.
    pub(super) fn zeros(&self, len: u64) -> Result<Buffer<u32>, AccessError> {
        let mut buffer = self.device.alloc::<u32>(len as usize)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// Runs a kernel that reads `input` and leaves a sum for each thread, and checks the sums: `value` is what a thread
    /// takes in its turn for `i` below `turns`. `args` are those behind the two pointers.
    pub(super) fn read(
        &mut self,
        what: What<'_>,
        shape: LaunchShape,
        input: u64,
        args: &[Arg],
        turns: u64,
        value: impl Fn(u64) -> u32,
    ) -> Result<Ran, AccessError> {
        let threads = threads(shape);
        let output = self.zeros(threads as u64)?;
        let ran =
            self.run(what.kernel, shape, &[&[Arg::Pointer(input), Arg::Pointer(output.address())], args].concat())?;
        check(what.kernel, what.parameter, &output.copy_to_host()?, sums(threads, turns, value))?;
        Ok(ran)
    }
}

/// A kernel and what it is launched with, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct What<'a> {
    pub(super) kernel: &'a str,
    pub(super) parameter: &'a str,
}

/// Threads of a launch in one dimension.
pub(super) fn threads(shape: LaunchShape) -> usize {
    shape.grid.x as usize * shape.block.x as usize
}
