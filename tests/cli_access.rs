//! Tests of the command `access` as its user meets it: the real binary runs in an empty folder.

mod support;

use std::fs;

use cuda_builder::manifest::{FILE_NAME, Module, sha256_hex};
use serde_json::Value as Json;
use support::{Run, Sandbox, device_flag};
use warpfold_lab::{access::Pattern, ptx::PtxLibrary};

fn access(line: &str) -> Run {
    Sandbox::new().tool("access", line.split_whitespace())
}

/// Runs `access` on the simulator, even if there is a GPU.
fn simulated(line: &str) -> Run {
    access(&format!("{line} --device sim"))
}

fn json(run: &Run) -> Json {
    assert_eq!(run.status, Some(0), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

#[test]
fn bad_arguments_are_refused_in_one_sentence() {
    for (line, message) in [
        ("", "the pattern is missing: it is all, or a name that --list prints"),
        ("offset --n 0", "--n 0: it must be from 1 to 2^30"),
        ("offset --n 2^31", "--n 2147483648: it must be from 1 to 2^30"),
        (
            "offset --n many",
            "--n 'many': it must be a whole number from 0 to 2^64 - 1, such as 4194304 or 2^22",
        ),
        ("offset --range 5..3", "--range '5..3': it is empty, because 5 is more than 3"),
        (
            "offset --range -1..3",
            "--range '-1': it must be a whole number from 0 to 2^64 - 1, such as 0..32",
        ),
        ("offset --range 0..2000", "--range 0..2000 of offset: the values must be from 0 to 1024"),
        ("stride --range 0..4", "--range 0..4 of stride: the values must be from 1 to 1024"),
        ("constant --range 33", "--range 33..33 of constant: the values must be from 1 to 32"),
        (
            "math --range 0..1",
            "--range: math has no range, because it always measures all of its rows",
        ),
        ("all --range 0..1", "--range with all: each pattern has a range of its own"),
        ("width --reps 0", "--reps 0: 1 to 1000000 runs are made"),
        ("width --seed 2^32", "--seed 4294967296: it must be below 2^32"),
        ("width --device tpu", "unknown device 'tpu': it is one of auto, cuda, sim"),
        (
            "width --format pdf",
            "unknown format 'pdf': it is one of table, markdown, csv, json, svg, html",
        ),
        ("width --device sim --format csv --table no", "unknown table 'no': there is width"),
        (
            "width --device sim --format svg --chart no",
            "unknown chart 'no': there is width-sectors",
        ),
        ("explain offset 1025", "offset '1025': the value must be a whole number from 0 to 1024"),
        ("explain stride -1", "stride '-1': the value must be a whole number from 1 to 1024"),
        (
            "explain shared-stride 41",
            "shared-stride '41': the value must be a whole number from 1 to 40",
        ),
        ("explain broadcast 0", "broadcast '0': the value must be a whole number from 1 to 256"),
        ("explain width 5", "width '5': the value must be 4, 8 or 16"),
        (
            "explain permuted sideways",
            "permuted 'sideways': the value must be identity, reversed, xor 1, xor 16 or random",
        ),
        (
            "explain math",
            "explain math: there are pictures of offset, stride, permuted, width, shared-stride, shared-offset and broadcast",
        ),
    ] {
        let run = access(line);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert_eq!(run.stderr, format!("error: {message}\n"), "{run}");
    }
    assert_eq!(access("sideways").status, Some(2));
}

#[test]
fn what_needs_a_gpu_says_so() {
    let run = simulated("transfer");
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert_eq!(
        run.stderr,
        "error: transfer needs a GPU: the simulator uses the host's memory, so nothing is copied to a device and \
         nothing can overlap\n"
    );
}

#[test]
fn the_list_names_each_pattern_with_its_slide() {
    let run = access("--list");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    for pattern in Pattern::ALL {
        assert!(
            run.stdout.contains(&format!("{:13}  {}\n", pattern.name(), pattern.about())),
            "{run}"
        );
        assert!(run.stdout.contains(pattern.slide()), "{run}");
    }
}

#[test]
fn a_table_has_no_times_on_the_simulator() {
    let run = simulated("shared-stride --range 30..33");
    let (head, table) =
        run.stdout.split_once("\n\nShared memory").unwrap_or_else(|| panic!("{run}"));
    assert!(
        head.ends_with(
            "times   none, because the simulator's times say nothing about a GPU\nseed    1"
        ),
        "{run}"
    );
    insta::assert_snapshot!(table, @r"
     with a stride

    | stride (words) | conflicts per request | wavefronts per request |
    |----------------|-----------------------|------------------------|
    |             30 |                  1.00 |                   2.00 |
    |             31 |                  0.00 |                   1.00 |
    |             32 |                 31.00 |                  32.00 |
    |             33 |                  0.00 |                   1.00 |

    Counters are from a launch with 1024 threads. Each thread reads 32 words.
    ");
}

#[test]
fn all_formats_are_written() {
    let document = json(&simulated("stride --range 1..3 --json"));
    let rows = document["tables"]["stride"].as_array().unwrap();
    let sectors: Vec<f64> =
        rows.iter().map(|row| row["read_sectors_per_request"].as_f64().unwrap()).collect();
    assert_eq!(sectors, [4.0, 8.0, 12.0]);
    assert!(rows[0].get("read_us").is_none());

    let csv = simulated("shared-stride --range 2 --format csv");
    assert_eq!(csv.stdout, "stride,conflicts_per_request,wavefronts_per_request\n2,1,2\n", "{csv}");
    let svg = simulated("shared-stride --format svg").stdout;
    assert!(
        roxmltree::Document::parse(&svg)
            .unwrap()
            .root_element()
            .has_tag_name(("http://www.w3.org/2000/svg", "svg"))
    );
    assert!(simulated("width --format html").stdout.starts_with("<!doctype html>"));
    let markdown = simulated("width --format markdown").stdout;
    assert!(markdown.starts_with("# access width\n") && markdown.contains("16.00 |"), "{markdown}");
}

#[test]
fn a_request_is_drawn() {
    let run = access("explain offset 1");
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run}");
    // The registers of an instruction are the compiler's choice.
    let is_instruction = |line: &&str| line.starts_with("ld.") || line.starts_with("st.");
    let lines: Vec<&str> = run.stdout.lines().filter(|line| !is_instruction(line)).collect();
    insta::assert_snapshot!("offset_1", lines.join("\n"));

    let sandbox = Sandbox::new();
    let run = sandbox.tool("access", ["explain", "permuted", "xor 16", "--svg", "a.svg", "--json"]);
    let picture = json(&run);
    let request = &picture["requests"][0];
    assert_eq!((&request["sectors"], &request["least_sectors"]), (&4.into(), &4.into()), "{run}");
    assert_eq!(request["words"][0], serde_json::json!({"line": 0, "word": 0, "lanes": [16]}));
    let svg = fs::read_to_string(sandbox.path("a.svg")).unwrap();
    assert!(svg.contains("<title>lane 16 asks for word 0 of line 0</title>"), "{svg}");

    let run = sandbox.tool("access", ["explain", "stride", "--svg", "no/a.svg"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.starts_with("error: cannot write no/a.svg: "), "{run}");
}

/// The page goes through a few values of a pattern, and has none of a pattern without a picture.
#[test]
fn a_page_has_the_pictures() {
    let page = simulated("stride --range 1..1 --format html").stdout;
    for stride in [1, 2, 4, 8, 32] {
        assert!(page.contains(&format!("stride {stride}, load from the input")), "stride {stride}");
    }
    assert!(page.contains("Step by step"));
    assert!(!simulated("divide --n 256 --format html").stdout.contains("Step by step"));
}

/// `access all` writes one document about all patterns, on any device.
#[test]
fn all_is_one_document() {
    let device = device_flag();
    let run = access(&format!("all --n 2^12 --reps 1 --json --device {device}"));
    let document = json(&run);
    for pattern in Pattern::ALL {
        let there = document["tables"].get(pattern.name()).is_some();
        assert_eq!(there, pattern != Pattern::Transfer || device == "cuda", "{pattern}: {run}");
    }
    assert_eq!(run.stderr.contains("left out: transfer"), device == "sim", "{run}");
}

#[test]
fn completions_and_a_manual_page_are_generated() {
    assert!(access("generate complete-bash").stdout.contains("shared-stride"));
    assert!(access("generate man stride").stdout.contains(".TH"));
}

/// Writes a library of PTX to the sandbox. Each of its modules is given by its name and by one of
/// its kernels, and all places of one text in it are replaced by another text.
fn write_changed(sandbox: &Sandbox, changes: &[(&str, &str, &str, &str)]) {
    let library = PtxLibrary::embedded().unwrap();
    let mut manifest = library.manifest().clone();
    let mut modules = Vec::new();
    for &(module, kernel, right, wrong) in changes {
        let ptx = library.find(kernel, (7, 5)).unwrap();
        assert!(ptx.text.contains(right), "{module}");
        let text =
            if right.is_empty() { ptx.text.into_owned() } else { ptx.text.replace(right, wrong) };
        modules.push(Module {
            name: module.into(),
            arch: ptx.arch,
            file: ptx.file.clone(),
            sha256: sha256_hex(text.as_bytes()),
        });
        fs::write(sandbox.path(&ptx.file), text).unwrap();
    }
    manifest.modules = modules;
    fs::write(sandbox.path(FILE_NAME), manifest.to_json()).unwrap();
}

/// A kernel that the simulator cannot run is named with its instruction, by the picture as by the
/// table.
#[test]
fn a_kernel_that_the_simulator_does_not_know_is_named() {
    let sandbox = Sandbox::new();
    let strange = ("access_stride", "access_stride_read", "add.s32", "bad.s32");
    write_changed(&sandbox, &[("access_fill", "access_fill", "", ""), strange]);
    for line in [&["stride", "--device", "sim"][..], &["explain", "stride"]] {
        let run = sandbox.tool("access", line.iter().copied().chain(["--ptx-dir", "."]));
        assert_eq!(run.stdout, "", "{run}");
        assert_ne!(run.status, Some(0), "{run}");
        assert!(run.stderr.contains("kernel access_stride_read uses an instruction"), "{run}");
        assert!(run.stderr.contains("`bad.s32`"), "{run}");
    }
}

/// A kernel that computes something wrong is noticed.
#[test]
fn a_wrong_result_is_a_failure() {
    let sandbox = Sandbox::new();
    write_changed(
        &sandbox,
        &[
            ("access_fill", "access_fill", "", ""),
            ("access_stride", "access_stride_read", "add.s32", "and.b32"),
            ("access_width", "access_width_read4", "", ""),
            ("access_offset", "access_offset_read", "", ""),
            ("access_permuted", "access_permuted_read", "and.b64", "or.b64"),
            ("access_shared", "access_shared_stride", "st.shared.b32", "//"),
            ("access_divide", "access_divide_shift_u32", "shr.u32", "shl.b32"),
            ("access_math", "access_math_exp_precise", "0f3F000000", "0f3F000100"),
        ],
    );
    for (pattern, parts) in [
        ("stride", ["access_stride_read with stride 1 left ", " in element "]),
        ("permuted", ["access_permuted_read with ", " left "]),
        ("divide", ["access_divide_", " left "]),
        ("math", ["access_math_exp_precise with x = ", "near"]),
    ] {
        let run = sandbox.tool("access", [pattern, "--device", "sim", "--ptx-dir", "."]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
        assert!(run.stderr.starts_with("error: wrong result: "), "{run}");
        assert!(parts.iter().all(|part| run.stderr.contains(part)), "{run}");
    }
    let run = sandbox.tool("access", ["explain", "stride", "--ptx-dir", "."]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run}");
    assert!(run.stderr.contains("access_stride_read with stride 2 left "), "{run}");
    // In this kernel shared memory stays uninitialized, so the result is zeros.
    let run = sandbox.tool("access", ["shared-stride", "--device", "sim", "--ptx-dir", "."]);
    assert_eq!(run.status, Some(1), "{run}");
    // Kernels that were not changed still pass.
    assert_eq!(
        sandbox.tool("access", ["width", "--device", "sim", "--ptx-dir", "."]).status,
        Some(0)
    );
}

/// The slides say that divisions and precise functions are slow. The PTX instructions alone would
/// say the opposite of divisions.
#[test]
fn divisions_and_precise_functions_are_dear_without_a_gpu() {
    let run = |pattern: &str| {
        let run = Sandbox::new().tool("access", [pattern, "--device", "sim", "--json"]);
        assert_eq!(run.status, Some(0), "{run}");
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    let divide = run("divide");
    let rows = divide["tables"]["divide"].as_array().unwrap();
    let instructions = |of_type: &str, operation: &str, key: &str| {
        let row = rows.iter().find(|row| row["type"] == of_type && row["operation"] == operation);
        row.unwrap()[key].as_f64().unwrap()
    };
    for (of_type, least) in [("u32", 2.5), ("u64", 8.0)] {
        for (slow, fast) in [("x / d", "x >> s"), ("x % d", "x & m")] {
            let ratio = |key| instructions(of_type, slow, key) / instructions(of_type, fast, key);
            assert!(ratio("sass_instructions") > least, "{of_type} {slow}");
        }
    }
    assert!(
        instructions("u32", "x / d", "instructions")
            < instructions("u32", "x >> s", "instructions")
    );
    let notes = divide["notes"]["divide"].to_string();
    for part in [
        "those of sm_90",
        "ptxas 13",
        "nvdisasm 13",
        "A division takes 3.1 times the machine instructions of a shift for u32",
        "x / d of u64 calls __cuda_sm20_div_u64",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let chart = &divide["charts"]["divide-instructions"];
    assert_eq!(chart["y"]["label"], "machine instructions (SASS)");
    assert_eq!(
        chart["series"][0]["points"][0][1].as_f64(),
        Some(instructions("u32", "x / d", "sass_instructions"))
    );

    let math = run("math");
    let rows = math["tables"]["math"].as_array().unwrap();
    for [fast, precise] in [[&rows[0], &rows[1]], [&rows[2], &rows[3]]] {
        let each = |row: &serde_json::Value| row["sass_instructions"].as_f64().unwrap();
        assert!(each(precise) > 3.0 * each(fast), "{fast} {precise}");
        // The simulator's approximations are more exact than those of a GPU.
        assert!(fast["max_ulp"].is_null() && precise["max_ulp"].is_f64(), "{fast} {precise}");
        assert!(fast["promised_error"].as_str().unwrap().starts_with("2^-2"), "{fast}");
    }
}

/// The table counts the committed PTX, so another folder of PTX has no machine instructions.
#[test]
fn other_ptx_has_no_machine_instructions() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("ptx");
    let kernels = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/ptx");
    std::fs::create_dir(&folder).unwrap();
    let mut manifest = std::fs::read_to_string(kernels.join("manifest.json")).unwrap();
    for file in ["access_divide.sm_75.ptx", "access_math.sm_75.ptx"] {
        let text = std::fs::read_to_string(kernels.join(file)).unwrap();
        let other = format!("{text}// another file\n");
        manifest = manifest.replace(&sha256_hex(text.as_bytes()), &sha256_hex(other.as_bytes()));
        std::fs::write(folder.join(file), other).unwrap();
    }
    std::fs::write(folder.join("manifest.json"), manifest).unwrap();
    let run = sandbox.tool("access", ["divide", "--device", "sim", "--json", "--ptx-dir", "ptx"]);
    assert_eq!(run.status, Some(0), "{run}");
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = document["tables"]["divide"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["sass_instructions"].is_null()), "{run}");
}
