//! Patterns of access to shared and to constant memory.

use std::collections::HashSet;

use simt::{LaunchConfig, Memory};

use super::{
    draw::{Section, chart, each, line, micros},
    error::AccessError,
    lab::Lab,
    pattern::Pattern,
    site::{BLOCK, Ran, Site, threads},
    words::{check, word},
};
use crate::{
    device::Arg,
    output::{Axis, Cell, Column, Kind, Table},
    ptx::PtxLibrary,
    requests::{no_memory, traced},
};

/// How many words a thread reads in a timed launch.
const TIMED_ROUNDS: u32 = 512;
/// How many words a thread reads in a counted launch.
const COUNTED_ROUNDS: u32 = 32;

fn rounds(is_timed: bool) -> u32 {
    if is_timed { TIMED_ROUNDS } else { COUNTED_ROUNDS }
}

const CONSTANT_KERNEL: &str = "access_constant";

/// The number of words that `access_constant` has in constant memory.
const CONSTANT_WORDS: u32 = 256;

impl Pattern {
    /// The first word that a thread of a block reads.
    pub(super) fn first(self, thread: u32, parameter: u32) -> u32 {
        match self {
            Self::SharedStride => thread * parameter,
            Self::SharedOffset => thread + parameter,
            _ => thread / parameter,
        }
    }

    /// The number of words of shared memory that a block of so many threads needs.
    pub(super) fn shared_words(self, block: u32, parameter: u32, rounds: u32) -> u32 {
        rounds
            + match self {
                Self::SharedStride => block * parameter,
                Self::SharedOffset => block + parameter,
                _ => block,
            }
    }
}

/// The kernel of a pattern of shared memory; `None` for other patterns.
pub(super) const fn kernel_of_shared(pattern: Pattern) -> Option<&'static str> {
    match pattern {
        Pattern::SharedStride => Some("access_shared_stride"),
        Pattern::SharedOffset => Some("access_shared_offset"),
        Pattern::Broadcast => Some("access_shared_broadcast"),
        _ => None,
    }
}

/// The numbers of threads that read the same word.
const GROUPS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

pub(super) fn shared(lab: &mut Lab<'_>, pattern: Pattern) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.threads(), lab.is_timed());
    let kernel = kernel_of_shared(pattern).unwrap_or_default();
    let (title, parameter) = match pattern {
        Pattern::SharedStride => {
            ("Shared memory with a stride", Column::new("stride", "stride").in_unit("words"))
        }
        Pattern::SharedOffset => {
            ("Shared memory at an offset", Column::new("offset", "offset").in_unit("words"))
        }
        _ => ("Threads that read the same word", Column::new("threads", "threads a word")),
    };
    let mut columns = vec![
        parameter.clone(),
        Column::new("conflicts_per_request", "conflicts per request"),
        Column::new("wavefronts_per_request", "wavefronts per request"),
    ];
    if is_timed {
        columns.push(Column::new("us", "time").in_unit("us"));
        columns.push(Column::new("gb_per_s", "bandwidth").in_unit("GB/s"));
    }
    let mut table = Table::new(pattern.name(), title, columns);
    let parameters: Vec<u32> =
        if pattern == Pattern::Broadcast { GROUPS.to_vec() } else { lab.sweep(pattern).collect() };
    lab.rows(
        parameters,
        |parameter| format!("{pattern} {parameter}"),
        |lab, parameter| {
            let timed = lab.is_timed();
            let ran =
                lab.measure(sizes, |site, n| shared_run(site, pattern, kernel, n, parameter))?;
            let load = ran.counters.shared.load;
            let mut row = vec![
                u64::from(parameter).into(),
                each(load.bank_conflicts, load.requests),
                each(load.wavefronts, load.requests),
            ];
            if timed {
                row.extend(read_cells(&ran, sizes.timed));
            }
            table.push(row);
            Ok(())
        },
    )?;
    table.notes.push(rounds_note(lab, sizes.counted, sizes.timed));
    let name = pattern.name();
    let axes = |y| [Axis::linear(parameter.head()), Axis::linear(y)];
    let mut charts = vec![chart(
        &format!("{name}-conflicts"),
        &format!("{title}: bank conflicts"),
        match pattern {
            Pattern::SharedStride => {
                "Odd strides have no conflicts. Otherwise the conflicts of a request are the largest power of two that divides the stride, less one."
            }
            _ => "There are no bank conflicts.",
        },
        Kind::Lines,
        axes("conflicts per request"),
        vec![line("conflicts", &table.rows, 0, 1)],
    )];
    if is_timed {
        charts.push(chart(
            &format!("{name}-bandwidth"),
            &format!("{title}: bandwidth"),
            "The bandwidth at which all multiprocessors together read their shared memory.",
            Kind::Lines,
            axes("GB/s"),
            vec![line("read", &table.rows, 0, 4)],
        ));
    }
    Ok(Section { tables: vec![table], charts })
}

/// The cells of the time and of the bandwidth. In each round, each thread reads one word.
fn read_cells(ran: &Ran, n: u64) -> [Cell; 2] {
    let bytes = n.next_multiple_of(BLOCK.into()) * u64::from(TIMED_ROUNDS) * 4;
    super::draw::time_cells(ran.time, bytes)
}

fn rounds_note(lab: &Lab<'_>, counted: u64, timed: u64) -> String {
    let sizes = lab.sizes_note("threads", counted, timed);
    let rounds = if lab.is_timed() { TIMED_ROUNDS } else { COUNTED_ROUNDS };
    format!(
        "{sizes} Each thread reads {rounds} words{}.",
        if lab.is_timed() { " in a timed launch" } else { "" }
    )
}

fn shared_run(
    site: &mut Site<'_>,
    pattern: Pattern,
    kernel: &str,
    n: u64,
    parameter: u32,
) -> Result<Ran, AccessError> {
    let rounds = rounds(site.is_timed());
    let shape = Site::shape_of_threads(n, pattern.shared_words(BLOCK, parameter, rounds) * 4);
    let seed = site.seed;
    let output = site.zeros(threads(shape) as u64)?;
    let args =
        [Arg::Pointer(output.address()), Arg::U32(parameter), Arg::U32(rounds), Arg::U32(seed)];
    let ran = site.run(kernel, shape, &args)?;
    let of_block: Vec<u32> = (0..BLOCK)
        .map(|thread| {
            let first = pattern.first(thread, parameter);
            (first..first + rounds).fold(0, |sum: u32, i| sum.wrapping_add(word(i, seed)))
        })
        .collect();
    check(
        kernel,
        &format!("{pattern} {parameter}"),
        &output.copy_to_host()?,
        of_block.into_iter().cycle(),
    )?;
    Ok(ran)
}

pub(super) fn constant(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.threads(), lab.is_timed());
    let mut columns = vec![
        Column::new("addresses", "addresses in a warp"),
        Column::new("words_per_request", "words served per request"),
    ];
    if is_timed {
        columns.push(Column::new("us", "time").in_unit("us"));
        columns.push(Column::new("times_first", "times the first row"));
    }
    let mut table = Table::new("constant", "Constant memory", columns);
    let mut one = None;
    lab.rows(
        lab.sweep(Pattern::Constant),
        |distinct| format!("constant, {distinct} addresses"),
        |lab, distinct| {
            let ran = lab.measure(sizes, |site, n| constant_run(site, n, distinct))?;
            let (words, requests) = constant_words(lab.library(), distinct)?;
            let mut row = vec![u64::from(distinct).into(), each(words, requests)];
            if let Some(time) = ran.time {
                let one = *one.get_or_insert(time.as_secs_f64());
                row.push(micros(Some(time)));
                row.push(Cell::number(time.as_secs_f64() / one, 2));
            }
            table.push(row);
            Ok(())
        },
    )?;
    if is_timed {
        table.notes.push(rounds_note(lab, sizes.counted, sizes.timed));
    }
    table.notes.push(
        "The constant cache serves the different words of a warp's request one after another. A trace on the simulator \
         counted these words."
            .into(),
    );
    let axes = |y| [Axis::linear("addresses in a warp"), Axis::linear(y)];
    let mut charts = vec![chart(
        "constant-words",
        "Constant memory: words per request",
        "A request is served as many words as its warp has different addresses, one after another.",
        Kind::Lines,
        axes("words per request"),
        vec![line("words", &table.rows, 0, 1)],
    )];
    if is_timed {
        charts.push(chart(
            "constant-time",
            "Constant memory: time over addresses",
            "The time grows with the number of different addresses that a warp reads at once.",
            Kind::Lines,
            axes("us"),
            vec![line("time", &table.rows, 0, 2)],
        ));
    }
    Ok(Section { tables: vec![table], charts })
}

/// The number of different words that each request of a warp reads, summed over all requests, and
/// the number of requests. Both come from a trace on the simulator, because its counters count
/// requests but not words.
fn constant_words(library: &PtxLibrary, distinct: u32) -> Result<(u64, u64), AccessError> {
    let memory = Memory::new(1 << 20);
    let output = memory.alloc(128).map_err(no_memory("allocate 128 bytes"))?;
    let args =
        [simt::Arg::Pointer(output), simt::Arg::U32(distinct), simt::Arg::U32(COUNTED_ROUNDS)];
    let config = LaunchConfig::new(1, 32);
    let trace = traced::<AccessError>(library, CONSTANT_KERNEL, &config, &args, &memory)?;
    let phases = trace.blocks.iter().flat_map(|block| &block.phases);
    let reads = phases
        .flat_map(|phase| &phase.accesses)
        .filter(|access| trace.instructions[access.instruction].text.starts_with("ld.const"));
    let (mut words, mut requests) = (0, 0);
    for access in reads {
        let addresses: HashSet<u64> = access.lanes.iter().map(|lane| lane.address).collect();
        words += addresses.len() as u64;
        requests += 1;
    }
    Ok((words, requests))
}

fn constant_run(site: &mut Site<'_>, n: u64, distinct: u32) -> Result<Ran, AccessError> {
    let rounds = rounds(site.is_timed());
    let shape = Site::shape_of_threads(n, 0);
    let output = site.zeros(threads(shape) as u64)?;
    let ran = site.run(
        CONSTANT_KERNEL,
        shape,
        &[Arg::Pointer(output.address()), Arg::U32(distinct), Arg::U32(rounds)],
    )?;
    let of_warp: Vec<u32> = (0..32)
        .map(|lane| {
            let words =
                (0..rounds).map(|round| word((lane % distinct + round) % CONSTANT_WORDS, 0));
            words.fold(0, u32::wrapping_add)
        })
        .collect();
    check(
        CONSTANT_KERNEL,
        &format!("{distinct} addresses"),
        &output.copy_to_host()?,
        of_warp.into_iter().cycle(),
    )?;
    Ok(ran)
}
