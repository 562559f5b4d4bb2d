//! Raw results that the ranks exchange on the host, and the kernel that combines them on the device
//! of each.

use crate::{
    device::{DeviceError, Stream},
    rendezvous::Rendezvous,
};

use super::{super::call::Shards, RankError, Shared, combiner::Combiner, message::together};

/// What combines the raw results of all ranks on this one.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) combiner: Combiner,
}

impl Relay {
    /// The raw results of this rank's shard, which the earlier work of the stream leaves. They are
    /// empty if this rank has none.
    ///
    /// # Safety
    ///
    /// The earlier work of the stream leaves `count` raw results for the combiner, if there are
    /// any.
    pub(super) unsafe fn read(
        &self,
        (rank, shards): (usize, &Shards),
        count: u32,
        stream: &Stream,
    ) -> Result<Vec<u8>, DeviceError> {
        let count = if shards.has(rank) { count as usize } else { 0 };
        let mut raws = vec![0; self.combiner.bytes() * count];
        // SAFETY: the caller's promise.
        unsafe { stream.read_waiting(self.combiner.raws(), &mut raws)? };
        Ok(raws)
    }

    /// Exchanges the raw results of all ranks, of which `own` are those of this one, and combines
    /// them. All ranks call this.
    ///
    /// # Safety
    ///
    /// That of [`Combiner::launch`].
    pub(super) unsafe fn exchange<R: Rendezvous>(
        &self,
        shared: &Shared<R>,
        call: &str,
        (own, shards): (&[u8], &Shards),
        (output, count): (u64, u32),
        stream: &Stream,
    ) -> Result<(), RankError> {
        let all = together(&mut shared.meeting().rendezvous, call, Ok(own))?;
        let bytes = self.combiner.bytes_of(count);
        let mut gathered = vec![0; bytes * all.len()];
        for (rank, (raws, place)) in all.iter().zip(gathered.chunks_mut(bytes.max(1))).enumerate() {
            let expected =
                if shards.has(rank) { self.combiner.bytes() * count as usize } else { 0 };
            if raws.len() != expected {
                return Err(RankError::Message { rank: rank as u32 });
            }
            place[..expected].copy_from_slice(raws);
        }
        if count == 0 {
            return Ok(());
        }
        // SAFETY: there is room for the raw results of all ranks.
        unsafe { stream.write_waiting(self.combiner.all_raws(), &gathered)? };
        // SAFETY: the caller's promise.
        unsafe {
            self.combiner.launch((shared.rank as usize, shards), (output, count), stream)?;
        }
        Ok(())
    }
}
