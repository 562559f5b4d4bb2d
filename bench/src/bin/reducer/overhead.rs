//! Measures the time that the host spends in an asynchronous call of the reducer, and compares it
//! with a bare launch of the same kernel.

use std::time::{Duration, Instant};

use anyhow::Context;
use bench::Times;
use warpfold::{
    device::Device,
    testing::{Extent, kernels},
};

use crate::{
    cases::Case,
    contender::{Call, Contender},
    data::Input,
    gpu::BareLaunch,
    measure::{Cache, Lab, parts},
};

/// The number of calls that the host makes before it waits for the device. The driver's queue holds
/// far more (1024), so no call waits because the queue is full.
const CALLS: u32 = 200;

/// The number of samples of each kind of call. The two kinds take turns. There are some 20 000
/// calls of each kind.
const SAMPLES: usize = 101;

/// The number of threads in the one block of the bare launch.
const BLOCK: u32 = 256;

/// The times that the host spends in a call of the reducer and in a bare launch.
#[derive(Clone, Debug)]
pub(crate) struct Overhead {
    pub(crate) case: Case,
    pub(crate) samples: usize,
    pub(crate) calls: u32,
    /// The times of a call of the library.
    pub(crate) call: Times,
    /// The times of a direct launch through the driver.
    pub(crate) launch: Times,
}

/// Measures the overhead with a case that one block handles. The case is so small that the device
/// keeps up with the host.
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
    let extent = Extent { address: call.input, element_bytes: case.element.size(), n: call.n };
    let lines = call.input.wrapping_add_signed(extent.bytes_before_lines());
    let chunk = (extent.skew() + extent.packs()).max(8);
    let [full, rest, edges] = extent.cut(chunk).map(u64::from);
    let keep = 1.0f32.to_bits().into();
    let args = vec![lines, chunk, full, rest, edges, keep, output.address(), slots.address()];
    let stream = lab.stream.raw().context("a bare launch needs a GPU")?;
    let mut bare = BareLaunch::new(&ptx, &kernel, BLOCK, args, stream)?;
    let mut through_library = || ours.call(call, &lab.stream);
    // SAFETY: the arguments are those of every kernel of the reducer but the exact ones (lines,
    // chunk, full, rest, edges, keep, output and slots), and all their memory outlives the last
    // synchronisation below.
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
