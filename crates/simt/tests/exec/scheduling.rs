//! Divergence, barriers and waits, and the independence of results from the number of workers.

use simt::{LaunchConfig, Module};

use crate::{eval, kernel, run};

const STORE: &str = "
    mul.wide.u32 %d12, %r12, 8;
    add.s64 %d11, %d11, %d12;
    cvt.u64.u32 %d0, %r0;
    st.global.u64 [%d11], %d0;";

fn warp(body: &str) -> Vec<u64> {
    run(&kernel("", &format!("{body}{STORE}")), &LaunchConfig::new(1, 32), &[], 32)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Runs the kernel with all the kinds of scheduling for which a launch can ask.
fn everywhere(module: &Module, config: LaunchConfig, outputs: usize) -> Vec<u64> {
    let first = run(module, &config, &[], outputs).unwrap_or_else(|e| panic!("{e}"));
    for workers in [1, 2, 5] {
        for seed in [None, Some(1), Some(2)] {
            let config = LaunchConfig { workers: Some(workers), seed, ..config };
            let again = run(module, &config, &[], outputs).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again, first, "{workers} workers, seed {seed:?}");
        }
    }
    first
}

#[test]
fn nested_branches_join_again() {
    let result = warp(
        "mov.u32 %r0, 0;
        and.b32 %r1, %r10, 1;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra even;
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p2, %r10, 16;
        @%p2 bra low;
        add.u32 %r0, %r0, 10;
        bra join;
    low:
        add.u32 %r0, %r0, 20;
        bra join;
    even:
        add.u32 %r0, %r0, 2;
    join:
        activemask.b32 %r2;
        popc.b32 %r2, %r2;
        mad.lo.u32 %r0, %r2, 100, %r0;",
    );
    let expected =
        |lane: u64| 3200 + if lane % 2 == 0 { 2 } else { 1 + if lane < 16 { 20 } else { 10 } };
    assert_eq!(result, (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn every_lane_loops_as_often_as_it_wants() {
    // Each lane sums the odd numbers up to its own number, and leaves the loop in its middle.
    let result = warp(
        "mov.u32 %r0, 0;
        mov.u32 %r1, 0;
    next:
        add.u32 %r1, %r1, 1;
        setp.gt.u32 %p1, %r1, %r10;
        @%p1 bra out;
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra next;
        add.u32 %r0, %r0, %r1;
        bra next;
    out:",
    );
    let expected = |lane: u64| (1..=lane).filter(|i| i % 2 == 1).sum::<u64>();
    assert_eq!(result, (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn an_indexed_branch_goes_four_ways() {
    let result = warp(
        "and.b32 %r1, %r10, 3;
        ways: .branchtargets zero, one, two, three;
        brx.idx %r1, ways;
    zero:
        mov.u32 %r0, 5;
        bra join;
    one:
        mov.u32 %r0, 6;
        bra join;
    two:
        mov.u32 %r0, 7;
        bra join;
    three:
        mov.u32 %r0, 8;
    join:",
    );
    assert_eq!(result, (0..32).map(|lane| 5 + lane % 4).collect::<Vec<u64>>());
}

#[test]
fn lanes_of_one_warp_take_turns_at_a_spin_lock() {
    // Each lane spins until it holds the lock, adds to a counter without atomics, and releases the
    // lock.
    let module = kernel(
        ".global .u32 lock;\n.global .u32 counter;",
        &format!(
            "mov.u64 %d1, lock;
            mov.u64 %d2, counter;
        spin:
            atom.global.acquire.gpu.cas.b32 %r1, [%d1], 0, 1;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra spin;
            ld.volatile.global.u32 %r0, [%d2];
            add.u32 %r2, %r0, 1;
            st.volatile.global.u32 [%d2], %r2;
            fence.acq_rel.gpu;
            st.release.gpu.global.u32 [%d1], 0;{STORE}"
        ),
    );
    let mut result =
        run(&module, &LaunchConfig::new(4, 32), &[], 128).unwrap_or_else(|e| panic!("{e}"));
    result.sort_unstable();
    assert_eq!(result, (0..128).collect::<Vec<u64>>());
}

#[test]
fn a_lane_waits_for_another_of_its_warp() {
    // Lane 0 spins until lane 31 has stored, whichever side of the branch the compiler puts first.
    for (guard, side) in [("@%p1", "eq"), ("@%p1", "ne")] {
        let module = kernel(
            ".shared .u32 flag;",
            &format!(
                "mov.u32 %r0, 1;
                mov.u32 %r3, flag;
                setp.{side}.u32 %p1, %r10, 0;
                {guard} bra other;
                setp.eq.u32 %p2, %r10, 0;
                @%p2 bra spin;
                bra store;
            other:
                setp.eq.u32 %p2, %r10, 0;
                @!%p2 bra store;
            spin:
                ld.volatile.shared.u32 %r1, [%r3];
                setp.eq.u32 %p3, %r1, 0;
                @%p3 bra spin;
                mov.u32 %r0, %r1;
                bra join;
            store:
                setp.eq.u32 %p3, %r10, 31;
                @%p3 st.volatile.shared.u32 [%r3], 7;
            join:{STORE}"
            ),
        );
        let result =
            run(&module, &LaunchConfig::new(1, 32), &[], 32).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((result[0], result[31]), (7, 1));
    }
}

#[test]
fn a_tree_in_shared_memory_adds_up() {
    let module = kernel(
        ".shared .align 4 .b8 tile[1024];",
        "mov.u32 %r13, %ntid.x;
        mad.lo.u32 %r12, %r11, %r13, %r10;
        mov.u32 %r1, tile;
        mad.lo.u32 %r2, %r10, 4, %r1;
        st.shared.u32 [%r2], %r12;
        mov.u32 %r3, 128;
    step:
        bar.sync 0;
        setp.ge.u32 %p1, %r10, %r3;
        @%p1 bra skip;
        mad.lo.u32 %r4, %r3, 4, %r2;
        ld.shared.u32 %r5, [%r4];
        ld.shared.u32 %r6, [%r2];
        add.u32 %r5, %r5, %r6;
        st.shared.u32 [%r2], %r5;
    skip:
        shr.u32 %r3, %r3, 1;
        setp.ne.u32 %p2, %r3, 0;
        @%p2 bra step;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 exit;
        mad.wide.u32 %d11, %r11, 8, %d11;
        cvt.u64.u32 %d0, %r5;
        st.global.u64 [%d11], %d0;",
    );
    let expected: Vec<u64> =
        (0..20).map(|block| (0..256).map(|thread| block * 256 + thread).sum()).collect();
    assert_eq!(everywhere(&module, LaunchConfig::new(20, 256), 20), expected);
}

#[test]
fn barriers_count_threads_and_reduce_predicates() {
    // Warps 0 and 1 meet at barrier 1. All threads meet at barrier 2, and 40 of them vote yes.
    let module = kernel(
        "",
        &format!(
            "mov.u32 %r12, %r10;
            setp.ge.u32 %p1, %r10, 64;
            @%p1 bra all;
            bar.sync 1, 64;
        all:
            setp.lt.u32 %p2, %r10, 40;
            barrier.red.popc.u32 %r0, 2, %p2;
            barrier.red.and.pred %p3, 3, %p2;
            @%p3 add.u32 %r0, %r0, 1000;
            barrier.red.or.pred %p3, 4, %p2;
            @%p3 add.u32 %r0, %r0, 2000;{STORE}"
        ),
    );
    assert_eq!(everywhere(&module, LaunchConfig::new(1, 96), 96), vec![2040; 96]);
}

#[test]
fn a_barrier_with_a_count_counts_whole_warps() {
    // 6 of the 70 threads are in a third warp. The even lanes of that warp reach the barrier on a
    // path of their own.
    for barrier in ["bar.sync 1, 96;", "barrier.sync 1, 96;", "barrier.sync.aligned 1, 96;"] {
        let module = kernel("", &format!("{barrier}\nmov.u32 %r12, %r10;\nmov.u32 %r0, 3;{STORE}"));
        assert_eq!(everywhere(&module, LaunchConfig::new(1, 70), 70), vec![3; 70], "{barrier}");
    }
    let module = kernel(
        "",
        &format!(
            "mov.u32 %r12, %r10;
            mov.u32 %r0, 4;
            and.b32 %r1, %r10, 65;
            setp.eq.u32 %p1, %r1, 64;
            @%p1 bra even;
            barrier.sync 1, 96;
            bra end;
        even:
            barrier.sync 1, 96;
        end:{STORE}"
        ),
    );
    assert_eq!(everywhere(&module, LaunchConfig::new(1, 70), 70), vec![4; 70]);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let module = kernel(
        ".shared .u32 box;",
        &format!(
            "mov.u32 %r12, %r10;
            mov.u32 %r0, 0;
            mov.u32 %r3, box;
            setp.lt.u32 %p1, %r10, 32;
            @%p1 bra consume;
            st.shared.u32 [%r3], 42;
            bar.arrive 1, 64;
            bra end;
        consume:
            bar.sync 1, 64;
            ld.shared.u32 %r0, [%r3];
        end:{STORE}"
        ),
    );
    let result = everywhere(&module, LaunchConfig::new(1, 64), 64);
    assert_eq!(result, [vec![42; 32], vec![0; 32]].concat());
}

#[test]
fn exited_threads_are_not_awaited_at_a_barrier() {
    let module = kernel(
        "",
        &format!(
            "mov.u32 %r12, %r10;
            setp.ge.u32 %p1, %r10, 40;
            @%p1 exit;
            bar.sync 0;
            mov.u32 %r0, 9;{STORE}"
        ),
    );
    let result = everywhere(&module, LaunchConfig::new(1, 96), 96);
    assert_eq!(result, [vec![9; 40], vec![0; 56]].concat());
}

#[test]
fn a_block_waits_for_the_one_before_it() {
    // A chained scan: block b adds its number to the value that block b-1 has published.
    let module = kernel(
        ".global .u32 published[64];",
        "setp.ne.u32 %p1, %r10, 0;
        @%p1 exit;
        mov.u64 %d1, published;
        mad.wide.u32 %d1, %r11, 4, %d1;
        mov.u32 %r1, 1;
        setp.eq.u32 %p2, %r11, 0;
        @%p2 bra publish;
    spin:
        ld.acquire.gpu.global.u32 %r1, [%d1+-4];
        setp.eq.u32 %p3, %r1, 0;
        @%p3 bra spin;
    publish:
        add.u32 %r1, %r1, %r11;
        st.release.gpu.global.u32 [%d1], %r1;
        mad.wide.u32 %d11, %r11, 8, %d11;
        cvt.u64.u32 %d0, %r1;
        st.global.u64 [%d11], %d0;",
    );
    let expected: Vec<u64> = (0..64).map(|block| 1 + block * (block + 1) / 2).collect();
    assert_eq!(everywhere(&module, LaunchConfig::new(64, 64), 64), expected);
}

#[test]
fn a_block_may_even_wait_for_a_later_one() {
    for blocks in [6, 250] {
        let module = kernel(
            ".global .u32 arrived;",
            &format!(
                "setp.eq.u32 %p1, %r10, 0;
                mov.u64 %d1, arrived;
                @%p1 red.global.add.u32 [%d1], 1;
            spin:
                ld.volatile.global.u32 %r0, [%d1];
                setp.lt.u32 %p2, %r0, {blocks};
                @%p2 bra spin;{STORE}"
            ),
        );
        let config = LaunchConfig { workers: Some(1), ..LaunchConfig::new(blocks, 32) };
        let outputs = 32 * blocks as usize;
        let result = run(&module, &config, &[], outputs).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(result, vec![u64::from(blocks); outputs]);
    }
}

#[test]
fn a_fault_ends_the_blocks_that_wait_for_what_it_prevents() {
    let module = kernel(
        ".global .u32 flag;",
        "mov.u64 %d1, flag;
        setp.eq.u32 %p1, %r11, 249;
        @%p1 trap;
    spin:
        ld.volatile.global.u32 %r0, [%d1];
        setp.eq.u32 %p2, %r0, 0;
        @%p2 bra spin;",
    );
    for workers in [1, 2] {
        let config = LaunchConfig { workers: Some(workers), ..LaunchConfig::new(250, 32) };
        let error = run(&module, &config, &[], 1).expect_err("the last block faults").to_string();
        assert!(error.contains("block (249,0,0)") && error.ends_with(": trap"), "{error}");
    }
}

#[test]
fn functions_are_inlined_with_their_arguments_and_results() {
    let module = kernel(
        ".func (.param .b32 result) twice(.param .b32 value) {
            .reg .b32 %r<3>;
            .reg .pred %p<2>;
            ld.param.b32 %r1, [value];
            setp.gt.u32 %p1, %r1, 20;
            @%p1 bra big;
            add.u32 %r1, %r1, %r1;
            st.param.b32 [result], %r1;
            ret;
        big:
            st.param.b32 [result], 1000;
            ret;
        }",
        &format!(
            "{{
            .param .b32 argument;
            .param .b32 answer;
            st.param.b32 [argument], %r10;
            call.uni (answer), twice, (argument);
            ld.param.b32 %r0, [answer];
            }}{STORE}"
        ),
    );
    let result = run(&module, &LaunchConfig::new(1, 32), &[], 32).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        result,
        (0..32).map(|lane| if lane > 20 { 1000 } else { lane * 2 }).collect::<Vec<u64>>()
    );
}

#[test]
fn generic_addresses_reach_every_space() {
    let body = "
        cvta.to.global.u64 %d4, %d10;
        cvta.global.u64 %d4, %d4;
        isspacep.global %p1, %d4;
        ld.u32 %r4, [%d4];
        selp.u32 %r0, %r4, 0, %p1;";
    assert_eq!(eval(body, 'r', &[5; 32], &[0; 32], &[0; 32]), [5; 32]);
    // A value goes through shared and local memory by generic addresses. It comes back by addresses
    // in the spaces themselves.
    let result = run(
        &kernel(
            ".shared .u32 tile[32];",
            &format!(
                ".local .u32 own[2];
                mov.u64 %d1, tile;
                mad.wide.u32 %d2, %r10, 4, %d1;
                cvta.shared.u64 %d3, %d2;
                st.u32 [%d3], %r10;
                ld.shared.u32 %r1, [%d2];
                mov.u64 %d4, own;
                cvta.local.u64 %d5, %d4;
                st.u32 [%d5+4], %r1;
                ld.local.u32 %r2, [own+4];
                isspacep.shared %p1, %d3;
                isspacep.local %p2, %d5;
                and.pred %p1, %p1, %p2;
                selp.u32 %r0, %r2, 99, %p1;{STORE}"
            ),
        ),
        &LaunchConfig::new(1, 32),
        &[],
        32,
    );
    assert_eq!(result.unwrap_or_else(|e| panic!("{e}")), (0..32).collect::<Vec<u64>>());
}

#[test]
fn atomics_return_what_was_there_in_lane_order() {
    let module = kernel(
        ".global .u32 counter = 10;\n.global .u64 wide;\n.global .f32 real;",
        &format!(
            "mov.u64 %d1, counter;
            atom.global.add.u32 %r0, [%d1], 2;
            mov.u64 %d2, wide;
            cvt.u64.u32 %d3, %r10;
            red.global.max.u64 [%d2], %d3;
            mov.u64 %d4, real;
            red.global.add.f32 [%d4], 0f3f000000;
            ld.global.u64 %d5, [%d2];
            cvt.u32.u64 %r1, %d5;
            mad.lo.u32 %r0, %r1, 1000, %r0;
            ld.global.f32 %f1, [%d4];
            cvt.rzi.u32.f32 %r1, %f1;
            mad.lo.u32 %r0, %r1, 1000000, %r0;{STORE}"
        ),
    );
    let result = run(&module, &LaunchConfig::new(1, 32), &[], 32).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        result,
        (0..32).map(|lane| 16_000_000 + 31_000 + 10 + 2 * lane).collect::<Vec<u64>>()
    );
}

#[test]
fn narrow_and_vector_accesses_keep_their_neighbours() {
    let module = kernel(
        "",
        "mad.wide.u32 %d1, %r10, 8, %d11;
        cvt.u16.u32 %h1, %r10;
        st.global.u8 [%d1+1], %h1;
        st.global.v2.u16 [%d1+4], {%h1, %h1};
        ld.global.s8 %r1, [%d1+1];
        st.global.u8 [%d1], %r1;",
    );
    let result = run(&module, &LaunchConfig::new(1, 32), &[], 32).unwrap_or_else(|e| panic!("{e}"));
    let expected = |lane: u64| lane | lane << 8 | lane << 32 | lane << 48;
    assert_eq!(result, (0..32).map(expected).collect::<Vec<_>>());
}
