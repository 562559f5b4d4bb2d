//! The kernel that combines raw results of all ranks, which were gathered on the device of each.

use std::sync::Arc;

use crate::device::{Buffer, Device, DeviceError, Stream};

use super::super::{
    super::{
        Error,
        engine::{Cache, Engine},
    },
    call::{MOST_DEVICES, Shards},
    direct::{Places, Tiles},
    gathered::gathered_bytes,
    kernels::Exchange,
};

/// The kernel and the memory of this rank.
#[derive(Debug)]
pub(super) struct Combiner {
    engine: Arc<Engine>,
    tiles: Tiles,
    /// The size of a raw result.
    bytes: usize,
    ranks: usize,
    /// The raw results of this rank's shard.
    raws: Buffer<u8>,
    /// The raw results of all ranks.
    all_raws: Buffer<u8>,
    /// What has been combined so far, twice, because a launch reads the one and writes the other.
    /// They are needed only if there are more ranks than a launch can combine.
    so_far: Option<[Buffer<u8>; 2]>,
}

impl Combiner {
    /// Prepares this rank's device for calls with up to `most` raw results of `bytes` bytes.
    pub(super) fn new(
        device: &Device,
        exchange: Exchange,
        (bytes, most): (usize, u32),
        ranks: usize,
    ) -> Result<Self, Error> {
        let size = gathered_bytes(bytes, most);
        let so_far = if ranks > MOST_DEVICES {
            Some([device.alloc(size)?, device.alloc(size)?])
        } else {
            None
        };
        Ok(Self {
            engine: device.attached::<Cache>().engine(device, exchange.direct, bytes)?,
            tiles: Tiles::new(exchange, bytes, device.info().multiprocessors),
            bytes,
            ranks,
            raws: device.alloc(size)?,
            all_raws: device.alloc(size * ranks)?,
            so_far,
        })
    }

    /// The address of the raw results of this rank's shard.
    pub(super) fn raws(&self) -> u64 {
        self.raws.address()
    }

    /// The address of the raw results of all ranks.
    pub(super) fn all_raws(&self) -> u64 {
        self.all_raws.address()
    }

    /// The size of a raw result.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes of each rank there are for so many results.
    pub(super) fn bytes_of(&self, count: u32) -> usize {
        gathered_bytes(self.bytes, count)
    }

    /// Launches the kernel. Earlier work of the stream has left the raw results of all ranks, in
    /// the order of the ranks.
    ///
    /// # Safety
    ///
    /// `output` has the address of `count` raw results on this rank's device, which nothing but the
    /// work of the stream uses meanwhile. `count` is one that the combiner was made for.
    pub(super) unsafe fn launch(
        &self,
        (rank, shards): (usize, &Shards),
        (output, count): (u64, u32),
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        let of_rank = |of: usize| self.all_raws() + (of * self.bytes_of(count)) as u64;
        let Some(so_far) = &self.so_far else {
            let ranks = (rank, self.ranks);
            // SAFETY: the caller's promise.
            return unsafe { self.launch_one(ranks, shards, (output, count), &of_rank, stream) };
        };
        // After the first launch, the first rank of a launch stands for all those in front.
        let mut first = 0;
        for step in 0.. {
            let in_front = usize::from(first > 0);
            let end = self.ranks.min(first + MOST_DEVICES - in_front);
            let part = shards.part(first, end);
            let raws = |of: usize| match (of, in_front) {
                (0, 1) => so_far[step % 2].address(),
                _ => of_rank(first + of - in_front),
            };
            let is_last = end == self.ranks;
            let to = if is_last { output } else { so_far[(step + 1) % 2].address() };
            if is_last || part.present() > 0 {
                let ranks = (0, end - first + in_front);
                // SAFETY: the caller's promise, and what is combined so far has as much room.
                unsafe { self.launch_one(ranks, &part, (to, count), &raws, stream)? };
            }
            if is_last {
                break;
            }
            first = end;
        }
        Ok(())
    }

    /// Launches the kernel for no more ranks than it can combine, whose raw results `raws` gives.
    ///
    /// # Safety
    ///
    /// That of [`launch`](Self::launch).
    unsafe fn launch_one(
        &self,
        ranks: (usize, usize),
        shards: &Shards,
        results: (u64, u32),
        raws: &dyn Fn(usize) -> u64,
        stream: &Stream,
    ) -> Result<(), DeviceError> {
        let places = Places { raws, mailboxes: None, limit: 0 };
        let (shape, args) = self.tiles.launch(ranks, shards, results, &places);
        // SAFETY: the kernel reads the raw results in buffers of this device, and writes as many to
        // the output. Without mailboxes it does not wait.
        unsafe { stream.launch(self.engine.kernel(), shape, &args) }
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::{
        ptx::{EmbeddedKernel, reduce},
        reducer::{Indexed, all_reduce::kernels::exchange_of},
    };

    use super::*;

    /// Combines raw results that lie where they were gathered.
    fn combined<R: bytemuck::Pod>(kernel: &EmbeddedKernel, shards: &[(u64, R)]) -> R {
        let (device, bytes, ranks) = (Device::simulator(), size_of::<R>(), shards.len());
        let exchange = exchange_of(kernel, bytes).unwrap();
        let combiner = Combiner::new(&device, exchange, (bytes, 1), ranks).unwrap();
        let mut gathered = vec![0u8; combiner.bytes_of(1) * ranks];
        for ((_, raw), place) in shards.iter().zip(gathered.chunks_mut(combiner.bytes_of(1))) {
            place[..bytes].copy_from_slice(bytemuck::bytes_of(raw));
        }
        let (output, stream) = (device.alloc::<R>(1).unwrap(), device.stream().unwrap());
        let lengths = Shards::new(shards.iter().map(|shard| shard.0).collect());
        // SAFETY: there is room for the results of all ranks, and the output has the length 1.
        unsafe {
            stream.write_waiting(combiner.all_raws(), &gathered).unwrap();
            combiner.launch((0, &lengths), (output.address(), 1), &stream).unwrap();
        }
        output.copy_to_host().unwrap()[0]
    }

    #[test]
    fn gathered_results_are_combined_in_the_order_of_any_number_of_ranks() {
        for ranks in [1, 2, 7, 8, 9, 15, 16, 17, 22, 23, 40] {
            // Sums that show the order, because they are rounded.
            let shards: Vec<_> = (0..ranks).map(|rank| (1, 0.1f32 * rank as f32)).collect();
            let expected = shards.iter().map(|shard| shard.1).reduce(|a, b| a + b).unwrap();
            let sum = combined(&reduce::sum::f32, &shards);
            assert_eq!(sum.to_bits(), expected.to_bits(), "{ranks} ranks");
            // All shards are empty.
            let shards: Vec<_> = (0..ranks).map(|_| (0, 0u64)).collect();
            assert_eq!(combined(&reduce::sum::u32, &shards), 0, "{ranks} ranks");
        }
    }

    #[test]
    fn indices_count_the_elements_of_all_ranks_and_empty_shards_do_not_count() {
        for empty in [0, 6, 7, 8, 9, 30] {
            let none = (0, Indexed::new(9.0f64, 0));
            let some = [(3, Indexed::new(5.0, 2)), (7, Indexed::new(6.0, 4)), none, (1, none.1)];
            let mut shards = vec![none; empty];
            shards.extend(&some[..3]);
            shards.extend(vec![none; empty]);
            let best = combined(&reduce::argmax::f64, &shards);
            assert_eq!((best.value, best.index), (6.0, 7), "{empty} empty shards");
            shards.push(some[3]);
            let best = combined(&reduce::argmax::f64, &shards);
            assert_eq!((best.value, best.index), (9.0, 10), "{empty} empty shards");
        }
    }
}
