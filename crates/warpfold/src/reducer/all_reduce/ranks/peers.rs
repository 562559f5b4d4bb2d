//! The kernels that pass raw results through the memory of all ranks.

use std::{sync::Arc, time::Duration};

use crate::{
    device::{Arg, Device, DeviceError, LaunchShape, Stream},
    ptx::EmbeddedKernel,
    rendezvous::Rendezvous,
};

use super::{
    super::{
        super::{
            Args, Error,
            engine::{Cache, Engine},
        },
        call::Shards,
        kernels::Exchange,
        layout::{Devices, Layout, limit},
    },
    Meeting, RankError, Shared,
    links::Links,
    message::Failed,
};

/// The kernels of this rank, and the memory of all ranks.
#[derive(Debug)]
pub(super) struct Mailboxes {
    /// A graph that has captured a call owns this too.
    links: Arc<Links>,
    kernels: Kernels,
    rank: usize,
    /// How long a kernel waits for the results of another rank.
    pub(super) timeout: Duration,
}

/// The kernels on this rank's device, and what is to be where in the memory of all ranks.
#[derive(Debug)]
pub(super) struct Kernels {
    layout: Layout,
    /// The kernel that posts results.
    posting: Arc<Engine>,
    /// The kernel that combines results where they lie, if a call may have so many.
    direct: Option<Arc<Engine>>,
    /// The kernel that reduces the shard of this rank and exchanges the result at once, if there is
    /// one.
    fused: Option<Arc<Engine>>,
}

impl Kernels {
    /// Loads the kernels for calls with up to `most` raw results of `bytes` bytes.
    pub(super) fn load(
        device: &Device,
        devices: Devices,
        exchange: Exchange,
        fused: Option<&'static EmbeddedKernel>,
        (bytes, most): (usize, u32),
    ) -> Result<Self, Error> {
        let layout = Layout::new(devices, exchange, bytes, most);
        let cache = device.attached::<Cache>();
        let load = |kernel| cache.engine(device, kernel, bytes);
        Ok(Self {
            layout,
            posting: load(exchange.posts)?,
            direct: layout.has_direct().then(|| load(exchange.direct)).transpose()?,
            fused: fused.map(load).transpose()?,
        })
    }

    /// Shares the memory with the other ranks, all of which call this.
    pub(super) fn share<R: Rendezvous>(
        self,
        shared: &Shared<R>,
        meeting: &mut Meeting<R>,
    ) -> Result<Result<Mailboxes, Failed>, RankError> {
        let (number, size) = (meeting.next_memory(), self.layout.size());
        let meeting = &mut meeting.rendezvous;
        let links = Links::share(&shared.device, meeting, &shared.graves, number, size)?;
        let (rank, timeout) = (shared.rank as usize, shared.timeout);
        Ok(links.map(|links| Mailboxes { links: Arc::new(links), kernels: self, rank, timeout }))
    }
}

impl Mailboxes {
    /// The address of the raw results of this rank's shard.
    pub(super) fn raws(&self) -> u64 {
        self.links.address(self.rank) + self.kernels.layout.raws_at()
    }

    /// The rank for which this one has waited in vain, after all earlier work of the device.
    pub(super) fn absent(&self, device: &Device) -> Result<Option<u32>, DeviceError> {
        for at in self.kernels.layout.statuses() {
            // SAFETY: the memory has a status there, and was zeroed.
            let status = unsafe { device.read_at::<u64>(self.links.address(self.rank) + at, 1)? };
            if let Some(rank) = status[0].checked_sub(1) {
                return Ok(Some(rank as u32));
            }
        }
        Ok(None)
    }

    /// Launches the kernel that combines the raw results of all ranks. An earlier launch of the
    /// stream leaves those of this rank.
    ///
    /// # Safety
    ///
    /// `output` has the address of `count` raw results on this rank's device, which nothing but the
    /// work of the stream uses meanwhile. `count` is one that the kernels were loaded for.
    pub(super) unsafe fn launch(
        &self,
        shards: &Shards,
        (output, count): (u64, u32),
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        let Kernels { layout, posting, direct, .. } = &self.kernels;
        let engine = direct.as_ref().filter(|_| layout.is_direct(count)).unwrap_or(posting);
        stream.retain_opened(Arc::clone(&self.links) as _);
        let memory = |rank| self.links.address(rank);
        let (shape, args) =
            layout.launch(self.rank, shards, (output, count), limit(self.timeout), memory);
        // SAFETY: the kernel reads raw results, which an earlier launch of the stream has left in
        // this memory, and writes as many to the output. The mailboxes have as many words as so
        // many blocks use, and were zeroed. Dropping the links waits for the device, and the memory
        // of other ranks lives until all have closed it.
        unsafe { stream.launch(engine.kernel(), shape, &args) }
    }

    /// The kernel that reduces the shard of this rank and exchanges the result at once, and the
    /// arguments that say how it does the latter.
    pub(super) fn fused(&self, shards: &Shards) -> Option<(&Engine, Args)> {
        let engine = self.kernels.fused.as_deref()?;
        let memory = |rank| self.links.address(rank);
        let args =
            self.kernels.layout.exchange_args(self.rank, shards, limit(self.timeout), memory);
        Some((engine, args.collect()))
    }

    /// Launches the kernel that [`fused`](Self::fused) has given.
    ///
    /// # Safety
    ///
    /// The arguments begin with those by which a reduction of this rank's shard is launched, whose
    /// output is that of [`launch`](Self::launch), and those of `fused` follow.
    pub(super) unsafe fn launch_fused(
        &self,
        engine: &Engine,
        shape: LaunchShape,
        args: &[Arg],
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        stream.retain_opened(Arc::clone(&self.links) as _);
        // SAFETY: the kernel reads the elements of the shard, and writes one raw result. The rest
        // is as in `launch`.
        unsafe { stream.launch(engine.kernel(), shape, args) }
    }
}
