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
    let capability = device.info().compute_capability;
    let ptx = embedded.and_then(|embedded| embedded.text(capability));
    let ptx = ptx.with_context(|| format!("there is no kernel {kernel} for this device"))?;
    let single = embedded.and_then(|embedded| embedded.single(capability));
    let single = single.with_context(|| format!("{kernel} has no kernel for small inputs"))?;
    let output = device.alloc::<u64>(8)?;
    let part = parts(case, Cache::Warm)[0];
    let call =
        Call { input: input.address(part.start), right: input.address(part.right), n: case.n };
    let extent = Extent { address: call.input, element_bytes: case.element.size(), n: call.n };
    let first = call.input + extent.bytes_before_packs();
    let [_, _, edges] = extent.cut(extent.packs().max(1)).map(u64::from);
    let args = vec![first, extent.packs(), edges, output.address()];
    let stream = lab.stream.raw().context("a bare launch needs a GPU")?;
    let mut bare = BareLaunch::new(&ptx, single, BLOCK, args, stream)?;
    let mut through_library = || ours.call(call, &lab.stream);
    // SAFETY: the arguments are those of every kernel for small inputs of one array (first, packs,
    // edges and output), the block has a thread for every four packs, and all memory outlives the
    // last synchronisation below.
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
