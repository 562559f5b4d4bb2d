//! The reports of `check`, and the absence of wrong reports: each class has a twin that is clean,
//! and each is checked in several orders of the warps.

#![allow(clippy::format_push_string, reason = "kernels are put together from text")]

#[path = "../../../warpfold/build/archive.rs"]
mod archive;
mod fences;
mod handover;
mod programs;
mod races;
mod reports;
mod severities;
mod shipped;
mod uninitialized;
mod values;
mod warps;

use std::collections::BTreeSet;

use simt::{Arg, Checked, LaunchConfig, Memory, Module, ReportKind, check};

/// The seeds for the orders of the warps.
pub(crate) const SEEDS: [Option<u64>; 5] = [None, Some(1), Some(2), Some(3), Some(4)];

/// A module with one kernel `k(data, out)` and 4096 bytes `s` of shared memory. `%d10` is `data`,
/// `%d11` is `out`, and `%d12` is the address of the thread's own word of `out`. `%r10` is the
/// number of the thread, `%r11` of the block, and `%r12` of the thread in the grid. `%r13` is the
/// address of the thread's own word of `s`.
pub(crate) fn kernel(body: &str) -> Module {
    kernel_beside("", body)
}

/// As [`kernel`], in a module with other declarations.
pub(crate) fn kernel_beside(declarations: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.8
.target sm_90
.address_size 64
{declarations}.visible .entry k(.param .u64 data, .param .u64 out) {{
.shared .align 16 .b8 s[4096];
.reg .pred %p<10>;
.reg .b16 %h<10>;
.reg .b32 %r<20>;
.reg .b64 %d<20>;
ld.param.u64 %d10, [data];
ld.param.u64 %d11, [out];
mov.u32 %r10, %tid.x;
mov.u32 %r11, %ctaid.x;
mov.u32 %r12, %ntid.x;
mad.lo.u32 %r12, %r11, %r12, %r10;
mul.wide.u32 %d12, %r12, 4;
add.u64 %d12, %d11, %d12;
mov.u32 %r13, s;
mad.lo.u32 %r13, %r10, 4, %r13;
{body}
ret;
}}"
    );
    Module::from_ptx("k.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Checks `k` once, with 4096 bytes of `data` and a mebibyte of `out`, which are both written
/// before.
pub(crate) fn run(module: &Module, config: &LaunchConfig) -> Checked {
    let memory = Memory::checked(1 << 24);
    let (data, out) = (memory.alloc(4096).unwrap(), memory.alloc(1 << 20).unwrap());
    memory.write(data, &[0; 4096]).unwrap();
    memory.write(out, &vec![0; 1 << 20]).unwrap();
    let kernel = module.kernel("k").unwrap();
    check(kernel, config, &[Arg::Pointer(data), Arg::Pointer(out)], &memory)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The classes of the reports on a kernel. They must be the same in every order of its warps.
#[track_caller]
pub(crate) fn classes(config: LaunchConfig, body: &str) -> Vec<ReportKind> {
    let module = kernel(body);
    let mut first = None;
    for seed in SEEDS {
        let checked = run(&module, &LaunchConfig { seed, ..config });
        assert_eq!(checked.fault, None, "seed {seed:?}");
        let kinds: BTreeSet<ReportKind> =
            checked.reports.iter().map(|report| report.kind).collect();
        let text: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        println!("seed {seed:?}\n{}", text.join("\n"));
        assert_eq!(*first.get_or_insert(kinds.clone()), kinds, "seed {seed:?}");
    }
    first.into_iter().flatten().collect()
}

#[track_caller]
pub(crate) fn clean(config: LaunchConfig, body: &str) {
    assert_eq!(classes(config, body), []);
}
