//! Mutants of the kernel that sums segments, whose warps copy tiles and boundaries while they work,
//! and whose tasks meet through words that one of them polls.

use std::collections::BTreeSet;

use bench::edit::{Edit, apply};
use simt::{Arg, LaunchConfig, Memory, Module, check};

/// The kernel.
const ENTRY: &str = "segments_sum_f32";
/// Bytes of a tile.
const TILE_BYTES: u64 = 4096;
/// Tiles of a task, and of a range.
const TASK: u32 = 4;
/// What a segment adds to its bytes when ranges are made: 2 to this number.
const COST: u32 = 4;

/// The lengths of the segments: short ones, some that several lanes share, and some that several
/// warps share.
fn lengths() -> Vec<u64> {
    let short = (0..2000).map(|i| i % 5);
    short.chain([40, 3000, 200, 1, 0, 12_000, 2, 70, 5]).chain((0..3000).map(|i| i % 3)).collect()
}

/// What the checks find in one order of the warps, and the results.
struct Outcome {
    classes: BTreeSet<&'static str>,
    text: String,
    sums: Vec<f32>,
}

fn run(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(ENTRY, ptx).unwrap();
    let kernel = module.kernel(ENTRY).unwrap();
    let mut offsets = vec![0];
    for length in lengths() {
        offsets.push(offsets.last().unwrap() + length as u32);
    }
    let (elements, segments) = (u64::from(*offsets.last().unwrap()), lengths().len() as u64);
    let values: Vec<f32> = (0..elements).map(|i| (i % 7) as f32).collect();
    let total = 4 * elements + (segments << COST);
    let ranges = total / (u64::from(TASK) * TILE_BYTES) + 1;

    let memory = Memory::checked(16 << 20);
    let upload = |bytes: &[u8]| {
        let address = memory.alloc(bytes.len() as u64).unwrap();
        memory.write(address, bytes).unwrap();
        address
    };
    let (input, boundaries) =
        (upload(bytemuck::cast_slice(&values)), upload(bytemuck::cast_slice(&offsets)));
    let output = memory.alloc(4 * segments).unwrap();
    // Two words for each range.
    let slots = upload(&vec![0; 16 * ranges as usize]);
    let status = upload(&[0; 8]);
    let args = [
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
        Arg::U32(TASK),
        Arg::U32(ranges as u32),
        Arg::U32(2),
        Arg::U32(COST),
    ];
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        ..LaunchConfig::new(ranges.div_ceil(2) as u32, 64)
    };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    let reports = checked.reports.iter().map(|report| (report.kind.name(), report.to_string()));
    let fault = checked.fault.iter().map(|fault| (fault.kind.name(), fault.to_string()));
    let (classes, text): (_, Vec<_>) = reports.chain(fault).unzip();
    let mut sums = vec![0; 4 * segments as usize];
    if checked.fault.is_none() {
        memory.read(output, &mut sums).unwrap();
    }
    let sums = sums.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()));
    Outcome { classes, text: text.join("\n"), sums: sums.collect() }
}

/// The sums of the segments, which are whole numbers.
fn expected() -> Vec<f32> {
    let mut values = (0..).map(|i| (i % 7) as f32);
    lengths().into_iter().map(|length| values.by_ref().take(length as usize).sum()).collect()
}

fn ptx() -> String {
    let kernel = warpfold::testing::kernels().find(|kernel| kernel.name() == ENTRY).unwrap();
    kernel.text((9, 0)).unwrap()
}

/// A mutant: its name, the class of the error, and the instruction that is changed.
struct Mutant(&'static str, &'static str, (&'static str, usize, usize), &'static str);

const MUTANTS: [Mutant; 10] = [
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_group 2", 1, 1), "//"),
    Mutant("no wait for the first boundaries", "in-flight", ("cp.async.wait_group 1", 1, 2), "//"),
    Mutant("no wait for the next boundaries", "in-flight", ("cp.async.wait_group 1", 2, 2), "//"),
    Mutant("no barrier behind the first boundaries", "in-flight", ("bar.warp.sync", 1, 5), "//"),
    Mutant("no barrier behind a tile", "in-flight", ("bar.warp.sync", 2, 5), "//"),
    Mutant("no barrier behind the next boundaries", "in-flight", ("bar.warp.sync", 3, 5), "//"),
    Mutant(
        "no barrier before a task that waited",
        "warp-synchronous",
        ("bar.warp.sync", 4, 5),
        "//",
    ),
    Mutant("a weak post", "race", ("st.relaxed.gpu.global.u64", 1, 3), "st.global.u64"),
    Mutant("a weak poll", "race", ("ld.relaxed.gpu.global.u64", 3, 3), "ld.global.u64"),
    Mutant("a weak clear", "race", ("st.relaxed.gpu.global.u64", 2, 3), "st.global.u64"),
];

#[test]
fn mutants_of_the_kernel_for_segments_are_found() {
    let ptx = ptx();
    let expected = expected();
    for seed in [None, Some(1), Some(2)] {
        let clean = run(&ptx, seed);
        assert!(clean.classes.is_empty(), "seed {seed:?}:\n{}", clean.text);
        assert_eq!(clean.sums, expected);
    }
    let mut failures = Vec::new();
    for Mutant(name, class, (find, nth, of), with) in MUTANTS {
        let edit = Edit { find: find.into(), nth, of, with: with.into() };
        let mutant = apply(&ptx, ENTRY, &[edit]).unwrap_or_else(|error| panic!("{name}: {error}"));
        for seed in [None, Some(1), Some(2)] {
            let Outcome { classes, .. } = run(&mutant, seed);
            if !classes.contains(class) {
                failures.push(format!("{name}, seed {seed:?}, is {classes:?} and not {class}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
