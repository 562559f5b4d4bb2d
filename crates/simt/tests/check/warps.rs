//! Lanes of one warp: code that relies on lock step, member masks, and shuffles.

use simt::LaunchConfig;
use simt::ReportKind::{AbsentLanes, StrayShuffle, UninitializedRead, WarpSynchronous};
use simt::Severity::{Error, Warning};

use crate::{classes, clean, kernel, run};

/// The last warp of the lectures' rung 5: `sv[tid] += sv[tid + s]` for s from 32 to 1. `between`
/// stands after each read and each write.
fn last_warp(volatile: &str, between: &str) -> String {
    let mut body = String::from(
        "st.shared.u32 [%r13], %r10;
        bar.sync 0;
        setp.ge.u32 %p1, %r10, 32;
        @%p1 bra done;\n",
    );
    for s in [32, 16, 8, 4, 2, 1] {
        body += &format!(
            "ld{volatile}.shared.u32 %r1, [%r13];
            ld{volatile}.shared.u32 %r2, [%r13+{}];
            add.u32 %r1, %r1, %r2;
            {between}
            st{volatile}.shared.u32 [%r13], %r1;
            {between}\n",
            s * 4
        );
    }
    body + "done:"
}

#[test]
fn lock_step_is_not_relied_on() {
    let config = LaunchConfig::new(2, 64);
    assert_eq!(classes(config, &last_warp("", "")), [WarpSynchronous]);
    assert_eq!(classes(config, &last_warp(".volatile", "")), [WarpSynchronous]);
    clean(config, &last_warp("", "bar.warp.sync -1;"));
    clean(config, &last_warp(".volatile", "bar.warp.sync -1;"));
    // A shuffle does not order accesses to memory.
    let shuffle = "shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;";
    assert_eq!(classes(config, &last_warp("", shuffle)), [WarpSynchronous]);
}

#[test]
fn a_sync_orders_its_members_alone() {
    // The two halves of the warp exchange values, within themselves or with the other half.
    let exchange = |partner: u32| {
        format!(
            "setp.ge.u32 %p1, %r10, 16;
            selp.b32 %r4, 0xffff0000, 0xffff, %p1;
            st.shared.u32 [%r13], %r10;
            bar.warp.sync %r4;
            xor.b32 %r1, %r10, {partner};
            shl.b32 %r1, %r1, 2;
            mov.u32 %r2, s;
            add.u32 %r1, %r1, %r2;
            ld.shared.u32 %r3, [%r1];"
        )
    };
    clean(LaunchConfig::new(2, 32), &exchange(5));
    assert_eq!(classes(LaunchConfig::new(2, 32), &exchange(16)), [WarpSynchronous]);
}

#[test]
fn order_is_handed_on_from_lane_to_lane() {
    // Lane 0 writes. Lanes 0 and 1 meet, and then lanes 1 and 2, so lane 2 may read. Lane 3 met no
    // other lane.
    let body = |reader: u32, twice: &str| {
        format!(
            "setp.eq.u32 %p1, %r10, 0;
            @%p1 st.shared.u32 [s], 4;
            setp.ge.u32 %p2, %r10, 2;
            @%p2 bra second;
            bar.warp.sync 3;
        second:
            add.u32 %r1, %r10, -1;
            setp.gt.u32 %p3, %r1, 1;
            @%p3 bra third;
            {twice}
        third:
            setp.eq.u32 %p4, %r10, {reader};
            @%p4 ld.shared.u32 %r2, [s];"
        )
    };
    clean(LaunchConfig::new(1, 32), &body(2, "bar.warp.sync 6;"));
    clean(LaunchConfig::new(1, 32), &body(1, ""));
    assert_eq!(classes(LaunchConfig::new(1, 32), &body(3, "bar.warp.sync 6;")), [WarpSynchronous]);
    assert_eq!(classes(LaunchConfig::new(1, 32), &body(2, "")), [WarpSynchronous]);
}

#[test]
fn masks_name_lanes_that_come() {
    let leave = "setp.ge.u32 %p1, %r10, 20; @%p1 exit;";
    for instruction in [
        "bar.warp.sync {};",
        "shfl.sync.idx.b32 %r1, %r10, 0, 31, {};",
        "vote.sync.ballot.b32 %r1, %p1, {};",
        "match.any.sync.b32 %r1, %r10, {};",
        "redux.sync.add.u32 %r1, %r10, {};",
    ] {
        let with = |mask: &str| instruction.replace("{}", mask);
        clean(LaunchConfig::new(1, 32), &with("-1"));
        clean(LaunchConfig::new(1, 32), &format!("{leave} {}", with("0xfffff")));
        assert_eq!(
            classes(LaunchConfig::new(1, 32), &format!("{leave} {}", with("-1"))),
            [AbsentLanes]
        );
        assert_eq!(classes(LaunchConfig::new(2, 40), &with("-1")), [AbsentLanes]);
    }
}

#[test]
fn shuffles_read_from_lanes_that_take_part() {
    let half = |source: u32| {
        format!(
            "setp.ge.u32 %p1, %r10, 16;
            @%p1 bra done;
            shfl.sync.idx.b32 %r1, %r10, {source}, 31, 0xffff;
        done:"
        )
    };
    clean(LaunchConfig::new(1, 32), &half(15));
    assert_eq!(classes(LaunchConfig::new(1, 32), &half(16)), [StrayShuffle]);
    // 16 lanes shuffle down by 8, so the upper half of them reads from lanes that do not take part.
    let down = half(0)
        .replace("shfl.sync.idx.b32 %r1, %r10, 0, 31", "shfl.sync.down.b32 %r1, %r10, 8, 31");
    assert_eq!(classes(LaunchConfig::new(1, 32), &down), [StrayShuffle]);
}

/// A warp whose lower half executes one text and whose upper half another.
fn halves(before: &str, low: &str, high: &str, after: &str) -> String {
    format!(
        "{before}
        setp.lt.u32 %p1, %r10, 16;
        @%p1 bra low;
        {high}
        bra join;
    low:
        {low}
    join:
        {after}"
    )
}

#[test]
fn values_that_nothing_has_written_cross_between_instructions() {
    // The halves of a warp exchange values at two shuffles. Lane 20 gives a value that nothing has
    // written, and the result of lane 4 decides a branch.
    let config = LaunchConfig::new(1, 32);
    let written = "setp.ne.u32 %p2, %r10, 20; @%p2 st.shared.u32 [%r13], 1; ld.shared.u32 %r6, [%r13]; mov.b32 %r5, %r6;";
    let body = |user: u32| {
        halves(
            written,
            "shfl.sync.bfly.b32 %r1, %r5, 16, 31, -1;",
            "shfl.sync.bfly.b32 %r1, %r6, 16, 31, -1;",
            &format!(
                "setp.eq.u32 %p3, %r10, {user};
                @!%p3 bra done;
                setp.eq.u32 %p4, %r1, 1;
                @%p4 bra done;
                mov.u32 %r2, 1;
            done:"
            ),
        )
    };
    let found = |body: &str| crate::severities::found_in(config, &kernel(body));
    // The value itself is dropped or used.
    let (dropped, used) = ((UninitializedRead, Warning), (UninitializedRead, Error));
    assert_eq!(found(&body(5)), [dropped]);
    assert_eq!(found(&body(20)), [dropped]);
    assert_eq!(found(&body(4)), [used]);
    // A vote and a sum give the value to all lanes.
    for [low, high] in [
        ["redux.sync.add.u32 %r1, %r5, -1;", "redux.sync.add.u32 %r1, %r6, -1;"],
        ["match.any.sync.b32 %r1, %r5, -1;", "match.any.sync.b32 %r1, %r6, -1;"],
        [
            "setp.eq.u32 %p5, %r5, 1; vote.sync.ballot.b32 %r1, %p5, -1;",
            "setp.eq.u32 %p6, %r6, 1; vote.sync.ballot.b32 %r1, !%p6, -1;",
        ],
    ] {
        let store = "setp.eq.u32 %p3, %r10, 4; @%p3 st.global.u32 [%d12], %r1;";
        assert_eq!(found(&halves(written, low, high, store)), [used]);
        let all = "st.shared.u32 [%r13], 1; ld.shared.u32 %r6, [%r13]; mov.b32 %r5, %r6;";
        assert_eq!(found(&halves(all, low, high, store)), []);
    }
}

#[test]
fn shuffles_at_two_instructions_name_lanes_that_are_not_there() {
    let config = LaunchConfig::new(1, 32);
    let shuffles = |lane: u32, mask: &str| {
        halves(
            "setp.ge.u32 %p2, %r10, 24; @%p2 exit;",
            &format!("shfl.sync.idx.b32 %r1, %r10, {lane}, 31, {mask};"),
            &format!("shfl.sync.idx.b32 %r1, %r10, 1, 31, {mask};"),
            "",
        )
    };
    clean(config, &shuffles(20, "0xffffff"));
    assert_eq!(classes(config, &shuffles(20, "-1")), [AbsentLanes]);
    assert_eq!(classes(config, &shuffles(24, "0xffffff")), [StrayShuffle]);
}

#[test]
fn shuffles_at_two_instructions_order_no_accesses() {
    let config = LaunchConfig::new(1, 32);
    let shuffle = "shfl.sync.idx.b32 %r1, %r10, 3, 31, -1;";
    let body = |between: &str| {
        halves(
            "st.shared.u32 [%r13], %r10;",
            between,
            between,
            "xor.b32 %r1, %r10, 16;
            shl.b32 %r1, %r1, 2;
            mov.u32 %r2, s;
            add.u32 %r1, %r1, %r2;
            ld.shared.u32 %r3, [%r1];",
        )
    };
    clean(config, &body("bar.warp.sync -1;"));
    assert_eq!(classes(config, &body(shuffle)), [WarpSynchronous]);
}

#[test]
fn members_that_stay_away_are_a_fault() {
    let module = kernel(
        "setp.ge.u32 %p1, %r10, 16;
        @%p1 bra other;
        bar.warp.sync -1;
        bra done;
    other:
        bar.sync 0;
    done:",
    );
    let fault = run(&module, &LaunchConfig::new(1, 32)).fault.expect("nobody can go on");
    assert!(fault.report().starts_with("error[divergent-barrier]: "), "{}", fault.report());
}
