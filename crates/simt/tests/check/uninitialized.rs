//! Reads of bytes that nothing has written.

use simt::ReportKind::UninitializedRead;
use simt::{Arg, Checked, LaunchConfig, Memory, Module, check, launch};

use crate::{classes, clean, kernel};

fn checked(
    module: &Module,
    config: &LaunchConfig,
    data: u64,
    out: u64,
    memory: &Memory,
) -> Checked {
    check(module.kernel("k").unwrap(), config, &[Arg::Pointer(data), Arg::Pointer(out)], memory)
        .unwrap()
}

#[test]
fn shared_memory_begins_undefined_in_each_block() {
    let config = LaunchConfig::new(5, 64);
    clean(config, "st.shared.u32 [%r13], 1; ld.shared.u32 %r1, [%r13];");
    assert_eq!(classes(config, "ld.shared.u32 %r1, [%r13];"), [UninitializedRead]);
    assert_eq!(classes(config, "red.shared.add.u32 [%r13], 1;"), [UninitializedRead]);
    // The values that the first block wrote are not there for the second block.
    let first =
        "setp.eq.u32 %p1, %r11, 0; @%p1 st.shared.u32 [%r13], 1; ld.shared.u32 %r1, [%r13];";
    clean(LaunchConfig::new(1, 64), first);
    assert_eq!(classes(config, first), [UninitializedRead]);
    // The last lane reads the word after the written ones.
    let shift = "st.shared.u32 [%r13], 1; bar.sync 0; ld.shared.u32 %r1, [%r13+4];";
    assert_eq!(classes(config, shift), [UninitializedRead]);
    let one_more = "setp.eq.u32 %p1, %r10, 0; st.shared.u32 [%r13], 1; @%p1 st.shared.u32 [s+256], 2; bar.sync 0; ld.shared.u32 %r1, [%r13+4];";
    clean(LaunchConfig::new(5, 64), one_more);
    // Only half of the word is written.
    assert_eq!(
        classes(config, "st.shared.u16 [%r13], %h1; ld.shared.u32 %r1, [%r13];"),
        [UninitializedRead]
    );
    clean(config, "st.shared.u16 [%r13], %h1; ld.shared.u16 %h1, [%r13];");
}

#[test]
fn the_host_or_a_kernel_writes_global_memory_first() {
    let read = kernel(
        "mul.wide.u32 %d1, %r12, 4; add.u64 %d1, %d1, %d10; ld.global.u32 %r1, [%d1]; st.global.u32 [%d12], %r1;",
    );
    let config = LaunchConfig::new(2, 64);
    let memory = Memory::checked(1 << 20);
    let (data, out, last) =
        (memory.alloc(512).unwrap(), memory.alloc(512).unwrap(), memory.alloc(512).unwrap());
    memory.write(data, &[1; 500]).unwrap();
    let found = checked(&read, &config, data, out, &memory).reports;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, UninitializedRead);
    assert_eq!(found[0].count, 3, "words 125 to 127");
    assert_eq!(found[0].here.thread.x, 61);
    memory.write(data + 500, &[1; 12]).unwrap();
    assert_eq!(checked(&read, &config, data, out, &memory).reports, []);
    // Another kernel may read the bytes that the kernel wrote.
    assert_eq!(checked(&read, &config, out, last, &memory).reports, []);
}

#[test]
fn a_partial_write_leaves_the_rest_of_a_word() {
    let memory = Memory::checked(1 << 20);
    let data = memory.alloc(64).unwrap();
    memory.write(data, &[1; 3]).unwrap();
    let word = kernel("ld.global.u32 %r1, [%d10];");
    let found = checked(&word, &LaunchConfig::new(1, 1), data, data, &memory).reports;
    assert!(found[0].message.contains("of which nothing has written 1"), "{}", found[0]);
    let bytes = kernel("ld.global.u8 %r1, [%d10+2]; ld.global.u16 %h1, [%d10];");
    assert_eq!(checked(&bytes, &LaunchConfig::new(1, 1), data, data, &memory).reports, []);
    let vector = kernel("ld.global.v2.u64 {%d1, %d2}, [%d10];");
    assert!(
        checked(&vector, &LaunchConfig::new(1, 1), data, data, &memory).reports[0]
            .message
            .contains("written 13")
    );
}

#[test]
fn launches_that_are_not_checked_count_as_writing_everything() {
    let read = kernel("ld.global.u32 %r1, [%d10];");
    let memory = Memory::checked(1 << 20);
    let data = memory.alloc(64).unwrap();
    let config = LaunchConfig::new(1, 1);
    assert_eq!(checked(&read, &config, data, data, &memory).reports.len(), 1);
    launch(read.kernel("k").unwrap(), &config, &[Arg::Pointer(data), Arg::Pointer(data)], &memory)
        .unwrap();
    assert_eq!(checked(&read, &config, data, data, &memory).reports, []);
    // A memory that does not record writes reports nothing.
    let plain = Memory::new(1 << 20);
    let data = plain.alloc(64).unwrap();
    assert_eq!(checked(&read, &config, data, data, &plain).reports, []);
}

#[test]
fn variables_of_a_module_begin_as_zero() {
    let module = Module::from_ptx(
        "variables.ptx",
        ".version 8.0
        .target sm_90
        .address_size 64
        .global .align 4 .b8 zero[64];
        .global .align 4 .u32 some[2] = {1};
        .const .align 4 .u32 fixed = 5;
        .visible .entry k(.param .u64 data, .param .u64 out) {
        .reg .b32 %r<4>;
        ld.global.u32 %r1, [zero+60];
        ld.global.u32 %r2, [some+4];
        ld.const.u32 %r3, [fixed];
        ret;
        }",
    )
    .unwrap();
    let memory = Memory::checked(1 << 20);
    assert_eq!(checked(&module, &LaunchConfig::new(1, 32), 0, 0, &memory).reports, []);
}
