//! Asynchronous copies: the bytes that they move, the times of the moves, their rules, and their
//! counters.

use simt::{FaultKind, LaunchConfig, Space, count};

use crate::cluster::{SYNC, clusters};
use crate::{Buffers, clean, expect, fault, kernel, reported, run};

/// The number of threads of a block in these kernels.
const THREADS: u32 = 64;
/// The number of tiles that the pipeline sums. A tile has one word for each thread.
const TILES: u32 = 7;

/// The parts of a pipeline of two stages. A test can leave out each part.
pub(crate) struct Pipeline {
    pub(crate) sync_after_init: &'static str,
    pub(crate) wait: &'static str,
    pub(crate) sync_before_refill: &'static str,
    /// How many bytes the mbarrier is told to wait for.
    pub(crate) announced: u32,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline {
            sync_after_init: "bar.sync 0;",
            wait: "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r4; @!%p2 bra wait;",
            sync_before_refill: "bar.sync 0;",
            announced: 4 * THREADS,
        }
    }
}

impl Pipeline {
    /// The code of a kernel in which each thread sums its word of each tile of `data`.
    pub(crate) fn body(&self) -> String {
        let Pipeline { sync_after_init, wait, sync_before_refill, announced } = self;
        let bytes = 4 * THREADS;
        format!(
            "setp.eq.u32 %p1, %r10, 0;
            mov.u32 %r1, 0;
            mov.u32 %r2, 0;
            mov.u32 %r16, s;
            @!%p1 bra ready;
            mbarrier.init.shared.b64 [s+2048], 1;
            mbarrier.init.shared.b64 [s+2056], 1;
            fence.mbarrier_init.release.cluster;
            mbarrier.arrive.expect_tx.shared.b64 %d1, [s+2048], {announced};
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10], {bytes}, [s+2048];
            mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [s+2056], {announced};
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+{bytes}], [%d10+{bytes}], {bytes}, [s+2056];
        ready:
            {sync_after_init}
        tile:
            and.b32 %r3, %r1, 1;
            shr.u32 %r4, %r1, 1;
            and.b32 %r4, %r4, 1;
            mad.lo.u32 %r5, %r3, 8, %r16;
            add.u32 %r5, %r5, 2048;
            mad.lo.u32 %r6, %r3, {bytes}, %r16;
            mad.lo.u32 %r7, %r10, 4, %r6;
            {wait}
            ld.shared.u32 %r8, [%r7];
            add.u32 %r2, %r2, %r8;
            {sync_before_refill}
            add.u32 %r9, %r1, 2;
            setp.ge.or.u32 %p3, %r9, {TILES}, !%p1;
            @%p3 bra next;
            mbarrier.arrive.expect_tx.shared.b64 _, [%r5], {announced};
            mul.wide.u32 %d2, %r9, {bytes};
            add.u64 %d2, %d2, %d10;
            mov.u32 %r15, {bytes};
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%d2], %r15, [%r5];
        next:
            add.u32 %r1, %r1, 1;
            setp.lt.u32 %p4, %r1, {TILES};
            @%p4 bra tile;
            st.global.u32 [%d12], %r2;"
        )
    }
}

fn sums(blocks: u32) -> Vec<u32> {
    let tile = |thread: u32| (0..TILES).map(|tile| tile * THREADS + thread).sum();
    (0..blocks).flat_map(|_| (0..THREADS).map(tile)).collect()
}

#[test]
fn a_pipeline_of_two_stages_sums_its_tiles() {
    expect(&kernel("", &Pipeline::default().body()), &LaunchConfig::new(3, THREADS), &sums(3));
    let spun = Pipeline {
        wait: "wait: mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r5], %r4; @!%p2 bra wait;",
        ..Pipeline::default()
    };
    expect(&kernel("", &spun.body()), &LaunchConfig::new(3, THREADS), &sums(3));
    clean(&kernel("", &Pipeline::default().body()), &LaunchConfig::new(2, THREADS));
    clean(&kernel("", &spun.body()), &LaunchConfig::new(2, THREADS));
}

/// A kernel in which thread 0 begins one copy of 1024 bytes to `s`, and then each thread reads its
/// word of the copy.
fn one(wait: &str) -> String {
    format!(
        "setp.eq.u32 %p1, %r10, 0;
        st.shared.u32 [%r13], 99;
        @%p1 mbarrier.init.shared.b64 [s+2048], 1;
        bar.sync 0;
        @!%p1 bra go;
        mbarrier.arrive.expect_tx.shared.b64 _, [s+2048], 1024;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10+32], 1024, [s+2048];
    go:
        {wait}
        ld.shared.u32 %r1, [%r13];
        st.global.u32 [%d12], %r1;
        bar.sync 0;
        leave: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra leave;"
    )
}

#[test]
fn bytes_are_not_there_before_the_wait() {
    let config = LaunchConfig::new(1, 256);
    let waited = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;";
    expect(&kernel("", &one(waited)), &config, &(8..264).collect::<Vec<_>>());
    // A barrier of the block does not wait for the copy.
    for wait in ["", "bar.sync 0;"] {
        expect(&kernel("", &one(wait)), &config, &[99; 256]);
    }
}

#[test]
fn the_source_is_read_late() {
    let body = "mbarrier.init.shared.b64 [s+2048], 1;
        mbarrier.arrive.expect_tx.shared.b64 _, [s+2048], 16;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10], 16, [s+2048];
        st.global.u32 [%d10], 77;
        wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;
        ld.shared.u32 %r1, [s]; ld.shared.u32 %r2, [s+4]; st.global.v2.u32 [%d11], {%r1, %r2};";
    expect(&kernel("", body), &LaunchConfig::new(1, 1), &[77, 1]);
}

#[test]
fn a_copy_that_is_not_awaited_is_a_fault_where_the_block_exits() {
    let body = "mbarrier.init.shared.b64 [s+2048], 1;
        mbarrier.arrive.expect_tx.shared.b64 _, [s+2048], 32;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10], 32, [s+2048];";
    assert_eq!(
        fault(&kernel("", body), &LaunchConfig::new(1, 1)),
        FaultKind::CopyInFlight { bytes: 32 }
    );
    let out = "st.shared.u32 [s], 5; cp.async.bulk.global.shared::cta.bulk_group [%d11], [s], 16;";
    assert_eq!(
        fault(&kernel("", out), &LaunchConfig::new(1, 1)),
        FaultKind::CopyInFlight { bytes: 16 }
    );
    let small = "cp.async.ca.shared.global [s], [%d10], 4;";
    assert_eq!(
        fault(&kernel("", small), &LaunchConfig::new(1, 1)),
        FaultKind::CopyInFlight { bytes: 4 }
    );
}

#[test]
fn copies_have_rules() {
    let init = "mbarrier.init.shared.b64 [s+2048], 1; mov.u32 %r1, s; mov.u32 %r2, 16;";
    let copy = |dst: &str, src: &str, size: &str| {
        kernel(
            "",
            &format!(
                "{init} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{dst}], [{src}], {size}, [s+2048];"
            ),
        )
    };
    let one = LaunchConfig::new(1, 1);
    let misaligned = |kind, wanted: Space| match kind {
        FaultKind::Misaligned { space, align: 16, .. } => assert_eq!(space, wanted),
        other => panic!("{other}"),
    };
    misaligned(fault(&copy("%r1+8", "%d10", "16"), &one), Space::Shared);
    misaligned(fault(&copy("%r1", "%d10+4", "16"), &one), Space::Global);
    let odd = kernel(
        "",
        &format!(
            "{init} mov.u32 %r3, 24; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d10], %r3, [s+2048];"
        ),
    );
    let kind = fault(&odd, &one);
    assert_eq!(kind, FaultKind::CopySize { bytes: 24 });
    assert_eq!(kind.to_string(), "bulk copy of 24 bytes: the size must be a multiple of 16");
    assert!(matches!(
        fault(&copy("%r1+4080", "%d10", "32"), &one),
        FaultKind::OutOfBounds { space: Space::Shared, .. }
    ));
    assert!(matches!(
        fault(&copy("%r1", "%d10+65520", "32"), &one),
        FaultKind::OutOfBounds { space: Space::Global, .. }
    ));
    let no = kernel(
        "",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d10], 16, [s+2048];",
    );
    assert_eq!(fault(&no, &one), FaultKind::NoMbarrier { address: 2048 });
    // A copy of no bytes does nothing.
    let none = format!("{init} mov.u32 %r3, 0; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d10], %r3, [s+2048];
        mbarrier.arrive.shared.b64 _, [s+2048]; wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;");
    run(&kernel("", &none), &one, 0).unwrap();
}

#[test]
fn a_phase_that_waits_for_other_bytes_than_come_is_a_deadlock() {
    for (announced, bytes, in_flight) in [(512, 512, 256), (128, 128, 256)] {
        let pipeline = Pipeline { announced, ..Pipeline::default() };
        match fault(&kernel("", &pipeline.body()), &LaunchConfig::new(1, THREADS)) {
            FaultKind::Mbarrier { arrivals: 0, bytes: b, in_flight: f, .. } => {
                assert_eq!((b, f), (bytes, in_flight));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn shared_memory_is_copied_out_by_groups() {
    let body = |wait: &str| {
        format!(
            "st.shared.u32 [%r13], %r12; fence.proxy.async.shared::cta; bar.sync 0;
            setp.ne.u32 %p1, %r10, 0; @%p1 bra done;
            mul.wide.u32 %d1, %r11, 256; add.u64 %d1, %d1, %d11;
            cp.async.bulk.global.shared::cta.bulk_group [%d1], [s], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.global.shared::cta.bulk_group [%d1+128], [s+128], 128;
            cp.async.bulk.commit_group;
            {wait}
        done:"
        )
    };
    let config = LaunchConfig::new(3, 64);
    for wait in ["cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"] {
        let module = kernel("", &body(wait));
        expect(&module, &config, &(0..192).collect::<Vec<_>>());
        clean(&module, &config);
    }
    // The kernel does not wait for the last group.
    let module = kernel("", &body("cp.async.bulk.wait_group.read 1;"));
    assert_eq!(fault(&module, &config), FaultKind::CopyInFlight { bytes: 128 });
    // A source may be overwritten after it has been read, and not before.
    let reused = |wait: &str| {
        kernel("", &body(&format!("{wait} st.shared.u32 [s+252], 7; cp.async.bulk.wait_group 0;")))
    };
    let mut expected: Vec<u32> = (0..64).collect();
    expect(&reused("cp.async.bulk.wait_group.read 0;"), &LaunchConfig::new(1, 64), &expected);
    clean(&reused("cp.async.bulk.wait_group.read 0;"), &config);
    expected[63] = 7;
    expect(&reused(""), &LaunchConfig::new(1, 64), &expected);
    reported(&reused(""), &config, &[simt::ReportKind::InFlight]);
}

#[test]
fn small_copies_are_awaited_by_their_threads() {
    let body = |wait: &str| {
        format!(
            "st.shared.u32 [%r13], 99; mul.wide.u32 %d1, %r10, 4; add.u64 %d1, %d1, %d10; mov.u32 %r1, 0;
            cp.async.ca.shared.global [%r13], [%d1], 4; cp.async.commit_group;
            cp.async.ca.shared.global [%r13+1024], [%d1+1024], 4, %r1; cp.async.commit_group;
            {wait}
            ld.shared.u32 %r2, [%r13]; ld.shared.u32 %r3, [%r13+1024]; shl.b32 %r3, %r3, 16; add.u32 %r2, %r2, %r3;
            st.global.u32 [%d12], %r2;
            cp.async.wait_all;"
        )
    };
    let config = LaunchConfig::new(1, 32);
    let numbers: Vec<u32> = (0..32).collect();
    for wait in ["cp.async.wait_all;", "cp.async.wait_group 0;", "cp.async.wait_group 1;"] {
        expect(&kernel("", &body(wait)), &config, &numbers);
    }
    clean(&kernel("", &body("cp.async.wait_all;")), &config);
    expect(&kernel("", &body("")), &config, &[99; 32]);
    expect(&kernel("", &body("cp.async.wait_group 2;")), &config, &[99; 32]);
    for wait in ["", "cp.async.wait_group 2;", "cp.async.wait_group 1;", "bar.sync 0;"] {
        let kinds = [simt::ReportKind::InFlight, simt::ReportKind::UninitializedRead];
        reported(&kernel("", &body(wait)), &config, &kinds);
    }
    // The copy has 16 bytes, of which 8 are read from the source.
    let wide =
        "mov.u32 %r1, 8; st.shared.v4.u32 [s], {%r1, %r1, %r1, %r1}; cp.async.cg.shared.global [s], [%d10+16], 16, %r1;
        cp.async.wait_all; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s]; st.global.v4.u32 [%d11], {%r2, %r3, %r4, %r5};";
    expect(&kernel("", wide), &LaunchConfig::new(1, 1), &[4, 5, 0, 0]);
    // Other threads may read after a barrier that follows the wait, and not after a barrier that
    // precedes it.
    let opposite = |between: &str| {
        format!(
            "mul.wide.u32 %d1, %r10, 4; add.u64 %d1, %d1, %d10;
            cp.async.ca.shared.global [%r13], [%d1], 4; {between}
            xor.b32 %r1, %r10, 63; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; ld.shared.u32 %r3, [%r2];
            st.global.u32 [%d12], %r3;"
        )
    };
    let two = LaunchConfig::new(1, 64);
    let good = kernel("", &opposite("cp.async.wait_all; bar.sync 0;"));
    expect(&good, &two, &(0..64).rev().collect::<Vec<_>>());
    clean(&good, &two);
    reported(
        &kernel("", &opposite("bar.sync 0; cp.async.wait_all;")),
        &two,
        &[simt::ReportKind::InFlight],
    );
}

#[test]
fn small_copies_can_arrive_at_an_mbarrier() {
    let body = "setp.eq.u32 %p1, %r10, 0; @%p1 mbarrier.init.shared.b64 [s+2048], 32; bar.sync 0;
        mul.wide.u32 %d1, %r10, 4; add.u64 %d1, %d1, %d10;
        cp.async.ca.shared.global [%r13], [%d1], 4;
        cp.async.mbarrier.arrive.noinc.shared.b64 [s+2048];
        wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;
        xor.b32 %r1, %r10, 31; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; ld.shared.u32 %r3, [%r2];
        st.global.u32 [%d12], %r3;";
    expect(&kernel("", body), &LaunchConfig::new(1, 32), &(0..32).rev().collect::<Vec<_>>());
    clean(&kernel("", body), &LaunchConfig::new(1, 32));
}

/// Rank 0 copies to all blocks of its cluster.
#[test]
fn copies_reach_other_blocks() {
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [s+2048], 0; @!%p2 bra wait;";
    let body = |copies: &str| {
        format!(
            "setp.eq.u32 %p1, %r10, 0; @!%p1 bra ready;
            mbarrier.init.shared.b64 [s+2048], 1; fence.mbarrier_init.release.cluster;
            mbarrier.arrive.expect_tx.shared.b64 _, [s+2048], 128;
        ready:
            {SYNC}
            setp.ne.or.u32 %p3, %r12, 0, !%p1; @%p3 bra go;
            {copies}
        go:
            {wait}
            ld.shared.u32 %r2, [%r13]; add.u32 %r2, %r2, %r14; st.global.u32 [%d12], %r2;
            {SYNC}"
        )
    };
    let expected: Vec<u32> =
        (0..3).flat_map(|rank| (0..32).map(move |thread| thread + rank)).collect();
    let multicast = "mov.u16 %h1, 7;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%d10], 128, [s+2048], %h1;";
    let mut single = String::new();
    for rank in 0..3 {
        single += &format!(
            "mapa.shared::cluster.u32 %r3, s, {rank};
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d10], 128, [%r3+2048];"
        );
    }
    for copies in [multicast, &single] {
        let module = kernel("", &body(copies));
        expect(&module, &clusters(3, 3, 32), &expected);
        clean(&module, &clusters(3, 3, 32));
    }
}

#[test]
fn copies_are_counted_by_themselves() {
    let module = kernel("", &Pipeline::default().body());
    let buffers = Buffers::new();
    let counters = count(
        module.kernel("k").unwrap(),
        &LaunchConfig::new(2, THREADS),
        &buffers.args,
        &buffers.memory,
    )
    .unwrap()
    .counters;
    assert_eq!((counters.bulk.copies, counters.bulk.bytes), (2 * 7, 2 * 7 * 256));
    assert_eq!((counters.global.load.requests, counters.shared.load.requests), (0, 2 * 2 * 7));
    assert_eq!(counters.shared.store.requests, 0);
    // There are two instructions to make the mbarriers. For each tile there are one arrival and two
    // waits, one of each warp.
    assert_eq!(counters.mbarrier.operations, 2 * (2 + 7 + 2 * 7));
    let entries = counters.entries();
    assert!(entries.contains(&("bulk.bytes".to_owned(), 3584)));
}
