//! Mutants of a kernel that reduces the shard of a device and exchanges the result with others. How
//! its blocks combine is that of the production reducer, which has mutants of its own.
//!
//! All devices end a call here before the next one begins, so that a kernel with one set of words
//! in a mailbox is not among the mutants.

use simt::{Arg, LaunchConfig, Memory, Module, Together, check_together};

use super::shipped::{Mutant, Outcome, all_are_found};

const NAME: &str = "fused_argmin_f32";
const RANKS: usize = 3;
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

/// Makes three calls with this PTX.
fn run(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx(NAME, ptx).unwrap();
    let kernel = module.kernel(NAME).unwrap();
    let config = LaunchConfig { seed, ..LaunchConfig::new(BLOCKS, 64) };
    let memories: Vec<Memory> = (0..RANKS).map(|_| Memory::checked(1 << 20)).collect();
    let zeroed = |memory: &Memory, words: usize| {
        let address = memory.alloc(8 * words as u64).unwrap();
        memory.write(address, &vec![0; 8 * words]).unwrap();
        address
    };
    let mailboxes: Vec<u64> = (0..RANKS)
        .map(|rank| {
            let others = (0..RANKS).filter(|&other| other != rank);
            let all: Vec<_> = [rank].into_iter().chain(others).map(|i| &memories[i]).collect();
            let words = 2 + 2 * RANKS * ROOM;
            let address = Memory::alloc_shared(&all, 8 * words as u64).unwrap();
            memories[rank].write(address, &vec![0; 8 * words]).unwrap();
            address
        })
        .collect();
    let slots: Vec<u64> =
        memories.iter().map(|memory| zeroed(memory, 8 * BLOCKS as usize)).collect();
    let mut outcome: Option<Outcome> = None;
    for call in 0..3 {
        let outputs: Vec<u64> = memories.iter().map(|memory| memory.alloc(16).unwrap()).collect();
        let args: Vec<Vec<Arg>> = (0..RANKS)
            .map(|rank| {
                let shard: Vec<f32> = (0..ELEMENTS).map(|i| element(call, rank, i)).collect();
                let lines = memories[rank].alloc(4 * ELEMENTS as u64).unwrap();
                memories[rank].write(lines, bytemuck::cast_slice(&shard)).unwrap();
                let own = [
                    Arg::Pointer(lines),
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
                let all = (0..8).map(|rank: usize| Arg::Pointer(mailboxes[rank.min(RANKS - 1)]));
                own.into_iter().chain(all).collect()
            })
            .collect();
        let launches: Vec<_> = memories
            .iter()
            .zip(&args)
            .map(|(memory, args)| Together { kernel, config: &config, args, memory })
            .collect();
        let checked = check_together(&launches).unwrap();
        let read = |memory: &Memory, address: u64| {
            let mut words = [0u64; 2];
            memory.read(address, bytemuck::cast_slice_mut(&mut words)).unwrap();
            words
        };
        let is_right = || {
            // A mailbox begins with its status and the number of the last call.
            (0..RANKS).all(|rank| {
                read(&memories[rank], outputs[rank]) == expected(call)
                    && read(&memories[rank], mailboxes[rank]) == [0, call as u64 + 1]
            })
        };
        let fault = checked.fault.as_ref().map(|(_, fault)| &**fault);
        let of_call = Outcome::of(&checked.reports, fault, is_right);
        outcome = Some(match outcome {
            Some(before) => before.and(of_call),
            None => of_call,
        });
        if fault.is_some() {
            break;
        }
    }
    outcome.expect("there are calls")
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
