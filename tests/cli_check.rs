//! Tests of `reduce --check` as its user meets it.

mod support;

use cuda_builder::manifest::{FILE_NAME, sha256_hex};
use serde_json::Value as Json;
use support::{Run, Sandbox};
use warpfold_lab::{ptx::PtxLibrary, variant::Variant};

/// A fresh sandbox with the module of a kernel, in which the PTX is changed.
fn with_ptx(kernel: &str, change: impl Fn(&str) -> String) -> Sandbox {
    let sandbox = Sandbox::new();
    let library = PtxLibrary::embedded().unwrap();
    let ptx = library.find(kernel, (9, 0)).unwrap();
    let text = change(&ptx.text);
    assert_ne!(text, ptx.text);
    let mut manifest = library.manifest().clone();
    manifest.modules.iter_mut().find(|module| module.file == ptx.file).unwrap().sha256 =
        sha256_hex(text.as_bytes());
    sandbox.write(FILE_NAME, manifest.to_json().as_bytes());
    sandbox.write(&ptx.file, text.as_bytes());
    sandbox
}

fn json(run: &Run) -> Json {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

#[test]
fn every_rung_is_clean() {
    for variant in Variant::all() {
        let run = Sandbox::new().reduce_line(&format!("--variant {variant} --n 3000 --check"));
        assert_eq!(run.status, Some(0), "{run}");
        let last = run.stdout.lines().last().unwrap();
        assert!(last.starts_with("checks: nothing found in ") && last.contains(" launch"), "{run}");
        let run =
            Sandbox::new().reduce_line(&format!("--variant {variant} --n 3000 --check --json"));
        assert_eq!(run.status, Some(0), "{run}");
        let report = json(&run);
        assert_eq!(
            (&report["reports"], &report["faults"]),
            (&serde_json::json!([]), &serde_json::json!([])),
            "{run}"
        );
    }
}

#[test]
fn without_a_barrier_there_is_a_race() {
    let sandbox = with_ptx("reduce3_sum_i32", |text| text.replace("bar.sync", "// bar.sync"));
    let run = sandbox.reduce_line("--variant 3 --n 256 --check --ptx-dir .");
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stdout.contains("\nerror[race]: thread "), "{run}");
    assert!(run.stdout.contains("  --> kernels/src/ladder/reduce3.rs:"), "{run}");
    assert!(run.stderr.starts_with("error: "), "{run}");
    assert!(
        run.stdout.lines().last().unwrap().starts_with("checks: 3 reports in 1 launch"),
        "{run}"
    );

    let run = sandbox.reduce_line("--variant 3 --n 256 --check --ptx-dir . --json");
    assert_eq!(run.status, Some(1), "{run}");
    let report = json(&run);
    let race = report["reports"].as_array().unwrap().iter().find(|report| report["kind"] == "race");
    let race = race.unwrap_or_else(|| panic!("{run}"));
    assert_eq!(race["kernel"], "reduce3_sum_i32", "{run}");
    for party in [&race["here"], &race["other"]] {
        assert!(party["instruction"].as_str().unwrap().contains(".shared."), "{run}");
        assert!(party["access"].is_string() && party["line"].is_u64(), "{run}");
    }
    assert_eq!(report["faults"], serde_json::json!([]), "{run}");
}

#[test]
fn without_its_fence_the_last_block_races() {
    let sandbox = with_ptx("reduce10_sum_i32", |text| text.replace("membar.gl", "// membar.gl"));
    let run = sandbox.reduce_line("--variant 10 --n 9000 --block 64 --check --ptx-dir .");
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stdout.contains("  --> kernels/src/ladder/reduce10.rs:"), "{run}");
}

#[test]
fn a_fault_stops_the_run_and_is_told() {
    // In this kernel the bound of the input is not checked.
    let sandbox = with_ptx("reduce3_sum_i32", |text| text.replace("setp.ge.u64", "setp.eq.u64"));
    let run = sandbox.reduce_line("--variant 3 --n 1000 --check --ptx-dir . --json");
    assert_eq!(run.status, Some(1), "{run}");
    let report = json(&run);
    assert_eq!(report["faults"].as_array().unwrap().len(), 1, "{run}");
    assert!(report["faults"][0]["instruction"].as_str().unwrap().starts_with("ld.global"), "{run}");
    let run = sandbox.reduce_line("--variant 3 --n 1000 --check --ptx-dir .");
    assert!(run.stdout.ends_with("checks: 1 fault in 1 launch\n"), "{run}");
    assert_eq!(run.stderr, "error: --check: 1 fault of reduce3_sum_i32\n", "{run}");
    assert_eq!(run.status, Some(1), "{run}");
}

#[test]
fn a_gpu_cannot_check() {
    let run = Sandbox::new().reduce_line("--variant 3 --n 1000 --check --device cuda");
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert_eq!(
        run.stderr,
        "error: --check with --device cuda: only the simulator can check a kernel\n"
    );
}
