//! A bench for runs of equal neighbouring keys.

use warpfold::{
    BinKey, Buffer, Device, Error, RunReducer, SegmentOperation, Stream,
    reducer::{Item, KeysOf, PendingRuns},
};

use super::{Groups, Keyed};
use crate::{answer::Answer, meaning::Meaning, parts::PartBench};

/// A bench that reduces runs of keys of type `K`.
struct Bench<'a, T: Item, O: SegmentOperation<T>, K: BinKey> {
    device: Device,
    reduction: O,
    reducer: RunReducer<KeysOf<K>, T, O>,
    elements: Buffer<T>,
    keyed: &'a Keyed,
    keys: Buffer<K>,
    unique: Buffer<K>,
    output: Buffer<O::RowRaw>,
    offsets: Buffer<u64>,
    runs: Buffer<u64>,
    stream: Stream,
    /// The last launch.
    pending: Option<PendingRuns<T, O>>,
    meaning: &'a Meaning<O::Output>,
}

/// Opens a bench that reduces the runs of an array.
pub(super) fn open<'a, T: Item, O: SegmentOperation<T>, K: BinKey>(
    device: &Device,
    reduction: O,
    elements: &[T],
    (keyed, keys): (&'a Keyed, &[K]),
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    let n = keys.len();
    Ok(Box::new(Bench::<T, O, K> {
        device: device.clone(),
        reduction,
        reducer: device.key_reducer(reduction)?,
        elements: device.upload(elements)?,
        keyed,
        keys: device.upload(keys)?,
        unique: device.alloc(n)?,
        output: device.alloc(n)?,
        offsets: device.alloc(n + 1)?,
        runs: device.alloc(1)?,
        stream: device.own_stream()?,
        pending: None,
        meaning,
    }))
}

impl<T, O, K> PartBench for Bench<'_, T, O, K>
where
    T: Item,
    O: SegmentOperation<T>,
    K: BinKey,
{
    fn launch(&mut self) -> Result<(), Error> {
        let Self { reducer, elements, keys, unique, output, offsets, runs, stream, .. } = self;
        let pending = reducer
            .reduce_by_key_into(&*keys, &*elements, unique, output, offsets, runs, stream)?;
        self.pending = Some(pending);
        Ok(())
    }

    fn answers(&mut self) -> Result<Vec<Answer>, Error> {
        let pending = self.pending.expect("a launch comes before its answers");
        let runs = self.runs.copy_to_host()?[0] as usize;
        let offsets = self.offsets.view(..=runs).copy_to_host()?;
        let unique = self.unique.view(..runs).copy_to_host()?;
        let keys = unique.into_iter().map(|key| self.keyed.keys.number_of(bits(key))).collect();
        let counts = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let groups = self.keyed.found.get_or_init(|| Groups::new(keys, counts));
        let raw = self.output.view(..runs).copy_to_host()?;
        let lengths = groups.starts.windows(2).map(|pair| (pair[1] - pair[0]) as u64);
        raw.into_iter()
            .zip(lengths)
            .map(|(raw, length)| self.meaning.answer(pending.finish(raw, length)))
            .collect()
    }

    /// The bits of a run are those of a row of the same elements.
    fn depth(&self, length: u64) -> Result<u64, Error> {
        Ok(self.device.row_reducer::<T, O>(self.reduction)?.depth(length))
    }
}

/// The bits of a key.
fn bits<K: BinKey>(key: K) -> u64 {
    let mut bits = [0; 8];
    bits[..size_of::<K>()].copy_from_slice(bytemuck::bytes_of(&key));
    u64::from_le_bytes(bits)
}
