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

    /// The shards from `first` to `end`. If there are shards in front of them, these are one shard,
    /// which is the first.
    pub(super) fn part(&self, first: usize, end: usize) -> Self {
        let in_front = (first > 0).then(|| self.lengths[..first].iter().sum());
        let lengths = in_front.into_iter().chain(self.lengths[first..end].iter().copied());
        Self { lengths: lengths.collect(), total: self.total }
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

    /// Launches a kernel on each device, which may wait for the others. `launch` gives the shape
    /// and the arguments of each device. If `own` has a launch of a device, that one is made
    /// instead.
    ///
    /// # Safety
    ///
    /// That of [`launch_together`].
    pub(super) unsafe fn launch(
        &self,
        engines: &[Arc<Engine>],
        launch: impl Fn(usize) -> (LaunchShape, Args),
        own: Vec<Option<Launch<'_>>>,
    ) -> Result<(), FailedAt> {
        let mut own = own.into_iter();
        let launches: Vec<_> = engines
            .iter()
            .enumerate()
            .map(|(rank, engine)| {
                own.next().flatten().unwrap_or_else(|| {
                    let (shape, args) = launch(rank);
                    Launch { kernel: engine.kernel(), shape, args }
                })
            })
            .collect();
        let together: Vec<_> = launches
            .iter()
            .zip(self.streams)
            .map(|(&Launch { kernel, shape, ref args }, &stream)| Together {
                stream,
                kernel,
                shape,
                args,
            })
            .collect();
        // SAFETY: the caller's promise.
        unsafe { launch_together(&together) }
    }
}

/// The arguments of a kernel of which there is one for each device. Kernels have as many as there
/// can be devices, and do not use those of devices that there are not.
pub(super) fn for_each(ranks: usize, arg: impl Fn(usize) -> Arg) -> impl Iterator<Item = Arg> {
    (0..MOST_DEVICES).map(move |rank| arg(rank.min(ranks - 1)))
}

/// The launch of one device in a call.
pub(super) struct Launch<'a> {
    kernel: &'a Kernel,
    shape: LaunchShape,
    args: Args,
}

impl<'a> Launch<'a> {
    /// The launch of a device that reduces its shard and exchanges the result at once.
    ///
    /// # Safety
    ///
    /// The launch keeps the contract of `warpfold_device::exchange::fused`, as one of the launches
    /// of its call.
    pub(super) unsafe fn new(kernel: &'a Kernel, shape: LaunchShape, args: Args) -> Self {
        Self { kernel, shape, args }
    }
}
