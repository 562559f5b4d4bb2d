//! Measures reductions in place, that is, between two other kernels. In most programs, one kernel
//! writes the input of a reduction and another kernel reads its result. So this module times a
//! chain of links, each of which is a producer, a reduction and a consumer. It also times the same
//! chain without the reductions. The difference is the time that the reductions add.
//!
//! Producers and consumers are ordinary kernels, without programmatic dependent launch. They are
//! the same for all contenders. The consumer copies each result, and the copies are checked.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bench::Times;
use warpfold_lab::device::{Arg, Buffer, Device, DeviceKind, Graph, Kernel, LaunchShape, Stream};

use crate::{
    cases::Case,
    contender::{Call, Contender, RESULT_BYTES, numbers},
    data::{Expected, Input},
    measure::{Cache, FEW_SAMPLES, GRAPH_CALLS, LONG, Lab, WARM_UPS, parts},
};

mod kernels;
pub(crate) mod report;

/// The name of the one-block kernel among the contenders.
pub(crate) const NAIVE: &str = "naive";

/// The size in bytes of the largest inputs for the one-block kernel. It takes 100 us for an input
/// of this size, so larger inputs would take too long.
pub(crate) const MOST_NAIVE_BYTES: u64 = 4 << 20;

/// The size in bytes of the largest inputs for which several chains run on a plain stream between
/// two events.
const SEVERAL_CHAINS_BYTES: u64 = 16 << 20;

/// The number of chains between two events for inputs of at most [`SEVERAL_CHAINS_BYTES`].
const STREAM_CHAINS: usize = 2;

/// The kernel before the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Producer {
    /// The producer writes the input of the reduction, with the same values each time.
    Data,
    /// The producer writes as many bytes as the input has, but to other memory.
    Other,
    /// The producer writes the input, and it runs so much code that the instruction caches hold no
    /// other code afterwards. This takes long, so there are half as many measurements and one chain
    /// at a time.
    Code,
}

impl Producer {
    pub(crate) const ALL: [Self; 3] = [Self::Data, Self::Other, Self::Code];
}

/// The way in which the device gets the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// The chain is a graph of ten links, which is launched once between two events.
    Graph,
    /// The chain is ten links of plain launches on a stream. A kernel holds the stream until the
    /// host has made all launches, so the device never waits for the host.
    Stream,
}

impl Chain {
    pub(crate) const ALL: [Self; 2] = [Self::Graph, Self::Stream];
}

impl fmt::Display for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Data => "data",
            Self::Other => "other",
            Self::Code => "code",
        })
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Graph => "graph",
            Self::Stream => "stream",
        })
    }
}

/// Order statistics of differences, in microseconds. Noise may make a small difference negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) lower_quartile: f64,
    pub(crate) median: f64,
    pub(crate) upper_quartile: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Computes the quantiles by the nearest rank, as [`Times`] does. There must be at least one
    /// sample.
    fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_unstable_by(f64::total_cmp);
        let [min, lower_quartile, median, upper_quartile, max] = bench::quartiles(&samples);
        Self { min, lower_quartile, median, upper_quartile, max }
    }
}

/// The time that one contender's reduction adds to a link of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) contender: String,
    pub(crate) us: Spread,
}

/// The measurements of one case in one kind of chain.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) chain: Chain,
    pub(crate) producer: Producer,
    /// The times of a link without a reduction.
    pub(crate) without: Times,
    pub(crate) samples: usize,
    pub(crate) added: Vec<Added>,
}

/// The PTX of the kernels around a reduction, for `peers.py`.
pub(crate) fn ptx() -> String {
    kernels::ptx(kernels::CODE_ROWS)
}

/// The number of elements that the input must have for a case. They fill a whole number of packs.
pub(crate) fn elements(case: &Case) -> u64 {
    let part = parts(case, Cache::Warm)[0];
    (part.right + case.n).next_multiple_of(16 / case.element.size())
}

/// The kernels around the reductions, and the memory that they write.
pub(crate) struct Place<'a> {
    lab: &'a Lab,
    device: &'a Device,
    producers: [Kernel; 3],
    consumer: Kernel,
    hold: Kernel,
    is_gpu: bool,
    /// The number of nanoseconds for which the next measurement of [`Chain::Stream`] holds the
    /// stream. It is adapted to the time that the host takes for the launches.
    hold_ns: Cell<u64>,
    /// The memory that the consumers read in a chain without a reduction.
    no_result: Buffer<u8>,
}

/// The memory of the cases of one element type.
pub(crate) struct Memory {
    input: Input,
    /// The values that the producers copy.
    packs: Buffer<u8>,
    /// The memory that [`Producer::Other`] writes.
    other: Buffer<u8>,
}

impl Memory {
    pub(crate) fn new(device: &Device, input: Input) -> anyhow::Result<Self> {
        Ok(Self { packs: input.packs(device)?, other: device.alloc(input.bytes())?, input })
    }
}

/// The data on which the links of a chain work.
#[derive(Clone, Copy)]
struct Links<'a> {
    case: &'a Case,
    memory: &'a Memory,
    call: Call,
    producer: Producer,
}

/// One chain that is timed: with a contender's reductions or without reductions.
struct Item<'a> {
    contender: Option<&'a dyn Contender>,
    /// The copies of the results that the consumers make.
    log: Buffer<u8>,
    /// The chain as a graph. It is `None` if the launches are made on a stream.
    graph: Option<Graph>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(device: &'a Device, lab: &'a Lab) -> anyhow::Result<Self> {
        let is_gpu = device.info().kind == DeviceKind::Cuda;
        // A simulation of all rows would take minutes, and the simulator has no instruction cache.
        let rows = if is_gpu { kernels::CODE_ROWS } else { 32 };
        let module = device.load("place.ptx", &kernels::ptx(rows))?;
        let [data, other, code] = Producer::ALL.map(|one| module.kernel(one.kernel()));
        Ok(Self {
            lab,
            device,
            producers: [data?, other?, code?],
            consumer: module.kernel(kernels::CONSUMER)?,
            hold: module.kernel(kernels::HOLD)?,
            is_gpu,
            hold_ns: Cell::new(200_000),
            no_result: device.alloc(RESULT_BYTES)?,
        })
    }

    /// Measures the contenders in all chains. A contender that fails in a chain, or whose results
    /// are wrong there, is left out of that chain, and `failures` gets a line about it. A contender
    /// that cannot be captured in a graph is left out of all chains.
    pub(crate) fn measure(
        &self,
        case: &Case,
        memory: &Memory,
        contenders: &[Box<dyn Contender + '_>],
        failures: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Measurement>> {
        let part = parts(case, Cache::Warm)[0];
        let call = Call {
            input: memory.input.address(part.start),
            right: memory.input.address(part.right),
            n: case.n,
        };
        let expected = memory.input.expected(case, part);
        let mut measurements = Vec::new();
        for producer in Producer::ALL {
            let links = Links { case, memory, call, producer };
            for chain in Chain::ALL {
                let mut failed = |name: &str, error: &anyhow::Error| {
                    failures.push(format!("{case}, {chain}, {producer}: {name}: {error:#}"));
                };
                measurements.push(self.measure_chain(
                    links,
                    chain,
                    contenders,
                    &expected,
                    &mut failed,
                )?);
            }
        }
        Ok(measurements)
    }

    fn measure_chain(
        &self,
        links: Links,
        chain: Chain,
        contenders: &[Box<dyn Contender + '_>],
        expected: &Expected,
        failed: &mut dyn FnMut(&str, &anyhow::Error),
    ) -> anyhow::Result<Measurement> {
        let chains = match chain {
            Chain::Stream
                if links.producer != Producer::Code
                    && links.case.bytes() <= SEVERAL_CHAINS_BYTES =>
            {
                STREAM_CHAINS
            }
            _ => 1,
        };
        // The first item has no reduction.
        let mut items = vec![self.item(None, links, chain)?];
        for contender in contenders.iter().filter(|one| one.can_be_captured()) {
            let checked = self.item(Some(&**contender), links, chain).and_then(|item| {
                self.time(links, &item, chains)?;
                check(&item, expected)?;
                Ok(item)
            });
            match checked {
                Ok(item) => items.push(item),
                Err(error) => failed(contender.name(), &error),
            }
        }
        for item in &mut items {
            item.log.fill_bytes(NO_RESULT)?;
        }

        let (mut without, mut added) = (Vec::new(), vec![Vec::new(); items.len()]);
        let warm_ups = if self.is_gpu { WARM_UPS } else { 0 };
        let mut wanted = match links.producer {
            Producer::Code => self.lab.samples.div_ceil(2),
            Producer::Data | Producer::Other => self.lab.samples,
        };
        let mut turn = 0;
        while turn < warm_ups + wanted {
            let mut times = vec![Duration::ZERO; items.len()];
            // Each turn begins with another item, and every second turn goes backwards. So no item
            // always follows the same other item.
            for step in 0..items.len() {
                let step = if turn % 2 == 0 { step } else { items.len() - step };
                let index = (turn + step) % items.len();
                times[index] = self.time(links, &items[index], chains)?;
                if times[index] > LONG * chains as u32 {
                    wanted = wanted.min(FEW_SAMPLES);
                }
            }
            if turn >= warm_ups {
                let links = (chains * GRAPH_CALLS) as u32;
                without.push(times[0] / links);
                let us = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(links);
                for (added, time) in added.iter_mut().zip(&times) {
                    added.push(us(*time) - us(times[0]));
                }
            }
            turn += 1;
        }
        let mut measured = Vec::new();
        for (item, samples) in items.iter().zip(added) {
            let Some(contender) = item.contender else { continue };
            match check(item, expected).context("after the measurements") {
                Ok(()) => measured.push(Added {
                    contender: contender.name().to_owned(),
                    us: Spread::of(samples),
                }),
                Err(error) => failed(contender.name(), &error),
            }
        }
        Ok(Measurement {
            chain,
            producer: links.producer,
            samples: without.len(),
            without: Times::of(without),
            added: measured,
        })
    }

    fn item<'b>(
        &self,
        contender: Option<&'b dyn Contender>,
        links: Links,
        chain: Chain,
    ) -> anyhow::Result<Item<'b>> {
        let mut log = self.device.alloc(GRAPH_CALLS * RESULT_BYTES)?;
        log.fill_bytes(NO_RESULT)?;
        let mut item = Item { contender, log, graph: None };
        if chain == Chain::Graph {
            item.graph = Some(self.capture(links, &item)?);
        }
        Ok(item)
    }

    /// A graph of one chain.
    fn capture(&self, links: Links, item: &Item) -> anyhow::Result<Graph> {
        let (graph, ()) = self.device.capture(|stream| self.launch(links, item, stream))?;
        Ok(graph)
    }

    /// Makes the launches of one chain on a stream.
    fn launch(&self, links: Links, item: &Item, stream: &Stream) -> anyhow::Result<()> {
        let output = item.contender.and_then(Contender::output);
        let result = output.map_or(self.no_result.address(), |(address, _)| address);
        for link in 0..GRAPH_CALLS {
            self.produce(links, stream)?;
            if let Some(contender) = item.contender {
                contender.call(links.call, stream)?;
            }
            let log = item.log.address() + (link * RESULT_BYTES) as u64;
            let args = [Arg::Pointer(result), Arg::Pointer(log)];
            // SAFETY: there are RESULT_BYTES at both addresses, and the kernel accesses no more.
            // The buffers at these addresses live until the stream has done the work.
            unsafe { stream.launch(&self.consumer, LaunchShape::linear(1, 1, 0), &args)? };
        }
        Ok(())
    }

    fn produce(
        &self,
        Links { case, memory, producer, .. }: Links,
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let target = match producer {
            Producer::Data | Producer::Code => memory.input.address(0),
            Producer::Other => memory.other.address(),
        };
        let bytes = elements(case) * case.element.size();
        ensure!(bytes <= memory.input.bytes() as u64, "the input is too short for {case}");
        let packs = u32::try_from(bytes / 16).context("a case of 64 GiB")?;
        // The simulator is too slow for as many threads as a GPU has.
        let multiprocessors = if self.is_gpu { self.device.info().multiprocessors } else { 1 };
        let (grid, block) = producer.shape(packs, multiprocessors);
        let args = [
            Arg::Pointer(memory.packs.address()),
            Arg::Pointer(target),
            Arg::U32(packs),
            Arg::U32(case.n as u32),
        ];
        // SAFETY: the target has room for `packs` packs of 16 bytes, because both possible targets
        // have the length of the input and `bytes` is at most that length. The kernel reads source
        // packs below the period and below `packs`. The source has so many, because it is a copy of
        // the first packs of the input up to the period. If the kernel writes to the input, it
        // writes the values that are there already.
        unsafe {
            stream.launch(
                &self.producers[producer as usize],
                LaunchShape::linear(grid, block, 0),
                &args,
            )?;
        }
        Ok(())
    }

    /// Measures the time of `chains` chains of an item.
    fn time(&self, links: Links, item: &Item, chains: usize) -> anyhow::Result<Duration> {
        let stream = &self.lab.stream;
        stream.synchronize()?;
        if let Some(graph) = &item.graph {
            return stream.time(|| Ok(graph.launch(stream)?));
        }
        for _ in 0..HOLDS {
            let start = Instant::now();
            let hold_ns = self.hold_ns.get();
            if self.is_gpu {
                // SAFETY: the kernel accesses no memory.
                unsafe {
                    let args = [Arg::U64(hold_ns)];
                    stream.launch(&self.hold, LaunchShape::linear(1, 1, 0), &args)?;
                }
            }
            let mut host = Duration::ZERO;
            let time = stream.time(|| {
                (0..chains).try_for_each(|_| self.launch(links, item, stream))?;
                host = start.elapsed();
                anyhow::Ok(())
            })?;
            let host_ns = host.as_nanos() as u64;
            if !self.is_gpu {
                return Ok(time);
            }
            if host_ns + MARGIN_NS < hold_ns {
                // The host may have been slow only once, so the next hold is shorter.
                let enough = host_ns + host_ns / 4 + MARGIN_NS;
                self.hold_ns.set((hold_ns - hold_ns / 16).max(enough).min(MOST_HOLD_NS));
                return Ok(time);
            }
            // The device may have waited for the host, so this time does not count.
            self.hold_ns.set((2 * hold_ns).min(MOST_HOLD_NS));
        }
        anyhow::bail!("the host cannot make the launches of a chain in {MOST_HOLD_NS} ns")
    }
}

/// The greatest number of attempts to measure chains on a stream. An attempt fails if the host was
/// not fast enough.
const HOLDS: usize = 20;

/// The least number of nanoseconds from the host's last launch to the end of the kernel that holds
/// the stream.
const MARGIN_NS: u64 = 20_000;

/// The greatest number of nanoseconds for which the stream is held.
const MOST_HOLD_NS: u64 = 5_000_000;

/// The byte with which the logs are filled before the first results.
const NO_RESULT: u8 = 0xee;

/// Checks the copies of the results that the consumers made.
fn check(item: &Item, expected: &Expected) -> anyhow::Result<()> {
    let Some((_, layout)) = item.contender.and_then(Contender::output) else { return Ok(()) };
    let log = item.log.copy_to_host()?;
    for (link, bytes) in log.chunks(RESULT_BYTES).enumerate() {
        expected.check(&numbers(bytes, layout)).with_context(|| format!("link {link}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use warpfold_lab::ptx::PtxLibrary;

    use super::*;
    use crate::{
        cases::{Element, Operation as Op},
        contender::Layout,
        data::Number,
        ours,
        report::OURS,
    };

    #[test]
    fn packs_cover_both_inputs_and_the_offset() {
        let case = Case { op: Op::Dot, element: Element::F32, n: 1000, offset: 1 };
        assert_eq!(elements(&case), (1 + 1024 + 1000u64).next_multiple_of(4));
        let case = Case { op: Op::Sum, element: Element::I8, n: 4096, offset: 0 };
        assert_eq!(elements(&case), 4096);
    }

    #[test]
    fn spreads_are_ranked_as_times_are() {
        let spread = Spread::of(vec![2.0, -1.0, 4.0, 3.0, 0.5]);
        let Spread { min, lower_quartile, median, upper_quartile, max } = spread;
        let found = [min, lower_quartile, median, upper_quartile, max];
        assert_eq!(found.map(f64::to_bits), [-1.0, 0.5, 2.0, 3.0, 4.0].map(f64::to_bits));
    }

    /// A contender that claims to have a result but writes none.
    struct Idle(Buffer<u8>, Layout);

    impl Contender for Idle {
        fn name(&self) -> &'static str {
            "idle"
        }
        fn call(&self, _call: Call, _stream: &Stream) -> anyhow::Result<()> {
            Ok(())
        }
        fn result(&self) -> anyhow::Result<Vec<Number>> {
            Ok(Vec::new())
        }
        fn output(&self) -> Option<(u64, &Layout)> {
            Some((self.0.address(), &self.1))
        }
    }

    #[test]
    fn a_missing_result_is_seen_in_each_chain() {
        let device = Device::simulator();
        let lab = Lab::new(&device, &PtxLibrary::open(None).unwrap(), 1).unwrap();
        let case = Case { op: Op::Sum, element: Element::F32, n: 100, offset: 1 };
        let input = Input::new::<f32>(&device, elements(&case)).unwrap();
        let memory = Memory::new(&device, input).unwrap();
        let mut contenders = ours::open(&device, &case, None).unwrap();
        let idle = Idle(device.alloc(RESULT_BYTES).unwrap(), vec![(0, Element::F32)]);
        contenders.push(Box::new(idle));
        let mut failures = Vec::new();
        let place = Place::new(&device, &lab).unwrap();
        let measured = place.measure(&case, &memory, &contenders, &mut failures).unwrap();
        assert_eq!((measured.len(), failures.len()), (6, 6), "{failures:?}");
        for (one, failure) in measured.iter().zip(&failures) {
            let names: Vec<&str> = one.added.iter().map(|one| one.contender.as_str()).collect();
            assert_eq!(names, [OURS]);
            assert!(failure.starts_with("sum_f32_100+1, ") && failure.contains(": idle: "));
        }
    }
}
