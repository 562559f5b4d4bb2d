//! The kernel that passes raw results through the mailboxes of all ranks.

use std::{sync::Arc, time::Duration};

use crate::{
    device::{Arg, Device, DeviceError, LaunchShape, Stream},
    rendezvous::Rendezvous,
};

use super::{
    super::{
        super::{
            Args, Error,
            engine::{Cache, Engine},
        },
        call::Shards,
        kernels::{Exchange, words},
        mailboxes::{ALIGNMENT, exchange_args, limit, posted_bytes, shape},
    },
    RankError,
    links::{Graves, Links},
    message::Failed,
};

/// The kernel of this rank, and the memory of all ranks: a mailbox, and the raw result of this
/// rank's shard behind it.
#[derive(Debug)]
pub(super) struct Mailboxes {
    /// A graph that has captured a call owns this too.
    links: Arc<Links>,
    engine: Arc<Engine>,
    layout: Layout,
    /// How long the kernel waits for the results of another rank.
    pub(super) timeout: Duration,
}

/// What is where in the memory of a rank, and which rank this is.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The words of 32 bits of a result.
    words: u32,
    /// The words of 32 bits for which a block has room.
    room: u32,
    /// Where the raw result begins, in bytes.
    raw_at: u64,
    /// The size of the memory, in bytes.
    size: u64,
    rank: usize,
    ranks: usize,
}

/// The kernel on this rank's device, before there is memory for it.
#[derive(Debug)]
pub(super) struct Posting {
    engine: Arc<Engine>,
    bytes: usize,
    per_block: u32,
}

impl Posting {
    /// Loads the kernel for raw results of `bytes` bytes.
    pub(super) fn load(device: &Device, exchange: Exchange, bytes: usize) -> Result<Self, Error> {
        let engine = device.attached::<Cache>().engine(device, exchange.posts, bytes)?;
        Ok(Self { engine, bytes, per_block: exchange.per_block })
    }

    /// Shares the memory with the other ranks, all of which call this.
    pub(super) fn share<R: Rendezvous>(
        self,
        device: &Device,
        meeting: &mut R,
        graves: &Arc<Graves>,
        number: u64,
    ) -> Result<Result<Mailboxes, Failed>, RankError> {
        let (rank, ranks) = (meeting.rank() as usize, meeting.ranks() as usize);
        let layout = Layout::new(self.bytes, self.per_block, rank, ranks);
        let links = Links::share(device, meeting, graves, number, layout.size)?;
        let (engine, timeout) = (self.engine, meeting.timeout());
        Ok(links.map(|links| Mailboxes { links: Arc::new(links), engine, layout, timeout }))
    }
}

impl Layout {
    /// Of memory for raw results of `bytes` bytes, of which a block of the kernel has room for
    /// `per_block`.
    fn new(bytes: usize, per_block: u32, rank: usize, ranks: usize) -> Self {
        let words = words(bytes);
        let room = per_block * words;
        let raw_at = posted_bytes(1, room, ranks).next_multiple_of(ALIGNMENT);
        Self { words, room, raw_at, size: raw_at + bytes as u64, rank, ranks }
    }

    /// The shape and the arguments of the launch of this rank. The memory of each rank is at an
    /// address that `memory` gives. The kernel waits for `limit` nanoseconds, or for ever if that
    /// is 0.
    fn launch(
        &self,
        shards: &Shards,
        output: u64,
        limit: u64,
        memory: impl Fn(usize) -> u64,
    ) -> (LaunchShape, Args) {
        let Self { words, room, raw_at, rank, ranks, .. } = *self;
        let result =
            [Arg::Pointer(memory(rank) + raw_at), Arg::Pointer(output), Arg::U32(1)].into_iter();
        let args = result.chain(exchange_args(shards, (rank, ranks), limit, memory)).collect();
        (shape(1, (words, room), ranks), args)
    }
}

impl Mailboxes {
    /// The address of the raw result of this rank's shard.
    pub(super) fn raw(&self) -> u64 {
        self.links.address(self.layout.rank) + self.layout.raw_at
    }

    /// The rank for which this one has waited in vain, after all earlier work of the device.
    pub(super) fn absent(&self, device: &Device) -> Result<Option<u32>, DeviceError> {
        // SAFETY: the memory begins with the status, and was zeroed.
        let status = unsafe { device.read_at::<u64>(self.links.address(self.layout.rank), 1)? };
        Ok(status[0].checked_sub(1).map(|rank| rank as u32))
    }

    /// Launches the kernel, which combines the raw results of all ranks. An earlier launch of the
    /// stream leaves that of this rank.
    ///
    /// # Safety
    ///
    /// `output` is the address of a raw result on this rank's device, which nothing but the work of
    /// the stream uses meanwhile.
    pub(super) unsafe fn launch(
        &self,
        shards: &Shards,
        output: u64,
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        stream.retain_opened(Arc::clone(&self.links) as _);
        let memory = |rank| self.links.address(rank);
        let (shape, args) = self.layout.launch(shards, output, limit(self.timeout), memory);
        // SAFETY: the kernel reads the raw result, which an earlier launch of the stream has left
        // in this memory, and writes one to the output. The mailboxes have as many words as one
        // block uses, and were zeroed. Dropping the links waits for the device, and the memory of
        // other ranks lives until all have closed it.
        unsafe { stream.launch(self.engine.kernel(), shape, &args) }
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::{
        device::peers::{PeerMemory, Together, launch_together},
        ptx::{EmbeddedKernel, reduce},
        reducer::{Indexed, all_reduce::kernels::exchange_of},
    };

    use super::*;

    /// Simulators share memory as processes do, and each is launched as a rank.
    fn exchange<R: bytemuck::Pod>(
        kernel: &EmbeddedKernel,
        shards: &[(u64, R)],
        calls: u32,
    ) -> Vec<R> {
        let ranks = shards.len();
        let devices: Vec<_> = shards.iter().map(|_| Device::simulator()).collect();
        let found = exchange_of(kernel, size_of::<R>()).unwrap();
        let layouts: Vec<_> = (0..ranks)
            .map(|rank| Layout::new(size_of::<R>(), found.per_block, rank, ranks))
            .collect();
        let memory = PeerMemory::zeroed(&devices, layouts[0].size).unwrap();
        let lengths = Shards::new(shards.iter().map(|shard| shard.0).collect());
        let outputs: Vec<_> = devices.iter().map(|device| device.alloc::<R>(1).unwrap()).collect();
        let streams: Vec<_> = devices.iter().map(|device| device.stream().unwrap()).collect();
        let engines: Vec<_> = devices
            .iter()
            .map(|device| Posting::load(device, found, size_of::<R>()).unwrap().engine)
            .collect();
        for (rank, (_, raw)) in shards.iter().enumerate() {
            let address = memory.address(rank) + layouts[rank].raw_at;
            // SAFETY: the memory has a raw result there.
            unsafe { streams[rank].write_waiting(address, bytemuck::bytes_of(raw)).unwrap() };
        }
        for _ in 0..calls {
            let launches: Vec<_> = (0..ranks)
                .map(|rank| {
                    let output = outputs[rank].address();
                    layouts[rank].launch(&lengths, output, 0, |of| memory.address(of))
                })
                .collect();
            let together: Vec<_> = launches
                .iter()
                .enumerate()
                .map(|(rank, (shape, args))| Together {
                    stream: &streams[rank],
                    kernel: engines[rank].kernel(),
                    shape: *shape,
                    args,
                })
                .collect();
            // SAFETY: as in `Mailboxes::launch`.
            unsafe { launch_together(&together).unwrap() };
        }
        outputs.iter().map(|output| output.copy_to_host().unwrap()[0]).collect()
    }

    #[test]
    fn ranks_get_what_the_kernel_combines() {
        for ranks in 1..=8u64 {
            let shards: Vec<_> = (0..ranks).map(|rank| (10, 1.5f32 * rank as f32)).collect();
            let expected = 1.5 * (ranks * (ranks - 1) / 2) as f32;
            for calls in 1..=3 {
                let found = exchange(&reduce::sum::f32, &shards, calls);
                assert_eq!(found, vec![expected; ranks as usize]);
            }
        }
    }

    #[test]
    fn indices_count_the_elements_of_all_ranks_and_empty_shards_do_not_count() {
        let shards = [
            (3, Indexed::new(5.0f64, 2)),
            (0, Indexed::new(9.0, 0)),
            (7, Indexed::new(6.0, 4)),
            (2, Indexed::new(6.0, 0)),
        ];
        for found in exchange(&reduce::argmax::f64, &shards, 2) {
            assert_eq!((found.value, found.index), (6.0, 7));
        }
    }
}
