//! Mutants of a kernel that reduces the shard of a device and exchanges the result with others. How
//! its blocks combine is that of the production reducer, which has mutants of its own.
//!
//! All devices end a call here before the next one begins, so that a kernel with one set of words
//! in a mailbox is not among the mutants.

use simt::{Arg, LaunchConfig};

use super::{
    devices::{Devices, RANKS, all},
    shipped::{Mutant, Outcome, all_are_found},
};

const NAME: &str = "fused_argmin_f32";
/// The elements of a rank: two chunks of 8 packs, and half of one.
const ELEMENTS: usize = 80;
const CHUNK: u32 = 8;
const BLOCKS: u32 = 3;
/// The words of 32 bits for which a rank has room in a mailbox: those of 64 results.
const ROOM: usize = 256;

/// The last rank has the least elements.
fn element(call: usize, rank: usize, number: usize) -> f32 {
    ((number * 7 + call * 3) % 11 + RANKS - rank) as f32
}

/// The least element of all ranks and its index in the whole; of equal elements, the first.
fn expected(call: usize) -> [u64; 2] {
    let all = (0..RANKS * ELEMENTS)
        .map(|index| (element(call, index / ELEMENTS, index % ELEMENTS), index as u64));
    let (value, index) = all.min_by(|(a, _), (b, _)| a.total_cmp(b)).unwrap();
    [value.to_bits().into(), index]
}

/// Makes calls with this PTX.
fn run(ptx: &str, seed: Option<u64>) -> Outcome {
    let devices = Devices::new();
    let mailboxes = devices.mailboxes(2 + 2 * RANKS * ROOM);
    let zeros = vec![0; 64 * BLOCKS as usize];
    let slots: Vec<u64> = (0..RANKS).map(|rank| devices.upload(rank, &zeros)).collect();
    devices.call(
        (NAME, ptx),
        &LaunchConfig { seed, ..LaunchConfig::new(BLOCKS, 64) },
        |call| {
            let outputs: Vec<u64> = (0..RANKS).map(|rank| devices.alloc(rank, 16)).collect();
            let args = |rank: usize| {
                let shard: Vec<f32> = (0..ELEMENTS).map(|i| element(call, rank, i)).collect();
                let own = [
                    Arg::Pointer(devices.upload(rank, bytemuck::cast_slice(&shard))),
                    Arg::U32(CHUNK),
                    Arg::U32(BLOCKS - 1),
                    Arg::U32(CHUNK / 2),
                    Arg::U32(0),
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
                devices.pairs(rank, outputs[rank], 1) == [expected(call)]
                    && devices.pairs(rank, mailboxes[rank], 1) == [[0, call as u64 + 1]]
            })
        },
    )
}

const MUTANTS: [Mutant; 9] = [
    Mutant(
        "the warp does not meet behind its own result",
        "warp-synchronous",
        ("bar.warp.sync", 1, 2),
        "//",
    ),
    Mutant(
        "the warp does not meet behind the others'",
        "warp-synchronous",
        ("bar.warp.sync", 2, 2),
        "//",
    ),
    Mutant(
        "a result is posted for one device",
        "race",
        ("st.relaxed.sys.global", 1, 2),
        "st.relaxed.gpu.global",
    ),
    Mutant(
        "a result is posted by a weak store",
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
    Mutant("calls are not counted", "wrong", ("st.relaxed.gpu.global.u64", 1, 1), "//"),
    Mutant(
        "indices are not moved",
        "wrong",
        ("fused_argmin_f32_param_8]", 1, 1),
        "fused_argmin_f32_param_12]",
    ),
    Mutant("the own result is not staged", "uninitialized-read", ("st.shared.b64", 1, 2), "//"),
];

#[test]
fn mutants_of_the_fused_kernel_are_found() {
    all_are_found(NAME, &MUTANTS, run);
}
