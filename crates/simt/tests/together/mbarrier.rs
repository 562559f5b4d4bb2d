//! mbarriers: phases, counts, states, and errors in their use.

use simt::{FaultKind, LaunchConfig, check};

use crate::cluster::{SYNC, clusters};
use crate::{Buffers, SEEDS, clean, expect, fault, kernel, reported, run};

#[test]
fn threads_meet_at_an_mbarrier_phase_after_phase() {
    // In each of five rounds, a thread writes its word and reads the word of the thread opposite.
    let body = |meet: &str| {
        format!(
            "setp.eq.u32 %p1, %r10, 0; @%p1 mbarrier.init.shared.b64 [s+2048], 96; bar.sync 0;
            mov.u32 %r1, 0; mov.u32 %r2, 0;
        round:
            mad.lo.u32 %r3, %r1, 1000, %r10; st.shared.u32 [%r13], %r3;
            {}
            mov.u32 %r4, s; sub.u32 %r5, 95, %r10; mad.lo.u32 %r4, %r5, 4, %r4; ld.shared.u32 %r6, [%r4];
            add.u32 %r2, %r2, %r6;
            {}
            add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 5; @%p3 bra round;
            st.global.u32 [%d12], %r2;",
            meet.replace('#', "0"),
            meet.replace('#', "1")
        )
    };
    let config = LaunchConfig::new(2, 96);
    let expected: Vec<u32> =
        (0..2).flat_map(|_| (0..96).map(|thread| 10_000 + 5 * (95 - thread))).collect();
    let state = "mbarrier.arrive.shared.b64 %d1, [s+2048];
        wait#: mbarrier.try_wait.shared::cta.b64 %p2, [s+2048], %d1; @!%p2 bra wait#;";
    let parity = "mbarrier.arrive.release.cta.shared::cta.b64 _, [s+2048], 1;
        wait#: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [s+2048], #, 1000; @!%p2 bra wait#;";
    let spin = "mbarrier.arrive.shared.b64 %d1, [s+2048];
        wait#: mbarrier.test_wait.shared.b64 %p2, [s+2048], %d1; @!%p2 bra wait#;";
    let generic = "cvta.shared.u64 %d2, s; mbarrier.arrive.b64 %d1, [%d2+2048];
        wait#: mbarrier.test_wait.b64 %p2, [%d2+2048], %d1; @!%p2 bra wait#;";
    for meet in [state, parity, spin, generic] {
        expect(&kernel("", &body(meet)), &config, &expected);
        clean(&kernel("", &body(meet)), &config);
    }
    // The arrivals do not release, or the waits do not acquire, or there is no wait at all.
    let race = [simt::ReportKind::Race, simt::ReportKind::WarpSynchronous];
    reported(&kernel("", &body(&parity.replace("release", "relaxed"))), &config, &race);
    reported(&kernel("", &body(&parity.replace("acquire", "relaxed"))), &config, &race);
    // Threads use the mbarrier before they know that it was initialised.
    let early = kernel("", &body(state).replacen("bar.sync 0;", "", 1));
    for seed in SEEDS {
        let buffers = Buffers::new();
        let config = LaunchConfig { seed, ..config };
        let checked =
            check(early.kernel("k").unwrap(), &config, &buffers.args, &buffers.memory).unwrap();
        let raced = checked.reports.iter().any(|report| report.kind == simt::ReportKind::Race);
        let missing =
            checked.fault.is_some_and(|fault| matches!(fault.kind, FaultKind::NoMbarrier { .. }));
        assert!(raced || missing, "seed {seed:?}");
    }
}

#[test]
fn a_state_tells_how_many_arrivals_were_pending() {
    let body = "mbarrier.init.shared.b64 [s], 10;
        mbarrier.arrive.shared.b64 %d1, [s], 3; mbarrier.pending_count.b64 %r1, %d1;
        mbarrier.arrive.noComplete.release.cta.shared.b64 %d1, [s], 2; mbarrier.pending_count.b64 %r2, %d1;
        mbarrier.arrive_drop.shared.b64 %d1, [s]; mbarrier.pending_count.b64 %r3, %d1;
        mbarrier.test_wait.shared.b64 %p1, [s], %d1; selp.u32 %r4, 1, 0, %p1;
        mbarrier.arrive.shared.b64 %d2, [s], 4;
        mbarrier.test_wait.shared.b64 %p1, [s], %d1; selp.u32 %r5, 1, 0, %p1;
        mbarrier.test_wait.parity.shared.b64 %p1, [s], 0; selp.u32 %r6, 1, 0, %p1;
        mbarrier.test_wait.parity.shared.b64 %p1, [s], 1; selp.u32 %r7, 1, 0, %p1;
        mbarrier.arrive.shared.b64 %d2, [s]; mbarrier.pending_count.b64 %r8, %d2;
        mbarrier.inval.shared.b64 [s];
        st.global.v4.u32 [%d11], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%d11+16], {%r5, %r6, %r7, %r8};";
    // One arrival has dropped, so the second phase waits for nine.
    expect(&kernel("", body), &LaunchConfig::new(1, 1), &[10, 7, 5, 0, 1, 1, 0, 9]);
}

#[test]
fn bytes_are_counted_too() {
    let body = "mbarrier.init.shared.b64 [s], 1;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 48;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 64;
        mbarrier.arrive.shared.b64 %d1, [s];
        mbarrier.test_wait.shared.b64 %p1, [s], %d1; selp.u32 %r1, 1, 0, %p1;
        mbarrier.complete_tx.shared.b64 [s], 16;
        mbarrier.test_wait.shared.b64 %p1, [s], %d1; selp.u32 %r2, 1, 0, %p1;
        st.global.v2.u32 [%d11], {%r1, %r2};";
    expect(&kernel("", body), &LaunchConfig::new(1, 1), &[0, 1]);
}

#[test]
fn blocks_of_a_cluster_arrive_at_each_others_mbarriers() {
    // Each block writes to the shared memory of the next block, and arrives at the mbarrier there.
    let body = format!(
        "setp.eq.u32 %p1, %r10, 0; @%p1 mbarrier.init.shared.b64 [s+2048], 40; @%p1 fence.mbarrier_init.release.cluster;
        {}
        add.u32 %r1, %r14, 1; rem.u32 %r1, %r1, 4;
        mapa.shared::cluster.u32 %r2, %r13, %r1; st.shared::cluster.u32 [%r2], %r12;
        mapa.shared::cluster.u32 %r3, s, %r1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3+2048];
        wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [s+2048], 0; @!%p2 bra wait;
        ld.shared.u32 %r4, [%r13]; st.global.u32 [%d12], %r4;
        {}",
        SYNC.replace(".aligned", ""),
        SYNC
    );
    let expected: Vec<u32> = (0..4_u32)
        .flat_map(|rank| (0..40).map(move |thread| (rank + 3) % 4 * 40 + thread))
        .collect();
    expect(&kernel("", &body), &clusters(4, 4, 40), &expected);
    clean(&kernel("", &body), &clusters(4, 4, 40));
    let unordered = body.replace("mbarrier.arrive.release", "mbarrier.arrive.relaxed");
    reported(&kernel("", &unordered), &clusters(4, 4, 40), &[simt::ReportKind::Race]);
}

#[test]
fn misuse_is_a_fault() {
    let one = LaunchConfig::new(1, 1);
    let init = "mbarrier.init.shared.b64 [s], 2;";
    let said = |body: &str| fault(&kernel("", body), &one).to_string();
    assert_eq!(
        said("mbarrier.arrive.shared.b64 _, [s+8];"),
        "there is no mbarrier at 0x8 of shared memory: it was not initialised, or overwritten"
    );
    let gone = format!("{init} mbarrier.inval.shared.b64 [s]; mbarrier.arrive.shared.b64 _, [s];");
    assert_eq!(fault(&kernel("", &gone), &one), FaultKind::NoMbarrier { address: 0 });
    let over = format!("{init} st.shared.u64 [s], 5; mbarrier.arrive.shared.b64 _, [s];");
    assert_eq!(fault(&kernel("", &over), &one), FaultKind::NoMbarrier { address: 0 });
    assert_eq!(
        said("mov.u32 %r1, 0; mbarrier.init.shared.b64 [s], %r1;"),
        "mbarrier arrival count 0: it must be 1 to 1048575"
    );
    assert_eq!(
        said(&format!("{init} mbarrier.arrive.shared.b64 _, [s], 3;")),
        "mbarrier arrival count 3: the phase waits for fewer"
    );
    assert_eq!(
        said(&format!("{init} mbarrier.arrive.noComplete.shared.b64 %d1, [s], 2;")),
        "mbarrier arrival count 2: it must be less than the arrivals that the phase waits for"
    );
    assert_eq!(
        said(&format!(
            "{init} mbarrier.expect_tx.shared.b64 [s], 1048575; mbarrier.expect_tx.shared.b64 [s], 16;"
        )),
        "mbarrier byte count 16: a phase can wait for 1048575 bytes"
    );
    assert!(matches!(
        fault(&kernel("", "mbarrier.init.shared.b64 [s+4], 1;"), &one),
        FaultKind::Misaligned { align: 8, .. }
    ));
    assert!(matches!(
        fault(&kernel("", "mbarrier.init.shared.b64 [s+4096], 1;"), &one),
        FaultKind::OutOfBounds { .. }
    ));
    assert!(matches!(
        fault(&kernel("", "mbarrier.init.b64 [%d10], 1;"), &one),
        FaultKind::NotShared { .. }
    ));
    let never = format!(
        "{init} mbarrier.arrive.shared.b64 %d1, [s]; mbarrier.try_wait.shared.b64 %p1, [s], %d1;"
    );
    match fault(&kernel("", &never), &one) {
        FaultKind::Mbarrier { arrivals: 1, bytes: 0, in_flight: 0, exited: 0, ref waiting } => {
            assert_eq!(waiting.len(), 1);
        }
        other => panic!("{other}"),
    }
    // A loop over `test_wait` does not end as a deadlock. It runs until the budget is spent.
    let spins =
        format!("{init} spin: mbarrier.test_wait.parity.shared.b64 %p1, [s], 0; @!%p1 bra spin;");
    let error =
        run(&kernel("", &spins), &LaunchConfig { budget: Some(10_000), ..one }, 0).unwrap_err();
    assert!(error.to_string().contains("budget"), "{error}");
}
