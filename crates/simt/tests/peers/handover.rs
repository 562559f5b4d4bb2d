//! `check_together`: data that a flag announces to another device.

use simt::{Module, ReportKind};

use crate::{clean, found, kernel};

/// The instructions of a message.
#[derive(Clone, Copy)]
struct Parts {
    data: &'static str,
    before: &'static str,
    flag: &'static str,
    poll: &'static str,
    after: &'static str,
    read: &'static str,
}

/// Weak data between two fences.
const WEAK: Parts = Parts {
    data: "st.global.u32 [%d13+8], %r1;",
    before: "fence.acq_rel.sys;",
    flag: "st.relaxed.sys.global.u32 [%d13], %r2;",
    poll: "ld.relaxed.sys.global.u32 %r3, [%d12];",
    after: "fence.acq_rel.sys;",
    read: "ld.global.u32 %r4, [%d12+8];",
};
/// Strong data.
const STRONG: Parts = Parts {
    data: "st.relaxed.sys.global.u32 [%d13+8], %r1;",
    read: "ld.relaxed.sys.global.u32 %r4, [%d12+8];",
    ..WEAK
};
/// The flag itself releases and acquires.
const RELEASE: Parts = Parts {
    before: "",
    flag: "st.release.sys.global.u32 [%d13], %r2;",
    poll: "ld.acquire.sys.global.u32 %r3, [%d12];",
    after: "",
    ..WEAK
};

/// Each device sends a number to the next one: the number first, and then a flag.
fn message(Parts { data, before, flag, poll, after, read }: Parts) -> [Module; 1] {
    [kernel(&format!(
        "setp.ne.u32 %p1, %r10, 0;
        @%p1 bra done;
        add.u32 %r1, %r13, 40;
        mov.u32 %r2, 1;
        {data}
        {before}
        {flag}
    poll:
        {poll}
        setp.eq.u32 %p2, %r3, 0;
        @%p2 bra poll;
        {after}
        {read}
        st.global.u32 [%d11], %r4;
    done:"
    ))]
}

#[test]
fn fences_of_the_system_order_data_and_flag() {
    for parts in [
        WEAK,
        STRONG,
        RELEASE,
        Parts { before: "membar.sys;", after: "membar.sys;", ..WEAK },
        Parts { before: "fence.sc.sys;", after: "fence.sc.sys;", ..STRONG },
        Parts { before: WEAK.before, flag: WEAK.flag, ..RELEASE },
        Parts { poll: WEAK.poll, after: WEAK.after, ..RELEASE },
        Parts { flag: "red.relaxed.sys.global.add.u32 [%d13], %r2;", ..WEAK },
    ] {
        clean(&message(parts), 1);
    }
}

#[test]
fn a_fence_that_is_missing_or_too_narrow_is_found() {
    for fence in ["", "fence.acq_rel.gpu;", "fence.acq_rel.cta;", "membar.gl;"] {
        let narrowed = |whole: Parts| {
            [
                Parts { before: fence, ..whole },
                Parts { after: fence, ..whole },
                Parts { before: fence, after: fence, ..whole },
            ]
        };
        for narrow in narrowed(WEAK) {
            let (kinds, text) = found(&message(narrow), 1);
            assert_eq!(kinds, [ReportKind::Race].into(), "{fence}");
            assert!(text.contains("and nothing orders the two devices"), "{text}");
            assert!(text.contains("`__threadfence_system`"), "{text}");
        }
        for narrow in narrowed(STRONG) {
            let (kinds, text) = found(&message(narrow), 1);
            assert_eq!(kinds, [ReportKind::MissingFence].into(), "{fence}");
            assert!(text.starts_with("error"), "{text}");
            assert!(text.contains("`__threadfence_system`"), "{text}");
        }
    }
}

#[test]
fn a_flag_of_a_narrow_scope_orders_nothing() {
    for parts in [
        Parts { flag: "st.release.gpu.global.u32 [%d13], %r2;", ..RELEASE },
        Parts { poll: "ld.acquire.gpu.global.u32 %r3, [%d12];", ..RELEASE },
        Parts { flag: "st.relaxed.gpu.global.u32 [%d13], %r2;", ..WEAK },
        Parts { poll: "ld.relaxed.gpu.global.u32 %r3, [%d12];", ..WEAK },
        Parts { flag: "st.relaxed.gpu.global.u32 [%d13], %r2;", ..STRONG },
    ] {
        let (kinds, text) = found(&message(parts), 1);
        // The data is handed over without an order too.
        let others = [ReportKind::Race, ReportKind::MissingFence].into();
        assert!(kinds.contains(&ReportKind::Race) && kinds.is_subset(&others), "{kinds:?}");
        assert!(text.contains("but the scope of one does not hold the other's device"), "{text}");
        assert!(text.contains("ld.global.u32 %r4") || parts.read != WEAK.read, "{text}");
    }
}

/// Block 1 of each device writes a number, and tells block 0 by a flag in its own memory. Block 0
/// tells the next device by a flag there, whose block 0 reads the number.
fn relay(inner: &str, outer: &str) -> [Module; 1] {
    [kernel(&format!(
        "setp.ne.u32 %p1, %r10, 0;
        @%p1 bra done;
        mov.u32 %r2, 1;
        setp.eq.u32 %p2, %r11, 0;
        @%p2 bra first;
        add.u32 %r1, %r13, 40;
        st.global.u32 [%d13+8], %r1;
        {inner}
        st.relaxed.gpu.global.u32 [%d11+64], %r2;
        bra done;
    first:
        ld.relaxed.gpu.global.u32 %r3, [%d11+64];
        setp.eq.u32 %p3, %r3, 0;
        @%p3 bra first;
        {inner}
        {outer}
        st.relaxed.sys.global.u32 [%d13], %r2;
    poll:
        ld.relaxed.sys.global.u32 %r3, [%d12];
        setp.eq.u32 %p2, %r3, 0;
        @%p2 bra poll;
        fence.acq_rel.sys;
        ld.global.u32 %r4, [%d12+8];
        st.global.u32 [%d11], %r4;
    done:"
    ))]
}

#[test]
fn order_passes_on_through_a_block_of_the_device() {
    // Within the device, fences of its scope suffice.
    clean(&relay("fence.acq_rel.gpu;", "fence.acq_rel.sys;"), 2);
    clean(&relay("fence.acq_rel.sys;", ""), 2);
    for (inner, outer) in [
        ("fence.acq_rel.gpu;", ""),
        ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"),
        ("", "fence.acq_rel.sys;"),
        ("fence.acq_rel.cta;", "fence.acq_rel.sys;"),
    ] {
        let (kinds, _) = found(&relay(inner, outer), 2);
        assert_eq!(kinds, [ReportKind::Race].into(), "{inner} {outer}");
    }
}

#[test]
fn a_barrier_lets_another_thread_publish_what_was_fenced_for_the_system() {
    let published = |fence: &str| {
        [kernel(&format!(
            "add.u32 %r1, %r13, 40;
            setp.ne.u32 %p1, %r10, 5;
            @%p1 bra fenced;
            st.global.u32 [%d13+8], %r1;
            {fence}
        fenced:
            bar.sync 0;
            mov.u32 %r2, 1;
            setp.ne.u32 %p1, %r10, 0;
            @%p1 bra wait;
            st.relaxed.sys.global.u32 [%d13], %r2;
        poll:
            ld.relaxed.sys.global.u32 %r3, [%d12];
            setp.eq.u32 %p2, %r3, 0;
            @%p2 bra poll;
            fence.acq_rel.sys;
        wait:
            bar.sync 0;
            setp.ne.u32 %p1, %r10, 7;
            @%p1 bra done;
            ld.global.u32 %r4, [%d12+8];
            st.global.u32 [%d11], %r4;
        done:"
        ))]
    };
    clean(&published("fence.acq_rel.sys;"), 1);
    for fence in ["", "fence.acq_rel.gpu;"] {
        assert_eq!(found(&published(fence), 1).0, [ReportKind::Race].into(), "{fence}");
    }
}
