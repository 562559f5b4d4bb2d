//! Calls of [`AllRowReducer`].

use std::{ops::Range, rc::Rc};

use anyhow::{Context, bail, ensure};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    AllRowReducer, Array, Buffer, Error, Group, RowReducer, Stream, View,
    reducer::{ArraysOperation, Operation, PendingRows},
};

use super::{
    Case, Sizes, TIMEOUT,
    known::{Drawn, Known},
    pool::{Pool, Route, lengths, outputs},
    verdict::{agree, first_other},
};

/// The most rows of a call whose results are also computed in plain Rust.
const MOST_ON_HOST: usize = 500;

/// An operation over one type, whose calls give a result for each row. The raw result of a row is
/// that of a whole array.
pub(crate) struct Rows<T: Drawn, O: Known<T> + ArraysOperation<T>> {
    group: Group,
    pool: Rc<Pool<T>>,
    sizes: Sizes,
    all: AllRowReducer<T, O>,
    alone: Vec<RowReducer<T, O>>,
    calls: Vec<Call<T, O>>,
}

struct Call<T: Drawn, O: ArraysOperation<T>> {
    rows: usize,
    /// The axis that is reduced.
    axis: usize,
    /// The elements of a row in each shard.
    lengths: Vec<usize>,
    parts: Vec<[Range<usize>; 2]>,
    outputs: Vec<Buffer<O::RowRaw>>,
    pending: Option<PendingRows<T, O>>,
}

impl<T: Drawn, O: ArraysOperation<T>> Call<T, O> {
    fn shape(&self, shard: usize) -> [u64; 2] {
        let mut shape = [self.rows as u64; 2];
        shape[self.axis] = self.lengths[shard] as u64;
        shape
    }

    /// The elements of a row of all shards, in one input.
    fn row(&self, pool: &Pool<T>, input: usize, row: usize) -> Vec<T> {
        let of_shard = |(shard, parts): (usize, &[Range<usize>; 2])| {
            let values = &pool.values[parts[input].clone()];
            let length = self.lengths[shard];
            let (first, step) = if self.axis == 1 { (row * length, 1) } else { (row, self.rows) };
            (0..length).map(move |i| values[first + i * step])
        };
        self.parts.iter().enumerate().flat_map(of_shard).collect()
    }
}

impl<T, O> Rows<T, O>
where
    T: Drawn,
    O: Known<T, Arity: Route<T>> + ArraysOperation<T, RowRaw = <O as Operation<T>>::Raw>,
{
    pub(crate) fn new(group: &Group, pool: &Rc<Pool<T>>, sizes: Sizes) -> anyhow::Result<Self> {
        let devices = group.devices().iter();
        let alone = devices.map(|device| device.row_reducer(O::default()));
        Ok(Self {
            group: group.clone(),
            pool: Rc::clone(pool),
            sizes,
            all: group.all_row_reducer(O::default(), sizes.rows as u32)?.with_timeout(TIMEOUT),
            alone: alone.collect::<Result<_, _>>()?,
            calls: Vec::new(),
        })
    }

    fn arrays<'a>(
        pool: &'a Pool<T>,
        call: &Call<T, O>,
    ) -> Result<Vec<[Array<View<'a, T>>; 2]>, Error> {
        let of_shard = |(shard, parts): (usize, &[Range<usize>; 2])| {
            let array = |part: &Range<usize>| {
                Array::new(pool.buffers[shard].view(part.clone()), &call.shape(shard))
            };
            Ok([array(&parts[0])?, array(&parts[1])?])
        };
        call.parts.iter().enumerate().map(of_shard).collect()
    }

    /// The raw results of each device for its shard, combined on the host in the order of the
    /// shards.
    fn combined(&self, call: &Call<T, O>) -> anyhow::Result<Vec<O::Raw>> {
        let mut whole: Option<Vec<O::Raw>> = None;
        let mut base = 0;
        for (shard, arrays) in Self::arrays(&self.pool, call)?.iter().enumerate() {
            let length = call.lengths[shard];
            if length == 0 {
                continue;
            }
            let device = &self.group.devices()[shard];
            let (mut output, stream) = (device.alloc(call.rows)?, device.stream()?);
            let arrays = O::Arity::arrays(arrays);
            let axes = [call.axis as isize];
            self.alone[shard].reduce_axes_into(arrays, &axes, &mut output, &stream)?;
            let raws: Vec<O::Raw> = output.copy_to_host()?;
            let raws = raws.into_iter().map(|raw| O::moved(raw, base));
            whole = Some(match whole {
                None => raws.collect(),
                Some(whole) => {
                    whole.into_iter().zip(raws).map(|(first, raw)| O::combine(first, raw)).collect()
                }
            });
            base += length as u64;
        }
        match (whole, O::identity()) {
            (Some(whole), _) => Ok(whole),
            (None, identity) => Ok(vec![identity.context("no shard has elements")?; call.rows]),
        }
    }

    fn check_call(&self, call: &Call<T, O>) -> anyhow::Result<()> {
        if call.rows == 0 {
            return Ok(());
        }
        let combined = self.combined(call)?;
        let pending = call.pending.context("the call was not made")?;
        let results =
            call.outputs.iter().map(Buffer::copy_to_host).collect::<Result<Vec<_>, _>>()?;
        for row in (0..call.rows).step_by(call.rows.div_ceil(MOST_ON_HOST)) {
            let [a, b] = [0, 1].map(|input| call.row(&self.pool, input, row));
            let expected = O::expected(&a, &b);
            let result = pending.finish(results[0][row]);
            let right = O::found(&result).is_some_and(|found| agree(&expected, &found));
            ensure!(right, "row {row} of device 0 is {result:?}, and {expected:?} is right");
        }
        if O::HAS_BITS_OF_HOST
            && let Some(row) = first_other(&combined, &results[0])
        {
            let [ours, alone] = [results[0][row], combined[row]].map(|raw| pending.finish(raw));
            bail!("row {row} is {ours:?} on device 0, and {alone:?} if the host combines");
        }
        for (device, raws) in results.iter().enumerate() {
            if let Some(row) = first_other(&results[0], raws) {
                let [first, other] = [&results[0], raws].map(|raws| pending.finish(raws[row]));
                bail!("row {row} is {first:?} on device 0 and {other:?} on {device}");
            }
        }
        Ok(())
    }
}

impl<T, O> Case for Rows<T, O>
where
    T: Drawn,
    O: Known<T, Arity: Route<T>> + ArraysOperation<T, RowRaw = <O as Operation<T>>::Raw>,
{
    fn name(&self) -> String {
        format!("{} of rows of {}", O::NAME, T::NAME)
    }

    fn draw(&mut self, rng: &mut ChaCha8Rng) -> anyhow::Result<usize> {
        // From some number on, results are combined where they lie.
        let most = if rng.random_ratio(1, 3) {
            self.sizes.rows
        } else {
            1 << rng.random_range(0..=self.sizes.rows.ilog2())
        };
        let rows = rng.random_range(0..=most);
        let most = (self.sizes.elements / rows.max(1)).max(1);
        let lengths = lengths(self.group.devices().len(), most, O::identity().is_some(), rng);
        let parts = lengths.iter().map(|&len| self.pool.part(len * rows, rng)).collect();
        let outputs = outputs(&self.group, rows)?;
        let axis = rng.random_range(0..2);
        self.calls.push(Call { rows, axis, lengths, parts, outputs, pending: None });
        Ok(self.calls.len() - 1)
    }

    fn describe(&self, call: usize) -> String {
        let Call { rows, axis, parts, .. } = &self.calls[call];
        format!("{}, {rows} of them along axis {axis}, of the parts {parts:?}", self.name())
    }

    fn launch(&mut self, call: usize, streams: &[&Stream]) -> Result<(), Error> {
        let arrays = Self::arrays(&self.pool, &self.calls[call])?;
        let call = &mut self.calls[call];
        let arrays = arrays.iter().map(|arrays| O::Arity::arrays(arrays));
        let axes = [call.axis as isize];
        let streams = streams.iter().copied();
        call.pending =
            Some(self.all.reduce_axes_into(arrays, &axes, &mut call.outputs, streams)?);
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<u64> {
        self.all.check().with_context(|| self.name())?;
        for (call, drawn) in self.calls.iter().enumerate() {
            self.check_call(drawn).with_context(|| self.describe(call))?;
        }
        Ok(self.calls.drain(..).len() as u64)
    }
}
