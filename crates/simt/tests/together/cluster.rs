//! Clusters: positions, the barrier, and shared memory of other blocks.

use simt::{FaultKind, LaunchConfig, count};

use crate::{Buffers, expect, fault, kernel, run};

pub(crate) fn clusters(blocks: u32, cluster: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { cluster, ..LaunchConfig::new(blocks, threads) }
}

pub(crate) const SYNC: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

/// A kernel in which each thread leaves 1000 times its rank plus its number in shared memory. It
/// then reads the value that its neighbour in the block of the next rank left. The code `read` does
/// this; it finds that rank in `%r1`.
pub(crate) fn neighbour(first: &str, read: &str, last: &str) -> String {
    format!(
        "mad.lo.u32 %r2, %r14, 1000, %r10;
        st.shared.u32 [%r13], %r2;
        {first}
        add.u32 %r1, %r14, 1;
        mov.u32 %r3, %cluster_nctarank;
        rem.u32 %r1, %r1, %r3;
        {read}
        st.global.u32 [%d12], %r4;
        {last}"
    )
}

pub(crate) const READ: &str =
    "mapa.shared::cluster.u32 %r5, %r13, %r1; ld.shared::cluster.u32 %r4, [%r5];";

#[test]
fn special_registers_say_where_a_block_is() {
    let body = "mov.u32 %r0, %clusterid.x; mov.u32 %r1, %clusterid.y; mov.u32 %r2, %nclusterid.x;
        mov.u32 %r3, %nclusterid.y; mov.u32 %r4, %cluster_ctaid.x; mov.u32 %r5, %cluster_ctaid.y;
        mov.u32 %r6, %cluster_nctaid.x; mov.u32 %r7, %cluster_nctaid.z; mov.u32 %r8, %cluster_nctarank;
        mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p1;
        mov.u32 %r15, %ctaid.y; mov.u32 %r16, %nctaid.x; mad.lo.u32 %r15, %r15, %r16, %r11;
        mul.wide.u32 %d1, %r15, 64; add.u64 %d1, %d11, %d1;
        st.global.v4.u32 [%d1], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%d1+16], {%r4, %r5, %r6, %r7};
        st.global.v4.u32 [%d1+32], {%r8, %r9, %r14, %r11};";
    for (cluster, explicit) in [(1, 0), (2, 1), (3, 1), (6, 1)] {
        let config = LaunchConfig { cluster, ..LaunchConfig::new((6, 2), 1) };
        let expected: Vec<u32> = (0..12)
            .flat_map(|block| {
                let (x, y) = (block % 6, block / 6);
                let [id, rank] = [x / cluster, x % cluster];
                [id, y, 6 / cluster, 2, rank, 0, cluster, 1, cluster, explicit, rank, x, 0, 0, 0, 0]
            })
            .collect();
        expect(&kernel("", body), &config, &expected);
    }
    // The kernel's own directive makes clusters, even clusters of one block.
    let words = run(
        &kernel(".explicitcluster .reqnctapercluster 1, 1, 1", body),
        &LaunchConfig::new(1, 1),
        10,
    )
    .unwrap();
    assert_eq!(words[8..], [1, 1]);
}

#[test]
fn blocks_of_a_cluster_read_each_others_shared_memory() {
    let generic = "cvta.shared.u64 %d1, s; mul.wide.u32 %d2, %r10, 4; add.u64 %d1, %d1, %d2; mapa.u64 %d3, %d1, %r1;";
    let forms = [
        READ.to_owned(),
        "mapa.shared::cluster.u32 %r5, s, %r1; mad.lo.u32 %r5, %r10, 4, %r5; ld.shared::cluster.b32 %r4, [%r5];".into(),
        "cvt.u64.u32 %d1, %r13; mapa.shared::cluster.u64 %d1, %d1, %r1; ld.volatile.shared::cluster.u32 %r4, [%d1];"
            .into(),
        format!("{generic} ld.u32 %r4, [%d3];"),
        format!("{generic} cvta.to.shared::cluster.u64 %d3, %d3; ld.relaxed.cluster.shared::cluster.u32 %r4, [%d3];"),
        format!("{READ} cvt.u64.u32 %d1, %r5; cvta.shared::cluster.u64 %d1, %d1; atom.add.u32 %r4, [%d1], 0;"),
        format!("{READ} atom.shared::cluster.or.b32 %r4, [%r5], 0;"),
    ];
    for cluster in [1, 2, 4, 8] {
        let config = clusters(2 * cluster, cluster, 48);
        let expected: Vec<u32> = (0..2 * cluster)
            .flat_map(|block| (0..48).map(move |thread| (block + 1) % cluster * 1000 + thread))
            .collect();
        for read in &forms {
            expect(&kernel("", &neighbour(SYNC, read, SYNC)), &config, &expected);
        }
    }
}

#[test]
fn writes_and_atomics_reach_other_blocks() {
    // All threads of all blocks add to a word of rank 0, and leave their number in the block of the
    // next rank.
    let body = format!(
        "st.shared.u32 [%r13], 0; {SYNC}
        mov.u32 %r1, 0; mapa.shared::cluster.u32 %r2, s, %r1; red.shared::cluster.add.u32 [%r2+2048], 1;
        add.u32 %r1, %r14, 1; rem.u32 %r1, %r1, 4; mapa.shared::cluster.u32 %r2, %r13, %r1;
        st.shared::cluster.u32 [%r2], %r12;
        {SYNC}
        ld.shared.u32 %r3, [%r13]; ld.shared.u32 %r4, [s+2048]; add.u32 %r3, %r3, %r4; st.global.u32 [%d12], %r3;"
    );
    let expected: Vec<u32> = (0..8_u32)
        .flat_map(|block| {
            let from = block / 4 * 4 + (block + 3) % 4;
            (0..40).map(move |thread| from * 40 + thread + if block % 4 == 0 { 160 } else { 0 })
        })
        .collect();
    expect(&kernel("", &body), &clusters(8, 4, 40), &expected);
}

#[test]
fn addresses_tell_whose_memory_they_are_of() {
    let body = "mapa.shared::cluster.u32 %r1, s, 2; cvta.shared.u64 %d1, s; mapa.u64 %d2, %d1, 1;
        getctarank.shared::cluster.u32 %r2, %r1; getctarank.u64 %r3, %d2; getctarank.u64 %r4, %d1;
        isspacep.shared::cluster %p1, %d2; selp.u32 %r5, 1, 0, %p1; isspacep.shared::cta %p1, %d2; selp.u32 %r6, 1, 0, %p1;
        isspacep.shared %p1, %d1; selp.u32 %r7, 1, 0, %p1; isspacep.global %p1, %d2; selp.u32 %r8, 1, 0, %p1;
        mul.wide.u32 %d3, %r11, 32; add.u64 %d3, %d3, %d11;
        st.global.v4.u32 [%d3], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%d3+16], {%r6, %r7, %r8, %r11};";
    let expected: Vec<u32> =
        (0..3).flat_map(|rank| [2, 1, rank, 1, u32::from(rank == 1), 1, 0, rank]).collect();
    expect(&kernel("", body), &clusters(3, 3, 1), &expected);
}

#[test]
fn arrival_and_wait_may_stand_apart_and_diverge() {
    // Each lane arrives alone. The code between the arrival and the wait does not need other lanes.
    let body = neighbour(
        "setp.lt.u32 %p1, %r10, 5; @%p1 barrier.cluster.arrive.release; @!%p1 barrier.cluster.arrive;
        mov.u32 %r6, 0;
    loop: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, %r10; @%p2 bra loop;
        barrier.cluster.wait.acquire;",
        READ,
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
    );
    let expected: Vec<u32> = (0..4_u32)
        .flat_map(|block| (0..40).map(move |thread| (block + 1) % 2 * 1000 + thread))
        .collect();
    expect(&kernel("", &body), &clusters(4, 2, 40), &expected);
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let body = format!(
        "setp.gt.u32 %p1, %r10, 40; @%p1 ret; {}",
        neighbour("barrier.cluster.arrive; barrier.cluster.wait;", READ, SYNC)
    );
    let body = body.replace(".aligned", "");
    let words = run(&kernel("", &body), &clusters(2, 2, 64), 128).unwrap();
    for (i, word) in words.into_iter().enumerate() {
        let (rank, thread) = (i as u32 / 64, i as u32 % 64);
        assert_eq!(word, if thread > 40 { 0 } else { (1 - rank) * 1000 + thread });
    }
    // One of the two blocks arrives and exits. The other does not wait for it.
    let alone =
        "setp.eq.u32 %p1, %r14, 0; barrier.cluster.arrive; @%p1 exit; barrier.cluster.wait;";
    run(&kernel("", alone), &clusters(2, 2, 64), 0).unwrap();
}

#[test]
fn misuse_is_a_fault() {
    let two = clusters(2, 2, 32);
    let twice = "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;";
    assert_eq!(fault(&kernel("", twice), &two), FaultKind::ClusterBarrier { arrives: true });
    let never = "barrier.cluster.wait;";
    assert_eq!(fault(&kernel("", never), &two), FaultKind::ClusterBarrier { arrives: false });
    let beyond =
        "mov.u32 %r1, 2; mapa.shared::cluster.u32 %r2, s, %r1; ld.shared::cluster.u32 %r3, [%r2];";
    assert_eq!(fault(&kernel("", beyond), &two), FaultKind::ClusterRank { rank: 2, size: 2 });
    assert_eq!(
        fault(&kernel("", beyond), &LaunchConfig::new(1, 1)),
        FaultKind::ClusterRank { rank: 2, size: 1 }
    );
    // Rank 1 exits, and then rank 0 reads from it.
    let gone = format!("{SYNC} setp.eq.u32 %p1, %r14, 1; @%p1 ret; mov.u32 %r1, 1; {READ}");
    assert_eq!(fault(&kernel("", &gone), &two), FaultKind::ExitedBlock { rank: 1 });
    let past = "mov.u32 %r1, 1; mapa.shared::cluster.u32 %r2, s, %r1; ld.shared::cluster.u32 %r3, [%r2+4096];";
    assert!(matches!(fault(&kernel("", past), &two), FaultKind::OutOfBounds { address: 4096, .. }));
    let odd =
        "mov.u32 %r1, 1; mapa.shared::cluster.u32 %r2, s, %r1; st.shared::cluster.u32 [%r2+2], 1;";
    assert!(matches!(fault(&kernel("", odd), &two), FaultKind::Misaligned { address: 2, .. }));
    // One block never arrives at the cluster's barrier. It waits at a barrier of its own for a
    // thread that never comes.
    let stuck = "setp.eq.u32 %p1, %r14, 0; @%p1 bra other; barrier.cluster.arrive; barrier.cluster.wait; ret;
        other: setp.eq.u32 %p2, %r10, 0; @%p2 bra once; bar.warp.sync -1; ret; once: barrier.sync 1, 64;";
    assert!(matches!(fault(&kernel("", stuck), &two), FaultKind::Barrier { id: 1, .. }));
}

#[test]
fn launches_that_make_no_clusters_are_refused() {
    let module = kernel("", "");
    let refused = |module: &_, config| run(module, &config, 0).unwrap_err().to_string();
    assert_eq!(
        refused(&module, clusters(9, 0, 1)),
        "a cluster of 0 blocks is not allowed: it must have 1 to 8"
    );
    assert_eq!(
        refused(&module, clusters(16, 16, 1)),
        "a cluster of 16 blocks is not allowed: it must have 1 to 8"
    );
    let text = refused(&module, clusters(9, 4, 1));
    assert_eq!(
        text,
        "grid (9,1,1) is not allowed: its x must be a multiple of the 4 blocks of a cluster"
    );
    let two = kernel(".explicitcluster .reqnctapercluster 2, 1, 1", "");
    run(&two, &clusters(4, 1, 1), 0).unwrap();
    run(&two, &clusters(4, 2, 1), 0).unwrap();
    let text = refused(&two, clusters(4, 4, 1));
    assert_eq!(
        text,
        "a cluster of 4 blocks is not allowed: kernel `k` was compiled for clusters of 2"
    );
    let text = refused(&kernel(".explicitcluster .reqnctapercluster 1, 2", ""), clusters(4, 1, 1));
    assert!(text.ends_with("clusters of (1,2,1), and only those along x are simulated"), "{text}");
    let text = refused(&kernel(".explicitcluster .maxclusterrank 4", ""), clusters(8, 8, 1));
    assert!(text.ends_with("compiled for clusters of at most 4"), "{text}");
    assert_eq!(
        refused(&two, clusters(3, 1, 1)),
        "grid (3,1,1) is not allowed: its x must be a multiple of the 2 blocks of a cluster"
    );
}

#[test]
fn accesses_to_other_blocks_are_counted_apart() {
    let module = kernel("", &neighbour(SYNC, READ, SYNC));
    let buffers = Buffers::new();
    let counters =
        count(module.kernel("k").unwrap(), &clusters(4, 2, 64), &buffers.args, &buffers.memory)
            .unwrap()
            .counters;
    assert_eq!((counters.shared.load.requests, counters.shared.store.requests), (0, 8));
    assert_eq!((counters.cluster.load.requests, counters.cluster.load.bytes), (8, 1024));
    assert_eq!(counters.cluster.barriers, 32);
    // Such an address may also name the block's own memory.
    let own = neighbour(
        SYNC,
        "mapa.shared::cluster.u32 %r5, %r13, %r14; ld.shared::cluster.u32 %r4, [%r5];",
        SYNC,
    );
    let counters = count(
        kernel("", &own).kernel("k").unwrap(),
        &clusters(4, 2, 64),
        &buffers.args,
        &buffers.memory,
    )
    .unwrap()
    .counters;
    assert_eq!((counters.shared.load.requests, counters.cluster.load.requests), (8, 0));
}

#[test]
fn a_cluster_may_be_launched_cooperatively() {
    let config = LaunchConfig { cooperative: true, ..clusters(8, 2, 32) };
    let expected: Vec<u32> = (0..8_u32)
        .flat_map(|block| (0..32).map(move |thread| (block + 1) % 2 * 1000 + thread))
        .collect();
    expect(&kernel("", &neighbour(SYNC, READ, SYNC)), &config, &expected);
}
