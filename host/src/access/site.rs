//! One device that runs the patterns' kernels.

use std::time::Duration;

use simt::Counters;

use super::{
    error::AccessError,
    words::{check, sums},
};
use crate::{
    device::{Arg, Buffer, Device, DeviceError, Kernel, LaunchShape},
    experiment::{Runner, Runs, Times, counters},
    ptx::PtxLibrary,
};

/// The number of threads in one block.
pub(super) const BLOCK: u32 = 256;

/// The greatest number of blocks per multiprocessor in a launch whose threads take several elements
/// each. That many blocks fill a multiprocessor.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// A device with its kernels. It either counts or measures times.
pub(super) struct Site<'a> {
    pub(super) device: &'a Device,
    runner: Runner<'a>,
    runs: Option<Runs>,
    pub(super) seed: u32,
}

/// The results of a kernel's run at one site, or at both.
#[derive(Clone, Debug, Default)]
pub(super) struct Ran {
    /// The simulator's counters. All are 0 if only a GPU ran the kernel.
    pub(super) counters: Counters,
    /// The median time, if a GPU ran the kernel.
    pub(super) time: Option<Duration>,
}

impl<'a> Site<'a> {
    /// A site that measures times over `runs`. If `runs` is `None`, it counts instead.
    pub(super) fn new(
        device: &'a Device,
        library: &'a PtxLibrary,
        runs: Option<Runs>,
        seed: u32,
    ) -> Self {
        Self { device, runner: Runner::new(device, library), runs, seed }
    }

    /// Whether this site measures times instead of counting.
    pub(super) fn is_timed(&self) -> bool {
        self.runs.is_some()
    }

    pub(super) fn library(&self) -> &'a PtxLibrary {
        self.runner.library()
    }

    pub(super) fn kernel(&mut self, name: &str) -> Result<Kernel, AccessError> {
        self.runner.kernel(name)
    }

    /// Launches a kernel once if this site counts, or else as often as `runs` says.
    pub(super) fn run(
        &mut self,
        name: &str,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<Ran, AccessError> {
        let kernel = self.kernel(name)?;
        let Some(runs) = self.runs else {
            self.device.take_observations();
            self.launch(&kernel, shape, args)?;
            return Ok(Ran { counters: counters(self.device).unwrap_or_default(), time: None });
        };
        for _ in 0..runs.warm_up {
            self.launch(&kernel, shape, args)?;
        }
        let time = |_| self.device.time(|| self.launch(&kernel, shape, args));
        let times = (0..runs.timed).map(time).collect::<Result<Vec<_>, _>>()?;
        Ok(Ran {
            counters: Counters::default(),
            time: Times::new(&times).map(|times| times.median),
        })
    }

    /// The shape of a launch whose threads loop over `elements`. Each thread takes about `each`
    /// elements, or more if the grid would otherwise exceed `BLOCKS_PER_MULTIPROCESSOR`.
    pub(super) fn shape(&self, elements: u64, each: u64) -> LaunchShape {
        let most = self.device.info().multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
        let blocks = elements.div_ceil(u64::from(BLOCK) * each).clamp(1, u64::from(most));
        LaunchShape::linear(blocks as u32, BLOCK, 0)
    }

    /// The shape of a launch of at least `threads` threads, one for each element.
    pub(super) fn shape_of_threads(threads: u64, shared_bytes: u32) -> LaunchShape {
        // `Lab::check` refuses more than 2^30 elements, so the number of blocks fits in 32 bits.
        LaunchShape::linear(threads.div_ceil(u64::from(BLOCK)) as u32, BLOCK, shared_bytes)
    }

    /// An array of `len` words that the kernel `access_fill` has filled.
    pub(super) fn filled(&mut self, len: u64) -> Result<Buffer<u32>, AccessError> {
        let buffer = self.device.alloc::<u32>(len as usize)?;
        let kernel = self.kernel("access_fill")?;
        let args = [Arg::Pointer(buffer.address()), Arg::U64(len), Arg::U32(self.seed)];
        self.launch(&kernel, self.shape(len, 1), &args)?;
        Ok(buffer)
    }

    /// Launches one of this lab's kernels.
    fn launch(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: each experiment gives its kernel the buffers that it has made for it, with the
        // number of elements that the kernel may touch.
        unsafe { self.device.launch(kernel, shape, args) }
    }

    /// An array of `len` words, all 0.
    pub(super) fn zeros(&self, len: u64) -> Result<Buffer<u32>, AccessError> {
        let mut buffer = self.device.alloc::<u32>(len as usize)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// Runs a kernel that reads `input` and leaves a sum for each thread, and checks the sums.
    /// Thread `t` takes the indices `t`, `t + threads` and so on below `turns`, and adds `value(i)`
    /// for each index `i`. `args` are the arguments after the two pointers.
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
        let ran = self.run(
            what.kernel,
            shape,
            &[&[Arg::Pointer(input), Arg::Pointer(output.address())], args].concat(),
        )?;
        check(what.kernel, what.parameter, &output.copy_to_host()?, sums(threads, turns, value))?;
        Ok(ran)
    }
}

/// The name of a kernel and a description of its parameter, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct What<'a> {
    pub(super) kernel: &'a str,
    pub(super) parameter: &'a str,
}

/// The number of threads of a one-dimensional launch.
pub(super) fn threads(shape: LaunchShape) -> usize {
    shape.grid.x as usize * shape.block.x as usize
}
