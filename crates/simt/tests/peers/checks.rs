//! `check_together`: words that carry their tag.

use simt::{Arg, LaunchConfig, Memory, Module, ReportKind, Together, check_together};

use crate::exchange::{POLL, POST, exchange, expected};
use crate::{Devices, clean, config, found, kernel, seeds};

#[track_caller]
fn races(post: &str, poll: &str) -> String {
    let (kinds, text) = found(&[exchange(post, poll)], 3);
    assert_eq!(kinds, [ReportKind::Race].into(), "{post} {poll}");
    text
}

#[test]
fn words_with_tags_are_clean() {
    for count in 1..=4 {
        for seed in seeds() {
            let devices = Devices::new(count);
            let (kinds, text) = devices.check(&[exchange(POST, POLL)], &[config(4, 1, seed)]);
            assert!(kinds.is_empty(), "{text}");
            assert_eq!(devices.words(4), expected(count as u32, 4));
        }
    }
    for post in [
        "st.volatile.global.u64 [%d4], %d5;",
        "st.release.sys.global.u64 [%d4], %d5;",
        "atom.relaxed.sys.global.exch.b64 %d1, [%d4], %d5;",
    ] {
        clean(&[exchange(post, POLL)], 3);
    }
    for poll in ["ld.volatile.global.u64 %d8, [%d7];", "ld.acquire.sys.global.u64 %d8, [%d7];"] {
        clean(&[exchange(POST, poll)], 3);
    }
}

#[test]
fn a_scope_that_does_not_hold_both_devices_is_a_race() {
    for scope in ["gpu", "cluster", "cta"] {
        let [post, poll] = [POST, POLL].map(|text| text.replace("sys", scope));
        for (post, poll) in [(POST, &*poll), (&post, POLL), (&post, &poll)] {
            let text = races(post, poll);
            assert!(
                text.contains("but the scope of one does not hold the other's device"),
                "{text}"
            );
            assert!(
                text.contains("help: give both accesses a scope that holds both devices: .sys")
            );
            assert!(text.contains("of launch 0") && text.contains("of launch 1"), "{text}");
        }
    }
}

#[test]
fn weak_accesses_race() {
    let text = races("st.global.u64 [%d4], %d5;", POLL);
    assert!(text.contains("and nothing orders the two devices"), "{text}");
    races(POST, "ld.global.u64 %d8, [%d7];");
}

#[test]
fn halves_of_a_word_race_with_the_word() {
    let text = races("st.relaxed.sys.global.v2.u32 [%d4], {%r2, %r15};", POLL);
    assert!(text.contains("of which the two cover different bytes"), "{text}");
}

#[test]
fn the_devices_own_memories_have_nothing_to_do_with_each_other() {
    // The results lie at the same address in both memories.
    let devices = Devices::new(2);
    assert_eq!(devices.outs[0], devices.outs[1]);
    clean(&[kernel("setp.eq.u32 %p1, %r10, 0; @%p1 st.global.u32 [%d11], %r13;")], 1);
    // Strong accesses to one address of two memories make no flag either.
    clean(
        &[kernel(
            "ld.relaxed.gpu.global.u32 %r1, [%d11]; red.relaxed.gpu.global.add.u32 [%d11], 1;",
        )],
        2,
    );
    // Blocks of one device race as ever.
    let (kinds, text) = found(&[kernel("st.global.u32 [%d11], %r11;")], 2);
    assert_eq!(kinds, [ReportKind::Race].into());
    assert!(text.contains("and nothing orders the two blocks"), "{text}");
}

#[test]
fn launches_of_one_memory_need_no_more_than_the_devices_scope() {
    let post = |scope: &str| kernel(&format!("st.relaxed.{scope}.global.u32 [%d11], %r13;"));
    let check = |module: &Module| {
        let memory = Memory::checked(1 << 20);
        let (table, out) = (memory.alloc(16).unwrap(), memory.alloc(4).unwrap());
        memory.write(table, &[0; 16]).unwrap();
        let args = [0, 1].map(|rank: u32| {
            [Arg::Pointer(table), Arg::Pointer(out), Arg::U32(rank), Arg::U32(2), Arg::U32(0)]
        });
        let config = LaunchConfig::new(1, 1);
        let kernel = module.kernel("k").unwrap();
        let launches =
            [0, 1].map(|i| Together { kernel, config: &config, args: &args[i], memory: &memory });
        let checked = check_together(&launches).unwrap();
        checked.reports.first().map_or(String::new(), ToString::to_string)
    };
    assert_eq!(check(&post("gpu")), "");
    let text = check(&post("cta"));
    assert!(text.contains("but the scope of one does not hold the other's block"), "{text}");
    assert!(text.contains("of launch 0") && text.contains("of launch 1"), "{text}");
}

#[test]
fn each_party_is_named_in_its_own_kernel() {
    let text = |name: &str, body: &str| {
        let text = format!(
            ".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 out,
    .param .u32 rank, .param .u32 count, .param .u32 tag) {{
.reg .b64 %d<4>;
ld.param.u64 %d1, [table];
ld.global.u64 %d1, [%d1];
{body}
ret;
}}"
        );
        Module::from_ptx(name, &text).unwrap()
    };
    let modules = [
        text("first.ptx", "st.global.u32 [%d1], 1;"),
        text("second.ptx", "add.u64 %d2, %d1, 0;\nst.global.u32 [%d2], 2;"),
    ];
    let devices = Devices::new(2);
    let checked = check_together(&devices.launches(&modules, &[LaunchConfig::new(1, 1)])).unwrap();
    let [report] = &checked.reports[..] else { panic!("{:?}", checked.reports) };
    let other = report.other.as_ref().unwrap();
    assert_eq!((report.here.launch, other.launch), (Some(1), Some(0)));
    assert_eq!((&*report.here.module, report.here.line), ("second.ptx", 10));
    assert_eq!((&*other.module, other.line), ("first.ptx", 9));
    assert_eq!(other.instruction, "st.global.u32 [%d1], 1;");
    let text = report.to_string();
    assert!(text.contains("second.ptx:10") && text.contains("first.ptx:9"), "{text}");
}

#[test]
fn launches_may_have_blocks_of_different_sizes() {
    // The second launch has shared memory and two warps, the first has neither.
    let large = kernel(
        ".shared .align 4 .b8 s[1024];
        mov.u32 %r1, s;
        mad.lo.u32 %r1, %r10, 4, %r1;
        st.shared.u32 [%r1], %r10;
        bar.sync 0;
        xor.b32 %r2, %r10, 32;
        mov.u32 %r3, s;
        mad.lo.u32 %r3, %r2, 4, %r3;
        ld.shared.u32 %r4, [%r3];
        setp.eq.u32 %p1, %r10, 0;
        @%p1 st.global.u32 [%d11], %r4;",
    );
    let modules = [kernel("bar.sync 0;"), large];
    let configs = [config(6, 1, None), LaunchConfig { block: 64.into(), ..config(6, 1, None) }];
    let devices = Devices::new(2);
    let (kinds, text) = devices.check(&modules, &configs);
    // The blocks write the same value to one word.
    assert_eq!(kinds, [ReportKind::Race].into(), "{text}");
    assert!(text.starts_with("warning"), "{text}");
    assert_eq!(devices.words(1), [[0], [32]]);
}
