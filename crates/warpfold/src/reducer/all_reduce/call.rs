//! One call of an exchanger, and how it is launched on all devices.

use std::sync::Arc;

use crate::device::{
    Arg, Kernel, LaunchShape, Stream,
    peers::{FailedAt, Together, launch_together},
};

use super::super::{Args, engine::Engine};

/// The most devices that exchange results.
pub(super) const MOST_DEVICES: usize = 8;

/// The shards of a call by their lengths, of which each device has one.
pub(super) struct Shards {
    lengths: Vec<u64>,
    total: u64,
}

impl Shards {
    pub(super) fn new(lengths: Vec<u64>) -> Self {
        Self { total: lengths.iter().sum(), lengths }
    }

    /// The length of all shards together.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The length of a shard.
    pub(super) fn length(&self, shard: usize) -> u64 {
        self.lengths[shard]
    }

    /// Whether a device has a result to exchange: its shard has elements, or no shard has any,
    /// because each device then has the result of no elements.
    pub(super) fn has(&self, shard: usize) -> bool {
        self.total == 0 || self.lengths[shard] > 0
    }

    /// A mask in which bit `i` is set if device `i` has a result to exchange.
    pub(super) fn present(&self) -> u32 {
        let ranks = 0..self.lengths.len();
        ranks.filter(|&rank| self.has(rank)).map(|rank| 1 << rank).sum()
    }

    /// For each device, the number of elements before its shard, which is added to indices.
    pub(super) fn bases(&self) -> impl Iterator<Item = u64> {
        self.lengths.iter().scan(0, |before, length| {
            let base = *before;
            *before += length;
            Some(base)
        })
    }
}

/// A call, in which each device has a shard, an output and a stream.
pub(super) struct Call<'a> {
    /// The number of results.
    pub(super) count: u32,
    pub(super) shards: &'a Shards,
    /// The addresses of the outputs.
    pub(super) outputs: &'a [u64],
    pub(super) streams: &'a [&'a Stream],
}

impl Call<'_> {
    /// The number of devices.
    pub(super) fn ranks(&self) -> usize {
        self.outputs.len()
    }

    /// Launches a kernel on each device, which may wait for the others. If `own` has a launch of a
    /// device, that one is made instead of the one with `shape` and `args`.
    ///
    /// # Safety
    ///
    /// That of [`launch_together`].
    pub(super) unsafe fn launch(
        &self,
        engines: &[Arc<Engine>],
        shape: LaunchShape,
        args: impl Fn(usize) -> Args,
        own: &[Option<OwnLaunch<'_>>],
    ) -> Result<(), FailedAt> {
        let own = |rank: usize| own.get(rank).and_then(Option::as_ref);
        let args: Vec<_> = (0..self.ranks())
            .map(|rank| if own(rank).is_some() { Args::new() } else { args(rank) })
            .collect();
        let launches = engines.iter().zip(self.streams).zip(&args).enumerate();
        let launches: Vec<_> = launches
            .map(|(rank, ((engine, &stream), args))| match own(rank) {
                Some(OwnLaunch { kernel, shape, args }) => {
                    Together { stream, kernel, shape: *shape, args }
                }
                None => Together { stream, kernel: engine.kernel(), shape, args },
            })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { launch_together(&launches) }
    }
}

/// The arguments of a kernel of which there is one for each device. Kernels have as many as there
/// can be devices, and do not use those of devices that there are not.
pub(super) fn for_each(ranks: usize, arg: impl Fn(usize) -> Arg) -> impl Iterator<Item = Arg> {
    (0..MOST_DEVICES).map(move |rank| arg(rank.min(ranks - 1)))
}

/// The launch of a device that reduces its shard and exchanges the result at once.
pub(super) struct OwnLaunch<'a> {
    kernel: &'a Kernel,
    shape: LaunchShape,
    args: Args,
}

impl<'a> OwnLaunch<'a> {
    /// # Safety
    ///
    /// The launch keeps the contract of `warpfold_device::exchange::fused`, as one of the launches
    /// of its call.
    pub(super) unsafe fn new(kernel: &'a Kernel, shape: LaunchShape, args: Args) -> Self {
        Self { kernel, shape, args }
    }
}
