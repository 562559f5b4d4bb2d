//! Tests of the examples that the lectures give, on every available device.

mod support;

use support::{devices, library};
use warpfold_lab::{
    element::{Element, Value, Values},
    launch::{DeviceLimits, Finish, Plan, Problem, Request, plan},
    op::Op,
    reduce::{Runner, Runs},
    reference::Reference,
    variant::Variant,
};

const LIMITS: DeviceLimits = DeviceLimits {
    multiprocessors: 4,
    max_threads_per_block: 1024,
    shared_bytes_per_block: 48 << 10,
    memory_bytes: 1 << 30,
    compute_capability: (9, 0),
    resident_blocks: None,
};

fn planned(variant: Variant, values: &Values, request: Request) -> Plan {
    let problem =
        Problem { variant, op: Op::Sum, element: values.element(), n: values.len() as u64 };
    plan(&problem, &request, &LIMITS).unwrap()
}

/// The number of blocks, and of threads in one block, of each launch.
fn shapes(plan: &Plan) -> Vec<(u32, u32)> {
    plan.stages.iter().map(|stage| (stage.shape.grid.x, stage.shape.block.x)).collect()
}

/// Runs the plan on every device. The result must have these bits, and agree with the reference.
fn assert_sum(plan: &Plan, values: &Values, expected: Value) {
    let library = library();
    let reference = Reference::new(values, Op::Sum, plan.depth());
    for device in devices() {
        let outcome =
            Runner::new(&device, &library).reduce(plan, values, Runs::ONCE, |_| ()).unwrap();
        let (result, name) = (outcome.result, &device.info().name);
        assert!(result.is_same(expected), "{} on {name}: {result}, not {expected}", plan.kernel);
        assert!(reference.agrees(result), "{} on {name}: {result}", plan.kernel);
    }
}

/// Tests the table of Hui Liu, Reduction #3, whose last row begins with 41.
#[test]
fn sixteen_values_sum_to_41_on_every_rung() {
    const VALUES: [i32; 16] = [10, 1, 8, -1, 0, -2, 3, 5, -2, -3, 2, 7, 0, 11, 0, 2];
    fn check<T: Element>(values: Vec<T>, expected: T) {
        let values = T::values(values);
        for variant in Variant::all().filter(|variant| variant.allows(Op::Sum, T::TYPE)) {
            assert_sum(&planned(variant, &values, Request::default()), &values, expected.value());
            // The lecture's own block size is used too, if the rung allows it.
            if variant.facts().blocks.range().contains(&16) {
                let plan =
                    planned(variant, &values, Request { block: Some(16), ..Request::default() });
                assert_sum(&plan, &values, expected.value());
            }
        }
    }
    check(VALUES.to_vec(), 41);
    check(VALUES.map(f64::from).to_vec(), 41.0);
}

/// Tests Udacity's example: 1024 blocks of 1024 threads reduce 2^20 floats to 1024, and one block
/// of 1024 threads reduces these to one. This runs first in global memory, then in shared memory.
#[test]
fn a_million_floats_in_two_stages_of_1024() {
    // The floats are multiples of 1/2 whose partial sums stay below 2^23, so every sum is exact in
    // any order.
    let floats: Vec<f32> = (0..1 << 20).map(|i| (i % 17) as f32 * 0.5 - 4.0).collect();
    let exact: f64 = floats.iter().map(|&x| f64::from(x)).sum();
    let values = Values::F32(floats);
    for (variant, shared_bytes) in [(Variant::Global, 0), (Variant::Sequential, 4096)] {
        for finish in [Finish::Single, Finish::Relaunch] {
            let plan =
                planned(variant, &values, Request { block: Some(1024), grid: Some(1024), finish });
            assert_eq!(shapes(&plan), [(1024, 1024), (1, 1024)]);
            assert!(plan.stages.iter().all(|stage| stage.shape.shared_bytes == shared_bytes));
            assert_sum(&plan, &values, Value::F32(exact as f32));
        }
    }
}

/// Tests CSDN's example: N = 2048, with 512 threads in one block, and the host adds the partial
/// sums. Interleaved addressing adds 0 to 2047, and sequential addressing adds ones.
#[test]
fn two_thousand_floats_with_the_host_adding_the_partial_sums() {
    let request = Request { block: Some(512), grid: Some(4), finish: Finish::Host };
    let counting = Values::F32((0..2048u16).map(f32::from).collect());
    let ones = Values::F32(vec![1.0; 2048]);
    for variant in [Variant::InterleavedModulo, Variant::Sequential] {
        for (values, sum) in [(&counting, 2_096_128.0), (&ones, 2048.0)] {
            let plan = planned(variant, values, request);
            assert_eq!((shapes(&plan), plan.partials()), (vec![(4, 512)], 4));
            assert_sum(&plan, values, Value::F32(sum));
        }
    }
}

/// Tests the tables of Liu and Filipovič: 2^22 ints on every rung, with the grids that follow from
/// their blocks.
#[test]
fn four_million_ints() {
    let ints: Vec<i32> = (0..1 << 22).map(|i: i32| i.wrapping_mul(0x9E37_79B1u32 as i32)).collect();
    let sum = ints.iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
    let values = Values::I32(ints);
    for (variant, grids) in [
        (Variant::InterleavedModulo, vec![16_384, 64, 1]),
        (Variant::InterleavedContiguous, vec![16_384, 64, 1]),
        (Variant::Sequential, vec![16_384, 64, 1]),
        (Variant::FirstAdd, vec![8192, 16, 1]),
        (Variant::WarpUnrolled, vec![8192, 16, 1]),
        (Variant::CompletelyUnrolled, vec![8192, 16, 1]),
        (Variant::MultipleElements, vec![32, 1]),
    ] {
        let plan = planned(variant, &values, Request::default());
        assert_eq!(shapes(&plan).iter().map(|shape| shape.0).collect::<Vec<_>>(), grids);
        assert_sum(&plan, &values, Value::I32(sum));
    }
}

/// Tests Filipovič's naive approach: the kernel is launched log2 n times.
#[test]
fn the_naive_approach_launches_for_each_level() {
    let values = Values::I32((0..1 << 12).collect());
    let plan = planned(Variant::Naive, &values, Request::default());
    assert_eq!(plan.stages.len(), 12);
    assert_sum(&plan, &values, Value::I32((1 << 11) * ((1 << 12) - 1)));
}
