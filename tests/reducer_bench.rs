//! Tests of the `reducer` benchmark on the simulator: it measures the given cases, checks their
//! results, and refuses unknown cases.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value as Json;

/// Runs the benchmark. On a machine without cargo, it is the one in the folder that
/// `WARPFOLD_BIN_DIR` names.
fn run(args: &[&str]) -> Output {
    let program = match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => Path::new(&folder).join("reducer"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_reducer")),
    };
    Command::new(program).args(args).output().unwrap()
}

#[test]
fn each_case_is_measured_in_each_way_and_round() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reducer.json");
    let cases = "sum_i32_2^10,dot_f32_2^12,argmin_f64_2^12,exact_f32_2^12";
    let args =
        ["--device", "sim", "--cases", cases, "--samples", "1", "--json", file.to_str().unwrap()];
    let output = run(&args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    let json: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    for case in cases.split(',') {
        let ways: Vec<_> = rows.iter().filter(|row| row["case"] == case).collect();
        assert_eq!(ways.len(), 4, "{case}: single calls and graphs, warm and cold");
        for way in ways {
            let rounds = way["times"]["warpfold"].as_array().unwrap();
            assert_eq!(rounds.len(), 2);
            assert!(rounds.iter().all(|round| round["median_us"].as_f64().unwrap() > 0.0));
            // A simulation has no target to reach.
            assert_eq!(way["target"], Json::Null);
        }
        assert!(stderr.contains(case), "{stderr}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(case));
    }
}

#[test]
fn cases_are_listed_and_unknown_ones_refused() {
    let output = run(&["--cases", "sum_i8_2^28", "--list"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sum_i8_2^28\nsum_i8_2^28+1\n");
    let output = run(&["--cases", "median_f32"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no case is called median_f32"));
}

#[test]
fn peers_that_cannot_be_loaded_are_named() {
    let output =
        run(&["--device", "sim", "--cases", "sum_i32_2^10", "--peers", "/nowhere/peers.so"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/peers.so"));
}
