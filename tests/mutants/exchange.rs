//! Mutants of the kernels in which several devices combine their results: one that passes results
//! through mailboxes, and one that reads them where they lie.
//!
//! All devices end a call here before the next one begins, and raw results are there before it. So
//! three mutants are not among them: a kernel with one set of words in a mailbox, instead of one
//! for even and one for odd calls, and kernels that lack a barrier or a fence at the first meeting,
//! which makes raw results visible.

use simt::{Arg, LaunchConfig, Memory, Module, check};

use super::{
    devices::{Devices, RANKS, all},
    shipped::{Mutant, Outcome, SEEDS, all_are_found, ptx},
};

/// The results of a full block that posts them, and the words of 32 bits that they take.
const PER_BLOCK: usize = 64;
const ROOM: usize = 4 * PER_BLOCK;
/// The results of a tile that is combined where it lies.
const PER_TILE: usize = 8 * PER_BLOCK;
/// The results of some tiles.
const TILES: usize = 2 * PER_TILE + 6;
/// The shared memory of its block, in bytes: a part of each rank, and a note.
const STAGED: u32 = (4 * (RANKS * PER_TILE.div_ceil(RANKS) * 4 + 1)) as u32;
/// Elements of each rank, by which indices are moved.
const ELEMENTS: usize = 1000;

/// A value and its index, as a kernel for the whole array of a rank leaves them.
fn raw(call: usize, rank: usize, result: usize) -> [u64; 2] {
    let value = ((result * 7 + rank * 5 + call * 3) % 11) as f32;
    [value.to_bits().into(), (result + rank) as u64]
}

/// The least value of all ranks and its index in the whole; of equal values, the first.
fn expected(call: usize, result: usize) -> [u64; 2] {
    let all = (0..RANKS).map(|rank| {
        let [value, index] = raw(call, rank, result);
        [value, index + (rank * ELEMENTS) as u64]
    });
    // The bits of floats that are not negative have the order of the floats.
    all.min().unwrap()
}

/// A kernel and its launches.
struct Kernel {
    name: &'static str,
    /// The number of results, so that a block has as many as it can, and another one has a few.
    results: usize,
    /// The words of a mailbox.
    words: usize,
    config: LaunchConfig,
    /// The arguments of a rank. The lists have the raw results and the mailboxes of all ranks.
    args: fn(usize, &[u64], u64, &[u64]) -> Vec<Arg>,
}

fn exchange() -> Kernel {
    let results = PER_BLOCK + 6;
    let blocks = results.div_ceil(PER_BLOCK);
    Kernel {
        name: "exchange_argmin_f32",
        results,
        words: 1 + blocks * (1 + 2 * RANKS * ROOM),
        config: LaunchConfig {
            dynamic_shared_bytes: 4 * (RANKS * ROOM + 2) as u32,
            ..LaunchConfig::new(blocks as u32, (64, RANKS as u32))
        },
        args: |rank, raws, output, mailboxes| {
            let first = [
                Arg::Pointer(raws[rank]),
                Arg::Pointer(output),
                Arg::U32((PER_BLOCK + 6) as u32),
                Arg::U64((rank * ELEMENTS) as u64),
                Arg::U32(rank as u32),
                Arg::U32(RANKS as u32),
                Arg::U32((1 << RANKS) - 1),
                Arg::U64(0),
            ];
            first.into_iter().chain(all(|rank| Arg::Pointer(mailboxes[rank]))).collect()
        },
    }
}

fn direct() -> Kernel {
    // Two whole tiles and a short one, of which the first block has two.
    let blocks = 2;
    Kernel {
        name: "direct_argmin_f32",
        results: TILES,
        words: 1 + blocks * (1 + 2 * RANKS),
        config: LaunchConfig {
            dynamic_shared_bytes: STAGED,
            ..LaunchConfig::new(blocks as u32, 64)
        },
        args: |rank, raws, output, mailboxes| {
            let middle = [
                Arg::Pointer(output),
                Arg::U32(TILES as u32),
                Arg::U32(rank as u32),
                Arg::U32(RANKS as u32),
                Arg::U32((1 << RANKS) - 1),
                Arg::U64(0),
            ];
            all(|rank| Arg::Pointer(raws[rank]))
                .chain(all(|rank| Arg::U64((rank * ELEMENTS) as u64)))
                .chain(middle)
                .chain(all(|rank| Arg::Pointer(mailboxes[rank])))
                .collect()
        },
    }
}

/// Makes calls with this PTX of the kernel.
fn run(kernel: &Kernel, ptx: &str, seed: Option<u64>) -> Outcome {
    let &Kernel { name, results, words, config, args } = kernel;
    let devices = Devices::new();
    let mailboxes = devices.mailboxes(words);
    devices.call(
        (name, ptx),
        &LaunchConfig { seed, ..config },
        |call| {
            let raws: Vec<u64> = (0..RANKS)
                .map(|rank| {
                    let raws: Vec<_> = (0..results).map(|i| raw(call, rank, i)).collect();
                    devices.share(rank, bytemuck::cast_slice(&raws))
                })
                .collect();
            let outputs: Vec<u64> =
                (0..RANKS).map(|rank| devices.alloc(rank, 16 * results)).collect();
            let args =
                (0..RANKS).map(|rank| args(rank, &raws, outputs[rank], &mailboxes)).collect();
            (args, outputs)
        },
        |call, outputs| {
            (0..RANKS).all(|rank| {
                let found = devices.pairs(rank, outputs[rank], results);
                found.iter().enumerate().all(|(i, result)| *result == expected(call, i))
            })
        },
    )
}

const MUTANTS_OF_EXCHANGE: [Mutant; 9] = [
    Mutant("no barrier behind the own results", "race", ("bar.sync", 1, 3), "//"),
    Mutant("no barrier behind the moved indices", "race", ("bar.sync", 2, 3), "//"),
    Mutant("no barrier behind the others' results", "race", ("bar.sync", 3, 3), "//"),
    Mutant(
        "results are posted for one device",
        "race",
        ("st.relaxed.sys.global", 1, 2),
        "st.relaxed.gpu.global",
    ),
    Mutant(
        "results are posted by a weak store",
        "race",
        ("st.relaxed.sys.global", 1, 2),
        "st.global",
    ),
    Mutant(
        "results are awaited from one device",
        "race",
        ("ld.relaxed.sys.global", 2, 2),
        "ld.relaxed.gpu.global",
    ),
    Mutant("no result is posted", "livelock", ("st.relaxed.sys.global", 1, 2), "//"),
    Mutant("calls are not counted", "wrong", ("st.relaxed.gpu.global", 1, 1), "//"),
    Mutant(
        "any tag but the right one is taken",
        "wrong",
        ("setp.eq.b32 %p29", 1, 1),
        "setp.ne.b32 %p29",
    ),
];

const MUTANTS_OF_DIRECT: [Mutant; 10] = [
    Mutant("no barrier before the next tile", "race", ("bar.sync", 3, 7), "//"),
    Mutant("no barrier behind the parts of all ranks", "race", ("bar.sync", 4, 7), "//"),
    Mutant("no barrier behind the moved indices", "race", ("bar.sync", 5, 7), "//"),
    Mutant("no barrier behind the second meeting", "race", ("bar.sync", 7, 7), "//"),
    Mutant("no fence before the second meeting", "race", ("fence.acq_rel.sys", 3, 4), "//"),
    Mutant("no fence behind the second meeting", "race", ("fence.acq_rel.sys", 4, 4), "//"),
    Mutant("a fence of one device", "race", ("fence.acq_rel.sys", 3, 4), "fence.acq_rel.gpu"),
    Mutant(
        "a word is posted for one device",
        "race",
        ("st.relaxed.sys.global", 3, 4),
        "st.relaxed.gpu.global",
    ),
    Mutant("no word is posted", "livelock", ("st.relaxed.sys.global", 1, 4), "//"),
    Mutant("calls are not counted", "race", ("st.relaxed.gpu.global", 1, 1), "//"),
];

/// What is gathered on one device is combined without mailboxes.
#[test]
fn gathered_results_are_combined() {
    let Kernel { name, results, config, args, .. } = direct();
    let module = Module::from_ptx(name, &ptx(name)).unwrap();
    let kernel = module.kernel(name).unwrap();
    let memory = Memory::checked(1 << 20);
    let bytes = (16 * results) as u64;
    let raws: Vec<u64> = (0..RANKS)
        .map(|rank| {
            let raws: Vec<_> = (0..results).map(|result| raw(0, rank, result)).collect();
            let address = memory.alloc(bytes).unwrap();
            memory.write(address, bytemuck::cast_slice(&raws)).unwrap();
            address
        })
        .collect();
    let output = memory.alloc(bytes).unwrap();
    let args = args(1, &raws, output, &[0; RANKS]);
    for seed in SEEDS {
        let config = LaunchConfig { seed, ..config };
        let checked = check(kernel, &config, &args, &memory).unwrap();
        Outcome::new(&checked, || {
            let mut found = vec![[0u64; 2]; results];
            memory.read(output, bytemuck::cast_slice_mut(&mut found)).unwrap();
            (0..results).all(|result| found[result] == expected(0, result))
        })
        .assert_clean(&format!("seed {seed:?}"));
    }
}

#[test]
fn mutants_of_the_exchange_are_found() {
    let kernel = exchange();
    all_are_found(kernel.name, &MUTANTS_OF_EXCHANGE, |ptx, seed| run(&kernel, ptx, seed));
}

#[test]
fn mutants_of_combining_where_results_lie_are_found() {
    let kernel = direct();
    all_are_found(kernel.name, &MUTANTS_OF_DIRECT, |ptx, seed| run(&kernel, ptx, seed));
}
