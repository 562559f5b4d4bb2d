//! Kernels that run side by side on several simulated devices and reach each other's memory. Each
//! device has an inbox, which all devices share, and a memory of its own. The tests look at the
//! results, the faults and the reports of `check_together`.

#![allow(clippy::format_push_string, reason = "kernels are put together from text")]

mod checks;
mod exchange;
mod handover;
mod memory;
mod stops;

use std::collections::BTreeSet;

use simt::{
    Arg, LaunchConfig, Memory, Module, ReportKind, Together, TogetherError, check_together,
    launch_together,
};

/// How many words of 64 bits an inbox has.
const WORDS: usize = 256;
/// The tag of the words that the devices send.
const TAG: u32 = 7;

/// A module with one kernel `k(table, out, rank, count, tag)` for blocks of 32 threads. `%d10` is
/// the table with the address of each device's inbox, and `%d11` is `out`. `%r13` is the rank of
/// the device, `%r14` the number of devices, and `%r15` the tag. `%r10` is the number of the
/// thread, and `%r11` that of the block. `%d12` is the inbox of the device itself, and `%d13` the
/// inbox of the next device.
fn kernel(body: &str) -> Module {
    let text = format!(
        ".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 out,
    .param .u32 rank, .param .u32 count, .param .u32 tag) {{
.reg .pred %p<10>;
.reg .b32 %r<20>;
.reg .b64 %d<20>;
ld.param.u64 %d10, [table];
ld.param.u64 %d11, [out];
ld.param.u32 %r13, [rank];
ld.param.u32 %r14, [count];
ld.param.u32 %r15, [tag];
mov.u32 %r10, %tid.x;
mov.u32 %r11, %ctaid.x;
mul.wide.u32 %d12, %r13, 8;
add.u64 %d12, %d10, %d12;
ld.global.u64 %d12, [%d12];
add.u32 %r12, %r13, 1;
rem.u32 %r12, %r12, %r14;
mul.wide.u32 %d13, %r12, 8;
add.u64 %d13, %d10, %d13;
ld.global.u64 %d13, [%d13];
{body}
ret;
}}"
    );
    Module::from_ptx("k.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The memories of several devices, and what lies in them.
struct Devices {
    memories: Vec<Memory>,
    inboxes: Vec<u64>,
    args: Vec<[Arg; 5]>,
    outs: Vec<u64>,
}

impl Devices {
    /// `count` devices, whose inboxes and results are zeros that the host has written.
    fn new(count: usize) -> Devices {
        let memories: Vec<_> = (0..count).map(|_| Memory::checked(1 << 20)).collect();
        let inboxes: Vec<u64> = (0..count)
            .map(|owner| {
                let mut sharing: Vec<&Memory> = memories.iter().collect();
                sharing.swap(0, owner);
                let inbox = Memory::alloc_shared(&sharing, WORDS as u64 * 8).unwrap();
                memories[owner].write(inbox, &[0; WORDS * 8]).unwrap();
                inbox
            })
            .collect();
        let table: Vec<u8> = inboxes.iter().flat_map(|inbox| inbox.to_le_bytes()).collect();
        let mut args = Vec::new();
        let mut outs = Vec::new();
        for (rank, memory) in memories.iter().enumerate() {
            let (there, out) = (memory.alloc(64).unwrap(), memory.alloc(1 << 10).unwrap());
            memory.write(there, &table).unwrap();
            memory.write(out, &[0; 1 << 10]).unwrap();
            args.push([
                Arg::Pointer(there),
                Arg::Pointer(out),
                Arg::U32(rank as u32),
                Arg::U32(count as u32),
                Arg::U32(TAG),
            ]);
            outs.push(out);
        }
        Devices { memories, inboxes, args, outs }
    }

    /// One launch for each device. The modules and the configurations are used again from the start
    /// if there are fewer of them than devices.
    fn launches<'a>(
        &'a self,
        modules: &'a [Module],
        configs: &'a [LaunchConfig],
    ) -> Vec<Together<'a>> {
        let devices = self.memories.iter().zip(&self.args).enumerate();
        devices
            .map(|(rank, (memory, args))| Together {
                kernel: modules[rank % modules.len()].kernel("k").unwrap(),
                config: &configs[rank % configs.len()],
                args,
                memory,
            })
            .collect()
    }

    fn run(&self, modules: &[Module], configs: &[LaunchConfig]) -> Result<(), TogetherError> {
        launch_together(&self.launches(modules, configs))
    }

    /// The classes of the reports of `check_together`, and the texts of the reports.
    #[track_caller]
    fn check(
        &self,
        modules: &[Module],
        configs: &[LaunchConfig],
    ) -> (BTreeSet<ReportKind>, String) {
        let checked = check_together(&self.launches(modules, configs));
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        let texts: Vec<String> = checked.reports.iter().map(ToString::to_string).collect();
        assert_eq!(checked.fault, None, "{texts:?}");
        (checked.reports.iter().map(|report| report.kind).collect(), texts.join("\n\n"))
    }

    /// The first words of each device's `out`.
    fn words(&self, count: usize) -> Vec<Vec<u32>> {
        let of = |(memory, out): (&Memory, &u64)| {
            let mut bytes = vec![0; count * 4];
            memory.read(*out, &mut bytes).unwrap();
            bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        self.memories.iter().zip(&self.outs).map(of).collect()
    }
}

/// A launch of `blocks` blocks of a warp each.
fn config(blocks: u32, workers: usize, seed: Option<u64>) -> LaunchConfig {
    LaunchConfig {
        workers: Some(workers),
        seed,
        budget: Some(20_000_000),
        ..LaunchConfig::new(blocks, 32)
    }
}

/// No seed, and 16 seeds.
fn seeds() -> impl Iterator<Item = Option<u64>> {
    std::iter::once(None).chain((0..16).map(Some))
}

/// The classes of the reports of `check_together` on two devices, with all seeds together, and the
/// texts of the reports with the last seed that has any.
#[track_caller]
fn found(modules: &[Module], blocks: u32) -> (BTreeSet<ReportKind>, String) {
    let mut all = BTreeSet::new();
    let mut text = String::new();
    for seed in seeds() {
        let (kinds, texts) = Devices::new(2).check(modules, &[config(blocks, 1, seed)]);
        all.extend(kinds);
        text = if texts.is_empty() { text } else { texts };
    }
    (all, text)
}

/// Asserts that `check_together` finds nothing on two devices, whatever the seed is.
#[track_caller]
fn clean(modules: &[Module], blocks: u32) {
    assert_eq!(found(modules, blocks), (BTreeSet::new(), String::new()));
}
