//! Compares the simulator with real hardware, instruction by instruction.
//!
//! Each [`Row`] is one form of an instruction. A thread loads its operands, executes the row's text
//! and stores the bits of the result. The simulator's bits are compared with the expected bits of
//! the row, which are computed here in Rust, and with those of the GPU if there is one. The
//! instructions and their results are those of the PTX ISA. If the ISA leaves a result open (the
//! bits of a NaN, the error of `.approx`), the rows leave it open too.
//!
//! With `WARPFOLD_DEVICE=sim` the tests do not look for a GPU; with `=cuda` or `=both` they fail
//! without one. The random operands follow from a seed, which is printed, and which
//! `WARPFOLD_TEST_SEED` sets.

mod control;
mod convert;
mod float;
mod half;
mod integer;
mod memory;
#[path = "../../crates/simt/tests/foreign/nearest.rs"]
mod nearest;
mod operands;
mod rounding;
mod row;
#[path = "../support/skip.rs"]
mod skip;
mod warp;

use std::{env, fmt::Write as _, sync::LazyLock};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};
use warpfold::device::{Arg, Device, DeviceError, LaunchShape};

use operands::{Tuple, tuples};
use row::{Row, module};

/// The number of threads in one block.
const BLOCK: usize = 128;

/// The number of threads in one launch.
const THREADS: usize = 16 * BLOCK;

/// The number of kernels in one module. A driver compiles this many in well under 200 ms.
const MODULE_ROWS: usize = 40;

/// The largest number of mismatches that are printed, for all rows and for one row.
const SHOWN: usize = 120;
const SHOWN_OF_ROW: usize = 2;

static SEED: LazyLock<u64> = LazyLock::new(|| {
    let seed = env::var("WARPFOLD_TEST_SEED").map_or_else(
        |_| rand::random(),
        |text| text.parse().expect("WARPFOLD_TEST_SEED must be a number"),
    );
    eprintln!("operands: WARPFOLD_TEST_SEED={seed}");
    seed
});

/// The GPU, if there is one and the tests want it.
fn gpu() -> Option<Device> {
    let demanded = match env::var("WARPFOLD_DEVICE").as_deref() {
        Ok("sim") => return None,
        Ok("cuda" | "both") => true,
        Ok(other) => panic!("WARPFOLD_DEVICE is '{other}': it must be cuda, sim or both"),
        Err(_) => false,
    };
    warpfold_lab::cli::choose_driver();
    match Device::cuda(0) {
        Ok(gpu) => Some(gpu),
        Err(DeviceError::NoCuda { reason }) if !demanded => {
            skip::part("all on a GPU", reason);
            None
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

/// The results of a kernel: the result and the slot of each thread, and the memory that all threads
/// share.
#[derive(PartialEq)]
struct Outcome {
    results: Vec<u64>,
    slots: Vec<u64>,
    common: Vec<u64>,
}

/// Runs one row of a loaded module on a device.
fn run(
    device: &Device,
    module: &warpfold::device::Module,
    index: usize,
    inputs: &[Tuple],
) -> Outcome {
    let run = || -> Result<Outcome, DeviceError> {
        let kernel = module.kernel(&format!("row{index}"))?;
        let input = device.upload(bytemuck::cast_slice::<Tuple, u64>(inputs))?;
        let output = device.upload(&vec![[0u64; 2]; inputs.len()])?;
        let common = device.upload(&[0u64; 8])?;
        let shape = LaunchShape::linear((inputs.len() / BLOCK) as u32, BLOCK as u32, 0);
        let args = [input.address(), output.address(), common.address()].map(Arg::Pointer);
        // SAFETY: each thread reads its tuple and writes its result, and the common memory has room
        // for all rows.
        unsafe { device.launch(&kernel, shape, &args)? };
        let (results, slots) =
            output.copy_to_host()?.into_iter().map(|[d, slot]| (d, slot)).unzip();
        Ok(Outcome { results, slots, common: common.copy_to_host()? })
    };
    run().unwrap_or_else(|error| panic!("{}: row{index}: {error}", device.info().name))
}

/// The counts of mismatches, and a description of the first of them.
#[derive(Default)]
struct Mismatches {
    /// The number of mismatches of the current row.
    of_row: usize,
    total: usize,
    rows: usize,
    shown: usize,
    text: String,
}

impl Mismatches {
    fn add(
        &mut self,
        row: &Row,
        operands: &Tuple,
        expected: Option<u64>,
        simulated: u64,
        gpu: Option<u64>,
    ) {
        self.total += 1;
        self.rows += usize::from(self.of_row == 0);
        self.of_row += 1;
        if self.of_row > SHOWN_OF_ROW || self.shown == SHOWN {
            return;
        }
        self.shown += 1;
        write!(self.text, "{}\n   ", row.text).unwrap();
        for ((name, kind), value) in row.operands.iter().zip(operands) {
            write!(self.text, " {name} = {}", kind.show(*value)).unwrap();
        }
        for (who, bits) in [("expected", expected), ("simulator", Some(simulated)), ("GPU", gpu)] {
            if let Some(bits) = bits {
                write!(self.text, ", {who} {}", row.result.show(bits)).unwrap();
            }
        }
        self.text.push('\n');
    }
}

/// Compares the results of one row.
fn compare(
    row: &Row,
    inputs: &[Tuple],
    simulated: &Outcome,
    gpu: Option<&Outcome>,
    found: &mut Mismatches,
) {
    found.of_row = 0;
    let mut expected: Option<Vec<u64>> = row
        .expect
        .as_ref()
        .map(|expect| (0..inputs.len()).map(|thread| expect(inputs, thread)).collect());
    let mut simulated_results = simulated.results.clone();
    let mut gpu_results = gpu.map(|outcome| outcome.results.clone());
    if row.unordered {
        // The row does not say which thread gets which result, but the set of results is fixed.
        let all = [Some(&mut simulated_results), gpu_results.as_mut(), expected.as_mut()];
        all.into_iter().flatten().for_each(|results| results.sort_unstable());
    }
    for (thread, operands) in inputs.iter().enumerate() {
        let expected = expected.as_ref().map(|results| results[thread]);
        let simulated = simulated_results[thread];
        let gpu = gpu_results.as_ref().map(|results| results[thread]);
        let as_expected = |bits| row.accepts(operands, expected, bits);
        let alike = gpu.is_none_or(|gpu| {
            as_expected(gpu) && (row.within.is_some() || row.same(simulated, gpu))
        });
        if !as_expected(simulated) || !alike {
            found.add(row, operands, expected, simulated, gpu);
        }
    }
    if let Some(gpu) = gpu {
        for (thread, operands) in inputs.iter().enumerate() {
            if simulated.slots[thread] != gpu.slots[thread] {
                let (simulated, gpu) = (simulated.slots[thread], gpu.slots[thread]);
                found.add(row, operands, None, simulated, Some(gpu));
            }
        }
        if simulated.common != gpu.common {
            found.add(row, &[0; 4], None, simulated.common[0], Some(gpu.common[0]));
        }
    }
}

/// Runs a family of rows and fails if there are mismatches, which it prints.
fn check(family: &str, mut rows: Vec<Row>) {
    let simulator = Device::simulator();
    let gpu = gpu();
    // Each family has a random stream of its own, so the choice and the order of tests change
    // nothing.
    let mut rng = ChaCha8Rng::seed_from_u64(*SEED);
    rng.set_stream(family.bytes().fold(0, |stream, byte| stream << 8 | u64::from(byte)));
    let mut found = Mismatches::default();
    let count = rows.len();
    rows.sort_by_key(|row| row.target);
    for (number, rows) in rows
        .chunk_by(|a, b| a.target == b.target)
        .flat_map(|rows| rows.chunks(MODULE_ROWS))
        .enumerate()
    {
        let text = module(rows);
        let name = format!("{family}{number}.ptx");
        let load =
            |device: &Device| device.load(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let simulated = load(&simulator);
        let gpu = gpu.as_ref().filter(|gpu| gpu.info().compute_capability >= rows[0].target);
        let gpu = gpu.map(|gpu| (gpu, load(gpu)));
        for (index, row) in rows.iter().enumerate() {
            let inputs = tuples(row, THREADS, &mut || rng.next_u64());
            let outcome = run(&simulator, &simulated, index, &inputs);
            let other = gpu.as_ref().map(|(gpu, module)| run(gpu, module, index, &inputs));
            compare(row, &inputs, &outcome, other.as_ref(), &mut found);
        }
    }
    assert!(
        found.total == 0,
        "{} mismatches in {} of the {count} rows of {family}, with WARPFOLD_TEST_SEED={}; the first of them:\n{}",
        found.total,
        found.rows,
        *SEED,
        found.text
    );
}

#[test]
fn integer_arithmetic_and_bits() {
    check("integer", integer::rows());
}

#[test]
fn float_arithmetic() {
    check("float", float::rows());
}

#[test]
fn approximations_keep_their_bounds() {
    check("approx", float::approximations());
}

#[test]
fn comparisons_and_selections() {
    check("compare", float::comparisons());
}

#[test]
fn conversions() {
    check("convert", convert::rows());
}

#[test]
fn half_precision_arithmetic() {
    check("half", half::rows());
}

#[test]
fn half_precision_approximations() {
    check("half-approx", half::approximations());
}

#[test]
fn half_precision_comparisons() {
    check("half-compare", half::comparisons());
}

#[test]
fn half_precision_conversions() {
    check("half-convert", half::conversions());
}

#[test]
fn values_that_cross_lanes() {
    check("warp", warp::rows());
}

#[test]
fn memory_and_atomics() {
    check("memory", memory::rows());
}

#[test]
fn control_flow_and_special_registers() {
    check("control", control::rows());
}
