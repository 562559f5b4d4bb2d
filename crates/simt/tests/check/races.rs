//! Races within a block and across blocks, if only barriers make order.

use simt::LaunchConfig;
use simt::ReportKind::{DivergentBarrier, Race, WarpSynchronous};

use crate::{classes, clean, kernel, run};

/// Each thread zeroes its word, and then the block meets. In every order of the warps, no read then
/// finds bytes that nothing has written.
const ZERO: &str = "st.shared.u32 [%r13], 0; bar.sync 0;";

/// Each thread leaves a value, and reads the value of the thread whose number differs by 32.
fn exchange(between: &str) -> String {
    format!(
        "{ZERO} st.shared.u32 [%r13], %r10;
        {between}
        xor.b32 %r1, %r10, 32;
        shl.b32 %r1, %r1, 2;
        mov.u32 %r2, s;
        add.u32 %r1, %r1, %r2;
        ld.shared.u32 %r3, [%r1];
        st.global.u32 [%d12], %r3;"
    )
}

#[test]
fn a_barrier_orders_what_threads_exchange() {
    for block in [64, 128, 1024] {
        clean(LaunchConfig::new(3, block), &exchange("bar.sync 0;"));
        clean(LaunchConfig::new(3, block), &exchange("barrier.sync 5;"));
        assert_eq!(classes(LaunchConfig::new(3, block), &exchange("bar.warp.sync -1;")), [Race]);
    }
}

#[test]
fn a_word_is_written_again_after_it_was_read() {
    let tree = |after: &str| {
        format!(
            "mov.u32 %r5, 3;
            st.shared.u32 [%r13], %r10;
            bar.sync 0;
        again:
            xor.b32 %r1, %r10, 64;
            shl.b32 %r1, %r1, 2;
            mov.u32 %r2, s;
            add.u32 %r1, %r1, %r2;
            ld.shared.u32 %r3, [%r1];
            {after}
            st.shared.u32 [%r13], %r3;
            bar.sync 0;
            sub.u32 %r5, %r5, 1;
            setp.ne.u32 %p1, %r5, 0;
            @%p1 bra again;"
        )
    };
    clean(LaunchConfig::new(2, 256), &tree("bar.sync 0;"));
    assert_eq!(classes(LaunchConfig::new(2, 256), &tree("")), [Race]);
}

#[test]
fn all_read_one_word_before_one_thread_writes_it() {
    let broadcast = |between: &str| {
        format!(
            "setp.ne.u32 %p1, %r10, 0;
            @!%p1 st.shared.u32 [s], 7;
            bar.sync 0;
            ld.shared.u32 %r1, [s];
            {between}
            @!%p1 st.shared.u32 [s], 8;
            st.global.u32 [%d12], %r1;"
        )
    };
    clean(LaunchConfig::new(2, 256), &broadcast("bar.sync 0;"));
    // The race is with another lane of the warp that writes, or with another warp; which one comes
    // first depends on the order.
    assert_eq!(classes(LaunchConfig::new(2, 32), &broadcast("")), [WarpSynchronous]);
    let module = kernel(&broadcast(""));
    for seed in crate::SEEDS {
        assert!(
            !run(&module, &LaunchConfig { seed, ..LaunchConfig::new(2, 256) }).reports.is_empty()
        );
    }
}

#[test]
fn named_barriers_order_those_who_meet_there() {
    // Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2.
    let pairs = |count: u32, partner: u32| {
        format!(
            "{ZERO} shr.u32 %r4, %r10, 6;
            add.u32 %r4, %r4, 1;
            st.shared.u32 [%r13], %r10;
            barrier.sync %r4, {count};
            xor.b32 %r1, %r10, {partner};
            shl.b32 %r1, %r1, 2;
            mov.u32 %r2, s;
            add.u32 %r1, %r1, %r2;
            ld.shared.u32 %r3, [%r1];
            st.global.u32 [%d12], %r3;"
        )
    };
    clean(LaunchConfig::new(2, 128), &pairs(64, 32));
    assert_eq!(classes(LaunchConfig::new(2, 128), &pairs(64, 64)), [Race]);
}

/// Warp 0 fills 32 words, and warp 1 doubles the values that it reads from them.
fn producer(produce: &str, consume: &str) -> String {
    format!(
        "{ZERO} setp.ge.u32 %p1, %r10, 32;
        @%p1 bra consumer;
        st.shared.u32 [%r13], %r10;
        {produce}
        bra done;
    consumer:
        {consume}
        ld.shared.u32 %r1, [%r13+-128];
        add.u32 %r1, %r1, %r1;
        st.global.u32 [%d12], %r1;
    done:"
    )
}

#[test]
fn arriving_publishes_what_came_before() {
    clean(LaunchConfig::new(1, 64), &producer("bar.arrive 1, 64;", "bar.sync 1, 64;"));
    // A write after the arrival is not published.
    let late = producer("bar.arrive 1, 64; st.shared.u32 [%r13], 5;", "bar.sync 1, 64;");
    assert_eq!(classes(LaunchConfig::new(1, 64), &late), [Race]);
    // A thread that only arrives learns nothing.
    let back = producer(
        "bar.arrive 1, 64; ld.shared.u32 %r1, [%r13+128];",
        "st.shared.u32 [%r13], 4; bar.sync 1, 64;",
    );
    assert_eq!(classes(LaunchConfig::new(1, 64), &back), [Race]);
}

#[test]
fn blocks_have_words_of_their_own_or_race() {
    clean(LaunchConfig::new(50, 64), "st.global.u32 [%d12], %r10; ld.global.u32 %r1, [%d12];");
    // Thread 0 of each block writes to the same word.
    let same = "setp.eq.u32 %p1, %r10, 0; @%p1 st.global.u32 [%d11], %r11;";
    assert_eq!(classes(LaunchConfig::new(50, 64), same), [Race]);
    // Each thread overwrites its word, and reads the word of its neighbour, which may be in the
    // next block. Another order of the blocks gives another result.
    let shift = "ld.global.u32 %r1, [%d12+4]; bar.sync 0; st.global.u32 [%d12], %r1;";
    clean(LaunchConfig::new(1, 64), shift);
    assert_eq!(classes(LaunchConfig::new(9, 64), shift), [Race]);
}

#[test]
fn a_launch_ends_before_the_next_begins() {
    let module = kernel(
        "xor.b32 %r1, %r12, 37; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d11; st.global.u32 [%d1], 1;",
    );
    let read = kernel("ld.global.u32 %r1, [%d12]; st.global.u32 [%d12], %r1;");
    let memory = simt::Memory::checked(1 << 20);
    let out = memory.alloc(4 * 64 * 64).unwrap();
    for module in [&module, &read, &module] {
        let args = [simt::Arg::Pointer(out), simt::Arg::Pointer(out)];
        let checked =
            simt::check(module.kernel("k").unwrap(), &LaunchConfig::new(64, 64), &args, &memory)
                .unwrap();
        assert_eq!(checked.reports, []);
        assert_eq!(checked.fault, None);
    }
}

#[test]
fn atomics_race_with_plain_accesses_alone() {
    let config = LaunchConfig::new(20, 96);
    clean(config, "red.global.add.u32 [%d11], 1; atom.global.max.u32 %r1, [%d11], 5;");
    // The word of the atomics is also read by other instructions.
    clean(config, "red.global.add.u32 [%d11], 1; ld.relaxed.gpu.global.u32 %r1, [%d11];");
    clean(config, "red.global.add.u32 [%d11], 1; ld.volatile.global.u32 %r1, [%d11];");
    assert_eq!(classes(config, "red.global.add.u32 [%d11], 1; ld.global.u32 %r1, [%d11];"), [Race]);
    assert_eq!(classes(config, "red.global.add.u32 [%d11], 1; st.global.u32 [%d11], 0;"), [Race]);
    // The scope of the block does not include the other blocks.
    assert_eq!(classes(config, "red.relaxed.cta.global.add.u32 [%d11], 1;"), [Race]);
    clean(LaunchConfig::new(1, 96), "red.relaxed.cta.global.add.u32 [%d11], 1;");
    // The threads count in shared memory, and then read the count after a barrier.
    let count = |between: &str| {
        format!(
            "{ZERO}
            red.shared.add.u32 [s], 1;
            {between}
            ld.shared.u32 %r1, [s];
            st.global.u32 [%d12], %r1;"
        )
    };
    clean(config, &count("bar.sync 0;"));
    assert_eq!(classes(config, &count("")), [Race]);
}

#[test]
fn neighbours_in_one_word_do_not_race() {
    let config = LaunchConfig::new(4, 128);
    let bytes = "cvt.u64.u32 %d1, %r12; add.u64 %d1, %d1, %d11; st.global.u8 [%d1], %h1; ld.global.u8 %r1, [%d1];";
    clean(config, bytes);
    let halves = "mul.wide.u32 %d1, %r12, 2; add.u64 %d1, %d1, %d11; ld.global.u16 %h1, [%d1]; st.global.u16 [%d1], %h1;";
    clean(config, halves);
    let shared = "mov.u32 %r1, s; add.u32 %r1, %r1, %r10; st.shared.u8 [%r1], %r10; ld.shared.u8 %r2, [%r1];";
    clean(config, shared);
    // One access is to a byte, and the other is to the word around it.
    let mixed =
        "cvt.u64.u32 %d1, %r12; add.u64 %d1, %d1, %d11; st.global.u8 [%d1], %h1; bar.sync 0; and.b64 %d1, %d1, -4;
        ld.global.u32 %r1, [%d1];";
    clean(config, mixed);
    assert_eq!(classes(config, &mixed.replace("bar.sync 0;", "")), [WarpSynchronous]);
}

#[test]
fn vectors_are_watched_word_by_word() {
    let config = LaunchConfig::new(2, 64);
    let vectors = "shl.b32 %r1, %r10, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
        st.shared.v2.u64 [%r1], {0, 0};
        barrier.sync 0;
        st.shared.v4.u32 [%r1], {%r10, %r10, %r10, %r10};
        bar.sync 0;
        xor.b32 %r3, %r10, 33; shl.b32 %r3, %r3, 4; add.u32 %r3, %r3, %r2;
        ld.shared.v2.u64 {%d1, %d2}, [%r3];
        st.global.u32 [%d12], %r1;";
    clean(config, vectors);
    assert_eq!(classes(config, &vectors.replace("bar.sync 0;", "")), [Race]);
}

#[test]
fn lanes_that_write_one_address_must_agree() {
    let config = LaunchConfig::new(1, 32);
    clean(config, "st.shared.u32 [s], 7; st.global.u32 [%d11], 9;");
    assert_eq!(classes(config, "st.shared.u32 [s], %r10;"), [Race]);
    assert_eq!(
        classes(
            config,
            "and.b32 %r1, %r10, 30; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d11;
        st.global.u32 [%d1], %r10;"
        ),
        [Race]
    );
    // Only the bytes that are stored are compared.
    clean(config, "shl.b32 %r1, %r10, 8; st.shared.u8 [s], %r1;");
}

#[test]
fn threads_of_a_block_wait_at_one_barrier() {
    let branch = |a: &str, b: &str| {
        format!(
            "setp.ge.u32 %p1, %r10, 32; @%p1 bra other; {a} bra done; other: {b} done: st.global.u32 [%d12], 1;"
        )
    };
    let config = LaunchConfig::new(1, 64);
    assert_eq!(classes(config, &branch("bar.sync 0;", "bar.sync 0;")), [DivergentBarrier]);
    clean(config, &branch("", "").replace("done:", "done: bar.sync 0;"));
    // With a thread count, the code itself says which warps meet.
    clean(config, &branch("bar.sync 1, 64;", "bar.sync 1, 64;"));
}

#[test]
fn exited_threads_are_not_waited_for() {
    let body = "setp.ge.u32 %p1, %r10, 96; @%p1 exit; st.shared.u32 [%r13], 1; bar.sync 0;
        xor.b32 %r1, %r10, 31; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; ld.shared.u32 %r3, [%r1];";
    clean(LaunchConfig::new(2, 128), body);
}
