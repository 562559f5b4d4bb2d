//! Mutants of two kernels for segments, whose warps copy tiles and boundaries while they work, and
//! whose tasks meet through words that one of them polls. One of the kernels sums. The other finds
//! the best four elements, and each lane has a list of them in shared memory.

use simt::{Arg, Checked, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found, read, upload};

/// The kernels.
const SUM: &str = "segments_sum_f32";
const TOP: &str = "segments_top4_f32";
/// The best elements that are asked for.
const K: usize = 4;
/// 2 to this number are the bytes of a tile.
const TILE: u32 = 12;

/// How segments are shared out among warps.
#[derive(Clone, Copy)]
struct Cut {
    /// 2 to this number are the bytes of a range.
    width: u32,
    /// How many segments a warp takes that takes them by their numbers, or 0.
    each: u64,
    /// 2 to this number are the bytes of an offset.
    log: u32,
}

/// Ranges of four tiles.
const LONG: Cut = Cut { width: TILE + 2, each: 0, log: 2 };
/// Ranges that are shorter than a tile.
const SHORT: Cut = Cut { width: TILE - 2, ..LONG };
/// Warps take segments by their numbers, and ranges of a tile have the tasks of longer ones.
const NUMBERED: Cut = Cut { width: TILE, each: 300, ..LONG };
/// Offsets of 64 bits.
const WIDE: Cut = Cut { log: 3, ..LONG };

/// What a segment adds to its bytes when ranges are made: 2 to this number.
const COST: u32 = 4;
/// The words of the ring of a warp.
const RING: u32 = 512;
/// Bytes of shared memory of the two warps of a block.
const SHARED_BYTES: u32 = 2 * (5104 + 4 * RING);

/// The lengths of the segments: short ones, some that several lanes share, and some that several
/// warps share.
fn lengths() -> Vec<u64> {
    let short = (0..2000).map(|i| i % 5);
    short.chain([40, 3000, 200, 1, 0, 12_000, 2, 70, 5]).chain((0..3000).map(|i| i % 3)).collect()
}

/// The elements.
fn value(i: usize) -> f32 {
    (i % 7) as f32
}

/// The offsets of segments with these lengths.
fn offsets() -> Vec<u64> {
    let mut offsets = vec![0];
    for length in lengths() {
        offsets.push(offsets.last().unwrap() + length);
    }
    offsets
}

/// Offsets that rise twice from the same number, again and again. A tile that is right has 128
/// segments of two packs at most, and a tile of these has twice as many.
fn offsets_that_rise_twice() -> Vec<u64> {
    let rising = |begin: u64| (0..128).map(move |i| begin + 8 * i);
    let twice = (0..16).flat_map(|i| rising(1024 * i).chain(rising(1024 * i)));
    twice.chain([1024 * 16]).collect()
}

/// What a launch has left, and where.
struct Launched {
    checked: Checked,
    memory: Memory,
    output: u64,
    slots: u64,
    /// Words of 64 bits of all slots.
    slot_words: usize,
    status: u64,
}

impl Launched {
    fn read<T: bytemuck::Pod>(&self, address: u64, len: usize) -> Vec<T> {
        read(&self.memory, address, len)
    }
}

/// The elements that the last one of some offsets counts.
fn elements(offsets: &[u64]) -> Vec<f32> {
    (0..*offsets.last().unwrap() as usize).map(value).collect()
}

/// Launches a kernel whose accumulator has so many words of 32 bits, whose results have so many
/// bytes, and which takes `more` behind the other arguments.
fn launch(
    (entry, ptx): (&str, &str),
    seed: Option<u64>,
    Cut { width, each, log }: Cut,
    (words, result_bytes, more): (u64, u64, &[Arg]),
    offsets: &[u64],
) -> Launched {
    let module = Module::from_ptx(entry, ptx).unwrap();
    let kernel = module.kernel(entry).unwrap();
    let values = elements(offsets);
    let (elements, segments) = (values.len() as u64, offsets.len() as u64 - 1);
    let total = 4 * elements + (segments << COST);
    let ranges = (total >> width) + 1;
    let numbered = if each > 0 { segments.div_ceil(each) } else { 0 };

    let memory = Memory::checked(16 << 20);
    let upload = |bytes: &[u8]| upload(&memory, bytes);
    let input = upload(bytemuck::cast_slice(&values));
    let narrow: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
    let boundaries = if log == 2 {
        upload(bytemuck::cast_slice(&narrow))
    } else {
        upload(bytemuck::cast_slice(offsets))
    };
    let output = memory.alloc(result_bytes * segments).unwrap();
    // Two words for each range and each word of an accumulator.
    let slot_words = (2 * words * ranges) as usize;
    let slots = upload(&vec![0; 8 * slot_words]);
    let status = upload(&[0; 8]);
    let mut args = vec![
        Arg::Pointer(input),
        Arg::Pointer(output),
        Arg::Pointer(slots),
        Arg::Pointer(boundaries),
        Arg::Pointer(status),
        Arg::U64(segments),
        // The host knows how many segments there are.
        Arg::Pointer(0),
        Arg::U64(elements),
        Arg::F32(segments as f32 / total as f32),
        Arg::U32(1 << width.saturating_sub(TILE)),
        Arg::U32(width),
        Arg::U32(ranges as u32),
        Arg::U32(log),
        Arg::U32(COST),
        Arg::U32(RING),
        Arg::U32(numbered as u32),
        Arg::U32(each as u32),
        // Segments are neighbours.
        Arg::U64(elements),
        Arg::Pointer(0),
        Arg::U32(0),
    ];
    args.extend_from_slice(more);
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        dynamic_shared_bytes: SHARED_BYTES,
        ..LaunchConfig::new((numbered + ranges).div_ceil(2) as u32, 64)
    };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    Launched { checked, memory, output, slots, slot_words, status }
}

/// Launches a kernel, as [`launch`], for the segments of [`lengths`]. `expected` is what it writes
/// for the elements of each segment.
fn run<R: bytemuck::Pod + PartialEq>(
    kernel: (&str, &str),
    seed: Option<u64>,
    cut: Cut,
    (words, more): (u64, &[Arg]),
    expected: impl Fn(&[f32]) -> R,
) -> Outcome {
    let offsets = offsets();
    let launched = launch(kernel, seed, cut, (words, size_of::<R>() as u64, more), &offsets);
    Outcome::new(&launched.checked, || {
        if launched.read::<u64>(launched.slots, launched.slot_words).iter().any(|&word| word != 0) {
            return false;
        }
        let results = launched.read::<R>(launched.output, offsets.len() - 1);
        let values = elements(&offsets);
        let own = offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]);
        results.into_iter().eq(own.map(expected))
    })
}

/// Sums of segments that are wrong. The status has the bits of the number of the first wrong one,
/// inverted.
fn wrong_sums(ptx: &str, seed: Option<u64>) -> Outcome {
    let launched = launch((SUM, ptx), seed, LONG, (1, 4, &[]), &offsets_that_rise_twice());
    Outcome::new(&launched.checked, || launched.read::<u64>(launched.status, 1) == [!127])
}

/// Sums, which are whole numbers.
fn sum(ptx: &str, seed: Option<u64>) -> Outcome {
    run((SUM, ptx), seed, LONG, (1, &[]), |elements| elements.iter().sum::<f32>())
}

/// Sums by warps whose ranges are shorter than a tile.
fn sum_in_short_ranges(ptx: &str, seed: Option<u64>) -> Outcome {
    run((SUM, ptx), seed, SHORT, (1, &[]), |elements| elements.iter().sum::<f32>())
}

/// Sums by warps that take segments by their numbers.
fn sum_by_number(ptx: &str, seed: Option<u64>) -> Outcome {
    run((SUM, ptx), seed, NUMBERED, (1, &[]), |elements| elements.iter().sum::<f32>())
}

/// Sums with offsets of 64 bits.
fn sum_of_wide(ptx: &str, seed: Option<u64>) -> Outcome {
    run((SUM, ptx), seed, WIDE, (1, &[]), |elements| elements.iter().sum::<f32>())
}

/// The best elements. The result has the bits and the index of each, and 0 and the greatest number
/// where there is none.
fn top(ptx: &str, seed: Option<u64>) -> Outcome {
    // Bit 8 asks for the largest ones.
    let asked = Arg::U32(K as u32 | 1 << 8);
    run((TOP, ptx), seed, LONG, (2 * K as u64, &[asked]), |elements| {
        let mut all: Vec<_> = elements.iter().zip(0u64..).collect();
        all.sort_by(|a, b| b.0.total_cmp(a.0));
        let mut best = [[0, u64::MAX]; K];
        for (place, (element, index)) in best.iter_mut().zip(all) {
            *place = [element.to_bits().into(), index];
        }
        best
    })
}

const SUMS: [Mutant; 15] = [
    Mutant("no wait for the first boundaries", "in-flight", ("cp.async.wait_all", 1, 2), "//"),
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 2, 2), "//"),
    Mutant("no barrier behind the first boundaries", "in-flight", ("bar.warp.sync", 1, 5), "//"),
    Mutant("no barrier before the next copies", "warp-synchronous", ("bar.warp.sync", 2, 5), "//"),
    Mutant("no barrier behind the copies", "in-flight", ("bar.warp.sync", 3, 5), "//"),
    Mutant("no barrier in a tile of short ones", "warp-synchronous", ("bar.warp.sync", 4, 5), "//"),
    Mutant("no barrier behind the list", "warp-synchronous", ("bar.warp.sync", 5, 5), "//"),
    Mutant("no number in the list", "uninitialized-read", ("st.shared.b16", 1, 1), "//"),
    Mutant("no copy of a word of short ones", "uninitialized-read", ("st.shared.b32", 2, 11), "//"),
    Mutant("no copy of a word of a long one", "uninitialized-read", ("st.shared.b32", 6, 11), "//"),
    // If a tile is full, the ring has another boundary at the place of its first begin.
    Mutant("a first begin from the ring", "wrong", ("setp.eq.b32", 21, 61), "setp.lt.u32"),
    Mutant("four packs of which none is left", "wrong", ("setp.gt.u32", 12, 30), "setp.ne.u32"),
    Mutant("a weak post", "race", ("st.relaxed.gpu.global.u64", 1, 10), "st.global.u64"),
    Mutant("a weak poll", "race", ("ld.relaxed.gpu.global.u64", 3, 10), "ld.global.u64"),
    Mutant("a weak clear", "race", ("st.relaxed.gpu.global.u64", 2, 10), "st.global.u64"),
];

/// A list that several tasks have made is posted only if a segment has more tasks than a warp has
/// lanes.
const LISTS: [Mutant; 15] = [
    Mutant("no wait for the first boundaries", "in-flight", ("cp.async.wait_all", 1, 2), "//"),
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 2, 2), "//"),
    Mutant("no barrier behind the first boundaries", "in-flight", ("bar.warp.sync", 1, 4), "//"),
    Mutant("no barrier before the next copies", "warp-synchronous", ("bar.warp.sync", 2, 4), "//"),
    Mutant("no barrier behind the copies", "in-flight", ("bar.warp.sync", 3, 4), "//"),
    Mutant("no barrier in a tile of short ones", "warp-synchronous", ("bar.warp.sync", 4, 4), "//"),
    Mutant("no copy of a word of short ones", "uninitialized-read", ("st.shared.b32", 2, 25), "//"),
    Mutant("no copy of a word of a long one", "uninitialized-read", ("st.shared.b32", 6, 25), "//"),
    Mutant(
        "a weak post of the first word",
        "race",
        ("st.relaxed.gpu.global.u64", 1, 24),
        "st.global.u64",
    ),
    Mutant(
        "a weak post of the last word",
        "race",
        ("st.relaxed.gpu.global.u64", 8, 24),
        "st.global.u64",
    ),
    Mutant(
        "a weak clear of the first word",
        "race",
        ("st.relaxed.gpu.global.u64", 9, 24),
        "st.global.u64",
    ),
    Mutant("no clear of the last word", "wrong", ("st.relaxed.gpu.global.u64", 16, 24), "//"),
    Mutant(
        "a weak poll of the first word",
        "race",
        ("ld.relaxed.gpu.global.u64", 3, 10),
        "ld.global.u64",
    ),
    Mutant(
        "a weak poll of the last word",
        "race",
        ("ld.relaxed.gpu.global.u64", 10, 10),
        "ld.global.u64",
    ),
    Mutant("no first word of what waits", "uninitialized-read", ("st.shared.b32", 18, 25), "//"),
];

#[test]
fn mutants_of_the_kernel_for_sums_of_segments_are_found() {
    all_are_found(SUM, &SUMS, sum);
}

/// The tasks of a segment, and their slots, are four ranges apart.
const SHORT_RANGES: [Mutant; 2] = [
    Mutant("tasks of neighbouring ranges", "wrong", (", 12;", 3, 7), ", 10;"),
    Mutant("slots of neighbouring ranges", "wrong", (", 12;", 7, 7), ", 10;"),
];

#[test]
fn mutants_of_the_kernel_for_sums_are_found_in_short_ranges() {
    all_are_found(SUM, &SHORT_RANGES, sum_in_short_ranges);
}

/// Warps that take segments by their numbers come first, and those of ranges have tasks of others.
const NUMBERED_SUMS: [Mutant; 3] = [
    Mutant("more segments than there are", "out-of-bounds", ("min.u64", 1, 14), "max.u64"),
    Mutant("ranges have segments, too", "race", ("setp.eq.b32", 7, 61), "setp.ge.u32"),
    Mutant("no tasks in ranges", "wrong", ("setp.lt.u32", 12, 58), "setp.ge.u32"),
];

#[test]
fn mutants_of_the_kernel_for_sums_are_found_where_warps_take_segments_by_number() {
    all_are_found(SUM, &NUMBERED_SUMS, sum_by_number);
}

/// The ring keeps both words of an offset.
const WIDE_SUMS: [Mutant; 1] =
    [Mutant("a lower word as the upper one", "wrong", ("+5108]", 4, 14), "+5104]")];

#[test]
fn mutants_of_the_kernel_for_sums_are_found_with_wide_offsets() {
    all_are_found(SUM, &WIDE_SUMS, sum_of_wide);
}

/// The list of longer segments has places for those of a tile that is right.
const WRONG_SUMS: [Mutant; 1] =
    [Mutant("more numbers than places", "uninitialized-read", (", 128;", 7, 8), ", 4096;")];

#[test]
fn mutants_of_the_kernel_for_sums_are_found_with_wrong_offsets() {
    all_are_found(SUM, &WRONG_SUMS, wrong_sums);
}

#[test]
fn mutants_of_the_kernel_for_the_best_of_segments_are_found() {
    all_are_found(TOP, &LISTS, top);
}
