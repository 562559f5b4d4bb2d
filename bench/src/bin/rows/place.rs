//! Measures reductions in place, that is, between a kernel that writes their input and a kernel
//! that reads their results, and small reductions beside an empty kernel.
//!
//! A chain has ten links, each of which is a producer, a reduction and a consumer. The same chain
//! without the reductions is timed too, and the difference is the time that the reductions add.
//! Producer and consumer are one ordinary kernel, which copies: the producer copies the elements to
//! the input, and the consumer copies the results to a log. Each chain is a graph. Beside the
//! chains, graphs of ten reductions alone and of ten empty kernels are timed.

use std::time::Duration;

use anyhow::Context;
use bench::quartiles;
use serde_json::{Map, Value as Json, json};
use warpfold::{
    Array, RowOperation, SegmentOperation, SegmentStatus,
    device::{Arg, Graph, Kernel, LaunchShape, Stream},
};
use warpfold_lab::output::{Cell, Column, Table};

use crate::{
    cases::{Case, Element, Layout, Operation},
    choice::retain,
    data::{Numbers, Value},
    measure::{Input, Lab, SMALL_GRAPH_CALLS, Who, call_cub, cub},
    report::describe,
};

/// The kernels of the producer and the consumer, and the empty one.
const PTX: &str = include_str!("../../../peers/place.ptx");

/// The number of threads in a block of the producer and the consumer.
const BLOCK: u32 = 256;

/// The greatest number of their blocks for each multiprocessor. So many can be resident at once.
const BLOCKS_EACH: u32 = 8;

/// The number of links of a chain.
const LINKS: usize = SMALL_GRAPH_CALLS;

/// A case in place: an array that is reduced along axes, or its rows as segments with offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceCase {
    pub(crate) case: Case,
    /// Whether the rows are segments, whose offsets are given.
    pub(crate) has_offsets: bool,
}

/// The measurements of a case.
pub(crate) struct Placed {
    /// The median time of a link without a reduction, in microseconds.
    without_us: f64,
    /// The median time of an empty kernel in a graph, in microseconds.
    empty_us: f64,
    contenders: Vec<Contender>,
}

/// The times of a contender in microseconds.
struct Contender {
    who: Who,
    /// The quartiles of the time that a reduction adds to a link.
    added_us: [f64; 3],
    /// The median time of a reduction in a graph that has nothing else.
    alone_us: f64,
}

/// What a contender does, for all of its graphs.
type Call<'a> = &'a mut dyn FnMut(&Stream) -> anyhow::Result<()>;

/// The kernels around the reductions.
pub(crate) struct Place<'a> {
    lab: &'a Lab,
    copy: Kernel,
    empty: Kernel,
}

/// The memory around the reductions of a case: addresses and numbers of packs.
struct Memory {
    source: u64,
    input: (u64, u64),
    results: (u64, u64),
    log: u64,
}

/// The graphs of a contender.
struct Graphs {
    who: Who,
    chain: Graph,
    alone: Graph,
}

impl<'a> Place<'a> {
    pub(crate) fn new(lab: &'a Lab) -> anyhow::Result<Self> {
        let module = lab.device.load("place.ptx", PTX)?;
        Ok(Self { lab, copy: module.kernel("copy")?, empty: module.kernel("empty")? })
    }

    /// Checks and measures a case. CUB is left out if it fails.
    pub(crate) fn measure<T, O>(
        &self,
        PlaceCase { case, has_offsets }: &PlaceCase,
        input: &Input<T>,
        op: O,
    ) -> anyhow::Result<Placed>
    where
        T: Value,
        O: RowOperation<T, Raw: Numbers> + SegmentOperation<T>,
    {
        self.lab.begin(&case.name);
        let device = &self.lab.device;
        let raw_bytes = size_of::<O::Raw>() as u64;
        let (rows, bytes) = (usize::try_from(case.rows())?, case.span() * case.element.size());
        // The kernels copy packs of 16 bytes.
        let packs = |bytes: u64| bytes.div_ceil(16);
        let mut out = device.alloc::<O::Raw>(rows + 16_usize.div_ceil(raw_bytes as usize))?;
        let target =
            device.alloc::<T>(usize::try_from(packs(bytes) * 16 / case.element.size())?)?;
        let log = device.alloc::<u8>(usize::try_from(packs(raw_bytes * case.rows()) * 16)?)?;
        let memory = Memory {
            source: input.device.address(),
            input: (target.address(), packs(bytes)),
            results: (out.address(), packs(raw_bytes * case.rows())),
            log: log.address(),
        };
        let address = out.address();
        let elements = target.view(..usize::try_from(case.span())?);

        let (ours, offsets) = if *has_offsets {
            let reducer = device.segment_reducer::<T, _>(op)?;
            let offsets = device.upload(&offsets(case)?)?;
            let mut status = device.upload(&[SegmentStatus::default()])?;
            let graphs = self.graphs(Who::Warpfold, &memory, &mut |stream| {
                let out = out.view_mut(..rows);
                reducer.reduce_segments_into(elements, &offsets, out, &mut status, stream)?;
                Ok(())
            })?;
            (graphs, Some(offsets))
        } else {
            let reducer = device.row_reducer::<T, _>(op)?;
            let array = Array::with_strides(elements, &case.shape, &case.strides(), 0)?;
            let axes: Vec<isize> = case.axes.iter().map(|&axis| axis as isize).collect();
            let graphs = self.graphs(Who::Warpfold, &memory, &mut |stream| {
                reducer.reduce_axes_into(&array, &axes, out.view_mut(..rows), stream)?;
                Ok(())
            })?;
            (graphs, None)
        };
        self.lab.check(case, input, &mut out, &ours.chain).context("warpfold")?;
        let mut all = vec![ours];
        let temp;
        if let Some(cub) = self.lab.peers.as_ref().and_then(|peers| match &offsets {
            Some(offsets) => {
                let name = format!("cub_segments_{}_{}", case.op.name(), case.element.name());
                peers.cub_segments(&name, case.rows(), offsets.address())
            }
            None => cub(peers, case),
        }) {
            temp = device.alloc::<u8>(cub.temp_bytes()?)?;
            let graphs = self.graphs(Who::Cub, &memory, &mut |stream| {
                call_cub(cub, &temp, target.address(), address, stream)
            });
            let checked = graphs.and_then(|Graphs { who, chain, alone }| {
                let chain = self.lab.checked_cub(case, input, &mut out, chain)?;
                Ok(Graphs { who, chain, alone })
            });
            match checked {
                Ok(graphs) => all.push(graphs),
                Err(error) => self.lab.failed(&format!("{}: cub", case.name), &error),
            }
        }
        self.take_turns(&memory, &all)
    }

    /// Records a chain with the reductions of a contender, and the reductions alone.
    fn graphs(&self, who: Who, memory: &Memory, call: Call<'_>) -> anyhow::Result<Graphs> {
        let chain = self.chain(memory, Some(&mut *call))?;
        let (alone, ()) =
            self.lab.device.capture(|stream| (0..LINKS).try_for_each(|_| call(stream)))?;
        Ok(Graphs { who, chain, alone })
    }

    fn chain(&self, memory: &Memory, mut call: Option<Call<'_>>) -> anyhow::Result<Graph> {
        let (graph, ()) = self.lab.device.capture(|stream| {
            for _ in 0..LINKS {
                self.copy(memory.source, memory.input, stream)?;
                if let Some(call) = &mut call {
                    call(stream)?;
                }
                let (results, packs) = memory.results;
                self.copy(results, (memory.log, packs), stream)?;
            }
            anyhow::Ok(())
        })?;
        Ok(graph)
    }

    fn copy(
        &self,
        source: u64,
        (target, packs): (u64, u64),
        stream: &Stream,
    ) -> anyhow::Result<()> {
        // The simulator is too slow for as many threads as a GPU has.
        let most = if self.lab.is_gpu() {
            self.lab.device.info().multiprocessors * BLOCKS_EACH
        } else {
            1
        };
        let blocks = u32::try_from(packs.div_ceil(u64::from(BLOCK))).unwrap_or(most);
        let shape = LaunchShape::linear(blocks.clamp(1, most), BLOCK, 0);
        let args = [Arg::Pointer(source), Arg::Pointer(target), Arg::U64(packs)];
        // SAFETY: source and target have room for so many packs, as the allocations in `measure`
        // and `Input::new` show. They outlive the graphs.
        unsafe { stream.launch(&self.copy, shape, &args)? };
        Ok(())
    }

    /// Measures the graphs of all contenders in turns, with those that have no reduction.
    fn take_turns(&self, memory: &Memory, all: &[Graphs]) -> anyhow::Result<Placed> {
        let without = self.chain(memory, None)?;
        let (empty, ()) = self.lab.device.capture(|stream| {
            // SAFETY: the kernel accesses no memory.
            (0..LINKS).try_for_each(|_| unsafe {
                stream.launch(&self.empty, LaunchShape::linear(1, 32, 0), &[])
            })
        })?;
        let mut graphs = vec![&without, &empty];
        graphs.extend(all.iter().flat_map(|one| [&one.chain, &one.alone]));
        let times = self.lab.times(&graphs, LINKS)?;
        let us = |time: &Duration| time.as_secs_f64() * 1e6;
        let times: Vec<Vec<f64>> =
            times.iter().map(|times| times.iter().map(us).collect()).collect();
        let contenders = all.iter().zip(times[2..].chunks_exact(2)).map(|(one, of_one)| {
            // Both times of a turn are of the same state of the device.
            let added = of_one[0].iter().zip(&times[0]).map(|(with, without)| with - without);
            let [_, alone_us, _] = spread(of_one[1].clone());
            Contender { who: one.who, added_us: spread(added.collect()), alone_us }
        });
        let contenders = contenders.collect();
        let [without_us, empty_us] = [0, 1].map(|at| spread(times[at].clone())[1]);
        Ok(Placed { without_us, empty_us, contenders })
    }
}

/// The quartiles.
fn spread(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_unstable_by(f64::total_cmp);
    let [_, lower, median, upper, _] = quartiles(&samples);
    [lower, median, upper]
}

/// The offsets of the rows.
fn offsets(case: &Case) -> anyhow::Result<Vec<u32>> {
    let offset = |row| Ok(u32::try_from(row * case.length())?);
    (0..=case.rows()).map(offset).collect()
}

/// The cases that `--cases` names: all for `quick` and `full`, or those with parts of names. With
/// `bytes`, arrays are scaled down to about so many bytes.
pub(crate) fn choose(wanted: &str, bytes: Option<u64>) -> anyhow::Result<Vec<PlaceCase>> {
    let shapes = [
        [32, 32],
        [1000, 10],
        [1, 1_000_000],
        [1_000_000, 1],
        [1024, 16],
        [16, 1024],
        [4096, 1024],
        [65536, 1024],
    ];
    let mut cases = Vec::new();
    for op in [Operation::Sum, Operation::ArgMax, Operation::Moments] {
        for shape in shapes {
            for (axis, has_offsets) in [(1, false), (0, false), (1, true)] {
                let mut case = Case::new(op, Element::F32, &shape, Layout::Dense, &[axis]);
                if has_offsets {
                    case.name = case.name.replace("rows", "segments");
                }
                cases.push(PlaceCase { case, has_offsets });
            }
        }
    }
    retain(&mut cases, wanted, |case| &case.case.name)?;
    if let Some(bytes) = bytes {
        for case in &mut cases {
            case.case.scale_down(bytes);
        }
    }
    Ok(cases)
}

/// The numbers of a case, for the targets and for rows.py.
pub(crate) fn to_json(PlaceCase { case, has_offsets }: &PlaceCase, placed: &Placed) -> Json {
    let entry = |one: &Contender| {
        let [lower, median, upper] = one.added_us;
        let us = json!({
            "median_us": one.alone_us, "added_us": median, "added_quartiles_us": [lower, upper],
        });
        (one.who.name().to_owned(), us)
    };
    let times: Map<String, Json> = placed.contenders.iter().map(entry).collect();
    let mut row = describe(case, LINKS);
    row["has_offsets"] = json!(has_offsets);
    row["without_us"] = json!(placed.without_us);
    row["empty_us"] = json!(placed.empty_us);
    row["times"] = Json::Object(times);
    row
}

/// The table of all cases.
pub(crate) fn table(measured: &[(&PlaceCase, Placed)]) -> Table {
    let us = |key, name| Column::new(key, name).in_unit("us");
    let columns = vec![
        Column::new("case", "case"),
        us("without_us", "without"),
        us("ours_added_us", "ours adds"),
        us("cub_added_us", "cub adds"),
        us("empty_us", "empty"),
        us("ours_us", "ours alone"),
        us("cub_us", "cub alone"),
    ];
    let mut table = Table::new("rows-place", "Between a producer and a consumer", columns);
    for (case, placed) in measured {
        let of = |who, number: fn(&Contender) -> f64| {
            let found = placed.contenders.iter().find(|one| one.who == who);
            found.map_or(Cell::Missing, |one| Cell::number(number(one), 2))
        };
        let (added, alone) = (|one: &Contender| one.added_us[1], |one: &Contender| one.alone_us);
        table.push([
            Cell::Text(case.case.name.clone()),
            Cell::number(placed.without_us, 2),
            of(Who::Warpfold, added),
            of(Who::Cub, added),
            Cell::number(placed.empty_us, 2),
            of(Who::Warpfold, alone),
            of(Who::Cub, alone),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let cases = choose("full", None).unwrap();
        let names: HashSet<_> = cases.iter().map(|case| &case.case.name).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn offsets_of_rows() {
        let case = Case::new(Operation::Sum, Element::F32, &[3, 5], Layout::Dense, &[1]);
        assert_eq!(offsets(&case).unwrap(), [0, 5, 10, 15]);
    }
}
