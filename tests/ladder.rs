//! Tests of every rung, operation, type, size and block, on every available device. The results are
//! compared with the CPU reference. The devices are also compared with each other, bit for bit,
//! because the same plan means the same order of operations.

mod support;

use std::env;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use support::{Launch, devices, library};
use warpfold_lab::{
    device::{Arg, Device},
    element::{Element, ElementType, Value, Values},
    input::generate,
    launch::{DeviceLimits, Finish, Plan, PlanError, Problem, Request, plan},
    op::Op,
    ptx::PtxLibrary,
    reduce::{Runner, Runs},
    reference::Reference,
    variant::{Parameter, Results, Together, Variant},
};

/// The sizes at which every rung, operation and type runs, each with some of its block sizes.
const SMALL: [u64; 10] = [0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 4095];
/// The size at which every rung, operation and type runs with one block size.
const MIDDLE: u64 = 65_537;
const LARGE: u64 = 1_000_003;

/// The environment variable that sets the seed, to choose other blocks, grids and inputs.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

fn seeded() -> StdRng {
    let seed = env::var(SEED_VARIABLE).map_or(1, |seed| seed.parse().expect("a number"));
    eprintln!("{SEED_VARIABLE}={seed}");
    StdRng::seed_from_u64(seed)
}

/// Limits that belong to no particular device, so that all devices run the same plan.
const LIMITS: DeviceLimits = DeviceLimits {
    multiprocessors: 4,
    max_threads_per_block: 1024,
    shared_bytes_per_block: 48 << 10,
    memory_bytes: 1 << 30,
    compute_capability: (9, 0),
    resident_blocks: None,
};

fn blocks(variant: Variant) -> Vec<u64> {
    (0..=10)
        .map(|power| 1 << power)
        .filter(|&block| variant.facts().blocks.range().contains(&(block as u32)))
        .collect()
}

/// The number of valid combinations of rung, operation and type.
fn kernels() -> usize {
    let pairs = || Op::ALL.into_iter().flat_map(|op| ElementType::ALL.map(|element| (op, element)));
    Variant::all()
        .map(|variant| pairs().filter(|&(op, element)| variant.allows(op, element)).count())
        .sum()
}

/// The devices, each with its loaded kernels, and the failures so far.
struct Bench<'a> {
    runners: Vec<(&'a Device, Runner<'a>)>,
    runs: usize,
    failures: Vec<String>,
}

impl<'a> Bench<'a> {
    fn new(devices: &'a [Device], library: &'a PtxLibrary) -> Self {
        let runners = devices.iter().map(|device| (device, Runner::new(device, library))).collect();
        Self { runners, runs: 0, failures: Vec::new() }
    }

    /// Runs the plan on all devices.
    fn run(&mut self, plan: &Plan, values: &Values, about: &str) {
        let reference = Reference::for_plan(values, plan);
        let mut first: Option<Value> = None;
        for (device, runner) in &mut self.runners {
            self.runs += 1;
            let Problem { n, .. } = plan.problem;
            let shapes: Vec<_> =
                plan.stages.iter().map(|stage| (stage.shape.grid.x, stage.shape.block.x)).collect();
            let case = format!(
                "{} on {}: n = {n}, {about}, {} {shapes:?}",
                plan.kernel,
                device.info().name,
                plan.finish
            );
            match runner.reduce(plan, values, Runs::ONCE, |_| ()) {
                Err(error) => self.failures.push(format!("{case}: {error}")),
                Ok(outcome) => {
                    let result = outcome.result;
                    if !reference.agrees(result) {
                        let (value, bound) = (reference.value(), reference.error_bound());
                        self.failures
                            .push(format!("{case}: {result}, not {value} within {bound:e}"));
                    }
                    // Atomics add floats in the order of their arrival, so the bits may differ.
                    let is_ordered = plan.problem.variant.facts().results != Results::Atomic
                        || result.as_float().is_none();
                    if let Some(first) = first.filter(|first| is_ordered && !first.is_same(result))
                    {
                        self.failures
                            .push(format!("{case}: {result}, but {first} on the device before"));
                    }
                    first = Some(result);
                }
            }
        }
    }

    fn finish(self, at_least: usize) {
        let Self { runs, failures, .. } = self;
        let shown =
            failures.iter().take(20).fold(String::new(), |text, failure| text + "\n" + failure);
        assert!(
            failures.is_empty(),
            "{} of {runs} runs failed, beginning with:{shown}",
            failures.len()
        );
        assert!(runs >= at_least, "only {runs} runs");
    }
}

/// A plan with this block and a random way to finish. For a grid-stride rung the grid is random
/// too.
fn sample_plan(problem: &Problem, block: u64, rng: &mut StdRng) -> Result<Plan, PlanError> {
    let finish = *Finish::ALL.choose(rng).unwrap();
    let facts = problem.variant.facts();
    let most = if facts.together == Together::Grid { LIMITS.multiprocessors.into() } else { 40 };
    let grid = (facts.coverage.takes_any_grid() && rng.random_bool(0.5))
        .then(|| rng.random_range(1..=most));
    let request = Request { block: Some(block), grid, finish };
    match plan(problem, &request, &LIMITS) {
        Err(PlanError::Single { .. }) => {
            plan(problem, &Request { finish: Finish::Relaunch, ..request }, &LIMITS)
        }
        other => other,
    }
}

#[test]
fn every_rung_operation_type_and_size_agrees() {
    let (devices, library) = (devices(), library());
    let mut bench = Bench::new(&devices, &library);
    let mut rng = seeded();
    for variant in Variant::all() {
        let blocks = blocks(variant);
        for op in Op::ALL {
            for element in
                ElementType::ALL.into_iter().filter(|&element| variant.allows(op, element))
            {
                let mut cases = vec![(MIDDLE, *blocks.choose(&mut rng).unwrap())];
                for n in SMALL {
                    cases.extend(blocks.choose_multiple(&mut rng, 3).map(|&block| (n, block)));
                }
                for (n, block) in cases {
                    let problem = Problem { variant, op, element, n };
                    let plan = match sample_plan(&problem, block, &mut rng) {
                        Ok(plan) => plan,
                        Err(PlanError::Nothing { .. })
                            if n == 0 && matches!(op, Op::Min | Op::Max) =>
                        {
                            continue;
                        }
                        Err(error) => panic!("{problem:?} with blocks of {block}: {error}"),
                    };
                    let seed = rng.random_range(0..1000);
                    let values = generate(element, op, n, seed).unwrap();
                    bench.run(&plan, &values, &format!("seed {seed}"));
                }
            }
        }
    }
    bench.finish(kernels() * 28);
}

#[test]
fn every_rung_takes_a_million_elements_and_three() {
    let (devices, library) = (devices(), library());
    let mut bench = Bench::new(&devices, &library);
    let mut rng = seeded();
    for variant in Variant::all() {
        let blocks = blocks(variant);
        for element in ElementType::ALL {
            // Each case runs one random operation, because the smaller sizes have run all of them.
            let ops: Vec<_> =
                Op::ALL.into_iter().filter(|&op| variant.allows(op, element)).collect();
            let Some(&op) = ops.choose(&mut rng) else { continue };
            let problem = Problem { variant, op, element, n: LARGE };
            let block = *blocks.choose(&mut rng).unwrap();
            let plan = sample_plan(&problem, block, &mut rng).unwrap();
            bench.run(&plan, &generate(element, op, LARGE, 1).unwrap(), "seed 1");
        }
    }
    bench.finish(17 * 6);
}

/// Runs every operation on every rung over these values.
fn run_everywhere(cases: &[(&str, Values)], ops: &[Op]) {
    let (devices, library) = (devices(), library());
    let mut bench = Bench::new(&devices, &library);
    for variant in Variant::all() {
        for &op in ops {
            for (about, values) in
                cases.iter().filter(|(_, values)| variant.allows(op, values.element()))
            {
                let problem =
                    Problem { variant, op, element: values.element(), n: values.len() as u64 };
                let request = Request { block: Some(64), ..Request::default() };
                bench.run(&plan(&problem, &request, &LIMITS).unwrap(), values, about);
            }
        }
    }
    bench.finish(13 * ops.len() * cases.len());
}

/// 1000 values, of which those at these places are special.
fn with<T: Copy>(ordinary: T, special: &[(usize, T)]) -> Vec<T> {
    let mut values = vec![ordinary; 1000];
    for &(place, value) in special {
        values[place] = value;
    }
    values
}

#[test]
fn nans_and_infinities_are_where_they_belong() {
    const INF: f32 = f32::INFINITY;
    let cases = [
        ("one NaN", Values::F32(with(1.0, &[(777, f32::NAN)]))),
        ("nothing but NaNs", Values::F32(vec![f32::NAN; 1000])),
        ("nothing but NaNs, full blocks", Values::F32(vec![f32::NAN; 1024])),
        ("one +inf", Values::F32(with(-1.0, &[(999, INF)]))),
        ("one -inf", Values::F32(with(1.0, &[(0, -INF)]))),
        ("both infinities", Values::F32(with(1.0, &[(1, INF), (998, -INF)]))),
        ("infinity and zero", Values::F32(with(1.0, &[(64, INF), (65, 0.0)]))),
        ("NaN in f64", Values::F64(with(2.0, &[(500, f64::NAN)]))),
        ("infinities in f64", Values::F64(vec![f64::NEG_INFINITY; 1000])),
    ];
    run_everywhere(&cases, &Op::ALL);
}

#[test]
fn zeros_keep_their_order_and_sign() {
    let cases = [
        ("+0 among -0", Values::F32(with(-0.0, &[(400, 0.0)]))),
        ("-0 among +0", Values::F32(with(0.0, &[(400, -0.0)]))),
        ("-0 among +0 in f64", Values::F64(with(0.0, &[(63, -0.0)]))),
    ];
    run_everywhere(&cases, &Op::ALL);
}

#[test]
fn great_cancellations_stay_within_the_bound() {
    let alternating = |big: f64| (0..1000).map(move |i| if i % 2 == 0 { big } else { -big });
    let with_ones =
        |big: f64| alternating(big).enumerate().map(|(i, x)| if i % 10 == 0 { 1.0 } else { x });
    let cases = [
        ("+-1e30", Values::F32(alternating(1e30).map(|x| x as f32).collect())),
        ("+-1e8 and ones", Values::F32(with_ones(1e8).map(|x| x as f32).collect())),
        ("+-1e300 and ones", Values::F64(with_ones(1e300).collect())),
        ("subnormal", Values::F32(vec![1e-45; 1000])),
        ("overflow on the way", Values::F32(alternating(3e38).map(|x| x as f32).collect())),
        ("overflow", Values::F64(vec![1e308; 1000])),
    ];
    run_everywhere(&cases, &Op::ALL);
}

#[test]
fn integers_wrap_on_every_rung() {
    let cases = [
        ("i32::MAX", Values::I32(vec![i32::MAX; 1000])),
        ("i32::MIN", Values::I32(vec![i32::MIN; 999])),
        ("u32::MAX", Values::U32(vec![u32::MAX; 1000])),
        ("i64::MIN and -1", Values::I64(with(i64::MIN, &[(3, -1), (500, -1)]))),
        ("u64::MAX", Values::U64(vec![u64::MAX; 1001])),
        ("3", Values::U64(vec![3; 1000])),
    ];
    run_everywhere(&cases, &Op::ALL);
}

#[test]
fn a_run_changes_nothing_for_the_next() {
    let (devices, library) = (devices(), library());
    for device in &devices {
        let mut runner = Runner::new(device, &library);
        for variant in Variant::all() {
            let problem = Problem { variant, op: Op::Sum, element: ElementType::U32, n: 5000 };
            let plan = plan(&problem, &Request::default(), &LIMITS).unwrap();
            let values = generate(ElementType::U32, Op::Sum, 5000, 9).unwrap();
            let mut runs = 0;
            let outcome = runner
                .reduce(&plan, &values, Runs { warm_up: 1, timed: 2 }, |_| runs += 1)
                .unwrap();
            assert_eq!((runs, outcome.times.len()), (3, 2));
            let reference = Reference::for_plan(&values, &plan);
            assert!(
                reference.agrees(outcome.result),
                "variant {variant} on {}",
                device.info().name
            );
        }
    }
}

/// Launches a rung over `n` elements and adds the partial results. The elements begin `offset`
/// elements behind a multiple of 16 bytes, and before and behind them are elements that would spoil
/// the result.
fn sum_at<T: Element>(
    device: &Device,
    library: &PtxLibrary,
    variant: Variant,
    offset: usize,
    n: usize,
) -> Value {
    const BEHIND: usize = 8;
    let small = |i: usize| T::identity(if i.is_multiple_of(3) { Op::Sum } else { Op::Prod });
    let spoilt = T::identity(Op::Max);
    let mut values = vec![spoilt; offset + n + BEHIND];
    (0..n).for_each(|i| values[offset + i] = small(i));
    let input = device.upload(&values).unwrap();

    let problem = Problem { variant, op: Op::Sum, element: T::TYPE, n: n as u64 };
    let plan =
        plan(&problem, &Request { block: Some(64), grid: Some(3), ..Request::default() }, &LIMITS)
            .unwrap();
    let stage = &plan.stages[0];
    let zero = T::identity(Op::Sum);
    let output = device.upload(&vec![zero; stage.outputs as usize]).unwrap();
    let (partials, counter) = (device.upload(&[zero; 3]).unwrap(), device.upload(&[0u32]).unwrap());
    let argument = |parameter: &Parameter| match parameter {
        Parameter::Input => Arg::Pointer(input.address() + (offset * size_of::<T>()) as u64),
        Parameter::Output => Arg::Pointer(output.address()),
        Parameter::Count => Arg::U64(n as u64),
        Parameter::Partials => Arg::Pointer(partials.address()),
        Parameter::Counter => Arg::Pointer(counter.address()),
    };
    let args: Vec<Arg> = variant.parameters().iter().map(argument).collect();
    let ptx = library.find(&plan.kernel, device.info().compute_capability).unwrap();
    let kernel = device.load(&ptx.file, &ptx.text).unwrap().kernel(&plan.kernel).unwrap();
    device.start(&kernel, stage.shape, &args).unwrap();
    output
        .copy_to_host()
        .unwrap()
        .into_iter()
        .fold(zero, |sum, left| sum.combine(Op::Sum, left))
        .value()
}

#[test]
fn inputs_need_no_more_alignment_than_their_elements() {
    fn check<T: Element>(device: &Device, library: &PtxLibrary, exact: impl Fn(usize) -> T) {
        for variant in Variant::all().filter(|&variant| variant.facts().coverage.takes_any_grid()) {
            if variant.facts().block_in_name || !variant.allows(Op::Sum, T::TYPE) {
                continue;
            }
            for offset in 0..16 / size_of::<T>() {
                // These sizes have only a head and a tail; a pack or two; four loads for some
                // threads; and some tiles of 8 KiB with a rest.
                for n in [1, 2, 3, 4, 5, 7, 9, 3101, 25_007] {
                    let sum = sum_at::<T>(device, library, variant, offset, n);
                    // Two of three elements are 1, and the others are 0.
                    let expected = exact(n - n.div_ceil(3)).value();
                    assert!(
                        sum.is_same(expected),
                        "{variant} {}: offset {offset}, n = {n}: {sum}",
                        T::TYPE
                    );
                }
            }
        }
    }
    let (devices, library) = (devices(), library());
    for device in &devices {
        check::<i32>(device, &library, |sum| sum as i32);
        check::<f32>(device, &library, |sum| sum as f32);
        check::<f64>(device, &library, |sum| sum as f64);
    }
}

#[test]
fn one_launch_gives_the_same_bits_each_time() {
    let (devices, library) = (devices(), library());
    for device in &devices {
        let mut runner = Runner::new(device, &library);
        for variant in [Variant::SinglePass, Variant::Cooperative] {
            let problem = Problem { variant, op: Op::Sum, element: ElementType::F32, n: LARGE };
            // The cooperative launch has 40 blocks. The limits are those for the default request.
            let limits = runner.limits(&problem, &Request::default()).unwrap();
            let plan =
                plan(&problem, &Request { grid: Some(40), ..Request::default() }, &limits).unwrap();
            assert_eq!(plan.stages.len(), 1);
            let values = generate(ElementType::F32, Op::Sum, LARGE, 3).unwrap();
            let mut results =
                (0..3).map(|_| runner.reduce(&plan, &values, Runs::ONCE, |_| ()).unwrap().result);
            let first = results.next().unwrap();
            assert!(Reference::for_plan(&values, &plan).agrees(first));
            assert!(
                results.all(|result| result.is_same(first)),
                "variant {variant} on {}",
                device.info().name
            );
        }
    }
}

#[test]
fn values_that_were_not_planned_for_are_refused() {
    let (devices, library) = (devices(), library());
    let mut runner = Runner::new(&devices[0], &library);
    let problem =
        Problem { variant: Variant::Sequential, op: Op::Sum, element: ElementType::F32, n: 4 };
    let plan = plan(&problem, &Request::default(), &LIMITS).unwrap();
    for values in [Values::F32(vec![1.0; 3]), Values::I32(vec![1; 4])] {
        let error = runner.reduce(&plan, &values, Runs::ONCE, |_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the plan is for 4 f32 elements, not for "), "{error}");
    }
}

#[test]
fn the_kernels_are_all_there() {
    let library = library();
    for variant in Variant::all() {
        for op in Op::ALL {
            for element in ElementType::ALL {
                if !variant.allows(op, element) {
                    continue;
                }
                for block in blocks(variant) {
                    let kernel = variant.kernel(op, element, block as u32);
                    let ptx =
                        library.find(&kernel, (9, 0)).unwrap_or_else(|error| panic!("{error}"));
                    assert!(ptx.text.contains(&format!(".entry {kernel}(")), "{}", ptx.file);
                }
            }
        }
    }
}
