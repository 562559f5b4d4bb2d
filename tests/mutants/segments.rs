//! Mutants of the kernel that sums segments, whose warps copy tiles and boundaries while they work,
//! and whose tasks meet through words that one of them polls.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found};

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
        // Segments are neighbours.
        Arg::U64(elements),
        Arg::Pointer(0),
        Arg::U32(0),
    ];
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        ..LaunchConfig::new(ranges.div_ceil(2) as u32, 64)
    };
    let checked = check(kernel, &config, &args, &memory).unwrap();
    Outcome::new(&checked, || {
        let mut sums = vec![0.0; segments as usize];
        memory.read(output, bytemuck::cast_slice_mut(&mut sums)).unwrap();
        sums == expected()
    })
}

/// The sums of the segments, which are whole numbers.
fn expected() -> Vec<f32> {
    let mut values = (0..).map(|i| (i % 7) as f32);
    lengths().into_iter().map(|length| values.by_ref().take(length as usize).sum()).collect()
}

const MUTANTS: [Mutant; 8] = [
    Mutant("no wait for the first boundaries", "in-flight", ("cp.async.wait_all", 1, 2), "//"),
    Mutant("no wait for a tile", "in-flight", ("cp.async.wait_all", 2, 2), "//"),
    Mutant("no barrier behind the first boundaries", "in-flight", ("bar.warp.sync", 1, 4), "//"),
    Mutant("no barrier before the next copies", "warp-synchronous", ("bar.warp.sync", 2, 4), "//"),
    Mutant("no barrier behind the copies", "in-flight", ("bar.warp.sync", 3, 4), "//"),
    Mutant("a weak post", "race", ("st.relaxed.gpu.global.u64", 1, 3), "st.global.u64"),
    Mutant("a weak poll", "race", ("ld.relaxed.gpu.global.u64", 3, 3), "ld.global.u64"),
    Mutant("a weak clear", "race", ("st.relaxed.gpu.global.u64", 2, 3), "st.global.u64"),
];

#[test]
fn mutants_of_the_kernel_for_segments_are_found() {
    all_are_found(ENTRY, &MUTANTS, run);
}
