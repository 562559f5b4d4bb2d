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
fn reductions_in_place_are_measured_in_each_chain_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let [json, csv] = ["place.json", "place.csv"].map(|name| folder.path().join(name));
    let args = ["--way", "place", "--device", "sim", "--cases", "_2^12", "--samples", "1"];
    let files = ["--json", json.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
    let output = run(&[&args[..], &files].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    let json: Json = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(json["failures"], serde_json::json!([]));
    let rows = json["rows"].as_array().unwrap();
    let cases = [
        "sum_i8_2^12",
        "sum_f16_2^12",
        "sum_f32_2^12",
        "argmin_f32_2^12",
        "minmax_f32_2^12",
        "dot_f32_2^12",
        "moments_f32_2^12",
        "sum_f32_2^12+1",
        "sum_f64_2^12",
    ];
    assert_eq!(rows.len(), cases.len() * 6, "graph and stream, after each of three producers");
    for case in cases {
        let chains: Vec<_> = rows.iter().filter(|row| row["case"] == case).collect();
        assert_eq!(chains.len(), 6, "{case}");
        for chain in chains {
            for contender in ["warpfold", "empty"] {
                assert_eq!(chain["added"][contender].as_array().unwrap().len(), 2, "two rounds");
            }
            assert!(chain["without"][0]["median_us"].as_f64().unwrap() > 0.0);
            // A simulation is held to no target.
            assert_eq!(chain["target_us"], Json::Null);
        }
    }
    let lines = fs::read_to_string(csv).unwrap();
    // A heading, and a line for each chain, round and contender.
    assert_eq!(lines.lines().count(), 1 + rows.len() * 2 * 2);
}

#[test]
fn the_kernels_around_a_reduction_are_printed_for_other_programs() {
    let output = run(&["--way", "place", "--kernels"]);
    assert!(output.status.success());
    let ptx = String::from_utf8(output.stdout).unwrap();
    for kernel in ["produce", "produce_with_code", "consume", "hold"] {
        assert!(ptx.contains(&format!(".visible .entry {kernel}(")), "{kernel}");
    }
}

#[test]
fn only_reductions_in_place_are_written_as_csv() {
    let output = run(&["--device", "sim", "--csv", "reducer.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--way place"));
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
