//! Times calls whose result every GPU gets, in graphs, beside calls of one GPU alone.

use anyhow::ensure;
use bench::{Times, time_turns};
use warpfold::{
    Array, Buffer, Device, Error, Graph, Group, GroupGraph, Item, Operation, Stream, Sum,
    reducer::{DeviceInput, Input, Single},
};

/// One line of a table: a case, with the times of one call.
pub(crate) struct Line {
    pub(crate) name: String,
    /// The bytes of the longest shard.
    pub(crate) shard_bytes: u64,
    /// One GPU alone: the slower or slowest one, if each of them was measured.
    pub(crate) alone: Times,
    pub(crate) together: Times,
}

/// The floats of which shards consist. Their sums over some periods are exact in an `f64`.
pub(crate) fn float(i: usize) -> f32 {
    (i % 1000) as f32 / 8.0
}

/// How many calls a graph has, so that it takes about a millisecond, and never less than ten.
fn calls_for(bytes: u64) -> u32 {
    (2_000_000_000 / bytes.max(1)).clamp(10, 200) as u32
}

/// Reduces shards of one length, and has each GPU reduce its own shard alone.
pub(crate) fn measure<T, O>(
    group: &Group,
    operation: O,
    name: &str,
    n: usize,
    value: impl Fn(usize) -> T,
    samples: usize,
) -> anyhow::Result<Line>
where
    T: Item,
    O: Operation<T, Arity = Single, Output: std::fmt::Debug>,
    for<'a> &'a Buffer<T>: DeviceInput + Input<Item = T, Arity = Single>,
{
    let values: Vec<T> = (0..n).map(value).collect();
    let bytes = (n * size_of::<T>()) as u64;
    let calls = calls_for(bytes);
    let (mut shards, mut results) = (Vec::new(), Vec::new());
    for device in group.devices() {
        shards.push(device.upload(&values)?);
        results.push(device.alloc::<O::Raw>(1)?);
    }
    let expected = format!("{:?}", group.reduce(&shards, operation)?);

    let mut all = group.all_reducer::<T, O>(operation)?;
    let (together, pending) = group.capture(|streams| {
        let mut pending = None;
        for _ in 0..calls {
            pending = Some(all.reduce_into(&shards, &mut results, streams.iter().copied())?);
        }
        Ok::<_, Error>(pending.expect("there are calls"))
    })?;
    let mut alone = Vec::new();
    for (device, shard) in group.devices().iter().zip(&shards) {
        let reducer = device.reducer::<T, O>(operation)?;
        let mut partial = device.alloc::<O::Raw>(1)?;
        let (graph, ()) = device.capture(|stream| {
            (0..calls)
                .try_for_each(|_| reducer.reduce_into(shard, &mut partial, stream).map(|_| ()))
        })?;
        alone.push(graph);
    }

    let streams = group.streams()?;
    together.launch(&streams)?;
    all.check()?;
    for result in &results {
        let result = format!("{:?}", pending.finish(result.copy_to_host()?[0])?);
        ensure!(result == expected, "{name}: {result} instead of {expected}");
    }
    let [alone, together] = time(&alone, &together, &streams, calls, samples)?;
    all.check()?;
    let name = format!("{name} {} x 2^{}", group.devices().len(), n.ilog2());
    Ok(Line { name, shard_bytes: bytes, alone, together })
}

/// Sums the columns of a matrix, of which each GPU has four rows.
pub(crate) fn measure_columns(group: &Group, width: usize, samples: usize) -> anyhow::Result<Line> {
    const ROWS: usize = 4;
    let values: Vec<f32> = (0..ROWS * width).map(|i| (i % 100) as f32).collect();
    let bytes = (4 * ROWS * width) as u64;
    let calls = calls_for(bytes);
    let (mut shards, mut results) = (Vec::new(), Vec::new());
    for device in group.devices() {
        shards.push(device.upload(&values)?);
        results.push(device.alloc::<f32>(width)?);
    }
    let arrays: Vec<_> = shards
        .iter()
        .map(|shard| Array::new(shard, &[ROWS as u64, width as u64]))
        .collect::<Result<_, _>>()?;
    let mut all = group.all_row_reducer::<f32, _>(Sum, width as u32)?;
    let (together, ()) = group.capture(|streams| {
        (0..calls).try_for_each(|_| {
            let streams = streams.iter().copied();
            all.reduce_axes_into(&arrays, &[0], &mut results, streams).map(|_| ())
        })
    })?;
    let mut alone = Vec::new();
    for (device, array) in group.devices().iter().zip(&arrays) {
        let reducer = device.row_reducer::<f32, _>(Sum)?;
        let mut partial = device.alloc::<f32>(width)?;
        let (graph, ()) = device.capture(|stream| {
            (0..calls).try_for_each(|_| {
                reducer.reduce_axes_into(array, &[0], &mut partial, stream).map(|_| ())
            })
        })?;
        alone.push(graph);
    }

    let streams = group.streams()?;
    together.launch(&streams)?;
    all.check()?;
    let gpus = group.devices().len();
    for result in &results {
        // All numbers are integers, so that the sums are exact.
        let is_right = |(i, &sum): (usize, &f32)| {
            let column: f32 = (0..ROWS).map(|row| values[row * width + i]).sum();
            sum.to_bits() == (column * gpus as f32).to_bits()
        };
        ensure!(result.copy_to_host()?.iter().enumerate().all(is_right), "a sum is wrong");
    }
    let [alone, together] = time(&alone, &together, &streams, calls, samples)?;
    all.check()?;
    let name = format!("f32 sum {gpus} x 4x2^{} over 0", width.ilog2());
    Ok(Line { name, shard_bytes: bytes, alone, together })
}

/// Sums one array of `n` floats, of which each GPU has an even part, and has the first GPU sum the
/// whole array alone.
pub(crate) fn measure_split(group: &Group, n: usize, samples: usize) -> anyhow::Result<Line> {
    let bytes = 4 * n as u64;
    let calls = calls_for(bytes);
    let first = &group.devices()[0];
    let whole = periodic(first, n)?;
    let (mut shards, mut results) = (Vec::new(), Vec::new());
    for (device, range) in group.devices().iter().zip(group.ranges(n)) {
        shards.push(periodic(device, range.len())?);
        results.push(device.alloc::<f32>(1)?);
    }
    let expected = group.reduce(&shards, Sum)?;
    let mut all = group.all_reducer::<f32, _>(Sum)?;
    let (together, ()) = group.capture(|streams| {
        (0..calls).try_for_each(|_| {
            let streams = streams.iter().copied();
            all.reduce_into(&shards, &mut results, streams).map(|_| ())
        })
    })?;
    let reducer = first.reducer::<f32, _>(Sum)?;
    let mut sum = first.alloc::<f32>(1)?;
    let (alone, ()) = first.capture(|stream| {
        (0..calls).try_for_each(|_| reducer.reduce_into(&whole, &mut sum, stream).map(|_| ()))
    })?;

    let streams = group.streams()?;
    together.launch(&streams)?;
    all.check()?;
    for result in &results {
        let result = result.copy_to_host()?[0];
        ensure!(result.to_bits() == expected.to_bits(), "{result} instead of {expected}");
    }
    let [alone, together] = time(&[alone], &together, &streams, calls, samples)?;
    all.check()?;
    let name = format!("f32 sum 2^{} on {}", n.ilog2(), group.devices().len());
    Ok(Line { name, shard_bytes: bytes.div_ceil(group.devices().len() as u64), alone, together })
}

/// So many floats in the memory of a device. The host holds a part of them only.
fn periodic(device: &Device, n: usize) -> anyhow::Result<Buffer<f32>> {
    const PERIOD: usize = 1 << 24;
    let values: Vec<f32> = (0..PERIOD.min(n)).map(float).collect();
    let mut buffer = device.alloc::<f32>(n)?;
    for start in (0..n).step_by(PERIOD) {
        let len = PERIOD.min(n - start);
        buffer.view_mut(start..start + len).copy_from_host(&values[..len])?;
    }
    Ok(buffer)
}

/// The times of one call, in graphs of so many calls: of the slowest of the GPUs that have a graph
/// of their own, and of the first GPU if all work together. The GPUs take turns.
fn time(
    alone: &[Graph],
    together: &GroupGraph,
    streams: &[Stream],
    calls: u32,
    samples: usize,
) -> anyhow::Result<[Times; 2]> {
    const WARM_UPS: usize = 3;
    let times = time_turns(alone.len() + 1, calls, WARM_UPS, samples, |contender| {
        for stream in streams {
            stream.synchronize()?;
        }
        let graph = alone.get(contender);
        let stream = &streams[graph.map_or(0, |_| contender)];
        let start = stream.record()?;
        match graph {
            Some(graph) => graph.launch(stream)?,
            None => together.launch(streams)?,
        }
        Ok::<_, Error>(stream.record()?.elapsed_since(&start)?)
    })?;
    let mut times: Vec<Times> = times.into_iter().map(Times::of).collect();
    let together = times.pop().expect("there is a time of all together");
    let slowest = times.into_iter().max_by_key(|times| times.median);
    Ok([slowest.expect("a group has a GPU"), together])
}
