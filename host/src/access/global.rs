//! Patterns of access to global memory.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    draw::{Section, bars, categories, chart, each, line, time_cells, time_columns},
    error::AccessError,
    lab::Lab,
    pattern::Pattern,
    site::{Ran, Site, What},
    words::word,
};
use crate::{
    device::{Arg, LaunchShape},
    output::{Axis, Cell, Column, Kind, Table},
};

/// The number of bytes in one word.
const WORD: u64 = 4;

/// Columns of a table of reads and copies over `parameter`.
fn columns(parameter: Column, is_timed: bool) -> Vec<Column> {
    let mut columns = vec![
        parameter,
        Column::new("read_sectors_per_request", "read: sectors per request"),
        Column::new("copy_load_sectors_per_request", "copy: loaded sectors per request"),
        Column::new("copy_store_sectors_per_request", "copy: stored sectors per request"),
    ];
    if is_timed {
        columns.extend(time_columns("read"));
        columns.extend(time_columns("copy"));
    }
    columns
}

/// Positions of columns in such a table.
const READ_SECTORS: usize = 1;
const STORE_SECTORS: usize = 3;
const READ_BANDWIDTH: usize = 5;
const COPY_BANDWIDTH: usize = 7;

/// A row of such a table. A read asks for `bytes` bytes, and a copy for twice as many.
fn row(parameter: Cell, read: &Ran, copy: &Ran, bytes: u64, is_timed: bool) -> Vec<Cell> {
    let mut row = vec![parameter, read.load_sectors(), copy.load_sectors(), copy.store_sectors()];
    if is_timed {
        row.extend(time_cells(read.time, bytes));
        row.extend(time_cells(copy.time, 2 * bytes));
    }
    row
}

const BANDWIDTH_NOTE: &str = "The bandwidth counts the bytes that the threads ask for, and not the other bytes of the sectors that move.";

/// A pattern whose parameter is an offset or a stride.
struct Affine {
    pattern: Pattern,
    /// The number of words that the arrays need for `n` accesses.
    words: fn(n: u64, parameter: u32) -> u64,
    /// The index of the word that access `i` touches.
    index: fn(i: u64, parameter: u32) -> u64,
}

impl Affine {
    fn read(&self, site: &mut Site<'_>, n: u64, parameter: u32) -> Result<Ran, AccessError> {
        let input = site.filled((self.words)(n, parameter))?;
        self.sums(site, input.address(), n, parameter)
    }

    /// Reads an array by the pattern and checks what was read.
    fn sums(
        &self,
        site: &mut Site<'_>,
        array: u64,
        n: u64,
        parameter: u32,
    ) -> Result<Ran, AccessError> {
        let (kernel, text) =
            (format!("access_{}_read", self.pattern), format!("{} {parameter}", self.pattern));
        let what = What { kernel: &kernel, parameter: &text };
        let (shape, seed) = (site.shape(n, 1), site.seed);
        let args = [Arg::U64(n), Arg::U32(parameter)];
        site.read(what, shape, array, &args, n, |i| word((self.index)(i, parameter) as u32, seed))
    }

    /// Copies an array by the pattern, and checks the copy by reading it with the same pattern.
    fn copy(&self, site: &mut Site<'_>, n: u64, parameter: u32) -> Result<Ran, AccessError> {
        let words = (self.words)(n, parameter);
        let (input, output) = (site.filled(words)?, site.zeros(words)?);
        let pointers = [Arg::Pointer(input.address()), Arg::Pointer(output.address())];
        let kernel = format!("access_{}_copy", self.pattern);
        let args = [pointers[0], pointers[1], Arg::U64(n), Arg::U32(parameter)];
        let ran = site.run(&kernel, site.shape(n, 1), &args)?;
        // The output was all 0 before, so a word that the copy has not written is wrong.
        self.sums(site, output.address(), n, parameter)?;
        Ok(ran)
    }

    fn table(
        &self,
        lab: &mut Lab<'_>,
        title: &str,
        parameter: Column,
    ) -> Result<Table, AccessError> {
        let (sizes, is_timed) = (lab.sizes(), lab.is_timed());
        let mut table = Table::new(self.pattern.name(), title, columns(parameter, is_timed));
        lab.rows(
            lab.sweep(self.pattern),
            |parameter| format!("{} {parameter}", self.pattern),
            |lab, parameter| {
                let read = lab.measure(sizes, |site, n| self.read(site, n, parameter))?;
                let copy = lab.measure(sizes, |site, n| self.copy(site, n, parameter))?;
                table.push(row(
                    u64::from(parameter).into(),
                    &read,
                    &copy,
                    sizes.timed * WORD,
                    is_timed,
                ));
                Ok(())
            },
        )?;
        table.notes.push(lab.sizes_note("words", sizes.counted, sizes.timed));
        if is_timed {
            table.notes.push(BANDWIDTH_NOTE.into());
        }
        Ok(table)
    }
}

pub(super) fn offset(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let affine = Affine {
        pattern: Pattern::Offset,
        words: |n, offset| n + u64::from(offset),
        index: |i, offset| i + u64::from(offset),
    };
    let table = affine.table(
        lab,
        "Access at an offset",
        Column::new("offset", "offset").in_unit("words"),
    )?;
    Ok(over_a_line(
        lab,
        table,
        "offset (words)",
        "A request takes four sectors if the offset is a multiple of 8 words, otherwise five.",
    ))
}

pub(super) fn stride(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let affine = Affine {
        pattern: Pattern::Stride,
        words: |n, stride| n * u64::from(stride),
        index: |i, stride| i * u64::from(stride),
    };
    let table = affine.table(
        lab,
        "Access with a stride",
        Column::new("stride", "stride").in_unit("words"),
    )?;
    let description = "The sectors grow with the stride, from 4 to 32 at a stride of 8 words. With greater strides they stay at 32.";
    Ok(over_a_line(lab, table, "stride (words)", description))
}

/// The table and its charts. They are lines, because the first column is a number.
fn over_a_line(lab: &Lab<'_>, table: Table, parameter: &str, description: &str) -> Section {
    let name = table.id.clone();
    let mut charts = Vec::new();
    if lab.is_timed() {
        let series = vec![
            line("read", &table.rows, 0, READ_BANDWIDTH),
            line("copy", &table.rows, 0, COPY_BANDWIDTH),
        ];
        charts.push(lab.with_peak(chart(
            &format!("{name}-bandwidth"),
            &format!("Bandwidth over the {name}"),
            &format!("The bandwidth of reading and of copying, over the {name}."),
            Kind::Lines,
            [Axis::linear(parameter), Axis::linear("GB/s")],
            series,
        )));
    }
    let series = vec![
        line("load", &table.rows, 0, READ_SECTORS),
        line("store", &table.rows, 0, STORE_SECTORS),
    ];
    charts.push(chart(
        &format!("{name}-sectors"),
        &format!("Sectors per request over the {name}"),
        description,
        Kind::Lines,
        [Axis::linear(parameter), Axis::linear("sectors per request")],
        series,
    ));
    Section { tables: vec![table], charts }
}

/// The table and its charts. They are bars, because the first column holds names or a few numbers.
fn over_bars(lab: &Lab<'_>, table: Table, parameter: &str, description: &str) -> Section {
    let name = table.id.clone();
    let mut charts = Vec::new();
    if lab.is_timed() {
        let series = vec![
            bars("read", &table.rows, READ_BANDWIDTH),
            bars("copy", &table.rows, COPY_BANDWIDTH),
        ];
        charts.push(lab.with_peak(chart(
            &format!("{name}-bandwidth"),
            &format!("Bandwidth by {parameter}"),
            &format!("The bandwidth of reading and of copying, for each {parameter}."),
            categories(&table.rows, &[0]),
            [Axis::linear(parameter), Axis::linear("GB/s")],
            series,
        )));
    }
    charts.push(chart(
        &format!("{name}-sectors"),
        &format!("Sectors per request by {parameter}"),
        description,
        categories(&table.rows, &[0]),
        [Axis::linear(parameter), Axis::linear("sectors per request")],
        vec![bars("load", &table.rows, READ_SECTORS), bars("store", &table.rows, STORE_SECTORS)],
    ));
    Section { tables: vec![table], charts }
}

/// For each lane of a warp, which of the warp's 32 words it accesses.
pub(super) type Permutation = [u8; 32];

/// The permutation as the arguments of a kernel, with one byte for each lane.
pub(super) fn packed(permutation: &Permutation) -> [u64; 4] {
    std::array::from_fn(|word| {
        u64::from_le_bytes(std::array::from_fn(|byte| permutation[8 * word + byte]))
    })
}

/// The orders that are shown.
pub(super) fn permutations(seed: u32) -> Vec<(String, Permutation)> {
    let of = |target: &dyn Fn(u8) -> u8| std::array::from_fn(|lane| target(lane as u8));
    let mut random: Permutation = of(&|lane| lane);
    let mut generator = ChaCha8Rng::seed_from_u64(seed.into());
    // This is the shuffle of Fisher and Yates. Each order is as likely as any other, except for a
    // bias of 2^-59 that comes from the remainder.
    for last in (1..random.len()).rev() {
        random.swap(last, (generator.next_u64() % (last as u64 + 1)) as usize);
    }
    vec![
        ("identity".into(), of(&|lane| lane)),
        ("reversed".into(), of(&|lane| 31 - lane)),
        ("xor 1".into(), of(&|lane| lane ^ 1)),
        ("xor 16".into(), of(&|lane| lane ^ 16)),
        (format!("random, seed {seed}"), random),
    ]
}

pub(super) fn permuted(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.sizes(), lab.is_timed());
    let order = Column::new("order", "order within the warp");
    let mut table = Table::new("permuted", "Access in another order", columns(order, is_timed));
    lab.rows(
        permutations(lab.request.seed),
        |(name, _)| format!("permuted, {name}"),
        |lab, (name, permutation)| {
            let read = lab.measure(sizes, |site, n| permuted_read(site, n, &name, &permutation))?;
            let copy = lab.measure(sizes, |site, n| permuted_copy(site, n, &name, &permutation))?;
            table.push(row(name.clone().into(), &read, &copy, sizes.timed * WORD, is_timed));
            Ok(())
        },
    )?;
    table.notes.push(lab.sizes_note("words", sizes.counted, sizes.timed));
    Ok(over_bars(lab, table, "order", "A request takes four sectors in each order."))
}

fn permuted_read(
    site: &mut Site<'_>,
    n: u64,
    name: &str,
    permutation: &Permutation,
) -> Result<Ran, AccessError> {
    let input = site.filled(n)?;
    let args = [&[Arg::U64(n)], packed(permutation).map(Arg::U64).as_slice()].concat();
    let what = What { kernel: "access_permuted_read", parameter: name };
    let (shape, seed) = (site.shape(n, 1), site.seed);
    site.read(what, shape, input.address(), &args, n.next_multiple_of(32), |i| {
        let index = i / 32 * 32 + u64::from(permutation[i as usize % 32]);
        if index < n { word(index as u32, seed) } else { 0 }
    })
}

fn permuted_copy(
    site: &mut Site<'_>,
    n: u64,
    name: &str,
    permutation: &Permutation,
) -> Result<Ran, AccessError> {
    let (input, output) = (site.filled(n)?, site.zeros(n)?);
    let pointers = [Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(n)];
    let args = [pointers.as_slice(), &packed(permutation).map(Arg::U64)].concat();
    let ran = site.run("access_permuted_copy", site.shape(n, 1), &args)?;
    check_array(
        site,
        output.address(),
        n,
        What { kernel: "access_permuted_copy", parameter: name },
    )?;
    Ok(ran)
}

/// Checks that an array holds what `access_fill` writes.
fn check_array(site: &mut Site<'_>, array: u64, n: u64, what: What<'_>) -> Result<(), AccessError> {
    let (shape, seed) = (site.shape(n, 1), site.seed);
    let reads = What { kernel: "access_offset_read", parameter: what.parameter };
    let read =
        site.read(reads, shape, array, &[Arg::U64(n), Arg::U32(0)], n, |i| word(i as u32, seed));
    match read {
        Err(AccessError::Wrong { parameter, place, found, expected, .. }) => {
            let place =
                format!("what thread {} reads of its copy", place.trim_start_matches("element "));
            Err(AccessError::Wrong {
                kernel: what.kernel.to_owned(),
                parameter,
                place,
                found,
                expected,
            })
        }
        read => read.map(drop),
    }
}

pub(super) fn width(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.sizes(), lab.is_timed());
    let mut columns = columns(Column::new("width", "a thread takes").in_unit("bytes"), is_timed);
    columns.push(Column::new("read_instructions_per_word", "read: instructions per word"));
    let mut table = Table::new("width", "Wide access", columns);
    lab.rows(
        [4, 8, 16],
        |width| format!("width {width}"),
        |lab, width: u64| {
            let read = lab.measure(sizes, |site, n| width_read(site, n * WORD / width, width))?;
            let copy = lab.measure(sizes, |site, n| width_copy(site, n * WORD / width, width))?;
            let elements = |words: u64| words * WORD / width;
            let mut row = row(width.into(), &read, &copy, elements(sizes.timed) * width, is_timed);
            row.push(each(
                read.counters.thread_instructions,
                elements(sizes.counted) * width / WORD,
            ));
            table.push(row);
            Ok(())
        },
    )?;
    table.notes.push(lab.sizes_note("words", sizes.counted, sizes.timed));
    let description = "A warp's request takes 4 sectors of 32 bytes if each thread takes 4 bytes, 8 sectors for 8 bytes, and 16 for 16 bytes.";
    Ok(over_bars(lab, table, "bytes a thread", description))
}

/// How many elements a thread takes, if there are enough.
const WIDTH_EACH: u64 = 16;

fn width_read(site: &mut Site<'_>, n: u64, width: u64) -> Result<Ran, AccessError> {
    let words = width / WORD;
    let input = site.filled(n * words)?;
    let (kernel, parameter) = (format!("access_width_read{width}"), format!("width {width}"));
    let what = What { kernel: &kernel, parameter: &parameter };
    let (shape, seed) = (width_shape(site, n), site.seed);
    site.read(what, shape, input.address(), &[Arg::U64(n)], n, |i| {
        (i * words..(i + 1) * words)
            .fold(0, |sum: u32, index| sum.wrapping_add(word(index as u32, seed)))
    })
}

fn width_copy(site: &mut Site<'_>, n: u64, width: u64) -> Result<Ran, AccessError> {
    let words = n * width / WORD;
    let (input, output) = (site.filled(words)?, site.zeros(words)?);
    let (kernel, parameter) = (format!("access_width_copy{width}"), format!("width {width}"));
    let args = [Arg::Pointer(input.address()), Arg::Pointer(output.address()), Arg::U64(n)];
    let ran = site.run(&kernel, width_shape(site, n), &args)?;
    check_array(site, output.address(), words, What { kernel: &kernel, parameter: &parameter })?;
    Ok(ran)
}

fn width_shape(site: &Site<'_>, n: u64) -> LaunchShape {
    site.shape(n, WIDTH_EACH)
}

/// How many words a thread sums, if there are enough.
const UNROLL_EACH: u64 = 64;

pub(super) fn unroll(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.sizes(), lab.is_timed());
    let mut columns = vec![
        Column::new("unrolled", "unrolled by"),
        Column::new("instructions_per_word", "instructions per word"),
        Column::new("branches_per_word", "branches per word"),
        Column::new("sectors_per_request", "sectors per request"),
    ];
    if is_timed {
        columns.extend(time_columns(""));
    }
    let mut table = Table::new("unroll", "Unrolled loops", columns);
    lab.rows(
        [1, 2, 4, 8],
        |unrolled| format!("unrolled by {unrolled}"),
        |lab, unrolled: u64| {
            let ran = lab.measure(sizes, |site, n| {
                let input = site.filled(n)?;
                let (kernel, parameter) =
                    (format!("access_unroll_{unrolled}"), format!("a loop unrolled by {unrolled}"));
                let what = What { kernel: &kernel, parameter: &parameter };
                let (shape, seed) = (site.shape(n, UNROLL_EACH), site.seed);
                site.read(what, shape, input.address(), &[Arg::U64(n)], n, |i| word(i as u32, seed))
            })?;
            // The counters count one instruction for all 32 lanes of a warp, so the divisor is the
            // number of words divided by 32.
            let warps = sizes.counted.div_ceil(32);
            let counters = &ran.counters;
            let mut row = vec![
                unrolled.into(),
                each(counters.warp_instructions, warps),
                each(counters.branches, warps),
                ran.load_sectors(),
            ];
            if is_timed {
                row.extend(time_cells(ran.time, sizes.timed * WORD));
            }
            table.push(row);
            Ok(())
        },
    )?;
    table.notes.push(lab.sizes_note("words", sizes.counted, sizes.timed));
    table.notes.push(
        "Instructions and branches are those of the PTX. The loops are unrolled exactly as the source says, because neither \
         LLVM nor ptxas unrolls them on its own."
            .into(),
    );
    let mut charts = Vec::new();
    let axes = |y| [Axis::linear("unrolled by"), Axis::linear(y)];
    if is_timed {
        let series = vec![bars("read", &table.rows, 5)];
        let (id, title) = ("unroll-bandwidth", "Bandwidth by unrolling");
        let drawn = chart(
            id,
            title,
            "The bandwidth of each loop.",
            categories(&table.rows, &[0]),
            axes("GB/s"),
            series,
        );
        charts.push(lab.with_peak(drawn));
    }
    charts.push(chart(
        "unroll-instructions",
        "Instructions per word by unrolling",
        "Each doubling of the unrolling halves the cost of the loop itself.",
        categories(&table.rows, &[0]),
        axes("instructions per word"),
        vec![bars("instructions", &table.rows, 1), bars("branches", &table.rows, 2)],
    ));
    Ok(Section { tables: vec![table], charts })
}
