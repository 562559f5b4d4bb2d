//! Mutants of a kernel in which several devices exchange their results.
//!
//! A kernel with one set of words in a mailbox, instead of one for even and one for odd calls, is
//! not among them. A device would have to begin a call while another one is still in the last, and
//! here all devices end a call before the next one begins.

use simt::{Arg, LaunchConfig, Memory, Module, Together, check_together};

use super::shipped::{Mutant, Outcome, all_are_found};

const RANKS: usize = 3;
/// Results: a full block, and one of a few results.
const RESULTS: usize = 70;
/// The results of a full block, and the words of 32 bits that they take.
const PER_BLOCK: usize = 64;
const ROOM: usize = 4 * PER_BLOCK;
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

fn exchange(ptx: &str, seed: Option<u64>) -> Outcome {
    let module = Module::from_ptx("exchange", ptx).unwrap();
    let kernel = module.kernel("exchange_argmin_f32").unwrap();
    let memories: Vec<Memory> = (0..RANKS).map(|_| Memory::checked(1 << 20)).collect();
    let blocks = RESULTS.div_ceil(PER_BLOCK);
    let words = 1 + blocks * (1 + 2 * RANKS * ROOM);
    let mailboxes: Vec<u64> = (0..RANKS)
        .map(|rank| {
            let others = (0..RANKS).filter(|&other| other != rank);
            let all: Vec<_> = [rank].into_iter().chain(others).map(|i| &memories[i]).collect();
            let address = Memory::alloc_shared(&all, 8 * words as u64).unwrap();
            memories[rank].write(address, &vec![0; 8 * words]).unwrap();
            address
        })
        .collect();
    let config = LaunchConfig {
        dynamic_shared_bytes: 4 * (RANKS * ROOM + 2) as u32,
        seed,
        ..LaunchConfig::new(blocks as u32, (64, RANKS as u32))
    };
    let mut outcome: Option<Outcome> = None;
    for call in 0..3 {
        let places: Vec<[u64; 2]> = memories
            .iter()
            .enumerate()
            .map(|(rank, memory)| {
                let raws: Vec<_> = (0..RESULTS).map(|result| raw(call, rank, result)).collect();
                let bytes: &[u8] = bytemuck::cast_slice(&raws);
                let places = [(); 2].map(|()| memory.alloc(bytes.len() as u64).unwrap());
                memory.write(places[0], bytes).unwrap();
                places
            })
            .collect();
        let args: Vec<Vec<Arg>> = places
            .iter()
            .enumerate()
            .map(|(rank, &[raws, output])| {
                let first = [
                    Arg::Pointer(raws),
                    Arg::Pointer(output),
                    Arg::U32(RESULTS as u32),
                    Arg::U64((rank * ELEMENTS) as u64),
                    Arg::U32(rank as u32),
                    Arg::U32(RANKS as u32),
                    Arg::U32((1 << RANKS) - 1),
                    Arg::U64(0),
                ];
                let mailbox = |i: usize| Arg::Pointer(mailboxes[i.min(RANKS - 1)]);
                first.into_iter().chain((0..8).map(mailbox)).collect()
            })
            .collect();
        let launches: Vec<_> = memories
            .iter()
            .zip(&args)
            .map(|(memory, args)| Together { kernel, config: &config, args, memory })
            .collect();
        let checked = check_together(&launches).unwrap();
        let is_right = || {
            memories.iter().zip(&places).all(|(memory, &[_, output])| {
                let mut results = vec![[0u64; 2]; RESULTS];
                memory.read(output, bytemuck::cast_slice_mut(&mut results)).unwrap();
                results.iter().enumerate().all(|(i, result)| *result == expected(call, i))
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
        ("setp.eq.b32 %p28", 1, 1),
        "setp.ne.b32 %p28",
    ),
];

#[test]
fn mutants_of_the_exchange_are_found() {
    all_are_found("exchange_argmin_f32", &MUTANTS, exchange);
}
