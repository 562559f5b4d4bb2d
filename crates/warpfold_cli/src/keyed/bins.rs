//! A bench for bins.

use warpfold::{
    BinKey, BinOperation, BinReducer, BinStatus, Buffer, Device, Error, Stream,
    reducer::{BinCounter, Item, PendingBins},
};

use super::{Groups, Keyed};
use crate::{answer::Answer, meaning::Meaning, parts::PartBench};

/// A bench that reduces values into bins, by keys of type `K`.
struct Bench<'a, T: Item, O: BinOperation<T>, K: BinKey> {
    reducer: BinReducer<T, O>,
    counter: BinCounter<K>,
    elements: Buffer<T>,
    keyed: &'a Keyed,
    keys: Buffer<K>,
    output: Buffer<O::Raw>,
    counts: Buffer<u64>,
    status: Buffer<BinStatus>,
    stream: Stream,
    /// The last launch.
    pending: Option<PendingBins<T, O>>,
    meaning: &'a Meaning<O::Output>,
}

/// Opens a bench that reduces an array into bins.
pub(super) fn open<'a, T: Item, O: BinOperation<T>, K: BinKey>(
    device: &Device,
    reduction: O,
    elements: &[T],
    (keyed, keys, bins): (&'a Keyed, &[K], usize),
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    Ok(Box::new(Bench::<T, O, K> {
        reducer: device.bin_reducer(reduction)?,
        counter: device.bin_counter()?,
        elements: device.upload(elements)?,
        keyed,
        keys: device.upload(keys)?,
        output: device.alloc(bins)?,
        counts: device.alloc(bins)?,
        status: device.upload(&[BinStatus::default()])?,
        stream: device.own_stream()?,
        pending: None,
        meaning,
    }))
}

impl<T: Item, O: BinOperation<T>, K: BinKey> PartBench for Bench<'_, T, O, K> {
    fn launch(&mut self) -> Result<(), Error> {
        let Self { reducer, elements, keys, output, status, stream, .. } = self;
        let pending = reducer.reduce_into_bins_into(&*keys, &*elements, output, status, stream)?;
        self.pending = Some(pending);
        Ok(())
    }

    fn answers(&mut self) -> Result<Vec<Answer>, Error> {
        let pending = self.pending.expect("a launch comes before its answers");
        let Self { counter, keys, counts, status, stream, .. } = self;
        counter.count_into_bins_into(&*keys, counts, &mut *status, stream)?;
        let status = self.status.copy_to_host()?[0];
        pending.check(status).map_err(|error| self.keyed.keys.named(error))?;
        let counts = self.counts.copy_to_host()?;
        self.keyed.found.get_or_init(|| {
            let numbers = (0..counts.len()).map(|bin| bin as i128).collect();
            Groups::new(numbers, counts.iter().map(|&count| count as usize))
        });
        let raw = self.output.copy_to_host()?.into_iter().zip(counts).zip(0..);
        raw.map(|((raw, count), bin)| self.meaning.answer(pending.finish(raw, bin, count)))
            .collect()
    }

    fn depth(&self, length: u64) -> Result<u64, Error> {
        let depth = self.reducer.depth(self.elements.len() as u64, self.output.len());
        Ok(depth.min(length.max(1)))
    }
}
