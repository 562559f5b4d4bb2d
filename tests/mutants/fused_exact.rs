//! Mutants of a kernel that sums the shard of a device exactly and exchanges the sum with other
//! devices.

use simt::{Arg, LaunchConfig};

use super::{
    devices::{Devices, RANKS, all},
    shipped::{Mutant, Outcome, all_are_found},
};

const NAME: &str = "fused_exact_f32";
/// The elements of a rank: two chunks of 8 packs, and half of one.
const ELEMENTS: usize = 80;
const CHUNK: u64 = 8;
const BLOCKS: u32 = 3;
/// The words of 32 bits of a sum: the rounded sum, the flags and the limbs.
const WORDS: usize = 15;
/// The flag of numbers other than -0.
const NUMBERS: u64 = 8;

fn element(call: usize, rank: usize, number: usize) -> f32 {
    ((number * 7 + call * 3 + rank) % 11) as f32 / 4.0
}

/// The first two words of the sum of all ranks.
fn expected(call: usize) -> u64 {
    let all = (0..RANKS * ELEMENTS).map(|i| element(call, i / ELEMENTS, i % ELEMENTS));
    NUMBERS << 32 | u64::from(all.sum::<f32>().to_bits())
}

/// Makes calls with this PTX.
fn run(ptx: &str, seed: Option<u64>) -> Outcome {
    let devices = Devices::new();
    let mailboxes = devices.mailboxes(2 + 2 * RANKS * WORDS);
    let zeros = vec![0; 8 * 74];
    let slots: Vec<u64> = (0..RANKS).map(|rank| devices.upload(rank, &zeros)).collect();
    devices.call(
        (NAME, ptx),
        &LaunchConfig { seed, ..LaunchConfig::new(BLOCKS, 64) },
        |call| {
            let outputs: Vec<u64> = (0..RANKS).map(|rank| devices.alloc(rank, 64)).collect();
            let args = |rank: usize| {
                let shard: Vec<f32> = (0..ELEMENTS).map(|i| element(call, rank, i)).collect();
                let own = [
                    Arg::Pointer(devices.upload(rank, bytemuck::cast_slice(&shard))),
                    Arg::U64(ELEMENTS as u64),
                    Arg::U64(CHUNK),
                    Arg::F32(1.0),
                    Arg::Pointer(outputs[rank]),
                    Arg::Pointer(slots[rank]),
                    Arg::U64((rank * ELEMENTS) as u64),
                    Arg::U32(rank as u32),
                    Arg::U32(RANKS as u32),
                    Arg::U32((1 << RANKS) - 1),
                    Arg::U64(0),
                ];
                own.into_iter().chain(all(|rank| Arg::Pointer(mailboxes[rank]))).collect()
            };
            ((0..RANKS).map(args).collect(), outputs)
        },
        |call, outputs| {
            // A mailbox begins with its status and the number of the last call.
            (0..RANKS).all(|rank| {
                devices.pairs(rank, outputs[rank], 1)[0][0] == expected(call)
                    && devices.pairs(rank, mailboxes[rank], 1) == [[0, call as u64 + 1]]
            })
        },
    )
}

const MUTANTS: [Mutant; 8] = [
    Mutant("the block does not meet behind its own sum", "race", ("bar.sync", 6, 8), "//"),
    Mutant("the block does not meet behind the others'", "race", ("bar.sync", 7, 8), "//"),
    Mutant(
        "the block does not meet behind its cells",
        "warp-synchronous",
        ("bar.sync", 8, 8),
        "//",
    ),
    Mutant(
        "a sum is posted for one device",
        "race",
        ("st.relaxed.sys.global", 1, 2),
        "st.relaxed.gpu.global",
    ),
    Mutant("a sum is posted by a weak store", "race", ("st.relaxed.sys.global", 1, 2), "st.global"),
    Mutant(
        "sums are awaited from one device",
        "race",
        ("ld.relaxed.sys.global", 2, 2),
        "ld.relaxed.gpu.global",
    ),
    Mutant("no sum is posted", "livelock", ("st.relaxed.sys.global", 1, 2), "//"),
    Mutant("calls are not counted", "wrong", ("st.relaxed.gpu.global.u64", 1, 1), "//"),
];

#[test]
fn mutants_of_the_fused_exact_sum_are_found() {
    all_are_found(NAME, &MUTANTS, run);
}
