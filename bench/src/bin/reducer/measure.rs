//! Measures one case in up to four ways: calls one by one and in graphs, with the input in the L2
//! cache or not. The contenders take turns.

use std::{fmt, time::Duration};

use anyhow::Context;
use bench::Times;
use warpfold_lab::{
    device::{Arg, Buffer, Device, DeviceKind, Graph, Kernel, LaunchShape, Stream},
    ptx::PtxLibrary,
};

use crate::{
    cases::Case,
    contender::{Call, Contender},
    data::{Input, Part},
};

/// The number of calls in a graph.
pub(crate) const GRAPH_CALLS: usize = 10;

/// The number of bytes that are read between two measurements to empty the L2 cache. They are five
/// times the cache of an H100, and four times that of an H200.
const FLUSH_BYTES: u64 = 256 << 20;

/// The size in bytes of the largest inputs that are measured both in the cache and not in it.
/// Larger inputs are never in the cache.
const MOST_CACHED_BYTES: u64 = 512 << 20;

/// The ladder's kernel that reads [`FLUSH_BYTES`]. It uses plain loads, so all bytes pass through
/// the cache.
const FLUSH_KERNEL: &str = "reduce7_sum_i32_b256";

/// The number of measurements that only warm the device up and do not count.
pub(crate) const WARM_UPS: usize = 3;

/// The way in which the device gets the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// One call between two events, on a stream that has nothing else to do.
    Single,
    /// A graph of ten calls between two events. A tenth of the time is the time of one call.
    Graph,
}

/// The state of the cache before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// All calls reduce the same elements, which are in the L2 cache if they fit.
    Warm,
    /// Each call reduces other elements, and the cache is emptied before each measurement.
    Cold,
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Single => "single",
            Self::Graph => "graph",
        })
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        })
    }
}

/// One contender's times of one case.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) contender: String,
    pub(crate) calls: Calls,
    pub(crate) cache: Cache,
    /// The times of one call.
    pub(crate) times: Times,
    pub(crate) samples: usize,
}

/// The parts of the input that the calls of a graph reduce. There is at least one.
pub(crate) fn parts(case: &Case, cache: Cache) -> Vec<Part> {
    // Without the offset, each part begins at a multiple of 256 elements, and so of 256 bytes.
    let stride = (case.n + case.offset).next_multiple_of(256);
    let inputs = if case.op.takes_pairs() { 2 } else { 1 };
    let count = if cache == Cache::Cold { GRAPH_CALLS as u64 } else { 1 };
    let part = |index| Part {
        start: case.offset + index * inputs * stride,
        right: case.offset + (index * inputs + inputs - 1) * stride,
    };
    (0..count).map(part).collect()
}

/// The number of elements that the input must have for a case.
pub(crate) fn elements(case: &Case) -> u64 {
    let last = caches(case)
        .into_iter()
        .flat_map(|cache| parts(case, cache))
        .map(|part| part.start.max(part.right))
        .max();
    last.unwrap_or_default() + case.n
}

/// The states of the cache in which a case is measured. Large inputs are measured in one state
/// only, because they are read from memory anyway.
pub(crate) fn caches(case: &Case) -> Vec<Cache> {
    if case.bytes() <= MOST_CACHED_BYTES {
        vec![Cache::Warm, Cache::Cold]
    } else {
        vec![Cache::Warm]
    }
}

/// The stream on which everything runs, and the kernel that empties the cache.
pub(crate) struct Lab {
    pub(crate) stream: Stream,
    /// The number of measurements. Measurements longer than [`LONG`] are made at most
    /// [`FEW_SAMPLES`] times.
    pub(crate) samples: usize,
    device: Device,
    flush: Kernel,
    flushed: Buffer<i32>,
    flush_output: Buffer<i32>,
}

/// The number of blocks of the launch that empties the cache.
const FLUSH_BLOCKS: u32 = 1024;

impl Lab {
    pub(crate) fn new(
        device: &Device,
        library: &PtxLibrary,
        samples: usize,
    ) -> anyhow::Result<Self> {
        let ptx = library.find(FLUSH_KERNEL, device.info().compute_capability)?;
        let stream = device.stream()?;
        // The simulator has no cache that would have to be emptied.
        let flush_bytes = if device.info().kind == DeviceKind::Cuda { FLUSH_BYTES } else { 4 };
        let mut flushed = device.alloc((flush_bytes / 4) as usize)?;
        flushed.fill_bytes(1)?;
        Ok(Self {
            stream,
            samples,
            flush: device.load(&ptx.file, &ptx.text)?.kernel(FLUSH_KERNEL)?,
            flushed,
            flush_output: device.alloc(FLUSH_BLOCKS as usize)?,
            device: device.clone(),
        })
    }

    fn empty_cache(&self) -> anyhow::Result<()> {
        let args = [
            Arg::Pointer(self.flushed.address()),
            Arg::Pointer(self.flush_output.address()),
            Arg::U64(self.flushed.len() as u64),
        ];
        // SAFETY: the kernel reads as many elements as its argument says, which is the length of
        // the buffer. It writes one element for each block, and the output has as many.
        unsafe {
            self.stream.launch(&self.flush, LaunchShape::linear(FLUSH_BLOCKS, 256, 1024), &args)?;
        }
        Ok(())
    }

    /// Checks the contenders' results, then measures all of them.
    pub(crate) fn measure(
        &self,
        case: &Case,
        input: &Input,
        contenders: &[Box<dyn Contender + '_>],
    ) -> anyhow::Result<Vec<Measurement>> {
        let mut measurements = Vec::new();
        for cache in caches(case) {
            let calls: Vec<Call> = parts(case, cache)
                .into_iter()
                .map(|part| Call {
                    input: input.address(part.start),
                    right: input.address(part.right),
                    n: case.n,
                })
                .collect();
            let expected: Vec<_> =
                parts(case, cache).into_iter().map(|part| input.expected(case, part)).collect();
            let mut graphs = Vec::new();
            for contender in contenders {
                let name = contender.name();
                for (call, expected) in calls.iter().zip(&expected) {
                    contender.call(*call, &self.stream)?;
                    self.stream.synchronize()?;
                    expected
                        .check(&contender.result()?)
                        .with_context(|| format!("{case}, {name}"))?;
                }
                graphs.push(if contender.can_be_captured() {
                    let graph = self.capture(&**contender, &calls)?;
                    graph.launch(&self.stream)?;
                    self.stream.synchronize()?;
                    let last = &expected[(GRAPH_CALLS - 1) % calls.len()];
                    last.check(&contender.result()?)
                        .with_context(|| format!("{case}, {name}, in a graph"))?;
                    Some(graph)
                } else {
                    None
                });
            }
            for kind in [Calls::Single, Calls::Graph] {
                measurements.extend(self.take_turns(contenders, &graphs, &calls, (kind, cache))?);
            }
        }
        Ok(measurements)
    }

    /// Measures a contender that reads nothing. Its times are the least that any call can take.
    pub(crate) fn measure_floor(
        &self,
        floor: Box<dyn Contender + '_>,
    ) -> anyhow::Result<Vec<Measurement>> {
        let calls = [Call { input: 0, right: 0, n: 0 }];
        let graphs = [Some(self.capture(&*floor, &calls)?)];
        let contenders = [floor];
        let kinds = [Calls::Single, Calls::Graph]
            .map(|kind| self.take_turns(&contenders, &graphs, &calls, (kind, Cache::Warm)));
        Ok(kinds.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat())
    }

    /// Captures a graph of ten calls. If there are ten parts, each call reduces another part. If
    /// there is one part, all calls reduce it.
    fn capture(&self, contender: &dyn Contender, calls: &[Call]) -> anyhow::Result<Graph> {
        let (graph, ()) = self.device.capture(|stream| {
            calls
                .iter()
                .cycle()
                .take(GRAPH_CALLS)
                .try_for_each(|call| contender.call(*call, stream))
        })?;
        Ok(graph)
    }

    /// Measures the time of one call for each contender. If graphs are measured, contenders without
    /// a graph are left out.
    fn take_turns(
        &self,
        contenders: &[Box<dyn Contender + '_>],
        graphs: &[Option<Graph>],
        calls: &[Call],
        (kind, cache): (Calls, Cache),
    ) -> anyhow::Result<Vec<Measurement>> {
        let mut samples = vec![Vec::new(); contenders.len()];
        let mut wanted = self.samples;
        let mut round = 0;
        while round < WARM_UPS + wanted {
            for (index, contender) in contenders.iter().enumerate() {
                let call = calls[round % calls.len()];
                if kind == Calls::Graph && graphs[index].is_none() {
                    continue;
                }
                if cache == Cache::Cold {
                    self.empty_cache()?;
                }
                self.stream.synchronize()?;
                let time = self.stream.time(|| match (&graphs[index], kind) {
                    (Some(graph), Calls::Graph) => Ok(graph.launch(&self.stream)?),
                    _ => contender.call(call, &self.stream),
                })?;
                if round >= WARM_UPS {
                    samples[index].push(if kind == Calls::Graph {
                        time / GRAPH_CALLS as u32
                    } else {
                        time
                    });
                }
                if time > LONG {
                    wanted = wanted.min(FEW_SAMPLES);
                }
            }
            round += 1;
        }
        let names = contenders.iter().map(|contender| contender.name().to_owned());
        let measured = names.zip(samples).filter(|(_, samples)| !samples.is_empty());
        let measurement = |(contender, samples): (String, Vec<Duration>)| Measurement {
            contender,
            calls: kind,
            cache,
            samples: samples.len(),
            times: Times::of(samples),
        };
        Ok(measured.map(measurement).collect())
    }
}

/// Measurements that take longer are made at most [`FEW_SAMPLES`] times.
pub(crate) const LONG: Duration = Duration::from_millis(1);

/// The greatest number of measurements that each take longer than [`LONG`].
pub(crate) const FEW_SAMPLES: usize = 31;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{Element, Operation as Op};

    #[test]
    fn parts_do_not_overlap_and_keep_the_offset() {
        let case = Case { op: Op::Dot, element: Element::F32, n: 1000, offset: 1 };
        let parts = parts(&case, Cache::Cold);
        assert_eq!(parts.len(), GRAPH_CALLS);
        let mut starts: Vec<u64> = parts.iter().flat_map(|part| [part.start, part.right]).collect();
        assert!(starts.iter().all(|start| start % 256 == 1));
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[0] + case.n <= pair[1]));
        assert_eq!(elements(&case), starts.last().unwrap() + case.n);
    }

    #[test]
    fn what_no_cache_holds_is_measured_once() {
        let case = Case { op: Op::Sum, element: Element::F32, n: 1 << 28, offset: 0 };
        assert_eq!(caches(&case), [Cache::Warm]);
        assert_eq!(caches(&Case { n: 1 << 26, ..case }), [Cache::Warm, Cache::Cold]);
        assert_eq!(elements(&case), 1 << 28);
    }
}
