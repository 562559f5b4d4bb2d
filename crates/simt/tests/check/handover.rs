//! Values that volatile and relaxed accesses hand over: the programs that fence are clean, and the
//! same programs without one of their fences are reported.

use simt::ReportKind::{self, MissingFence};
use simt::Severity::{self, Error, Warning};
use simt::{LaunchConfig, Report};

use crate::{SEEDS, clean, kernel, run};

/// The reports on a kernel. Their classes and severities are the same in every order of its warps.
#[track_caller]
fn reports(config: LaunchConfig, body: &str) -> Vec<Report> {
    let module = kernel(body);
    let mut first: Option<Vec<Report>> = None;
    for seed in SEEDS {
        let checked = run(&module, &LaunchConfig { seed, ..config });
        assert_eq!(checked.fault, None, "seed {seed:?}");
        let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        println!("seed {seed:?}\n{}", text.join("\n"));
        let say = |all: &[Report]| all.iter().map(|of| (of.kind, of.severity)).collect::<Vec<_>>();
        let before = first.get_or_insert_with(|| checked.reports.clone());
        assert_eq!(say(before), say(&checked.reports), "seed {seed:?}");
    }
    first.unwrap_or_default()
}

#[track_caller]
fn found(config: LaunchConfig, body: &str) -> Vec<(ReportKind, Severity)> {
    reports(config, body).iter().map(|of| (of.kind, of.severity)).collect()
}

const ERROR: [(ReportKind, Severity); 1] = [(MissingFence, Error)];
const WARNING: [(ReportKind, Severity); 1] = [(MissingFence, Warning)];

/// Block 0 leaves a message and sets a flag. Block 1 waits for the flag and reads the message.
fn message(write: &str, set: &str, wait: &str, read: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r11, 0;
        @%p1 bra reader;
        {write}
        {set}
        bra done;
    reader:
    wait:
        {wait}
        setp.eq.u32 %p2, %r1, 0;
        @%p2 bra wait;
        {read}
        st.global.u32 [%d11+64], %r3;
    done:"
    )
}

#[test]
fn a_message_needs_a_fence_on_both_sides() {
    let config = LaunchConfig::new(2, 1);
    for strength in ["volatile", "relaxed.gpu", "relaxed.sys"] {
        let write = format!("st.{strength}.global.u32 [%d11], 42;");
        let read = format!("ld.{strength}.global.u32 %r3, [%d11];");
        let set = format!("st.{strength}.global.u32 [%d10], 1;");
        let wait = format!("ld.{strength}.global.u32 %r1, [%d10];");
        let fenced = |a: &str, b: &str, c: &str| {
            message(&write, &format!("{a} {set} {b}"), &wait, &format!("{c} {read}"))
        };
        clean(config, &fenced("membar.gl;", "", "membar.gl;"));
        clean(config, &fenced("fence.acq_rel.gpu;", "", "fence.sc.gpu;"));
        assert_eq!(found(config, &fenced("", "", "")), ERROR, "{strength}");
        assert_eq!(found(config, &fenced("", "", "membar.gl;")), ERROR, "{strength}");
        assert_eq!(found(config, &fenced("membar.gl;", "", "")), ERROR, "{strength}");
        assert_eq!(found(config, &fenced("membar.cta;", "", "membar.gl;")), ERROR, "{strength}");
        assert_eq!(found(config, &fenced("", "membar.gl;", "membar.gl;")), ERROR, "{strength}");
        // A flag that is set before the message announces nothing.
        clean(config, &message(&set, &write, &wait, &read));
        // A release and an acquire take the place of the fences.
        let release = "st.release.gpu.global.u32 [%d10], 1;";
        let acquire = "ld.acquire.gpu.global.u32 %r1, [%d10];";
        clean(config, &message(&write, release, acquire, &read));
        assert_eq!(found(config, &message(&write, release, &wait, &read)), ERROR);
        assert_eq!(found(config, &message(&write, &set, acquire, &read)), ERROR);
        // An atomic sets the flag.
        let count = "red.global.add.u32 [%d10], 1;";
        clean(config, &message(&write, &format!("membar.gl; {count}"), acquire, &read));
        assert_eq!(found(config, &message(&write, count, acquire, &read)), ERROR);
    }
}

#[test]
fn a_report_names_the_flag_and_the_side_without_a_fence() {
    let config = LaunchConfig::new(2, 1);
    let with = |a: &str, b: &str| {
        let set = format!("{a} st.volatile.global.u32 [%d10], 1;");
        let read = format!("{b} ld.volatile.global.u32 %r3, [%d11];");
        let write = "st.volatile.global.u32 [%d11], 42;";
        message(write, &set, "ld.volatile.global.u32 %r1, [%d10];", &read)
    };
    let [report] = &reports(config, &with("", "membar.gl;"))[..] else { panic!("one report") };
    let text = report.to_string();
    let wanted = "reads 4 bytes of global memory at 0x100101000 that thread (0,0,0) of block (0,0,0) wrote, and that the flag at 0x100000000 announces, which line 27 of the PTX reads, but no fence whose scope suffices orders that write before the flag";
    assert!(text.contains(wanted), "{text}");
    assert_eq!((report.here.line, report.other.as_ref().map(|of| of.line)), (30, Some(22)));
    let [report] = &reports(config, &with("membar.gl;", ""))[..] else { panic!("one report") };
    let text = report.to_string();
    let wanted = "no fence whose scope suffices orders the read of the flag before this read";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn a_value_that_is_compared_itself_needs_no_flag() {
    // Both words tell by themselves whether they are there.
    let body = message(
        "st.volatile.global.u32 [%d11], 42;",
        "st.volatile.global.u32 [%d10], 1;",
        "ld.volatile.global.u32 %r1, [%d10];",
        "again: ld.volatile.global.u32 %r3, [%d11]; setp.eq.u32 %p3, %r3, 0; @%p3 bra again;",
    );
    clean(LaunchConfig::new(2, 1), &body);
    // Nothing depends on the flag.
    let body = "setp.ne.u32 %p1, %r11, 0;
        @%p1 ld.volatile.global.u32 %r1, [%d10];
        @%p1 ld.volatile.global.u32 %r2, [%d11];
        @!%p1 st.volatile.global.u32 [%d11], 42;
        @!%p1 st.volatile.global.u32 [%d10], 1;
        @%p1 st.global.u32 [%d11+64], %r2;";
    clean(LaunchConfig::new(2, 1), body);
}

/// A flag that decides, but for which the reader does not wait.
#[test]
fn a_glance_at_a_flag_is_a_warning() {
    let body = "setp.ne.u32 %p1, %r11, 0;
        @%p1 bra reader;
        st.volatile.global.u32 [%d11], 42;
        st.volatile.global.u32 [%d10], 1;
        bra done;
    reader:
        mov.u32 %r4, 0;
    later:
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p3, %r4, 9000;
        @%p3 bra later;
        ld.volatile.global.u32 %r1, [%d10];
        setp.eq.u32 %p2, %r1, 0;
        @%p2 bra done;
        ld.volatile.global.u32 %r3, [%d11];
        st.global.u32 [%d11+64], %r3;
    done:";
    assert_eq!(found(LaunchConfig::new(2, 1), body), WARNING);
}

/// The reduction of CUDA's sample threadFenceReduction: each block leaves a partial sum, and the
/// block that draws the last ticket adds them.
fn last_block(fence: &str, count: &str, after: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r10, 0;
        mul.wide.u32 %d1, %r11, 4;
        add.u64 %d1, %d11, %d1;
        mov.u32 %r6, %nctaid.x;
        @%p1 bra meet;
        st.volatile.global.u32 [%d1], %r11;
        {fence}
        {count}
        sub.u32 %r2, %r6, 1;
        setp.eq.u32 %p2, %r1, %r2;
        selp.u32 %r3, 1, 0, %p2;
        st.shared.u32 [s], %r3;
    meet:
        {after}
        ld.shared.u32 %r4, [s];
        setp.eq.u32 %p3, %r4, 0;
        @%p3 bra done;
        mov.u32 %r7, 0;
        mov.u32 %r8, %r10;
        mov.u32 %r9, %ntid.x;
    sum:
        setp.ge.u32 %p4, %r8, %r6;
        @%p4 bra tree;
        mul.wide.u32 %d2, %r8, 4;
        add.u64 %d2, %d11, %d2;
        ld.volatile.global.u32 %r5, [%d2];
        add.u32 %r7, %r7, %r5;
        add.u32 %r8, %r8, %r9;
        bra sum;
    tree:
        mov.u32 %r13, s;
        mad.lo.u32 %r13, %r10, 4, %r13;
        st.shared.u32 [%r13+64], %r7;
        bar.sync 0;
        @%p1 bra done;
        ld.shared.u32 %r14, [s+64];
        ld.shared.u32 %r15, [%r13+68];
        add.u32 %r14, %r14, %r15;
        st.global.u32 [%d10+64], %r14;
        st.global.u32 [%d10], 0;
    done:"
    )
}

#[test]
fn the_last_block_reads_partial_sums() {
    let count = "mov.u32 %r16, %nctaid.x; atom.global.inc.u32 %r1, [%d10], %r16;";
    let barrier = "bar.sync 0;";
    for config in [LaunchConfig::new(17, 64), LaunchConfig::new(60, 128)] {
        clean(config, &last_block("membar.gl;", count, barrier));
        clean(config, &last_block("membar.gl;", count, "bar.sync 0; membar.gl;"));
        let ordered = count.replace("atom", "atom.acq_rel.gpu");
        clean(config, &last_block("", &ordered, barrier));
        assert_eq!(found(config, &last_block("", count, barrier)), ERROR);
        assert_eq!(found(config, &last_block("membar.cta;", count, barrier)), ERROR);
        assert_eq!(found(config, &last_block("", count, "bar.sync 0; membar.gl;")), ERROR);
    }
}

#[test]
fn a_single_thread_without_a_fence_behind_its_ticket_is_a_warning() {
    let count = "mov.u32 %r16, %nctaid.x; atom.global.inc.u32 %r1, [%d10], %r16;";
    let config = LaunchConfig::new(17, 1);
    let alone = |fence: &str, after: &str| {
        last_block(fence, count, after)
            .replace("ld.shared.u32 %r15, [%r13+68];", "mov.u32 %r15, 0;")
    };
    clean(config, &alone("membar.gl;", "membar.gl;"));
    assert_eq!(found(config, &alone("membar.gl;", "")), WARNING);
    assert_eq!(found(config, &alone("", "membar.gl;")), ERROR);
}

/// A scan whose blocks look back. Value and flag are in one word of 64 bits.
#[test]
fn looking_back_over_single_words_needs_no_fence() {
    for strength in ["volatile", "relaxed.gpu"] {
        let body = format!(
            "setp.ne.u32 %p1, %r10, 0;
            @%p1 bra done;
            mul.wide.u32 %d1, %r11, 8;
            add.u64 %d1, %d11, %d1;
            add.u32 %r1, %r11, 1;
            mov.u32 %r2, 1;
            mov.b64 %d2, {{%r1, %r2}};
            st.{strength}.global.b64 [%d1], %d2;
            mov.u64 %d3, %d1;
            mov.u32 %r3, %r11;
        back:
            setp.eq.u32 %p2, %r3, 0;
            @%p2 bra whole;
            sub.u64 %d3, %d3, 8;
            sub.u32 %r3, %r3, 1;
        poll:
            ld.{strength}.global.b64 %d4, [%d3];
            mov.b64 {{%r4, %r5}}, %d4;
            setp.eq.u32 %p3, %r5, 0;
            @%p3 bra poll;
            add.u32 %r1, %r1, %r4;
            setp.eq.u32 %p4, %r5, 1;
            @%p4 bra back;
        whole:
            mov.u32 %r2, 2;
            mov.b64 %d2, {{%r1, %r2}};
            st.{strength}.global.b64 [%d1], %d2;
            st.global.u32 [%d1+4096], %r1;
        done:"
        );
        clean(LaunchConfig::new(40, 32), &body);
    }
}

/// As [`looking_back_over_single_words_needs_no_fence`], with the value in a word of its own.
#[test]
fn looking_back_over_two_words_needs_fences() {
    let body = |before: &str, after: &str| {
        format!(
            "mul.wide.u32 %d1, %r11, 4;
            add.u64 %d1, %d11, %d1;
            mov.u32 %r1, 0;
            setp.eq.u32 %p1, %r11, 0;
            @%p1 bra first;
        poll:
            ld.volatile.global.u32 %r2, [%d1+4092];
            setp.eq.u32 %p2, %r2, 0;
            @%p2 bra poll;
            {after}
            ld.volatile.global.u32 %r1, [%d1+-4];
        first:
            add.u32 %r3, %r1, 1;
            st.volatile.global.u32 [%d1], %r3;
            {before}
            st.volatile.global.u32 [%d1+4096], 1;"
        )
    };
    let config = LaunchConfig::new(40, 1);
    clean(config, &body("membar.gl;", "membar.gl;"));
    assert_eq!(found(config, &body("", "membar.gl;")), ERROR);
    assert_eq!(found(config, &body("membar.gl;", "")), ERROR);
}

/// Each thread leaves a word, all blocks meet as in cooperative groups, and each thread reads the
/// word of a thread of another block.
fn grid_barrier(before: &str, after: &str) -> String {
    format!(
        "st.volatile.global.u32 [%d12], %r12;
        bar.sync 0;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 bra meet;
        {before}
        mov.u32 %r5, 1;
        setp.eq.u32 %p3, %r11, 0;
        mov.u32 %r6, %nctaid.x;
        sub.u32 %r7, 0x80000001, %r6;
        selp.u32 %r5, %r7, %r5, %p3;
        atom.global.add.u32 %r8, [%d10], %r5;
    wait:
        ld.volatile.global.u32 %r1, [%d10];
        xor.b32 %r2, %r1, %r8;
        setp.ge.s32 %p2, %r2, 0;
        @%p2 bra wait;
        {after}
    meet:
        bar.sync 0;
        mov.u32 %r14, %nctaid.x;
        mov.u32 %r15, %ntid.x;
        mul.lo.u32 %r14, %r14, %r15;
        sub.u32 %r14, %r14, %r12;
        mul.wide.u32 %d1, %r14, 4;
        add.u64 %d1, %d1, %d11;
        ld.volatile.global.u32 %r16, [%d1+-4];
        add.u64 %d2, %d12, 65536;
        st.global.u32 [%d2], %r16;"
    )
}

#[test]
fn a_barrier_of_the_grid_needs_fences() {
    let config = LaunchConfig::new(30, 64);
    clean(config, &grid_barrier("membar.gl;", "membar.gl;"));
    assert_eq!(found(config, &grid_barrier("", "")), ERROR);
    assert_eq!(found(config, &grid_barrier("", "membar.gl;")), ERROR);
    // The barrier of the block stands for the second fence, because programs are written that way.
    clean(config, &grid_barrier("membar.gl;", ""));
}

/// One thread of each block, in its turn, adds to a volatile word that a lock guards.
#[test]
fn a_lock_needs_fences() {
    let body = |acquire: &str, release: &str| {
        format!(
            "wait:
            atom.global.cas.b32 %r2, [%d10], 0, 1;
            setp.ne.u32 %p2, %r2, 0;
            @%p2 bra wait;
            {acquire}
            ld.volatile.global.u32 %r3, [%d11];
            add.u32 %r3, %r3, 1;
            st.volatile.global.u32 [%d11], %r3;
            {release}
            atom.global.exch.b32 %r4, [%d10], 0;"
        )
    };
    let config = LaunchConfig::new(40, 1);
    clean(config, &body("membar.gl;", "membar.gl;"));
    // An atomic in a loop may also be a counter of work, after which old values do no harm.
    assert_eq!(found(config, &body("membar.gl;", "")), WARNING);
    assert_eq!(found(config, &body("", "membar.gl;")), WARNING);
    let ordered = body("", "")
        .replace("atom.global.cas", "atom.acquire.gpu.global.cas")
        .replace("atom.global.exch", "atom.release.gpu.global.exch");
    clean(config, &ordered);
}

#[test]
fn warps_of_a_block_hand_over_through_global_memory() {
    let body = |fence: &str| {
        format!(
            "setp.eq.u32 %p1, %r10, 0;
            setp.eq.u32 %p2, %r10, 32;
            @%p1 bra writer;
            @!%p2 bra done;
        wait:
            ld.volatile.global.u32 %r1, [%d10];
            setp.eq.u32 %p3, %r1, 0;
            @%p3 bra wait;
            {fence}
            ld.volatile.global.u32 %r2, [%d11];
            st.global.u32 [%d11+64], %r2;
            bra done;
        writer:
            st.volatile.global.u32 [%d11], 6;
            {fence}
            st.volatile.global.u32 [%d10], 1;
        done:"
        )
    };
    clean(LaunchConfig::new(1, 64), &body("membar.cta;"));
    assert_eq!(found(LaunchConfig::new(1, 64), &body("")), ERROR);
}

#[test]
fn a_vector_that_holds_its_flag_needs_no_fence() {
    let body = message(
        "",
        "mov.u32 %r4, 42; mov.u32 %r5, 1; st.volatile.global.v2.u32 [%d10], {%r4, %r5};",
        "ld.volatile.global.v2.u32 {%r3, %r1}, [%d10];",
        "",
    );
    clean(LaunchConfig::new(2, 1), &body);
}

#[test]
fn a_value_that_is_compared_through_memory_needs_no_flag() {
    // Debug code keeps variables in local memory, and one thread may compare for its block.
    let poll = |space: &str| {
        message(
            "st.volatile.global.u32 [%d11], 42;",
            "st.volatile.global.u32 [%d10], 1;",
            "ld.volatile.global.u32 %r1, [%d10];",
            &format!(
                "again: ld.volatile.global.u32 %r3, [%d11]; st.{space}.u32 [v], %r3;
                ld.{space}.u32 %r4, [v]; setp.eq.u32 %p3, %r4, 0; @%p3 bra again;"
            ),
        )
    };
    for space in ["local", "shared"] {
        clean(LaunchConfig::new(2, 1), &format!(".{space} .align 4 .b32 v;\n{}", poll(space)));
    }
}

#[test]
fn a_warp_reads_what_its_first_lane_has_waited_for() {
    let body = |before: &str, after: &str| {
        format!(
            "setp.ne.u32 %p1, %r11, 0;
            setp.ne.u32 %p2, %r10, 0;
            @%p1 bra reader;
            st.volatile.global.u32 [%d12], %r10;
            bar.warp.sync -1;
            @%p2 bra done;
            {before}
            st.volatile.global.u32 [%d10], 1;
            bra done;
        reader:
            @%p2 bra meet;
        wait:
            ld.volatile.global.u32 %r1, [%d10];
            setp.eq.u32 %p3, %r1, 0;
            @%p3 bra wait;
            {after}
        meet:
            bar.warp.sync -1;
            ld.volatile.global.u32 %r2, [%d12+-128];
            st.global.u32 [%d12+4096], %r2;
        done:"
        )
    };
    let config = LaunchConfig::new(2, 32);
    clean(config, &body("membar.gl;", "membar.gl;"));
    clean(config, &body("membar.gl;", ""));
    assert_eq!(found(config, &body("", "membar.gl;")), ERROR);
}

/// Two blocks pass a word to and fro, in rounds that one flag counts.
#[test]
fn rounds_with_fences_are_clean() {
    let body = |fence: &str| {
        format!(
            "mov.u32 %r4, 0;
        round:
            and.b32 %r5, %r4, 1;
            setp.ne.u32 %p1, %r5, %r11;
            @%p1 bra next;
        wait:
            ld.volatile.global.u32 %r1, [%d10];
            setp.lt.u32 %p2, %r1, %r4;
            @%p2 bra wait;
            {fence}
            ld.volatile.global.u32 %r2, [%d11];
            add.u32 %r3, %r2, 1;
            st.volatile.global.u32 [%d11], %r3;
            {fence}
            add.u32 %r6, %r4, 1;
            st.volatile.global.u32 [%d10], %r6;
        next:
            add.u32 %r4, %r4, 1;
            setp.lt.u32 %p3, %r4, 8;
            @%p3 bra round;"
        )
    };
    clean(LaunchConfig::new(2, 1), &body("membar.gl;"));
    assert_eq!(found(LaunchConfig::new(2, 1), &body("")), ERROR);
}

/// Atomics alone, and an atomic beside values that it counts, are no handover.
#[test]
fn atomics_and_hints_are_no_handover() {
    let sum = "atom.global.add.u32 %r1, [%d11], %r10;
        atom.global.inc.u32 %r2, [%d10], 1000;
        setp.ne.u32 %p1, %r2, 29;
        @%p1 bra done;
        atom.global.add.u32 %r3, [%d11], 0;
        st.global.u32 [%d11+64], %r3;
        done:";
    clean(LaunchConfig::new(30, 1), sum);
    // The word is a hint, which a comparison checks.
    let hint = "ld.volatile.global.u32 %r1, [%d11];
        setp.ge.u32 %p1, %r1, %r11;
        @%p1 bra done;
        atom.global.max.u32 %r2, [%d11], %r11;
        done:";
    clean(LaunchConfig::new(30, 1), hint);
}
