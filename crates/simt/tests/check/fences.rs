//! Order that fences, flags, locks and atomics make.

use simt::LaunchConfig;
use simt::ReportKind::Race;

use crate::{classes, clean};

/// Block 0 leaves a message and sets a flag. Block 1 waits for the flag and reads the message.
fn message(write: &str, read: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r11, 0;
        @%p1 bra reader;
        st.global.u32 [%d11], 42;
        {write}
        bra done;
    reader:
    wait:
        {read}
        ld.global.u32 %r3, [%d11];
        st.global.u32 [%d11+64], %r3;
    done:"
    )
}

const SPIN: &str = "ld.relaxed.gpu.global.u32 %r1, [%d10]; setp.eq.u32 %p2, %r1, 0; @%p2 bra wait;";

#[test]
fn a_flag_with_fences_passes_a_message() {
    let config = LaunchConfig::new(2, 1);
    let set = "st.relaxed.gpu.global.u32 [%d10], 1;";
    let spin_volatile = SPIN.replace("relaxed.gpu", "volatile");
    let both = |fence: &str| message(&format!("{fence} {set}"), &format!("{SPIN} {fence}"));
    clean(config, &both("fence.acq_rel.gpu;"));
    clean(config, &both("fence.sc.sys;"));
    clean(config, &both("membar.gl;"));
    clean(
        config,
        &message(
            "membar.gl; st.volatile.global.u32 [%d10], 1;",
            &format!("{spin_volatile} membar.gl;"),
        ),
    );
    clean(
        config,
        &message(
            "fence.acq_rel.gpu; red.global.add.u32 [%d10], 1;",
            &format!("{SPIN} fence.acq_rel.gpu;"),
        ),
    );
    clean(
        config,
        &message("st.release.gpu.global.u32 [%d10], 1;", &SPIN.replace("relaxed", "acquire")),
    );
    clean(
        config,
        &message(
            "atom.release.gpu.global.exch.b32 %r2, [%d10], 1;",
            &format!("{SPIN} fence.acq_rel.gpu;"),
        ),
    );
    // One of the fences is missing, too narrow, or on the wrong side of the flag's access.
    assert_eq!(classes(config, &message(set, &format!("{SPIN} membar.gl;"))), [Race]);
    assert_eq!(classes(config, &message(&format!("membar.gl; {set}"), SPIN)), [Race]);
    assert_eq!(classes(config, &both("membar.cta;")), [Race]);
    assert_eq!(
        classes(config, &message(&format!("{set} membar.gl;"), &format!("{SPIN} membar.gl;"))),
        [Race]
    );
    let narrow = "st.release.cta.global.u32 [%d10], 1;";
    assert_eq!(classes(config, &message(narrow, &SPIN.replace("relaxed", "acquire"))), [Race]);
    // A weak access to the flag is a race on the flag itself.
    let weak =
        message("membar.gl; st.global.u32 [%d10], 1;", &format!("{spin_volatile} membar.gl;"));
    assert_eq!(classes(config, &weak), [Race]);
}

#[test]
fn warps_of_a_block_pass_messages_too() {
    let body = |fence: &str| {
        format!(
            "setp.eq.u32 %p3, %r10, 0; @%p3 st.shared.u32 [s], 0; bar.sync 0;
            setp.eq.u32 %p1, %r10, 0;
            setp.eq.u32 %p2, %r10, 32;
            @%p1 bra writer;
            @!%p2 bra done;
        wait:
            ld.volatile.shared.u32 %r1, [s];
            setp.eq.u32 %p4, %r1, 0;
            @%p4 bra wait;
            {fence}
            ld.shared.u32 %r1, [s+8];
            st.global.u32 [%d12], %r1;
            bra done;
        writer:
            st.shared.u32 [s+8], 6;
            {fence}
            st.volatile.shared.u32 [s], 1;
        done:"
        )
    };
    clean(LaunchConfig::new(3, 64), &body("membar.cta;"));
    assert_eq!(classes(LaunchConfig::new(3, 64), &body("")), [Race]);
}

/// Each block leaves a word. The block that comes last, as a counter tells, sums the words.
fn last_block(fence: &str, counter: &str, after: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %r10, 0;
        mul.wide.u32 %d1, %r11, 4;
        add.u64 %d1, %d11, %d1;
        @%p1 bra meet;
        st.global.u32 [%d1], %r11;
        {fence}
        {counter}
        st.shared.u32 [s], %r1;
    meet:
        bar.sync 0;
        ld.shared.u32 %r1, [s];
        mov.u32 %r2, %nctaid.x;
        sub.u32 %r2, %r2, 1;
        setp.ne.u32 %p2, %r1, %r2;
        @%p2 bra done;
        {after}
        setp.gt.u32 %p3, %r10, %r2;
        @%p3 bra done;
        mul.wide.u32 %d2, %r10, 4;
        add.u64 %d2, %d11, %d2;
        ld.global.u32 %r3, [%d2];
        red.shared.add.u32 [s+4], 0;
    done:"
    )
    .replace("red.shared.add.u32 [s+4], 0;", "st.global.u32 [%d2+4096], %r3;")
}

#[test]
fn the_last_block_may_read_what_all_fenced() {
    let count = "atom.global.add.u32 %r1, [%d10], 1;";
    for config in [LaunchConfig::new(17, 64), LaunchConfig::new(60, 128)] {
        clean(config, &last_block("membar.gl;", count, ""));
        clean(config, &last_block("membar.gl;", count, "membar.gl;"));
        clean(config, &last_block("", "atom.acq_rel.gpu.global.add.u32 %r1, [%d10], 1;", ""));
        assert_eq!(classes(config, &last_block("", count, "")), [Race]);
        assert_eq!(classes(config, &last_block("", count, "membar.gl;")), [Race]);
        assert_eq!(classes(config, &last_block("membar.cta;", count, "")), [Race]);
    }
}

/// Lane 0 of each warp, in its turn, adds to a word that a lock guards.
fn lock(acquire: &str, release: &str) -> String {
    format!(
        "and.b32 %r1, %r10, 31;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra done;
    wait:
        atom.global.cas.b32 %r2, [%d10], 0, 1;
        setp.ne.u32 %p2, %r2, 0;
        @%p2 bra wait;
        {acquire}
        ld.global.u32 %r3, [%d11];
        add.u32 %r3, %r3, 1;
        st.global.u32 [%d11], %r3;
        {release}
        atom.global.exch.b32 %r2, [%d10], 0;
    done:"
    )
}

#[test]
fn a_lock_with_fences_guards_plain_accesses() {
    let config = LaunchConfig::new(40, 128);
    clean(config, &lock("membar.gl;", "membar.gl;"));
    clean(
        config,
        &lock("", "")
            .replace("atom.global.cas", "atom.acquire.gpu.global.cas")
            .replace("atom.global.exch", "atom.release.gpu.global.exch"),
    );
    assert_eq!(classes(config, &lock("membar.gl;", "")), [Race]);
    assert_eq!(classes(config, &lock("", "membar.gl;")), [Race]);
    assert_eq!(classes(config, &lock("membar.cta;", "membar.cta;")), [Race]);
    clean(LaunchConfig::new(1, 128), &lock("membar.cta;", "membar.cta;"));
}

#[test]
fn messages_are_handed_on() {
    // Block b waits for the flag of block b - 1, adds to the message and sets its own flag. The
    // write of block 0 therefore reaches all blocks.
    let chain = |fence: &str| {
        format!(
            "mul.wide.u32 %d1, %r11, 4;
            add.u64 %d1, %d10, %d1;
            setp.eq.u32 %p1, %r11, 0;
            @%p1 st.global.u32 [%d11], 1;
            @%p1 bra set;
        wait:
            ld.volatile.global.u32 %r1, [%d1+-4];
            setp.eq.u32 %p2, %r1, 0;
            @%p2 bra wait;
            {fence}
            ld.global.u32 %r2, [%d11];
        set:
            membar.gl;
            st.volatile.global.u32 [%d1], 1;"
        )
    };
    clean(LaunchConfig::new(100, 1), &chain("membar.gl;"));
    assert_eq!(classes(LaunchConfig::new(100, 1), &chain("")), [Race]);
}

#[test]
fn all_blocks_wait_for_each_other() {
    let round = |fence: &str| {
        format!(
            "st.global.u32 [%d12], %r12;
            {fence}
            bar.sync 0;
            setp.ne.u32 %p1, %r10, 0;
            @%p1 bra meet;
            {fence}
            red.global.add.u32 [%d10], 1;
            mov.u32 %r5, %nctaid.x;
        wait:
            ld.volatile.global.u32 %r1, [%d10];
            setp.lt.u32 %p2, %r1, %r5;
            @%p2 bra wait;
            {fence}
        meet:
            bar.sync 0;
            mov.u32 %r5, %nctaid.x;
            mov.u32 %r6, %ntid.x;
            mul.lo.u32 %r5, %r5, %r6;
            sub.u32 %r5, %r5, %r12;
            mul.wide.u32 %d1, %r5, 4;
            add.u64 %d1, %d1, %d11;
            ld.global.u32 %r7, [%d1+-4];"
        )
    };
    clean(LaunchConfig::new(30, 64), &round("membar.gl;"));
    assert_eq!(classes(LaunchConfig::new(30, 64), &round("")), [Race]);
    // All threads fence before the barrier of the block, and no thread fences after it.
    let old =
        round("membar.gl;").replacen("@%p1 bra meet;\n            membar.gl;", "@%p1 bra meet;", 1);
    clean(LaunchConfig::new(30, 64), &old);
}

#[test]
fn many_blocks_are_followed() {
    let count = "atom.global.add.u32 %r1, [%d10], 1;";
    clean(LaunchConfig::new(4000, 32), &last_block("membar.gl;", count, ""));
    clean(LaunchConfig::new(4000, 32), "ld.global.u32 %r1, [%d12]; st.global.u32 [%d12], %r1;");
}
