//! A test of the `segments` benchmark on the simulator: it checks and measures the given cases, and
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
        Some(folder) => Path::new(&folder).join("segments"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_segments")),
    };
    Command::new(program).args(["--device", "sim"]).args(args).output().unwrap()
}

#[test]
fn all_cases_are_checked_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("segments.json");
    let output = run(&["--n", "2000", "--samples", "1", "--json", file.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    let stdout = String::from_utf8_lossy(&output.stdout);
    let json: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert!(rows.len() > 30);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        assert!(stdout.contains(name), "{name}");
        let times = row["quartiles_us"]["warpfold"].as_array().unwrap();
        assert!(times[1].as_f64().unwrap() > 0.0, "{name}");
    }
    let of_one = rows.iter().find(|row| row["name"] == "f32 all of 1").unwrap();
    assert_eq!(of_one["segments"], 2000);
    // Elements, offsets and results have four bytes each.
    assert_eq!(of_one["bytes"], 4 * (2000 + 2001 + 2000));
    let by_key = rows.iter().find(|row| row["name"] == "f32 by key all of 4").unwrap();
    // Keys, values, and for each run its key and its sum.
    assert_eq!((&by_key["segments"], &by_key["bytes"]), (&500.into(), &(8 * (2000 + 500)).into()));
    let name = "f32 minmax of segments, all of 4";
    let minmax = rows.iter().find(|row| row["name"] == name).unwrap();
    // Elements, offsets and pairs of results.
    assert_eq!(minmax["bytes"], 4 * (2000 + 501 + 2 * 500));
    let bins = rows.iter().find(|row| row["name"] == "f32 sum into 256 bins, uniform").unwrap();
    assert_eq!((&bins["segments"], &bins["bytes"]), (&256.into(), &(8 * 2000).into()));
}

#[test]
fn quick_cases_are_some_of_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("segments.json");
    let quick = ["--n", "2000", "--samples", "1", "--cases", "quick", "--json"];
    let output = run(&[&quick[..], &[file.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Json = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert!((30..50).contains(&rows.len()), "{}", rows.len());
    assert!(rows.iter().all(|row| row["elements"] == 2000));
    for kind in [
        "f32 all of 16",
        "f32 by key all of 4",
        "f16 all",
        "f64 by key",
        "f32 moments of segments",
        "u8 count into",
    ] {
        assert!(rows.iter().any(|row| row["name"].as_str().unwrap().starts_with(kind)), "{kind}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for args in [["--cases", "nonsense"], ["--samples", "0"], ["--n", "4294967296"]] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{args:?}");
    }
}
