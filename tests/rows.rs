//! Tests of the lectures' reductions of rows and columns on every available device. The results are
//! compared with plain loops in this file, and the counters with the geometry of the accesses.

mod support;

use std::{collections::BTreeSet, env};

use cuda_builder::manifest::{FILE_NAME, sha256_hex};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use support::{Sandbox, devices, library};
use warpfold_lab::{
    device::{Device, Instrument},
    element::{Element, ElementType, Values},
    experiment::{Runner, Runs},
    op::Op,
    ptx::PtxLibrary,
    rows::{Devices, Measured, Plane, Problem, Request, Variant, check, plan},
};

/// Shapes with one row or one column, around the sizes of warps and blocks, and with rows that
/// begin within a sector.
const SHAPES: [(u64, u64); 16] = [
    (1, 1),
    (1, 31),
    (31, 1),
    (7, 33),
    (8, 32),
    (9, 31),
    (32, 8),
    (33, 7),
    (255, 3),
    (256, 4),
    (257, 5),
    (3, 255),
    (4, 256),
    (5, 257),
    (1023, 2),
    (2, 1025),
];

const OPS: [Op; 3] = [Op::Sum, Op::Min, Op::Max];

/// The environment variable that sets the seed, to choose other shapes and inputs.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

fn seeded() -> StdRng {
    let seed = env::var(SEED_VARIABLE).map_or(1, |seed| seed.parse().expect("a number"));
    eprintln!("{SEED_VARIABLE}={seed}");
    StdRng::seed_from_u64(seed)
}

/// Numbers below 2^10, whose sums are exact in `f32` in any order.
fn numbers(n: u64, seed: u64) -> Vec<i32> {
    let number =
        |k: u64| (k.wrapping_add(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as i32 - 512;
    (0..n).map(number).collect()
}

/// The results, by a plain loop over the rows or the columns.
fn expected(problem: &Problem, numbers: &[i32]) -> Vec<i32> {
    let (rows, cols) = (problem.rows as usize, problem.cols as usize);
    let fold = |part: &mut dyn Iterator<Item = i32>| match problem.op {
        Op::Min => part.min().unwrap(),
        Op::Max => part.max().unwrap(),
        _ => part.sum(),
    };
    if problem.variant == Variant::Column {
        let column = |col| fold(&mut (0..rows).map(|row| numbers[row * cols + col]));
        (0..cols).map(column).collect()
    } else {
        (0..rows).map(|row| fold(&mut numbers[row * cols..][..cols].iter().copied())).collect()
    }
}

/// Reduces these numbers on each device, and compares the results.
fn run(runners: &mut [(&Device, Runner<'_>)], problem: &Problem, numbers: &[i32]) {
    let expected = expected(problem, numbers);
    let floats = |numbers: &[i32]| numbers.iter().map(|&x| x as f32).collect::<Vec<_>>();
    let (elements, expected) = match problem.element {
        ElementType::I32 => (Values::I32(numbers.to_vec()), Values::I32(expected)),
        _ => (Values::F32(floats(numbers)), Values::F32(floats(&expected))),
    };
    let plan = plan(problem, u64::MAX).unwrap();
    for (device, runner) in runners {
        let (rows, cols) = (problem.rows, problem.cols);
        let case = format!("{} of {rows} x {cols} on {}", plan.kernel, device.info().name);
        let outcome = runner
            .reduce_rows(&plan, &elements, Runs::ONCE, |_| ())
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let bits = |values: &Values| match values {
            Values::I32(values) => values.clone(),
            Values::F32(values) => values.iter().map(|x| x.to_bits() as i32).collect(),
            other => panic!("{case}: {:?}", other.element()),
        };
        assert_eq!(bits(&outcome.result), bits(&expected), "{case}");
        check(&plan, &elements, &outcome.result).unwrap_or_else(|error| panic!("{case}: {error}"));
    }
}

#[test]
fn every_variant_operation_type_and_shape_is_exact() {
    let (devices, library) = (devices(), library());
    let mut runners: Vec<_> =
        devices.iter().map(|device| (device, Runner::new(device, &library))).collect();
    for (rows, cols) in SHAPES {
        let numbers = numbers(rows * cols, rows << 20 ^ cols);
        for variant in Variant::ALL {
            for op in OPS {
                for element in [ElementType::I32, ElementType::F32] {
                    run(&mut runners, &Problem { variant, op, element, rows, cols }, &numbers);
                }
            }
        }
    }
}

#[test]
fn random_shapes_are_exact() {
    let (devices, library) = (devices(), library());
    let mut runners: Vec<_> =
        devices.iter().map(|device| (device, Runner::new(device, &library))).collect();
    let mut random = seeded();
    for variant in Variant::ALL {
        for _ in 0..8 {
            let (rows, cols) = (random.random_range(1..300), random.random_range(1..700));
            let op = OPS[random.random_range(0..OPS.len())];
            let numbers = numbers(rows * cols, random.random());
            for element in [ElementType::I32, ElementType::F32] {
                run(&mut runners, &Problem { variant, op, element, rows, cols }, &numbers);
            }
        }
    }
}

#[test]
fn sums_of_any_floats_are_within_their_bound_and_wrong_results_are_not() {
    let (library, device) = (library(), Device::simulator());
    let mut runner = Runner::new(&device, &library);
    for variant in Variant::ALL {
        let (op, element) = (Op::Sum, ElementType::F32);
        let problem = Problem { variant, op, element, rows: 77, cols: 300 };
        let plan = plan(&problem, u64::MAX).unwrap();
        let elements = warpfold_lab::input::generate(element, op, 77 * 300, 5).unwrap();
        let outcome = runner.reduce_rows(&plan, &elements, Runs::ONCE, |_| ()).unwrap();
        check(&plan, &elements, &outcome.result).unwrap();
        let Values::F32(mut results) = outcome.result else { panic!("sums of f32 are f32") };
        let last = results.len() - 1;
        results[last] += 1.0;
        let wrong = check(&plan, &elements, &Values::F32(results)).unwrap_err();
        assert_eq!((wrong.number, wrong.results), (last, last + 1), "{variant}");
    }
}

/// Infinities and NaNs stay in their own row or column.
#[test]
fn special_values_stay_in_their_row() {
    let (library, device) = (library(), Device::simulator());
    let mut runner = Runner::new(&device, &library);
    let (rows, cols) = (5, 40);
    let mut floats = vec![1.0f32; rows * cols];
    floats[cols] = f32::INFINITY;
    floats[2 * cols + 39] = f32::NAN;
    for (op, found) in [(Op::Sum, [40.0, f32::INFINITY, f32::NAN, 40.0, 40.0]), (Op::Min, [1.0; 5])]
    {
        for variant in [Variant::Thread, Variant::Warp, Variant::Block] {
            let (element, rows, cols) = (ElementType::F32, rows as u64, cols as u64);
            let plan = plan(&Problem { variant, op, element, rows, cols }, u64::MAX).unwrap();
            let elements = Values::F32(floats.clone());
            let outcome = runner.reduce_rows(&plan, &elements, Runs::ONCE, |_| ()).unwrap();
            check(&plan, &elements, &outcome.result).unwrap();
            let Values::F32(results) = outcome.result else { panic!("they are f32") };
            let same = results.iter().zip(found).all(|(a, b)| a.value().is_same(b.value()));
            assert!(same, "{variant} {op}: {results:?}");
        }
    }
}

/// The variants over matrices of these shapes, counted and checked.
fn measured(shapes: &[(u64, u64)]) -> Vec<Measured> {
    let counter = Device::simulator_with(Instrument::Count);
    let checker = Device::simulator_with(Instrument::Check);
    let request = Request {
        variants: Variant::ALL.to_vec(),
        shapes: shapes.to_vec(),
        op: Op::Max,
        element: ElementType::I32,
        seed: 3,
        runs: Runs::ONCE,
    };
    let devices = Devices { counter: &counter, checker: Some(&checker), gpu: None };
    Plane::measure(&library(), devices, request, &mut |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
        .measured
}

/// The requests, the sectors and the bytes of the loads from the matrix, from the indices that the
/// lanes of each warp take at each step.
fn loads(problem: &Problem) -> (u64, u64, u64) {
    let (results, length) = (problem.results(), problem.length());
    let together = u64::from(problem.variant.threads());
    // The index of element `step` of a result.
    let index = |result: u64, step: u64| match problem.variant {
        Variant::Column => step * problem.cols + result,
        _ => result * problem.cols + step,
    };
    let (mut requests, mut sectors, mut bytes) = (0, 0, 0);
    for warp in 0..(results * together).div_ceil(32) {
        for turn in 0..length.div_ceil(together) {
            let lanes = (warp * 32..(warp + 1) * 32).filter_map(|thread| {
                let (result, step) = (thread / together, turn * together + thread % together);
                (result < results && step < length).then(|| index(result, step))
            });
            let lanes: Vec<u64> = lanes.collect();
            requests += u64::from(!lanes.is_empty());
            bytes += 4 * lanes.len() as u64;
            sectors += lanes.iter().map(|index| index / 8).collect::<BTreeSet<_>>().len() as u64;
        }
    }
    (requests, sectors, bytes)
}

#[test]
fn loads_are_those_of_the_geometry_and_the_checks_find_nothing() {
    let all = measured(&SHAPES);
    assert_eq!(all.len(), 4 * SHAPES.len());
    for one in all {
        let (problem, counters) = (one.plan.problem, one.counters.unwrap());
        let load = counters.global.load;
        assert_eq!(
            (load.requests, load.sectors, load.bytes),
            loads(&problem),
            "{} of {} x {}",
            one.plan.kernel,
            problem.rows,
            problem.cols
        );
        assert_eq!(load.bytes, problem.bytes(), "each element is loaded once");
        assert_eq!(counters.global.store.bytes, 4 * problem.results(), "{}", one.plan.kernel);
    }
}

#[test]
fn the_lesson_of_each_variant_is_true() {
    let of = |rows, cols| {
        let all = measured(&[(rows, cols)]);
        let load = |one: &Measured| one.counters.unwrap().global.load;
        let each = |count: u64, requests: u64| count as f64 / requests as f64;
        all.iter()
            .map(|one| {
                let load = load(one);
                (each(load.sectors, load.requests), each(load.bytes / 4, load.requests))
            })
            .collect::<Vec<_>>()
    };
    // Sectors and lanes of a load: by thread, warp, block and column.
    assert_eq!(of(512, 64), [(32.0, 32.0), (4.0, 32.0), (4.0, 32.0), (4.0, 32.0)]);
    assert_eq!(of(512, 4), [(16.0, 32.0), (1.0, 4.0), (1.0, 4.0), (1.0, 4.0)]);
    assert_eq!(of(2, 4096), [(2.0, 2.0), (4.0, 32.0), (4.0, 32.0), (4.0, 32.0)]);
}

#[test]
fn the_command_writes_a_table_and_charts() {
    let sandbox = Sandbox::new();
    let json = |line: &str| {
        let run = sandbox.reduce_line(line);
        assert_eq!(run.status, Some(0), "{run}");
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    let report = json("rows --n 2^6 --variant warp,thread --op min --type i32 --device sim --json");
    let rows = report["tables"]["rows"].as_array().unwrap();
    let shapes: Vec<_> =
        rows.iter().map(|row| (row["rows"].as_u64(), row["cols"].as_u64())).collect();
    let expected = (0..=6).flat_map(|power| [(Some(64 >> power), Some(1 << power)); 2]);
    assert_eq!(shapes, expected.collect::<Vec<_>>());
    assert_eq!((&rows[0]["variant"], &rows[1]["variant"]), (&"warp".into(), &"thread".into()));
    assert_eq!(report["charts"].as_object().unwrap().len(), 5);
    let report = json("rows --rows 33 --cols 65 --check --device sim --json");
    assert_eq!(report["tables"]["rows"].as_array().unwrap().len(), 4);
    assert_eq!(report["charts"].as_object().unwrap().len(), 0);
    assert_eq!(report["notes"]["rows"][1], "The simulator's checks found nothing.");
    let picture = json("rows explain --variant thread --json");
    assert_eq!(picture["requests"][0]["sectors"], 32);
    let run = sandbox.reduce_line("rows --n 16 --device sim --format svg --chart lanes-per-load");
    assert!(run.status == Some(0) && run.stdout.contains("<svg"), "{run}");
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    for (line, error) in [
        ("rows --rows 5", "--rows 5: --cols is missing, the number of columns"),
        ("rows --cols 5", "--cols 5: --rows is missing, the number of rows"),
        ("rows --rows 5 --cols 5 --n 25", "so leave out --n"),
        ("rows --n 25", "--n 25: it must be a power of two"),
        ("rows --n 0", "--n 0: it must be a power of two"),
        ("rows --rows 0 --cols 5 --device sim", "0 x 5: a matrix has 1 to 2147483647 rows"),
        ("rows --rows 2^40 --cols 1 --device sim", "a matrix has 1 to 2147483647 rows"),
        ("rows --rows 2^30 --cols 2^30 --device sim", "the device has"),
        ("rows --variant row", "unknown variant 'row': it is one of thread, warp, block, column"),
        ("rows --op prod --device sim", "there is no prod of rows of f32"),
        ("rows --type f64 --device sim", "there is no sum of rows of f64"),
        ("rows --reps 0", "--reps 0: at least one run is needed"),
        ("rows --n 16 --device sim --format svg --chart none", "unknown chart 'none'"),
        ("rows explain --variant thread --rows 257", "at most 256 rows and columns"),
        ("rows explain --variant thread --cols 0", "64 x 0: a matrix has 1 to"),
    ] {
        let run = sandbox.reduce_line(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        // A note says that there is no GPU, unless the simulator was asked for.
        let errors = run.stderr.lines().filter(|line| !line.starts_with("note: "));
        let errors: Vec<_> = errors.collect();
        assert!(matches!(errors[..], [only] if only.contains(error)), "{error}: {run}");
    }
}

/// A fresh sandbox with the module of a kernel, in which the PTX is changed.
fn with_ptx(kernel: &str, from: &str, to: &str) -> Sandbox {
    let (sandbox, library) = (Sandbox::new(), PtxLibrary::embedded().unwrap());
    let ptx = library.find(kernel, (9, 0)).unwrap();
    let text = ptx.text.replace(from, to);
    assert_ne!(text, ptx.text);
    let mut manifest = library.manifest().clone();
    manifest.modules.iter_mut().find(|module| module.file == ptx.file).unwrap().sha256 =
        sha256_hex(text.as_bytes());
    sandbox.write(FILE_NAME, manifest.to_json().as_bytes());
    sandbox.write(&ptx.file, text.as_bytes());
    sandbox
}

#[test]
fn wrong_kernels_are_found() {
    let sandbox = with_ptx("rowblock_sum_f32", "bar.sync", "// bar.sync");
    let line = "rows --variant block --rows 3 --cols 900 --device sim --ptx-dir .";
    let run = sandbox.reduce_line(&format!("{line} --check"));
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    let error = "error: --check: rowblock_sum_f32 over 3 x 900 elements: error[";
    assert!(run.stderr.contains(error), "{run}");

    let sandbox = with_ptx("rowwarp_sum_f32", ", 16, 31, -1;", ", 8, 31, -1;");
    let line = "rows --variant warp --rows 3 --cols 32 --device sim --ptx-dir .";
    let run = sandbox.reduce_line(line);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    let error = "error: result 0 of 3: wrong result: rowwarp_sum_f32 gave ";
    assert!(run.stderr.contains(error), "{run}");
}
