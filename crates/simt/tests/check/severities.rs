//! Severities: what can change a result is an error, and what cannot is a warning.

use simt::ReportKind::{DivergentBarrier, Race, StrayShuffle, UninitializedRead, WarpSynchronous};
use simt::Severity::{Error, Warning};
use simt::{LaunchConfig, Module, ReportKind, Severity};

use crate::{SEEDS, kernel, kernel_beside, run};

/// The classes and severities of the reports on a kernel, which are the same in every order of its
/// warps.
#[track_caller]
fn found(config: LaunchConfig, body: &str) -> Vec<(ReportKind, Severity)> {
    found_in(config, &kernel(body))
}

/// As [`found`], on the kernel of a module.
#[track_caller]
pub(crate) fn found_in(config: LaunchConfig, module: &Module) -> Vec<(ReportKind, Severity)> {
    let mut first = None;
    for seed in SEEDS {
        let checked = run(module, &LaunchConfig { seed, ..config });
        assert_eq!(checked.fault, None, "seed {seed:?}");
        let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        println!("seed {seed:?}\n{}", text.join("\n"));
        let found: Vec<_> = checked.reports.iter().map(|of| (of.kind, of.severity)).collect();
        assert_eq!(*first.get_or_insert(found.clone()), found, "seed {seed:?}");
    }
    first.unwrap_or_default()
}

#[test]
fn equal_values_without_order_are_a_warning() {
    let blocks = LaunchConfig::new(4, 1);
    assert_eq!(found(blocks, "st.global.u32 [%d11], 7;"), [(Race, Warning)]);
    assert_eq!(found(blocks, "st.global.v2.u32 [%d11], {7, 8};"), [(Race, Warning)]);
    assert_eq!(found(blocks, "st.global.u32 [%d11], %r11;"), [(Race, Error)]);
    // Only the second of two words differs.
    assert_eq!(found(blocks, "st.global.v2.u32 [%d11], {7, %r11};"), [(Race, Error)]);
    // The last block stores another value at the same place, so the finding becomes an error.
    let last = "setp.eq.u32 %p1, %r11, 3; selp.b32 %r1, 9, 7, %p1; st.global.u32 [%d11], %r1;";
    assert_eq!(found(blocks, last), [(Race, Error)]);
    // Within a block, and within a warp.
    let warps = LaunchConfig::new(1, 64);
    assert_eq!(found(warps, "st.shared.u8 [s+3], 7;"), [(Race, Warning)]);
    assert_eq!(found(warps, "st.shared.u32 [s], %r10;").last(), Some(&(Race, Error)));
    let lanes = "setp.eq.u32 %p1, %r10, 0; @%p1 st.shared.u32 [s], 7; @!%p1 st.shared.u32 [s], 7;";
    assert_eq!(found(LaunchConfig::new(1, 32), lanes), [(WarpSynchronous, Warning)]);
    // One thread reads while another writes the value that is there already.
    let reads =
        "setp.eq.u32 %p1, %r11, 0; @%p1 ld.global.u32 %r1, [%d11]; @!%p1 st.global.u32 [%d11], 0;";
    assert_eq!(found(LaunchConfig::new(2, 1), reads), [(Race, Error)]);
}

/// Each block adds 1 by a loop around a compare-and-swap that begins with a plain load. The loop
/// expects `expected`.
fn swaps(move_it: &str, expected: &str) -> String {
    format!(
        "ld.global.u32 %r1, [%d11];
    again:
        {move_it}
        add.u32 %r3, {expected}, 1;
        atom.global.cas.b32 %r4, [%d11], {expected}, %r3;
        setp.ne.u32 %p1, %r4, {expected};
        mov.u32 %r1, %r4;
        @%p1 bra again;"
    )
}

#[test]
fn a_plain_load_that_a_compare_and_swap_checks_is_a_warning() {
    let config = LaunchConfig::new(4, 1);
    assert_eq!(found(config, &swaps("", "%r1")), [(Race, Warning)]);
    assert_eq!(found(config, &swaps("mov.b32 %r2, %r1;", "%r2")), [(Race, Warning)]);
    // The compare-and-swap expects something else.
    let other = swaps("", "%r1").replace("ld.global.u32 %r1", "mov.u32 %r1, 0; ld.global.u32 %r5");
    assert_eq!(found(config, &other), [(Race, Error)]);
    // Another atomic takes the value without a comparison.
    let exchange =
        "ld.global.u32 %r1, [%d11]; add.u32 %r1, %r1, 1; atom.global.exch.b32 %r2, [%d11], %r1;";
    assert_eq!(found(config, exchange), [(Race, Error)]);
    let relaxed = swaps("", "%r1").replace("ld.global", "ld.relaxed.gpu.global");
    assert_eq!(found(config, &relaxed), []);
}

#[test]
fn a_read_of_nothing_is_an_error_when_it_is_used() {
    let one = LaunchConfig::new(1, 1);
    let read = "ld.shared.u32 %r1, [s];";
    let (dropped, used) = ([(UninitializedRead, Warning)], [(UninitializedRead, Error)]);
    assert_eq!(found(one, read), dropped);
    for harmless in [
        "add.u32 %r2, %r1, 1;",
        "mov.u32 %r1, 5; st.global.u32 [%d12], %r1;",
        "setp.eq.u32 %p1, %r1, 0;",
        "and.b32 %r2, %r1, 0; st.global.u32 [%d12], %r2;",
        "xor.b32 %r2, %r1, %r1; st.global.u32 [%d12], %r2;",
        "or.b32 %r2, %r1, -1; setp.eq.u32 %p1, %r2, 3; @%p1 bra next; next:",
        "shl.b32 %r2, %r1, 32; st.global.u32 [%d12], %r2;",
        "bfi.b32 %r2, 7, %r1, 0, 32; st.global.u32 [%d12], %r2;",
        "prmt.b32 %r2, %r1, 0, 0x4444; st.global.u32 [%d12], %r2;",
        "setp.eq.u32 %p2, %r10, 0; selp.b32 %r2, 1, %r1, %p2; st.global.u32 [%d12], %r2;",
        "st.shared.u32 [s+8], %r1;",
        "st.shared.u32 [s], 3; ld.shared.u32 %r1, [s]; st.global.u32 [%d12], %r1;",
    ] {
        assert_eq!(found(one, &format!("{read} {harmless}")), dropped, "{harmless}");
    }
    for use_ in [
        "st.global.u32 [%d12], %r1;",
        "add.u32 %r2, %r1, 1; st.global.u32 [%d12], %r2;",
        "and.b32 %r2, %r1, 4; st.global.u32 [%d12], %r2;",
        "setp.eq.u32 %p1, %r1, 5; @%p1 bra next; next:",
        "setp.eq.u32 %p1, %r1, 5; @%p1 st.global.u32 [%d12], 1;",
        "setp.eq.u32 %p1, %r1, 5; not.pred %p1, %p1; selp.b32 %r2, 1, 2, %p1; st.global.u32 [%d12], %r2;",
        "setp.eq.u32 %p1, %r1, 5; mov.u32 %r2, 0; @%p1 mov.u32 %r2, 1; st.global.u32 [%d12], %r2;",
        "cvt.rn.f32.u32 %r2, %r1; st.global.u32 [%d12], %r2;",
        "cvt.u64.u32 %d1, %r1; and.b64 %d1, %d1, 8; add.u64 %d1, %d1, %d12; ld.global.u32 %r2, [%d1];",
        "red.global.add.u32 [%d12], %r1;",
        "shfl.sync.idx.b32 %r2, %r1, 0, 31, 1; st.global.u32 [%d12], %r2;",
        "setp.eq.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, 1; @%p2 bra next; next:",
        "redux.sync.add.u32 %r2, %r1, 1; st.global.u32 [%d12], %r2;",
        // By way of shared memory, and cut in bytes.
        "st.shared.u32 [s+8], %r1; ld.shared.u32 %r2, [s+8]; st.global.u32 [%d12], %r2;",
        "mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1}; st.global.u32 [%d12], %r2;",
        "cvt.u64.u32 %d1, %r1; shl.b64 %d1, %d1, 32; shr.u64 %d1, %d1, 32; st.global.u32 [%d12], %d1;",
    ] {
        assert_eq!(found(one, &format!("{read} {use_}")), used, "{use_}");
    }
}

#[test]
fn a_byte_keeps_its_validity_through_registers() {
    let one = LaunchConfig::new(1, 1);
    // Byte 1 of a word is written, and the other bytes are not.
    let word = "st.shared.u8 [s+1], 6; ld.shared.u32 %r1, [s];";
    for (take, severity) in [
        ("bfe.u32 %r2, %r1, 8, 8;", Warning),
        ("bfe.u32 %r2, %r1, 7, 8;", Error),
        ("shr.u32 %r2, %r1, 8; and.b32 %r2, %r2, 255;", Warning),
        ("shr.u32 %r2, %r1, 8; and.b32 %r2, %r2, 511;", Error),
        ("prmt.b32 %r2, %r1, 0, 0x4441;", Warning),
        ("prmt.b32 %r2, %r1, 0, 0x4442;", Error),
        ("lop3.b32 %r2, %r1, 0xff00, 0, 0xc0;", Warning),
        ("lop3.b32 %r2, %r1, 0xff00, 0, 0x3c;", Error),
        ("shl.b32 %r2, %r1, 16; and.b32 %r2, %r2, 0xff000000;", Warning),
        ("add.u32 %r2, %r1, 0; and.b32 %r2, %r2, 0xff00;", Error),
    ] {
        let body = format!("{word} {take} setp.gt.u32 %p1, %r2, 9; @%p1 bra next; next:");
        assert_eq!(found(one, &body), [(UninitializedRead, severity)], "{take}");
    }
    // The sign of a byte is a copy of its top bit, and a sum depends on no higher bit.
    let signed = "ld.shared.s8 %r1, [s]; shr.u32 %r1, %r1, 31; setp.eq.u32 %p1, %r1, 0; @%p1 bra next; next:";
    assert_eq!(found(one, signed), [(UninitializedRead, Error)]);
    assert_eq!(found(one, &signed.replace("s8", "u8")), [(UninitializedRead, Warning)]);
    let sum = "st.shared.u16 [s], 6; ld.shared.u32 %r1, [s]; add.u32 %r1, %r1, 5; and.b32 %r1, %r1, 0xffff; st.global.u32 [%d12], %r1;";
    assert_eq!(found(one, sum), [(UninitializedRead, Warning)]);
}

#[test]
fn padding_that_is_copied_is_a_warning() {
    let one = LaunchConfig::new(1, 1);
    // A structure of a byte and a word, copied as two words.
    let copied = "st.shared.u8 [s], 6; st.shared.u32 [s+4], 7; ld.shared.v2.u32 {%r1, %r2}, [s]; st.global.v2.u32 [%d11], {%r1, %r2};";
    assert_eq!(found(one, copied), [(UninitializedRead, Warning)]);
    // The copy has the same padding, which is used afterwards.
    let used = "ld.global.u32 %r3, [%d11]; setp.eq.u32 %p1, %r3, 6; @%p1 bra next; next:";
    assert_eq!(found(one, &format!("{copied} {used}")), [(UninitializedRead, Error)]);
    let byte = "ld.global.u8 %r3, [%d11]; setp.eq.u32 %p1, %r3, 6; @%p1 bra next; next:";
    assert_eq!(found(one, &format!("{copied} {byte}")), [(UninitializedRead, Warning)]);
    // A member that nothing wrote and that was computed with is no padding.
    let computed = copied.replace("st.global", "add.u32 %r1, %r1, 1; st.global");
    assert_eq!(found(one, &computed), [(UninitializedRead, Error)]);
    // The values of the whole structure are undefined.
    let nothing = "ld.shared.v2.u32 {%r1, %r2}, [s]; st.global.v2.u32 [%d11], {%r1, %r2};";
    assert_eq!(found(one, nothing), [(UninitializedRead, Error)]);
}

#[test]
fn a_halo_whose_value_is_dropped_is_a_warning() {
    // Each thread reads its left neighbour, and thread 0 reads a word that nothing wrote. It uses
    // the value, or it does not.
    let halo = |take: &str| {
        format!(
            "st.shared.u32 [%r13+4], %r10;
            bar.sync 0;
            ld.shared.u32 %r1, [%r13];
            setp.eq.u32 %p1, %r10, 0;
            {take}
            st.global.u32 [%d12], %r1;"
        )
    };
    let config = LaunchConfig::new(2, 64);
    let dropped = halo("selp.b32 %r1, 0, %r1, %p1;");
    assert_eq!(found(config, &dropped), [(UninitializedRead, Warning)]);
    assert_eq!(found(config, &halo("")), [(UninitializedRead, Error)]);
    let guarded = halo("@%p1 mov.u32 %r1, 0;");
    assert_eq!(found(config, &guarded), [(UninitializedRead, Warning)]);
}

#[test]
fn local_variables_are_followed_too() {
    let local =
        |body: &str| format!(".local .align 16 .b8 a[64]; .reg .b64 %SP; mov.u64 %SP, a; {body}");
    let one = LaunchConfig::new(1, 40);
    let pass = "st.local.u32 [%SP], %r10; ld.local.u32 %r1, [%SP]; st.global.u32 [%d12], %r1;";
    assert_eq!(found(one, &local(pass)), []);
    let never = "ld.local.u32 %r1, [%SP+4]; st.global.u32 [%d12], %r1;";
    assert_eq!(found(one, &local(never)), [(UninitializedRead, Error)]);
    let spilled = "ld.shared.u32 %r1, [s]; st.local.u32 [%SP], %r1; ld.local.u32 %r2, [%SP]; st.global.u32 [%d12], %r2;";
    assert_eq!(found(one, &local(spilled)), [(UninitializedRead, Error)]);
}

#[test]
fn a_stray_shuffle_is_an_error_when_its_value_is_used() {
    // The upper half of the warp does not take part, and lanes 8 to 15 read from there.
    let half = |then: &str| {
        format!(
            "setp.ge.u32 %p1, %r10, 16;
            @%p1 bra done;
            shfl.sync.down.b32 %r1, %r10, 8, 31, 0xffff;
            add.u32 %r1, %r1, %r10;
            {then}
        done:"
        )
    };
    let config = LaunchConfig::new(1, 32);
    let low = half("setp.lt.u32 %p2, %r10, 8; @%p2 st.global.u32 [%d12], %r1;");
    assert_eq!(found(config, &low), [(StrayShuffle, Warning)]);
    assert_eq!(found(config, &half("st.global.u32 [%d12], %r1;")), [(StrayShuffle, Error)]);
}

#[test]
fn a_part_of_a_warp_that_exits_beside_a_barrier_is_a_warning() {
    let some = |count: u32, barrier: &str| {
        format!("setp.ge.u32 %p1, %r10, {count}; @%p1 bra done; {barrier} done:")
    };
    let config = LaunchConfig::new(2, 64);
    assert_eq!(found(config, &some(40, "bar.sync 0;")), [(DivergentBarrier, Warning)]);
    assert_eq!(found(config, &some(40, "barrier.sync.aligned 3;")), [(DivergentBarrier, Warning)]);
    // Whole warps exit, or lanes do before the others arrive, or the barrier counts threads.
    assert_eq!(found(config, &some(32, "bar.sync 0;")), []);
    assert_eq!(found(config, &some(64, "bar.sync 0;")), []);
    assert_eq!(found(config, "setp.ge.u32 %p1, %r10, 40; @%p1 exit; bar.sync 0;"), []);
    assert_eq!(found(config, &some(40, "barrier.sync 0;")), []);
    // The other lanes come later.
    let late = "setp.ge.u32 %p1, %r10, 40; @%p1 bra late; add.u32 %r1, %r10, 1; bra meet; late: add.u32 %r1, %r10, 2; meet: bar.sync 0;";
    assert_eq!(found(config, late), []);
}

#[test]
fn a_part_of_a_warp_that_runs_on_behind_a_barrier_is_an_error() {
    let config = LaunchConfig::new(2, 64);
    let error = [(DivergentBarrier, Error)];
    let skip = |barrier: &str, rest: &str| {
        format!("setp.ge.u32 %p1, %r10, 40; @%p1 bra after; {barrier} after: {rest}")
    };
    let store = "st.global.u32 [%d12], %r10;";
    assert_eq!(found(config, &skip("bar.sync 0;", store)), error);
    assert_eq!(found(config, &skip("barrier.sync.aligned 3;", store)), error);
    // A whole warp skips a barrier that the other warp alone reaches.
    let counted = "setp.ge.u32 %p1, %r10, 32; @%p1 bra after; bar.sync 1, 32; after:";
    assert_eq!(found(config, &format!("{counted} {store}")), []);
    // Lanes that leave a loop earlier than others skip its barrier.
    let turns = |count: &str| {
        format!(
            "mov.u32 %r1, 0; {count} loop: setp.ge.u32 %p1, %r1, %r2; @%p1 bra after;
            add.u32 %r1, %r1, 1; bar.sync 0; bra loop; after: {store}"
        )
    };
    assert_eq!(found(config, &turns("and.b32 %r2, %r10, 1;")), error);
    assert_eq!(found(config, &turns("mov.u32 %r2, 3;")), []);
    // Lanes that return early in a loop have executed what lies behind the barrier before.
    let early = "mov.u32 %r1, 0; loop: add.u32 %r1, %r1, 1; st.global.u32 [%d12], %r1;
        setp.gt.u32 %p1, %r1, 1; setp.ge.and.u32 %p2, %r10, 40, %p1; @%p2 bra done;
        bar.sync 0; setp.lt.u32 %p3, %r1, 3; @%p3 bra loop; done:";
    assert_eq!(found(config, early), [(DivergentBarrier, Warning)]);
}

#[test]
fn barriers_of_two_branches_that_meet_are_a_warning() {
    let config = LaunchConfig::new(2, 64);
    let branch = |a: &str, b: &str, rest: &str| {
        format!("setp.ge.u32 %p1, %r10, 32; @%p1 bra other; {a} bra done; other: {b} done: {rest}")
    };
    let (sync, store) = ("bar.sync 0;", "st.global.u32 [%d12], %r10;");
    let (warning, error) = ([(DivergentBarrier, Warning)], [(DivergentBarrier, Error)]);
    assert_eq!(found(config, &branch(sync, sync, store)), warning);
    assert_eq!(found(config, &branch(sync, "barrier.sync.aligned 0;", store)), warning);
    // One side exits after its barrier, and the other side meets its own barriers alone.
    let exits = format!("{sync} {store} exit;");
    let alone = format!("{store} {sync} {store} bar.sync 0;");
    assert_eq!(found(config, &branch(&exits, &alone, "")), warning);
    // One side meets the barrier that lies behind both.
    assert_eq!(found(config, &branch(sync, "", &format!("{sync} {store}"))), error);
    assert_eq!(
        found(config, &branch(&format!("{sync} bar.sync 0;"), sync, &format!("{sync} {store}"))),
        [(DivergentBarrier, Warning), (DivergentBarrier, Error)]
    );
    // A loop leads from one barrier to the other.
    let loops = branch(sync, sync, "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 3; @%p2 bra again;");
    assert_eq!(found(config, &format!("mov.u32 %r1, 0; again: {loops}")), error);
}

#[test]
fn a_write_behind_a_shuffle_of_what_was_read_is_a_warning() {
    let config = LaunchConfig::new(1, 64);
    // Each lane writes the word that the next lane has read.
    let sum = |between: &str| {
        format!(
            "and.b32 %r9, %r10, 31; setp.eq.u32 %p1, %r9, 0; mov.u32 %r1, 0; mov.u32 %r8, -1;
            st.shared.u32 [%r13], %r10; bar.sync 0;
            @!%p1 ld.shared.u32 %r1, [%r13+-4];
            {between}
            st.shared.u32 [%r13], %r2;"
        )
    };
    let (warning, error) = ([(WarpSynchronous, Warning)], [(WarpSynchronous, Error)]);
    let shuffle = "shfl.sync.up.b32 %r2, %r1, 1, 0, %r8;";
    assert_eq!(found(config, &sum(shuffle)), warning);
    assert_eq!(found(config, &sum(&format!("add.u32 %r1, %r1, 5; {shuffle}"))), warning);
    assert_eq!(found(config, &sum("redux.sync.add.u32 %r2, %r1, -1;")), warning);
    let vote = "setp.gt.u32 %p2, %r1, 3; vote.sync.ballot.b32 %r2, %p2, -1;";
    assert_eq!(found(config, &sum(vote)), warning);
    assert_eq!(found(config, &sum(&format!("{shuffle} bar.warp.sync -1;"))), []);
    // The shuffle takes another value, or is left out by some lanes.
    assert_eq!(found(config, &sum("shfl.sync.up.b32 %r2, %r10, 1, 0, %r8;")), error);
    let jump = format!("setp.lt.u32 %p2, %r9, 0; mov.u32 %r2, 1; @%p2 bra on; {shuffle} on:");
    assert_eq!(found(config, &sum(&jump)), error);
    let halves = "setp.lt.u32 %p2, %r9, 16; selp.b32 %r8, 0xffff, 0xffff0000, %p2;";
    assert_eq!(found(config, &sum(&format!("{halves} {shuffle}"))), error);
    // Some lanes store before the shuffle, while others load.
    let beside = format!(
        "setp.lt.u32 %p2, %r10, 16; mov.u32 %r1, 0; mov.u32 %r8, -1;
        st.shared.u32 [%r13], %r10; bar.sync 0;
        @!%p2 bra high;
        ld.shared.u32 %r1, [%r13+64];
        bra on;
        high: st.shared.u32 [%r13], %r9;
        on: {shuffle}"
    );
    assert_eq!(found(LaunchConfig::new(1, 32), &beside), error);
    // Lanes that shuffle at two instructions may do so in different turns.
    let two = |store: &str| {
        format!(
            "setp.lt.u32 %p2, %r9, 16; @%p2 bra low; {shuffle} {store} bra on; low: {shuffle} {store} on:"
        )
    };
    let store = "st.shared.u32 [%r13], %r2;";
    assert_eq!(found(config, &sum(&format!("{} {shuffle}", two("")))), warning);
    assert_eq!(found(config, &sum(&two(""))), error);
    let twice = found(
        config,
        &sum(&two(store)).replace(" on:\n            st.shared.u32 [%r13], %r2;", " on:"),
    );
    assert!(twice.len() == 2 && twice.iter().all(|of| *of == error[0]), "{twice:?}");
    // The load comes again after the write.
    let turns = format!(
        "mov.u32 %r3, 0; again: {} add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 2; @%p3 bra again;",
        sum(shuffle).replace("bar.sync 0;", "bar.sync 0; mov.u32 %r1, 0;")
    );
    assert!(found(config, &turns).contains(&error[0]));
    // A read after the write needs a sync, whatever lanes shuffle in between.
    let handed = "st.shared.u32 [%r13], %r10; shfl.sync.up.b32 %r2, %r10, 1, 0, -1;
        xor.b32 %r3, %r10, 1; mad.lo.u32 %r3, %r3, 4, s; ld.shared.u32 %r4, [%r3];";
    let handed = handed.replace("%r3, 4, s;", "%r3, 4, 0; mov.u32 %r5, s; add.u32 %r3, %r3, %r5;");
    assert_eq!(found(config, &handed), error);
}

#[test]
fn lanes_beside_a_barrier_are_named_with_lines_of_the_source() {
    let body = |rest: &str| {
        format!(
            ".loc 1 7 1
            setp.ge.u32 %p1, %r10, 40; @%p1 bra after;
            .loc 1 8 1
            bar.sync 0;
            after:
            .loc 1 9 1
            {rest}"
        )
    };
    let report = |rest: &str| {
        let module = kernel_beside(".file 1 \"k.cu\"\n", &body(rest));
        run(&module, &LaunchConfig::new(1, 64)).reports[0].to_string()
    };
    let (error, warning) = (report("st.global.u32 [%d12], %r10;"), report(""));
    let said = "lanes 8-31 of warp 1 of block (0,0,0) run on behind a barrier of whole warps, at which lanes 0-7 of the warp wait";
    assert!(
        error.contains(said) && error.contains("k.cu:8") && error.contains("k.cu:9"),
        "{error}"
    );
    let said = "lanes 0-7 of warp 1 of block (0,0,0) wait at a barrier of whole warps, and lanes 8-31 of the warp exit without it";
    assert!(warning.contains(said) && warning.contains("k.cu:8"), "{warning}");
}
