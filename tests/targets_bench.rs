//! A test of the program `targets`, which compares results with the targets: it takes small files
//! that were made up.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value as Json, json};

/// Runs the program. On a machine without cargo, it is the one in the folder that
/// `WARPFOLD_BIN_DIR` names.
fn run(folder: &Path) -> Output {
    let program = match env::var_os("WARPFOLD_BIN_DIR") {
        Some(folder) => Path::new(&folder).join("targets"),
        None => PathBuf::from(env!("CARGO_BIN_EXE_targets")),
    };
    Command::new(program).arg(folder).output().unwrap()
}

fn write(file: &Path, rows: &[Json]) {
    let environment = json!({ "device": "NVIDIA H100", "elements": "67108864" });
    fs::write(file, json!({ "environment": environment, "rows": rows }).to_string()).unwrap();
}

/// A case of rows, whose times are those of ours and of the twin.
fn rows(name: &str, shape: [u64; 2], axis: usize, [ours, twin]: [f64; 2]) -> Json {
    json!({
        "name": name, "op": "sum", "type": "f32", "shape": shape, "strides": [shape[1], 1],
        "axes": [axis], "bytes": 4 * shape[0] * shape[1],
        "times": { "warpfold": { "median_us": ours }, "twin": { "median_us": twin } },
    })
}

/// The cells of the line of a target, without those that are empty.
fn line<'a>(text: &'a str, target: &str) -> Vec<&'a str> {
    let of_target = |cells: &Vec<&str>| cells.first() == Some(&target);
    let lines = text.lines().map(|line| {
        line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    });
    lines.into_iter().find(of_target).unwrap_or_else(|| panic!("no {target} in {text}"))
}

#[test]
fn targets_are_met_missed_or_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write(
        &file("rows.json"),
        &[
            rows("short rows", [4_194_304, 16], 1, [100.0, 96.0]),
            rows("odd rows", [3_947_580, 17], 1, [120.0, 96.0]),
            rows("long rows", [65536, 1024], 1, [80.0, 80.0]),
            rows("columns", [65536, 1024], 0, [100.0, 91.0]),
            rows("narrow", [16_777_216, 4], 0, [100.0, 80.0]),
        ],
    );
    write(
        &file("rows-torch.json"),
        &[json!({ "name": "columns", "times": { "torch": { "median_us": 140.0 } } })],
    );
    let segment = |name: &str, segments: u64, ours: f64, cub: f64| {
        json!({
            "name": name, "segments": segments, "bytes": 400_000_000,
            "quartiles_us": { "warpfold": [1.0, ours, 9.0], "twin": null, "cub": [1.0, cub, 9.0] },
        })
    };
    write(
        &file("segments.json"),
        &[
            segment("f32 all of 16", 4_194_304, 150.0, 6150.0),
            segment("f32 half empty, power law 1.2", 9_000_000, 200.0, 400.0),
            segment("f32 by key half empty, power law 1.2", 9_000_000, 400.0, 500.0),
        ],
    );
    let mut small = rows("small", [32, 32], 1, [2.0, 2.0]);
    small["empty_us"] = json!(0.9);
    write(&file("rows-place.json"), &[small]);

    let output = run(folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(fs::read_to_string(file("targets.txt")).unwrap(), text);
    for (target, cells) in [
        (
            "rows beyond the cache, twin",
            &[">= 0.95", "0.800", "0.960", "1.000", "3", "missed", "odd rows"][..],
        ),
        // 2^26 elements and 2^16 sums, in 80 us.
        (
            "rows of 64 f32 and more, GB/s",
            &[">= 3050", "3 358.720", "3 358.720", "3 358.720", "1", "met", "long rows"],
        ),
        (
            "columns, runs from 64 bytes, twin",
            &[">= 0.9", "0.910", "0.910", "0.910", "1", "met", "columns"],
        ),
        ("columns, torch eager", &[">= 1", "1.400", "1.400", "1.400", "1", "met", "columns"]),
        ("narrower runs, twin", &[">= 0.85", "0.800", "0.800", "0.800", "1", "missed", "narrow"]),
        // 400 MB in 150 us, of 3350 GB/s.
        (
            "offsets, mean from 16 on, of the peak",
            &[">= 0.85", "0.796", "0.796", "0.796", "1", "missed", "f32 all of 16"],
        ),
        (
            "offsets, mean 16, CUB",
            &[">= 40", "41.000", "41.000", "41.000", "1", "met", "f32 all of 16"],
        ),
        (
            "by key, CUB",
            &[
                ">= 1.2",
                "1.250",
                "1.250",
                "1.250",
                "1",
                "met",
                "f32 by key half empty, power law 1.2",
            ],
        ),
        (
            "small problems over an empty kernel, us",
            &["<= 1.3", "1.100", "1.100", "1.100", "1", "met", "small"],
        ),
        ("rows, torch.compile", &[">= 1", "not measured"]),
        ("counts of bins, CUB", &[">= 1", "not measured"]),
    ] {
        assert_eq!(&line(&text, target)[1..], cells, "{target}");
    }
    let neighbours = line(&text, "rows of neighbouring lengths, GB/s");
    assert_eq!(neighbours[neighbours.len() - 2..], ["missed", "short rows; odd rows"]);
}

#[test]
fn a_folder_without_results_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are no results"));
    fs::write(folder.path().join("rows.json"), "{").unwrap();
    assert!(String::from_utf8_lossy(&run(folder.path()).stderr).contains("rows.json"));
}
