//! Calls of [`AllReducer`].

use std::{ops::Range, rc::Rc};

use anyhow::{Context, ensure};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    AllReducer, Buffer, Error, Group, GroupReducer, Stream,
    reducer::{Operation, Pending},
};

use super::{
    Case, TIMEOUT,
    known::{Drawn, Known},
    pool::{Pool, Route, lengths, outputs},
    verdict::{agree, first_other},
};

/// An operation over one type, whose calls give one result.
pub(crate) struct Whole<T: Drawn, O: Known<T>> {
    group: Group,
    pool: Rc<Pool<T>>,
    most: usize,
    all: AllReducer<T, O>,
    on_host: GroupReducer<T, O>,
    calls: Vec<Call<T, O>>,
}

struct Call<T: Drawn, O: Operation<T>> {
    parts: Vec<[Range<usize>; 2]>,
    outputs: Vec<Buffer<O::Raw>>,
    pending: Option<Pending<T, O>>,
}

impl<T: Drawn, O: Known<T, Arity: Route<T>>> Whole<T, O> {
    pub(crate) fn new(group: &Group, pool: &Rc<Pool<T>>, most: usize) -> anyhow::Result<Self> {
        Ok(Self {
            group: group.clone(),
            pool: Rc::clone(pool),
            most,
            all: group.all_reducer(O::default())?.with_timeout(TIMEOUT),
            on_host: group.reducer(O::default())?,
            calls: Vec::new(),
        })
    }

    fn shards<'a>(
        pool: &'a Pool<T>,
        parts: &'a [[Range<usize>; 2]],
    ) -> impl Iterator<Item = <O::Arity as Route<T>>::Shard<'a>> {
        let shard = |(buffer, parts): (&'a Buffer<T>, &'a [Range<usize>; 2])| {
            O::Arity::shard(parts.each_ref().map(|part| buffer.view(part.clone())))
        };
        pool.buffers.iter().zip(parts).map(shard)
    }

    fn check_call(&self, call: &Call<T, O>) -> anyhow::Result<()> {
        let on_host = self.on_host.reduce(Self::shards(&self.pool, &call.parts));
        let [a, b] = [0, 1].map(|input| -> Vec<T> {
            let parts = call.parts.iter().map(|parts| &self.pool.values[parts[input].clone()]);
            parts.collect::<Vec<_>>().concat()
        });
        let expected = O::expected(&a, &b);
        let pending = call.pending.context("the call was not made")?;
        let mut first = None;
        for (device, output) in call.outputs.iter().enumerate() {
            let raw = output.copy_to_host()?;
            let result = pending.finish(raw[0]);
            let right = O::found(&result).is_some_and(|found| agree(&expected, &found));
            ensure!(right, "device {device} has {result:?}, and {expected:?} is right");
            let same = !O::HAS_BITS_OF_HOST || format!("{result:?}") == format!("{on_host:?}");
            ensure!(same, "device {device} has {result:?}, and `Group::reduce` {on_host:?}");
            let first = first.get_or_insert_with(|| raw.clone());
            ensure!(
                first_other(first, &raw).is_none(),
                "device {device} has {result:?}, whose bits are not those of device 0, {:?}",
                pending.finish(first[0])
            );
        }
        Ok(())
    }
}

impl<T: Drawn, O: Known<T, Arity: Route<T>>> Case for Whole<T, O> {
    fn name(&self) -> String {
        format!("{} of {}", O::NAME, T::NAME)
    }

    fn draw(&mut self, rng: &mut ChaCha8Rng) -> anyhow::Result<usize> {
        let lengths = lengths(self.group.devices().len(), self.most, O::identity().is_some(), rng);
        let parts = lengths.iter().map(|&len| self.pool.part(len, rng)).collect();
        let outputs = outputs(&self.group, 1)?;
        self.calls.push(Call { parts, outputs, pending: None });
        Ok(self.calls.len() - 1)
    }

    fn describe(&self, call: usize) -> String {
        format!("{} of the parts {:?}", self.name(), self.calls[call].parts)
    }

    fn launch(&mut self, call: usize, streams: &[&Stream]) -> Result<(), Error> {
        let Call { parts, outputs, pending } = &mut self.calls[call];
        let shards = Self::shards(&self.pool, parts);
        *pending = Some(self.all.reduce_into(shards, outputs, streams.iter().copied())?);
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
