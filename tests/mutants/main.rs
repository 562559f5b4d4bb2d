//! Tests that the checks find errors. The mutants are faulty twins of the kernels that we ship, and
//! of further kernels with features that the ladder lacks. All mutants are reported; the kernels
//! themselves are not.
//!
//! The mutants are data: a launch, and edits of its PTX (tests/data/mutants). Those of `plan.json`
//! are also replayed on an H100 under compute-sanitizer. Those of `more.json` (other types,
//! operations and block sizes), of `reducer.json` (the production reducer), of `rows.rs`,
//! `repair.rs`, `segments.rs`, `runs.rs`, `keyed.rs`, `bins.rs`, `exchange.rs` and `fused.rs` are
//! only simulated.

mod bins;
mod devices;
mod exchange;
mod fused;
mod keyed;
mod reducer;
mod repair;
mod rows;
mod runs;
mod sanitizer;
mod segments;
mod shipped;
#[path = "../support/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bench::plan::{Case, Plan};
use simt::args::ArgSpec;
use simt::{Arg, Checked, LaunchConfig, Memory, Module, check};

/// The seeds of the orders in which the warps run.
const SEEDS: [Option<u64>; 4] = [None, Some(1), Some(2), Some(3)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn plan(name: &str) -> Plan {
    Plan::read(&root().join("tests/data/mutants").join(name))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

/// The outcome of a checked launch, and the contents of the buffers after it.
struct Outcome {
    checked: Checked,
    buffers: Vec<Vec<u8>>,
}

impl Outcome {
    /// The classes of all findings.
    fn classes(&self) -> BTreeSet<&'static str> {
        let reports = self.checked.reports.iter().map(|report| report.kind.name());
        reports.chain(self.checked.fault.iter().map(|fault| fault.kind.name())).collect()
    }

    /// The text of all findings.
    fn text(&self) -> String {
        let reports = self.checked.reports.iter().map(ToString::to_string);
        let all: Vec<String> =
            reports.chain(self.checked.fault.iter().map(ToString::to_string)).collect();
        if all.is_empty() { "nothing was reported".to_owned() } else { all.join("\n") }
    }
}

fn text(case: &Case) -> String {
    case.text(&root()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn module(case: &Case) -> Module {
    Module::from_ptx(&case.ptx, &text(case))
        .unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn run(case: &Case, module: &Module, seed: Option<u64>) -> Outcome {
    let kernel = module
        .kernel(&case.entry)
        .unwrap_or_else(|| panic!("{}: no kernel {}", case.name, case.entry));
    let config = LaunchConfig {
        seed,
        // The budget ends a mutant that would wait for ever.
        budget: Some(1 << 24),
        ..case.config()
    };
    let memory = Memory::checked(16 << 20);
    let args: Vec<Arg> = case.args.iter().map(|arg| arg.place(&memory).unwrap()).collect();
    let checked = check(kernel, &config, &args, &memory)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let buffers = case.args.iter().zip(&args).filter_map(|pair| match pair {
        (ArgSpec::Buffer(buffer), Arg::Pointer(address)) => {
            let mut bytes = vec![0; buffer.size() as usize];
            memory.read(*address, &mut bytes).unwrap();
            Some(bytes)
        }
        _ => None,
    });
    Outcome { checked, buffers: buffers.collect() }
}

/// The lines in which a mutant differs from its original.
fn difference(base: &Case, mutant: &Case) -> String {
    let mut lines = String::new();
    for (number, (old, new)) in text(base).lines().zip(text(mutant).lines()).enumerate() {
        if old != new {
            let _ =
                writeln!(lines, "{}:{}\n- {}\n+ {}", base.ptx, number + 1, old.trim(), new.trim());
        }
    }
    lines
}

/// Runs every case of a plan in every order. The reports on a mutant must contain its class.
/// Originals, and mutants whose class is `clean`, must have no reports.
fn prove(plan: &Plan) {
    let mut failures = Vec::new();
    let mut wrong = Vec::new();
    for case in &plan.cases {
        let module = module(case);
        let outcomes = SEEDS.map(|seed| (seed, run(case, &module, seed)));
        let Some(mutation) = &case.mutation else {
            for (seed, outcome) in &outcomes {
                if !outcome.classes().is_empty() {
                    failures.push(format!(
                        "{}, seed {seed:?}, is clean:\n{}",
                        case.name,
                        outcome.text()
                    ));
                }
            }
            continue;
        };
        let base = plan.cases.iter().find(|base| base.name == mutation.of).unwrap();
        for (seed, outcome) in &outcomes {
            let classes = outcome.classes();
            let expected = if mutation.class == "clean" {
                classes.is_empty()
            } else {
                classes.contains(&*mutation.class)
            };
            if !expected {
                failures.push(format!(
                    "{}, seed {seed:?}, should be {}:\n{}\n{}",
                    case.name,
                    mutation.class,
                    difference(base, case),
                    outcome.text()
                ));
            }
        }
        let [(_, outcome), ..] = &outcomes;
        if outcome.checked.fault.is_none()
            && outcome.buffers != run(base, &self::module(base), None).buffers
        {
            wrong.push(&*case.name);
        }
    }
    println!("{} mutants give a wrong result, too: {}", wrong.len(), wrong.join(", "));
    assert!(
        failures.is_empty(),
        "{} launches are not what they should be:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn mutants_are_reported_and_nothing_else() {
    prove(&plan("plan.json"));
}

#[test]
fn mutants_of_other_types_and_shapes_are_too() {
    prove(&plan("more.json"));
}

/// The mutants of `plan.json` cover all rungs and all classes.
#[test]
fn no_rung_and_no_class_is_left_out() {
    let plan = plan("plan.json");
    let mutations = || plan.cases.iter().filter_map(|case| Some((case, case.mutation.as_ref()?)));
    assert!(mutations().count() >= 40, "{} mutants", mutations().count());
    let kernels: BTreeSet<&str> =
        mutations().filter_map(|(case, _)| case.entry.split('_').next()).collect();
    for rung in [
        "reduce0", "global", "reduce1", "reduce2", "reduce3", "reduce4", "reduce5", "reduce6",
        "reduce7",
    ] {
        assert!(kernels.contains(rung), "no mutant of {rung}");
    }
    let classes: BTreeSet<&str> = mutations().map(|(_, mutation)| &*mutation.class).collect();
    let expected = [
        "absent-lanes",
        "clean",
        "divergent-barrier",
        "misaligned",
        "not-in-mask",
        "out-of-bounds",
        "race",
        "stray-shuffle",
        "uninitialized-read",
        "warp-synchronous",
    ];
    assert_eq!(classes, BTreeSet::from(expected));
}
