//! Measures cases of one element type, which share an input. The contenders take turns.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use bench::row_peers::{Cub, RowPeers};
use warpfold::{
    Array, RowOperation,
    device::{Buffer, Device, Graph, Stream},
};

use crate::{
    cases::{Case, Operation},
    data::{self, Numbers, Value},
};

/// The number of calls in a graph.
const GRAPH_CALLS: usize = 5;

/// The number of calls in a graph if the input is small.
pub(crate) const SMALL_GRAPH_CALLS: usize = 10;

/// Inputs of fewer bytes are small.
const SMALL_BYTES: u64 = 32 << 20;

/// The number of measurements that only warm the device up and do not count.
const WARM_UPS: usize = 3;

/// Who reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Warpfold,
    Twin,
    Cub,
}

impl Who {
    pub(crate) const ALL: [Self; 3] = [Self::Warpfold, Self::Twin, Self::Cub];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Warpfold => "warpfold",
            Self::Twin => "twin",
            Self::Cub => "cub",
        }
    }
}

/// The times of one call of each contender, in the order in which they were measured.
pub(crate) type Samples = Vec<(Who, Vec<Duration>)>;

/// The device, the stream on which everything runs, and the peers.
pub(crate) struct Lab {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) peers: Option<RowPeers>,
    pub(crate) samples: usize,
    pub(crate) start: Instant,
    /// A line for each contender of a case that failed and was left out.
    pub(crate) failures: RefCell<Vec<String>>,
}

/// The elements of a case's input or of a longer one, on the host and on the device.
pub(crate) struct Input<T> {
    host: Vec<T>,
    pub(crate) device: Buffer<T>,
}

impl<T: Value> Input<T> {
    /// An input for these cases, which have this element type. It fills a whole number of packs of
    /// 16 bytes.
    pub(crate) fn new<'a>(
        device: &Device,
        cases: impl Iterator<Item = &'a Case>,
    ) -> anyhow::Result<Self> {
        let len = cases.map(Case::span).max().unwrap_or_default().next_multiple_of(16);
        let host = data::generate(len);
        Ok(Self { device: device.upload(&host)?, host })
    }
}

impl Lab {
    /// Says that a case or a contender of it failed.
    pub(crate) fn failed(&self, what: &str, error: &anyhow::Error) {
        eprintln!("{what}: {error:#}");
        self.failures.borrow_mut().push(format!("{what}: {error:#}"));
    }

    /// Says which case is measured now.
    pub(crate) fn begin(&self, name: &str) {
        eprintln!("{:>5.1} s  {name}", self.start.elapsed().as_secs_f64());
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.stream.raw().is_some()
    }

    /// The number of calls in a graph for a case. A simulation is slow, and needs no repetition.
    pub(crate) fn calls(&self, case: &Case) -> usize {
        match case.bytes() {
            _ if !self.is_gpu() => 1,
            bytes if bytes < SMALL_BYTES => SMALL_GRAPH_CALLS,
            _ => GRAPH_CALLS,
        }
    }

    /// Checks the results of a case, and measures it once with each contender.
    pub(crate) fn measure<T: Value, O: RowOperation<T, RowRaw: Numbers>>(
        &self,
        case: &Case,
        input: &Input<T>,
        op: O,
    ) -> anyhow::Result<Samples> {
        self.begin(&case.name);
        let reducer = self.device.row_reducer::<T, _>(op)?;
        let (rows, raw_bytes) = (usize::try_from(case.rows())?, size_of::<O::RowRaw>());
        // The twin writes multiples of 16 bytes.
        let mut out = self.device.alloc::<O::RowRaw>(rows + 16_usize.div_ceil(raw_bytes))?;
        let address = out.address();
        let elements = input.device.view(..usize::try_from(case.span())?);
        let array = Array::with_strides(elements, &case.shape, &case.strides(), 0)?;
        let axes: Vec<isize> = case.axes.iter().map(|&axis| axis as isize).collect();

        let mut graphs = Vec::new();
        let graph = self.capture(case, |stream| {
            reducer.reduce_axes_into(&array, &axes, out.view_mut(..rows), stream)?;
            Ok(())
        })?;
        self.check(case, input, &mut out, &graph).context("warpfold")?;
        graphs.push((Who::Warpfold, graph));
        let temp;
        if let Some(peers) = &self.peers {
            let twin = self.capture(case, |stream| {
                let read = (input.device.address(), case.read_bytes());
                let written = (address, (rows * raw_bytes) as u64);
                // SAFETY: the device that made the stream has made its context current in this
                // thread, which uses no other. The buffers hold so many bytes, as the allocations
                // above show, and outlive the graph.
                unsafe { peers.twin(read, written, handle(stream)?) }
            })?;
            graphs.push((Who::Twin, twin));
            if let Some(cub) = cub(peers, case) {
                temp = self.device.alloc::<u8>(cub.temp_bytes()?)?;
                let graph = self.capture(case, |stream| {
                    call_cub(cub, &temp, input.device.address(), address, stream)
                });
                match graph.and_then(|graph| self.checked_cub(case, input, &mut out, graph)) {
                    Ok(graph) => graphs.push((Who::Cub, graph)),
                    Err(error) => self.failed(&format!("{}: cub", case.name), &error),
                }
            }
        }
        self.take_turns(&graphs, self.calls(case))
    }

    /// Records the calls of a contender.
    fn capture(
        &self,
        case: &Case,
        mut call: impl FnMut(&Stream) -> anyhow::Result<()>,
    ) -> anyhow::Result<Graph> {
        let calls = self.calls(case);
        let (graph, ()) =
            self.device.capture(|stream| (0..calls).try_for_each(|_| call(stream)))?;
        Ok(graph)
    }

    /// Launches a graph and compares some of its results with those of the host.
    pub(crate) fn check<T: Value, R: Numbers + warpfold::device::Pod>(
        &self,
        case: &Case,
        input: &Input<T>,
        out: &mut Buffer<R>,
        graph: &Graph,
    ) -> anyhow::Result<()> {
        out.fill_bytes(0xff)?;
        graph.launch(&self.stream)?;
        self.stream.synchronize()?;
        for row in data::checked(case) {
            let elements = data::places(case, row).map(|place| input.host[place].to_f64());
            let expected = data::expected(case.op, elements);
            let at = usize::try_from(row)?;
            let found = out.view(at..=at).copy_to_host()?[0].numbers();
            if !data::agree(case.op, &found, &expected) {
                bail!("{}: result {row} is {found:?} and must be {expected:?}", case.name);
            }
        }
        Ok(())
    }

    /// The graph of CUB, whose results are right. Its indices have another place than ours, so they
    /// are not checked.
    pub(crate) fn checked_cub<T: Value, R: Numbers + warpfold::device::Pod>(
        &self,
        case: &Case,
        input: &Input<T>,
        out: &mut Buffer<R>,
        graph: Graph,
    ) -> anyhow::Result<Graph> {
        if !matches!(case.op, Operation::ArgMin | Operation::ArgMax) {
            self.check(case, input, out, &graph)?;
        }
        Ok(graph)
    }

    /// Measures the time of one call of each contender.
    fn take_turns(&self, graphs: &[(Who, Graph)], calls: usize) -> anyhow::Result<Samples> {
        let (who, graphs): (Vec<_>, Vec<_>) =
            graphs.iter().map(|(who, graph)| (*who, graph)).unzip();
        Ok(who.into_iter().zip(self.times(&graphs, calls)?).collect())
    }

    /// The times of one call of each graph, which have so many calls each.
    pub(crate) fn times(
        &self,
        graphs: &[&Graph],
        calls: usize,
    ) -> anyhow::Result<Vec<Vec<Duration>>> {
        let warm_ups = if self.is_gpu() { WARM_UPS } else { 0 };
        let calls = calls as u32;
        Ok(bench::take_turns(graphs, calls, &self.stream, warm_ups, self.samples)?)
    }
}

/// CUB's function for a case. There is none if the rows do not lie one after another.
pub(crate) fn cub<'a>(peers: &'a RowPeers, case: &Case) -> Option<Cub<'a>> {
    let name = format!("cub_rows_{}_{}", case.op.name(), case.element.name());
    if case.is_rows() { peers.cub_rows(&name, case.rows(), case.length()) } else { None }
}

pub(crate) fn call_cub(
    cub: Cub<'_>,
    temp: &Buffer<u8>,
    input: u64,
    out: u64,
    stream: &Stream,
) -> anyhow::Result<()> {
    // SAFETY: the context is current, as for the twin. The input has all elements of the case, and
    // the output a place for each raw result, which is no smaller than a result of CUB. The memory
    // outlives the graph.
    unsafe { cub.call(temp, input, out, handle(stream)?) }
}

fn handle(stream: &Stream) -> anyhow::Result<*mut std::ffi::c_void> {
    stream.raw().context("the peers need a GPU")
}
