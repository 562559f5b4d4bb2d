//! Copies between host and GPU: page-locked memory, and copies beside computation.

use std::time::{Duration, Instant};

use super::{
    draw::{Section, chart, line, time_cells, time_columns},
    error::AccessError,
    lab::Lab,
    pattern::Pattern,
    site::{BLOCK, Site},
    words::{check, word},
};
use crate::{
    device::{Arg, LaunchShape, PinnedBuffer},
    experiment::Times,
    output::{Axis, Cell, Column, Kind, Table},
};

const WHY: &str = "the simulator uses the host's memory, so nothing is copied to a device and nothing can overlap";

/// The greatest number of timed runs of a copy. Large copies take long, and their times vary
/// little.
const MOST_RUNS: u32 = 10;

/// Sizes of the copies, in bytes.
const SIZES: [u64; 10] =
    [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28];

/// The number of steps that the computation makes with each word. They take about as long as it
/// takes to send the word to an H100.
const ROUNDS: u32 = 400;

/// The number of chunks in which an array is sent.
const CHUNKS: usize = 16;

pub(super) fn transfer(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    if !lab.is_timed() {
        return Err(AccessError::NeedsGpu { pattern: Pattern::Transfer, why: WHY });
    }
    let mut section = copies(lab)?;
    let overlap = overlap(lab)?;
    section.tables.extend(overlap.tables);
    section.charts.extend(overlap.charts);
    Ok(section)
}

/// The four ways to copy.
const WAYS: [&str; 4] =
    ["pageable to device", "pinned to device", "pageable to host", "pinned to host"];

fn copies(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let mut columns = vec![Column::new("bytes", "size").in_unit("bytes")];
    for way in WAYS {
        columns.extend(time_columns(way));
    }
    let mut table = Table::new("transfer", "Copies between host and GPU", columns);
    let runs = lab.request.runs.timed.min(MOST_RUNS);
    lab.rows(
        SIZES,
        |size| format!("copies of {size} bytes"),
        |lab, size| {
            let Some(gpu) = lab.gpu() else { return Ok(()) };
            let times = copy_times(gpu, size, runs)?;
            table.push(
                [vec![size.into()], times.map(|time| time_cells(time, size)).concat()].concat(),
            );
            Ok(())
        },
    )?;
    table.notes.push(format!(
        "The times are medians of {runs} copies, by the host's clock. Pinned memory is page-locked."
    ));
    let series = WAYS
        .iter()
        .enumerate()
        .map(|(way, name)| line(name, &table.rows, 0, 2 + 2 * way))
        .collect();
    let drawn = chart(
        "transfer-bandwidth",
        "Copies between host and GPU",
        "Bandwidth grows with the size, and is higher from and to page-locked memory.",
        Kind::Lines,
        [Axis::log2("bytes"), Axis::linear("GB/s")],
        series,
    );
    Ok(Section { tables: vec![table], charts: vec![drawn] })
}

/// The times of the four ways to copy. The words that come back are checked.
fn copy_times(
    gpu: &mut Site<'_>,
    size: u64,
    runs: u32,
) -> Result<[Option<Duration>; 4], AccessError> {
    let words = (size / 4) as usize;
    let mut buffer = gpu.device.alloc::<u32>(words)?;
    let mut pageable: Vec<u32> = (0..words as u32).map(|i| word(i, gpu.seed)).collect();
    let mut pinned = gpu.device.alloc_pinned::<u32>(words)?;
    pinned.copy_from_slice(&pageable);

    let to_device = [median(runs, || Ok(buffer.copy_from_host(&pageable)?))?, {
        buffer.fill_bytes(0)?;
        median(runs, || Ok(buffer.copy_from_host(&pinned)?))?
    }];
    pageable.fill(0);
    pinned.fill(0);
    let to_host = [
        median(runs, || Ok(buffer.copy_to_slice(&mut pageable)?))?,
        median(runs, || Ok(buffer.copy_to_slice(&mut pinned)?))?,
    ];
    let expected = || (0..words as u32).map(|i| word(i, gpu.seed));
    check("a copy", &format!("{size} bytes"), &pageable, expected())?;
    check("a copy", &format!("{size} bytes, page-locked"), &pinned, expected())?;
    Ok([to_device[0], to_device[1], to_host[0], to_host[1]])
}

/// The median time of `runs` runs by the host's clock. One more run goes before them to warm up.
fn median(
    runs: u32,
    mut run: impl FnMut() -> Result<(), AccessError>,
) -> Result<Option<Duration>, AccessError> {
    run()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    Ok(Times::new(&times).map(|times| times.median))
}

fn overlap(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let n = lab.request.n.unwrap_or(1 << 25);
    let mut columns = vec![Column::new("streams", "streams"), Column::new("chunks", "chunks")];
    columns.extend(time_columns(""));
    columns.push(Column::new("speedup", "times as fast as in series"));
    let mut table = Table::new("overlap", "Copies beside computation", columns);
    let runs = lab.request.runs.timed.min(MOST_RUNS);
    let mut series_time = None;
    lab.rows(
        [(1, 1), (1, CHUNKS), (2, CHUNKS), (4, CHUNKS)],
        |(streams, chunks)| format!("{chunks} chunks on {streams} streams"),
        |lab, (streams, chunks)| {
            let Some(gpu) = lab.gpu() else { return Ok(()) };
            let time = overlapped(gpu, n as usize, streams, chunks, runs)?;
            let first = *series_time.get_or_insert(time);
            let speedup = time.zip(first).map_or(Cell::Missing, |(time, first)| {
                Cell::number(first.as_secs_f64() / time.as_secs_f64(), 2)
            });
            let cells = vec![(streams as u64).into(), (chunks as u64).into()];
            table.push([cells, time_cells(time, 8 * n).to_vec(), vec![speedup]].concat());
            Ok(())
        },
    )?;
    table.notes.push(format!(
        "{n} words are copied to the GPU, go through {ROUNDS} steps of computation each, and are copied back. Times are medians \
         of {runs} runs by the host's clock, and the bandwidth is that of both directions together. In the first row, the \
         copies and the computation run one after another."
    ));
    Ok(Section { tables: vec![table], charts: Vec::new() })
}

/// The median time to send an array, compute with it and fetch the result, chunk by chunk. The
/// chunks go to the streams in turn.
fn overlapped(
    gpu: &mut Site<'_>,
    n: usize,
    streams: usize,
    chunks: usize,
    runs: u32,
) -> Result<Option<Duration>, AccessError> {
    const KERNEL: &str = "access_transfer_work";
    let kernel = gpu.kernel(KERNEL)?;
    let device = gpu.device;
    let mut input: PinnedBuffer<u32> = device.alloc_pinned(n)?;
    for (i, value) in input.iter_mut().enumerate() {
        *value = word(i as u32, gpu.seed);
    }
    let mut output: PinnedBuffer<u32> = device.alloc_pinned(n)?;
    let (source, target) = (device.alloc::<u32>(n)?, device.alloc::<u32>(n)?);
    let chunk = n.div_ceil(chunks);
    let mut times = Vec::new();
    // The first run warms up, and its time is dropped.
    for _ in 0..=runs {
        output.fill(0);
        let mut time = Duration::ZERO;
        device.streams(streams, |open| {
            let start = Instant::now();
            for (i, (input, output)) in
                input.chunks(chunk).zip(output.chunks_mut(chunk)).enumerate()
            {
                let (stream, at, len) = (i % streams, i * chunk, input.len());
                open.upload(stream, input, &source, at)?;
                let shape = LaunchShape::linear(len.div_ceil(BLOCK as usize) as u32, BLOCK, 0);
                let bytes = 4 * at as u64;
                let pointers = [
                    Arg::Pointer(source.address() + bytes),
                    Arg::Pointer(target.address() + bytes),
                ];
                let args = [pointers[0], pointers[1], Arg::U64(len as u64), Arg::U32(ROUNDS)];
                // SAFETY: the kernel reads and writes `len` elements of each buffer, from `at` on.
                unsafe { open.launch(stream, &kernel, shape, &args)? };
                open.download(stream, &target, at, output)?;
            }
            open.synchronize()?;
            time = start.elapsed();
            Ok::<(), AccessError>(())
        })?;
        times.push(time);
    }
    let (factor, term) = steps(ROUNDS);
    let expected = (0..n as u32).map(|i| word(i, gpu.seed).wrapping_mul(factor).wrapping_add(term));
    check(KERNEL, &format!("{chunks} chunks on {streams} streams"), &output, expected)?;
    Ok(Times::new(&times[1..]).map(|times| times.median))
}

/// The factor and the term of `rounds` steps x -> 1664525 x + 1013904223 together: they turn x into
/// `factor` x + `term`.
fn steps(rounds: u32) -> (u32, u32) {
    (0..rounds).fold((1, 0), |(factor, term): (u32, u32), _| {
        (factor.wrapping_mul(1_664_525), term.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Device, Instrument},
        ptx::PtxLibrary,
    };

    #[test]
    fn steps_are_those_of_the_kernel() {
        let (factor, term) = steps(3);
        let one = |x: u32| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        assert_eq!(77_u32.wrapping_mul(factor).wrapping_add(term), one(one(one(77))));
    }

    /// The simulator has no times to show for overlapping copies, but it can run them. The cases
    /// include chunks that do not divide the array, and more streams than chunks.
    #[test]
    fn chunks_on_streams_come_back_right() {
        let device = Device::simulator_with(Instrument::Count);
        let library = PtxLibrary::embedded().unwrap();
        let mut site = Site::new(&device, &library, None, 9);
        for (n, streams, chunks) in
            [(1, 1, 1), (1000, 1, 1), (1000, 2, 3), (1001, 4, 16), (5, 4, 2)]
        {
            overlapped(&mut site, n, streams, chunks, 1)
                .unwrap_or_else(|error| panic!("{n} {streams} {chunks}: {error}"));
            let times = copy_times(&mut site, 4 * n as u64, 1).unwrap();
            assert!(times.iter().all(Option::is_some));
        }
    }
}
