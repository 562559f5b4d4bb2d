//! The findings of `check` in kernels from which a part is left out.

use simt::ReportKind::{EarlyExit, InFlight, Race};
use simt::{Checked, FaultKind, LaunchConfig, check};

use crate::bulk::Pipeline;
use crate::cluster::{READ, SYNC, clusters, neighbour};
use crate::{Buffers, SEEDS, clean, kernel, reported};

#[test]
fn a_pipeline_without_one_of_its_parts_is_reported() {
    let config = LaunchConfig::new(2, 64);
    let without = |pipeline: Pipeline| kernel("", &pipeline.body());
    // A buffer is refilled before all threads have read it. A warp may also miss a phase, and then
    // it waits for ever.
    let early = without(Pipeline { sync_before_refill: "", ..Pipeline::default() });
    for seed in SEEDS {
        let buffers = Buffers::new();
        let config = LaunchConfig { seed, ..config };
        let checked =
            check(early.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory).unwrap();
        let found = checked.reports.iter().any(|report| matches!(report.kind, Race | InFlight));
        let missed =
            checked.fault.is_some_and(|fault| matches!(fault.kind, FaultKind::Mbarrier { .. }));
        assert!(found || missed, "seed {seed:?}");
    }
    // Only the thread that began the copy waits for it.
    let alone = "@!%p1 bra go; wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r4; @!%p2 bra wait; go:";
    reported(&without(Pipeline { wait: alone, ..Pipeline::default() }), &config, &[InFlight, Race]);
    // A barrier of the block after this wait passes on the knowledge of the thread that waited.
    let handed = "@!%p1 bra go; wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r4; @!%p2 bra wait; go: bar.sync 0;";
    clean(&without(Pipeline { wait: handed, ..Pipeline::default() }), &config);
}

#[test]
fn bytes_in_flight_are_reported_whoever_touches_them() {
    let body = |access: &str| {
        format!(
            "setp.eq.u32 %p1, %r10, 0; @%p1 mbarrier.init.shared.b64 [s+2048], 1; bar.sync 0;
            @!%p1 bra go;
            mbarrier.arrive.expect_tx.shared.b64 _, [s+2048], 256;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10], 256, [s+2048];
        go:
            {access}
            wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;"
        )
    };
    let config = LaunchConfig::new(1, 64);
    for access in [
        "@%p1 ld.shared.u32 %r1, [s];",
        "bar.sync 0; @!%p1 ld.shared.u32 %r1, [s+252];",
        "bar.sync 0; @!%p1 st.shared.u8 [s+7], 1;",
        "bar.sync 0; @!%p1 red.shared.add.u32 [s+16], 1;",
    ] {
        reported(
            &kernel("", &body(access)),
            &config,
            &[InFlight, simt::ReportKind::UninitializedRead],
        );
    }
    clean(&kernel("", &body("bar.sync 0; st.shared.u32 [%r13+256], 1;")), &config);
    let buffers = Buffers::new();
    let module = kernel("", &body("bar.sync 0; @!%p1 st.shared.u32 [s+4], 1;"));
    let Checked { reports, .. } =
        check(module.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory).unwrap();
    let text = reports[0].to_string();
    assert!(
        text.starts_with(
            "error[in-flight]: thread (1,0,0) of block (0,0,0) writes 4 bytes of shared memory at 0x4, which an asynchronous copy that thread (0,0,0) of block (0,0,0) began still writes\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("cp.async.bulk") && text.contains("help: wait for the copy first"),
        "{text}"
    );
}

#[test]
fn uninitialised_sources_are_reported() {
    let body = "st.shared.u32 [s], 1; fence.proxy.async; cp.async.bulk.global.shared::cta.bulk_group [%d11], [s], 16;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    reported(&kernel("", body), &LaunchConfig::new(1, 1), &[simt::ReportKind::UninitializedRead]);
}

#[test]
fn the_barrier_of_the_cluster_orders_its_blocks() {
    let config = clusters(4, 2, 64);
    let write =
        "mapa.shared::cluster.u32 %r5, %r13, %r1; st.shared::cluster.u32 [%r5], 7; mov.u32 %r4, 0;";
    let split = "barrier.cluster.arrive; mov.u32 %r9, 1; barrier.cluster.wait;";
    for sync in [SYNC, split, "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"] {
        clean(&kernel("", &neighbour(sync, READ, sync)), &config);
        clean(&kernel("", &neighbour(sync, write, sync)), &config);
    }
    // There is no order before the read, or only a kind that orders nothing.
    let relaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    for first in ["", "bar.sync 0;", relaxed] {
        reported(
            &kernel("", &neighbour(first, READ, SYNC)),
            &config,
            &[Race, simt::ReportKind::UninitializedRead],
        );
    }
    // There are many phases, and a barrier of one block between them.
    let again = format!("{SYNC} st.shared.u32 [%r13], 5; bar.sync 0; {SYNC}");
    clean(&kernel("", &neighbour(&again, READ, SYNC)), &config);
    let late = format!("{SYNC} st.shared.u32 [%r13], 5; bar.sync 0;");
    reported(&kernel("", &neighbour(&late, READ, SYNC)), &config, &[Race]);
}

#[test]
fn a_block_that_exits_too_early_is_reported() {
    // It depends on the turns of the blocks whether the block that is read has exited before the
    // read.
    let config = clusters(2, 2, 64);
    let module = kernel("", &neighbour(SYNC, READ, ""));
    for seed in SEEDS {
        let buffers = Buffers::new();
        let config = LaunchConfig { seed, ..config };
        let Checked { reports, fault } =
            check(module.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory).unwrap();
        let early = reports.iter().any(|report| report.kind == EarlyExit);
        let gone = fault.is_some_and(|fault| matches!(fault.kind, FaultKind::ExitedBlock { .. }));
        assert!(early || gone, "seed {seed:?}");
    }
    // Rank 0 reads and ends. Rank 1 waits for no other block, but it happens to end after rank 0.
    let one_sided = neighbour(
        SYNC,
        &format!("setp.eq.u32 %p1, %r14, 1; mov.u32 %r4, 0; @%p1 bra on; {READ} on:"),
        "",
    );
    let module = kernel(
        "",
        &one_sided.replace(
            "on:",
            "on: mov.u32 %r7, 0; spin: add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 9000; @%p2 bra spin;",
        ),
    );
    reported(&module, &config, &[EarlyExit]);
}

#[test]
fn cluster_scope_reaches_as_far_as_the_cluster() {
    // Rank 0 leaves a message in global memory, and sets a flag in the shared memory of rank 1.
    let body = |scope: &str| {
        format!(
            "st.shared.u32 [s], 0; {SYNC}
            setp.ne.u32 %p1, %r14, 0; @%p1 bra reader;
            st.global.u32 [%d11], 42; fence.acq_rel.{scope};
            mapa.shared::cluster.u32 %r1, s, 1; st.relaxed.{scope}.shared::cluster.u32 [%r1], 1; bra done;
        reader:
            ld.relaxed.{scope}.shared::cluster.u32 %r2, [s]; setp.eq.u32 %p2, %r2, 0; @%p2 bra reader;
            fence.acq_rel.{scope}; ld.global.u32 %r3, [%d11]; st.global.u32 [%d11+64], %r3;
        done: {SYNC}"
        )
    };
    let config = clusters(2, 2, 1);
    clean(&kernel("", &body("cluster")), &config);
    clean(&kernel("", &body("gpu")), &config);
    reported(&kernel("", &body("cta")), &config, &[Race]);
}
