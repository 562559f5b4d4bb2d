//! Tests of the command `transpose` as its user meets it: the real binary runs in an empty folder.

mod support;

use std::{fmt::Write as _, fs};

use serde_json::Value as Json;
use support::{Run, Sandbox, device_flag, skip};
use warpfold_lab::transpose::Variant;

fn json(run: &Run) -> Json {
    assert_eq!(run.status, Some(0), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// Runs each line and collects the output of all of them in one text.
fn transcript(sandbox: &Sandbox, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let run = sandbox.transpose_line(line);
        assert_eq!(run.stdout, "", "{run}");
        let status = run.status.map_or("none".into(), |status| status.to_string());
        writeln!(text, "$ transpose {line}\n{}[{status}]", run.stderr).unwrap();
    }
    text
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    let text = transcript(
        &Sandbox::new(),
        &[
            "",
            "--variant padded",
            "--variant fast --rows 10",
            "--variant padded --rows 10 --type f8",
            "--variant padded --rows 10 --tile 48",
            "--variant best --rows 10 --tile 32",
            "--variant in-place --rows 10 --cols 11",
            "--in-place --variant tiled --rows 10",
            "--variant padded --rows -5",
            "--variant padded --rows 10 --cols 1.5",
            "--variant padded --rows 3000000000 --cols 1",
            "--variant padded --rows 10 --device tpu",
            "--variant padded --rows 10 --reps 0",
            "--variant padded --rows 10 --seed x",
            "--variant padded --rows 10 --check --device cuda",
            "--variant padded --input none.npy",
            "compare --rows 0",
            "compare --tile x",
            "compare --tile 48 --device sim",
            "compare --rows 64 --device sim --format pdf",
            "compare --rows 64 --device sim --format csv --table none",
            "profile --variant fast",
            "profile --variant padded --rows 0",
            "explain",
            "explain --variant fast",
            "explain --variant padded --rows 0",
            "explain --variant padded --cols 257",
            "explain --variant padded --tile 48",
            "explain --variant in-place --cols 63",
        ],
    );
    insta::assert_snapshot!("refusals", text);
}

#[test]
fn the_requests_of_a_variant_are_drawn() {
    let sandbox = Sandbox::new();
    let run = sandbox.transpose_line("explain --variant tiled --tile 16 --rows 16 --svg a.svg");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    // The registers of an instruction are the compiler's choice.
    let is_instruction = |line: &&str| line.starts_with("ld.") || line.starts_with("st.");
    let lines: Vec<&str> = run.stdout.lines().filter(|line| !is_instruction(line)).collect();
    insta::assert_snapshot!("tiled_16", lines.join("\n"));
    assert!(fs::read_to_string(sandbox.path("a.svg")).unwrap().starts_with("<svg "));

    let picture = json(&sandbox.transpose_line("explain --variant naive-store --json"));
    let store = &picture["requests"][1];
    assert_eq!((&store["sectors"], &store["least_sectors"]), (&32.into(), &4.into()));
    assert_eq!(store["words"][31], serde_json::json!({"line": 62, "word": 0, "lanes": [31]}));
}

#[test]
fn a_page_has_the_pictures() {
    let run = Sandbox::new().transpose_line("compare --rows 64 --device sim --format html");
    assert_eq!(run.status, Some(0), "{run}");
    for variant in Variant::all() {
        assert!(run.stdout.contains(&format!("variant {variant}, load from the ")), "{variant}");
    }
}

#[test]
fn sizes_beyond_the_memory_are_refused() {
    let run = Sandbox::new()
        .transpose_line(&format!("--variant copy --rows 2000000000 --device {}", device_flag()));
    assert_eq!(run.status, Some(2), "{run}");
    assert!(
        run.stderr
            .contains("error: 2000000000 x 2000000000 f32 elements need 32.0 EB of device memory"),
        "{run}"
    );
}

#[test]
fn a_transposition_is_reported() {
    let device = device_flag();
    let run = Sandbox::new().transpose_line(&format!(
        "--variant padded --rows 100 --cols 33 --type u16 --device {device}"
    ));
    assert_eq!(run.status, Some(0), "{run}");
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(
        lines[1..5],
        [
            "kernel     transpose_padded_b2_t32 (variant padded)",
            "input      100 x 33 u16 elements, seed 1",
            "launch     grid 8 x 1, block 32 x 8, 2176 bytes of shared memory each",
            "result     33 x 100 elements (agree exactly)",
        ]
    );
    assert!(
        lines[5].contains(": grid 8 x 1, block 32 x 8, tile 32: ") && lines[5].contains(" GB/s"),
        "{run}"
    );
    assert_eq!(lines.len(), 6, "{run}");
}

#[test]
fn json_has_what_programs_need() {
    let sandbox = Sandbox::new();
    let device = device_flag();
    let report = json(&sandbox.transpose_line(&format!(
        "--variant best --rows 64 --cols 128 --reps 3 --json --device {device}"
    )));
    let fields: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "device variant kernel type rows cols tile grid block shared_bytes launches input agree difference time_us \
                    time_kind gb_per_s peak_gb_per_s interrupted";
    assert_eq!(fields, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(report["kernel"], "transpose_best_b4_t64");
    assert_eq!(report["grid"], serde_json::json!([2, 1, 1]));
    assert_eq!(
        (report["agree"].as_bool(), report["time_us"]["reps"].as_u64()),
        (Some(true), Some(3))
    );
    let nothing = json(
        &sandbox
            .transpose_line(&format!("--variant tiled --rows 0 --cols 7 --json --device {device}")),
    );
    assert!(nothing["time_us"].is_null() && nothing["launches"] == 0 && nothing["agree"] == true);
}

#[test]
fn every_variant_is_listed_and_runs() {
    let sandbox = Sandbox::new();
    let list = sandbox.transpose_line("--list");
    assert_eq!(list.status, Some(0), "{list}");
    for variant in Variant::all() {
        assert!(
            list.stdout.lines().any(|line| line.starts_with(&format!("{variant} "))),
            "{variant}: {list}"
        );
        let run = sandbox
            .transpose_line(&format!("--variant {variant} --rows 40 --device {}", device_flag()));
        assert_eq!(run.status, Some(0), "{run}");
    }
    let run = sandbox
        .transpose_line(&format!("--in-place --rows 40 --tile 16 --device {}", device_flag()));
    assert!(run.status == Some(0) && run.stdout.contains("transpose_in_place_b4_t16"), "{run}");
}

#[test]
fn every_variant_is_clean() {
    let sandbox = Sandbox::new();
    for variant in Variant::all() {
        for line in ["--rows 70 --type u8", "--rows 70", "--rows 64 --type u128"] {
            let run = sandbox.transpose_line(&format!("--variant {variant} {line} --check"));
            assert_eq!(run.status, Some(0), "{run}");
            assert!(run.stdout.ends_with("checks: nothing found in 1 launch\n"), "{run}");
        }
    }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn matrices_come_from_files() {
    let sandbox = Sandbox::new();
    sandbox.write("m.npy", &npy("<c16", "(3, 2)", &[7; 96]));
    let line = format!("--variant swizzled --input m.npy --json --device {}", device_flag());
    let report = json(&sandbox.transpose_line(&line));
    assert_eq!(
        (report["type"].as_str(), report["rows"].as_u64(), report["cols"].as_u64()),
        (Some("c128"), Some(3), Some(2))
    );
    assert_eq!(report["input"], "m.npy");
    sandbox.write("vector.npy", &npy("<f4", "(3,)", &[0; 12]));
    let text = transcript(
        &sandbox,
        &[
            "--variant padded --input m.npy --rows 4",
            "--variant padded --input m.npy --cols 3",
            "--variant padded --input m.npy --type f32",
            "--variant in-place --input m.npy",
            "--variant padded --input vector.npy",
        ],
    );
    insta::assert_snapshot!(text, @r"
    $ transpose --variant padded --input m.npy --rows 4
    error: --rows 4: m.npy holds 3 x 2 elements
    [2]
    $ transpose --variant padded --input m.npy --cols 3
    error: --cols 3: m.npy holds 3 x 2 elements
    [2]
    $ transpose --variant padded --input m.npy --type f32
    error: m.npy: the file holds c128, not f32
    [2]
    $ transpose --variant in-place --input m.npy
    error: 3 x 2: variant in-place needs as many rows as columns
    [2]
    $ transpose --variant padded --input vector.npy
    error: vector.npy: the array has 1 dimensions, and a matrix has 2
    [2]
    ");
}

#[test]
fn variants_are_compared_by_their_counters_on_the_simulator() {
    let run = Sandbox::new().transpose_line("compare --rows 4000 --device sim --history");
    assert_eq!(run.status, Some(0), "{run}");
    let table: Vec<_> = run.stdout.lines().filter(|line| line.starts_with('|')).collect();
    insta::assert_snapshot!("compare", table.join("\n"));
    assert!(run.stdout.contains("counters  scaled exactly from smaller matrices"), "{run}");
    assert!(run.stdout.contains("those of one launch over 4000 x 4000 elements"), "{run}");
}

#[test]
fn a_comparison_comes_in_every_format() {
    let sandbox = Sandbox::new();
    let compare = |format: &str| {
        let run = sandbox.transpose_line(&format!(
            "compare --rows 70 --cols 64 --type u16 --tile 16 --device sim --format {format}"
        ));
        assert_eq!(run.status, Some(0), "{run}");
        run
    };
    let document = json(&compare("json"));
    let rows = document["tables"]["transpose"].as_array().unwrap();
    assert_eq!(rows.len(), Variant::all().len() - 1, "all but in-place");
    let of = |variant: &str, key: &str| {
        let row = rows
            .iter()
            .find(|row| row["variant"] == variant)
            .unwrap_or_else(|| panic!("{variant}"));
        row[key].clone()
    };
    assert_eq!((of("tiled", "tile"), of("best", "tile")), (16.into(), 128.into()));
    assert!(
        of("tiled", "bank_conflicts").as_u64() > Some(0) && of("swizzled", "bank_conflicts") == 0
    );
    assert!(compare("csv").stdout.starts_with("variant,tile,load_sectors_per_request,"));
    assert!(compare("markdown").stdout.contains("| variant"));
    assert!(compare("svg").stdout.starts_with("<svg"));
    assert!(compare("html").stdout.contains("All variants</caption>"));
}

#[test]
fn a_gpu_is_compared_with_its_copy() {
    if device_flag() != "cuda" {
        skip::test("WARPFOLD_DEVICE does not ask for a GPU");
        return;
    }
    let document = json(&Sandbox::new().transpose_line("compare --rows 4000 --device cuda --json"));
    let rows = document["tables"]["transpose"].as_array().unwrap();
    assert_eq!(rows.len(), Variant::all().len());
    for row in rows {
        for key in ["time_us", "gb_per_s", "percent_of_copy", "speedup"] {
            assert!(row[key].as_f64() > Some(0.0), "{row}");
        }
    }
    assert!(document["charts"]["bandwidth"]["references"][0]["label"] == "device-to-device copy");
}

#[test]
fn a_profile_has_every_counter() {
    let document = json(&Sandbox::new().transpose_line("profile --variant tiled --rows 64 --json"));
    let rows = document["tables"]["counters"].as_array().unwrap();
    let of = |name: &str| {
        rows.iter().find(|row| row["counter"] == name).unwrap_or_else(|| panic!("{name}"))["value"]
            .as_u64()
    };
    assert_eq!(of("global.load.requests"), Some(64 * 64 / 32));
    assert_eq!(of("shared.load.bank_conflicts"), Some(64 * 64 / 32 * 31));
    assert_eq!(of("bytes_moved"), Some(2 * 64 * 64 * 4));
}

#[test]
fn completions_and_a_manual_are_generated() {
    let sandbox = Sandbox::new();
    let man = sandbox.transpose_line("generate man");
    assert!(man.status == Some(0) && man.stdout.contains(".TH transpose 1"), "{man}");
    let bash = sandbox.transpose_line("generate complete-bash");
    assert!(bash.status == Some(0) && bash.stdout.contains("transpose"), "{bash}");
}
