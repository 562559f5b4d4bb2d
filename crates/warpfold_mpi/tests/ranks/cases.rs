//! What the ranks do in each case.

use std::{env, fs, process, thread::sleep, time::Duration};

use mpi::traits::Communicator as _;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMax, ArgMin, CheckedSum, CountWhere, Device, Dot, Error as LibraryError, Is, LogSumExp, Max,
    MinMax, Moments, ReproducibleSum, Sum, TopK, testing::Faults,
};
use warpfold_mpi::{Error, MpiCommunicator, mpi};

use crate::{End, SEED, Work, devices, into, mpirun, run};

/// The name of each case, what its ranks do, the numbers of ranks, and how the program ends.
pub(crate) const ALL: [(&str, Work, &[usize], End); 25] = [
    ("results_are_those_of_one_device", results, &[1, 2, 3, 4], End::Well),
    ("a_sum_of_floats_is_the_left_fold", left_fold, &[3, 4], End::Well),
    ("no_elements_are_an_error_of_all", no_elements, &[3], End::Well),
    ("an_overflow_is_an_error_of_all", overflow, &[2], End::Well),
    ("a_failed_device_is_told_to_all", failed_device, &[3, 4], End::Well),
    ("different_calls_are_found", different_calls, &[3, 4], End::Well),
    ("a_reason_is_told_to_all", reasons, &[3], End::Well),
    ("halves_of_the_ranks_work_alone", halves, &[4], End::Well),
    ("mpi_must_know_of_threads", threads, &[2], End::Well),
    ("a_missing_rank_is_named", missing, &[3, 4], End::Reported { missing: 1 }),
    ("a_killed_rank_ends_the_program", killed, &[3], End::Reported { missing: 3 }),
    ("a_rank_that_panics_ends_the_program", panicking, &[3], End::Reported { missing: 3 }),
    ("results_are_left_on_each_device", into::results, &[1, 2, 3, 4], End::Well),
    ("results_are_left_in_the_order_of_streams", into::order, &[1, 2, 3, 4], End::Well),
    ("nothing_is_left_without_a_result", into::without_a_result, &[1, 3], End::Well),
    ("wrong_outputs_are_told_to_all", into::wrong_calls, &[1, 2, 3], End::Well),
    ("a_failed_copy_is_told_while_it_can_be", into::failed_copies, &[3], End::Well),
    ("different_calls_into_memory_are_found", into::other_calls, &[2, 4], End::Well),
    ("a_missing_rank_leaves_outputs_alone", into::missing, &[3, 4], End::Reported { missing: 1 }),
    ("a_rank_killed_in_a_call_ends_the_program", into::killed, &[3], End::Reported { missing: 3 }),
    ("ranks_exchange_bytes", devices::bytes, &[1, 2, 4], End::Well),
    ("devices_of_ranks_get_results", devices::results, &[1, 2, 3, 4], End::Well),
    ("different_reducers_of_ranks_are_found", devices::other_reducers, &[2, 3], End::Well),
    ("a_missing_rank_is_named_to_devices", devices::missing, &[3, 4], End::Reported { missing: 1 }),
    ("a_killed_rank_of_devices_ends_all", devices::killed, &[3], End::Reported { missing: 3 }),
];

/// All ranks, each with a simulator.
pub(crate) fn world() -> MpiCommunicator {
    MpiCommunicator::world(&Device::simulator()).expect("MPI works")
}

/// All ranks, each with a GPU of its machine if there are any, unless `WARPFOLD_DEVICE` is `sim`.
pub(crate) fn world_of_gpus() -> MpiCommunicator {
    let device = |local: u32| {
        if env::var("WARPFOLD_DEVICE").is_ok_and(|device| device == "sim") {
            return Ok(Device::simulator());
        }
        let gpus = Device::all()?;
        let gpu = (local as usize).checked_rem(gpus.len()).map(|gpu| gpus[gpu].clone());
        Ok(gpu.unwrap_or_else(Device::simulator))
    };
    MpiCommunicator::world_on(device).expect("MPI works")
}

/// A source of random numbers that is the same on all ranks.
pub(crate) fn random() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(env::var(SEED).expect("the seed").parse().expect("a number"))
}

/// Where the parts begin and end, which is the same on all ranks. Some parts are empty.
pub(crate) fn cuts(random: &mut ChaCha8Rng, n: usize, ranks: u32) -> Vec<usize> {
    let inner = (1..ranks).map(|_| match random.random_range(0..5) {
        0 => 0,
        1 => n,
        _ => random.random_range(0..=n),
    });
    let mut cuts: Vec<_> = inner.chain([0, n]).collect();
    cuts.sort_unstable();
    cuts
}

fn results() {
    let ranks = world_of_gpus();
    let mut random = random();
    let alone = Device::simulator();
    for n in [1usize, 2, 31, 33, 1023, 1025, 9999, 70_001] {
        let cuts = cuts(&mut random, n, ranks.size());
        let mine = cuts[ranks.rank() as usize]..cuts[ranks.rank() as usize + 1];
        let words: Vec<i32> = (0..n).map(|_| random.random()).collect();
        let floats: Vec<f32> = (0..n).map(|_| random.random_range(-1e6..1e6)).collect();
        let doubles: Vec<f64> = floats.iter().map(|&x| f64::from(x) / 3.0).collect();
        let part = &words[mine.clone()];
        assert_eq!(ranks.reduce(part, Sum).unwrap(), alone.reduce(&words, Sum).unwrap());
        assert_eq!(ranks.reduce(part, MinMax).unwrap(), alone.reduce(&words, MinMax).unwrap());
        assert_eq!(ranks.reduce(part, ArgMin).unwrap(), alone.reduce(&words, ArgMin).unwrap());
        let bytes: Vec<u8> = words.iter().map(|&word| (word & 3) as u8).collect();
        let best = ranks.reduce(&bytes[mine.clone()], ArgMax).unwrap();
        assert_eq!(best, alone.reduce(&bytes, ArgMax).unwrap());
        let top = ranks.reduce(&bytes[mine.clone()], TopK::<4>).unwrap();
        assert_eq!(top, alone.reduce(&bytes, TopK::<4>).unwrap());
        let part = &floats[mine.clone()];
        let exact = alone.reduce(&floats, ReproducibleSum).unwrap();
        assert_eq!(ranks.reduce(part, ReproducibleSum).unwrap().to_bits(), exact.to_bits());
        let part = &doubles[mine.clone()];
        let exact = alone.reduce(&doubles, ReproducibleSum).unwrap();
        assert_eq!(ranks.reduce(part, ReproducibleSum).unwrap().to_bits(), exact.to_bits());
        let (first, second) = (&words[mine.clone()], &words[mine]);
        let dot = ranks.reduce((first, second), Dot).unwrap();
        assert_eq!(dot, alone.reduce((&words, &words), Dot).unwrap());

        let moments = ranks.reduce(part, Moments).unwrap();
        let whole = alone.reduce(&doubles, Moments).unwrap();
        assert_eq!(moments.count, n as u64);
        assert!((moments.mean() - whole.mean()).abs() <= 1e-12 * 1e6);
        let logarithm = ranks.reduce(part, LogSumExp).unwrap();
        assert!((logarithm - alone.reduce(&doubles, LogSumExp).unwrap()).abs() <= 1e-9);
    }
}

fn left_fold() {
    let ranks = world_of_gpus();
    let mut random = random();
    let alone = ranks.device().clone();
    let sum = ranks.reducer::<f32, _>(Sum).unwrap();
    let mut differ = 0;
    for n in [100usize, 5000, 40_000] {
        let values: Vec<f32> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
        let cuts = cuts(&mut random, n, ranks.size());
        let parts = cuts.windows(2).map(|cut| &values[cut[0]..cut[1]]);
        let sums = parts.clone().filter(|part| !part.is_empty());
        let folded: f32 =
            sums.map(|part| alone.reduce(part, Sum).unwrap()).reduce(|a, b| a + b).unwrap();
        let part = parts.clone().nth(ranks.rank() as usize).unwrap();
        assert_eq!(sum.reduce(part).unwrap().to_bits(), folded.to_bits());
        // In the memory of the device.
        let buffer = ranks.device().upload(part).unwrap();
        assert_eq!(sum.reduce(&buffer).unwrap().to_bits(), folded.to_bits());
        differ += u32::from(folded.to_bits() != alone.reduce(&values, Sum).unwrap().to_bits());
    }
    println!("{differ} of 3 sums differ from those of one device");
}

fn no_elements() {
    let ranks = world();
    let none: [f32; 0] = [];
    assert_eq!(ranks.reduce(&none, Sum).unwrap().to_bits(), 0);
    let error = ranks.reduce(&none, Max).unwrap_err();
    assert!(matches!(error, Error::Warpfold(LibraryError::Empty { op: "maximum" })), "{error:?}");
    // One element on the last rank is enough.
    let part = if ranks.rank() + 1 == ranks.size() { &[-3.5f32][..] } else { &[] };
    assert_eq!(ranks.reduce(part, Max).unwrap().to_bits(), (-3.5f32).to_bits());
}

fn overflow() {
    let ranks = world();
    let error = ranks.reduce(&[1i32 << 30], CheckedSum).unwrap_err();
    assert!(matches!(error, Error::Warpfold(LibraryError::Overflow { .. })), "{error:?}");
    // The parts overflow, and their sum does not.
    let most = if ranks.rank() == 0 { i32::MAX } else { -i32::MAX };
    assert_eq!(ranks.reduce(&[most, most], CheckedSum).unwrap(), 0);
}

fn failed_device() {
    // Each rank fails in turn, rank 0 too.
    let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
    let ranks = universe.world();
    for failing in 0..ranks.size() {
        let mut device = Device::simulator();
        if ranks.rank() == failing {
            device = device.with_faults(Faults::none().launch(0)).unwrap();
        }
        let ranks = MpiCommunicator::over(&ranks, &device).unwrap();
        let buffer = device.upload(&[1u32; 100]).unwrap();
        match ranks.reduce(&buffer, Sum).unwrap_err() {
            Error::Warpfold(LibraryError::Device(_)) if ranks.rank() as i32 == failing => {}
            Error::Rank { rank, reason } if rank as i32 == failing => {
                assert!(reason.contains("injected"), "{reason}");
            }
            error => panic!("{error:?}"),
        }
        // Two inputs of different lengths are an error of one rank, too.
        let (long, short) = ([1.0f32; 4], [1.0f32; 3]);
        let second = if ranks.rank() as i32 == failing { &short[..] } else { &long[..] };
        let error = ranks.reduce((&long, second), Dot).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Rank { .. } | Error::Warpfold(LibraryError::Lengths { first: 4, second: 3 })
            ),
            "{error:?}"
        );
        // The next call works.
        assert_eq!(ranks.reduce(&buffer, Sum).unwrap(), 100 * u64::from(ranks.size()));
    }
}

fn different_calls() {
    let ranks = world();
    let is_other = ranks.rank() == 2;
    let values = [1u32, 2, 3];
    let expect = |error: Error, ours: &str, theirs: &str| {
        let Error::Calls { rank: 2, ours: of_root, theirs: of_other } = &error else {
            panic!("{error:?}")
        };
        assert!(of_root.contains(ours) && of_other.contains(theirs), "{error}");
    };
    let error = if is_other {
        ranks.reduce(&values, Max).map(u64::from).unwrap_err()
    } else {
        ranks.reduce(&values, Sum).unwrap_err()
    };
    expect(error, "sum of u32", "maximum of u32");
    let error = if is_other {
        ranks.reduce(&[1u64], Sum).unwrap_err()
    } else {
        ranks.reduce(&values, Sum).unwrap_err()
    };
    expect(error, "sum of u32", "sum of u64");
    // Only the constant is another one.
    let most = if is_other { 1 } else { 2 };
    let error = ranks.reduce(&values, CountWhere(Is::Greater(most))).unwrap_err();
    expect(error, "of u32", "of u32");
    // The next call works.
    assert_eq!(ranks.reduce(&values, Sum).unwrap(), 6 * u64::from(ranks.size()));
}

fn reasons() {
    let ranks = world();
    ranks.agree(None).unwrap();
    let reason = (ranks.rank() > 0).then(|| format!("rank {} does not like it", ranks.rank()));
    let error = ranks.agree(reason).unwrap_err();
    assert_eq!(error.to_string(), "rank 1 has failed: rank 1 does not like it");
    ranks.agree(None).unwrap();
}

fn halves() {
    let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
    let world = universe.world();
    let color = mpi::topology::Color::with_value(world.rank() % 2);
    let half = world.split_by_color(color).unwrap();
    let ranks = MpiCommunicator::over(&half, &Device::simulator()).unwrap();
    assert_eq!((ranks.size(), ranks.rank() as i32), (2, world.rank() / 2));
    // The halves make different numbers of calls.
    for _ in 0..=world.rank() % 2 {
        let sum = ranks.reduce(&[world.rank() as u32], Sum).unwrap();
        assert_eq!(sum, if world.rank() % 2 == 0 { 2 } else { 4 });
    }
    assert!(matches!(MpiCommunicator::world(ranks.device()), Err(Error::Initialised)));
}

fn threads() {
    let universe = mpi::initialize().unwrap();
    let refused = MpiCommunicator::over(&universe.world(), &Device::simulator()).unwrap_err();
    assert!(matches!(refused, Error::Threads), "{refused:?}");
}

/// Rank 2 does not call. The others end without it, and the launcher then reports that they have
/// not finalised MPI.
fn missing() {
    let ranks = world().with_timeout(Duration::from_millis(1500));
    assert_eq!(ranks.reduce(&[1u8], Sum).unwrap(), u64::from(ranks.size()));
    if ranks.rank() == 2 {
        sleep(Duration::from_secs(100));
    }
    let error = ranks.reduce(&[1u8], Sum).unwrap_err();
    assert!(matches!(error, Error::Missing { rank: 2, .. }), "{error:?}");
    assert_eq!(error.to_string(), "rank 2 did not come within 1.5 s");
    assert!(matches!(ranks.reduce(&[1u8], Sum), Err(Error::Poisoned)));
    assert!(matches!(ranks.agree(None), Err(Error::Poisoned)));
}

fn killed() {
    let ranks = world();
    assert_eq!(ranks.reduce(&[1u8], Sum).unwrap(), 3);
    if ranks.rank() == 1 {
        process::abort();
    }
    let _ = ranks.reduce(&[1u8], Sum);
    unreachable!("the launcher has ended this rank");
}

/// A rank that panics does not wait for the others, which wait for it.
fn panicking() {
    let ranks = world();
    assert!(ranks.rank() != 1, "a panic on purpose");
    let _ = ranks.reduce(&[1u8], Sum);
    unreachable!("the launcher has ended this rank");
}

/// `reduce-mpi` gives the same digits with any number of ranks.
pub(crate) fn the_program_reduces_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.f64");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let values: Vec<f64> = (0..10_007).map(|_| random.random_range(-1e3..1e3)).collect();
    fs::write(&file, bytemuck::cast_slice(&values)).unwrap();
    let reduce = |ranks: usize, arguments: &[&str]| {
        let mut program = mpirun(ranks);
        program.arg(env!("CARGO_BIN_EXE_reduce-mpi")).args(arguments);
        program.args(["--type", "f64", "--device", "sim"]);
        run(&mut program).unwrap()
    };
    let path = file.to_str().unwrap();
    let exact = Device::simulator().reduce(&values, ReproducibleSum).unwrap().to_string();
    let best = Device::simulator().reduce(&values, ArgMax).unwrap().index.to_string();
    for ranks in [1, 3, 4] {
        let (is_success, output) = reduce(ranks, &["exact", path]);
        assert!(is_success && output.lines().any(|line| line == exact), "{ranks}: {output}");
        let (is_success, output) = reduce(ranks, &["argmax", path]);
        assert!(is_success && output.lines().any(|line| line == best), "{ranks}: {output}");
    }
    let (is_success, output) = reduce(3, &["sum", "no such file"]);
    assert!(!is_success && output.contains("rank 0 has failed: "), "{output}");
}

/// `mpi-latency` has a line for each kind of call, whose percentiles are in order.
pub(crate) fn the_program_times_calls() {
    for ranks in [1, 3] {
        let mut program = mpirun(ranks);
        program.arg(env!("CARGO_BIN_EXE_mpi-latency")).args(["--sim", "--repeat", "3"]);
        let (is_success, output) = run(&mut program).unwrap();
        assert!(is_success, "{output}");
        let title = format!("{ranks} ranks, parts of 1000 elements, on the simulator");
        assert!(output.lines().any(|line| line == title), "{output}");
        for call in ["reduce ", "reduce_into ", "agree ", "agree, rank 0 last "] {
            let times = output.lines().find_map(|line| line.strip_prefix(call)).expect(&output);
            let words = times.split_whitespace().rev().take(3).map(str::parse::<f64>);
            let [high, low, median] = words.collect::<Result<Vec<_>, _>>().unwrap()[..] else {
                panic!("{output}")
            };
            assert!(0.0 < low && low <= median && median <= high, "{output}");
        }
    }
    let mut program = mpirun(1);
    program.arg(env!("CARGO_BIN_EXE_mpi-latency")).args(["--repeat", "0"]);
    assert!(!run(&mut program).unwrap().0);
}
