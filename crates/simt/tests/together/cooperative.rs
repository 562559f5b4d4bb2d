//! Grid-wide barriers.

use simt::{LaunchConfig, LaunchError, ReportKind, count};

use crate::{Buffers, clean, expect, kernel, reported, run};

/// A kernel in which each thread writes its number to `out` and meets all others. It then reads the
/// word of the thread opposite, and adds it to its own word, which lies after the first 8192 words.
fn exchange(before: &str, spin: &str, after: &str) -> String {
    format!(
        "st.global.u32 [%d12], %r12;
        bar.sync 0;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 bra meet;
        {before}
        atom.global.add.u32 %r2, [%d10], 1;
        mov.u32 %r3, %nctaid.x;
    wait:
        {spin} %r1, [%d10];
        setp.lt.u32 %p2, %r1, %r3;
        @%p2 bra wait;
        {after}
    meet:
        bar.sync 0;
        mov.u32 %r3, %nctaid.x;
        mov.u32 %r4, %ntid.x;
        mul.lo.u32 %r3, %r3, %r4;
        sub.u32 %r3, %r3, %r12;
        mul.wide.u32 %d1, %r3, 4;
        add.u64 %d1, %d1, %d11;
        ld.global.u32 %r5, [%d1+-4];
        add.u32 %r5, %r5, 1000;
        st.global.u32 [%d12+32768], %r5;"
    )
}

fn cooperative(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { cooperative: true, ..LaunchConfig::new(blocks, threads) }
}

const FENCE: &str = "membar.gl;";
const VOLATILE: &str = "ld.volatile.global.u32";

#[test]
fn all_blocks_of_a_cooperative_launch_meet() {
    for (blocks, threads) in [(1, 1), (2, 32), (7, 33), (300, 24), (1100, 4)] {
        let module = kernel("", &exchange(FENCE, VOLATILE, FENCE));
        let n = blocks * threads;
        let mut expected: Vec<u32> = (0..n).collect();
        expected.resize(8192, 0);
        expected.extend((0..n).rev().map(|i| i + 1000));
        expect(&module, &cooperative(blocks, threads), &expected);
    }
}

#[test]
fn a_grid_that_cannot_be_resident_is_refused() {
    let module = kernel("", "");
    let refused = |config: LaunchConfig| run(&module, &config, 0).unwrap_err();
    // An H100 holds two blocks of 1024 threads on each of its 132 multiprocessors.
    assert_eq!(
        refused(cooperative(265, 1024)),
        LaunchError::CooperativeTooLarge { blocks: 265, resident: 264 }
    );
    run(&module, &cooperative(264, 1024), 0).unwrap();
    let limited = LaunchConfig { resident_blocks: Some(4), ..cooperative(5, 32) };
    let error = refused(limited);
    assert_eq!(error, LaunchError::CooperativeTooLarge { blocks: 5, resident: 4 });
    assert_eq!(
        error.to_string(),
        "a cooperative launch of 5 blocks is too large: at most 4 can be resident at once"
    );
    run(&module, &LaunchConfig { resident_blocks: Some(5), ..limited }, 0).unwrap();
    run(&module, &LaunchConfig { cooperative: false, ..limited }, 0).unwrap();
}

#[test]
fn a_barrier_that_nobody_completes_is_a_livelock() {
    let body = exchange(FENCE, VOLATILE, FENCE)
        .replace("mov.u32 %r3, %nctaid.x;\n    wait", "mov.u32 %r3, 99;\n    wait");
    let error = run(&kernel("", &body), &cooperative(4, 32), 0).unwrap_err().to_string();
    assert!(error.contains("livelock: these threads repeat the same steps for ever"), "{error}");
    let config = LaunchConfig { budget: Some(10_000), ..cooperative(4, 32) };
    let error = run(&kernel("", &body), &config, 0).unwrap_err().to_string();
    assert!(error.contains("the budget of 10000 warp instructions is spent"), "{error}");
}

#[test]
fn counts_of_a_cooperative_launch_do_not_depend_on_the_workers() {
    let module = kernel("", &exchange(FENCE, VOLATILE, FENCE));
    let counted = |workers| {
        let buffers = Buffers::new();
        let config = LaunchConfig { workers, ..cooperative(9, 64) };
        count(module.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory)
            .unwrap()
            .counters
    };
    assert_eq!(counted(Some(1)), counted(Some(2)));
    assert_eq!(counted(Some(1)), counted(None));
}

#[test]
fn a_grid_barrier_orders_what_it_fences() {
    let config = cooperative(20, 64);
    let spins = [VOLATILE, "ld.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"];
    for fence in [FENCE, "fence.acq_rel.gpu;", "fence.sc.gpu;"] {
        for spin in spins {
            clean(&kernel("", &exchange(fence, spin, fence)), &config);
        }
    }
    clean(&kernel("", &exchange(FENCE, "ld.acquire.gpu.global.u32", "")), &config);
    let race = [ReportKind::Race];
    reported(&kernel("", &exchange("", VOLATILE, FENCE)), &config, &race);
    reported(&kernel("", &exchange(FENCE, VOLATILE, "")), &config, &race);
    reported(&kernel("", &exchange("membar.cta;", VOLATILE, FENCE)), &config, &race);
    // Without the barriers of the block, only thread 0 of each block has its accesses in order.
    reported(
        &kernel("", &exchange(FENCE, VOLATILE, FENCE).replace("bar.sync 0;", "")),
        &config,
        &race,
    );
}
