//! Tests of plans at their limits.

use super::*;
use crate::{element::ElementType, op::Op, variant::Variant};

const H100: DeviceLimits = DeviceLimits {
    multiprocessors: 132,
    max_threads_per_block: 1024,
    shared_bytes_per_block: 48 << 10,
    memory_bytes: 80 << 30,
    compute_capability: (9, 0),
    resident_blocks: None,
};

fn problem(variant: Variant, n: u64) -> Problem {
    Problem { variant, op: Op::Sum, element: ElementType::I32, n }
}

fn request(block: u64) -> Request {
    Request { block: Some(block), ..Request::default() }
}

fn grids(plan: &Plan) -> Vec<u32> {
    plan.stages.iter().map(|stage| stage.shape.grid.x).collect()
}

#[test]
fn naive_launches_once_per_level() {
    for (n, launches) in
        [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 22, 22), ((1 << 22) + 1, 23)]
    {
        let plan = plan(&problem(Variant::Naive, n), &Request::default(), &H100).unwrap();
        assert_eq!(plan.stages.len(), launches, "n = {n}");
        assert_eq!(plan.depth(), launches as u64);
        assert_eq!(plan.partials(), 1);
    }
}

#[test]
fn udacity_takes_two_stages_of_1024() {
    let plan = plan(&problem(Variant::Global, 1 << 20), &Request::default(), &H100).unwrap();
    assert_eq!(grids(&plan), [1024, 1]);
    assert_eq!((plan.block, plan.depth()), (1024, 20));
    assert_eq!(plan.stages[0].shape.shared_bytes, 0);
}

#[test]
fn blocks_cover_the_input_and_no_more() {
    for (variant, takes) in [
        (Variant::Global, 256),
        (Variant::InterleavedModulo, 256),
        (Variant::InterleavedContiguous, 256),
        (Variant::Sequential, 256),
        (Variant::FirstAdd, 512),
        (Variant::WarpUnrolled, 512),
        (Variant::CompletelyUnrolled, 512),
        (Variant::MultipleElements, 512),
        (Variant::Shuffle, 512),
        (Variant::Vectorized, 4096),
        (Variant::SinglePass, 4096),
        (Variant::Cooperative, 4096),
        (Variant::Bulk, 2048),
        (Variant::AtomicBlock, 4096),
    ] {
        for (n, grid) in
            [(1, 1), (takes - 1, 1), (takes, 1), (takes + 1, 2), (2 * takes, 2), (2 * takes + 1, 3)]
        {
            let plan = plan(&problem(variant, n), &request(256), &H100).unwrap();
            assert_eq!(plan.stages[0].shape.grid.x, grid, "{variant}, n = {n}");
            assert_eq!(plan.partials(), 1);
        }
    }
}

#[test]
fn every_stage_reads_what_the_one_before_left() {
    for variant in Variant::all() {
        for finish in [Finish::Relaunch, Finish::Host] {
            for n in [1, 2, 31, 1025, 65_537, (1 << 31) + 1] {
                let request = Request { finish, ..Request::default() };
                let plan = plan(&problem(variant, n), &request, &H100).unwrap();
                assert_eq!(plan.stages[0].inputs, n);
                assert!(plan.stages.windows(2).all(|pair| pair[0].outputs == pair[1].inputs));
                assert_eq!(
                    plan.partials() == 1,
                    finish == Finish::Relaunch || plan.stages[0].outputs == 1
                );
            }
        }
    }
}

#[test]
fn shared_memory_holds_one_element_per_thread() {
    let of = |variant, element| {
        let problem = Problem { variant, op: Op::Min, element, n: 5000 };
        plan(&problem, &request(1024), &H100).unwrap().stages[0].shape.shared_bytes
    };
    assert_eq!(of(Variant::InterleavedModulo, ElementType::F32), 4096);
    assert_eq!(of(Variant::CompletelyUnrolled, ElementType::F64), 8192);
    assert_eq!(of(Variant::Naive, ElementType::F64), 0);
    assert_eq!(of(Variant::Global, ElementType::F64), 0);

    let poor = DeviceLimits { shared_bytes_per_block: 8191, ..H100 };
    let problem = Problem { element: ElementType::U64, ..problem(Variant::Sequential, 10) };
    let error = plan(&problem, &request(1024), &poor).unwrap_err();
    assert_eq!(
        error.to_string(),
        "block 1024: u64 needs 8192 bytes of shared memory, and the device gives a block 8191"
    );
}

#[test]
fn grid_stride_takes_what_the_device_holds() {
    let of =
        |n, request| grids(&plan(&problem(Variant::MultipleElements, n), &request, &H100).unwrap());
    assert_eq!(of(1 << 28, Request::default()), [1056, 3, 1]);
    assert_eq!(of(1 << 16, Request::default()), [128, 1]);
    assert_eq!(of(5, Request { grid: Some(1000), ..Request::default() }), [1000, 2, 1]);
    assert_eq!(of(1 << 28, Request { grid: Some(1), ..Request::default() }), [1]);
    assert_eq!(of(1 << 28, Request { finish: Finish::Single, ..Request::default() }), [1056, 1]);
    assert_eq!(of(1 << 28, Request { finish: Finish::Host, ..Request::default() }), [1056]);
}

#[test]
fn one_launch_combines_everything() {
    for variant in
        [Variant::SinglePass, Variant::Cooperative, Variant::AtomicBlock, Variant::AtomicWarp]
    {
        for finish in Finish::ALL {
            let limits = DeviceLimits { resident_blocks: Some(8), ..H100 };
            let plan = plan(
                &problem(variant, 1 << 28),
                &Request { finish, ..Request::default() },
                &limits,
            )
            .unwrap();
            assert_eq!((grids(&plan), plan.partials()), (vec![1056], 1), "{variant} {finish}");
            assert_eq!(plan.stages[0].shape.cooperative, variant == Variant::Cooperative);
        }
    }
}

#[test]
fn a_cooperative_grid_is_what_is_resident() {
    let of = |grid, resident_blocks| {
        let limits = DeviceLimits { resident_blocks, ..H100 };
        plan(
            &problem(Variant::Cooperative, 1 << 28),
            &Request { grid, ..Request::default() },
            &limits,
        )
    };
    assert_eq!(grids(&of(None, None).unwrap()), [132]);
    assert_eq!(grids(&of(None, Some(3)).unwrap()), [396]);
    assert_eq!(grids(&of(Some(396), Some(3)).unwrap()), [396]);
    assert_eq!(
        of(Some(397), Some(3)).unwrap_err().to_string(),
        "grid 397: the blocks of variant 12 wait for each other, and the device can hold only 396 blocks of 256 threads at once"
    );
    assert_eq!(
        of(Some(133), None).unwrap_err(),
        PlanError::Resident { grid: 133, variant: Variant::Cooperative, most: 132, block: 256 }
    );
}

#[test]
fn clusters_divide_the_grid() {
    let of = |n, grid| {
        plan(&problem(Variant::Cluster, n), &Request { grid, ..Request::default() }, &H100).unwrap()
    };
    for (grid, cluster) in
        [(1, 1), (2, 2), (3, 1), (5, 1), (6, 2), (8, 8), (12, 4), (24, 8), (16, 8)]
    {
        let stage = of(1 << 20, Some(grid)).stages[0];
        assert_eq!(
            (u64::from(stage.shape.cluster), stage.outputs),
            (cluster, grid / cluster),
            "grid {grid}"
        );
    }
    // Without a request, the grid is a whole number of clusters, of eight blocks if there is enough
    // to do.
    for (blocks, grid) in
        [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (1000, 1000), (1001, 1008), (5000, 1056)]
    {
        assert_eq!(grids(&of(4096 * blocks, None))[0], grid, "{blocks} blocks");
    }
    assert_eq!(grids(&of(1 << 28, None)), [1056, 1]);
}

#[test]
fn bulk_copies_get_their_tiles() {
    let plan = plan(&problem(Variant::Bulk, 1 << 28), &Request::default(), &H100).unwrap();
    assert_eq!(grids(&plan), [528, 1]);
    assert_eq!(plan.stages[0].shape.shared_bytes, 4 * (8192 + 8) + 8 * 4);
}

#[test]
fn what_a_rung_has_no_kernel_for_is_refused() {
    let refused = |variant, op, element| {
        let problem = Problem { variant, op, element, n: 10 };
        assert!(matches!(check(&problem, &Request::default()), Err(PlanError::Operands { .. })));
        assert!(!variant.allows(op, element));
    };
    refused(Variant::Redux, Op::Prod, ElementType::I32);
    refused(Variant::Redux, Op::Sum, ElementType::U64);
    refused(Variant::Redux, Op::Max, ElementType::F32);
    refused(Variant::AtomicBlock, Op::Prod, ElementType::I32);
    refused(Variant::AtomicWarp, Op::Min, ElementType::F64);
    assert!(
        Variant::AtomicWarp.allows(Op::Sum, ElementType::F64)
            && Variant::Redux.allows(Op::Min, ElementType::U32)
    );
}

#[test]
fn a_device_that_is_too_old_is_to_blame() {
    let ampere = DeviceLimits { compute_capability: (8, 6), ..H100 };
    let of = |variant| plan(&problem(variant, 10), &Request::default(), &ampere);
    assert!(of(Variant::Redux).is_ok());
    for variant in [Variant::Cluster, Variant::Bulk] {
        let error = of(variant).unwrap_err();
        assert!(error.blames_device());
        assert_eq!(
            error.to_string(),
            format!("variant {variant} needs compute capability 9.0; the device has 8.6")
        );
    }
    assert!(!PlanError::EmptyGrid.blames_device());
}

#[test]
fn atomics_and_workspaces_are_counted() {
    let of = |variant, n| plan(&problem(variant, n), &request(128), &H100).unwrap();
    let (block, warp) = (of(Variant::AtomicBlock, 1 << 20), of(Variant::AtomicWarp, 1 << 20));
    assert_eq!((block.atomics(), warp.atomics()), (512, 2048));
    // The chain has 16 elements and one more at each end; then come the seven levels of the block,
    // and the atomics.
    assert_eq!((block.depth(), warp.depth()), (16 + 2 + 7 + 512, 16 + 2 + 7 + 2048));
    assert_eq!(block.device_bytes(), ((1 << 20) + 2) * 4);
    let single = of(Variant::SinglePass, 1 << 20);
    assert_eq!((single.atomics(), single.stages[0].workspace), (0, 512));
    assert_eq!(single.depth(), 16 + 2 + 7 + 4 + 7);
    assert_eq!(single.device_bytes(), ((1 << 20) + 1 + 512) * 4 + 4);
}

#[test]
fn depth_counts_the_longest_chain() {
    let depth = |variant, n, request| plan(&problem(variant, n), &request, &H100).unwrap().depth();
    assert_eq!(depth(Variant::Sequential, 65_536, request(256)), 8 + 8);
    assert_eq!(depth(Variant::FirstAdd, 512 * 512, request(256)), 9 + 9);
    // The first stage has 1056 blocks that take 512 elements a step, which makes 497 steps. The
    // second has 3 blocks with one step each, the third has one block.
    let steps = (1u64 << 28).div_ceil(1056 * 512);
    assert_eq!(
        depth(Variant::MultipleElements, 1 << 28, Request::default()),
        (2 * steps + 8) + 10 + 10
    );
    let host = Request { finish: Finish::Host, ..request(512) };
    assert_eq!(depth(Variant::InterleavedModulo, 2048, host), 9 + 3);
}

#[test]
fn nothing_needs_no_launch() {
    let plan_of =
        |op| plan(&Problem { op, ..problem(Variant::Naive, 0) }, &Request::default(), &H100);
    for op in [Op::Sum, Op::Prod] {
        let plan = plan_of(op).unwrap();
        assert_eq!(
            (plan.stages.len(), plan.partials(), plan.depth(), plan.device_bytes()),
            (0, 0, 0, 0)
        );
    }
    assert_eq!(plan_of(Op::Min).unwrap_err().to_string(), "n = 0: min needs at least one element");
    assert_eq!(plan_of(Op::Max).unwrap_err(), PlanError::Nothing { op: Op::Max });
}

#[test]
fn blocks_that_no_kernel_has_are_refused() {
    for variant in Variant::all() {
        for block in [0, 3, 96, 1000, 2048, 1 << 33, u64::MAX] {
            let error = plan(&problem(variant, 10), &request(block), &H100).unwrap_err();
            assert!(matches!(error, PlanError::Block { .. }), "{variant} {block}: {error}");
        }
    }
    let error = plan(&problem(Variant::CompletelyUnrolled, 10), &request(32), &H100).unwrap_err();
    assert_eq!(
        error.to_string(),
        "block 32: variant 6 works with blocks of a power of two from 64 to 1024 threads"
    );
    let small = DeviceLimits { max_threads_per_block: 512, ..H100 };
    assert!(plan(&problem(Variant::Naive, 10), &request(1024), &small).is_err());
    assert_eq!(
        plan(&problem(Variant::Global, 10), &Request::default(), &small).unwrap().block,
        512
    );
}

#[test]
fn grids_that_do_not_fit_are_refused() {
    let with = |variant, grid| {
        plan(&problem(variant, 1000), &Request { grid: Some(grid), ..request(256) }, &H100)
    };
    for variant in Variant::all() {
        assert_eq!(with(variant, 0).unwrap_err(), PlanError::EmptyGrid);
    }
    assert_eq!(grids(&with(Variant::Sequential, 4).unwrap())[0], 4);
    assert_eq!(
        with(Variant::Sequential, 5).unwrap_err().to_string(),
        "grid 5: variant 3 needs exactly 4 blocks of 256 threads for n = 1000"
    );
    assert!(matches!(with(Variant::Naive, 1), Err(PlanError::Grid { needed: 2, .. })));
    assert!(matches!(
        with(Variant::MultipleElements, MAX_GRID + 1),
        Err(PlanError::GridTooLarge { .. })
    ));

    // Blocks that take two elements each reach the limit of the grid exactly at 2^32 - 2 elements.
    let pairs = |n| plan(&problem(Variant::Sequential, n), &request(2), &H100);
    assert_eq!(u64::from(pairs(2 * MAX_GRID).unwrap().stages[0].shape.grid.x), MAX_GRID);
    assert_eq!(
        pairs(2 * MAX_GRID + 1).unwrap_err(),
        PlanError::GridTooLarge { grid: MAX_GRID + 1 }
    );
}

#[test]
fn one_block_must_be_enough_to_finish() {
    let of = |variant, n| {
        plan(&problem(variant, n), &Request { finish: Finish::Single, ..request(256) }, &H100)
    };
    assert_eq!(grids(&of(Variant::Sequential, 256 * 256).unwrap()), [256, 1]);
    assert_eq!(grids(&of(Variant::Sequential, 256).unwrap()), [1]);
    assert_eq!(
        of(Variant::Sequential, 256 * 256 + 1).unwrap_err().to_string(),
        "finish single: 257 partial results are left, and one block of 256 threads of variant 3 can combine at most 256"
    );
    assert_eq!(grids(&of(Variant::FirstAdd, 512 * 512).unwrap()), [512, 1]);
    assert!(of(Variant::FirstAdd, 512 * 512 + 1).is_err());
    assert!(of(Variant::Naive, 5).is_err());
}

#[test]
fn memory_is_counted_before_it_is_taken() {
    let error =
        plan(&problem(Variant::CompletelyUnrolled, 99_999_999_999_999), &Request::default(), &H100);
    assert_eq!(
        error.unwrap_err().to_string(),
        "n = 99999999999999 i32 elements need 400 TB of device memory; the device has 85.9 GB free"
    );
    assert!(matches!(
        plan(&problem(Variant::Naive, u64::MAX), &Request::default(), &H100),
        Err(PlanError::Memory { .. })
    ));

    // There are 512 elements and one result, of 4 bytes each. A kernel that overwrites its input
    // needs the input twice.
    let exact = DeviceLimits { memory_bytes: 513 * 4, ..H100 };
    let short = DeviceLimits { memory_bytes: 513 * 4 - 1, ..H100 };
    assert!(plan(&problem(Variant::FirstAdd, 512), &Request::default(), &exact).is_ok());
    assert!(plan(&problem(Variant::FirstAdd, 512), &Request::default(), &short).is_err());
    assert_eq!(
        plan(&problem(Variant::Global, 1024), &Request::default(), &H100).unwrap().device_bytes(),
        2049 * 4
    );
}

#[test]
fn byte_counts_read_well() {
    for (count, text) in [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_960, "100 kB"),
        (999_600, "1.0 MB"),
    ] {
        assert_eq!(bytes(count), text);
    }
    assert_eq!(bytes(u128::from(u64::MAX) * 4), "73.8 EB");
}
