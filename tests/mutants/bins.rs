//! Mutants of the kernels for bins: of one that sums, in its two stages, and of two that count, one
//! of which counts keys of one byte.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::shipped::{Mutant, Outcome, all_are_found, read, upload};

/// The number of bins, all of which one block takes.
const BINS: usize = 40;
/// Chunks of the input.
const CHUNKS: u32 = 3;
/// Warps of a block that sums.
const WARPS: u32 = 2;
/// Elements of such a warp: several tiles of 128.
const SHARE: u64 = 384;

/// The keys: the same bin comes again soon, from another lane.
fn keys(n: usize) -> Vec<u32> {
    (0..n as u64).map(|i| ((i * i / 3 + i / 32) % BINS as u64) as u32).collect()
}

/// Shards of a launch that counts, of which the first one has two blocks.
const SHARDS: u32 = 2;
/// Words before the first shard.
const SHARDS_AT: usize = 16;

/// Memory in which a launch can be checked.
struct Problem {
    memory: Memory,
    keys: Vec<u32>,
}

impl Problem {
    fn new(n: usize) -> Self {
        Self { memory: Memory::checked(4 << 20), keys: keys(n) }
    }

    fn upload(&self, bytes: &[u8]) -> u64 {
        upload(&self.memory, bytes)
    }

    fn read<T: bytemuck::Pod>(&self, address: u64, len: usize) -> Vec<T> {
        read(&self.memory, address, len)
    }
}

fn sum(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx("bins", ptx).unwrap();
    let kernel = module.kernel("bins_sum_f32").unwrap();
    let problem = Problem::new((CHUNKS * WARPS) as usize * SHARE as usize - 5);
    let n = problem.keys.len();
    let values: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
    let keys = problem.upload(bytemuck::cast_slice(&problem.keys));
    let values_there = problem.upload(bytemuck::cast_slice(&values));
    let output = problem.memory.alloc(4 * BINS as u64).unwrap();
    let words = CHUNKS as usize * BINS;
    let partials = problem.upload(&vec![0; 4 * words]);
    let status = problem.upload(&[0; 8]);
    let launch = |stage: u32, config: LaunchConfig| {
        let args = [
            Arg::Pointer(keys),
            Arg::U32(2),
            Arg::Pointer(values_there),
            Arg::U64(n as u64),
            Arg::U64(SHARE),
            Arg::U32(BINS as u32),
            Arg::U32(BINS as u32),
            Arg::U32(CHUNKS),
            Arg::Pointer(output),
            Arg::Pointer(partials),
            Arg::Pointer(status),
            Arg::U32(stage),
        ];
        check(kernel, &LaunchConfig { seed, ..config }, &args, &problem.memory).unwrap()
    };
    let first = launch(
        0,
        LaunchConfig {
            dynamic_shared_bytes: WARPS * BINS as u32 * 4,
            ..LaunchConfig::new(CHUNKS, WARPS * 32)
        },
    );
    let second = launch(
        1,
        LaunchConfig {
            dynamic_shared_bytes: 512 * 4,
            ..LaunchConfig::new(BINS.div_ceil(32) as u32, 512)
        },
    );
    let mut sums = vec![0.0f32; BINS];
    for (&key, value) in problem.keys.iter().zip(values) {
        sums[key as usize] += value;
    }
    Outcome::new(&first, || true).and(Outcome::new(&second, || {
        problem.read::<f32>(output, BINS) == sums
            && problem.read::<u32>(partials, words).iter().all(|&word| word == 0)
    }))
}

fn count(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx("bins", ptx).unwrap();
    let kernel = module.kernel("bins_counts_u32").unwrap();
    // Packs of four keys, a round of 1024 packs for each chunk, and keys outside of packs.
    let problem = Problem::new(CHUNKS as usize * 4096 - 5);
    let keys = problem.upload(bytemuck::cast_slice(&problem.keys));
    let output = problem.memory.alloc(8 * BINS as u64).unwrap();
    let words = SHARDS_AT + SHARDS as usize * BINS;
    let shards = problem.upload(&vec![0; 8 * words]);
    let status = problem.upload(&[0; 8]);
    let copies = 4;
    let args = [
        Arg::Pointer(keys),
        Arg::U64(problem.keys.len() as u64),
        Arg::U64(1024),
        Arg::U32(BINS as u32),
        Arg::U32(BINS as u32),
        Arg::U32(copies),
        Arg::U32(SHARDS),
        Arg::Pointer(output),
        Arg::Pointer(shards),
        Arg::Pointer(status),
    ];
    let config = LaunchConfig {
        seed,
        dynamic_shared_bytes: copies * BINS as u32 * 4,
        ..LaunchConfig::new(CHUNKS, 256)
    };
    let checked = check(kernel, &config, &args, &problem.memory).unwrap();
    let mut counts = vec![0u64; BINS];
    for &key in &problem.keys {
        counts[key as usize] += 1;
    }
    Outcome::new(&checked, || {
        problem.read::<u64>(output, BINS) == counts
            && problem.read::<u64>(shards, words).iter().all(|&word| word == 0)
    })
}

/// A key of one byte that is no bin, and where it stands.
const WRONG_KEY: u8 = 201;
const WRONG_PLACE: usize = 6007;

fn count_bytes(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx("bins", ptx).unwrap();
    let kernel = module.kernel("bins_counts_u8").unwrap();
    // Packs of 16 keys, two rounds of 1024 packs for each chunk, and keys outside of packs.
    let problem = Problem::new(CHUNKS as usize * 2048 * 16 - 5);
    let mut bytes: Vec<u8> = problem.keys.iter().map(|&key| key as u8).collect();
    bytes[WRONG_PLACE] = WRONG_KEY;
    let keys = problem.upload(&bytes);
    let output = problem.memory.alloc(8 * BINS as u64).unwrap();
    let words = SHARDS_AT + SHARDS as usize * 128;
    let shards = problem.upload(&vec![0; 8 * words]);
    let status = problem.upload(&[0; 8]);
    let args = [
        Arg::Pointer(keys),
        Arg::U64(bytes.len() as u64),
        Arg::U64(2048),
        Arg::U32(BINS as u32),
        Arg::U32(BINS as u32),
        Arg::U32(0),
        Arg::U32(SHARDS),
        Arg::Pointer(output),
        Arg::Pointer(shards),
        Arg::Pointer(status),
    ];
    let config = LaunchConfig { seed, ..LaunchConfig::new(CHUNKS, 512) };
    let checked = check(kernel, &config, &args, &problem.memory).unwrap();
    let mut counts = vec![0u64; BINS];
    for &key in bytes.iter().filter(|&&key| key != WRONG_KEY) {
        counts[usize::from(key)] += 1;
    }
    Outcome::new(&checked, || {
        problem.read::<u64>(output, BINS) == counts
            && problem.read::<u64>(shards, words).iter().all(|&word| word == 0)
            && problem.read::<u64>(status, 1) == [u64::MAX - WRONG_PLACE as u64]
    })
}

const SUMS: [Mutant; 8] = [
    Mutant("no barrier before the slices are combined", "race", ("bar.sync", 1, 2), "//"),
    Mutant("no barrier before the warps are combined", "race", ("bar.sync", 2, 2), "//"),
    Mutant("no barrier behind the identities", "warp-synchronous", ("bar.warp.sync", 1, 5), "//"),
    Mutant("no barrier behind a tile", "warp-synchronous", ("bar.warp.sync", 2, 5), "//"),
    Mutant("no barrier behind step 0", "warp-synchronous", ("bar.warp.sync", 3, 5), "//"),
    Mutant("no barrier behind step 1", "warp-synchronous", ("bar.warp.sync", 4, 5), "//"),
    Mutant("no barrier behind step 2", "warp-synchronous", ("bar.warp.sync", 5, 5), "//"),
    Mutant("no clear", "wrong", ("st.global.b32", 1, 4), "//"),
];

/// The barrier before the ticket is not among them: the checks do not see that it is missing,
/// because only atomics are before it.
const COUNTS: [Mutant; 6] = [
    Mutant("no barrier behind the clearing", "race", ("bar.sync", 1, 4), "//"),
    Mutant("no barrier behind the last key", "race", ("bar.sync", 2, 4), "//"),
    Mutant("no barrier behind the ticket", "race", ("bar.sync", 4, 4), "//"),
    Mutant("a shard is not read", "wrong", ("setp.lt.u32", 22, 29), "setp.gt.u32"),
    Mutant("no clear of the shards", "wrong", ("st.relaxed.gpu.global.v2.u64", 1, 1), "//"),
    Mutant("no clear of the ticket", "wrong", ("st.relaxed.gpu.global.u64", 1, 1), "//"),
];

/// The barrier before the ticket is not among them, for the same reason: thread 0 alone reads the
/// count that the answer to the ticket replaces.
const BYTES: [Mutant; 7] = [
    Mutant("no barrier behind the clearing", "race", ("bar.sync", 1, 5), "//"),
    Mutant("no barrier behind the last key", "race", ("bar.sync", 2, 5), "//"),
    Mutant("no barrier behind the ticket", "race", ("bar.sync", 4, 5), "//"),
    Mutant("no barrier behind the sums of threads", "race", ("bar.sync", 5, 5), "//"),
    Mutant("a shard is not read", "wrong", ("setp.ge.u32", 3, 6), "setp.le.u32"),
    Mutant("no clear of the shards", "wrong", ("st.relaxed.gpu.global.u64", 1, 5), "//"),
    Mutant("no clear of the ticket", "wrong", ("st.relaxed.gpu.global.u64", 5, 5), "//"),
];

#[test]
fn mutants_of_the_kernel_for_bins_are_found() {
    all_are_found("bins_sum_f32", &SUMS, sum);
}

#[test]
fn mutants_of_the_kernel_for_counts_are_found() {
    all_are_found("bins_counts_u32", &COUNTS, count);
}

#[test]
fn mutants_of_the_kernel_for_counts_of_bytes_are_found() {
    all_are_found("bins_counts_u8", &BYTES, count_bytes);
}
