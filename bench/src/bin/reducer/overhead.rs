//! The host's cost of an asynchronous call of the reducer, compared with a bare launch of the same
//! kernel.

use std::time::{Duration, Instant};

use anyhow::Context;
use bench::Times;
use warpfold::{device::Device, testing::kernels};

use crate::{
    cases::Case,
    contender::{Call, Contender},
    data::Input,
    gpu::BareLaunch,
    measure::{Cache, Lab, parts},
};

/// Calls before the host waits again. The driver's queue holds far more (1024), so no call waits
/// for it.
const CALLS: u32 = 200;

/// Samples of each, in turns: some 20 000 calls.
const SAMPLES: usize = 101;

/// Threads of the bare launch's one block.
const BLOCK: u32 = 256;

/// The host's times of a call.
#[derive(Clone, Debug)]
pub(crate) struct Overhead {
    pub(crate) case: Case,
    pub(crate) samples: usize,
    pub(crate) calls: u32,
    /// Through the library.
    pub(crate) call: Times,
    /// Through the driver.
    pub(crate) launch: Times,
}

/// Measures the overhead with a case that one block handles, so that the device keeps up with the
/// host.
pub(crate) fn measure(
    device: &Device,
    lab: &Lab,
    (case, input): (&Case, &Input),
    ours: &dyn Contender,
) -> anyhow::Result<Overhead> {
    let kernel = format!("reduce_{}_{}", case.op.name(), case.element.name());
    let embedded = kernels().find(|embedded| embedded.name() == kernel);
    let ptx = embedded.and_then(|embedded| embedded.text(device.info().compute_capability));
    let ptx = ptx.with_context(|| format!("there is no kernel {kernel} for this device"))?;
    let (output, mut slots) = (device.alloc::<u64>(8)?, device.alloc::<u64>(1 << 19)?);
    slots.fill_bytes(0)?;
    let part = parts(case, Cache::Warm)[0];
    let call =
        Call { input: input.address(part.start), right: input.address(part.right), n: case.n };
    let packs = (case.n * case.element.size()).div_ceil(16);
    let keep = 1.0f32.to_bits().into();
    let args = vec![call.input, call.n, packs, keep, output.address(), slots.address()];
    let stream = lab.stream.raw().context("a bare launch needs a GPU")?;
    let mut bare = BareLaunch::new(&ptx, &kernel, BLOCK, args, stream)?;
    let mut through_library = || ours.call(call, &lab.stream);
    // SAFETY: the arguments are those of every kernel of the reducer (input, number, chunk, keep,
    // output and slots), and all their memory outlives the last synchronisation below.
    let mut through_driver = || unsafe { bare.launch() };
    let (mut calls, mut launches) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        calls.push(time_of_one(lab, &mut through_library)?);
        launches.push(time_of_one(lab, &mut through_driver)?);
    }
    Ok(Overhead {
        case: *case,
        samples: SAMPLES,
        calls: CALLS,
        call: Times::of(calls),
        launch: Times::of(launches),
    })
}

fn time_of_one(
    lab: &Lab,
    call: &mut impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    lab.stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..CALLS {
        call()?;
    }
    let time = start.elapsed();
    lab.stream.synchronize()?;
    Ok(time / CALLS)
}
