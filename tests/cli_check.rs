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
        run.stdout.lines().last().unwrap().starts_with("checks: 3 errors in 1 launch"),
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

/// A sandbox in which all threads of rung 3 store the result, which is a warning, because they all
/// store the same value.
fn with_a_warning() -> Sandbox {
    with_ptx("reduce3_sum_i32", |text| {
        text.replace("setp.eq.b32 \t%p5, %r8, 0;", "setp.ge.u32 \t%p5, %r8, 0;")
    })
}

#[test]
fn known_findings_are_suppressed() {
    let sandbox = with_a_warning();
    let line = "--variant 3 --n 256 --check --ptx-dir . --suppress known.toml";
    let suppress = |class: &str, kernel: &str| {
        format!("[[suppress]]\nclass = '{class}'\nkernel = '{kernel}'\nreason = 'a test'\n")
    };
    sandbox.write("known.toml", suppress("race", "reduce3_*").as_bytes());
    let run = sandbox.reduce_line(line);
    assert_eq!(run.status, Some(0), "{run}");
    assert!(run.stdout.ends_with("\nchecks: 1 suppressed in 1 launch\n"), "{run}");
    assert!(!run.stdout.contains("warning[race]"), "{run}");
    let report = json(&sandbox.reduce_line(&format!("{line} --json")));
    assert_eq!(report["reports"], serde_json::json!([]), "{report}");
    let [suppressed] = report["suppressed"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!((&suppressed["kind"], &suppressed["reason"]), (&"race".into(), &"a test".into()));

    // A suppression of another kernel accepts nothing, and is a note.
    sandbox.write("known.toml", suppress("race", "reduce4_*").as_bytes());
    let run = sandbox.reduce_line(line);
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stdout.contains("\nwarning[race]: thread "), "{run}");
    assert!(
        run.stdout.contains("\nnote[unused-suppression]: this suppression of `race` accepts no "),
        "{run}"
    );
    assert!(run.stdout.contains("\n  --> known.toml:1\n"), "{run}");
    assert!(run.stdout.ends_with("\nchecks: 1 warning and 1 note in 1 launch\n"), "{run}");
    let report = json(&sandbox.reduce_line(&format!("{line} --json")));
    assert_eq!(report["unused_suppressions"][0]["line"], 1, "{report}");

    // A file that cannot be used is refused before the run.
    for (text, told) in [
        (suppress("rase", "*"), "`rase` is no class of reports: it must be one of race, "),
        ("[[suppress]]\nclass = 'race'\n".to_owned(), "missing field `reason`"),
    ] {
        sandbox.write("known.toml", text.as_bytes());
        let run = sandbox.reduce_line(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.starts_with("error: known.toml: line "), "{run}");
        assert!(run.stderr.contains(told), "{run}");
    }
    let run = sandbox.reduce_line("--variant 3 --n 256 --check --suppress none.toml");
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.starts_with("error: cannot read none.toml: "), "{run}");
}

#[test]
fn findings_are_written_as_sarif() {
    let results = |sandbox: &Sandbox, line: &str, status: i32| -> Vec<Json> {
        let run = sandbox.reduce_line(&format!("{line} --check --sarif log.sarif"));
        assert_eq!(run.status, Some(status), "{run}");
        let log: Json = serde_json::from_str(&sandbox.read("log.sarif")).unwrap();
        assert_eq!(log["version"], "2.1.0");
        log["runs"][0]["results"].as_array().unwrap().clone()
    };
    let sandbox = with_a_warning();
    let line = "--variant 3 --n 256 --ptx-dir .";
    let found = results(&sandbox, line, 1);
    let [race] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&race["ruleId"], &race["level"]), (&"race".into(), &"warning".into()), "{race}");
    let place = &race["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, "kernels/src/ladder/reduce3.rs", "{race}");

    sandbox.write("known.toml", b"[[suppress]]\nclass = 'race'\nreason = 'a test'\n");
    let accepted = results(&sandbox, &format!("{line} --suppress known.toml"), 0);
    assert_eq!(accepted[0]["suppressions"][0]["justification"], "a test", "{accepted:?}");
    assert!(results(&Sandbox::new(), "--variant 4 --n 256", 0).is_empty());
    // A fault ends the run before there is a result, and is written too.
    let faulty = with_ptx("reduce3_sum_i32", |text| text.replace("setp.ge.u64", "setp.eq.u64"));
    let faults = results(&faulty, "--variant 3 --n 1000 --ptx-dir .", 1);
    assert_eq!((faults.len(), &faults[0]["ruleId"]), (1, &"out-of-bounds".into()));

    let run = sandbox.reduce_line("--variant 4 --n 256 --check --sarif none/log.sarif");
    assert_eq!(run.status, Some(1), "{run}");
    assert!(run.stderr.contains("error: cannot write none/log.sarif: "), "{run}");
}

#[test]
fn a_severity_decides_the_exit_status() {
    let sandbox = with_a_warning();
    for (fail_on, status) in [
        ("", 1),
        (" --fail-on note", 1),
        (" --fail-on warning", 1),
        (" --fail-on error", 0),
        (" --fail-on never", 0),
    ] {
        let run = sandbox.reduce_line(&format!("--variant 3 --n 256 --check --ptx-dir .{fail_on}"));
        assert!(run.stdout.contains("\nwarning[race]: "), "{run}");
        assert!(run.stdout.ends_with("\nchecks: 1 warning in 1 launch\n"), "{run}");
        assert_eq!(run.status, Some(status), "{run}");
        let told = run.stderr.contains("error: --check: 1 warning of reduce3_sum_i32\n");
        assert_eq!(told, status == 1, "{run}");
    }
    // A fault always fails, and so does a wrong argument.
    let faulty = with_ptx("reduce3_sum_i32", |text| text.replace("setp.ge.u64", "setp.eq.u64"));
    let run = faulty.reduce_line("--variant 3 --n 1000 --check --ptx-dir . --fail-on never");
    assert_eq!(run.status, Some(1), "{run}");
    let run = sandbox.reduce_line("--variant 3 --n 256 --check --fail-on bad");
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("it must be one of error, warning, note, never"), "{run}");
    for option in ["--fail-on error", "--suppress a.toml", "--sarif a.sarif"] {
        let run = sandbox.reduce_line(&format!("--variant 3 --n 256 {option}"));
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains("--check"), "{run}");
    }
}

#[test]
fn a_transposition_takes_the_same_options() {
    let sandbox = Sandbox::new();
    let line = "--variant padded --rows 40 --check --sarif log.sarif --fail-on note --json";
    let run = sandbox.tool("transpose", line.split(' '));
    assert_eq!(run.status, Some(0), "{run}");
    assert_eq!(json(&run)["suppressed"], serde_json::json!([]), "{run}");
    let log: Json = serde_json::from_str(&sandbox.read("log.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]), "{log}");
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
