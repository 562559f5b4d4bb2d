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

/// Threads of a block.
pub(super) const BLOCK: u32 = 256;

/// Blocks for each multiprocessor, where threads take several elements each: as many as fill it.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// A device with its kernels, and what it is for: to count, or to take times.
pub(super) struct Site<'a> {
    pub(super) device: &'a Device,
    runner: Runner<'a>,
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

impl<'a> Site<'a> {
    /// A device that counts if there are no runs to be timed.
    pub(super) fn new(
        device: &'a Device,
        library: &'a PtxLibrary,
        runs: Option<Runs>,
        seed: u32,
    ) -> Self {
        Self { device, runner: Runner::new(device, library), runs, seed }
    }

    /// Whether it takes times, and does not count.
    pub(super) fn is_timed(&self) -> bool {
        self.runs.is_some()
    }

    pub(super) fn library(&self) -> &'a PtxLibrary {
        self.runner.library()
    }

    pub(super) fn kernel(&mut self, name: &str) -> Result<Kernel, AccessError> {
        self.runner.kernel(name)
    }

    /// Launches a kernel: once to count, or as often as is timed.
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

    /// Runs a kernel that reads `input` and leaves a sum for each thread, and checks the sums:
    /// `value` is what a thread takes in its turn for `i` below `turns`. `args` are those behind
    /// the two pointers.
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
