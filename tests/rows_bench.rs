//! A test of the `rows` benchmark on the simulator: it checks and measures the given cases, and
//! refuses unknown ones.

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
        Some(folder) => Path::new(&folder).join("rows"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_rows")),
    };
    Command::new(program).args(["--device", "sim"]).args(args).output().unwrap()
}

#[test]
fn quick_cases_are_checked_and_measured_in_each_round() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.json");
    let small = ["--bytes", "16384", "--samples", "1", "--rounds", "2"];
    let output = run(&[&small[..], &["--json", file.to_str().unwrap()]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    let list = String::from_utf8(run(&["--list"]).stdout).unwrap();
    let json: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert!(rows.len() > 60 && rows.len() == list.lines().count());
    for (row, name) in rows.iter().zip(list.lines()) {
        assert_eq!(row["name"], name);
        assert!(row["bytes"].as_u64().unwrap() <= 16384, "{name}");
        assert_eq!(row["times"]["warpfold"]["round_medians_us"].as_array().unwrap().len(), 2);
        assert!(String::from_utf8_lossy(&output.stdout).contains(name), "{name}");
    }
}

#[test]
fn all_cases_in_place_are_checked_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows-place.json");
    let small = ["--place", "--bytes", "8192", "--samples", "1"];
    let output = run(&[&small[..], &["--json", file.to_str().unwrap()]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    let list = String::from_utf8(run(&["--place", "--list"]).stdout).unwrap();
    let json: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert!(rows.len() > 60 && rows.len() == list.lines().count());
    for (row, name) in rows.iter().zip(list.lines()) {
        assert_eq!(row["name"], name);
        assert_eq!(row["has_offsets"], name.contains("segments"), "{name}");
        let ours = &row["times"]["warpfold"];
        for time in [&row["without_us"], &row["empty_us"], &ours["median_us"]] {
            assert!(time.as_f64().unwrap() > 0.0, "{name}");
        }
        assert!(ours["added_us"].is_f64(), "{name}");
    }
}

#[test]
fn unknown_cases_are_refused() {
    for more in [&[][..], &["--place"]] {
        let output = run(&[more, &["--cases", "f32 sum,nonsense"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("nonsense"));
    }
}
